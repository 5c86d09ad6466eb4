"""Training with tiny random models: that it learns, ends, and goes on after any interruption as if there had been none."""

import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from lazy_modules import Lazy, torch
from orca_checkpoints import saved_checkpoint
from orca_lazy import model_code, scorer
from orca_training import files_of, killed_at, log_of, rated_items, rows_of, tiny_training, trained
from typer.testing import CliRunner

from long_context_tasks.cli import app
from long_context_tasks.orca import OrcaItem, item_agreement
from long_context_tasks.orca.checkpoint import load_checkpoint, load_lm, save_checkpoint
from long_context_tasks.orca.train.folder import opened_run, work_folder
from long_context_tasks.schema import InputError
from long_context_tasks.stats.raters import correlate

pytestmark = pytest.mark.slow

safetensors = Lazy("safetensors.torch")


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
    settings = {"steps": 24, "eval_steps": 8, "batch_size": 8, "batch_tokens": 8192, "patience": 9}
    settings |= {"head": head, "method": method, "lora_dropout": 0.0}
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
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("moment", [1, 4, 9, 16, 26, 41, 55, 84])
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


def test_a_training_that_is_killed_again_and_again_comes_to_its_end(
    model: Path, whole: dict[str, dict[str, bytes]], tmp_path: Path
) -> None:
    kills = 0
    while killed_at(34, lambda: tiny_training(model, tmp_path / "out", 2)) == -9:
        kills += 1
        assert kills < 30
    assert kills > 2
    assert files_of(tmp_path / "out") == whole["lora"]


def test_what_is_not_finished_is_no_checkpoint(model: Path, tmp_path: Path) -> None:
    assert killed_at(40, lambda: tiny_training(model, tmp_path / "out", 2)) == -9
    assert work_folder(tmp_path / "out").is_dir()
    with pytest.raises(InputError, match="no ORCA checkpoint"):
        load_checkpoint(tmp_path / "out", device="cpu")
    with pytest.raises(InputError, match=r"other arguments \(seed\); name another --out"):
        tiny_training(model, tmp_path / "out", 2, seed=1)


def test_a_finished_training_is_left_alone(model: Path, tmp_path: Path) -> None:
    assert tiny_training(model, tmp_path / "out")
    before = files_of(tmp_path)
    work_folder(tmp_path / "out").mkdir()  # killed before it was removed
    assert not tiny_training(model, tmp_path / "out")
    assert not tiny_training(model, tmp_path / "out", save_steps=1)  # does not change the result
    assert files_of(tmp_path) == before and not work_folder(tmp_path / "out").exists()
    with pytest.raises(InputError, match=r"other arguments \(batch_size, head_lr, lr\)"):
        tiny_training(model, tmp_path / "out", batch_size=3, lr=1e-3)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="something else than a checkpoint"):
        tiny_training(model, tmp_path / "thesis")


def test_two_trainings_cannot_write_to_one_place(model: Path, tmp_path: Path) -> None:
    with opened_run(tmp_path / "out", {}), pytest.raises(InputError, match="another training writes there"):
        tiny_training(model, tmp_path / "out")


def test_training_ends_when_the_development_part_no_longer_gains(model: Path, tmp_path: Path) -> None:
    """Its ratings are turned round, so what is learned harms there."""
    items = rated_items(8)
    dev = [replace(item, ratings=tuple(6 - rating for rating in item.ratings)) for item in items]
    settings = {"steps": 200, "eval_steps": 5, "patience": 2, "lora_dropout": 0.0, "head": "multinomial"}
    for select in ("loss", "mae", "rho", "within", "composite"):
        trained(items, dev, tmp_path / select, model, select=select, **settings)
        evaluations = [row for row in log_of(tmp_path / select) if "dev" in row]
        assert [row["best"] for row in evaluations][-3:] == [True, False, False]
        assert evaluations[-1]["step"] < 200
        metrics = yaml.safe_load((tmp_path / select / "metrics.yaml").read_text())
        assert metrics["step"] == evaluations[-3]["step"]


def test_the_checkpoint_is_the_one_that_ranks_each_model_best(model: Path, tmp_path: Path) -> None:
    """Not the one that best tells a good model, whose answers are right, from a bad one."""
    items = rated_items(40)
    rng = random.Random(0)
    dev = [
        replace(item, model="ab"[place % 2], ratings=(rng.randint(1, 30) / 10 + 2 * (place % 2 == 0),))
        for place, item in enumerate(rated_items(40, 9))
    ]
    settings = {"steps": 24, "eval_steps": 2, "patience": 99, "lr": 1e-2, "save_steps": 99}
    chosen = {}
    for select in ("rho", "within"):
        trained(items, dev, tmp_path / select, model, select=select, **settings)
        log = [row for row in log_of(tmp_path / select) if "dev" in row]
        best = [row for row in log if row["best"]][-1]
        name = {"rho": "rho", "within": "rho_within"}[select]
        assert best["dev"][name] == max(row["dev"][name] for row in log)
        chosen[select] = best["step"]
        scores = scorer.score_items(load_checkpoint(tmp_path / select, device="cpu"), dev).scores
        truth = [float(item.rating_mean or 0) for item in dev]
        within = [
            correlate([each.mean for each in scores[part::2]], truth[part::2], "spearman") for part in (0, 1)
        ]
        assert best["dev"]["rho_within"] == pytest.approx(sum(within) / 2, abs=1e-6)
    assert chosen["rho"] != chosen["within"]


def test_weights_decide_what_is_learned(model: Path, tmp_path: Path) -> None:
    """A model that is nearly always right, and a right answer that is rated as wrong: balanced, that one counts as much as all others."""
    ratings = [5.0] * 9 + [1.0]
    items = [
        OrcaItem(f"a{n}", f"q{n}", "r", "c", model="a", ratings=(each,)) for n, each in enumerate(ratings)
    ]
    items += [
        OrcaItem(f"b{n}", f"q{n}", "r", "d", model="b", ratings=(6 - each,)) for n, each in enumerate(ratings)
    ]
    means = {}
    for balance in (False, True):
        out = tmp_path / str(balance)
        settings = {"batch_size": 20, "steps": 40, "eval_steps": 40, "lr": 1e-2, "lora_dropout": 0.0}
        trained(items, items, out, model, balance=balance, **settings)
        found = scorer.score_items(load_checkpoint(out, device="cpu"), [items[0], items[-1]])
        means[balance] = [float(each.mean or 0) for each in found.scores]
    assert means[False][0] - means[False][1] > 0.5  # right but for one, as the ratings say
    assert means[True] == pytest.approx([0.5, 0.5], abs=0.1)  # who answered says nothing


def test_a_head_alone_is_trained_on_states_that_are_read_once(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, read = rated_items(8), []
    original = model_code.OrcaModel.state

    def counted(self: Any, input_ids: Any, lengths: Any) -> Any:
        read.append(len(lengths))
        return original(self, input_ids, lengths)

    monkeypatch.setattr(model_code.OrcaModel, "state", counted)
    settings = {"method": "head", "steps": 40, "eval_steps": 40, "lr": 1e-2, "head_lr": 5e-2}
    trained(items, items, tmp_path / "out", model, **settings)
    texts = {(item.question, item.reference, item.candidate) for item in items}
    assert sum(read) == 2 * len(texts)  # of the stage, and of the one evaluation
    losses = _losses(tmp_path / "out")
    assert losses[-1] < losses[0] - 0.1
    before, after = load_lm(model, "float32"), load_checkpoint(tmp_path / "out", device="cpu").model.lm
    assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))


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
    """Nor does computing twice to save memory."""
    for name, change in {
        "usual": {},
        "parts": {"batch_tokens": 1},
        "twice": {"gradient_checkpointing": True},
    }.items():
        tiny_training(model, tmp_path / name, **{"lora_dropout": 0.0, "batch_tokens": 8192, **change})
        assert _losses(tmp_path / name) == pytest.approx(_losses(tmp_path / "usual"), abs=2e-4)
    assert _losses(tmp_path / "parts") != _losses(tmp_path / "usual")


def test_the_seed_decides(model: Path, tmp_path: Path) -> None:
    state = torch.get_rng_state()
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        torch.manual_seed(len(name) + seed)
        tiny_training(model, tmp_path / name, seed=seed)
    assert _losses(tmp_path / "a") == _losses(tmp_path / "b") != _losses(tmp_path / "c")
    torch.set_rng_state(state)


def test_bfloat16_comes_near(model: Path, tmp_path: Path) -> None:
    for name, precision, method in (("a", "fp32", "lora"), ("b", "bf16", "lora"), ("c", "bf16", "full")):
        tiny_training(model, tmp_path / name, precision=precision, method=method, steps=2, head="multinomial")
        assert _losses(tmp_path / name)[0] == pytest.approx(_losses(tmp_path / "a")[0], abs=0.1)
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
            trained(items, items, output, init=tmp_path / made, steps=1, lr=1e-9, method=method)
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
    assert any("stage human: 5 answers, 6 steps" in line for line in said)
    with pytest.raises(InputError, match="no answer fits the window of 5 tokens"):
        tiny_training(model, tmp_path / "none", window=5)


def test_two_processes_train_as_one(model: Path, tmp_path: Path) -> None:
    for name, items in (("train", rated_items(10)), ("dev", rated_items(6, 9))):
        lines = [json.dumps(row) + "\n" for row in rows_of(items)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    script = tmp_path / "run.py"
    script.write_text(
        "import torch\ntorch.set_num_threads(1)\nfrom long_context_tasks.cli import app\napp()\n"
    )
    common = ["orca", "train", "--train", f"{tmp_path}/train.jsonl", "--dev", f"{tmp_path}/dev.jsonl"]
    common += ["--model", str(model), "--head", "beta", "--device", "cpu", "--steps", "4", "--lr", "3e-3"]
    common += ["--batch-size", "5", "--batch-tokens", "1", "--eval-steps", "2", "--lora-rank", "2"]
    assert CliRunner().invoke(app, [*common, "--out", f"{tmp_path}/one"]).exit_code == 0
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*launch, str(script), *common, "--out", f"{tmp_path}/two"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("trained") == 1 and "2 processes train together" in done.stderr
    assert _losses(tmp_path / "two") == pytest.approx(_losses(tmp_path / "one"), abs=1e-4)
    figures = [
        [row["dev"]["loss"] for row in log_of(tmp_path / name) if "dev" in row] for name in ("one", "two")
    ]
    assert figures[0] == pytest.approx(figures[1], abs=1e-4)
