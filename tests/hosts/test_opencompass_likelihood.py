"""Log-likelihoods in OpenCompass: the numbers of lm-eval, with shared beginnings read once."""

import itertools
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from needs import needs
from opencompass_steps import evaluate, infer
from tiny_model import make_tiny_model
from toy_benchmark import write_cases

from long_context_tasks.schema import InputError

pytestmark = [needs("opencompass"), pytest.mark.slow, pytest.mark.usefixtures("toy_installed")]


def words(seed: int, n: int) -> str:
    rng = random.Random(seed)
    return " ".join(rng.choice(["river", "stone", "lamp", "seven", "winter's", "go"]) for _ in range(n))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), max_position_embeddings=2048)


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    from opencompass.models import HuggingFaceBaseModel

    return HuggingFaceBaseModel(path=str(folder), model_kwargs={"device_map": "cpu"})


@pytest.fixture(scope="module")
def orders() -> list[str]:
    segments = [words(seed, 40) for seed in range(4)]
    return ["\n\n".join([words(9, 20), *order, words(8, 20)]) for order in itertools.permutations(segments)]


def lm_eval_values(folder: Path, texts: list[str]) -> list[float]:
    pytest.importorskip("lm_eval")
    from lm_eval.models.huggingface import HFLM

    requests = [SimpleNamespace(args=(text,)) for text in texts]
    values: list[float] = HFLM(pretrained=str(folder), device="cpu").loglikelihood_rolling(
        requests, disable_tqdm=True
    )
    return values


@pytest.mark.parametrize("step", [7, 512])
def test_the_same_numbers_as_lm_eval(
    model: Any, folder: Path, orders: list[str], step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from long_context_tasks.hosts.opencompass import likelihood as opencompass_likelihood
    from long_context_tasks.hosts.opencompass.likelihood import Scorer, encode

    monkeypatch.setattr(opencompass_likelihood, "_STEP", step)
    tokens = [encode(model.tokenizer, text) for text in orders]
    ours = Scorer(model.model, model.tokenizer).log_likelihoods(tokens)
    assert ours == pytest.approx(lm_eval_values(folder, orders), rel=1e-5)
    assert len({round(value, 3) for value in ours}) > 12


def test_shared_beginnings_are_read_once(model: Any, orders: list[str]) -> None:
    """The text before, 64 segments and 24 texts after them; not 24 times everything."""
    from long_context_tasks.hosts.opencompass.likelihood import Scorer, encode

    tokens = [encode(model.tokenizer, text) for text in orders]
    scorer = Scorer(model.model, model.tokenizer)
    scorer.log_likelihoods(tokens)
    total = sum(map(len, tokens))
    segment = len(encode(model.tokenizer, words(1, 40)))
    assert scorer.n_read < total - 30 * segment


def test_without_a_cache_that_can_be_cut_every_text_is_read_whole(model: Any, orders: list[str]) -> None:
    from long_context_tasks.hosts.opencompass.likelihood import Scorer, encode

    class Forgetful:
        device = "cpu"

        def __call__(self, **inputs: Any) -> Any:
            inputs.pop("past_key_values", None)
            return SimpleNamespace(logits=model.model(**inputs).logits)

    tokens = [encode(model.tokenizer, text) for text in orders[:4]]
    scorer = Scorer(Forgetful(), model.tokenizer)
    assert scorer.log_likelihoods(tokens) == pytest.approx(
        Scorer(model.model, model.tokenizer).log_likelihoods(tokens), rel=1e-5
    )


def run(folder: Path, model: Any, out: Path, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    return infer("toy_1k_ppl", model, out, lct_cases=str(folder), **options)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = ["\n\n".join(words(10 * i + j, 12 * (i + 1)) for j in range(3)) for i in range(4)]
    return write_cases(tmp_path_factory.mktemp("cases") / "toy", texts)


def test_rows_and_result(model: Any, cases: Path, tmp_path: Path) -> None:
    dataset, rows = run(cases, model, tmp_path / "out", lct_window=102)
    assert [row["lct_status"] for row in rows] == [None, None, "does_not_fit", "does_not_fit"]
    best = [int(row["prediction"]) for row in rows[:2]]
    assert [row["log_likelihoods"].index(max(row["log_likelihoods"])) for row in rows[:2]] == best
    result = evaluate(dataset, rows)
    assert (result["n"], result["n_scored"], result["n_does_not_fit"]) == (4, 2, 2)
    assert result["strict_accuracy"] == 100 * sum(place == 0 for place in best) / 2
    assert result["window"] == ["102 (lct_window)"]


def test_resumed_case_by_case(
    model: Any, cases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from long_context_tasks.hosts.opencompass.likelihood import Scorer

    scored = []
    original = Scorer.log_likelihoods

    def counted(self: Scorer, texts: Any) -> list[float]:
        scored.append(len(texts))
        if len(scored) == 3:
            raise KeyboardInterrupt
        return original(self, texts)

    monkeypatch.setattr(Scorer, "log_likelihoods", counted)
    with pytest.raises(KeyboardInterrupt):
        run(cases, model, tmp_path / "out")
    _, rows = run(cases, model, tmp_path / "out")
    assert len(scored) == 3 + 2
    assert [row["case"] for row in rows] == ["c0", "c1", "c2", "c3"]


def test_models_without_log_likelihoods_are_refused_first(cases: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no log-likelihoods"):
        run(cases, SimpleNamespace(is_api=True), tmp_path / "out")
