"""The official rules against the outputs of the official code, case by case, for all files in the folder."""

import json
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from rapidfuzz.distance import LCSseq
from vector_rows import vector_rows

from long_context_tasks.benchmarks.ethic import prompts, scoring
from long_context_tasks.benchmarks.ethic.data import CONFIGURATIONS
from long_context_tasks.benchmarks.ethic.prompts import context_of, split_sections
from long_context_tasks.benchmarks.ethic.scoring import official
from long_context_tasks.benchmarks.ethic.scoring import summaries as judge_prompts
from long_context_tasks.benchmarks.ethic.scoring.summaries import judge_requests
from long_context_tasks.judges.client import request_body
from long_context_tasks.judges.config import Draw
from long_context_tasks.judges.kinds import load_judge
from long_context_tasks.schema import Case, Message, Turn

pytestmark = pytest.mark.vectors
JUDGE = Path(__file__).resolve().parents[3] / "configs" / "judges" / "ethic_gpt4o.yaml"


def _rows(shared: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, _plain(row)) for number, row in vector_rows(shared, "ethic", name))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"__float__"}:
            return float(value["__float__"])
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _near(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-12)


def test_f1(shared: Path) -> None:
    for number, row in _rows(shared, "f1.jsonl"):
        found = official.f1(row["prediction"], row["labels"])
        expected = (row["precision"], row["recall"], row["f1"])
        assert (found.precision, found.recall, found.f1) == _near(expected), number


def test_longest_common_subsequence(shared: Path) -> None:
    for number, row in _rows(shared, "lcs.jsonl"):
        assert LCSseq.similarity(row["prediction"], row["answer"]) == len(row["lcs"]), number


@pytest.mark.parametrize(
    ("name", "rule", "score"),
    [
        ("score_recalling.jsonl", official.recalling, scoring.score_recall),
        ("score_attributing.jsonl", official.attributing, scoring.score_attribute),
    ],
)
def test_f1_of_items(shared: Path, name: str, rule: Any, score: Any) -> None:
    for number, row in _rows(shared, name):
        assert row["error"] is None
        found, result = rule(row["prediction"], row["answer"]), row["result"]
        assert (found.precision, found.recall, found.f1) == _near(
            (result["precision"], result["recall"], result["f1_score"])
        ), number
        case = Case("1", "t", {}, (Turn(row["answer"]),), "1", labels={"domain": "books"})
        metrics = score(case, row["prediction"])
        assert metrics["official_f1"].value == _near(row["score"]), number
        assert all(0 <= one.value <= 1 for one in metrics.values()), number


def test_organizing(shared: Path) -> None:
    for number, row in _rows(shared, "score_organizing.jsonl"):
        answer = official.order_of(row["answer"])
        case = Case("1", "t", {}, (Turn(answer),), "1", labels={"domain": "books"})
        scores = scoring.score_organize(case, row["prediction"])
        if row["error"] is not None:
            # The official run stops here; the item is wrong, with a reason.
            assert row["prediction"] == official.REFUSAL
            assert (scores["official_lcs"].value, scores["official_lcs"].reason) == (0.0, "refused")
            continue
        assert LCSseq.similarity(official.order_of(row["prediction"]), answer) == len(row["result"]["lcs"]), (
            number
        )
        assert scores["official_lcs"].value == _near(row["score"]), number
        assert scores["strict_lcs"].value <= scores["length_adjusted_lcs"].value + 1e-12, number


def test_context_of_a_summarizing_item(shared: Path) -> None:
    for number, row in _rows(shared, "summarizing_context.jsonl"):
        if row["error"] is not None:
            assert context_of(row["user_msg"]) is None
        else:
            assert context_of(row["user_msg"]) == row["input_sections"], number


def test_requests_to_the_judge(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_judge(JUDGE)
    assert config is not None
    for number, row in _rows(shared, "summarizing_batch.jsonl"):
        domain, stem = row["domain"], row["file_stem"]
        context = split_sections(row["input_sections"], domain.lower())
        monkeypatch.setattr(
            judge_prompts, "template", lambda name, row=row: row["prompts"][name.removeprefix("geval_")]
        )
        document = f"### Context:\n{row['input_sections']}\n\nNow, respond to the instruction above."
        case = Case(
            stem,
            "t",
            {"user": "u"},
            (Turn(list(context)),),
            f"{domain}_{stem}",
            labels={"domain": domain.lower()},
        )
        requests = judge_requests(case, [row["prediction"]], documents={"u": document})
        assert [request.id for request in requests] == [one["custom_id"] for one in row["requests"]], number
        for request, one in zip(requests, row["requests"], strict=True):
            sent = json.loads(request_body(request.messages, Draw(config.seeds[0]), config))
            # One answer, and no stop text, are what an endpoint gives unasked.
            expected = {key: value for key, value in one["body"].items() if key not in ("n", "stop")}
            assert sent == expected, number


def _first_token_as_score(token: str) -> float:
    try:
        return float(token)
    except ValueError:
        return 0.0


def test_scores_of_judged_summaries(shared: Path) -> None:
    for number, row in _rows(shared, "summarizing_parse.jsonl"):
        items: dict[str, list[tuple[str, dict[str, float]]]] = {}
        for line in row["outputs"]:
            item, _, criterion = re.sub(r"_<(?:Segment|Section) \d+>", "", line["custom_id"]).rpartition("_")
            first = line["response"]["body"]["choices"][0]["logprobs"]["content"][0]
            top = [(one["token"], one.get("logprob")) for one in first["top_logprobs"]]
            score = {"weighted": official.weighted(top), "top": _first_token_as_score(first["token"])}
            items.setdefault(item, []).append((criterion, score))
        for item, expected in row["scores"].items():
            # A missing answer distorts the official record, because the three criteria share one divisor.
            count = len(items[item]) / len(official.CRITERIA)
            found = {
                f"{kind}_{name}": sum(score[kind] for other, score in items[item] if other == name) / count
                for kind in ("weighted", "top")
                for name in official.CRITERIA
            }
            for kind in ("weighted", "top"):
                found[kind] = sum(found[f"{kind}_{name}"] for name in official.CRITERIA) / 3
            assert set(found) | {"count"} == set(expected)
            for name, value in found.items():
                assert value == pytest.approx(expected[name], rel=0, abs=1e-12, nan_ok=True), (
                    number,
                    item,
                    name,
                )


def test_means(shared: Path) -> None:
    for number, row in _rows(shared, "aggregate.jsonl"):
        [task] = [name for name, configuration in CONFIGURATIONS.items() if configuration == row["task"]]
        # Plain means over items, without the domains that the task does not have.
        known = official.DOMAINS[task]
        own = {name: scores for name, scores in row["per_domain"].items() if name.lower() in known}
        assert fmean(chain.from_iterable(own.values())) == _near(row["final"]), number
        assert row["domain"] == {name: _near(fmean(scores)) for name, scores in own.items()}, number


def test_layouts(shared: Path) -> None:
    # Part of a model's name to its style, in the order in which the official script compares them.
    families = {"gemini": "gemini", "Llama-3.1": "llama-3.1", "Phi": "phi"}
    for _, row in _rows(shared, "model_prompts.jsonl"):
        style = next((style for part, style in families.items() if part in row["model"]), prompts.CHAT)
        expected = row["template"].replace("{system_msg}", "S {x}").replace("{user_msg}", "U {system_msg}")
        messages = prompts.layout("S {x}", "U {system_msg}", style)
        if row["template"]:
            assert messages == [Message("user", expected)]
        else:
            assert messages == [Message("system", "S {x}"), Message("user", "U {system_msg}")]
