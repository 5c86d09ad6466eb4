"""Information coverage with evaluators that fail: what is counted, what is advised, and the exit status."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from ethic_oracle import write_rows
from judge_server import Answer, Behave, judge_server
from typer.testing import CliRunner

from long_context_tasks.cli import app

CUT = b'{"choices": [{"message": {"content": "The passage tells"}, "finish_reason": "length"}]}'


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def measured(tmp_path: Path, behave: Behave, settings: str = "asks: 2") -> tuple[Result, dict[str, Any], int]:
    """Four cases of ten chunks each: the result of the command, the figures that it wrote, and the calls that it made."""
    contexts = [
        "\n\n".join(f"Paragraph {place}. Case {number}. " + "plain words go on. " * 70 for place in range(10))
        for number in range(4)
    ]
    rows = [
        {"id": f"[{number},  2]", "context": context, "question": "Where?"}
        for number, context in enumerate(contexts)
    ]
    write_rows(tmp_path / "toy.jsonl", rows)
    with judge_server(behave) as server:
        text = f"model: j\nbase_url: {server.url}\nretries: 0\n{settings}\n"
        (tmp_path / "j.yaml").write_text(text)
        words = (
            "coverage",
            tmp_path / "toy.jsonl",
            "--judge",
            tmp_path / "j.yaml",
            "-o",
            tmp_path / "c.json",
        )
        result = CliRunner().invoke(app, list(map(str, words)))
        calls = len(server.bodies)
    path = tmp_path / "c.json"
    return result, json.loads(path.read_text()) if path.is_file() else {}, calls


def some(*failing: Answer) -> Behave:
    """The first paragraphs of every case get these answers, the others a score."""

    def behave(body: dict[str, Any], _: int) -> Answer:
        place = re.search(r"Paragraph (\d+)\.", body["messages"][-1]["content"])
        number = int(place[1]) if place else len(failing)
        return failing[number] if number < len(failing) else Answer("Final Score : 1")

    return behave


def test_replies_without_a_score_stay_outside_and_are_told(tmp_path: Path) -> None:
    result, found, calls = measured(tmp_path, some(*[Answer("I would rather not say.")] * 2))
    # Those without a score were asked for twice.
    assert calls == 4 * (8 + 2 * 2) + 1
    assert result.exit_code == 0 and "8 of 40 chunks have no judgement" in result.output
    assert "8 replies hold no score" in result.output and "other seeds" in result.output
    assert "run the same command again" not in result.output
    assert "100.0*" in result.output and "* of the chunks that were judged" in result.output
    [group] = found["groups"]
    assert group["chunks_judged"] == 32 and group["coverage"] == 1 and group["reasons"] == {"unparsable": 4}
    assert group["chunks_failed"] == {"unparsable": 8}
    assert group["every_case"][0]["chunks"] == "--11111111"


def test_each_reason_has_a_remedy_of_its_own(tmp_path: Path) -> None:
    failing = (Answer(status=400), Answer(raw=CUT), Answer("Hm."))
    result, found, _ = measured(tmp_path, some(*failing), "max_tokens: 64\nasks: 1\nconcurrency: 1")
    assert result.exit_code == 0 and "12 of 40 chunks" in result.output
    for said in (
        "4 calls were not answered; run the same command again",
        "4 replies ended at max_tokens (64)",
        "4 replies hold no score",
    ):
        assert said in result.output
    assert found["groups"][0]["chunks_failed"] == {"endpoint_failed": 4, "cut": 4, "unparsable": 4}


@pytest.mark.parametrize(
    "failing", [Answer("I would rather not say."), Answer("<think>Final Score : 0"), Answer(raw=CUT)]
)
def test_where_nothing_was_judged_the_command_fails(tmp_path: Path, failing: Answer) -> None:
    result, found, _ = measured(tmp_path, some(*[failing] * 10), "asks: 1")
    assert result.exit_code == 1 and "40 of 40 chunks have no judgement" in result.output
    [group] = found["groups"]
    assert group["coverage"] is None and group["every_case"][0]["chunks"] == "-" * 10


def test_an_evaluator_without_room_is_refused_before_the_first_call(tmp_path: Path) -> None:
    result, _, calls = measured(tmp_path, some(), "max_tokens: 5")
    assert result.exit_code == 2 and "max_tokens: 5 ends replies before their score" in result.output
    assert calls == 0


def test_ids_are_written_as_they_are(tmp_path: Path) -> None:
    result, found, _ = measured(tmp_path, some())
    assert result.exit_code == 0 and "*" not in result.output
    assert [case["id"] for case in found["groups"][0]["every_case"]] == [f"[{n},  2]" for n in range(4)]
