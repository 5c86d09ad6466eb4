"""`lct plan`: what a run will cost, and which runs are still missing, with the commands to type."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.completion import complete_tasks
from long_context_tasks.cli.options import DataDir, Json

if TYPE_CHECKING:
    from long_context_tasks.schema import Options

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
    from long_context_tasks.cli.plan_tables import show_missing, show_plan
    from long_context_tasks.hosts.generate import lm_eval_groups
    from long_context_tasks.runs.host_commands import Model
    from long_context_tasks.runs.plan import expand_tasks
    from long_context_tasks.schema import InputError, resolve_options

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
    from long_context_tasks.cli.plan_tables import counters, without_downloads
    from long_context_tasks.runs import find_runs
    from long_context_tasks.runs.plan import CL100K, Rate
    from long_context_tasks.runs.rates import measured_rate
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
    from long_context_tasks.runs.plan import Price
    from long_context_tasks.schema import InputError

    if prompt is None and completion is None:
        return None
    if prompt is None or completion is None:
        raise InputError("a price needs both: --prompt-price and --completion-price")
    return Price(prompt, completion)
