"""A tiny training, and one that is killed at a chosen moment, for the tests of training."""

import multiprocessing
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from json_lines import read_rows

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.train.plan import Stage, TrainSettings

WORDS = ("rain", "a violin", "two speakers", "her coach", "nothing at all", "a dog")


def rated_items(n: int, seed: int = 0) -> list[OrcaItem]:
    """Answers that are right (rated 4 and 5) or wrong (1 and 2), several of each question."""
    rng = random.Random(seed)
    items = []
    for number in range(n):
        right, wrong = rng.sample(WORDS, 2)
        good = number % 2 == 0
        ratings = tuple(float(rng.choice((4, 5) if good else (1, 2))) for _ in range(1 + number % 3))
        question = f"What is heard in {seed}-{number // 2}?"
        items.append(OrcaItem(f"{seed}-{number}", question, right, right if good else wrong, ratings=ratings))
    return items


def rows_of(items: list[OrcaItem]) -> list[dict[str, Any]]:
    names = ("id", "question", "reference", "candidate")
    return [{name: getattr(item, name) for name in names} | {"ratings": list(item.ratings)} for item in items]


TINY: dict[str, Any] = {"epochs": 2, "batch_size": 4, "lr": 3e-3, "batch_tokens": 256, "lora_rank": 2}


def trained(
    items: list[OrcaItem],
    dev: list[OrcaItem],
    output: Path,
    model: Path | None = None,
    *,
    head: str = "beta",
    init: Path | None = None,
    stages: list[Stage] | None = None,
    report: Callable[[str], None] = lambda _: None,
    save_share: int = 0,
    dropout: float = 0.2,
    **changes: Any,
) -> bool:
    """Train on the CPU, in a stage ``human`` unless others are given, with :data:`TINY` settings; every step is saved."""
    from long_context_tasks.orca.train import loop

    start = {"model": None if model is None else str(model), "init": init, "head": head}
    with patch.multiple(loop, SAVE_SHARE=save_share, LORA_DROPOUT=dropout):
        return loop.train(
            stages or [Stage("human", tuple(items))],
            dev,
            TrainSettings(**{**TINY, **start, **changes}),
            output,
            report=report,
        )


def tiny_training(model: Path, output: Path, scenario: int = 1, **changes: Any) -> bool:
    """One or two stages of two epochs, six steps each."""
    names = ("judge", "human")[-scenario:]
    stages = [Stage(name, tuple(rated_items(10, seed))) for seed, name in enumerate(names)]
    return trained([], rated_items(6, 9), output, model, stages=stages, **changes)


def log_of(folder: Path) -> list[dict[str, Any]]:
    return read_rows(folder / "log.jsonl")


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def killed_at(moment: int, action: Callable[[], Any]) -> int:
    """Do it in a child process that is killed (SIGKILL) before its ``moment``-th file operation, step or batch; -9, or 0 when it came to its end."""

    import safetensors.torch
    import torch

    from long_context_tasks.orca.scoring import KeptPredictions

    def child() -> None:
        torch.set_num_threads(1)
        count = 0

        def watched(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any, **named: Any) -> Any:
                nonlocal count
                count += 1
                if count == moment:
                    os.kill(os.getpid(), signal.SIGKILL)
                return original(*given, **named)

            return call

        Path.replace = watched(Path.replace)  # type: ignore[method-assign]
        Path.write_text = watched(Path.write_text)  # type: ignore[method-assign]
        shutil.rmtree = watched(shutil.rmtree)  # type: ignore[assignment]
        shutil.copytree = watched(shutil.copytree)
        torch.save = watched(torch.save)
        KeptPredictions.add = watched(KeptPredictions.add)  # type: ignore[method-assign]
        safetensors.torch.save_file = watched(safetensors.torch.save_file)
        torch.optim.AdamW.step = watched(torch.optim.AdamW.step)  # type: ignore[method-assign]
        action()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode
