"""``lct runs score``: responses that a pipeline of one's own made to exported prompts."""

from pathlib import Path
from typing import Annotated

import typer

from long_context_tasks.cli.options import DataDir, Json, TaskName, examples
from long_context_tasks.cli.runs.export import (
    AnswerBudget,
    Cases,
    Length,
    LengthPolicy,
    Number,
    PromptStyle,
    Seed,
    Subset,
    Tokenizer,
    options_of,
)
from long_context_tasks.schema.report import figure_text, interval_text

EXAMPLES = examples(
    "lct runs score TASK responses.jsonl --n 50 --model my-model --out results/",
)


def score(
    task: TaskName,
    responses: Annotated[
        Path,
        typer.Argument(help='JSON Lines: {"id": CASE, "response": TEXT}, with "turn" in conversations.'),
    ],
    model: Annotated[str, typer.Option("--model", "-m", help="Name of the model in reports.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the run, as lm-eval's --output_path.")
    ] = Path("results"),
    pipeline: Annotated[
        str,
        typer.Option("--pipeline", help="What made the responses, in words; it stands in the provenance."),
    ] = "",
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
    """Score the responses of a pipeline of your own to the prompts of `lct runs export`, into a run that `lct report` reads.

    Give the options that the prompts were exported with. A judged task is left for `lct judge run`.
    """
    from long_context_tasks.cli.output import give, print_table, say
    from long_context_tasks.hosts.own.export import load
    from long_context_tasks.hosts.own.score import read_responses, score_own
    from long_context_tasks.stats import Interval

    loaded = load(
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
    answered = read_responses(responses, loaded)
    run = score_own(loaded, answered, model, out, pipeline)
    rows = []
    for metric in loaded.metrics:
        places = 2 if metric in loaded.points else 3
        low, high = (run.numbers.get(f"{metric}_{end}") for end in ("low", "high"))
        interval = None if low is None or high is None else Interval(low, high)
        rows.append([metric, figure_text(run.numbers[metric], places), interval_text(interval, places)])
    print_table(f"{task}, {model}", ["metric", "mean", "95 % interval"], rows)
    give(
        f"{run.result_file}: {len(answered)} of {len(loaded.cases)} cases",
        path=run.result_file,
        cases=len(answered),
        available=len(loaded.cases),
    )
    if loaded.judging is not None:
        say(f"not judged yet: lct judge run {out} --judge judge.yaml")
