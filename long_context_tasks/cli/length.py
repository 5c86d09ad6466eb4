"""`lct length`: find the length up to which a model keeps its score, step by step, from few tokens."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import Base, BaseUrl, Json, NewRuns, TaskName, examples, with_run_options
from long_context_tasks.cli.output import give_document, json_wanted, print_table, say
from long_context_tasks.schema import InputError, parse_length

if TYPE_CHECKING:
    from long_context_tasks.results.plan.adaptive import Progress, Step

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "lct length TASK --model ./Qwen2.5-7B",
        "lct length TASK --model owl --base-url http://localhost:8000/v1 --longest 64k --run",
        "lct length TASK --model ./Qwen2.5-7B --host opencompass --threshold 50 --json",
    )
)
@with_run_options
def length(
    task: TaskName,
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="More folders with runs, and bundles, that count; those of new runs always do.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", "-m", help="Folder, hub id, or name at a server.", show_default=False),
    ] = "",
    shortest: Annotated[
        str, typer.Option(help="Shortest length; a relative bar counts from its score.")
    ] = "1k",
    longest: Annotated[str, typer.Option(help="Longest length.")] = "128k",
    per_octave: Annotated[int, typer.Option(min=1, max=8, help="Lengths to choose from in an octave.")] = 4,
    budget: Annotated[
        int,
        typer.Option(
            min=0, help="Tokens of prompts after which the search ends. Default: 50 cases at every octave."
        ),
    ] = 0,
    step: Annotated[int, typer.Option(min=1, help="Least number of cases of a step.")] = 16,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="Percent that the score stays above. Default: 85 % of the score at the shortest length, above chance.",
        ),
    ] = None,
    n: Annotated[int, typer.Option(min=1, help="Cases at hand at each length.")] = 200,
    run: Annotated[bool, typer.Option("--run", help="Run the steps until the search ends.")] = False,
    host: Annotated[
        Literal["lm_eval", "opencompass", "inspect"], typer.Option(help="That runs the steps.")
    ] = "lm_eval",
    base_url: BaseUrl = "",
    base: Base = False,
    out: NewRuns = None,
    *,
    typed: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Find the effective length of a model on a task: run a few cases at the length that says most, fit, and go on from there.

    Prints what the stored runs say so far and the command of the next step; --run runs it, and the steps behind it. Nothing else is
    remembered: stop at any time, and type the same again. The search ends when the 95 % interval is half an octave wide, when the score is
    shown to hold up to the longest length or to be lost at the shortest, or with the budget. Exit code 1 while a step is left.
    """
    from long_context_tasks.benchmarks.catalogue import resolve_options
    from long_context_tasks.cli.installed import config_folder
    from long_context_tasks.results.plan.adaptive import Search, default_budget, lengths_of, progress
    from long_context_tasks.results.plan.commands_for import NEW_RUNS, Model, Place

    if not model:
        raise InputError("no model; name it with --model")
    if "length" in typed:
        raise InputError("--length: the search chooses the lengths; give --shortest and --longest")
    lengths = lengths_of(task, parse_length(shortest), parse_length(longest), per_octave)
    options = resolve_options({f"lct_{name}": str(value) for name, value in {**typed, "n": n}.items()})
    judge = str(options.judge) if options.judge is not None else ""
    place = Place(config_folder() / "eval_all.py", host=host, judge=judge, out=out)
    search = Search(
        task=task,
        model=Model(model, base_url, base),
        options=options,
        lengths=lengths,
        budget=budget or default_budget(lengths),
        threshold=None if threshold is None else threshold / 100,
        step=step,
    )

    def now() -> "Progress":
        own = [one for one in dict.fromkeys(map(place.new_runs, NEW_RUNS)) if one.is_dir()]
        return progress(search, [*own, *(results or [])], place)

    found = now()
    while run and found.step is not None:
        _say_step(found.step)
        _run(found.step)
        before, found = found, now()
        if len(_cases(found, before.step)) == len(_cases(before, before.step)):
            raise InputError(
                f"the step at {before.step.length:,} tokens left no new cases; see what the host printed above"  # type: ignore[union-attr]
            )
        say(_sentence(found))
    if json_wanted():
        give_document(found.document(search))
    else:
        _show(found)
    if found.step is not None:
        raise typer.Exit(1)


def _cases(found: "Progress", step: "Step | None") -> frozenset[str]:
    seen = found.seen.get(step.length) if step is not None else None
    return seen.cases if seen is not None else frozenset()


def _run(step: "Step") -> None:
    """Run a step with the programs of this Python environment; what it prints goes to standard error."""
    words = list(step.command.words)
    program = Path(sys.executable).with_name(words[0])
    if program.is_file():
        words[0] = str(program)
    environment = {**os.environ, **step.command.variables}
    try:
        done = subprocess.run(words, env=environment, stdout=sys.stderr, check=False)
    except OSError as error:
        raise InputError(f"{words[0]} cannot be run ({error}); install the host, or choose --host") from error
    if done.returncode:
        raise InputError(
            f"{words[0]} ended with code {done.returncode}; what it printed is above. The same `lct length` goes on from here"
        )


def _say_step(step: "Step") -> None:
    say(f"\n{len(step.cases)} cases at {step.length:,} tokens ({step.tokens:,} tokens of prompts):")
    say(step.command.text)


def _sentence(found: "Progress") -> str:
    from long_context_tasks.results.lengths import crossing_words

    width = found.crossing.octaves
    wide = f", {width:.2f} octaves" if width < 100 else ""
    return f"effective length: {crossing_words(found.crossing)} (95 % interval{wide}); {found.tokens:,} tokens of prompts so far"


def _show(found: "Progress") -> None:
    from long_context_tasks.results.plan.adaptive import mean_of

    fit = found.crossing
    rows = []
    for length, observed in found.seen.items():
        mean, interval = fit.curve[fit.lengths.index(length)]
        score = mean_of(observed)
        fitted = f"{100 * mean:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
        rows.append(
            (
                f"{length:,}",
                str(len(observed.cases)),
                str(len(observed.scores.values)),
                "" if score is None else f"{100 * score:.1f}",
                fitted,
            )
        )
    if rows:
        print_table("lengths", ("tokens", "cases", "n", "score", "fitted"), rows, frozenset())
    say(_sentence(found))
    if found.step is None:
        say(f"The search has ended: {found.why}.")
    else:
        _say_step(found.step)
