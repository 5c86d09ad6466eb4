"""Training with tiny random models: that it learns, ends, and goes on after any interruption as if there had been none."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from lazy_modules import Lazy, torch
from orca_checkpoints import saved_checkpoint
from orca_lazy import scorer
from orca_training import files_of, killed_at, log_of, rated_items, tiny_training, trained

from long_context_tasks.orca import item_agreement
from long_context_tasks.orca.checkpoint import load_checkpoint, save_checkpoint
from long_context_tasks.orca.train.folder import opened_run, work_folder
from long_context_tasks.schema import InputError

pytestmark = pytest.mark.slow

safetensors = Lazy("safetensors.torch")
LOOP = "long_context_tasks.orca.train.loop"


@pytest.fixture(scope="module")
def model(tiny_lm_folder: Path) -> Path:
    return tiny_lm_folder


@pytest.fixture(scope="module")
def whole(model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """Results of trainings that nothing interrupted, by method."""
    folder = tmp_path_factory.mktemp("whole")
    for method in ("lora", "full"):
        assert tiny_training(model, folder / method, 2, method=method)
    return {method: files_of(folder / method) for method in ("lora", "full")}


def _losses(folder: Path) -> list[float]:
    return [row["loss"] for row in log_of(folder) if "loss" in row]


@pytest.mark.parametrize(
    ("head", "method"), [("beta", "lora"), ("multinomial", "full"), ("bernoulli", "lora"), ("beta", "full")]
)
def test_a_model_learns(model: Path, tmp_path: Path, head: str, method: str) -> None:
    items = rated_items(8)
    settings = {
        "epochs": 24,
        "batch_size": 8,
        "batch_tokens": 8192,
        "head": head,
        "method": method,
        "dropout": 0.0,
    }
    assert trained(items, items, tmp_path / "out", model, **settings)
    losses = _losses(tmp_path / "out")
    assert len(losses) == 24 and losses[-1] < losses[0] - 0.3
    read = load_checkpoint(tmp_path / "out", device="cpu")
    scores = scorer.score_items(read, items).scores
    assert item_agreement(items, [score.mean for score in scores]).rho > 0.7
    # The checkpoint is the one that was best, with the figures it was chosen by.
    metrics = yaml.safe_load((tmp_path / "out" / "metrics.yaml").read_text())
    best = min((row for row in log_of(tmp_path / "out") if "dev" in row), key=lambda row: row["dev"]["loss"])
    assert (metrics["step"], metrics["dev"]["loss"]) == (best["step"], best["dev"]["loss"])
    assert metrics["dev"]["mae"] == pytest.approx(
        item_agreement(items, [score.mean for score in scores]).mae, abs=1e-5
    )
    carried = json.loads((tmp_path / "out" / "agreement.json").read_text())
    assert carried["rho"] == pytest.approx(metrics["dev"]["rho"])
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("moment", [1, 4, 9, 16, 26, 41, 55])
def test_a_killed_training_goes_on_as_if_nothing_had_been(
    model: Path, whole: dict[str, dict[str, bytes]], tmp_path: Path, moment: int
) -> None:
    """Killed before a step or in the middle of writing, wherever that is: the same log and the same weights, bit for bit."""
    method = ("lora", "full")[moment % 2]
    assert killed_at(moment, lambda: tiny_training(model, tmp_path / "out", 2, method=method)) == -9
    if (tmp_path / "out").exists():
        assert files_of(tmp_path / "out") == whole[method]
    tiny_training(model, tmp_path / "out", 2, method=method)
    assert files_of(tmp_path / "out") == whole[method]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(("moment", "step"), [(12, 3), (18, 3), (35, 7)])
def test_a_killed_training_goes_on_after_its_last_step(
    model: Path, tmp_path: Path, moment: int, step: int
) -> None:
    """Killed within an epoch, while an evaluation writes the best checkpoint, and within the last epoch."""
    items, dev = rated_items(12), rated_items(6, 9)

    def training(report: Callable[[str], None] = lambda _: None) -> bool:
        return trained(items, dev, tmp_path / "out", model, report=report, batch_size=3)

    assert killed_at(moment, training) == -9
    said: list[str] = []
    training(said.append)
    assert said[0] == f"stage human: 12 answers, 8 steps, going on after step {step}"
    assert [row["step"] for row in log_of(tmp_path / "out") if "loss" in row] == list(range(1, 9))
    assert [row["step"] for row in log_of(tmp_path / "out") if "dev" in row] == [4, 8]


def test_saving_takes_little_of_the_time(model: Path, tmp_path: Path) -> None:
    """Where saving is slow, steps between two saves are done again, and the result is the same."""
    items, dev = rated_items(12), rated_items(6, 9)
    said: list[str] = []
    for name in ("a", "b"):
        training = partial(trained, items, dev, tmp_path / name, model, save_share=10**9, batch_size=3)
        if name == "b":
            assert killed_at(12, training) == -9
        training(report=said.append)
    assert any("going on after step 1" in line for line in said)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")


def test_a_state_that_was_cut_is_an_error(model: Path, tmp_path: Path) -> None:
    assert killed_at(14, lambda: tiny_training(model, tmp_path / "out")) == -9
    [state] = work_folder(tmp_path / "out").glob("*/state.safetensors")
    state.write_bytes(state.read_bytes()[:-9])
    with pytest.raises(
        InputError, match=r"state\.safetensors: cannot be read .*; remove .*out\.training to start"
    ):
        tiny_training(model, tmp_path / "out")


def test_what_is_not_finished_is_no_checkpoint(model: Path, tmp_path: Path) -> None:
    assert killed_at(40, lambda: tiny_training(model, tmp_path / "out", 2)) == -9
    assert work_folder(tmp_path / "out").is_dir()
    with pytest.raises(InputError, match="not an ORCA checkpoint"):
        load_checkpoint(tmp_path / "out", device="cpu")
    with pytest.raises(InputError, match=r"different arguments \(seed\); name another --out"):
        tiny_training(model, tmp_path / "out", 2, seed=1)


def test_a_finished_training_is_left_alone(model: Path, tmp_path: Path) -> None:
    assert tiny_training(model, tmp_path / "out")
    before = files_of(tmp_path)
    work_folder(tmp_path / "out").mkdir()  # killed before it was removed
    assert not tiny_training(model, tmp_path / "out")
    assert files_of(tmp_path) == before and not work_folder(tmp_path / "out").exists()
    with pytest.raises(InputError, match=r"different arguments \(batch_size, lr\)"):
        tiny_training(model, tmp_path / "out", batch_size=3, lr=1e-3)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="exists and is not a checkpoint"):
        tiny_training(model, tmp_path / "thesis")


def test_two_trainings_cannot_write_to_one_place(model: Path, tmp_path: Path) -> None:
    with opened_run(tmp_path / "out", {}), pytest.raises(InputError, match="another training writes there"):
        tiny_training(model, tmp_path / "out")


def test_a_training_that_finishes_while_another_one_begins_is_left_alone(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one has seen no result, and finds one when it may write."""
    out, begun = tmp_path / "out", []

    def opened_late(output: Path, args: Mapping[str, Any]) -> AbstractContextManager[None]:
        if not begun:
            begun.append(output)
            assert tiny_training(model, out)
        return opened_run(output, args)

    monkeypatch.setattr("long_context_tasks.orca.train.loop.opened_run", opened_late)
    assert not tiny_training(model, out)
    assert (out / "model" / "config.yaml").is_file() and not work_folder(out).exists()


def test_the_best_epoch_is_kept_where_later_ones_are_worse(model: Path, tmp_path: Path) -> None:
    """The development part has its ratings turned round, so what is learned harms there."""
    items = rated_items(8)
    dev = [replace(item, ratings=tuple(6 - rating for rating in item.ratings)) for item in items]
    trained(items, dev, tmp_path / "out", model, epochs=8, dropout=0.0, head="multinomial")
    evaluations = [row for row in log_of(tmp_path / "out") if "dev" in row]
    assert [row["step"] for row in evaluations] == [2, 4, 6, 8, 10, 12, 14, 16]
    best = min(evaluations, key=lambda row: row["dev"]["loss"])
    assert [row for row in evaluations if row["best"]][-1] == best and best["step"] < 16
    metrics = yaml.safe_load((tmp_path / "out" / "metrics.yaml").read_text())
    assert (metrics["step"], metrics["dev"]["loss"]) == (best["step"], best["dev"]["loss"])
    scores = scorer.score_items(load_checkpoint(tmp_path / "out", device="cpu"), dev).scores
    assert item_agreement(dev, [score.mean for score in scores]).mae == pytest.approx(
        best["dev"]["mae"], abs=1e-5
    )


def test_a_loss_that_is_no_number_ends_training(tmp_path: Path) -> None:
    start = saved_checkpoint(tmp_path / "start")
    with torch.no_grad():
        start.model.lm.model.embed_tokens.weight[:] = float("inf")
    save_checkpoint(tmp_path / "start", start.model, start.tokenizer, {})
    for _ in range(2):  # the same call does the same again, and never takes the broken model for a result
        with pytest.raises(
            InputError, match=r"stage human, step 1: the loss is not a number \(nan\).* lower --lr"
        ):
            trained(rated_items(4), rated_items(4, 9), tmp_path / "out", init=tmp_path / "start")
        assert not (tmp_path / "out").exists()


def test_parts_of_a_step_change_nothing(model: Path, tmp_path: Path) -> None:
    for name, batch_tokens in (("usual", 8192), ("parts", 1)):
        tiny_training(model, tmp_path / name, dropout=0.0, batch_tokens=batch_tokens)
    assert _losses(tmp_path / "parts") == pytest.approx(_losses(tmp_path / "usual"), abs=2e-4)
    assert _losses(tmp_path / "parts") != _losses(tmp_path / "usual")


def test_the_seed_decides(model: Path, tmp_path: Path) -> None:
    state = torch.get_rng_state()
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        torch.manual_seed(len(name) + seed)
        tiny_training(model, tmp_path / name, seed=seed)
    assert _losses(tmp_path / "a") == _losses(tmp_path / "b") != _losses(tmp_path / "c")
    torch.set_rng_state(state)


def test_bfloat16_comes_near(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU does, tried on the CPU."""
    for name, precision, method in (("a", "fp32", "lora"), ("b", "bf16", "lora"), ("c", "bf16", "full")):
        monkeypatch.setattr(f"{LOOP}._precision", lambda _, precision=precision: precision)
        tiny_training(model, tmp_path / name, method=method, epochs=1, head="multinomial")
        assert _losses(tmp_path / name)[0] == pytest.approx(_losses(tmp_path / "a")[0], abs=0.1)
        assert yaml.safe_load((tmp_path / name / "args.yaml").read_text())["precision"] == precision
    # What is trained is kept in float32.
    for path in ("b/model/lm/adapter_model.safetensors", "c/model/lm/model.safetensors"):
        assert {each.dtype for each in safetensors.load_file(tmp_path / path).values()} == {torch.float32}


def test_training_goes_on_from_a_checkpoint(model: Path, tmp_path: Path) -> None:
    """An adapter is trained on or merged; a whole model is trained on or gets an adapter. The first predictions are those of the start."""
    items = rated_items(6)
    for made in ("lora", "full"):
        tiny_training(model, tmp_path / made, method=made)
        start = load_checkpoint(tmp_path / made, device="cpu")
        means = [score.mean for score in scorer.score_items(start, items).scores]
        for method in ("lora", "full"):
            output = tmp_path / f"{made}-{method}"
            trained(items, items, output, init=tmp_path / made, epochs=1, lr=1e-9, method=method)
            read = load_checkpoint(output, device="cpu")
            assert [score.mean for score in scorer.score_items(read, items).scores] == pytest.approx(
                means, abs=1e-4
            )
            assert (output / "model" / "lm" / "adapter_config.json").is_file() == (method == "lora")


def test_what_does_not_fit_is_left_out_and_said(model: Path, tmp_path: Path) -> None:
    items = rated_items(6)
    items[1] = replace(items[1], rationale="word " * 200)
    items[2] = replace(items[2], candidate="word " * 200)
    said: list[str] = []
    trained(items, rated_items(4, 9), tmp_path / "out", model, window=200, report=said.append)
    assert "stage human: 1 contexts shortened to the window of 200 tokens" in said
    assert any("1 answers left out, longer than the window of 200 tokens" in line for line in said)
    assert any("stage human: 5 answers, 4 steps" in line for line in said)
    with pytest.raises(InputError, match="no answer fits the window of 5 tokens"):
        tiny_training(model, tmp_path / "none", window=5)
