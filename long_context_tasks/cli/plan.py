"""`lct plan`: what a run will cost, and which runs are still missing, with the commands to type."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import DataDir, Json, complete_tasks
from long_context_tasks.cli.output import give_document, print_table, say
from long_context_tasks.cli.paths import config_folder
from long_context_tasks.hosts.opencompass.results import find_setups
from long_context_tasks.hosts.turns import cases_digest
from long_context_tasks.results.bundle.runs import find_runs_and_bundles
from long_context_tasks.results.plan.commands_for import (
    Command,
    Model,
    Place,
    commands,
    counts_by_state,
    without_judge,
)
from long_context_tasks.results.plan.cost import (
    CL100K,
    Counter,
    Plan,
    Price,
    Rate,
    Settings,
    TaskPlan,
    load_tasks,
    make_plan,
)
from long_context_tasks.results.plan.missing import DONE, Cell, find_cells, models_of, unassigned, wanted
from long_context_tasks.schema import InputError, Options
from long_context_tasks.tokens import CL100K as SAME_NAME
from long_context_tasks.tokens import cached_counts, tokenizer_identity

if TYPE_CHECKING:
    from long_context_tasks.schema import Options

# What `lct plan` prints: the table of a plan, the missing cells and their commands.


assert CL100K == SAME_NAME
_NAMED = 5
_OFFLINE = "HF_HUB_OFFLINE"
_JUDGE_MODEL = "LCT_JUDGE_MODEL"
_FETCH = "(`lct plan` downloads nothing; `lct data fetch` does)"


def counters(options: Options) -> dict[str, Counter]:
    """Functions that count texts: in cl100k, and in the model's tokenizer where there is one.

    Raises:
        InputError: a tokenizer that cannot be had.
    """
    names = dict.fromkeys((CL100K, options.tokenizer or CL100K))
    for name in names:
        tokenizer_identity(name)
    return {name: partial(_count, name) for name in names}


@contextmanager
def without_downloads() -> Iterator[None]:
    """Data that are not there are named, and not fetched from the Hugging Face hub; tokenizers are fetched before."""
    before = os.environ.get(_OFFLINE)
    hub = sys.modules.get("huggingface_hub.constants")
    told = getattr(hub, _OFFLINE, None)
    os.environ[_OFFLINE] = "1"
    if hub is not None:
        setattr(hub, _OFFLINE, True)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_OFFLINE, None)
        else:
            os.environ[_OFFLINE] = before
        # A module that came in between has read the variable.
        hub = sys.modules.get("huggingface_hub.constants")
        if hub is not None:
            setattr(hub, _OFFLINE, told if told is not None else before not in (None, "", "0"))


def _count(name: str, texts: Sequence[str]) -> Sequence[int]:
    return cached_counts(name, [(text, partial(str, text)) for text in texts], len(texts))


def show_plan(
    names: Sequence[str],
    model: str,
    options: Options,
    answer_tokens: int | None,
    repeats: int,
    rate: tuple[Rate, Sequence[str]] | None,
    price: Price | None,
    as_json: bool,
) -> bool:
    """Print the plan of some tasks; whether all of them could be planned."""
    tokenizer = options.tokenizer or CL100K
    settings = Settings(counters(options), tokenizer, options.window, answer_tokens, repeats)
    with without_downloads():
        plan = make_plan(names, options, settings)
    if as_json:
        give_document(_plan_row(plan, model, rate, price))
        return not plan.not_planned
    if plan.tasks:
        _print_plan(plan, model, rate, price)
    for one in plan.not_planned:
        typer.echo(f"not planned: {one.task}: {one.message} {_FETCH}", err=True)
    return not plan.not_planned


def _print_plan(plan: Plan, model: str, rate: tuple[Rate, Sequence[str]] | None, price: Price | None) -> None:
    settings = plan.settings
    own = [name for name in settings.counters if name != CL100K]
    columns = [
        "task",
        "cases",
        "left out",
        "requests",
        "prompts, cl100k",
        *(["prompts, model"] if own else []),
    ]
    columns += [
        "own history",
        "answers",
        "longest",
        *(["hours"] if rate else []),
        *(["price"] if price else []),
    ]

    def cells(one: TaskPlan) -> list[str]:
        tokens = [one.prompt_tokens.get(name, 0) for name in (CL100K, *own)]
        numbers = [
            one.cases,
            len(one.does_not_fit),
            one.requests,
            *tokens,
            one.history_tokens,
            one.answer_tokens,
        ]
        row = [
            one.task,
            *(f"{number:,}" for number in numbers),
            f"{one.longest.get(settings.tokenizer, 0):,}",
        ]
        row += [f"{one.hours(rate[0], settings.tokenizer):,.2f}"] if rate else []
        return row + ([f"{one.price(price, settings.tokenizer):,.2f}"] if price else [])

    rows = [cells(one) for one in plan.tasks]
    window = (
        f"window {settings.window:,}" if settings.window else "window not known: everything is taken to fit"
    )
    of_model = f"{model}: " if model else ""
    print_table(f"{of_model}tokens, {window}", columns, [*rows, cells(plan.total)])
    for line in _notes(plan, rate):
        say(line)


def _notes(plan: Plan, rate: tuple[Rate, Sequence[str]] | None) -> list[str]:
    settings = plan.settings
    expected = (
        "the whole budget, the most"
        if settings.answer_tokens is None
        else f"{settings.answer_tokens:,} tokens"
    )
    lines = [
        f"Tokens of prompts are without chat template; an answer is taken to have {expected}. "
        f"Windows, hours and prices go by {settings.tokenizer}."
    ]
    if plan.total.history_tokens:
        lines.append(
            "In conversations every turn sends the history again: its known texts count as prompts, the model's own earlier answers "
            "as own history."
        )
    for one in plan.tasks:
        if one.does_not_fit:
            shown = ", ".join(one.does_not_fit[:_NAMED]) + (", ..." if len(one.does_not_fit) > _NAMED else "")
            lines.append(
                f"{one.task}: {len(one.does_not_fit)} of {one.cases} cases do not fit the window: {shown}"
            )
    if judged := [one.task for one in plan.tasks if one.judged]:
        lines.append(f"A judge reads the answers of {', '.join(judged)}; its calls are not in the plan.")
    return [*lines, *(rate[1] if rate else ())]


def _plan_row(
    plan: Plan, model: str, rate: tuple[Rate, Sequence[str]] | None, price: Price | None
) -> dict[str, Any]:
    settings = plan.settings

    def row(one: TaskPlan) -> dict[str, Any]:
        return {
            "task": one.task,
            "cases": one.cases,
            "does_not_fit": list(one.does_not_fit),
            "requests": one.requests,
            "prompt_tokens": dict(one.prompt_tokens),
            "history_tokens": one.history_tokens,
            "answer_tokens": one.answer_tokens,
            "longest": dict(one.longest),
            "judged": one.judged,
            "hours": one.hours(rate[0], settings.tokenizer) if rate else None,
            "price": one.price(price, settings.tokenizer) if price else None,
        }

    return {
        "model": model or None,
        "tokenizer": settings.tokenizer,
        "window": settings.window,
        "repeats": settings.repeats,
        "rate": {"prompt": rate[0].prompt, "answer": rate[0].answer, "notes": list(rate[1])}
        if rate
        else None,
        "tasks": [row(one) for one in plan.tasks],
        "total": row(plan.total),
        "not_planned": [{"task": one.task, "message": one.message} for one in plan.not_planned],
    }


def show_missing(
    names: Sequence[str],
    results: Sequence[Path],
    models: Sequence[Model],
    options: Options,
    typed: Mapping[str, str],
    where: Mapping[str, Any],
    as_json: bool,
) -> bool:
    """Print the cells that are not done and the commands that fill them; whether all are done."""
    found = [find_runs_and_bundles(path) for path in results]
    setups = [setup for path in results for setup in find_setups(path)]
    tasks, without_data = [], []
    for name in names:
        with without_downloads():
            loaded, failed = load_tasks([name], options)
        without_data += failed
        # Only the counts stay in memory.
        reason = failed[0].message if failed else ""
        task = loaded[0] if loaded else None
        tasks.append(wanted(name, task, options, reason, cases_digest(task) if task else ""))
    all_models = models_of(found, setups, [model.name for model in models])
    if not all_models:
        raise InputError(
            "no runs of our tasks found, so that no model is known; name the models with --model"
        )
    base = [model.name for model in models if model.base]
    cells = find_cells(tasks, all_models, found, setups, base)
    judge = str(options.judge) if options.judge is not None else ""
    place = Place(config=_shown(config_folder() / "eval_all.py"), options=typed, judge=judge, **where)
    made = commands(cells, models, place, [run for one in found for run in one.runs])
    unjudged = without_judge(cells, made) if not os.environ.get(_JUDGE_MODEL) else []
    notes = [_judge_note(unjudged)] if unjudged else []
    problems = [problem.message for problem in unassigned(found)]
    if as_json:
        rows = {
            "cells": [_cell_row(cell) for cell in cells],
            "commands": [_command_row(one) for one in made],
            "problems": problems,
            "notes": notes,
            "data_missing": [{"task": one.task, "message": one.message} for one in without_data],
        }
        give_document(rows)
    else:
        _print_missing(cells, made, problems)
        for line in notes:
            say(f"\n{line}")
        for one in without_data:
            typer.echo(f"cases not counted: {one.task}: {one.message} {_FETCH}", err=True)
    return all(cell.state == DONE for cell in cells)


def _judge_note(tasks: Sequence[str]) -> str:
    named = ", ".join(tasks[:_NAMED]) + (", ..." if len(tasks) > _NAMED else "")
    return (
        f"A judge reads the answers of {len(tasks)} of these tasks ({named}), and none is named: set LCT_JUDGE to a judge file before "
        "the commands, or have stored answers judged later with `lct judge run`."
    )


def _shown(path: Path) -> Path:
    """Relative to the current folder where it lies below."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def _print_missing(cells: Sequence[Cell], made: Sequence[Command], problems: Sequence[str]) -> None:
    todo = [cell for cell in cells if cell.state != DONE]
    if todo:
        rows = [[cell.model, cell.task, cell.state, cell.host or "", cell.why] for cell in todo]
        print_table("Cells that are not done", ["model", "task", "state", "host", "why"], rows, _COLUMNS)
    say(", ".join(f"{count} {state}" for state, count in counts_by_state(cells).items()) + ".")
    for problem in problems:
        typer.echo(f"not used: {problem}", err=True)
    for model in dict.fromkeys(one.model for one in made):
        own = [one for one in made if one.model == model]
        say(f"\n{model}:")
        seen: set[tuple[str, ...]] = set()
        for one in own:
            say(("or: " if one.tasks in seen else "") + one.text)
            seen.add(one.tasks)


_COLUMNS = ("task", "state", "host", "why")


def _cell_row(cell: Cell) -> dict[str, Any]:
    return {
        "model": cell.model,
        "task": cell.task,
        "state": cell.state,
        "why": cell.why,
        "remedy": cell.remedy,
        "host": cell.host,
        "folder": None if cell.folder is None else str(cell.folder),
        "made": cell.run.made if cell.run else None,
    }


def _command_row(command: Command) -> dict[str, Any]:
    return {
        "host": command.host,
        "model": command.model,
        "tasks": list(command.tasks),
        "variables": dict(command.variables),
        "words": list(command.words),
        "text": command.text,
    }


app = typer.Typer(add_completion=False)

_EXAMPLES = """
Examples:

  lct plan --model ./Qwen2.5-7B --tasks lct_official --rate-from results/

  lct plan --model gpt-4o --tasks 'ethic_*' --window 128k --prompt-price 2.5 --completion-price 10

  lct plan --missing results/ outputs/ --tasks lct_official
"""


@app.command(epilog=_EXAMPLES)
def plan(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="With --missing: what lm-eval's --output_path or OpenCompass's -w names, or above; or bundles."
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            help="Tasks, groups and globs, with commas: ada_leval, 'ethic_*', lct_official.",
            autocompletion=complete_tasks,
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="Folder, hub id, or name at a server. A folder tells its tokenizer and window. With --missing: several.",
        ),
    ] = None,
    missing: Annotated[
        bool,
        typer.Option("--missing", help="List the cells that RESULTS lack, and the commands that fill them."),
    ] = False,
    tokenizer: Annotated[
        str,
        typer.Option(
            "--tokenizer", help="Tokenizer of the model, a folder or hub id. Default: of the model's folder."
        ),
    ] = "",
    window: Annotated[
        str,
        typer.Option("--window", help="Context window in tokens, e.g. 128k. Default: of the model's folder."),
    ] = "",
    answer_tokens: Annotated[
        int,
        typer.Option(
            "--answer-tokens", min=0, help="Tokens expected of an answer. Default: the whole budget."
        ),
    ] = 0,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="How often every case is asked.")] = 1,
    rate_prompt: Annotated[
        float,
        typer.Option("--rate-prompt", help="Tokens of prompts read in a second, all requests together."),
    ] = 0.0,
    rate_answer: Annotated[
        float,
        typer.Option("--rate-answer", help="Tokens of answers written in a second, all requests together."),
    ] = 0.0,
    rate_from: Annotated[
        Path | None, typer.Option("--rate-from", help="Take the rate from a folder with runs of the model.")
    ] = None,
    prompt_price: Annotated[
        float | None, typer.Option("--prompt-price", min=0, help="Price of a million tokens of prompts.")
    ] = None,
    completion_price: Annotated[
        float | None, typer.Option("--completion-price", min=0, help="Price of a million tokens of answers.")
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="lm_eval, opencompass or both: commands for models without any run.")
    ] = "both",
    base_url: Annotated[
        str,
        typer.Option("--base-url", help="Server of the model, ending in /v1: for the commands of --missing."),
    ] = "",
    base: Annotated[
        bool, typer.Option("--base", help="The model has no chat template: for the commands of --missing.")
    ] = False,
    output_path: Annotated[
        Path,
        typer.Option("--output-path", help="Folder for new runs of lm-eval, in the commands of --missing."),
    ] = Path("results"),
    work_dir: Annotated[
        Path,
        typer.Option("--work-dir", help="Folder for new runs of OpenCompass, in the commands of --missing."),
    ] = Path("outputs/all"),
    cases: Annotated[
        Path | None, typer.Option("--cases", help="Folder of built cases, for tasks that take them.")
    ] = None,
    length: Annotated[str, typer.Option("--length", help="Length of tasks that end in _any, e.g. 24k.")] = "",
    length_policy: Annotated[
        str, typer.Option("--length-policy", help="same_information or same_tokens, as in a run.")
    ] = "",
    n: Annotated[int | None, typer.Option("--n", help="Number of cases of each task, as in a run.")] = None,
    subset: Annotated[str, typer.Option("--subset", help="Official subset: 1000, 200 or 50 cases.")] = "",
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of generated cases.")] = None,
    answer_budget: Annotated[
        str, typer.Option("--answer-budget", help="Tokens that the model may generate, as in a run.")
    ] = "",
    prompt_style: Annotated[
        str, typer.Option("--prompt-style", help="How prompts are laid out; see the benchmark's page.")
    ] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Say what a run will cost before it starts; with --missing, which runs are still to be made, and how.

    Prompts are counted as they are sent, without the chat template; in a conversation every turn sends the whole history again, and
    the model's own answers in it count as long as an answer is expected to be. Other options of a run are read from the environment
    (LCT_NOISE_MODE and so on). Tasks whose data are missing are named and do not stop the others. Exit code 1 when a task could not
    be planned, or, with --missing, when a cell is not done.
    """
    pass  # MOVED
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.hosts.lm_eval.generate import lm_eval_groups
    from long_context_tasks.results.plan.commands_for import Model
    from long_context_tasks.results.plan.cost import expand_tasks
    from long_context_tasks.schema import InputError

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
    if host not in ("both", "lm_eval", "opencompass"):
        raise InputError(f"--host must be lm_eval, opencompass or both, not {host!r}")
    given = {
        "cases": cases,
        "length": length,
        "length_policy": length_policy,
        "n": n,
        "subset": subset,
        "seed": seed,
        "answer_budget": answer_budget,
        "prompt_style": prompt_style,
        "data_dir": data_dir,
    }
    named = models or []
    known = _of_folder(named[0]) if len(named) == 1 else {}
    given |= {"tokenizer": tokenizer, "window": window}
    typed = {name: str(value) for name, value in given.items() if value not in ("", None)}
    options = resolve_options({**_prefixed(known), **_prefixed(typed)})
    names = expand_tasks(tasks or ["lct_official"], lm_eval_groups())
    if missing:
        where = {"results": output_path, "work": work_dir, "host": host}
        said = [Model(name, base_url, base) for name in named]
        done = show_missing(names, results or [], said, options, typed, where, as_json)
    else:
        if len(named) > 1:
            raise InputError("one plan is for one --model; several go with --missing only")
        done = show_plan(
            names,
            named[0] if named else "",
            options,
            answer_tokens or None,
            repeats,
            _rate(rate_prompt, rate_answer, rate_from, options),
            _price(prompt_price, completion_price),
            as_json,
        )
    if not done:
        raise typer.Exit(1)


def _prefixed(options: dict[str, str]) -> dict[str, str]:
    return {f"lct_{name}": value for name, value in options.items()}


def _of_folder(model: str) -> dict[str, str]:
    """Tokenizer and window of a model in a folder; nothing of any other."""
    import json

    folder = Path(model).expanduser()
    known: dict[str, str] = {}
    if (folder / "tokenizer.json").is_file():
        known["tokenizer"] = str(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        rows = [config, config.get("text_config") or {}]
        names = ("n_positions", "max_position_embeddings", "n_ctx")
        found = [row[name] for row in rows for name in names if isinstance(row.get(name), int)]
    except (OSError, ValueError, AttributeError):
        found = []
    return {**known, **({"window": str(found[0])} if found else {})}


def _rate(prompt: float, answer: float, source: Path | None, options: "Options") -> Any:
    """The rate, and what is to be said of it; None when nobody asked for hours."""
    pass  # MOVED
    from long_context_tasks.results import find_runs
    from long_context_tasks.results.plan.cost import CL100K, Rate
    from long_context_tasks.results.plan.rates import measured_rate
    from long_context_tasks.schema import InputError

    if source is not None:
        if prompt or answer:
            raise InputError(
                "--rate-from measures both rates; leave out --rate-prompt and --rate-answer, or --rate-from"
            )
        runs = find_runs(source).runs
        if not runs:
            raise InputError(
                f"--rate-from {source}: no runs of our tasks in it; name what --output_path or -w named"
            )
        counter = counters(options)[options.tokenizer or CL100K]
        with without_downloads():
            measured = measured_rate(runs, counter, options.data_dir)
        return measured.rate, [f"Rate from {source}: {measured}.", *measured.notes]
    if not prompt and not answer:
        return None
    if not (prompt > 0 and answer > 0):
        raise InputError("hours need both rates, above 0: --rate-prompt and --rate-answer")
    return Rate(prompt, answer), [f"Rates as given: {prompt:,g} and {answer:,g} tokens a second."]


def _price(prompt: float | None, completion: float | None) -> Any:
    from long_context_tasks.results.plan.cost import Price
    from long_context_tasks.schema import InputError

    if prompt is None and completion is None:
        return None
    if prompt is None or completion is None:
        raise InputError("a price needs both: --prompt-price and --completion-price")
    return Price(prompt, completion)
