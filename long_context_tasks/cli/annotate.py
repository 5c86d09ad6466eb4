"""``lct annotate``: collect human ratings of answers: prepare, annotate, correct, count, export."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import DataDir, Json, OnlyTasks, examples, words
from long_context_tasks.cli.output import give, print_table, say
from long_context_tasks.schema import InputError

if TYPE_CHECKING:
    from long_context_tasks.annotation import Study
    from long_context_tasks.judges import JudgeConfig


def _model(file: Path) -> "JudgeConfig":
    from long_context_tasks.judges import load_judge

    if (config := load_judge(file)) is None:
        raise InputError(f"{file}: names no model")
    return config


app = typer.Typer(add_completion=False, no_args_is_help=True)

_StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="The study: one SQLite file.")]
_Gold = Annotated[
    str | None, typer.Option("--gold", help="Annotator whose ratings the others' are held against.")
]
_Out = Annotated[Path, typer.Option("--out", "-o", help="File of the result, JSON Lines.")]


@app.callback()
def annotate() -> None:
    """Collect human ratings of answers: prepare items, annotate in POTATO, correct, count, export."""


def _opened(path: Path) -> "Study":
    from long_context_tasks.annotation import open_study

    return open_study(path)


@app.command(
    epilog=examples(
        "lct annotate prepare study.db --questions questions.jsonl --documents meetings/ --candidates model.yaml"
    )
)
def prepare(
    study: _StudyFile,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="JSON Lines: id, question, reference and, if there, rationale, candidates, document ..."
        ),
    ] = None,
    documents: Annotated[
        Path | None, typer.Option(help="JSON Lines with id and text, or a folder of .txt files.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="Of a new study: orca (the paper's, default), orca_text, labels, the name of a benchmark with its own, or a YAML file."
        ),
    ] = None,
    rationales: Annotated[
        Path | None, typer.Option(help="Model (a file as for judges) that writes missing rationales.")
    ] = None,
    prompts: Annotated[
        Literal["text", "paper"], typer.Option(help="For rationales; the paper's speak of audio.")
    ] = "text",
    candidates: Annotated[
        list[Path] | None,
        typer.Option(help="Model (a file as for judges) that answers; may be given several times."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Stage 1: make a study or add to it; let models write missing rationales and candidate answers.

    Run it again after corrections: only questions whose newest version lacks an answer are asked.
    """
    from long_context_tasks.annotation import add, create, load_scale, read_documents, read_questions
    from long_context_tasks.annotation.prepare import write_missing

    incoming = read_questions(questions) if questions is not None else []
    texts = read_documents(documents) if documents is not None else {}
    new: tuple[int, int] | None = None
    if not study.exists():
        if not incoming:
            raise InputError(f"{study}: no such study; give --questions FILE to make it")
        new = create(study, load_scale(scale or "orca"), incoming, texts)
    with _opened(study) as opened:
        if scale is not None and load_scale(scale) != opened.scale:
            raise InputError(
                f"{study}: is there already, with another --scale, which cannot be changed; leave it out, or name another file"
            )
        new = new or add(opened, incoming, texts)
        say(f"{study}: {new[0]} new questions, {new[1]} new candidates")
        missing = 0
        writers: list[tuple[Literal["rationales", "answers"], Path]] = []
        writers += [("rationales", rationales)] if rationales is not None else []
        writers += [("answers", file) for file in candidates or []]
        for what, file in writers:
            model = _model(file)
            written = write_missing(opened, model, what, prompts)
            if problems := written.problems:
                typer.echo(f"{model.name}: {len(problems)} without a text; first: {problems[0]}", err=True)
            say(f"{model.name}: {written.done} {what} of {written.wanted}; {written.summary}")
            missing += written.wanted - written.done
        counting, now = opened.questions(), len(opened.candidates(current=True))
        without = sum(question.rationale is None for question in counting)
        give(
            f"now {len(counting)} questions, {now} candidates to annotate, {without} questions without a rationale",
            questions=len(counting),
            candidates=now,
            without_rationale=without,
        )
    if missing:
        typer.echo(f"{missing} texts are missing, see above; run the same again to ask for them", err=True)
        raise typer.Exit(1)


@app.command(
    epilog=examples(
        "lct annotate draw cases/ --out chunks.jsonl",
        "lct annotate prepare labels.db --questions chunks.jsonl --scale labels",
    )
)
def draw(
    cases: Annotated[
        str,
        typer.Argument(help="As for `lct coverage`: a folder of built cases, a file, or the name of a task."),
    ],
    out: _Out,
    n: Annotated[int, typer.Option(min=1, help="Chunks of each task and domain.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the choice.")] = 0,
    tasks: OnlyTasks = "",
    chunk_tokens: Annotated[int, typer.Option(help="Most tokens of a chunk.", min=32)] = 1024,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Draw chunks of cases for people to label: questions for `lct annotate prepare --scale labels`."""
    from long_context_tasks.annotation.exchange import write_rows
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.cli.coverage import item_sources
    from long_context_tasks.coverage.measure import draw_chunks
    from long_context_tasks.tokens import get_tokenizer

    sources = item_sources(cases, resolve_options({"lct_data_dir": data_dir}), words(tasks))
    rows = draw_chunks(sources, n, seed, get_tokenizer("cl100k"), chunk_tokens)
    for (task, domain), count in Counter((row["source"], row["domain"]) for row in rows).items():
        say(f"{task} {domain}: {count} chunks")
    give(f"{out}: {write_rows(out, rows)} chunks", file=out, chunks=len(rows))


@app.command(epilog=examples("lct annotate review study.db --out review.jsonl"))
def review(
    study: _StudyFile,
    out: _Out,
    every: Annotated[
        bool, typer.Option("--all", help="All questions, not only those with flags or without annotations.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Stage 3: write flagged questions for experts, who edit the texts and set decision to keep, correct or remove."""
    from long_context_tasks.annotation.exchange import review_rows, write_rows

    with _opened(study) as opened:
        n = write_rows(out, review_rows(opened, every=every))
    give(f"{out}: {n} questions to review", file=out, questions=n)


@app.command(epilog=examples("lct annotate correct study.db review.jsonl --editor anna"))
def correct(
    study: _StudyFile,
    file: Annotated[Path, typer.Argument(help="Reviews, as `lct annotate review` wrote them, edited.")],
    editor: Annotated[str, typer.Option(help="Name of the expert, for the history.")],
    as_json: Json = False,
) -> None:
    """Stage 3: apply experts' decisions. Corrected questions go back to candidate generation; the history is kept."""
    from long_context_tasks.annotation import review as apply
    from long_context_tasks.annotation.exchange import read_reviews

    reviews = read_reviews(file)
    with _opened(study) as opened:
        questions, fields = apply(opened, reviews, editor)
    decided = ", ".join(
        f"{name} {sum(review.decision == name for review in reviews)}"
        for name in ("keep", "correct", "remove")
    )
    give(
        f"{study}: {decided}; {fields} fields of {questions} questions corrected",
        study=study,
        decisions=len(reviews),
        fields=fields,
        questions=questions,
    )
    if questions:
        say("make candidates for the corrected questions with `lct annotate prepare --candidates MODEL`")


@app.command(
    epilog=examples(
        "lct annotate export study.db --out ratings.jsonl",
        "lct annotate export study.db --format potato --out potato/",
    )
)
def export(
    study: _StudyFile,
    out: _Out,
    form: Annotated[
        Literal["orca", "annotations", "labels", "history", "potato"],
        typer.Option(
            "--format",
            help="orca: training data; annotations: every annotation; labels: what people wrote about passages; history: corrections; "
            "potato: a project folder.",
        ),
    ] = "orca",
    before: Annotated[
        bool,
        typer.Option(
            "--before-filtering", help="For orca: also ratings of what was corrected or removed later."
        ),
    ] = False,
    gold: _Gold = None,
    least: Annotated[
        float | None,
        typer.Option(
            "--min-pearson",
            min=-1,
            max=1,
            help="For orca, with --gold: leave out the ratings of annotators whose correlation with the gold ones of the same "
            "document is below this, and the gold ones.",
        ),
    ] = None,
    annotators: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="For potato: how many people annotate each item. Default: everyone, or what the project has.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write training data, annotations, the history, or a POTATO project; one that is there already is brought up to date."""
    from long_context_tasks.annotation import exchange
    from long_context_tasks.annotation.figures import agreement_with, inconsistent
    from long_context_tasks.annotation.potato import export_potato

    if (gold is None) != (least is None) or (gold is not None and form != "orca"):
        raise InputError("--gold and --min-pearson go together, and with --format orca only")
    if annotators is not None and form != "potato":
        raise InputError("--annotators goes with --format potato only")
    with _opened(study) as opened:
        without: set[tuple[str, str | None]] = set()
        if gold is not None and least is not None:
            dropped = inconsistent(agreement_with(opened, gold), least)
            say(
                f"without {len(dropped)} annotators of a document: "
                + ", ".join(map("/".join, sorted(dropped)))
            )
            without = {(gold, None), *dropped}
        if form == "potato":
            there = out.exists()
            n = export_potato(opened, out, annotators)
            how = "brought up to date, answers kept; start it again" if there else "start it"
            give(f"{out}: {n} items; {how} with `potato start {out}/config.yaml`", folder=out, items=n)
            return
        rows: dict[str, Callable[[], list[dict[str, Any]]]] = {
            "orca": lambda: exchange.training_rows(opened, before=before, without=without),
            "annotations": lambda: exchange.annotation_rows(opened),
            "labels": lambda: exchange.label_rows(opened),
            "history": opened.corrections,
        }
        found = rows[form]()
        if not found and form in ("orca", "annotations", "labels"):
            what = "ratings that count" if form == "orca" else form
            raise InputError(f"{study}: no {what} yet, so nothing was written")
        n = exchange.write_rows(out, found)
        give(f"{out}: {n} rows", file=out, rows=n)
        waiting = sum(bool(row["flags"]) for row in exchange.review_rows(opened))
    if form == "orca" and waiting and not before:
        typer.echo(
            f"note: {waiting} questions have flags that no expert has reviewed (`lct annotate review`); "
            "their ratings are in the file",
            err=True,
        )


@app.command("import", epilog=examples("lct annotate import study.db annotations.jsonl"))
def import_annotations(
    study: _StudyFile,
    source: Annotated[
        Path, typer.Argument(help="A file of `export --format annotations`, or a POTATO project folder.")
    ],
    replace: Annotated[
        bool,
        typer.Option("--replace", help="May change annotations that are there, and delete withdrawn ones."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Read annotations from a file, or from the folder of a POTATO project; all or none."""
    from long_context_tasks.annotation import annotate as store
    from long_context_tasks.annotation.exchange import read_annotations
    from long_context_tasks.annotation.potato import import_potato

    with _opened(study) as opened:
        withdrawn: list[tuple[str, str]] = []
        kept: list[tuple[str, str]] = []
        if source.is_dir():
            collected = import_potato(source, opened)
            found = collected.annotations
            stored = {(each.candidate, each.annotator) for each in opened.annotations()}
            withdrawn = [key for key in collected.withdrawn if key in stored]
            read = {(each.candidate, each.annotator) for each in found}
            kept = sorted(key for key in stored - read - {*withdrawn} if key[1] in collected.annotators)
        else:
            found = read_annotations(source, opened.scale)
        changed = store(opened, found, withdrawn=withdrawn, replace=replace)
        for candidate, annotator in withdrawn:
            say(f"deleted: {annotator} withdrew the annotation of {candidate}")
        if kept:
            candidate, annotator = kept[0]
            typer.echo(
                f"note: {len(kept)} annotations of the study are not in {source} and stay; first: {candidate} by {annotator}",
                err=True,
            )
        give(
            f"{study}: {changed - len(withdrawn)} new or changed annotations of {len(found)} read",
            study=study,
            changed=changed - len(withdrawn),
            read=len(found),
            deleted=len(withdrawn),
        )


@app.command(
    epilog=examples("lct annotate stats study.db", "lct annotate stats study.db --level interval --json")
)
def stats(
    study: _StudyFile,
    level: Annotated[
        Literal["nominal", "ordinal", "interval"],
        typer.Option(help="Of measurement, for Krippendorff's alpha."),
    ] = "ordinal",
    gold: _Gold = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the figures as JSON, too.")] = None,
    as_json: Json = False,
) -> None:
    """Agreement before and after filtering, feedback, corrections, models, histogram (Tables 1, 4, 5, Fig. 5)."""
    from dataclasses import asdict

    from long_context_tasks.annotation import study_figures
    from long_context_tasks.annotation.exchange import keep_databases
    from long_context_tasks.annotation.figures import agreement_table, agreement_with, figure_tables
    from long_context_tasks.schema.files import write_json

    if out is not None:
        keep_databases(out)
    with _opened(study) as opened:
        figures = study_figures(opened, level)
        labels = {code: each.label for code, each in opened.scale.codes.items()}
        against = () if gold is None else (agreement_table(agreement_with(opened, gold), gold),)
    for table in (*figure_tables(figures, labels), *against):
        print_table(table.title, table.columns, table.rows, table.text)
    if out is not None:
        write_json(out, asdict(figures), remedy="choose another place with --out")
        give(f"all figures: {out}", file=out)
