"""``lct orca``: the judge that is trained on people's ratings. Make its data, train it, score with it, clamp its scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from long_context_tasks.cli.options import BatchTokens, DataDir, Device, Json, Window, examples

if TYPE_CHECKING:
    from long_context_tasks.orca.inputs import InputFormat

app = typer.Typer(add_completion=False, no_args_is_help=True)

_BASE = "Folder or hub id of the base model of a LoRA adapter. Default: the one that the adapter names."


@app.callback()
def orca() -> None:
    """ORCA, a judge that predicts how people would rate an answer and how far they would disagree."""


@app.command(epilog=examples("lct orca data ratings.jsonl --split questions --out parts"))
def data(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Rated answers, JSON Lines or .gz; see docs/orca.md.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write; with --split a new folder.")
    ] = None,
    elitr: Annotated[
        str, typer.Option("--elitr", help="Add ELITR-Bench's human scores: gold, silver, or gold,silver.")
    ] = "",
    data_dir: DataDir = None,
    split: Annotated[str, typer.Option("--split", help="none, questions (8:1:1) or models.")] = "none",
    splits: Annotated[int, typer.Option("--n-splits", min=1, help="How many splits.")] = 5,
    held_out: Annotated[int, typer.Option("--held-out", min=1, help="Models in a test part.")] = 2,
    sources: Annotated[
        str, typer.Option("--sources", help="Only these, with commas: first part of each row's source.")
    ] = "",
    several: Annotated[
        bool, typer.Option("--several-raters", help="Only answers with two ratings or more.")
    ] = False,
    sample: Annotated[
        int | None, typer.Option("--sample", min=0, help="Of the answers with one rating, take so many.")
    ] = None,
    keep_rationale: Annotated[
        bool,
        typer.Option("--keep-rationale", help="`rationale` is a context of the question, no rater's remark."),
    ] = False,
    keep_improper: Annotated[
        bool, typer.Option("--keep-improper", help="Keep questions that are marked as flawed.")
    ] = False,
    shuffle_ratings: Annotated[
        bool, typer.Option("--shuffle-ratings", help="A control: ratings permuted among the answers.")
    ] = False,
    seed: Annotated[
        int, typer.Option("--seed", help="Of the sample, the splits by models and the permutation.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Make training data: ratings brought to 1 to 5, raters' remarks taken out of the text, parts without a common question."""
    from long_context_tasks.orca.study.rows import DataOptions, run_data
    from long_context_tasks.schema import InputError

    if output is None:
        raise InputError("name the place of the result with --out")
    options = DataOptions(
        elitr=_words(elitr),
        data_dir=data_dir,
        keep_rationale=keep_rationale,
        keep_improper=keep_improper,
        sources=_words(sources),
        several=several,
        sample=sample,
        shuffle=shuffle_ratings,
        seed=seed,
    )
    run_data(files or [], options, output, split, splits, held_out)


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
        str, typer.Option("--scenario", help="human, judge, judge_all, mixed or two_stage; see docs/orca.md.")
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
    from long_context_tasks.cli.orca.train import TrainFiles, run_training
    from long_context_tasks.orca.train.settings import TrainSettings

    settings = TrainSettings(
        method=method,  # type: ignore[arg-type]  # checked by the class
        precision=precision,  # type: ignore[arg-type]
        epochs=epochs,
        steps=steps,
        batch_size=batch_size,
        batch_tokens=batch_tokens,
        lr=lr,
        head_lr=head_lr,
        warmup=warmup,
        weight_decay=weight_decay,
        lora_rank=lora_rank,
        lora_alpha=lora_alpha,
        lora_dropout=lora_dropout,
        seed=seed,
        eval_steps=eval_steps,
        save_steps=save_steps,
        patience=patience,
        select=select,  # type: ignore[arg-type]
        window=_tokens(window),
        gradient_checkpointing=gradient_checkpointing,
        form=_form(question, rationale, transcript),
    )
    files = TrainFiles(train_file, judge_train, dev, exclude or [], model, init, head)
    run_training(files, scenario, settings, output, device)


@app.command(epilog=examples("lct orca score answers.jsonl --checkpoint judge --out scored.jsonl"))
def score(
    data_file: Annotated[
        Path, typer.Argument(metavar="DATA", help="Answers, JSON Lines; ratings are not needed.")
    ],
    checkpoint: Annotated[Path, typer.Option("--checkpoint", help="One's own, or a released one.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File of results. Default: standard output.")
    ] = None,
    base_model: Annotated[str | None, typer.Option("--base-model", help=_BASE)] = None,
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help="Folder of the tokenizer, if elsewhere.")
    ] = "",
    device: Device = "auto",
    dtype: Annotated[str, typer.Option("--dtype", help="float32, bfloat16; auto: by the device.")] = "auto",
    window: Window = "",
    batch_tokens: BatchTokens = 8192,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Most answers at once.")] = 64,
    question: Annotated[
        bool | None,
        typer.Option(
            "--question/--no-question", help="Show it to the model. Default: as it was trained; so the next."
        ),
    ] = None,
    rationale: Annotated[
        bool | None, typer.Option("--rationale/--no-rationale", help="Show the context.")
    ] = None,
    transcript: Annotated[bool | None, typer.Option("--transcript/--no-transcript", help="Show it.")] = None,
    released: Annotated[
        bool, typer.Option("--released-rules", help="Read rows as the released code does, odd ratings too.")
    ] = False,
    scores_yaml: Annotated[
        Path | None, typer.Option("--scores-yaml", help="Put the figures there as the released code does.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Score answers: mean, variance, interval and parameters of each; its agreement with the ratings where there are some."""
    from long_context_tasks.cli.orca.score import ScoreOptions, score_file

    options = ScoreOptions(
        checkpoint=checkpoint,
        base_model=base_model,
        tokenizer=Path(tokenizer) if tokenizer else None,
        device=device,
        dtype=dtype,
        window=_tokens(window),
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        question=question,
        rationale=rationale,
        transcript=transcript,
        released=released,
        scores_yaml=scores_yaml,
    )
    score_file(data_file, out, options)


@app.command(epilog=examples("lct orca clamp --dev dev_scored.jsonl test_scored.jsonl --out clamped"))
def clamp(
    files: Annotated[list[Path] | None, typer.Argument(help="Files that `lct orca score` wrote.")] = None,
    dev: Annotated[
        Path | None, typer.Option("--dev", help="Scored development part; finds the threshold.")
    ] = None,
    composite: Annotated[
        str, typer.Option("--composite", help="paper: rho + tau - MAE; released: rho + tau.")
    ] = "paper",
    threshold: Annotated[float | None, typer.Option("--threshold", help="In place of --dev.")] = None,
    threshold_from: Annotated[
        Path | None,
        typer.Option("--threshold-from", help="A clamp.yaml or score_clamp.yaml; in place of --dev."),
    ] = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the clamped files.")] = None,
    as_json: Json = False,
) -> None:
    """Move means near an end to it where the predicted variance is small; the threshold comes from the development part."""
    from long_context_tasks.cli.orca.score import ClampOptions, clamp_files

    clamp_files(files or [], ClampOptions(dev, composite, threshold, output, threshold_from))


def _tokens(text: str) -> int | None:
    """Tokens such as 4096 or 4k; None where nothing was given."""
    from long_context_tasks.schema import InputError, parse_length

    if not text:
        return None
    if text.isdecimal():
        return int(text)
    try:
        return parse_length(text)
    except ValueError as error:
        raise InputError(f"--window {text}: give a number of tokens, such as 4096 or 4k") from error


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _form(question: bool, rationale: bool, transcript: bool) -> "InputFormat":
    from long_context_tasks.orca.inputs import InputFormat

    return InputFormat(question=question, rationale=rationale, transcript=transcript)
