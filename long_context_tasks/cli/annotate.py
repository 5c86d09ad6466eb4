"""``lct annotate``: collect human ratings of answers in three stages: prepare, annotate in POTATO, correct."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import DataDir, Json, OnlyTasks, examples, words
from long_context_tasks.cli.output import give, print_table, say, warn
from long_context_tasks.schema import InputError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Collect human ratings of answers: prepare items, annotate in POTATO, correct, count, export.",
)

_StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="The study: one JSON file.")]
_Gold = Annotated[
    str | None, typer.Option("--gold", help="Annotator whose ratings the others' are compared with.")
]
_Out = Annotated[Path, typer.Option("--out", "-o", help="File of the result, JSON Lines.")]


def _write(out: Path, rows: list[dict[str, Any]], study: Path | None = None) -> int:
    from long_context_tasks.annotation.exchange import write_rows

    if study is not None and out.resolve() == study.resolve():
        raise InputError(f"{out}: is the study; choose another place with --out")
    return write_rows(out, rows)


@app.command(
    epilog=examples(
        "lct annotate prepare study.json --questions questions.jsonl --documents meetings/ --candidates model.yaml"
    )
)
def prepare(
    study: _StudyFile,
    questions: Annotated[
        Path | None,
        typer.Option(help="JSON Lines: id, question, reference; optional: rationale, candidates, document."),
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
        Path | None, typer.Option(help="Model (a judge file) that writes missing rationales.")
    ] = None,
    prompts: Annotated[
        Literal["text", "paper"], typer.Option(help="For rationales; the paper's speak of audio.")
    ] = "text",
    candidates: Annotated[
        list[Path] | None, typer.Option(help="Model (a judge file) that answers; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Stage 1: make a study or add to it; let models write missing rationales and candidate answers.

    Run it again after corrections: models answer only the questions whose newest version they have not answered.
    """
    from long_context_tasks.annotation import changing, create, load_scale, open_study, read_documents
    from long_context_tasks.annotation.exchange import read_questions

    incoming = read_questions(questions) if questions is not None else []
    texts = read_documents(documents) if documents is not None else {}
    if not study.exists():
        if not incoming:
            raise InputError(f"{study}: no such study; give --questions FILE to make it")
        new = create(study, load_scale(scale or "orca"), incoming, texts)
    else:
        with changing(study) as opened:
            if scale is not None and load_scale(scale) != opened.scale:
                raise InputError(
                    f"{study}: exists with another --scale, which cannot change; leave it out, or name another file"
                )
            new = opened.add(incoming, texts)
    say(f"{study}: {new[0]} new questions, {new[1]} new candidates")
    missing = _write_texts(study, rationales, candidates or [], prompts)
    now = open_study(study)
    counting, n = now.questions(), len(now.candidates(current=True))
    without = sum(question.rationale is None for question in counting)
    give(
        f"now {len(counting)} questions, {n} candidates to annotate, {without} questions without a rationale",
        questions=len(counting),
        candidates=n,
        without_rationale=without,
    )
    if missing:
        warn(f"{missing} texts are missing, see above; run the same again to ask for them")
        raise typer.Exit(1)


def _write_texts(study: Path, rationales: Path | None, candidates: list[Path], prompts: str) -> int:
    """Have the models write the texts; return how many are still missing."""
    from long_context_tasks.annotation.prepare import write_missing
    from long_context_tasks.judges.kinds import load_judge

    missing = 0
    writers: list[tuple[Literal["rationales", "answers"], Path]] = []
    writers += [("rationales", rationales)] if rationales is not None else []
    writers += [("answers", file) for file in candidates]
    for what, file in writers:
        if (model := load_judge(file)) is None:
            raise InputError(f"{file}: does not name a model")
        written = write_missing(study, model, what, prompts)
        if problems := written.problems:
            warn(f"{model.name}: {len(problems)} without a text; first: {problems[0]}")
        say(f"{model.name}: {written.done} {what} of {written.wanted}; {written.summary}")
        missing += written.wanted - written.done
    return missing


@app.command(
    epilog=examples(
        "lct annotate draw cases/ --out chunks.jsonl",
        "lct annotate prepare labels.json --questions chunks.jsonl --scale labels",
    )
)
def draw(
    cases: Annotated[
        str,
        typer.Argument(help="As for `lct coverage`: a folder of built cases, a file, or the name of a task."),
    ],
    out: _Out,
    n: Annotated[int, typer.Option(min=1, help="Chunks of each task and domain.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    tasks: OnlyTasks = "",
    chunk_tokens: Annotated[int, typer.Option(help="Maximum tokens of a chunk.", min=32)] = 1024,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Draw chunks of cases for people to label: questions for `lct annotate prepare --scale labels`."""
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.cli.coverage import item_sources
    from long_context_tasks.coverage.measure import draw_chunks
    from long_context_tasks.tokens import get_tokenizer

    sources = item_sources(cases, resolve_options({"lct_data_dir": data_dir}), words(tasks))
    rows = draw_chunks(sources, n, seed, get_tokenizer("cl100k"), chunk_tokens)
    for (task, domain), count in Counter((row["source"], row["domain"]) for row in rows).items():
        say(f"{task} {domain}: {count} chunks")
    give(f"{out}: {_write(out, rows)} chunks", file=out, chunks=len(rows))


@app.command(epilog=examples("lct annotate review study.json --out review.jsonl"))
def review(
    study: _StudyFile,
    out: _Out,
    every: Annotated[
        bool, typer.Option("--all", help="All questions, not only those with flags or without annotations.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Stage 3: write flagged questions for experts, who edit the texts and set decision to keep, correct or remove."""
    from long_context_tasks.annotation import open_study
    from long_context_tasks.annotation.exchange import review_rows

    n = _write(out, review_rows(open_study(study), every=every), study)
    give(f"{out}: {n} questions to review", file=out, questions=n)


@app.command(epilog=examples("lct annotate correct study.json review.jsonl --editor anna"))
def correct(
    study: _StudyFile,
    file: Annotated[Path, typer.Argument(help="Reviews, as `lct annotate review` wrote them, edited.")],
    editor: Annotated[str, typer.Option(help="Name of the expert, for the history.")],
    as_json: Json = False,
) -> None:
    """Stage 3: apply experts' decisions. Corrected questions need new candidates; the history is kept."""
    from long_context_tasks.annotation import changing
    from long_context_tasks.annotation.exchange import read_reviews

    reviews = read_reviews(file)
    with changing(study) as opened:
        questions, fields = opened.review(reviews, editor)
    counts = Counter(review.decision for review in reviews)
    decided = ", ".join(f"{name} {counts[name]}" for name in ("keep", "correct", "remove"))
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
        "lct annotate export study.json --out ratings.jsonl",
        "lct annotate export study.json --format potato --out potato/",
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
    gold: _Gold = None,
    least: Annotated[
        float | None,
        typer.Option(
            "--min-pearson",
            min=-1,
            max=1,
            help="For orca, with --gold: leave out the gold ratings, and those of annotators whose correlation with the gold ones on "
            "the same document is below this.",
        ),
    ] = None,
    annotators: Annotated[
        int | None,
        typer.Option(
            min=1, help="For potato: people per item. Default: everyone, or the setting of the project."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write training data, annotations, the history, or a POTATO project; an existing project is updated."""
    from long_context_tasks.annotation import exchange, open_study
    from long_context_tasks.annotation.figures import agreement_with, inconsistent
    from long_context_tasks.annotation.potato import export_potato

    if (gold is None) != (least is None) or (gold is not None and form != "orca"):
        raise InputError("--gold and --min-pearson go together, and with --format orca only")
    if annotators is not None and form != "potato":
        raise InputError("--annotators goes with --format potato only")
    opened = open_study(study)
    if form == "potato":
        how = "updated, answers kept; start it again" if out.exists() else "start it"
        n = export_potato(opened, out, annotators)
        give(f"{out}: {n} items; {how} with `potato start {out}/config.yaml`", folder=out, items=n)
        return
    if form == "orca":
        without: set[tuple[str, str | None]] = set()
        if gold is not None and least is not None:
            dropped = inconsistent(agreement_with(opened, gold), least)
            names = ", ".join(map("/".join, sorted(dropped)))
            say(f"without {len(dropped)} annotators of a document: {names}")
            without = {(gold, None), *dropped}
        rows = exchange.training_rows(opened, without)
    elif form == "labels":
        rows = exchange.label_rows(opened)
    elif form == "annotations":
        rows = exchange.annotation_rows(opened)
    else:
        rows = exchange.history_rows(opened)
    if not rows and form != "history":
        what = "ratings that count" if form == "orca" else form
        raise InputError(f"{study}: no {what} yet, so nothing was written")
    give(f"{out}: {_write(out, rows, study)} rows", file=out, rows=len(rows))
    waiting = sum(bool(row["flags"]) for row in exchange.review_rows(opened))
    if form == "orca" and waiting:
        warn(
            f"note: {waiting} questions have flags that no expert has reviewed (`lct annotate review`); "
            "their ratings are in the file"
        )


@app.command("import", epilog=examples("lct annotate import study.json annotations.jsonl"))
def import_annotations(
    study: _StudyFile,
    source: Annotated[
        Path, typer.Argument(help="A file of `export --format annotations`, or a POTATO project folder.")
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Change existing annotations and delete withdrawn ones.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read annotations from a file, or from the folder of a POTATO project; all or none."""
    from long_context_tasks.annotation import changing
    from long_context_tasks.annotation.exchange import read_annotations
    from long_context_tasks.annotation.potato import PotatoAnswers, import_potato

    with changing(study) as opened:
        if source.is_dir():
            read = import_potato(source, opened)
        else:
            read = PotatoAnswers(read_annotations(source, opened.scale), [], [])
        withdrawn = [key for key in read.withdrawn if key in opened.given]
        named = {*withdrawn, *((each.candidate, each.annotator) for each in read.annotations)}
        untouched = sorted(key for key in opened.given.keys() - named if key[1] in read.annotators)
        changed = opened.annotate(read.annotations, withdrawn=withdrawn, may_replace=replace)
    for candidate, annotator in withdrawn:
        say(f"deleted: {annotator} withdrew the annotation of {candidate}")
    if untouched:
        candidate, annotator = untouched[0]
        warn(
            f"note: {len(untouched)} annotations of the study are not in {source} and stay; first: {candidate} by {annotator}"
        )
    give(
        f"{study}: {changed - len(withdrawn)} new or changed annotations of {len(read.annotations)} read",
        study=study,
        changed=changed - len(withdrawn),
        read=len(read.annotations),
        deleted=len(withdrawn),
    )


@app.command(
    epilog=examples("lct annotate stats study.json", "lct annotate stats study.json --level interval --json")
)
def stats(
    study: _StudyFile,
    level: Annotated[
        Literal["nominal", "ordinal", "interval"],
        typer.Option(help="Level of measurement, for Krippendorff's alpha."),
    ] = "ordinal",
    gold: _Gold = None,
    as_json: Json = False,
) -> None:
    """Agreement before and after filtering, feedback, corrections, models, histogram (Tables 1, 4, 5, Fig. 5)."""
    from long_context_tasks.annotation import open_study
    from long_context_tasks.annotation.figures import agreement_table, agreement_with, study_tables

    opened = open_study(study)
    tables = study_tables(opened, level)
    if gold is not None:
        tables.append(agreement_table(agreement_with(opened, gold), gold))
    for table in tables:
        print_table(table.title, table.columns, table.rows, table.text)
