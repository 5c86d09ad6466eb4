"""``lct runs export``: the exact prompts of a task, for a pipeline of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import DataDir, Json, TaskName, examples

if TYPE_CHECKING:
    from long_context_tasks.schema import Options

EXAMPLES = examples(
    "lct runs export TASK --n 50 --out prompts.jsonl",
    "lct runs export TASK --length 24k --cases cases/ --out prompts.parquet",
    "lct runs export TASK --data-dir data/",
)

Cases = Annotated[
    Path | None, typer.Option("--cases", help="Folder of built cases, for tasks that take them.")
]
Length = Annotated[str, typer.Option("--length", help="Length of tasks that end in _any, e.g. 24k.")]
LengthPolicy = Annotated[
    str, typer.Option("--length-policy", help="same_information or same_tokens, as in a run.")
]
Tokenizer = Annotated[
    str,
    typer.Option(
        "--tokenizer", help="Tokenizer of the model, a folder or hub id: prompts are counted in it too."
    ),
]
Number = Annotated[int | None, typer.Option("--n", help="Number of cases.")]
Subset = Annotated[str, typer.Option("--subset", help="Official subset: 1000, 200 or 50 cases.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of generated cases.")]
AnswerBudget = Annotated[str, typer.Option("--answer-budget", help="Tokens that the model may generate.")]
PromptStyle = Annotated[
    str, typer.Option("--prompt-style", help="How prompts are laid out; see the benchmark's page.")
]


def export(
    task: TaskName,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="JSON Lines, or Parquet when the name ends in .parquet. Default: TASK.jsonl"
        ),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--with-gold", help="Write what is right, too, where the data's owners allow it.")
    ] = False,
    cases: Cases = None,
    length: Length = "",
    length_policy: LengthPolicy = "",
    tokenizer: Tokenizer = "",
    n: Number = None,
    subset: Subset = "",
    seed: Seed = None,
    answer_budget: AnswerBudget = "",
    prompt_style: PromptStyle = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Write the exact prompts of a task, one request a row, with the settings that both hosts use.

    Of a conversation there is a row for each turn, in which {{answer_0}} stands for the model's own answer to the first, and so on.
    `lct runs score` scores the responses. Options that are not typed are read from the environment (LCT_NOISE_MODE and so on).
    """
    from long_context_tasks.cli.output import give, say
    from long_context_tasks.hosts.own import export as exporting

    if gold:
        exporting.check_gold(task)
    loaded = exporting.load(
        task,
        options_of(
            cases=cases,
            length=length,
            length_policy=length_policy,
            tokenizer=tokenizer,
            n=n,
            subset=subset,
            seed=seed,
            answer_budget=answer_budget,
            prompt_style=prompt_style,
            data_dir=data_dir,
        ),
    )
    place = out or Path(f"{task}.jsonl")
    requests = exporting.write_export(loaded, place, gold=gold)
    give(
        f"{place}: {requests} requests of {len(loaded.cases)} cases",
        path=place,
        requests=requests,
        cases=len(loaded.cases),
        task=task,
        version=loaded.version,
    )
    if not exporting.may_be_shown(task):
        say("the data's owners do not allow these prompts to be published: keep the file to yourself")


def options_of(**typed: str | int | Path | None) -> "Options":
    """Options as typed, then as in the environment.

    Raises:
        InputError: a value that does not fit.
    """
    from long_context_tasks.benchmarks.catalogue import resolve_options

    return resolve_options({f"lct_{name}": value for name, value in typed.items() if value not in ("", None)})
