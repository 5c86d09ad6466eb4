"""Writes the committed files that are made from the cards: OpenCompass's configs and a reference page for each benchmark.

``make generate`` runs this script. A test fails if it would change a committed file.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.configs import small_synthetic_tasks, task_groups
from long_context_tasks.schema.card import Card, TaskCard, Variant

CHECKOUT = Path(__file__).resolve().parents[1]
CONFIGS = CHECKOUT / "configs"
_MADE = "# Made by `make generate`"
_CODE_NOTE = f"{_MADE} from the card of the benchmark; edit the card or the generator, not this file."
_PAGE_NOTE = "<!-- generated from the card by `make generate`; edit the card instead -->"
_NUMBER = re.compile(r"(\d[\d,]*)")
# The beginning of a tag in a text of a card.
_TAG = re.compile(r"<(?=[a-z/])")

_DATASETS = '''\
"""{title}: {about}.

    opencompass --datasets {group} --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

{tasks}
"""
{note}

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
{variable}_datasets = _configs.datasets('{group}')

del _configs
'''
_ABOUT = {
    "gen": "the published files (LCT_DATA_DIR, or `lct data fetch {benchmark}`)",
    "synthetic_gen": "texts generated from a seed; no download, no contamination",
    "recast_gen": "real texts whose names are replaced (LCT_CARRIERS, or `lct data fetch carriers`)",
    "variants_gen": "changed forms of the published cases",
    "any_gen": "any length (LCT_LENGTH=24k) or your own cases (LCT_CASES=DIR, made by `lct build`)",
    "built_gen": "your own cases only (LCT_CASES=DIR, made by `lct build`); none are published",
    "ppl": "by log-likelihood; local models only",
}

_EVAL = '''\
"""{title} with one command: `opencompass configs/eval_{benchmark}.py`.

{about}

    LCT_TASKS   names separated by commas: any task of `lct tasks`, e.g. LCT_TASKS={example}{official}
    LCT_N       cases of each task (4 by default; all, or the official subsets, if LCT_TASKS is given)
    LCT_MODEL   folder or hub id of a Hugging Face model; other models and settings: see models/ next to this file

See eval_all.py for the other variables. The command ends with status 1 when a result is missing.
"""
{note}

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.benchmark_datasets('{benchmark}')
infer, eval = _configs.stages()
work_dir = 'outputs/{benchmark}'

del _configs
'''
_SYNTHETIC = """\
By default, a small trial: 4 synthetic cases of each of the shortest tasks, with the demo model, without any download.
The demo model's answers have at most 64 tokens, unless LCT_ANSWER_BUDGET is set."""
_PUBLISHED = """\
By default: the first cases of the plain tasks, with the demo model; those that do not fit its window are named and left out.
Data: LCT_DATA_DIR, or `lct data fetch {benchmark}`. Responses are judged if a judge is named: LCT_JUDGE=judge.yaml."""


def main() -> None:
    """Write the files that differ, delete those that no card makes any more, and print both."""
    files = generated_files()
    written = [
        path for path in files if not path.is_file() or path.read_text(encoding="utf-8") != files[path]
    ]
    for path in written:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8", newline="\n")
    for path in (*written, *delete_others(files)):
        print(path.relative_to(CHECKOUT))  # noqa: T201 - run from a Makefile


def generated_files() -> dict[Path, str]:
    pages = CHECKOUT / "docs" / "reference"
    cards = {name: catalogue.card(name) for name in catalogue.own_benchmark_names()}
    return opencompass_files() | {pages / f"{name}.md": card_markdown(card) for name, card in cards.items()}


def opencompass_files() -> dict[Path, str]:
    files = {CONFIGS / "__init__.py": "", CONFIGS / "datasets" / "__init__.py": ""}
    for benchmark in catalogue.own_benchmark_names():
        folder = CONFIGS / "datasets" / benchmark
        files[folder / "__init__.py"] = ""
        for group, tasks in task_groups(benchmark).items():
            files[folder / f"{group}.py"] = _dataset_file(benchmark, group, tasks)
        files[CONFIGS / f"eval_{benchmark}.py"] = _eval_file(benchmark)
    return files


def delete_others(files: Mapping[Path, str]) -> list[Path]:
    """Delete files in the same folders that were generated earlier and are no longer among these; return them."""
    deleted = []
    # Pages are left alone: their folder also holds pages that are written by hand.
    for folder in {path.parent for path in files if path.suffix == ".py"}:
        for path in sorted(folder.glob("*")):
            if path.is_file() and path not in files and _MADE in path.read_text(encoding="utf-8"):
                path.unlink()
                deleted.append(path)
    return deleted


def _dataset_file(benchmark: str, group: str, tasks: Sequence[str]) -> str:
    return _DATASETS.format(
        note=_CODE_NOTE,
        title=catalogue.card(benchmark).title,
        about=_ABOUT[group.removeprefix(f"{benchmark}_")].format(benchmark=benchmark),
        tasks=textwrap.fill(" ".join(tasks), width=108, initial_indent="    ", subsequent_indent="    "),
        variable=group.removesuffix("_gen"),
        group=group,
    )


def _eval_file(benchmark: str) -> str:
    about = _SYNTHETIC if small_synthetic_tasks(benchmark) else _PUBLISHED
    official = (
        "; or\n                LCT_TASKS=official for all tasks on the published files "
        f"(LCT_DATA_DIR, or `lct data fetch {benchmark}`)"
    )
    return _EVAL.format(
        official=official if f"{benchmark}_gen" in task_groups(benchmark) else "",
        note=_CODE_NOTE,
        title=catalogue.card(benchmark).title,
        benchmark=benchmark,
        about=about.format(benchmark=benchmark),
        example=next(spec.name for spec in catalogue.task_specs() if spec.benchmark == benchmark),
    )


def card_markdown(card: Card) -> str:
    paper = card.paper
    parts = [
        _PAGE_NOTE,
        f"# {card.title}: tasks, metrics, deviations",
        f"How to run it: [{card.title}](../{card.name}.md). Paper: {paper['authors']}: *{paper['title']}* ({paper['venue']}). "
        f"Official code: {paper.get('code', 'none')}.",
        f"Task version {card.version}.{card.interface}. Licence: {card.licence}",
        "## Tasks",
        _tasks(card),
        *_lengths(card),
        *_endings(card),
        "## Metrics",
        _table(("metric", "meaning"), [(f"`{name}`", about) for name, about in card.metrics.items()]),
        "## The paper's settings",
        _table(
            ("setting", "value", "found in"),
            [(row["name"], row["value"], row["source"]) for row in card.settings],
        ),
        "## Where we differ from the paper or the official code",
        # Markdown would take a tag such as <think> for HTML.
        "\n".join(f"- {_TAG.sub('&lt;', text)}" for text in card.deviations),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def _tasks(card: Card) -> str:
    rows = [
        (_names(f"{card.name}_{name}", task), task.about, task.chance, str(task.answer_budget))
        for name, task in card.tasks.items()
    ]
    return _table(("task", "what is asked", "chance", "answer budget, tokens"), rows)


def _names(family: str, task: TaskCard) -> str:
    if task.lengths:
        return f"`{family}_<length>`"
    return f"`{family}_{{{','.join(task.splits)}}}`" if task.splits else f"`{family}`"


def _lengths(card: Card) -> list[str]:
    tables = []
    for name, task in card.tasks.items():
        columns = {
            "maximum tokens (paper)": {length: f"{bound:,}" for length, bound in task.bounds.items()},
            "published file": task.files,
        }
        columns = {title: column for title, column in columns.items() if column}
        rows = [(each, *(column.get(each, "") for column in columns.values())) for each in task.lengths]
        if rows:
            others = f"For any other length, and for cases that you built: `{card.name}_{name}_any`."
            tables += [_table((f"`{card.name}_{name}_...`", *columns), rows), others]
    return tables


def _endings(card: Card) -> list[str]:
    """Return a table of the variants and its legend.

    Tasks with the same variant share a row, as do variants that differ in a number only (``_wer20``, ``_wer40``).
    """
    alike: dict[tuple[str, ...], dict[str, list[Variant]]] = {}
    for name, task in card.tasks.items():
        for variant in task.variants:
            lengths = ", ".join(variant.lengths) if variant.lengths != task.lengths else ""
            without_numbers = (_NUMBER.sub("N", text) for text in (variant.name, variant.about))
            domains = f" ({', '.join(variant.splits)})" if variant.splits else ""
            row = alike.setdefault((lengths, variant.axis, *without_numbers), {})
            row.setdefault(f"{name}{domains}", []).append(variant)
    axes = list(dict.fromkeys(axis for _, axis, _, _ in alike if axis))
    rows = []
    for (lengths, axis, *_), tasks in sorted(
        alike.items(), key=lambda item: axes.index(item[0][1]) if item[0][1] else -1
    ):
        found = next(iter(tasks.values()))
        endings = " ".join(f"`_{variant.name}`{'' if variant.names == 'all' else '*'}" for variant in found)
        texts = zip(*(_NUMBER.split(variant.about) for variant in found), strict=True)
        about = "".join(same[0] if len(set(same)) == 1 else "N" for same in texts)
        rows.append((endings, ", ".join(tasks), axis or lengths, about))
    if not rows:
        return []
    header = ("ending", "of", "changes" if axes else "lengths, if not all", "what it does")
    rules = ["A name has at most one ending of each kind, in the order of the table."] if axes else []
    if any("*" in endings for endings, *_ in rows):
        rules.append(
            "\\* In lm-eval, leave this ending out of the name and give it as `lct_variant` instead. Some tasks of any length keep it."
        )
    return [_table(header, rows), *rules]


if __name__ == "__main__":
    main()
