"""Functions called by OpenCompass config files: datasets, models and runners from environment variables.

A config file cannot call imported functions, so the files access this module through ``__import__``.
OpenCompass classes are named by dotted paths, as it writes them itself, and OpenCompass is not imported here.

A dataset file selects its own names from LCT_TASKS. The others may belong to another dataset file in the same
run, so they are checked again at the end of the run, when all of its tasks are known. An unknown task name
stops the run at once.
"""

import logging
import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from long_context_tasks.attention.models import attention_settings, describe, read_attention
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import TaskSpec, nano_tasks, synthetic_tasks
from long_context_tasks.hosts.messages import (
    check_length,
    checked_model,
    warn_of_long_answers,
    warn_of_misspelt_variables,
)
from long_context_tasks.hosts.opencompass.console import show_input_errors_in_one_line
from long_context_tasks.hosts.window import OF_CL100K
from long_context_tasks.schema import InputError
from long_context_tasks.schema.card import Source
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.tokens import CL100K, check_hub_model, provide_table, tokenizer_identity

logger = logging.getLogger(__name__)
VARIABLE = "LCT_TASKS"
OFFICIAL = "official"  # in LCT_TASKS: all tasks with published files
OTHERS = "other_packages_gen"  # the dataset file for benchmarks from other packages
ATTENTION = "LCT_ATTENTION"  # one of our attention methods with its settings: rerope,window=512
_TRIAL_ANSWER = 64  # tokens
_OURS = "long_context_tasks.hosts.opencompass"
show_input_errors_in_one_line()  # errors in variables surface while a config file is read


def whole(name: str, default: int, least: int = 1) -> int:
    return int(_number(name, default, int, (least, math.inf), f"a whole number of {least} or more"))


def number(name: str, default: float, most: float = math.inf) -> float:
    wanted = "a number of 0 or more" if math.isinf(most) else f"a number of 0 to {most:g}"
    return _number(name, default, float, (0, most), wanted)


def _number(
    name: str, default: float, kind: Callable[[Any], float], bounds: tuple[float, float], wanted: str
) -> float:
    # An empty variable counts as unset, as is common in scripts.
    given = os.environ.get(name) or default
    try:
        value = kind(given)
    except ValueError:
        value = math.nan
    if not bounds[0] <= value <= bounds[1] or math.isinf(value):
        raise InputError(f"{name}={given}: give {wanted}, or leave it out ({default:g})")
    return value


def local_model() -> str:
    """Return LCT_MODEL, a folder or a hub id; empty for the demo model."""
    name = checked_model("LCT_MODEL", os.environ.get("LCT_MODEL", ""))
    check_hub_model(name, "LCT_MODEL")
    return name


def is_served() -> bool:
    base, model = os.environ.get("LCT_API_BASE"), os.environ.get("LCT_API_MODEL")
    if model and not base:
        raise InputError(
            f"LCT_API_MODEL={model}: no server is named; set LCT_API_BASE, such as http://127.0.0.1:8000/v1, "
            "or LCT_MODEL for a model that is loaded here"
        )
    if base and without_secrets(base) != base:
        # OpenCompass writes the address into its config files and logs.
        raise InputError(
            "LCT_API_BASE: the address holds a user name, password, key or query; leave them out, and put a key into OPENAI_API_KEY"
        )
    if base:
        from long_context_tasks.judges.client import checked_proxy

        checked_proxy(base)
    return bool(base)


def served_model() -> dict[str, Any]:
    if not is_served():
        raise InputError("no server is named; set LCT_API_BASE, such as http://127.0.0.1:8000/v1")
    name = os.environ.get("LCT_API_MODEL") or "model"
    temperature = number("LCT_TEMPERATURE", 0)
    seed = {"seed": whole("LCT_RUN_SEED", 0, 0)} if "LCT_RUN_SEED" in os.environ else None
    side_by_side = whole("LCT_BATCH_SIZE", 8)
    provide_table("cl100k_base")  # from a package; OpenCompass would download it
    tokenizer_identity(
        os.environ.get("LCT_TOKENIZER") or CL100K
    )  # whether it is there, before anything starts
    return {
        # Reports treat runs with the same name as repeats, so a sampling model gets a different name.
        "abbr": name.replace("/", "_") + (f"_t{temperature:g}" if temperature else ""),
        "path": name,
        "openai_api_base": os.environ["LCT_API_BASE"],
        # OpenCompass writes the config to disk, so it must not contain the key itself.
        "key": "ENV" if os.environ.get("OPENAI_API_KEY") else "EMPTY",
        # Prompts are counted by us or the server. By default, OpenCompass searches the hub for the model's name.
        "tokenizer_path": OF_CL100K,
        "meta_template": {
            "round": [
                {"role": "HUMAN", "api_role": "HUMAN"},
                {"role": "BOT", "api_role": "BOT", "generate": True},
            ],
            "reserved_roles": [{"role": "SYSTEM", "api_role": "SYSTEM"}],
        },
        "temperature": temperature,
        "openai_extra_kwargs": seed,
        "query_per_second": whole("LCT_QUERIES_PER_SECOND", 8),
        "retry": 3,
        "max_out_len": 64,  # required, but each task has its own answer budget
        # OpenCompass sends a batch with this many threads; its default depends on the number of processors.
        "batch_size": side_by_side,
        "max_workers": side_by_side,
        "run_cfg": {"num_gpus": 0},
    }


def chosen_attention(chat: bool) -> dict[str, Any]:
    """Return the class and arguments for the attention in LCT_ATTENTION; empty if it is not set.

    With LCT_WINDOW, OpenCompass does not truncate prompts to the window in the model's config.
    """
    if not (text := os.environ.get(ATTENTION)):
        return {}
    name, settings = read_attention(text)
    window = catalogue.resolve_options({}).window
    return {
        "type": f"{_OURS}.task.Attention{'' if chat else 'Base'}Model",
        "attention": {"name": name, **settings},
        **({} if window is None else {"max_seq_len": window}),
        "suffix": f"-{describe(name, attention_settings(name, settings))}",
    }


def group_of(spec: TaskSpec) -> str:
    if spec.benchmark not in catalogue.own_benchmark_names():
        return OTHERS
    if spec.scoring == "likelihood":
        return f"{spec.benchmark}_ppl"
    if spec.source == "built":
        return f"{spec.benchmark}_built_gen"
    if spec.length == catalogue.ANY:
        return f"{spec.benchmark}_any_gen"
    if spec.source in ("seed", "recast"):
        return f"{spec.benchmark}_{'synthetic' if spec.source == 'seed' else spec.source}_gen"
    return f"{spec.benchmark}_variants_gen" if spec.variant else f"{spec.benchmark}_gen"


def task_groups(benchmark: str) -> dict[str, list[str]]:
    """Return the tasks in each dataset file, in card order."""
    groups: dict[str, list[str]] = {}
    for spec in _specs_of(benchmark):
        groups.setdefault(group_of(spec), []).append(spec.name)
    return groups


def _specs_of(benchmark: str) -> list[TaskSpec]:
    return [spec for spec in catalogue.task_specs() if spec.benchmark == benchmark]


def default_tasks(benchmark: str) -> list[str]:
    """Return the tasks that run if none are chosen.

    These are short synthetic tasks, which run on any machine; if the benchmark has none, the
    plain tasks on the last split, which papers report.
    """
    return small_synthetic_tasks(benchmark) or [
        spec.name
        for spec in _specs_of(benchmark)
        if not spec.variant and spec.source == "published" and spec.split in spec.card.splits[-1:]
    ]


def small_synthetic_tasks(benchmark: str) -> list[str]:
    """Return generative tasks on up to 2k tokens of synthetic text; the shortest one if all are longer.

    Several kinds of tasks share the 2k, so that a trial takes under two minutes; each kind keeps its shortest task.
    """
    specs = [s for s in _specs_of(benchmark) if s.source == "seed" and s.scoring == "generate"]
    tokens = {spec.name: spec.tokens for spec in specs if spec.tokens}
    kinds = {spec.name: spec.task for spec in specs}
    shortest = {kinds[name]: name for name in sorted(tokens, key=tokens.__getitem__, reverse=True)}
    longest = {name: 2_000 if name in shortest.values() else 2_000 // len(shortest) for name in tokens}
    small = [name for name, number in tokens.items() if number <= longest[name]]
    return small or sorted(tokens, key=tokens.__getitem__)[:1]


def wanted_names() -> list[str]:
    """Return the names in LCT_TASKS; empty if it is not set."""
    warn_of_misspelt_variables()
    names = []
    for name in os.environ.get(VARIABLE, "").replace(",", " ").split():
        try:
            names.append(name if name == OFFICIAL else full_name(name))
        except InputError as error:
            raise InputError(f"{VARIABLE}: {error}; `lct tasks` lists all names") from error
    return list(dict.fromkeys(names))


def full_name(task: str, variant: str | None = None) -> str:
    """Return a task's full name with a variant, by default the one in LCT_VARIANT."""
    catalogue.parse_task(task)
    return catalogue.with_variant(task, catalogue.resolve_options({"lct_variant": variant}))[0]


def official_groups() -> list[str]:
    names = (f"{name}_gen" for name in catalogue.benchmark_names())
    return [name for name in names if name in {group_of(spec) for spec in catalogue.task_specs()}]


def not_run(tasks: Iterable[str]) -> list[str]:
    """Return a sentence with a remedy for each name in LCT_TASKS whose task is not in a run."""
    in_run = set(tasks)
    groups = official_groups()
    published = {spec.name for spec in catalogue.task_specs() if group_of(spec) in groups}
    sentences = []
    for name in wanted_names():
        if name == OFFICIAL:
            if not in_run & published:
                sentences.append(
                    f"{VARIABLE}={OFFICIAL} means the tasks in {', '.join(groups)}; this run holds none of them"
                )
        elif name not in in_run:
            group = group_of(catalogue.parse_task(name))
            sentences.append(
                f"{VARIABLE} names {name}, which no dataset file of this run holds; it is in {group}: "
                f"opencompass --datasets {group} ..."
            )
    return sentences


def dataset(task: str, most_tokens: float = math.inf, **options: Any) -> dict[str, Any]:
    """Return a task's OpenCompass config, with an answer budget of at most ``most_tokens``.

    It includes the options from the environment, so that ``-r`` finds them in the stored config.
    """
    task = full_name(task, options.pop("lct_variant", None))
    given = catalogue.task_options(task, options)
    budget = given.answer_budget or catalogue.parse_task(task).answer_budget
    if budget > most_tokens:
        budget = options["lct_answer_budget"] = int(most_tokens)
    # Without the judge, because a resumed run may use another.
    written = {key: value for key, value in given.resolved().items() if key[4:] in given.given - {"judge"}}
    likely = catalogue.parse_task(task).scoring == "likelihood"
    module, kind = (f"{_OURS}.likelihood", "CasePPL") if likely else (f"{_OURS}.task", "Case")
    if not likely:  # here, because the terminal does not show what the inferring processes log
        warn_of_long_answers(task, budget)
    openicl = "opencompass.openicl"
    return {
        "abbr": task,
        "type": f"{_OURS}.task.CaseDataset",
        "lct_task": task,
        "n": 1,  # --dataset-num-runs expects n and k
        "k": 1,
        "reader_cfg": {"input_columns": ["case"], "output_column": "reference"},
        "infer_cfg": {
            # OpenCompass requires a template; the inferencer renders the case itself.
            "prompt_template": {
                "type": f"{openicl}.icl_prompt_template.PromptTemplate",
                "template": "{case}",
            },
            "retriever": {"type": f"{openicl}.icl_retriever.ZeroRetriever"},
            "inferencer": {"type": f"{module}.{kind}{'' if likely else 'Gen'}Inferencer"},
        },
        "eval_cfg": {"evaluator": {"type": f"{module}.{kind}Evaluator"}},
        **written,
        **options,
    }


def datasets(group: str) -> list[dict[str, Any]]:
    """Return the datasets in a dataset file: those in LCT_TASKS, or all if it is not set."""
    names = wanted_names()
    if OFFICIAL not in names:
        check_length(names, os.environ.get("LCT_LENGTH"), "LCT_LENGTH")
    # Other files may contain the remaining names; not_run() checks them at the end.
    everything = not names or (OFFICIAL in names and group in official_groups())
    tasks = [spec.name for spec in catalogue.task_specs() if group_of(spec) == group]
    return [dataset(task) for task in tasks if everything or task in names]


def benchmark_datasets(benchmark: str) -> list[dict[str, Any]]:
    """Return the datasets for ``eval_<benchmark>.py``: LCT_TASKS, or a few cases of the default tasks."""
    if wanted_names():
        return _chosen(_specs_of(benchmark), ())
    free = os.environ.get("LCT_MODEL") or os.environ.get("LCT_ANSWER_BUDGET") or is_served()
    # The demo model writes until its budget ends, which takes minutes.
    most = math.inf if free else _TRIAL_ANSWER
    tasks = default_tasks(benchmark)
    return _chosen(_specs_of(benchmark), tasks, lct_n=whole("LCT_N", 4), most_tokens=most)


def suite_datasets() -> list[dict[str, Any]]:
    """Return the datasets for ``eval_all.py``: LCT_TASKS, or all tasks with published files."""
    return _chosen(catalogue.task_specs(), [OFFICIAL])


def synthetic_datasets(source: Source = "seed") -> list[dict[str, Any]]:
    """Return the datasets for ``eval_synthetic.py`` or ``eval_recast.py``, with tasks of any length.

    These are the tasks in LCT_TASKS, or this package's plain ones.
    """
    seeded = [s for s in catalogue.task_specs() if s.source == source and s.length in ("", catalogue.ANY)]
    length = os.environ.get("LCT_LENGTH") or ("1k" if source == "seed" else "2k")
    return _chosen(
        seeded, _of_this_package(synthetic_tasks(source)), lct_length=length, lct_n=whole("LCT_N", 5)
    )


def nano_datasets() -> list[dict[str, Any]]:
    """Return the datasets for ``eval_nano.py``, with tasks that have many questions per document.

    These are the tasks in LCT_TASKS, or all of this package's.
    """
    number_of_cases = {"lct_n": whole("LCT_N", 1)} if os.environ.get("LCT_N") else {}
    length = os.environ.get("LCT_LENGTH") or "8k"
    return _chosen(nano_tasks(), _of_this_package(nano_tasks()), lct_length=length, **number_of_cases)


def _of_this_package(specs: Sequence[TaskSpec]) -> list[str]:
    own = catalogue.own_benchmark_names()
    return [spec.name for spec in specs if spec.benchmark in own]


def _chosen(specs: Sequence[TaskSpec], plain: Sequence[str], **options: Any) -> list[dict[str, Any]]:
    """Return the datasets for the tasks in LCT_TASKS, which must be in ``specs``, or for ``plain``."""
    names, known = wanted_names() or plain, {spec.name for spec in specs}
    if unknown := [name for name in names if name not in known and name != OFFICIAL]:
        offered = ", ".join(plain or default_tasks(specs[0].benchmark))
        raise InputError(
            f"{VARIABLE}: not tasks of this config file: {', '.join(unknown)}; it has {offered} and more; `lct tasks` lists all"
        )
    groups = official_groups() if OFFICIAL in names else []
    official = [spec.name for spec in specs if group_of(spec) in groups]
    tasks = dict.fromkeys([*(name for name in names if name != OFFICIAL), *official])
    if wanted_names():
        check_length(list(tasks), os.environ.get("LCT_LENGTH"), "LCT_LENGTH")
    if "lct_n" in options and not wanted_names():
        trial = "this is a trial with %s cases of each of %s; LCT_TASKS (not set) names other tasks"
        logger.warning(trial, options["lct_n"], ", ".join(tasks))
    rows = [dataset(task, **options) for task in tasks]
    runs, gpus = whole("LCT_RUNS", 1), whole("LCT_EVAL_GPUS", 0, 0)
    return [{**row, "n": runs, "k": runs, "eval_cfg": {**row["eval_cfg"], "num_gpus": gpus}} for row in rows]


def stages() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a run's ``infer`` and ``eval`` configs.

    They use LCT_WORKERS processes, as Slurm jobs if LCT_SLURM_PARTITION is set.
    """
    workers = whole("LCT_WORKERS", 1)
    runner: dict[str, Any] = {
        "type": "long_context_tasks.hosts.opencompass.runner.ShowingRunner",
        "max_num_workers": workers,
    }
    if partition := os.environ.get("LCT_SLURM_PARTITION"):
        sequential = "Sequential" if os.environ.get("LCT_SLURM_SEQUENTIAL") else ""
        runner |= {
            "type": f"opencompass.runners.Slurm{sequential}Runner",
            "partition": partition,
            "qos": os.environ.get("LCT_SLURM_QOS"),
            "extra_command": os.environ.get("LCT_SLURM_ARGS", "").split(),
        }
    infer = {
        "partitioner": {
            "type": "opencompass.partitioners.NumWorkerPartitioner",
            "num_worker": workers,
            # OpenCompass caches sizes by name and would run 5 cases again even if the next run should have
            # 50.
            "force_rebuild": True,
            "dataset_size_path": "",
        },
        "runner": {**runner, "task": {"type": "opencompass.tasks.OpenICLInferTask"}},
    }
    evaluate = {
        # Ten tasks per process, because each process takes ten seconds to start.
        "partitioner": {"type": "opencompass.partitioners.NaivePartitioner", "n": 10},
        "runner": {**runner, "task": {"type": "opencompass.tasks.OpenICLEvalTask"}},
    }
    return infer, evaluate
