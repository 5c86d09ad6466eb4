"""What OpenCompass' own config does not tell of a run and our classes write down: the type of the model's numbers, which built cases."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from opencompass_steps import evaluate, infer
from tiny_model import make_tiny_model
from toy_benchmark import write_cases

pytestmark = [needs("opencompass"), pytest.mark.usefixtures("toy_installed")]

TEXTS = ("right one", "wrong two", "right three")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), max_position_embeddings=256)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cases(tmp_path_factory.mktemp("built") / "toy", TEXTS)


@pytest.mark.parametrize("ppl", [False, True])
@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_rows_tell_the_type_that_the_host_loaded(
    folder: Path, cases: Path, tmp_path: Path, dtype: str, ppl: bool
) -> None:
    from opencompass.models import HuggingFaceBaseModel

    model = HuggingFaceBaseModel(path=str(folder), model_kwargs={"device_map": "cpu", "torch_dtype": dtype})
    task = "toy_1k_ppl" if ppl else "toy_1k"
    _, rows = infer(task, model, tmp_path, lct_cases=str(cases), lct_n=1, lct_answer_budget=1)
    assert [row["lct_dtype"] for row in rows] == [dtype] == [str(model.model.dtype)]


def test_results_tell_the_built_cases_by_what_they_hold(folder: Path, cases: Path, tmp_path: Path) -> None:
    from opencompass.models import HuggingFaceBaseModel

    model = HuggingFaceBaseModel(path=str(folder), model_kwargs={"device_map": "cpu"})

    def told(place: Path, name: str, **options: Any) -> str:
        options = {"lct_cases": str(place), "lct_answer_budget": 1, **options}
        [digest] = evaluate(*infer("toy_1k", model, tmp_path / name, **options))["cases_sha256"]
        return str(digest)

    first = told(cases, "a")
    assert len(first) == 16
    assert told(Path(shutil.copytree(cases, tmp_path / "moved")), "b", lct_n=2) == first
    assert told(write_cases(tmp_path / "toy", TEXTS[:2]), "c") != first
