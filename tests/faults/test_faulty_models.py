"""A model whose endpoint is faulty: the run ends with the reason or goes on, and no failure of the server is a zero of the model."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_endpoint import HARMLESS, PASSING, SECRET, SILENT, Fault, faulty_endpoint
from kills import ALL
from lm_eval_runs import evaluate, metrics_of
from needs import needs
from run_commands import ADA, published_data

pytestmark = [pytest.mark.faults, pytest.mark.slow]

# Of the faults that a host's own client takes for an answer.
WITH_200 = ("no choices", "choices are null", "an error with 200", "a list", "a number as content")
BROKEN = ("HTML with 200", "truncated JSON", "nothing with 200", "hangs up", "500", "503")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"), ada_leval=3)


def run(fault: Fault, data: Path, concurrent: int, times: int | None = None) -> dict[str, Any]:
    """Evaluate three cases of lm-eval, with one more try for each call."""
    with faulty_endpoint(fault, times) as endpoint:
        model = f"model=m,base_url={endpoint.url}/chat/completions,num_concurrent={concurrent}"
        return evaluate(
            ADA,
            model="local-chat-completions",
            model_args=f"{model},tokenizer_backend=None,max_retries=2",
            apply_chat_template=True,
            metadata={"lct_data_dir": str(data)},
        )


@needs("lm_eval")
@pytest.mark.parametrize("concurrent", [1, 2])
@pytest.mark.parametrize("name", [*WITH_200, *BROKEN] if ALL else ["choices are null", "503"])
def test_a_failure_of_the_server_is_no_response(
    name: str, concurrent: int, data: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    said = "." if name in BROKEN else "status 200 with"
    with pytest.raises(Exception, match=said) as caught:
        run(PASSING[name], data, concurrent)
    assert SECRET not in str(caught.value) + caplog.text


@needs("lm_eval")
@pytest.mark.parametrize("concurrent", [1, 2] if ALL else [2])
@pytest.mark.parametrize("name", WITH_200 if ALL else ["an error with 200"])
def test_a_failure_that_passes_is_tried_again(name: str, concurrent: int, data: Path) -> None:
    result = run(PASSING[name], data, concurrent, times=1)
    responses = [sample["filtered_resps"][0] for sample in result["samples"][ADA]]
    assert responses == [r"Good. \boxed{7}"] * 3


@needs("lm_eval")
def test_a_model_that_says_nothing_is_counted_as_that(data: Path) -> None:
    metrics = metrics_of(run(SILENT["null content"], data, 1))
    assert metrics["n_empty"] == 3 and not math.isnan(metrics["strict_accuracy"])
    assert re.search("boxed", str(run(HARMLESS["wrong content type"], data, 1)["samples"]))
