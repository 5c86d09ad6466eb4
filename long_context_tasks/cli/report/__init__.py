"""`lct report`: the leaderboard, benchmarks' own tables, comparisons, bundles, exports, and tables of papers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import (
    DataDir,
    Json,
    NamesFile,
    RunsDataDir,
    RunsOrBundles,
    complete_benchmark,
    examples,
    words,
)
from long_context_tasks.cli.output import (
    end_with_problems,
    give,
    give_document,
    json_wanted,
    print_table,
    say,
    tell,
)
from long_context_tasks.cli.report.site import app, cases_of, collected_cells, print_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from long_context_tasks.results.compare import Comparisons

_MOST_NOT_COMPARED = 20


@app.command(
    epilog=examples(
        "lct report compare results/ --model Qwen2.5-7B --model Llama-3.1-8B",
        "lct report compare owl.lct.zip crow.lct.zip --same-within 2% --out comparison.md",
        "lct report compare results/ outputs/ --models models.yaml -m owl -m crow",
    )
)
def compare(
    results: RunsOrBundles,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model; give two or more. Not needed if the results hold exactly two models.",
        ),
    ] = None,
    tasks: Annotated[str, typer.Option(help="Only these tasks, with commas; * stands for anything.")] = "",
    same_within: Annotated[
        list[str] | None,
        typer.Option(
            help="Test whether models are the same within a margin: 2% for rates, 0.3 for points of a scale; repeat it to give both."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write all figures to a file: .csv, .json or .md.")
    ] = None,
    names_file: NamesFile = None,
    as_json: Json = False,
) -> None:
    """Compare models pair by pair on the cases that both ran.

    Only runs of the same task, version, judge and settings are compared. Each line has the means on the shared turns, the difference with
    its 95 % interval over clusters, p of a permutation test, p adjusted for all tasks shown, and a verdict: a model is better if the
    adjusted p is below 0.05 and the interval excludes 0. With --json the document has the form of --out FILE.json. Exit code 1 if anything
    found had to be left out (damaged, unfinished, not evaluated).
    """
    from fnmatch import fnmatchcase

    from long_context_tasks.results.compare import (
        FORMATS,
        as_document,
        choose_models,
        compare_models,
        read_margins,
        text_in,
    )
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.files import write_whole

    if out is not None and out.suffix.lower() not in FORMATS:
        raise InputError(f"--out {out}: the ending sets the format and must be one of {', '.join(FORMATS)}")
    margins = read_margins(same_within or ())
    for path in results:
        if not path.exists():
            raise InputError(
                f"{path}: no such folder or bundle. Name models with --model: lct report compare results/ --model A --model B"
            )
    collected, cells = collected_cells(results, names_file, "folders of runs or bundles of `lct report pack`")
    collection = collected.collection
    asked = [collected.models.name_of(name) or name for name in models or ()]
    names = choose_models(collection.runs["model"].to_list(), asked)
    if patterns := words(tasks):
        cells = [cell for cell in cells if any(fnmatchcase(cell.task, pattern) for pattern in patterns)]
        if not cells:
            known = ", ".join(sorted(collection.runs["task"].unique())[:20])
            raise InputError(f"--tasks {tasks}: no run of such a task; there are: {known}")
    found = compare_models(collection, cells, names, margins)
    if as_json:
        give_document(as_document(found))
    else:
        _print_comparisons(found)
    if out is not None:
        write_whole(out, text_in(out.suffix.lower(), found), remedy="choose another place with --out")
        typer.echo(f"written: {out}", err=True)
    end_with_problems(collection.problems)


def _print_comparisons(found: "Comparisons") -> None:
    from long_context_tasks.results.compare import TEXT_COLUMNS, heading, notes, pairs, rows_of, shown_table
    from long_context_tasks.results.tables import printable

    for pair in pairs(found):
        columns, shown = shown_table(heading(pair[0]), heading(pair[1]), rows_of(pair, found))
        print_table(" and ".join(map(printable, pair)), columns, shown, TEXT_COLUMNS)
    for line in notes(found):
        say(line)
    for line in found.not_compared[:_MOST_NOT_COMPARED]:
        typer.echo(f"not compared: {line}", err=True)
    if len(found.not_compared) > _MOST_NOT_COMPARED:
        typer.echo(
            f"... and {len(found.not_compared) - _MOST_NOT_COMPARED} more; --out FILE lists all", err=True
        )


@app.command(
    epilog=examples(
        "lct report pack results/ opencompass_outputs/ --out bundles/",
        "lct report pack results/owl --out owl.lct.zip",
    )
)
def pack(
    results: RunsOrBundles,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="A folder gets one bundle for each model; a name that ends in .zip gets all runs.",
            show_default=False,
        ),
    ],
    responses: Annotated[
        bool,
        typer.Option("--responses/--no-responses", help="Pack responses if the benchmark's card allows it."),
    ] = True,
    as_json: Json = False,
) -> None:
    """Pack runs into small bundles: scores, provenance and, as far as the benchmark's card allows, responses.

    A bundle holds no prompts, gold answers or judges' replies; whatever looks like a key or a local path is removed. `lct report`,
    `lct report compare` and `lct plan --missing` read bundles like folders of runs. Exit code 1 if a run could not be packed.
    """
    from long_context_tasks.results.bundle.format import read_bundle
    from long_context_tasks.results.bundle.pack import pack as pack_runs
    from long_context_tasks.results.checks import CHECKS
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.schema import InputError

    collected = collect_with_files(results)
    problems = collected.collection.problems
    tell(problems, collected.collection.notes)
    say(f"checked: {CHECKS}")
    if not len(collected.collection.runs):
        raise InputError(f"{', '.join(map(str, results))}: no run that can be packed")
    packed = pack_runs(collected, out, responses=responses)
    rows = []
    for bundle in packed:
        read_bundle(bundle.path)  # as its readers will: what is given away must pass their checks
        rows.append(
            {
                "bundle": str(bundle.path),
                "runs": bundle.runs,
                "cases_with_responses": bundle.cases,
                "bytes": bundle.size,
                "responses_withheld": list(bundle.withheld),
            }
        )
    shown = [[str(bundle.path), str(bundle.runs), str(bundle.cases), f"{bundle.size:,}"] for bundle in packed]
    print_table("bundles", ["bundle", "runs", "cases with responses", "bytes"], shown, values=rows)
    tell((), [f"{old}; it will not be ranked" for bundle in packed for old in bundle.old])
    if withheld := sorted({name for bundle in packed for name in bundle.withheld}):
        say(f"without responses, because the benchmark's card does not allow them: {', '.join(withheld)}")
    give(
        written=[bundle.path for bundle in packed],
        runs=sum(bundle.runs for bundle in packed),
        problems=problems,
    )
    end_with_problems(problems)


@app.command(
    epilog=examples(
        "lct report check bundles/*.lct.zip",
        "lct report check bundles/ --against main/bundles > difference.md",
    )
)
def check(
    bundles: Annotated[
        list[Path],
        typer.Argument(metavar="BUNDLE...", help="Bundles, or folders that hold some.", show_default=False),
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(
            help="Older bundles or runs, or folders of them (may be empty): print as Markdown what the bundles change, in place of the "
            "table. Repeatable."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check bundles as for a pull request: hashes, columns, values, and missing parts.

    Means are computed again from the scores. Every problem of every bundle is listed on standard error and gives exit code 1; notes (old
    version, missing cases) do not. With --against, the Markdown has scores and places before and after, and compares each new model with
    the nearest one; text from the bundles is escaped.
    """
    from long_context_tasks.results.bundle.runs import overview
    from long_context_tasks.results.checks import CHECKS

    paths = _bundles_in(bundles)
    rows, problems = overview(paths)
    names = ("bundle", "model", "host", "task", "judge", "metric", "mean", "n", "version", "notes")
    if rows and (not against or json_wanted()):
        shown = [[_shown(row[name]) for name in names] for row in rows]
        text = ("model", "host", "task", "judge", "metric", "notes")
        print_table("bundles", names, shown, text, values=rows)
    for problem in problems:
        typer.echo(f"problem: {problem}", err=True)
    bad = len({problem.partition(": ")[0] for problem in problems})
    counts = ((len(paths), "bundle"), (len(rows), "run"), (len(problems), "problem"))
    found = ", ".join(f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in counts)
    # Standard output holds nothing but the Markdown, so that it can go to a file.
    typer.echo(f"{found}; checked: hashes, columns, {CHECKS}", err=bool(against) or json_wanted())
    give(bundles=len(paths), runs=len(rows), problems=problems, bundles_with_problems=bad)
    if against:
        _give_difference([Path(place) for place in against], paths)
    if problems:
        raise typer.Exit(1)


def _bundles_in(given: "Sequence[Path]") -> list[Path]:
    from long_context_tasks.results import bundles_below
    from long_context_tasks.schema import InputError

    paths: list[Path] = []
    for place in given:
        if not place.exists():
            raise InputError(f"{place}: no such file; give bundles that `lct report pack` wrote")
        if place.is_dir() and not bundles_below(place):
            raise InputError(f"{place}: no bundle (*.lct.zip) in it")
        # A file given by name is checked whatever its ending.
        paths += bundles_below(place) if place.is_dir() else [place]
    return list(dict.fromkeys(paths))


def _give_difference(before: "Sequence[Path]", after: "Sequence[Path]") -> None:
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.results.difference import difference_markdown

    old = collect_with_files(before)
    tell(old.collection.problems)
    text = difference_markdown(old, collect_with_files(after))
    give(text.rstrip("\n"), markdown=text)


def _shown(value: Any) -> str:
    from long_context_tasks.results.tables import printable

    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else printable(str(value))


@app.command(
    epilog=examples(
        'lct report export results/ --eee records/ --organisation "My lab"',
        "lct report export bundles/ --eval-results models/ --dataset BENCHMARK=org/name --source https://example.org/leaderboard/",
    )
)
def export(
    results: RunsOrBundles,
    eee: Annotated[
        Path | None,
        typer.Option(help="Folder for records of Every Eval Ever, schema 0.3.0: runs and their turns."),
    ] = None,
    eval_results: Annotated[
        Path | None,
        typer.Option(help="Folder for the hub's .eval_results/*.yaml, one subfolder for each model."),
    ] = None,
    models: NamesFile = None,
    data_dir: RunsDataDir = None,
    inputs: Annotated[
        bool,
        typer.Option("--inputs", help="Include prompts, questions and gold answers if the card allows it."),
    ] = False,
    responses: Annotated[
        bool,
        typer.Option(
            "--responses/--no-responses", help="Include responses if the benchmark's card allows it."
        ),
    ] = True,
    organisation: Annotated[str, typer.Option(help="Organisation that publishes the records.")] = "unknown",
    relation: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"],
        typer.Option(help="Relation of the evaluator to the makers of the models."),
    ] = "other",
    developer: Annotated[
        str, typer.Option(help="Developer of models whose names have no organisation.")
    ] = "",
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="BENCHMARK=ORG/NAME: the hub's dataset with its leaderboard; repeatable."),
    ] = None,
    source: Annotated[str, typer.Option(help="Address that the scores on the hub link to.")] = "",
    as_json: Json = False,
) -> None:
    """Write results in the formats of other collections: Every Eval Ever, and model repositories of the Hugging Face hub.

    Runs of every host and bundles are read. As in bundles, responses are written only if the benchmark's card allows it, and keys and local
    paths never. Exit code 1 if anything found had to be left out.
    """
    import time

    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.results.case_pages import without_responses
    from long_context_tasks.results.exports import Provider, write_eval_results, write_records
    from long_context_tasks.schema import InputError

    if eee is None and eval_results is None:
        raise InputError("nothing to write; give --eee FOLDER, --eval-results FOLDER, or both")
    datasets = dict(pair.partition("=")[::2] for pair in dataset or ())
    for name, place in datasets.items():
        if name not in catalogue.benchmark_names() or place.count("/") != 1:
            raise InputError(
                f"--dataset {name}={place}: give BENCHMARK=ORG/NAME with a benchmark of `lct tasks`"
            )
    if eval_results is not None and not datasets:
        raise InputError(
            "--eval-results: name the hub's dataset of each benchmark with --dataset BENCHMARK=ORG/NAME"
        )
    collected, cells = collected_cells(results, models, "folders of runs, or bundles of `lct report pack`")
    written: dict[str, Any] = {}
    if eee is not None:
        cases = cases_of(collected, data_dir, inputs=inputs)
        cases = cases if responses else map(without_responses, cases)
        provider = Provider(organisation, relation, developer)
        written["eee"] = write_records(eee, collected.collection, cases, provider, time.time())
        say(f"{eee}: {len(written['eee'])} records of Every Eval Ever")
    if eval_results is not None:
        written["eval_results"], left_out = write_eval_results(eval_results, cells, datasets, source)
        tell((), (f"left out: {line}" for line in left_out))
        say(f"{eval_results}: {len(written['eval_results'])} files for .eval_results")
    give(**written, problems=list(collected.collection.problems))
    end_with_problems(collected.collection.problems)


@app.command(epilog=examples("lct report paper BENCHMARK --only table2,fig3"))
def paper(
    benchmark: Annotated[
        str, typer.Argument(help="Benchmark with published responses.", autocompletion=complete_benchmark)
    ],
    data_dir: DataDir = None,
    only: Annotated[str, typer.Option(help="Only these tables and figures, with commas: table2,fig3.")] = "",
    tokenizer: Annotated[
        str | None,
        typer.Option(help="The paper's tokenizer, a folder or hub id, for tables that count tokens."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recompute the tables of a benchmark's paper from the responses and scores that its authors published.

    "recomputed" is rounded as in the paper, "rounded once" from the unrounded value; compare both with "published". Exit code 1 if a
    figure that can be recomputed differs.
    """
    from long_context_tasks.results.sections import paper_sections

    sections = paper_sections(benchmark, data_dir, only, tokenizer)
    for section in sections:
        print_section(section)
    if any(section.problems for section in sections):
        raise typer.Exit(1)
