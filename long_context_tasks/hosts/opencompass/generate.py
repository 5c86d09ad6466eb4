"""The config files of OpenCompass, made from the cards; ``lct generate`` writes them, a test shows that they are current.

Config files are read in the host's lazy mode: nothing that an import statement brings can be called. So they hold
plain data and comprehensions, and what needs a decision at run time sits in our classes, in an environment variable or, where
the file itself has to decide, in a function reached through ``__import__``.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.lm_eval.generate import synthetic_tasks
from long_context_tasks.hosts.opencompass.chosen_tasks import OTHERS, group_of, official_groups, task_groups

ENVIRONMENT = """\
# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.environment', fromlist=[''])
"""
"""Numbers in variables; a file deletes it at its end."""

CHOICE = (
    ENVIRONMENT
    + """\
_all = {all}
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_by_name = dict([(d['abbr'], d) for d in _all])
_unknown = [name for name in _given if name not in _by_name and name != 'official']
if _unknown:
    raise ValueError('LCT_TASKS: not tasks of this benchmark: ' + ', '.join(_unknown) + '; `lct tasks` lists all')
"""
)
REPEATS = """\
_runs = _env.whole('LCT_RUNS', 1)
_eval_gpus = _env.whole('LCT_EVAL_GPUS', 0, 0)
datasets = [dict(d, n=_runs, k=_runs, eval_cfg=dict(d['eval_cfg'], num_gpus=_eval_gpus)) for d in datasets]
"""
RUN = """\
infer = dict(
    # force_rebuild: the host remembers sizes by name only and would run 5 cases where 50 are asked the next time.
    partitioner=dict(type=NumWorkerPartitioner, num_worker=_workers, force_rebuild=True, dataset_size_path=''),
    runner=dict({runner}, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    # Ten tasks to a process: each process takes ten seconds to start.
    partitioner=dict(type=NaivePartitioner, n=10),
    runner=dict({runner}, task=dict(type=OpenICLEvalTask)),
)
"""


EVAL_SYNTHETIC = '''\
"""The synthetic edition with one command: `opencompass configs/eval_synthetic.py`.

Every task on texts that are written from a seed: no download, no contamination, any length. Out of the box: five cases of each task
at 1k tokens, with the demo model, on this machine.

    LCT_LENGTH  of the prompts: 1k, 32k, 1m, 4096 ... (1k)
    LCT_SEED    of the texts (0); a new seed is a new test set
    LCT_N       cases of each task (5)
    LCT_TASKS   names, with commas between: some of the tasks below, or their variants: {variant}
    LCT_MODEL   folder or hub id of a model in this process; without it the demo model; see models/lct_model.py beside this file
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); see LCT_TEMPERATURE in the model's file

Other LCT_ options: see the docs. The command ends with status 1 when a result is missing.
"""
{header}

import os

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
{imports}
    from .models.lct_endpoint import models as _served
    from .models.lct_model import models as _local
    from .summarizers.example import summarizer

_names = """
{tasks}
""".split()
{environment}_all = {all}
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_seeded = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).seeded_tasks()
_by_name = dict([(d['abbr'], d) for d in _all if d['abbr'] in _seeded])
_unknown = [name for name in _given if name not in _by_name]
if _unknown:
    raise ValueError(
        'LCT_TASKS: not synthetic tasks of any length: ' + ', '.join(_unknown) + '; there are: ' + ', '.join(_names)
        + ', and their variants, such as {variant}'
    )
_length = os.environ.get('LCT_LENGTH') or '1k'
_n = _env.whole('LCT_N', 5)
datasets = [dict(_by_name[name], lct_length=_length, lct_n=_n) for name in _given or _names]

models = _local
if os.environ.get('LCT_API_BASE'):
    models = _served

{repeats}
_workers = _env.whole('LCT_WORKERS', 1)
{run}work_dir = 'outputs/synthetic'

# What is left here is written down with the run: no modules, and the datasets once.
del os, _env, _seeded, _names, _all, _given, _unknown, _length, _n, _by_name, _local, _served, _runs, _eval_gpus, _workers
del {variables}
'''


CONFIGS = Path("configs")
_HEADER = (
    "# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file."
)


def opencompass_files() -> dict[Path, str]:
    """Path (from the repository's root) to text of every generated config file."""
    files: dict[Path, str] = {}
    benchmarks = catalogue.own_benchmark_names()
    everything = {benchmark: task_groups(benchmark) for benchmark in benchmarks}
    for benchmark, groups in everything.items():
        for name, tasks in groups.items():
            files[CONFIGS / "datasets" / benchmark / f"{name}.py"] = dataset_file(benchmark, name, tasks)
        files[CONFIGS / f"eval_{benchmark}.py"] = eval_file(benchmark, groups)
    files[CONFIGS / "eval_all.py"] = eval_all_file(everything)
    files[CONFIGS / "eval_synthetic.py"] = eval_synthetic_file()
    folders = {path.parent for path in files}
    return {**files, **{folder / "__init__.py": "" for folder in sorted(folders | {CONFIGS / "datasets"})}}


_IMPORT_OTHERS = f"    from .datasets.{OTHERS} import other_packages_datasets"


def _variable(group: str) -> str:
    return f"{group.removesuffix('_gen')}_datasets"


def _listed(names: Iterable[str]) -> str:
    return textwrap.fill(" ".join(names), width=108, initial_indent="    ", subsequent_indent="    ")


ABOUT = {
    "gen": "the published files (LCT_DATA_DIR, or `lct data fetch {benchmark}`)",
    "synthetic_gen": "texts written from a seed; no download, no contamination",
    "variants_gen": "changed forms of the published cases",
    "any_gen": "any length (LCT_LENGTH=24k) or your own cases (LCT_CASES=DIR, made by `lct build`)",
    "built_gen": "your own cases only (LCT_CASES=DIR, made by `lct build`); there are no published ones",
    "ppl": "by log-likelihood; local models only",
}


_CLASSES = {
    False: ("task", "CaseGenInferencer", "CaseEvaluator"),
    True: ("likelihood", "CasePPLInferencer", "CasePPLEvaluator"),
}
"""Whether tasks are scored by likelihood, to the file of the classes, inferencer and evaluator."""


def dataset_file(benchmark: str, group: str, tasks: Sequence[str]) -> str:
    """Text of ``configs/datasets/<benchmark>/<group>.py``."""
    kind = group.removeprefix(f"{benchmark}_")
    module, infer, evaluate = _CLASSES[kind == "ppl"]
    return DATASETS.format(
        header=_HEADER,
        title=catalogue.card(benchmark).title,
        about=ABOUT[kind].format(benchmark=benchmark),
        imports="\n".join(
            f"from long_context_tasks.hosts.opencompass.{file} import {', '.join(names)}"
            for file, names in (
                ((module, (infer, evaluate)), ("task", ("CaseDataset",)))
                if module != "task"
                else (("task", ("CaseDataset", evaluate, infer)),)
            )
        ),
        infer=infer,
        evaluate=evaluate,
        tasks=_listed(tasks),
        variable=_variable(group),
        group=group,
        benchmark=benchmark,
    )


def eval_file(benchmark: str, groups: Iterable[str]) -> str:
    """Text of ``configs/eval_<benchmark>.py``."""
    imports = [
        f"    from .datasets.{benchmark}.{group} import {_variable(group)}" for group in sorted(groups)
    ]
    defaults = default_tasks(benchmark)
    return EVAL.format(
        header=_HEADER,
        title=catalogue.card(benchmark).title,
        benchmark=benchmark,
        about=SYNTHETIC if _small_synthetic(benchmark) else PUBLISHED.format(benchmark=benchmark),
        example=next(spec.name for spec in catalogue.task_specs() if spec.benchmark == benchmark),
        imports="\n".join(imports),
        all=" + ".join(_variable(group) for group in groups),
        official=_variable(f"{benchmark}_gen") if f"{benchmark}_gen" in groups else "[]",
        defaults=_listed(defaults),
        variables=", ".join(_variable(group) for group in groups),
        runner="type=LocalRunner, max_num_workers=_workers",
    )


def eval_all_file(groups: Mapping[str, Iterable[str]]) -> str:
    """Text of ``configs/eval_all.py``.

    Args:
        groups: benchmark to its dataset files.
    """
    pairs = [(benchmark, group) for benchmark, names in groups.items() for group in sorted(names)]
    imports = [
        f"    from .datasets.{benchmark}.{group} import {_variable(group)}" for benchmark, group in pairs
    ]
    variables = [*(_variable(group) for _, group in pairs), _variable(OTHERS)]
    return EVAL_ALL.format(
        header=_HEADER,
        imports="\n".join((*imports, _IMPORT_OTHERS)),
        all=" + ".join(variables),
        official=" + ".join(_variable(group) for _, group in pairs if group in official_groups()) or "[]",
        variables=", ".join(variables),
        runner="_runner",
    )


def eval_synthetic_file() -> str:
    """Text of ``configs/eval_synthetic.py``: all synthetic tasks that take any length, of all benchmarks."""
    own = catalogue.own_benchmark_names()
    tasks = [spec for spec in synthetic_tasks() if spec.benchmark in own]
    varied = (spec for spec in catalogue.task_specs() if spec.card.source == "seed" and spec.variant)
    pairs = dict.fromkeys((spec.benchmark, group_of(spec)) for spec in tasks)
    imports = [
        f"    from .datasets.{benchmark}.{group} import {_variable(group)}"
        for benchmark, group in sorted(pairs)
    ]
    variables = [*(_variable(group) for _, group in pairs), _variable(OTHERS)]
    return EVAL_SYNTHETIC.format(
        header=_HEADER,
        variant=next((spec.name for spec in varied), "see `lct tasks`"),
        imports="\n".join((*imports, _IMPORT_OTHERS)),
        all=" + ".join(variables),
        tasks=_listed(spec.name for spec in tasks),
        environment=ENVIRONMENT,
        repeats=REPEATS,
        run=RUN.format(runner="type=LocalRunner, max_num_workers=_workers"),
        variables=", ".join(variables),
    )


def default_tasks(benchmark: str) -> list[str]:
    """What runs when nothing is chosen.

    Synthetic tasks of up to 4k tokens, for every model and machine; without any the plain tasks of the last split, the reported one.
    """
    synthetic = _small_synthetic(benchmark)
    return synthetic or [
        spec.name
        for spec in catalogue.task_specs()
        if spec.benchmark == benchmark
        and not spec.variant
        and spec.source == "published"
        and spec.split in spec.card.splits[-1:]
    ]


def _small_synthetic(benchmark: str) -> list[str]:
    return [
        spec.name
        for spec in catalogue.task_specs()
        if spec.benchmark == benchmark
        and spec.source == "seed"
        and spec.scoring == "generate"
        and 0 < (spec.tokens or 0) <= 4_000
        and (not spec.card.bounds or spec.length in spec.card.bounds)
    ]


DATASETS = '''\
"""{title}: {about}.

    opencompass --datasets {group} --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below; names of other files are left to those.
"""
{header}

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

{imports}

_tasks = """
{tasks}
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).chosen_tasks('{group}', _tasks)

{variable} = [
    dict(
        abbr=name,
        type=CaseDataset,
        lct_task=name,
        n=1,  # --dataset-num-runs wants them
        k=1,
        reader_cfg=dict(input_columns=['case'], output_column='reference'),
        infer_cfg=dict(
            # The host wants a template; the inferencer renders the case itself.
            prompt_template=dict(type=PromptTemplate, template='{{case}}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type={infer}),
        ),
        eval_cfg=dict(evaluator=dict(type={evaluate})),
    ) for name in _chosen
]
'''

SYNTHETIC = """\
Out of the box: a few synthetic cases of up to 4k tokens, with the demo model, on this machine, without any download."""
PUBLISHED = """\
Out of the box: the first cases of the plain tasks, with the demo model; those that do not fit its window are named and left out.
Data: LCT_DATA_DIR, or `lct data fetch {benchmark}`. Responses are judged where a judge is named: LCT_JUDGE=judge.yaml."""

EVAL = (
    '''\
"""{title} with one command: `opencompass configs/eval_{benchmark}.py`.

{about}

    LCT_TASKS   names, with commas between: any task of `lct tasks`, e.g. LCT_TASKS={example}; or
                LCT_TASKS=official for all tasks on the published files (LCT_DATA_DIR, or `lct data fetch {benchmark}`)
    LCT_N       cases of each task (5 out of the box; all, or the official subsets, where LCT_TASKS is given)
    LCT_MODEL   folder or hub id of a Hugging Face model; other models: see models/ beside this file, and --models with
                --datasets. Beside a config file the host ignores --models and --datasets.
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); the host's --dataset-num-runs has no effect beside a config file. Repeats
                differ where the model samples: LCT_TEMPERATURE=0.6, LCT_TOP_P=0.9 (greedy without them)

Other LCT_ options: see the docs. The command ends with status 1 when a result is missing.
"""
{header}

import os

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
{imports}
    from .models.lct_model import models
    from .summarizers.example import summarizer

_demo = """
{defaults}
""".split()
'''
    + CHOICE
    + """
if _given:
    datasets = [_by_name[name] for name in _given if name != 'official']
    if 'official' in _given:
        datasets += [d for d in {official} if d['abbr'] not in _given]
else:
    datasets = [dict(_by_name[name], lct_n=_env.whole('LCT_N', 5)) for name in _demo]

"""
    + REPEATS
    + """
_workers = _env.whole('LCT_WORKERS', 1)
"""
    + RUN
    + """work_dir = 'outputs/{benchmark}'

# What is left here is written down with the run: no modules, and the datasets once.
del os, _env, _demo, _all, _given, _by_name, _unknown, _runs, _eval_gpus, _workers, {variables}
"""
)

EVAL_ALL = (
    '''\
"""The whole suite with one command: `LCT_MODEL=FOLDER_OR_HUB_ID opencompass configs/eval_all.py`.

All tasks on the published files of all benchmarks, or those in LCT_TASKS, of any benchmark and kind; also those without published
files. Data: LCT_DATA_DIR, or `lct data fetch BENCHMARK`; `lct plan --tasks lct_official` says what is there and what it costs.

    LCT_TASKS   names, with commas between: any tasks of `lct tasks`; `official` stands for all on the published files
    LCT_N       cases of each task (all, or the official subsets)
    LCT_MODEL   folder or hub id of a model in this process; without it the demo model. LCT_MODEL_TYPE=base for one without chat
                template, =vllm through vLLM; see models/lct_model.py and models/lct_vllm.py beside this file
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1), each with its part of the cases; LCT_GPUS GPUs of each; LCT_BATCH_SIZE
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); see LCT_TEMPERATURE in the model's file
    LCT_SLURM_PARTITION   run the processes as Slurm jobs (srun) in this partition, at most LCT_WORKERS at a time; LCT_SLURM_QOS;
                LCT_SLURM_ARGS: more of srun, e.g. '--time=12:00:00 -c 8'; LCT_SLURM_SEQUENTIAL=1: the host's
                SlurmSequentialRunner, for clusters whose srun prints 'Job N scheduled successfully!'

The same folder and `-r` go on with a run that was stopped. The command ends with status 1 when a result is missing.
"""
{header}

import os

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner, SlurmRunner, SlurmSequentialRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
{imports}
    from .models.lct_endpoint import models as _served
    from .models.lct_model import models as _local
    from .models.lct_vllm import models as _vllm
    from .summarizers.example import summarizer

_official = {official}
'''
    + CHOICE
    + """
datasets = [_by_name[name] for name in _given if name != 'official']
if 'official' in _given or not _given:
    datasets += [d for d in _official if d['abbr'] not in _given]

models = _local
if os.environ.get('LCT_MODEL_TYPE') == 'vllm':
    models = _vllm
if os.environ.get('LCT_API_BASE'):
    models = _served

"""
    + REPEATS
    + """
_workers = _env.whole('LCT_WORKERS', 1)
_partition = os.environ.get('LCT_SLURM_PARTITION')
_runner = dict(type=LocalRunner, max_num_workers=_workers)
if _partition:
    _runner = dict(
        type=SlurmSequentialRunner if os.environ.get('LCT_SLURM_SEQUENTIAL') else SlurmRunner,
        max_num_workers=_workers,
        partition=_partition,
        qos=os.environ.get('LCT_SLURM_QOS'),
        extra_command=os.environ.get('LCT_SLURM_ARGS', '').split(),
    )
"""
    + RUN
    + """work_dir = 'outputs/all'

# What is left here is written down with the run: no modules, and the datasets once.
del os, _env, _official, _all, _given, _by_name, _unknown, _local, _served, _vllm, _partition, _runner
del _runs, _eval_gpus, _workers, {variables}
"""
)
