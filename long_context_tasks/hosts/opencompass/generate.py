"""The config files of OpenCompass that are made from the cards; ``lct generate`` writes them, a test shows that they are current."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.configs import small_synthetic_tasks, task_groups

CONFIGS = Path("configs")
_NOTE = (
    "# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file."
)

_DATASETS = '''\
"""{title}: {about}.

    opencompass --datasets {group} --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

{tasks}
"""
{note}

# Not an import statement: what those bring cannot be called in a config file.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
{variable}_datasets = _configs.datasets('{group}')

del _configs
'''
_ABOUT = {
    "gen": "the published files (LCT_DATA_DIR, or `lct data fetch {benchmark}`)",
    "synthetic_gen": "texts written from a seed; no download, no contamination",
    "recast_gen": "real texts with other names, numbers, and dates (LCT_CARRIERS, or `lct data fetch carriers`)",
    "variants_gen": "changed forms of the published cases",
    "any_gen": "any length (LCT_LENGTH=24k) or your own cases (LCT_CASES=DIR, made by `lct build`)",
    "built_gen": "your own cases only (LCT_CASES=DIR, made by `lct build`); there are no published ones",
    "ppl": "by log-likelihood; local models only",
}

_EVAL = '''\
"""{title} with one command: `opencompass configs/eval_{benchmark}.py`.

{about}

    LCT_TASKS   names, with commas between: any task of `lct tasks`, e.g. LCT_TASKS={example}; or
                LCT_TASKS=official for all tasks on the published files (LCT_DATA_DIR, or `lct data fetch {benchmark}`)
    LCT_N       cases of each task (5 out of the box; all, or the official subsets, where LCT_TASKS is given)
    LCT_MODEL   folder or hub id of a Hugging Face model; other models: see models/ beside this file, and --models with
                --datasets. Beside a config file the host ignores --models and --datasets.
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); the host's --dataset-num-runs has no effect beside a config file. Repeats
                differ where the model samples: LCT_TEMPERATURE=0.6, LCT_TOP_P=0.9 (greedy without them)
    LCT_SLURM_PARTITION  run the processes as Slurm jobs; see eval_all.py

Other LCT_ options: see the docs. The command ends with status 1 when a result is missing.
"""
{note}

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: what those bring cannot be called in a config file.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.benchmark_datasets('{benchmark}')
infer, eval = _configs.stages()
work_dir = 'outputs/{benchmark}'

del _configs
'''
_SYNTHETIC = """\
Out of the box: a few synthetic cases of up to 4k tokens, with the demo model, on this machine, without any download."""
_PUBLISHED = """\
Out of the box: the first cases of the plain tasks, with the demo model; those that do not fit its window are named and left out.
Data: LCT_DATA_DIR, or `lct data fetch {benchmark}`. Responses are judged where a judge is named: LCT_JUDGE=judge.yaml."""


def opencompass_files() -> dict[Path, str]:
    """Path (from the repository's root) to text of every generated config file."""
    files: dict[Path, str] = {CONFIGS / "__init__.py": "", CONFIGS / "datasets" / "__init__.py": ""}
    for benchmark in catalogue.own_benchmark_names():
        folder = CONFIGS / "datasets" / benchmark
        files[folder / "__init__.py"] = ""
        for group, tasks in task_groups(benchmark).items():
            files[folder / f"{group}.py"] = dataset_file(benchmark, group, tasks)
        files[CONFIGS / f"eval_{benchmark}.py"] = eval_file(benchmark)
    return files


def dataset_file(benchmark: str, group: str, tasks: Sequence[str]) -> str:
    """Text of ``configs/datasets/<benchmark>/<group>.py``."""
    return _DATASETS.format(
        note=_NOTE,
        title=catalogue.card(benchmark).title,
        about=_ABOUT[group.removeprefix(f"{benchmark}_")].format(benchmark=benchmark),
        tasks=textwrap.fill(" ".join(tasks), width=108, initial_indent="    ", subsequent_indent="    "),
        variable=group.removesuffix("_gen"),
        group=group,
    )


def eval_file(benchmark: str) -> str:
    """Text of ``configs/eval_<benchmark>.py``."""
    about = _SYNTHETIC if small_synthetic_tasks(benchmark) else _PUBLISHED
    return _EVAL.format(
        note=_NOTE,
        title=catalogue.card(benchmark).title,
        benchmark=benchmark,
        about=about.format(benchmark=benchmark),
        example=next(spec.name for spec in catalogue.task_specs() if spec.benchmark == benchmark),
    )
