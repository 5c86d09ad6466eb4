"""`lct plan`: what a run will cost, and which runs are still missing."""

from collections import Counter as Counts
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from long_context_tasks.cli.options import (
    Json,
    RunOptionsCommand,
    complete_tasks,
    examples,
    typed_options,
)
from long_context_tasks.cli.output import give_document, print_table, say
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.files import visible
from long_context_tasks.schema.report import Table

if TYPE_CHECKING:
    from long_context_tasks.results.plan.cost import CostPlan, CountTexts, Price, Rate
    from long_context_tasks.results.plan.missing import Missing
    from long_context_tasks.results.plan.prefixes import Order, PrefixCache

_FETCH = "(`lct plan` downloads nothing; `lct data fetch` does)"
app = typer.Typer(add_completion=False)


@app.command(
    cls=RunOptionsCommand,
    epilog=examples(
        "lct plan --model ./Qwen2.5-7B --tasks lct_official --rate-prompt 5000 --rate-answer 300",
        "lct plan --model gpt-4o --tasks lct_official --window 128k --prompt-price 2.5 --completion-price 10",
        "lct plan --tasks lct_synthetic --length 8k --prefix-cache vllm --cache-size 500k",
        "lct plan --missing results/ outputs/ --tasks lct_official",
    ),
)
def plan(
    ctx: typer.Context,
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="With --missing: what lm-eval's --output_path, OpenCompass's -w or inspect_ai's --log-dir names, or above; or bundles."
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            help="Tasks, groups and globs, with commas: lct_official, 'recall_*'.",
            autocompletion=complete_tasks,
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Folder, hub id, or name at a server. A folder has its tokenizer and window. With --missing: several.",
        ),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing", help="List the cells that RESULTS lack, and the commands that lm-eval recorded."
        ),
    ] = False,
    tokenizer: Annotated[
        str, typer.Option(help="Tokenizer of the model, a folder or hub id. Default: of the model's folder.")
    ] = "",
    window: Annotated[
        str, typer.Option(help="Context window in tokens, e.g. 128k. Default: of the model's folder.")
    ] = "",
    answer_tokens: Annotated[
        int, typer.Option(min=0, help="Tokens expected of an answer. Default: the whole budget.")
    ] = 0,
    repeats: Annotated[int, typer.Option(min=1, help="How often every case is asked.")] = 1,
    rate_prompt: Annotated[
        float, typer.Option(help="Tokens of prompts read in a second, all requests together.")
    ] = 0.0,
    rate_answer: Annotated[
        float, typer.Option(help="Tokens of answers written in a second, all requests together.")
    ] = 0.0,
    prompt_price: Annotated[
        float | None, typer.Option(min=0, help="Price of a million tokens of prompts.")
    ] = None,
    completion_price: Annotated[
        float | None, typer.Option(min=0, help="Price of a million tokens of answers.")
    ] = None,
    prefix_cache: Annotated[
        str,
        typer.Option(
            help="Compare prompts, for a cache of prefixes: vllm (blocks of 16 tokens), openai (1,024 tokens and more by 128), or "
            "STEP:LEAST. Renders and encodes every prompt."
        ),
    ] = "",
    cache_size: Annotated[
        str, typer.Option(help="Tokens that the cache holds, e.g. 500k. Default: all.")
    ] = "",
    cache_order: Annotated[
        Literal["cases", "longest"],
        typer.Option(
            help="As a server gets them, or longest first, as lm-eval gives them to vLLM in its own process."
        ),
    ] = "cases",
    cached_price: Annotated[
        float | None, typer.Option(min=0, help="Price of a million tokens of prompts from the cache.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a run will cost before it starts; with --missing, which runs are still to be made.

    Prompts are counted as they are sent, without the chat template; in a conversation every turn sends the whole history again, and
    the model's own answers in it count as long as an answer is expected to be. Other options of a run are read from the environment
    (LCT_NOISE_MODE and so on). Tasks whose data are missing are named and do not stop the others. Exit code 1 when a task could not
    be planned, or, with --missing, when a cell is not done.
    """
    from long_context_tasks.benchmarks.catalogue import expand_tasks, resolve_options
    from long_context_tasks.benchmarks.published_files import without_downloads
    from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
    from long_context_tasks.results.plan.cost import PlanSettings, facts_of_folder, make_plan
    from long_context_tasks.results.plan.missing import find_missing
    from long_context_tasks.tokens import get_tokenizer

    if not tasks and not missing:
        raise InputError(
            "no tasks; name some with --tasks, e.g. --tasks lct_official; `lct tasks` lists them"
        )
    if results and not missing:
        raise InputError(
            f"{results[0]}: folders are looked through with --missing only; leave it out, or add --missing"
        )
    if missing and not results:
        raise InputError(
            "--missing looks through folders with results; name them, e.g. lct plan --missing results/"
        )
    cache = _cache(prefix_cache, cache_size, cache_order, cached_price)
    named = models or []
    known = facts_of_folder(named[0]) if len(named) == 1 else {}
    given = {**typed_options(ctx), "tokenizer": tokenizer, "window": window}
    asked = {name: str(value) for name, value in given.items() if value != ""}
    options = resolve_options({f"lct_{name}": value for name, value in {**known, **asked}.items()})
    names = expand_tasks(tasks or ["lct_official"], lm_eval_groups())
    if missing:
        found = find_missing(names, results or [], named, options, without_downloads)
        _show_missing(found, as_json)
        done = found.done
    else:
        if len(named) > 1:
            raise InputError("one plan is for one --model; several go with --missing only")
        rate = _rate(rate_prompt, rate_answer)
        price = _price(prompt_price, completion_price, cached_price)
        tokenizer = options.tokenizer or CL100K
        counters = _counters(options)
        settings = PlanSettings(
            *(counters, tokenizer, options.window, answer_tokens or None, repeats, cache),
            get_tokenizer(tokenizer).encode if cache else None,
        )
        with without_downloads():
            made = make_plan(names, options, settings)
        _show_plan(made, named[0] if named else "", rate, price, as_json)
        done = not made.not_planned
    if not done:
        raise typer.Exit(1)


def _counters(options: "Options") -> "dict[str, CountTexts]":
    from long_context_tasks.tokens import CL100K, cached_counts, tokenizer_identity

    def count(name: str, texts: Sequence[str]) -> Sequence[int]:
        return cached_counts(name, [(text, partial(str, text)) for text in texts], len(texts))

    names = dict.fromkeys((CL100K, options.tokenizer or CL100K))
    for name in names:
        tokenizer_identity(name)
    return {name: partial(count, name) for name in names}


def _show_plan(
    made: "CostPlan", model: str, rate: "Rate | None", price: "Price | None", as_json: bool
) -> None:
    if as_json:
        give_document(made.document(model, rate, price))
        return
    if made.tasks:
        _print(made.table(model, rate, price))
        for line in made.notes():
            say(line)
    for task in made.not_planned:
        typer.echo(f"not planned: {task.task}: {task.message} {_FETCH}", err=True)


def _print(table: "Table") -> None:
    print_table(table.title, table.columns, table.rows, table.text)


def _show_missing(found: "Missing", as_json: bool) -> None:
    from long_context_tasks.results.plan.cost import first_names

    if as_json:
        give_document(found.document())
        return
    if table := found.table():
        _print(table)
    states = Counts(cell.state for cell in found.cells)
    say(", ".join(f"{count} {state}" for state, count in states.items()) + ".")
    for command, cells in found.commands.items():
        tasks = first_names([cell.task for cell in cells])
        say(f"\nlm-eval recorded this command for {tasks} ({cells[0].model}):\n{command}")
    for problem in found.problems:
        typer.echo(visible(f"not used: {problem}"), err=True)
    for task in found.without_data:
        typer.echo(f"cases not counted: {task.task}: {task.message} {_FETCH}", err=True)


def _rate(prompt: float, answer: float) -> "Rate | None":
    """Read the rates; None if the user gave none and gets no hours."""
    from long_context_tasks.results.plan.cost import Rate

    if not prompt and not answer:
        return None
    if not (prompt > 0 and answer > 0):
        raise InputError("hours need both rates, above 0: --rate-prompt and --rate-answer")
    return Rate(prompt, answer)


def _price(prompt: float | None, completion: float | None, cached: float | None) -> "Price | None":
    from long_context_tasks.results.plan.cost import Price

    if prompt is None and completion is None and cached is None:
        return None
    if prompt is None or completion is None:
        raise InputError("a price needs both: --prompt-price and --completion-price")
    return Price(prompt, completion, cached)


def _cache(name: str, size: str, order: "Order", price: float | None) -> "PrefixCache | None":
    from long_context_tasks.results.plan.prefixes import PrefixCache
    from long_context_tasks.schema import parse_length

    if name:
        return PrefixCache.named(name, parse_length(size) if size else None, order)
    if size or price is not None:
        raise InputError("--cache-size and --cached-price need a cache: add --prefix-cache vllm, or openai")
    return None
