"""What OpenCompass' own config does not tell of a run and our classes write down: the type of the model's numbers, which built cases."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from needs import needs
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


def inferred(
    model: Any, cases: Path, out: Path, *, ppl: bool = False, **options: Any
) -> tuple[Any, list[Any]]:
    from opencompass.openicl.icl_retriever import ZeroRetriever

    from long_context_tasks.hosts.opencompass.likelihood import CasePPLInferencer
    from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseGenInferencer

    dataset = CaseDataset(
        reader_cfg={"input_columns": ["case"], "output_column": "reference"},
        abbr="toy",
        lct_task="toy_1k_ppl" if ppl else "toy_1k",
        lct_cases=str(cases),
        **options,
    )
    where = {"output_json_filepath": str(out), "output_json_filename": "toy.json"}
    if ppl:
        CasePPLInferencer(model=model, **where).inference(ZeroRetriever(dataset))
    else:
        CaseGenInferencer(model=model, max_out_len=1, batch_size=1, **where).inference(
            ZeroRetriever(dataset), prompt_template=None
        )
    rows = json.loads((out / "toy.json").read_text())
    return dataset, [rows[str(place)] for place in range(len(rows))]


@pytest.mark.parametrize("ppl", [False, True])
@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_rows_tell_the_type_that_the_host_loaded(
    folder: Path, cases: Path, tmp_path: Path, dtype: str, ppl: bool
) -> None:
    from opencompass.models import HuggingFaceBaseModel

    model = HuggingFaceBaseModel(path=str(folder), model_kwargs={"device_map": "cpu", "torch_dtype": dtype})
    _, rows = inferred(model, cases, tmp_path, ppl=ppl, lct_n=1, lct_answer_budget=1)
    assert [row["lct_dtype"] for row in rows] == [dtype] == [str(model.model.dtype)]


def test_results_tell_the_built_cases_by_what_they_hold(folder: Path, cases: Path, tmp_path: Path) -> None:
    from opencompass.models import HuggingFaceBaseModel

    from long_context_tasks.hosts.opencompass.task import CaseEvaluator

    model = HuggingFaceBaseModel(path=str(folder), model_kwargs={"device_map": "cpu"})

    def told(place: Path, name: str, **options: Any) -> str:
        dataset, rows = inferred(model, place, tmp_path / name, lct_answer_budget=1, **options)
        keys = ("case", "lct_status", "n_prompt_tokens", "truncated", "lct_window", "lct_given")
        columns = {key: [row[key] for row in rows] for key in keys}
        test = dataset.test
        result = CaseEvaluator().evaluate(
            1, 1, test, predictions=[row["prediction"] for row in rows], references=test["reference"], test_set=test, **columns
        )  # fmt: skip
        [digest] = result["cases_sha256"]
        return str(digest)

    first = told(cases, "a")
    assert len(first) == 16
    assert told(Path(shutil.copytree(cases, tmp_path / "moved")), "b", lct_n=2) == first
    assert told(write_cases(tmp_path / "toy", TEXTS[:2]), "c") != first
