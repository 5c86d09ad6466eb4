"""Builds that are killed at any moment: the same command makes the same bytes, pays nothing twice and leaves nothing else behind."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from case_folders import contents
from ethic_oracle import oracle, write_documents
from forum_posts import make_posts, write_posts
from judge_server import JudgeServer
from kills import ALL, LCT, Command, killed_and_finished, moments
from written_book import paragraphs

pytestmark = [pytest.mark.faults, pytest.mark.slow]


def books(folder: Path) -> list[str | Path]:
    (folder / "books").mkdir()
    for number in range(3):
        text = "\n\n".join(paragraphs(400, number))
        (folder / "books" / f"{number}.txt").write_text(text, encoding="utf-8")
    return ["ada_leval_tsort", "--books", folder / "books", "--length", "2k,4k"]


def posts(folder: Path) -> list[str | Path]:
    dump = write_posts(folder, make_posts(1, 300, 4, 60))
    return ["ada_leval_bestanswer", "--posts", dump, "--length", "1k,2k"]


def shard(_: Path) -> list[str | Path]:
    return ["ethic_recall_synthetic", "--length", "2k,4k", "--n", "8", "--seed", "1", "--shard", "2/3"]


def build(words: list[str | Path], folder: Path) -> Command:
    """A build into ``folder``, with a cache in it."""
    out, cache = folder / "cases", folder / "cache"
    return Command(
        (*LCT, "build", *words, "--out", out),
        folder,
        {"LCT_CACHE_DIR": str(cache)},
        begun=lambda: out.exists() or cache.exists(),
    )


def built(command: Command) -> dict[str, dict[str, object]]:
    """What each folder of the output holds; of caches the names."""
    return {path.name: contents(path) for path in sorted((command.folder / "cases").iterdir())}


@pytest.mark.parametrize("source", [books, posts, shard])
@pytest.mark.skipif(not ALL, reason="`make faults` tries it; the next test does the same with an annotator")
def test_a_killed_build_is_made_again(source: Callable[[Path], list[str | Path]], tmp_path: Path) -> None:
    words = source(tmp_path)
    whole = build(words, tmp_path / "whole")
    seconds, expected = whole.finish(), built(whole)
    for number, moment in moments(source.__name__):
        again = killed_and_finished(
            lambda folder: build(words, folder), tmp_path / str(number), moment * seconds
        )
        assert built(again) == expected


def test_a_killed_build_pays_its_annotator_once(tmp_path: Path) -> None:
    in_flight = 4
    documents = write_documents(tmp_path / "documents", paragraphs=200)
    with oracle(tmp_path, delay=0.02, concurrency=in_flight) as (server, annotator):
        words = ["ethic_organize", "--documents", documents, "--annotator", annotator]
        words += ["--domain", "books", "--length", "4k,8k"]

        def begin(folder: Path) -> Command:
            server.bodies.clear()
            return replace(build(words, folder), begun=lambda: bool(server.bodies))

        whole = begin(tmp_path / "whole")
        seconds, expected, asked = whole.finish(), built(whole), calls(server)
        for number, moment in moments("annotator"):
            again = killed_and_finished(begin, tmp_path / str(number), moment * seconds)
            assert built(again) == expected
            assert calls(server).keys() == asked.keys()
            assert (calls(server) - asked).total() <= in_flight


def calls(server: JudgeServer) -> Counter[str]:
    """How often each was made; the check of the model, at each start, is left out."""
    texts = [body["messages"][-1]["content"] for body in server.bodies]
    return Counter(text for text in texts if "Answer with the word yes" not in text)
