"""`lct report export`, `difference` and `repository`: results in other collections' formats, and in a repository of bundles."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import Json, NamesFile, RunsDataDir, RunsOrBundles, examples
from long_context_tasks.cli.output import end_with_problems, give, say, tell
from long_context_tasks.cli.report.site import cases_of, collected_cells

EXPORT_EXAMPLES = examples(
    'lct report export results/ --eee records/ --organisation "My lab"',
    "lct report export bundles/ --eval-results models/ --dataset BENCHMARK=org/name --source https://example.org/leaderboard/",
)
DIFFERENCE_EXAMPLES = examples("lct report difference main/bundles bundles --out difference.md")
REPOSITORY_EXAMPLES = examples("lct report repository leaderboard/")
_TEMPLATE = Path(__file__).parent.parent / "skeleton_results"


def export(
    results: RunsOrBundles,
    eee: Annotated[
        Path | None,
        typer.Option(help="Folder for records of Every Eval Ever, schema 0.3.0: runs and their turns."),
    ] = None,
    eval_results: Annotated[
        Path | None,
        typer.Option(help="Folder for the hub's .eval_results/*.yaml, in a folder for each model."),
    ] = None,
    models: NamesFile = None,
    data_dir: RunsDataDir = None,
    inputs: Annotated[
        bool,
        typer.Option("--inputs", help="With prompts, questions and gold answers where the card allows them."),
    ] = False,
    responses: Annotated[
        bool,
        typer.Option(
            "--responses/--no-responses", help="With responses where the benchmark's card allows it."
        ),
    ] = True,
    organisation: Annotated[str, typer.Option(help="Who gives the records away.")] = "unknown",
    relation: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"],
        typer.Option(help="Of the evaluator to the makers of the models."),
    ] = "other",
    developer: Annotated[str, typer.Option(help="Of models whose names have no organisation.")] = "",
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="BENCHMARK=ORG/NAME: the hub's dataset with its leaderboard; repeatable."),
    ] = None,
    source: Annotated[str, typer.Option(help="Address that the hub's scores link to.")] = "",
    as_json: Json = False,
) -> None:
    """Write results in the formats of other collections: Every Eval Ever, and model repositories of the Hugging Face hub.

    Runs of every host are read, and bundles. As in bundles, responses are written only where the benchmark's card allows it, and keys and
    places of this machine never. Exit code 1 when something that was found is left out.
    """
    import time

    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.results.case_pages import without_responses
    from long_context_tasks.results.exports import Provider, write_eval_results, write_records
    from long_context_tasks.results.models import Models, read_models
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
    known = Models() if models is None else read_models(models)
    collected, cells = collected_cells(results, known, "folders of runs, or bundles of `lct report pack`")
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


def difference(
    before: Annotated[Path, typer.Argument(help="Folder with bundles or runs; may hold none.")],
    after: Annotated[Path, typer.Argument(help="The same with the change.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the Markdown to this file, too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print as Markdown what new bundles change: scores before and after, places, and each new model beside the nearest one.

    For comments on pull requests: what a stranger's bundle says is escaped. Exit code 1 when something in AFTER is left out.
    """
    from long_context_tasks.results.collect import collect_with_files
    from long_context_tasks.results.difference import difference_markdown
    from long_context_tasks.schema.files import write_whole

    old, new = collect_with_files([before]), collect_with_files([after])
    tell((*old.collection.problems, *new.collection.problems), new.collection.notes)
    text = difference_markdown(old, new)
    if out is not None:
        write_whole(out, text, remedy="choose another place with --out")
    give(text.rstrip("\n"), markdown=text)
    end_with_problems(new.collection.problems)


def repository(
    folder: Annotated[Path, typer.Argument(help="New or empty; the files of a results repository go there.")],
    as_json: Json = False,
) -> None:
    """Write the files of a results repository: workflows that check bundles of pull requests and comment on what they change.

    docs/results_repository.md says how to use them.
    """
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.files import make_folder, write_whole

    if folder.exists() and (not folder.is_dir() or any(path.name != ".git" for path in folder.iterdir())):
        raise InputError(f"{folder}: holds something already; choose a new folder")
    written = []
    for source in sorted(_TEMPLATE.rglob("*.txt")):
        path = folder / source.relative_to(_TEMPLATE).as_posix().removesuffix(".txt").replace("dot_", ".")
        make_folder(path.parent, remedy="choose another folder")
        write_whole(path, source.read_bytes())
        written.append(path)
        say(str(path))
    say(
        "Next: put the commit of long_context_tasks into requirements.txt; lct report pack results/ --out bundles/"
    )
    give(folder=folder, files=written)
