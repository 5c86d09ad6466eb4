"""`lct coverage`: measure the share of their context that the cases of any benchmark need."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import DataDir, Json, OneJudge, OnlyTasks, examples, words
from long_context_tasks.cli.output import check_out, give, print_table, say, warn
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.files import write_json
from long_context_tasks.schema.report import interval_text

if TYPE_CHECKING:
    from long_context_tasks.coverage.items import ItemSource, Split
    from long_context_tasks.coverage.measure import GroupCoverage
    from long_context_tasks.judges.config import JudgeConfig

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "lct coverage cases/ --judge judge.yaml",
        "lct coverage TASK --n 20 --judge judge.yaml --out coverage.json",
    )
)
def coverage(
    cases: Annotated[
        str,
        typer.Argument(
            help="A folder of built cases (or of such folders); a .jsonl[.gz] file, or a folder of them, with the columns id, task, "
            "domain, length, context, question, answer (only context and question are required); or the name of a task or group "
            "with published data.",
            show_default=False,
        ),
    ],
    judge: OneJudge = None,
    n: Annotated[
        int, typer.Option(help="Cases sampled from each task, domain and length; 0 takes all.", min=0)
    ] = 50,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    tasks: OnlyTasks = "",
    length: Annotated[str, typer.Option(help="Length of tasks that end in _any, e.g. 24k.")] = "",
    chunk_tokens: Annotated[int, typer.Option(help="Maximum number of tokens of a chunk.", min=32)] = 512,
    tokenizer: Annotated[
        str, typer.Option(help="Tokenizer that counts the chunks: cl100k, or a Hugging Face folder or id.")
    ] = "cl100k",
    data_dir: DataDir = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="JSON file for the figures of every case.")] = Path(
        "coverage.json"
    ),
    as_json: Json = False,
) -> None:
    """Measure information coverage: the share of chunks that an evaluator model finds necessary for the question.

    Each chunk takes one call. Replies are cached, so the same command asks only for missing ones. Exit code 1 if no chunk was judged.
    """
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.coverage.measure import check_evaluator, measure
    from long_context_tasks.judges.kinds import check_judge, load_judge
    from long_context_tasks.judges.store import Store, default_store_path
    from long_context_tasks.tokens import get_tokenizer

    check_out(out)
    config = load_judge(judge)
    if config is None:
        raise InputError("no evaluator is named: add --judge FILE, a judge file")
    check_evaluator(config)
    options = resolve_options({"lct_data_dir": data_dir, "lct_length": length})
    sources = item_sources(cases, options, words(tasks))
    measure_in = get_tokenizer(tokenizer)
    check_judge(config, reads_prompts=True)
    store = Store(default_store_path(config))
    groups = [
        measure(source, config, store, measure_in, n=n or None, seed=seed, cap=chunk_tokens)
        for source in sources
    ]
    settings = {
        "cases": cases,
        "n": n,
        "seed": seed,
        "length": length,
        "chunk_tokens": chunk_tokens,
        "tokenizer": tokenizer,
    }
    _write(out, groups, config, settings)
    _print(groups, config)
    _warn(groups, config)
    give(f"every case: {out}", file=out)
    if not any(group.n_judged for group in groups):
        raise typer.Exit(1)


def item_sources(name: str, options: "Options", tasks: Sequence[str] = ()) -> "Sequence[ItemSource]":
    """Return the cases that a user names, grouped by task, domain and length; without ``tasks``, of all tasks."""
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.coverage.items import file_cases, folder_cases, split_cases

    path = Path(name).expanduser()
    sources: list[ItemSource] = []
    if path.is_dir():
        sources = folder_cases(path, _split_of, tasks)
    elif path.is_file():
        sources = file_cases(path, tasks)
    elif names := _published(name):
        for task in [member for member in names if not tasks or member in tasks]:
            spec = catalogue.parse_task(task)
            # The cases of a task for any length state their length themselves.
            length = "" if spec.length == catalogue.ANY else spec.length
            sources += split_cases(task, catalogue.load_task(task, options).cases, _split_of(task), length)
    else:
        raise InputError(
            f"{name}: not a folder of cases, a .jsonl file, a task or a group of tasks; `lct tasks` lists the tasks"
        )
    if not sources:
        raise InputError(f"{name}: holds no cases{' of ' + ', '.join(tasks) if tasks else ''}")
    return sources


def _split_of(task: str) -> "Split":
    from long_context_tasks.benchmarks.catalogue import benchmark_of

    return benchmark_of(task).split


def _published(name: str) -> list[str]:
    """Return the task of a name, or the members of the group that it names; empty for other names."""
    from long_context_tasks.benchmarks import catalogue

    specs = catalogue.task_specs()
    if name in {spec.name for spec in specs}:
        return [name]
    groups = {
        spec.name: (f"{spec.family}_{spec.variant}",) if spec.variant else (spec.family, spec.benchmark)
        for spec in specs
        if spec.length != catalogue.ANY and spec.source != "built" and not spec.card.nano
    }
    return [member for member, group_names in groups.items() if name in group_names]


def _warn(groups: "list[GroupCoverage]", config: "JudgeConfig") -> None:
    """Report the chunks without a judgement, with reasons and remedies."""
    from long_context_tasks.coverage.measure import CUT
    from long_context_tasks.schema.response import ENDPOINT_FAILED

    failures = sum((group.failures for group in groups), Counter[str]())
    if not failures:
        return
    total = sum(group.n_chunks for group in groups)
    remedies = {
        ENDPOINT_FAILED: "calls were not answered; run the same command again to repeat them",
        CUT: f"replies ended at max_tokens ({config.max_tokens}) before their score; raise it in the judge file",
    }
    no_score = "replies hold no score, and the same command would not call again; put different seeds, more `asks` or a different model into the judge file"
    warn(f"warning: {failures.total()} of {total} chunks have no judgement and are left out of the means")
    for reason, count in sorted(failures.items()):
        warn(f"  {count} {remedies.get(reason, no_score)}")


def _print(groups: "list[GroupCoverage]", config: "JudgeConfig") -> None:
    from long_context_tasks.stats.intervals import Interval

    rows = []
    for group in groups:
        row = group.row()
        mark = "*" if row["chunks_judged"] < row["chunks"] else ""
        coverage = "-" if math.isnan(row["coverage"]) else f"{100 * row['coverage']:.1f}{mark}"
        chunks = f"{row['chunks_judged']:,} of {row['chunks']:,}"
        interval = interval_text(Interval(100 * row["low"], 100 * row["high"]), 1)
        cases = f"{row['cases']} of {row['available']}"
        rows.append([group.task, group.domain, group.length, cases, chunks, coverage, interval])
    columns = ["task", "domain", "length", "cases", "chunks judged", "coverage", "95 % interval"]
    print_table(f"Information coverage, % of chunks ({config.name})", columns, rows, ("domain", "length"))
    if any(group.n_judged < group.n_chunks for group in groups):
        say("* only of the chunks that were judged")


def _write(
    path: Path, groups: "list[GroupCoverage]", config: "JudgeConfig", settings: dict[str, Any]
) -> None:
    from long_context_tasks import __version__

    content = {
        "long_context_tasks": __version__,
        "evaluator": config.description(),
        "settings": settings,
        "groups": [group.row() | {"every_case": [case.row() for case in group.cases]} for group in groups],
    }
    write_json(path, content, remedy="choose another place with --out")
