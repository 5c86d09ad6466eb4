"""Write the committed files that are made from the benchmarks' cards: OpenCompass's configs, a part of each docs page.

A test fails when generating again would change a committed file.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.opencompass.generate import opencompass_files
from long_context_tasks.schema.card import Card, TaskCard, Variant

CHECKOUT = Path(__file__).resolve().parents[2]
_BEGIN = "<!-- generated from the card by `lct generate`; edit the card instead -->"
_MADE = "# Made by `lct generate`"
_TAG = re.compile(r"<(?=[a-z/])")
_END = "<!-- end of the generated part -->"


def write_generated_files() -> list[Path]:
    """Write what differs and delete what no card makes any more; return the files that changed."""
    files = generated_files()
    return write_files(files) + delete_others(files)


def generated_files() -> dict[Path, str]:
    """Every generated file of the checkout with the content that it must have."""
    files = {CHECKOUT / path: text for path, text in opencompass_files().items()}
    for name in catalogue.own_benchmark_names():
        page = CHECKOUT / "docs" / f"{name}.md"
        files[page] = with_generated_part(
            page.read_text(encoding="utf-8"), card_markdown(catalogue.card(name))
        )
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


def with_generated_part(page: str, part: str) -> str:
    """A page whose generated part is replaced; the markers must be there."""
    head, rest = page.split(_BEGIN)
    _, tail = rest.split(_END)
    return f"{head}{_BEGIN}\n\n{part}\n{_END}{tail}"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def _endings(task: TaskCard) -> str:
    """A table of the variants; those that differ in a number alone, as ``_wer20`` and ``_wer40``, share a row."""
    alike: dict[tuple[str, ...], list[Variant]] = {}
    for variant in task.variants:
        key = (variant.axis, *(re.sub(r"\d+", "N", text) for text in (variant.name, variant.about)))
        alike.setdefault(key, []).append(variant)
    rows = [
        (
            " ".join(f"`_{variant.name}`" for variant in found),
            axis,
            about if len(found) > 1 else found[0].about,
        )
        for (axis, _, about), found in alike.items()
    ]
    if not any(axis for _, axis, _ in rows):
        return _table(("end of the name", "what it does"), [(names, about) for names, _, about in rows])
    header = ("end of the name", "changes", "what it does")
    return _table(header, rows) + "\nOne ending of each kind may be joined, in the order of the table.\n"


def _task_markdown(family: str, task: TaskCard) -> str:
    facts = f"Chance: {task.chance}. Answer budget: {task.answer_budget} tokens."
    if not task.lengths:  # its texts have the length they have
        names = ", ".join(f"`{family}_{split}`" for split in task.splits) or f"`{family}`"
        parts = [f"{task.about} Tasks: {names}. {facts}", *([_endings(task)] if task.variants else [])]
        return "\n\n".join([f"### {family}", *parts])
    bounds = {length: f"{most:,}" for length, most in task.bounds.items()}
    lengths = [
        (length, f"`{family}_{length}`", bounds.get(length, ""), task.files.get(length, ""))
        for length in task.lengths
    ]
    variants = [
        (f"`{family}_<length>_{variant.name}`", variant.about, ", ".join(variant.lengths))
        for variant in task.variants
    ]
    parts = [
        f"### {family}",
        f"{task.about} {facts}",
        _table(("length", "task", "most cl100k tokens (paper)", "published file"), lengths),
        _table(("variant", "what it does", "lengths with a task of their own"), variants),
        f"Any other length, and cases you built: `{family}_any` (and `{family}_any_<variant>`).",
    ]
    return "\n\n".join(part.removesuffix("\n") for part in parts) + "\n"


def _settings(rows: tuple[Mapping[str, str], ...]) -> str:
    return _table(
        ("setting", "value", "found in"), [(row["name"], row["value"], row["source"]) for row in rows]
    )


def card_markdown(card: Card) -> str:
    """The generated part of a benchmark's docs page."""
    paper = card.paper
    parts = [
        f"Paper: {paper['authors']}: *{paper['title']}* ({paper['venue']}). Official code: {paper.get('code', 'none')}.",
        f"Task version {card.version}. Licence: {card.licence}",
        "## Tasks",
        *(_task_markdown(f"{card.name}_{name}", task) for name, task in card.tasks.items()),
        "## Metrics",
        _table(("metric", "meaning"), [(f"`{name}`", about) for name, about in card.metrics.items()]),
        "## The paper's settings",
        _settings(card.settings),
        "## Where we differ from the paper or the official code",
        # A tag such as <think> in plain words would be taken for HTML.
        "\n".join(f"- {_TAG.sub('&lt;', text)}" for text in card.deviations),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"
