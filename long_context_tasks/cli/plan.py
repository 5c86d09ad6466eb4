"""`lct plan`: compute the cost of a run before it starts, or list the runs that are missing."""

from collections import Counter as Counts
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from long_context_tasks.cli.options import (
    RUN_OPTIONS,
    Json,
    MoreOption,
    check_lengths,
    complete_tasks,
    examples,
    field_options,
    typed_options,
    with_more_options,
)
from long_context_tasks.cli.output import give_document, print_table, say, warn
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.validated import Checked, Number, Whole
from long_context_tasks.tokens.build_settings import option, settings_of

if TYPE_CHECKING:
    from long_context_tasks.results.plan.cost import CostPlan, CountTexts
    from long_context_tasks.results.plan.missing import Missing
    from long_context_tasks.results.plan.prices import PrefixCache, Price, PriceTable, Rate
    from long_context_tasks.schema import Options
    from long_context_tasks.schema.report import Table

_FETCH = "(`lct plan` downloads nothing; `lct data fetch` does)"
_COST, _CACHE = "Hours and price", "Prefix cache"
_WINDOW = MoreOption(
    "window", str, "Context window in tokens, e.g. 128k. Default: that of the model's folder."
)
_SPLIT = MoreOption(
    "split_messages", str, "Send texts and questions in two parts: plain, or the name of a cache mark."
)
app = typer.Typer(add_completion=False)


class CostOptions(Checked):
    """Options of `lct plan` that do not change the prompts; prices are per million tokens."""

    answer_tokens: Annotated[
        Whole, option("Expected tokens of an answer. Default: the whole budget", _COST, ge=0)
    ] = 0
    repeats: Annotated[Whole, option("Number of times that every case is sent. Default: 1", _COST, ge=1)] = 1
    rate_prompt: Annotated[
        Number, option("Prompt tokens read per second, over all concurrent requests.", _COST, ge=0)
    ] = 0.0
    rate_answer: Annotated[
        Number, option("Answer tokens written per second, over all concurrent requests.", _COST, ge=0)
    ] = 0.0
    prices: Annotated[str, option("Price table to use instead of the packaged one, a YAML file.", _COST)] = ""
    prompt_price: Annotated[
        Number | None,
        option("Price of a million prompt tokens. Default: that of --model in the price table", _COST, ge=0),
    ] = None
    completion_price: Annotated[Number | None, option("Price of a million answer tokens.", _COST, ge=0)] = (
        None
    )
    prefix_cache: Annotated[
        str,
        option(
            "Compare prompts for a cache of prefixes, a name in the price table: vllm, hybrid, openai, anthropic, google, or a "
            "model; hybrid:784 changes the step; STEP:LEAST in tokens describes any other cache. Renders and encodes every prompt.",
            _CACHE,
        ),
    ] = ""
    cache_size: Annotated[str, option("Tokens that the cache holds, e.g. 500k. Default: all", _CACHE)] = ""
    cache_order: Annotated[
        Literal["cases", "longest"],
        option(
            "Order of the prompts: cases, as a server gets them, or longest, as lm-eval gives them to vLLM in its own process. "
            "Default: cases",
            _CACHE,
        ),
    ] = "cases"
    api_base: Annotated[
        str,
        option(
            "Address of the server of --model, e.g. http://127.0.0.1:8000/v1: if it is vLLM, SGLang or llama.cpp, it "
            "reports its window and counts the tokens. It gets the key in OPENAI_API_KEY.",
            _COST,
        ),
    ] = ""

    def rate(self) -> "Rate | None":
        from long_context_tasks.results.plan.prices import Rate

        if not self.rate_prompt and not self.rate_answer:
            return None
        if not (self.rate_prompt and self.rate_answer):
            raise InputError("hours need both rates, above 0: --rate-prompt and --rate-answer")
        return Rate(self.rate_prompt, self.rate_answer)

    def price(self, table: "PriceTable", model: str) -> "Price | None":
        from long_context_tasks.results.plan.prices import Price

        if self.prompt_price is None and self.completion_price is None:
            return table.models.get(model.rpartition("/")[2])  # without the provider's name
        if self.prompt_price is None or self.completion_price is None:
            raise InputError("a price needs both: --prompt-price and --completion-price")
        return Price(prompt=self.prompt_price, completion=self.completion_price)

    def cache(self, table: "PriceTable") -> "PrefixCache | None":
        cache = table.cache(self.prefix_cache) if self.prefix_cache else None
        if not self.cache_size:
            return cache
        if cache is None or cache.hits == "marks":
            raise InputError("--cache-size needs a cache of blocks: add --prefix-cache vllm, or hybrid")
        return cache.model_copy(update={"size": parse_length(self.cache_size, option="--cache-size")})

    def origin(self, table: "PriceTable", used: Sequence["Price | PrefixCache | None"]) -> str:
        """Return a sentence about the table, its date and the sources of what is used; empty without any."""
        sources = list(dict.fromkeys(each.source for each in used if each is not None and each.source))
        named = f"{self.prices or 'packaged table'} of {table.date}"
        return f"Prices in US dollars and rules of caches: {named} ({', '.join(sources)})." if sources else ""


class _PlanCommand(TyperCommand):
    """`lct plan` with the options of a run and those of its cost."""

    def get_params(self, ctx: Any) -> list[Any]:
        return with_more_options(
            super().get_params(ctx), [_WINDOW, _SPLIT, *RUN_OPTIONS, *field_options(CostOptions)]
        )


@app.command(
    cls=_PlanCommand,
    epilog=examples(
        "lct plan --model ./Qwen2.5-7B --tasks lct_official --rate-prompt 5000 --rate-answer 300",
        "lct plan --model gpt-4o --tasks lct_official --window 128k --prompt-price 2.5 --completion-price 10",
        "lct plan --model claude-opus-5 --tasks lct_nano --prefix-cache claude-opus-5 --split-messages cache_control",
        "lct plan --tasks lct_synthetic --length 8k --prefix-cache vllm --cache-size 500k",
        "lct plan --missing results/ outputs/ --tasks lct_official",
    ),
)
def plan(
    ctx: typer.Context,
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="With --missing: folders of lm-eval's --output_path, OpenCompass's -w or inspect_ai's --log-dir, or folders above; or "
            "bundles."
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            help="Tasks, benchmarks, groups and globs, with commas: lct_official, BENCHMARK, 'recall_*'.",
            autocompletion=complete_tasks,
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Folder, hub id, or name at a server; a folder provides tokenizer and window. Repeatable with --missing.",
        ),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option(
            "--missing", help="List the runs that RESULTS lack, and the commands that lm-eval recorded."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute the cost of a run before it starts; with --missing, list the runs that are still missing.

    Prompts are counted as they are sent, without the chat template. In a conversation every turn sends the whole history again, and the
    model's own answers in it count as much as an answer is expected to be. Other options of a run are read from the environment
    (LCT_NOISE_MODE and so on). Tasks whose data is missing are named and do not stop the others; published tasks of any length (`_any`) are left out with
    a note if only a group or glob names them, without --length. Exit code 1 if a task could not be
    planned or, with --missing, if a cell is not done.
    """
    from long_context_tasks.benchmarks.catalogue import ANY, expand_tasks, parse_task, resolve_options
    from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
    from long_context_tasks.results.plan.cost import facts_of_folder

    if not tasks and not missing:
        raise InputError(
            "no tasks; name some with --tasks, e.g. --tasks lct_official; `lct tasks` lists them"
        )
    if results and not missing:
        raise InputError(f"{results[0]}: only --missing reads folders; leave it out, or add --missing")
    if missing and not results:
        raise InputError("--missing reads folders with results; name them, e.g. lct plan --missing results/")
    typed, costs = typed_options(ctx), CostOptions.model_fields
    cost_options = {name: typed.pop(name) for name in costs if name in typed}
    chosen = settings_of(CostOptions, cost_options, "lct plan")
    named = models or []
    # With several models the tokenizer and window of one would be wrong for the others.
    known = facts_of_folder(named[0]) if len(named) == 1 else {}
    options = resolve_options({f"lct_{name}": value for name, value in {**known, **typed}.items()})
    words = ",".join(tasks or ["lct_official"])
    names = expand_tasks([words], lm_eval_groups())
    if "length" in typed and options.length:
        check_lengths(names, [options.length])
    if options.length is None and options.cases is None:
        # A group or glob means the tasks that run as they are; seeded ones have a default length.
        unsized = [
            name
            for name in names
            if (spec := parse_task(name)).length == ANY
            and spec.source != "seed"
            and name not in words.split(",")
        ]
        if unsized and len(unsized) < len(names):
            names = [name for name in names if name not in unsized]
            warn(f"note: left out without --length or --cases: {', '.join(unsized)}")
    if missing:
        done = _plan_missing(names, results or [], named, options, as_json)
    elif len(named) > 1:
        raise InputError("one plan is for one --model; several go with --missing only")
    else:
        done = _plan_cost(names, "".join(named), options, chosen, as_json)
    if not done:
        raise typer.Exit(1)


def _plan_cost(
    names: Sequence[str], model: str, options: "Options", chosen: CostOptions, as_json: bool
) -> bool:
    """Show the cost of the tasks; return whether all of them could be planned."""
    from long_context_tasks.benchmarks.downloads import without_downloads
    from long_context_tasks.results.plan.cost import PlanSettings, make_plan
    from long_context_tasks.results.plan.prices import PriceTable
    from long_context_tasks.tokens import get_tokenizer

    tokenizer, window = options.tokenizer or CL100K, options.window
    table = PriceTable.read(Path(chosen.prices).expanduser() if chosen.prices else None)
    price, cache = chosen.price(table, model), chosen.cache(table)
    counters = _counters(tokenizer)
    encode = get_tokenizer(tokenizer).encode if cache else None
    if chosen.api_base:
        from long_context_tasks.hosts.server import ask_server

        try:
            server = ask_server(chosen.api_base, model)
        except InputError as error:
            warn(f"--api-base: {error}; add --window and --tokenizer")
        else:
            window = window or server.window
            if server.counts and options.tokenizer is None:
                tokenizer, encode = f"{model} (counted by its server)", server.tokens
                counters[tokenizer] = lambda texts: [len(server.tokens(text)) for text in texts]
    settings = PlanSettings(
        counters=counters,
        tokenizer=tokenizer,
        window=window,
        answer_tokens=chosen.answer_tokens or None,
        repeats=chosen.repeats,
        cache=cache,
        order=chosen.cache_order,
        encode=encode,
        rate=chosen.rate(),
        price=price,
        table=chosen.origin(table, (price, cache)),
    )
    with without_downloads():
        made: CostPlan = make_plan(names, options, settings)
    if as_json:
        give_document(made.document(model))
    else:
        if made.tasks:
            _print(made.table(model))
            for line in made.notes():
                say(line)
        _name_tasks("not planned", made.not_planned, made.without_data, options)
    return not made.not_planned


def _counters(tokenizer: str) -> "dict[str, CountTexts]":
    """Return functions that count texts in cl100k and in a tokenizer, by its name."""
    from long_context_tasks.tokens import cached_counts, tokenizer_identity

    def count(name: str, texts: Sequence[str]) -> Sequence[int]:
        return cached_counts(name, [(text, partial(str, text)) for text in texts], len(texts))

    names = dict.fromkeys((CL100K, tokenizer))
    for name in names:
        tokenizer_identity(name)  # an unusable tokenizer is an error before any task is read
    return {name: partial(count, name) for name in names}


def _plan_missing(
    names: Sequence[str], results: Sequence[Path], models: Sequence[str], options: "Options", as_json: bool
) -> bool:
    """Show the cells that the results lack; return whether all are done."""
    from long_context_tasks.benchmarks.downloads import without_downloads
    from long_context_tasks.results.plan.cost import first_names
    from long_context_tasks.results.plan.missing import find_missing

    listing: Missing = find_missing(names, results, models, options, without_downloads)
    if as_json:
        give_document(listing.document())
        return listing.done
    if table := listing.table():
        _print(table)
    states = Counts(cell.state for cell in listing.cells)
    say(", ".join(f"{count} {state}" for state, count in states.items()) + ".")
    for command, cells in listing.commands.items():
        tasks = first_names([cell.task for cell in cells])
        limits = any(option in command for option in ("lct_n", "--limit"))
        more = "; without lct_n and --limit, it runs all cases" if limits else ""
        say(f"\nlm-eval recorded this command for {tasks} ({cells[0].model}){more}:")
        say(command, wrap=False)
    for problem in listing.problems:
        warn(f"not used: {problem}")
    _name_tasks("cases not counted", listing.not_counted, listing.without_data, options)
    return listing.done


def _name_tasks(
    what: str, reasons: Mapping[str, str], without_data: Sequence[str], options: "Options"
) -> None:
    """Print why tasks could not be loaded: one line for each benchmark without data and for each other task."""
    from long_context_tasks.benchmarks.catalogue import parse_task
    from long_context_tasks.results.plan.cost import first_names
    from long_context_tasks.schema.options import data_dir

    lacking: dict[str, list[str]] = {}
    for task in without_data:
        lacking.setdefault(parse_task(task).benchmark, []).append(task)
    for benchmark, tasks in lacking.items():
        if len(tasks) > 1:
            warn(
                f"{what}: {len(tasks)} tasks of {benchmark} ({first_names(tasks)}): files are missing in "
                f"{data_dir(options, benchmark)}; `lct data fetch {benchmark}` downloads them"
            )
    for task, reason in reasons.items():
        if task not in without_data or len(lacking[parse_task(task).benchmark]) == 1:
            warn(f"{what}: {task}: {reason} {_FETCH}")


def _print(table: "Table") -> None:
    print_table(table.title, table.columns, table.rows, table.text)
