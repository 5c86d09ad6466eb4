"""Write the committed files that are made from the benchmarks' cards: OpenCompass's configs, a reference page of each benchmark.

A test fails when generating again would change a committed file.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.generate import opencompass_files
from long_context_tasks.schema.card import Card, TaskCard, Variant

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
