"""``lct orca``: the judge that is trained on people's ratings. Make its data, train it, score with it, clamp its scores; replicate its paper."""

from pathlib import Path
from typing import Annotated

import typer

from long_context_tasks.cli.options import BatchTokens, Device, Window, examples, tokens
from long_context_tasks.cli.orca.data import data
from long_context_tasks.cli.orca.score import clamp, score
from long_context_tasks.cli.orca.study import app as study
from long_context_tasks.cli.output import say

app = typer.Typer(add_completion=False, no_args_is_help=True)
app.command(epilog=examples("lct orca data ratings.jsonl --split questions --out parts"))(data)


@app.callback()
def orca() -> None:
    """ORCA, a judge that predicts how people would rate an answer and how far they would disagree."""


@app.command(
    epilog=examples(
        "lct orca train --train parts/split_0/train.jsonl --dev parts/split_0/dev.jsonl --model HuggingFaceTB/SmolLM2-135M-Instruct --head beta --out judge"
    )
)
def train(
    dev: Annotated[Path, typer.Option("--dev", help="Development part, by which training ends.")],
    output: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the checkpoint; there when all is done.")
    ],
    train_file: Annotated[
        Path | None, typer.Option("--train", help="Training part, rated by people.")
    ] = None,
    judge_train: Annotated[
        Path | None, typer.Option("--judge-train", help="Answers rated by LLM judges, for other scenarios.")
    ] = None,
    scenario: Annotated[
        str,
        typer.Option(
            "--scenario", help="human, judge, judge_all, mixed or two_stage; see docs/orca_study.md."
        ),
    ] = "human",
    exclude: Annotated[
        list[Path] | None,
        typer.Option(
            "--exclude", help="File whose questions are not learned from judges, such as the test part."
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Language model: folder or hub id.")
    ] = None,
    init: Annotated[
        Path | None, typer.Option("--init", help="ORCA checkpoint to go on from, in place of --model.")
    ] = None,
    head: Annotated[str | None, typer.Option("--head", help="beta, multinomial or bernoulli.")] = None,
    method: Annotated[str, typer.Option("--method", help="lora or full.")] = "lora",
    precision: Annotated[
        str, typer.Option("--precision", help="fp32 or bf16; auto: bf16 on a GPU.")
    ] = "auto",
    device: Device = "auto",
    epochs: Annotated[int, typer.Option("--epochs", help="Of each stage.")] = 3,
    steps: Annotated[int | None, typer.Option("--steps", help="Of each stage, in place of --epochs.")] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Answers a step, over all processes.")] = 16,
    batch_tokens: BatchTokens = 8192,
    lr: Annotated[
        float | None, typer.Option("--lr", help="Learning rate. Default: 2e-4 (lora), 2e-5 (full).")
    ] = None,
    head_lr: Annotated[
        float | None, typer.Option("--head-lr", help="Of the head. Default: five times --lr.")
    ] = None,
    warmup: Annotated[float, typer.Option("--warmup", help="Share of the steps.")] = 0.1,
    weight_decay: Annotated[float, typer.Option("--weight-decay", help="Of AdamW.")] = 0.01,
    lora_rank: Annotated[int, typer.Option("--lora-rank", help="Rank of the adapter.")] = 16,
    lora_alpha: Annotated[int, typer.Option("--lora-alpha", help="Its scale is alpha / rank.")] = 32,
    lora_dropout: Annotated[
        float, typer.Option("--lora-dropout", help="Share of the adapter's input.")
    ] = 0.05,
    seed: Annotated[int, typer.Option("--seed", help="Of everything random.")] = 0,
    eval_steps: Annotated[
        int | None,
        typer.Option("--eval-steps", help="Steps between evaluations on --dev. Default: an epoch."),
    ] = None,
    save_steps: Annotated[int, typer.Option("--save-steps", help="Steps between checkpoints.")] = 200,
    patience: Annotated[
        int, typer.Option("--patience", help="Evaluations without a gain that end a stage.")
    ] = 3,
    select: Annotated[
        str, typer.Option("--select", help="What is best on --dev: loss, mae, rho or composite.")
    ] = "loss",
    window: Window = "",
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.")
    ] = False,
    question: Annotated[bool, typer.Option("--question/--no-question", help="Show it to the model.")] = True,
    rationale: Annotated[bool, typer.Option("--rationale/--no-rationale", help="Show the context.")] = True,
    transcript: Annotated[bool, typer.Option("--transcript/--no-transcript", help="Show it.")] = False,
) -> None:
    """Train a judge on rated answers. The same command goes on with a training that was stopped.

    Several GPUs: accelerate launch --multi_gpu --num_processes 4 "$(which lct)" orca train ...
    """
    given = locals()
    from long_context_tasks.orca import InputFormat
    from long_context_tasks.orca.train.plan import TrainSettings
    from long_context_tasks.orca.train.start import TrainFiles, run_training
    from long_context_tasks.schema.validated import validated

    values = {name: given[name] for name in TrainSettings.model_fields if name in given}
    form = InputFormat(question=question, rationale=rationale, transcript=transcript)
    settings = validated(TrainSettings, {**values, "window": tokens(window), "form": form}, "lct orca train")
    files = TrainFiles(train_file, judge_train, dev, exclude or [], model, init, head)
    done = run_training(files, scenario, settings, output, device, lambda line: typer.echo(line, err=True))
    if done is not None:
        say(f"{output}: {'trained' if done else 'is finished already; nothing was done'}")


app.command(epilog=examples("lct orca score answers.jsonl --checkpoint judge --out scored.jsonl"))(score)
app.command(epilog=examples("lct orca clamp --dev dev_scored.jsonl test_scored.jsonl --out clamped"))(clamp)
app.add_typer(study, name="study")
