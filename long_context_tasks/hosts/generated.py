"""Write the committed files that are made from the benchmarks' cards: OpenCompass's configs, a reference page of each benchmark.

A test fails when generating again would change a committed file.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.configs import small_synthetic_tasks, task_groups
from long_context_tasks.schema.card import Card, TaskCard, Variant

CONFIGS = Path("configs")
_CODE_NOTE = (
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
    "recast_gen": "real texts with other names (LCT_CARRIERS, or `lct data fetch carriers`)",
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
        note=_CODE_NOTE,
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
        note=_CODE_NOTE,
        title=catalogue.card(benchmark).title,
        benchmark=benchmark,
        about=about.format(benchmark=benchmark),
        example=next(spec.name for spec in catalogue.task_specs() if spec.benchmark == benchmark),
    )


CHECKOUT = Path(__file__).resolve().parents[2]
_NOTE = "<!-- generated from the card by `lct generate`; edit the card instead -->"
_MADE = "# Made by `lct generate`"
_TAG = re.compile(r"<(?=[a-z/])")


def write_generated_files() -> list[Path]:
    """Write what differs and delete what no card makes any more; return the files that changed."""
    files = generated_files()
    return write_files(files) + delete_others(files)


def generated_files() -> dict[Path, str]:
    """Every generated file of the checkout with the content that it must have."""
    files = {CHECKOUT / path: text for path, text in opencompass_files().items()}
    for name in catalogue.own_benchmark_names():
        files[CHECKOUT / "docs" / "reference" / f"{name}.md"] = card_markdown(catalogue.card(name))
    return files


def write_files(files: Mapping[Path, str]) -> list[Path]:
    """Write the files that differ; returns them."""
    written = []
    for path, text in files.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            written.append(path)
    return written


def delete_others(files: Mapping[Path, str]) -> list[Path]:
    """Delete generated files (their text says so) beside these that are not among them; returns them."""
    deleted = []
    for folder in {path.parent for path in files if path.suffix == ".py"}:
        for path in sorted(folder.glob("*")):
            if path.is_file() and path not in files and _MADE in path.read_text(encoding="utf-8"):
                path.unlink()
                deleted.append(path)
    return deleted


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def _names(family: str, task: TaskCard) -> str:
    """The names of a task's cases without an ending, on one line."""
    if task.lengths:
        return f"`{family}_<length>`"
    return f"`{family}_{{{','.join(task.splits)}}}`" if task.splits else f"`{family}`"


def _tasks(card: Card) -> str:
    rows = [
        (_names(f"{card.name}_{name}", task), task.about, task.chance, str(task.answer_budget))
        for name, task in card.tasks.items()
    ]
    return _table(("task", "what is asked", "chance", "answer budget, tokens"), rows)


def _lengths(card: Card) -> list[str]:
    """A table of the published lengths for each task that has some."""
    tables = []
    for name, task in card.tasks.items():
        rows = [
            (length, f"{task.bounds[length]:,}" if length in task.bounds else "", task.files.get(length, ""))
            for length in task.lengths
        ]
        if rows:
            header = (f"`{card.name}_{name}_...`", "most cl100k tokens (paper)", "published file")
            others = f"Any other length, and cases you built: `{card.name}_{name}_any`."
            tables += [_table(header, rows), others]
    return tables


def _endings(card: Card) -> list[str]:
    """A table of the variants; tasks with the same variant share a row, as do those that differ in a number (``_wer20``, ``_wer40``)."""
    alike: dict[tuple[str, ...], dict[str, list[Variant]]] = {}
    for name, task in card.tasks.items():
        for variant in task.variants:
            lengths = ", ".join(variant.lengths) if variant.lengths != task.lengths else ""
            key = (
                lengths,
                variant.axis,
                *(re.sub(r"\d+", "N", text) for text in (variant.name, variant.about)),
            )
            domains = f" ({', '.join(variant.splits)})" if variant.splits else ""
            alike.setdefault(key, {}).setdefault(f"{name}{domains}", []).append(variant)
    axes = list(dict.fromkeys(axis for _, axis, _, _ in alike if axis))
    rows = []
    for (lengths, axis, _, about), tasks in sorted(
        alike.items(), key=lambda item: axes.index(item[0][1]) if item[0][1] else -1
    ):
        found = next(iter(tasks.values()))
        endings = " ".join(f"`_{variant.name}`{'' if variant.names == 'all' else '*'}" for variant in found)
        rows.append((endings, ", ".join(tasks), axis or lengths, about if len(found) > 1 else found[0].about))
    if not rows:
        return []
    header = ("ending", "of", "changes" if axes else "lengths, if not all", "what it does")
    rules = ["At most one ending of each kind, in the order of the table."] if axes else []
    if any("*" in endings for endings, *_ in rows):
        rules.append(
            "\\* In lm-eval an option: the name without the ending, and `lct_variant`. A task of any length may have a name there."
        )
    return [_table(header, rows), *rules]


def _settings(rows: tuple[Mapping[str, str], ...]) -> str:
    return _table(
        ("setting", "value", "found in"), [(row["name"], row["value"], row["source"]) for row in rows]
    )


def card_markdown(card: Card) -> str:
    """A benchmark's page of the reference."""
    paper = card.paper
    parts = [
        _NOTE,
        f"# {card.title}: tasks, metrics, deviations",
        f"How to run it: [{card.title}](../{card.name}.md). Paper: {paper['authors']}: *{paper['title']}* ({paper['venue']}). "
        f"Official code: {paper.get('code', 'none')}.",
        f"Task version {card.version}. Licence: {card.licence}",
        "## Tasks",
        _tasks(card),
        *_lengths(card),
        *_endings(card),
        "## Metrics",
        _table(("metric", "meaning"), [(f"`{name}`", about) for name, about in card.metrics.items()]),
        "## The paper's settings",
        _settings(card.settings),
        "## Where we differ from the paper or the official code",
        # A tag such as <think> in plain words would be taken for HTML.
        "\n".join(f"- {_TAG.sub('&lt;', text)}" for text in card.deviations),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"
