"""`lct build`: test cases of any length from a user's own documents, or on texts that are written from a seed."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from long_context_tasks.cli.options import Json, complete_family, examples
from long_context_tasks.cli.output import interval_text, print_table

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Family, Progress
if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import TaskReport

# What `lct build` prints: the cases of each task and length, why others did not come about, how good
# labels are.


_WIDEST = 140
"""Characters of a table with a column for each task; a wider one has a line for each task and reason instead."""


def show_label_quality(folder: Path) -> None:
    """Print how well the annotator's labels agree with a person's; the case folder's manifest has the figures."""
    from long_context_tasks.schema.case_folder import read_manifest
    from long_context_tasks.stats import Interval

    rows = [
        [
            row["domain"],
            f"{row['n']} of {row['total']}",
            *(f"{100 * row[name]:.1f}" for name in ("f1", "precision", "recall")),
            interval_text(Interval(100 * row["interval"]["low"], 100 * row["interval"]["high"]), 1),
        ]
        for row in read_manifest(folder)["options"]["label_quality"]
    ]
    columns = ["domain", "chunks", "F1 %", "precision %", "recall %", "95 % interval of F1"]
    print_table("labels against those made by hand", columns, rows)


def short_names(tasks: Sequence[str]) -> list[str]:
    """Names of tasks without the words with which all of them begin.

    >>> short_names(["ada_leval_tsort_2k", "ada_leval_tsort_4k"]), short_names(["ethic_recall_books 4k"])
    (['2k', '4k'], ['books 4k'])
    """
    words = [task.split("_") for task in tasks]
    shortest = min(map(len, words))
    common = 0
    while common < shortest - 1 and len({tuple(own[: common + 1]) for own in words}) == 1:
        common += 1
    return ["_".join(own[common:]) for own in words]


def _show_reasons(reports: "Sequence[TaskReport]") -> None:
    """Table of why places of books, questions or documents gave no case, by length."""
    title = "places, questions or documents that gave no case"
    names = short_names([report.task.removesuffix("_synthetic") for report in reports])
    reasons = dict.fromkeys(reason for report in reports for reason in report.dropped)
    values = [
        {"task": report.task, "why": reason, "count": count}
        for report in reports
        for reason, count in report.dropped.items()
    ]
    if max(map(len, reasons), default=0) + sum(len(name) + 3 for name in names) > _WIDEST:
        rows = [
            [name, reason, f"{count:,}"]
            for name, report in zip(names, reports, strict=True)
            for reason, count in report.dropped.items()
        ]
        print_table(title, ["task", "why", "count"], rows, ("why",), values)
        return
    rows = [[reason, *(f"{report.dropped.get(reason, 0):,}" for report in reports)] for reason in reasons]
    print_table(title, ["why", *names], rows, values=values)


def show_reports(reports: "Sequence[TaskReport]", tokens: str, out: Path) -> None:
    """Print a table of what was built, and why some places or questions gave no case."""
    built = [report for report in reports if report.tokens]
    # Not a number where guessing is not worth a figure.
    guessing = not all(math.isnan(report.random_guess) for report in built)
    values: list[dict[str, Any]] = []
    for report in built:
        sizes = report.tokens
        values.append(
            {"task": report.task, "cases": len(sizes), "clusters": report.clusters}
            | {"mean": sum(sizes) / len(sizes), "min": min(sizes), "max": max(sizes)}
            | ({"guess %": 100 * report.random_guess} if guessing else {})
        )
    print_table(
        f"cases in {out} (tokens: {tokens})",
        ["task", "cases", "clusters", "mean", "min", "max", *(["guess %"] if guessing else [])],
        [[_cell(name, value) for name, value in row.items()] for row in values],
        values=values,
    )
    if any(report.dropped for report in built):
        _show_reasons(built)
    for note in (note for report in reports for note in report.notes):
        typer.echo(f"warning: {note}", err=True)


def _cell(name: str, value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.1f}" if name == "guess %" else f"{round(value):,}"


app = typer.Typer(add_completion=False)
T = TypeVar("T")

_ALL, _TSORT, _BEST, _ETHIC = "All tasks", "TSort (books)", "BestAnswer (forum posts)", "ETHIC (documents)"


def _option(text: str, panel: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, show_default=False)


@app.command(
    epilog=examples(
        "lct build ethic_recall_synthetic --length 4k,32k --n 50 --seed 7 --out cases/",
        "lct build ada_leval_tsort --books books/ --length 2k,...,128k --out cases/",
        "lct build ethic_recall --documents novels/ --length 8k --annotator judge.yaml --out cases/",
    )
)
def build(
    task: Annotated[
        str,
        typer.Argument(
            autocompletion=complete_family,
            help="Without data, on texts written from a seed: ada_leval_tsort_synthetic, ada_leval_bestanswer_synthetic, "
            "elitr_bench_qa_synthetic, elitr_bench_conv_synthetic, ethic_recall_synthetic, ethic_summarize_synthetic, "
            "ethic_organize_synthetic, ethic_attribute_synthetic. From your own: ada_leval_tsort (needs --books), "
            "ada_leval_bestanswer (needs --posts), ethic_recall, ethic_organize, ethic_attribute, "
            "ethic_recall_counterparts (need --documents and --annotator), ethic_summarize (needs --documents).",
        ),
    ],
    length: Annotated[
        str,
        _option(
            "Lengths with commas: 2k, 128k, 1m, 4096. '...' stands for the published lengths between its neighbours: "
            "2k,...,128k.",
            _ALL,
            "--length",
        ),
    ],
    out: Annotated[
        Path,
        _option(
            "Folder for the cases; each task gets a folder of its own in it. Hosts read it with lct_cases. Default: cases",
            _ALL,
            "--out",
            "-o",
        ),
    ] = Path("cases"),
    books: Annotated[
        Path | None,
        _option(
            "Folder of .txt[.gz] books (Project Gutenberg files as they come, or plain) and .jsonl[.gz] files, or of folders "
            "with one file a chapter; or one such file.",
            _TSORT,
            "--books",
        ),
    ] = None,
    posts: Annotated[
        Path | None,
        _option(
            "Posts.xml of a Stack Exchange dump: plain, .gz or .7z; or posts as .jsonl.", _BEST, "--posts"
        ),
    ] = None,
    n: Annotated[
        int | None,
        _option(
            "Most cases of each length (in ETHIC: and domain); they cover all books, or are a random choice of questions. "
            "Default: all; synthetic: 200.",
            _ALL,
            "--n",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        _option("Seed of shuffles and choices; equal seeds give equal bytes. Default: 0", _ALL, "--seed"),
    ] = None,
    tokenizer: Annotated[
        str | None,
        _option(
            "Hugging Face tokenizer (folder or hub id) in which prompts are counted beside cl100k.",
            _ALL,
            "--tokenizer",
        ),
    ] = None,
    length_policy: Annotated[
        str | None,
        _option(
            "same_information: lengths are cl100k tokens, so every model reads the same text; same_tokens: lengths are "
            "tokens of --tokenizer. Default: same_information",
            _ALL,
            "--length-policy",
        ),
    ] = None,
    segments: Annotated[
        int | None, _option("Number of segments to put in order. Default: 4", _TSORT, "--segments")
    ] = None,
    segment_cap: Annotated[
        int | None,
        _option(
            "Most tokens of a segment. Default: (length - before - after - 200) / segments, the paper's Table 11.",
            _TSORT,
            "--segment-cap",
        ),
    ] = None,
    before_cap: Annotated[
        int | None,
        _option(
            "Most tokens of the text before the segments. Default: Table 11 (200 to 500). Not for synthetic cases, which fill their length.",
            _TSORT,
            "--before-cap",
        ),
    ] = None,
    after_cap: Annotated[
        int | None,
        _option(
            "Most tokens of the text after the segments. Default: Table 11 (200 to 500). Not for synthetic cases, which fill their length.",
            _TSORT,
            "--after-cap",
        ),
    ] = None,
    stride: Annotated[
        int | None,
        _option(
            "Paragraphs between the beginnings of two cases. Default: Table 11 (64; from 32k on 128).",
            _TSORT,
            "--stride",
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        _option(
            "paper: at most 1,128, 2,154, 4,215 ... tokens as in the paper's Table 1; round: 1,000, 2,000, 4,000 ... "
            "Default: paper; synthetic: round",
            _BEST,
            "--bounds",
        ),
    ] = None,
    tags: Annotated[
        str | None,
        _option(
            "Questions of which tags: a number takes the most frequent ones, else names with commas. Default: 23",
            _BEST,
            "--tags",
        ),
    ] = None,
    questions_per_tag: Annotated[
        int | None,
        _option(
            "How many questions of each tag, those with the highest scores. Default: 2500",
            _BEST,
            "--questions-per-tag",
        ),
    ] = None,
    shared_tags: Annotated[
        float | None,
        _option(
            "Other questions are similar from this share of common tags on (shared tags / smaller tag set); from 32k on one "
            "common tag is enough. Default: 0.4",
            _BEST,
            "--shared-tags",
        ),
    ] = None,
    min_fill: Annotated[
        float | None,
        _option(
            "Least share of the bound that a case must fill; questions with too few similar answers, or documents that are too "
            "short, are left out. Default: 0.8",
            _BEST,
            "--min-fill",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        _option(
            "Folder of documents of one domain: novels as for --books; debates as .jsonl or .txt; systematic reviews with "
            "abstracts as .csv, .jsonl or MS^2 .json; court opinions as .jsonl or .txt. Or a folder with the folders books, "
            "debates, medicine, law.",
            _ETHIC,
            "--documents",
        ),
    ] = None,
    domain: Annotated[
        str | None,
        _option(
            "books, debates, medicine or law. Default: told from the documents' form; plain texts are books.",
            _ETHIC,
            "--domain",
        ),
    ] = None,
    annotator: Annotated[
        Path | None,
        _option(
            "Model that labels and summarizes chunks: a YAML file as for judges. Its answers are kept in the cache; the same "
            "command asks only for what is missing.",
            _ETHIC,
            "--annotator",
        ),
    ] = None,
    chunk_tokens: Annotated[
        int | None, _option("Most tokens of a chunk. Default: 1024", _ETHIC, "--chunk-tokens")
    ] = None,
    section_tokens: Annotated[
        int | None,
        _option(
            "Tokens of a section to be summarized, about. Default: 1024, or an eighth of the length if that is more.",
            _ETHIC,
            "--section-tokens",
        ),
    ] = None,
    items: Annotated[
        str | None,
        _option(
            "Numbers of options (ethic_organize) or sections (ethic_summarize), with commas: 2,4,8 makes a case of each from the "
            "same context, so that the answer's length varies and the input's does not. Default: as many as the text gives",
            _ETHIC,
            "--items",
        ),
    ] = None,
    min_document: Annotated[
        int | None,
        _option("Leave out documents of fewer tokens. Default: 10000", _ETHIC, "--min-document"),
    ] = None,
    check_labels: Annotated[
        Path | None,
        _option(
            'Chunks labelled by hand, .jsonl with "domain", "passage", "labels": reports the F1 of the annotator\'s labels.',
            _ETHIC,
            "--check-labels",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build test cases of any length; both hosts run on them with the option lct_cases.

    Nothing is left behind when a build fails; an earlier folder of the same task stays as it was until the new one is whole.
    """
    pass  # MOVED
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.cli.output import give
    from long_context_tasks.schema import InputError

    builder = builder_of(task)
    family: Family = builder.FAMILIES[task]
    # What is not typed comes from the environment, as in the hosts.
    typed = {"lct_seed": seed, "lct_n": n, "lct_tokenizer": tokenizer, "lct_length_policy": length_policy}
    run = resolve_options(typed)
    options = {
        "seed": run.seed,
        "n": run.n,
        "tokenizer": run.tokenizer,
        "length_policy": run.length_policy,
        "segments": segments,
        "segment_cap": segment_cap,
        "before_cap": before_cap,
        "after_cap": after_cap,
        "stride": stride,
        "bounds": bounds,
        "tags": tags,
        "questions_per_tag": questions_per_tag,
        "shared_tags": shared_tags,
        "min_fill": min_fill,
        "domain": domain,
        "annotator": annotator,
        "chunk_tokens": chunk_tokens,
        "section_tokens": section_tokens,
        "items": items,
        "min_document": min_document,
        "check_labels": check_labels,
    }
    sources = {"books": books, "posts": posts, "documents": documents}
    for name, value in sources.items():
        if value is not None and name != family.source:
            raise InputError(f"{task} takes no --{name}; see `lct build --help`")
    settings = make_settings(task, family, length, published_lengths(task, family), options)
    source = sources[family.source] if family.source else None
    reports = builder.build(task, source, settings, out / task, _bars())
    show_reports(reports, settings.measure.name, out)
    give(None, folder=out / task)
    if check_labels is not None:
        show_label_quality(out / task)


def builder_of(task: str) -> ModuleType:
    """The ``build.py`` of the benchmark that builds a family of cases.

    Raises:
        InputError: nothing builds it; all that can be built is named.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.schema import InputError

    builders = [catalogue.core(name, "build") for name in catalogue.benchmark_names()]
    for builder in builders:
        if task in builder.FAMILIES:
            return builder
    names = ", ".join(name for builder in builders for name in builder.FAMILIES)
    raise InputError(f"nothing builds {task!r}; there are: {names}")


def published_lengths(task: str, family: "Family") -> tuple[str, ...]:
    """Names of the lengths that ``...`` can stand for: the published ones of a family's task, else its builder's."""
    from long_context_tasks.benchmarks import catalogue

    benchmark = next(name for name in catalogue.benchmark_names() if task.startswith(f"{name}_"))
    published = catalogue.card(benchmark).tasks[family.task].lengths
    return published or tuple(getattr(catalogue.core(benchmark, "build"), "LENGTHS", ()))


def make_settings(
    task: str, family: "Family", length: str, published: Iterable[str], options: Mapping[str, Any]
) -> Any:
    """The settings of a builder from what was typed; None leaves its own default.

    Raises:
        InputError: an option of another task, or a value that does not fit.
    """
    from long_context_tasks.benchmarks.building import parse_lengths
    from long_context_tasks.schema import InputError

    known = {field.name for field in fields(family.settings)}
    values = {name: value for name, value in options.items() if value is not None}
    for name in values:
        if name not in known:
            raise InputError(f"{task} takes no --{name.replace('_', '-')}; see `lct build --help`")
    if "tags" in values:
        text = str(values["tags"])
        values["tags"] = (
            int(text) if text.isdecimal() else tuple(tag.strip() for tag in text.split(",") if tag.strip())
        )
    if "items" in values:
        values["items"] = _numbers(str(values["items"]), "--items")
    return family.settings(lengths=parse_lengths(length, list(published)), **values)


def _numbers(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers with commas, each once, ascending."""
    from long_context_tasks.schema import InputError

    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise InputError(f"{option} {text}: give whole numbers with commas, as in 2,4,8")
    return tuple(sorted(set(map(int, words))))


def _bars() -> "Progress":
    """Progress bars with a rate on stderr, where somebody can see them and the work takes a while."""
    from tqdm import tqdm

    from long_context_tasks.benchmarks.building import Progress

    class Bars(Progress):
        def over(self, items: Iterable[T], what: str, unit: str, total: int | None = None) -> Iterable[T]:
            return tqdm(items, desc=what, unit=f" {unit}s", total=total, delay=1.0, disable=None, leave=False)

    return Bars()
