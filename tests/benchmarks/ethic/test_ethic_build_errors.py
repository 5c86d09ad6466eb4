"""Documents, settings and annotators that a build refuses, or counts."""

import json
from pathlib import Path
from typing import Any

import pytest
from ethic_oracle import (
    context_of,
    names_in,
    oracle,
    write_documents,
    write_rows,
)
from judge_server import Answer, judge_server

from long_context_tasks.benchmarks.building import TaskReport
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic.build.labels import parse_labels
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.schema import InputError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents"))


def attempt(documents: Path, out: Path, family: str = "ethic_recall", **settings: Any) -> list[TaskReport]:
    return ethic_build.build(family, documents, EthicSettings(**{"lengths": (4000,), **settings}), out / "x")


def test_what_cannot_be_built_is_refused(
    documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="needs a model that annotates: add --annotator"):
        attempt(documents, tmp_path)
    with pytest.raises(InputError, match=r"--domain must be one of .* not poems"):
        attempt(documents, tmp_path, domain="poems")
    with pytest.raises(InputError, match="correct --documents"):
        attempt(documents / "nothing", tmp_path)
    with pytest.raises(InputError, match="add --documents"):
        ethic_build.build("ethic_recall", None, EthicSettings(lengths=(4000,)), tmp_path / "x")
    with pytest.raises(InputError, match="has no cases of books, only of medicine, law"):
        attempt(documents / "books", tmp_path, "ethic_attribute")
    with pytest.raises(InputError, match="too short: the instruction alone"):
        attempt(documents, tmp_path, lengths=(500,))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no documents that are known"):
        attempt(tmp_path / "empty", tmp_path)
    write_rows(tmp_path / "hand.jsonl", [{"domain": "books", "passage": "x"}])
    with pytest.raises(InputError, match=r"hand.jsonl, line 1: \"labels\" must be a list"):
        attempt(documents, tmp_path, check_labels=tmp_path / "hand.jsonl")
    (tmp_path / "short").mkdir()
    (tmp_path / "short" / "tale.txt").write_text("It was late. Mr. Anna Brandt slept.\n\nThe end of it.")
    with oracle(tmp_path) as (server, annotator):
        with pytest.raises(
            InputError,
            match=r"1 x the document is too short; the longest of 1 documents has 1?\d tokens or more",
        ):
            attempt(tmp_path / "short", tmp_path, annotator=annotator)
        assert len(server.bodies) == 1
    assert not (tmp_path / "x").exists()


def test_an_annotator_that_fails_loses_nothing(documents: Path, tmp_path: Path) -> None:
    broken = {"now": True}

    def behave(body: dict[str, Any], number: int) -> Answer:
        if broken["now"] and number > 5:
            return Answer(status=500)
        text = body["messages"][-1]["content"]
        return Answer(", ".join(names_in(context_of(text))) if "### Context" in text else "yes")

    with judge_server(behave) as server:
        annotator = tmp_path / "a.yaml"
        annotator.write_text(f"model: m\nbase_url: {server.url}\nretries: 0\nconcurrency: 1\n")
        with pytest.raises(InputError, match=r"calls were not answered .* run the same command again"):
            attempt(documents, tmp_path, annotator=annotator, domain="books")
        assert not (tmp_path / "x").exists()
        asked = [body["messages"][-1]["content"] for body in server.bodies[1:6]]
        broken["now"] = False
        before = len(server.bodies)
        attempt(documents, tmp_path, annotator=annotator, domain="books")
        assert not set(asked) & {body["messages"][-1]["content"] for body in server.bodies[before:]}


def test_empty_and_cut_answers_are_counted(documents: Path, tmp_path: Path) -> None:
    def behave(body: dict[str, Any], number: int) -> Answer:
        text = body["messages"][-1]["content"]
        if "word yes" in text:
            return Answer("yes")
        choice = {
            "index": 0,
            "finish_reason": "length",
            "message": {"role": "assistant", "content": ", ".join([*names_in(context_of(text)), "Bo"])},
        }
        cut = json.dumps({"choices": [choice]}).encode()
        return Answer("") if "novel" in str(first_words(text)) else Answer(raw=cut)

    def first_words(text: str) -> str:
        return "novel" if context_of(text) in first_novel else "other"

    first_novel = (documents / "books" / "novel_0.txt").read_text()
    with judge_server(behave) as server:
        annotator = tmp_path / "a.yaml"
        annotator.write_text(f"model: m\nbase_url: {server.url}\n")
        [report] = attempt(documents, tmp_path, annotator=annotator, domain="books")
    assert len(report.tokens) == 1 and report.dropped["a chunk has no labels"] == 1
    assert any("answers ended at max_tokens" in note for note in report.notes)
    assert any("answers could not be used" in note for note in report.notes)


@pytest.mark.parametrize(
    ("answer", "domain", "labels"),
    [
        ("None", "books", []),
        ("none.", "law", []),
        ("1. Elizabeth\n2. Darcy", "books", ["Elizabeth", "Darcy"]),
        ("**Answer:** Mr. Darcy, darcy, O'Neil", "debates", ["Darcy", "O'Neil"]),
        ("12; 1,300; forty", "medicine", ["12", "1300"]),
        ("42 U.S.C. § 1983; 17 F.3d 462; 2d", "law", ["42", "1983", "17", "462"]),
        ("- 18\n- 922(g)(1)", "law", ["18", "922g1"]),
        ("None (no names are mentioned).", "books", []),
        ("No characters are named.", "books", []),
        ("N/A", "medicine", []),
        ("**None**, as nobody is counted in it", "medicine", []),
        ("The characters in this passage are: Anne and Bob.", "books", ["Anne", "Bob"]),
        ("Anne, Bob and Carol & Dora", "books", ["Anne", "Bob", "Carol", "Dora"]),
        ("**Names:**\n- Anne\n- Dr. No", "debates", ["Anne", "No"]),
        ("1,204", "medicine", ["1204"]),
        ("n = 1,204; about 36 nurses", "medicine", ["1204", "36"]),
        ("123,456", "law", ["123", "456"]),
        ("Cases: 17 F.3d 462\n42 U.S.C. § 1983: rights", "law", ["17", "462", "42", "1983"]),
        (
            "Pub. L. No. 104-132, 110 Stat. 1214 of the 104th Congress",
            "law",
            ["104132", "110", "1214", "104th"],
        ),
        # Sentences are no lists.
        ("There are no character names in this passage.", "books", None),
        ("The characters are Anne, Bob", "books", None),
        ("Mr. Speaker, Madam", "debates", []),
        ("No names", "debates", []),
        ("1. Anne: the heroine\n2. Bob: her brother", "books", None),
        ("The study enrolled 120 patients; 45 dropped out", "medicine", None),
        ("There are 3 citations", "law", None),
        ("forty", "medicine", None),
        ("Names:", "books", None),
    ],
)
def test_ugly_label_answers(answer: str, domain: str, labels: list[str] | None) -> None:
    assert parse_labels(answer, domain) == labels


def test_refusals_are_no_labels(documents: Path, tmp_path: Path) -> None:
    with judge_server(lambda *_: Answer("I'm sorry, but I can't help with that.")) as server:
        annotator = tmp_path / "a.yaml"
        annotator.write_text(f"model: m\nbase_url: {server.url}\n")
        with pytest.raises(InputError, match="2 x a chunk has no labels"):
            attempt(documents, tmp_path, annotator=annotator, domain="books")
