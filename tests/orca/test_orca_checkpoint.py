"""Checkpoints: the released layout, there and back, and everything that can be missing from one."""

import json
import math
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from lazy_modules import Lazy, torch
from orca_checkpoints import byte_tokenizer, saved_checkpoint, tiny_lm, tiny_model
from orca_lazy import heads, model_code, scorer

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.checkpoint import load_checkpoint, save_checkpoint
from long_context_tasks.orca.data import HEAD_NAMES
from long_context_tasks.schema import InputError

safetensors = Lazy("safetensors.torch")
transformers = Lazy("transformers")
ITEMS = [
    OrcaItem(str(n), "Who?", "Anna", "Ann" * n, "Two people.", ratings=(float(n), 3.0)) for n in range(1, 5)
]


@pytest.fixture
def mine(tmp_path: Path, judge_copy: Callable[..., Path]) -> Path:
    """A random checkpoint."""
    return judge_copy(tmp_path / "mine")


def _with_adapter(tmp_path: Path, head: str = "beta", **lora: Any) -> tuple[Any, Any]:
    """The language model below and the model with an untrained LoRA adapter; saved as ``base`` and ``mine``."""
    peft = pytest.importorskip("peft")
    model, tokenizer = tiny_model(head)
    model.lm.save_pretrained(tmp_path / "base")
    lm = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    torch.manual_seed(3)
    lm = peft.get_peft_model(lm, peft.LoraConfig(task_type="CAUSAL_LM", **lora))
    tuned = model_code.OrcaModel(lm, model.head).eval()
    save_checkpoint(tmp_path / "mine", tuned, tokenizer, {})
    return model.lm, tuned


@pytest.mark.parametrize("cls", [False, True])
@pytest.mark.parametrize("head", HEAD_NAMES)
def test_a_checkpoint_comes_back_equal(tmp_path: Path, head: str, cls: bool) -> None:
    written = saved_checkpoint(tmp_path / "mine", head, cls=cls)
    for place in (tmp_path / "mine", tmp_path / "mine" / "model", Path(f"{tmp_path}/mine/model/")):
        read = load_checkpoint(place, device="cpu")
        assert scorer.score_items(read, ITEMS) == scorer.score_items(written, ITEMS)
        assert read.args == {"seed": 1, "score_type": head}
        assert read.folder == tmp_path / "mine"
        assert not read.model.training
    assert load_checkpoint(tmp_path / "mine", device="cpu", trainable=True).model.training
    config = yaml.safe_load((tmp_path / "mine" / "model" / "config.yaml").read_text())
    assert config == {"init_type": "xavier_normal", "score_type": head, "use_cls_token": cls}


def test_the_layout_is_the_released_one(tmp_path: Path, shared: Path) -> None:
    released = shared / "vectors" / "orca" / "checkpoints" / "tiny_multinomial"
    if not released.is_dir():
        pytest.skip(f"no {released}")
    loaded = load_checkpoint(released, device="cpu")
    save_checkpoint(tmp_path / "again", loaded.model, loaded.tokenizer, loaded.args)

    def names(folder: Path) -> set[str]:
        return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    assert names(released) - names(tmp_path / "again") == set()
    states = [
        torch.load(folder / "model" / "model_minus_lm.pt", weights_only=True)
        for folder in (released, tmp_path / "again")
    ]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    again = load_checkpoint(tmp_path / "again", device="cpu")
    assert scorer.score_items(again, ITEMS) == scorer.score_items(loaded, ITEMS)


def test_an_adapter_is_merged_into_the_base_it_names(tmp_path: Path) -> None:
    lora = {"r": 4, "target_modules": ["q_proj", "v_proj"], "init_lora_weights": False}
    below, tuned = _with_adapter(tmp_path, "multinomial", **lora)
    folder = tmp_path / "mine" / "model" / "lm"
    assert (folder / "adapter_config.json").is_file() and not (folder / "model.safetensors").exists()
    read = load_checkpoint(tmp_path / "mine", device="cpu")
    assert "lora" not in str(read.model)
    open_again = load_checkpoint(tmp_path / "mine", device="cpu", trainable=True).model
    assert any(each.requires_grad for name, each in open_again.named_parameters() if "lora_" in name)
    ids, lengths = torch.tensor([[5, 6, 7, 8]]), torch.tensor([4])
    with torch.no_grad():
        expected = tuned(ids, lengths)
        assert torch.allclose(read.model(ids, lengths), expected, atol=1e-5)
        assert torch.allclose(open_again.eval()(ids, lengths), expected, atol=1e-6)
        plain = model_code.OrcaModel(below, tuned.head)
        plain.linear.load_state_dict(tuned.linear.state_dict())
        assert not torch.allclose(plain(ids, lengths), expected, atol=1e-3)
    shutil.move(tmp_path / "base", tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"base model .*base of the LoRA adapter in .*cannot be loaded"):
        load_checkpoint(tmp_path / "mine", device="cpu")
    moved = load_checkpoint(tmp_path / "mine", device="cpu", base_model=str(tmp_path / "elsewhere"))
    assert scorer.score_items(moved, ITEMS) == scorer.score_items(read, ITEMS)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("model/config.yaml", "not an ORCA checkpoint"),
        ("model/model_minus_lm.pt", "lacks its head, model_minus_lm.pt"),
        ("model/lm", "lacks its language model"),
        ("model/lm/config.json", "cannot be loaded"),
        ("tokenizer", "lacks its tokenizer"),
    ],
)
def test_a_part_that_is_missing_is_named(mine: Path, missing: str, message: str) -> None:
    path = mine / missing
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError, match=message):
        load_checkpoint(mine, device="cpu")


class _Bad:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("unpickled"),))


@pytest.mark.parametrize(
    ("shapes", "value", "message"),
    [
        ({"linear.bias": (2,)}, 0, r"lacks its head: no linear\.weight"),
        ([1, 2], 0, r"lacks its head: no linear\.weight"),
        ({"linear.weight": (5, 32), "linear.bias": (5,)}, 0, r"has the shape \[5, 32\]"),
        ({"linear.weight": (2, 64), "linear.bias": (2,)}, 0, r"has the shape \[2, 64\]"),
        ({"linear.weight": (2, 32), "linear.bias": (2,)}, math.nan, "are not numbers"),
    ],
)
def test_a_head_that_does_not_fit_is_named(mine: Path, shapes: Any, value: float, message: str) -> None:
    state = shapes
    if isinstance(shapes, dict):
        state = {name: torch.full(shape, float(value)) for name, shape in shapes.items()}
    torch.save(state, mine / "model" / "model_minus_lm.pt")
    with pytest.raises(InputError, match=message):
        load_checkpoint(mine, device="cpu")


def test_nothing_is_unpickled(tmp_path: Path, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = mine / "model" / "model_minus_lm.pt"
    for write in (
        lambda: torch.save({"linear.weight": _Bad()}, path),
        lambda: path.write_bytes(pickle.dumps(_Bad())),
        lambda: path.write_bytes(b"no tensors"),
        lambda: path.write_bytes(b""),
    ):
        write()
        with pytest.raises(InputError, match="not a file of tensors"):
            load_checkpoint(mine, device="cpu")
    assert not (tmp_path / "unpickled").exists()


def test_a_wrong_configuration_is_named(mine: Path) -> None:
    config = mine / "model" / "config.yaml"
    for text, message in (
        ("score_type: gamma", "score_type 'gamma' is not one of beta, multinomial, bernoulli"),
        ("- score_type", "must be a mapping"),
        ("score_type: [", "line 2: not YAML"),
    ):
        config.write_text(text)
        with pytest.raises(InputError, match=message):
            load_checkpoint(mine, device="cpu")


def test_no_checkpoint_stands_half_written(tmp_path: Path) -> None:
    """A failure while one is written leaves the earlier one, and nothing beside it."""
    folder = tmp_path / "mine"
    earlier = saved_checkpoint(folder)
    model, tokenizer = tiny_model("beta")
    with torch.no_grad():
        model.linear.bias += 1

    def full(place: Path) -> None:
        assert (place.parent / "model" / "model_minus_lm.pt").is_file() and place.parent != folder
        raise OSError(28, "No space left on device")

    def fails() -> None:
        with (
            patch.object(tokenizer, "save_pretrained", full),
            pytest.raises(InputError, match="No space left"),
        ):
            save_checkpoint(folder, model, tokenizer, {})

    fails()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert scorer.score_items(load_checkpoint(folder, device="cpu"), ITEMS) == scorer.score_items(
        earlier, ITEMS
    )
    save_checkpoint(folder, model, tokenizer, {}, metrics={"rho": 0.5})
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert yaml.safe_load((folder / "metrics.yaml").read_text()) == {"rho": 0.5}
    assert scorer.score_items(load_checkpoint(folder, device="cpu"), ITEMS) != scorer.score_items(
        earlier, ITEMS
    )
    # Killed between its last two steps: the earlier one had stepped aside.
    folder.rename(tmp_path / ".mine.lct-old")
    fails()
    assert (folder / "metrics.yaml").is_file()


def test_other_things_are_not_written_over(tmp_path: Path) -> None:
    model, tokenizer = tiny_model()
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="exists and is not a checkpoint"):
        save_checkpoint(tmp_path, model, tokenizer, {})


def test_the_padding_token_is_the_end_when_there_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    model = model_code.OrcaModel(tiny_lm(len(byte_tokenizer())), heads.HEADS["beta"])
    save_checkpoint(folder, model, byte_tokenizer(), {})
    read = load_checkpoint(folder, device="cpu")
    assert read.tokenizer.pad_token == read.tokenizer.eos_token == "</s>"


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def _halved(path: Path) -> None:
    found = safetensors.load_file(path)
    safetensors.save_file({name: found[name] for name in sorted(found)[::2]}, path, metadata={"format": "pt"})


def _renamed(path: Path) -> None:
    found = safetensors.load_file(path)
    safetensors.save_file(
        {f"x.{name}": each for name, each in found.items()}, path, metadata={"format": "pt"}
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_cut, "cannot be loaded"),
        (lambda path: path.write_bytes(b""), "cannot be loaded"),
        (Path.unlink, "the LoRA adapter lacks its weights"),
        (_halved, r"the LoRA adapter lacks \d+ of \d+ weights"),
        (_renamed, r"the LoRA adapter lacks \d+ of \d+ weights"),
    ],
)
def test_a_damaged_adapter_is_an_error_and_no_score(
    tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    _with_adapter(tmp_path, r=2, target_modules="all-linear")
    load_checkpoint(tmp_path / "mine", device="cpu")
    damage(tmp_path / "mine" / "model" / "lm" / "adapter_model.safetensors")
    with pytest.raises(InputError, match=message):
        load_checkpoint(tmp_path / "mine", device="cpu")


def test_a_language_model_that_lacks_weights_is_an_error_and_no_score(mine: Path) -> None:
    path = mine / "model" / "lm" / "model.safetensors"
    whole = {
        name: each.clone() for name, each in safetensors.load_file(path).items()
    }  # not a map of the file that is written over
    for gone in ("model.embed_tokens.weight", "model.layers.1.mlp.up_proj.weight", "model.norm.weight"):
        left = {name: each for name, each in whole.items() if name != gone}
        assert len(left) == len(whole) - 1
        safetensors.save_file(left, path, metadata={"format": "pt"})
        with pytest.raises(InputError, match=rf"the language model lacks 1 of \d+ weights, such as {gone}"):
            load_checkpoint(mine, device="cpu")


def test_an_untied_vocabulary_projection_may_be_missing(tmp_path: Path) -> None:
    """It is never run; checkpoints of a bare body lack it."""
    expected = scorer.score_items(saved_checkpoint(tmp_path / "mine"), ITEMS).scores
    lm = tmp_path / "mine" / "model" / "lm"
    config = json.loads((lm / "config.json").read_text())
    (lm / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
    read = load_checkpoint(tmp_path / "mine", device="cpu")
    assert scorer.score_items(read, ITEMS).scores == expected


def test_a_damaged_tokenizer_or_an_unknown_device_is_named(mine: Path) -> None:
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(InputError, match=f"device '{device}' cannot be used here"):
            load_checkpoint(mine, device=device)
    (mine / "tokenizer" / "tokenizer.json").write_text("{")
    with pytest.raises(InputError, match="cannot be loaded"):
        load_checkpoint(mine, device="cpu")
