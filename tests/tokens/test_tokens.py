"""Counting tokens: right, offline, once per text; counts on disk: made once for every tokenizer, safe with several processes, a help and never a condition."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from long_context_tasks.schema import Case, InputError, Turn
from long_context_tasks.tokens import (
    Countable,
    Tokenizer,
    cached_counts,
    cl100k_encoding,
    count_cases,
    get_tokenizer,
    provide_table,
    same_tokenizer,
    tokenizer_identity,
    tokenizers,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "token_counts"


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the real tokenizers are asked to count from here on."""
    texts: list[str] = []
    count = Tokenizer.count

    def noted(self: Tokenizer, text: str) -> int:
        texts.append(text)
        return count(self, text)

    monkeypatch.setattr(Tokenizer, "count", noted)
    return texts


def _known(texts: list[str]) -> Iterator[Countable]:
    for text in texts:
        yield text, lambda text=text: text  # type: ignore[misc]


def _folder(folder: Path, words: list[str]) -> str:
    """A folder with a tokenizer that knows some words; another word is two tokens."""
    from tokenizers import Tokenizer as Fast
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import WhitespaceSplit

    folder.mkdir(exist_ok=True)
    letters = sorted(set("".join(words)))
    merges = [(word[0], word[1]) for word in words]
    vocab = {piece: number for number, piece in enumerate([*letters, *words])}
    fast = Fast(BPE(vocab, merges))
    fast.pre_tokenizer = WhitespaceSplit()
    fast.save(str(folder / "tokenizer.json"))
    return str(folder)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=40))
def test_counts_are_those_of_the_tokenizer(texts: list[str]) -> None:
    import tiktoken

    provide_table("cl100k_base")
    encoding = tiktoken.get_encoding("cl100k_base")
    expected = [len(encoding.encode_ordinary(text)) for text in texts]
    assert get_tokenizer("cl100k").count_many(texts) == expected
    assert cached_counts("cl100k", _known(texts)) == expected
    assert cached_counts("cl100k", _known(texts)) == expected


def test_only_what_is_missing_is_encoded(encoded: list[str]) -> None:
    texts = [f"text {number} of many" for number in range(50)]
    cached_counts("cl100k", _known(texts[:40]))
    assert sorted(encoded) == sorted(texts[:40])
    encoded.clear()
    assert len(cached_counts("cl100k", _known(texts))) == 50
    assert sorted(encoded) == sorted(texts[40:])


def test_a_text_that_is_known_is_not_even_made() -> None:
    assert cached_counts("cl100k", [("recipe", lambda: "two words")]) == [2]

    def never() -> str:
        raise AssertionError("the text was made again")

    assert cached_counts("cl100k", [("recipe", never)]) == [2]


def test_texts_are_taken_a_few_at_a_time() -> None:
    alive = most = 0

    class Text(str):
        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    def texts() -> Iterator[Countable]:
        nonlocal alive, most
        for number in range(200):
            text = Text(f"text {number}")
            alive += 1
            most = max(most, alive)
            yield text, lambda text=text: text  # type: ignore[misc]

    cached_counts("cl100k", texts())
    assert most <= 50


def test_a_tokenizer_is_known_by_its_file(tmp_path: Path, encoded: list[str]) -> None:
    one = _folder(tmp_path / "one", ["ab"])
    copy = _folder(tmp_path / "copy", ["ab"])
    assert tokenizer_identity(one) == tokenizer_identity(copy) == get_tokenizer(one).identity
    assert same_tokenizer(one, copy) and not same_tokenizer(one, "cl100k")
    assert cached_counts(one, _known(["ab ba"])) == [3]
    assert cached_counts(copy, _known(["ab ba"])) == [3]
    assert len(encoded) == 1
    before = tokenizer_identity(one)
    _folder(tmp_path / "one", ["ab", "ba"])
    assert tokenizer_identity(one) != before and not same_tokenizer(one, copy)
    assert cached_counts(one, _known(["ab ba"])) == [2]
    assert cached_counts(copy, _known(["ab ba"])) == [3]


def test_a_tokenizer_without_tokenizer_json_has_an_identity(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    for name, words in (("a", "hello world"), ("b", "hello world"), ("c", "hello moon")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vocab.txt").write_text("\n".join(["[UNK]", "[PAD]", *words.split()]))
        (tmp_path / name / "config.json").write_text(json.dumps({"model_type": "bert"}))
    a, b, c = (str(tmp_path / name) for name in "abc")
    assert tokenizer_identity(a) == tokenizer_identity(b) != tokenizer_identity(c)
    assert cached_counts(a, _known(["hello world hello"])) == [3]


def test_a_tokenizer_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="nobody/nothing"):
        cached_counts("nobody/nothing", _known(["a"]))
    assert not same_tokenizer("nobody/nothing", "cl100k")


def test_cases_get_what_they_lack() -> None:
    cases = [
        Case("a", "t", {"text": "two words"}, (Turn("x"),), "a"),
        Case("b", "t", {"text": "one"}, (Turn("x"),), "b", {"cl100k": 99}),
        Case("c", "t", {"text": "three more words"}, (Turn("x"),), "c", {"other": 7}),
    ]
    counted = count_cases(cases, "cl100k", lambda case: (case.inputs["text"], lambda: case.inputs["text"]))
    assert [case.num_tokens for case in counted] == [
        {"cl100k": 2},
        {"cl100k": 99},
        {"other": 7, "cl100k": 3},
    ]
    assert [case.id for case in counted] == ["a", "b", "c"]


@pytest.mark.parametrize("spoilt", ["not a database", "a folder"])
def test_a_cache_that_cannot_be_used_only_warns(
    cache: Path, caplog: pytest.LogCaptureFixture, spoilt: str
) -> None:
    cache.mkdir(parents=True)
    path = cache / "cl100k.sqlite"
    path.mkdir() if spoilt == "a folder" else path.write_text("x" * 5000)
    with caplog.at_level(logging.WARNING):
        assert cached_counts("cl100k", _known([f"text {number}" for number in range(40)])) == [3] * 40
    assert [str(path) in record.getMessage() for record in caplog.records] == [True]


def test_several_processes_share_one_file(cache: Path, encoded: list[str]) -> None:
    code = (
        "import sys; from long_context_tasks.tokens import cached_counts\n"
        "texts = [f'text {number} ' * 20 for number in range(int(sys.argv[1]), int(sys.argv[1]) + 300)]\n"
        "print(sum(cached_counts('cl100k', [(text, lambda text=text: text) for text in texts])))"
    )
    starts = (0, 0, 150)
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([sys.executable, "-c", code, str(start)], **pipes) for start in starts]
    told = [process.communicate(timeout=120) for process in running]
    assert [errors for _, errors in told] == [""] * 3
    texts = [f"text {number} " * 20 for number in range(450)]
    counts = cached_counts("cl100k", _known(texts))
    assert encoded == []
    assert [int(out) for out, _ in told] == [sum(counts[start : start + 300]) for start in starts]


def test_special_tokens_in_a_text_are_text() -> None:
    text = "He said <|endoftext|>\n\n<|endoftext|>."
    encoded = cl100k_encoding().encode_to_numpy(text, disallowed_special=()).tolist()
    assert encoded == cl100k_encoding().encode_ordinary(text)
    assert len(encoded) == get_tokenizer("cl100k").count(text) > 8


@given(
    st.lists(
        st.characters(max_codepoint=127)
        | st.sampled_from(
            ["word", " Word", " \n", "  ", "\n\n", "\r\n", "'LL", "'s", "1234", "\x1c", "\x85", "é", "“"]
        ),
        max_size=30,
    ).map("".join)
)
def test_pieces_have_as_many_tokens_as_the_whole_text(text: str) -> None:
    assert get_tokenizer("cl100k").fresh().count(text) == len(cl100k_encoding().encode_ordinary(text))


def test_each_text_is_encoded_once() -> None:
    seen: list[str] = []

    def encode(texts: object) -> list[range]:
        seen.extend(texts)  # type: ignore[call-overload]
        return [range(len(text)) for text in texts]  # type: ignore[attr-defined]

    tokenizer = Tokenizer("letters", encode)
    assert tokenizer.count_many(["a", "bb", "a"]) == [1, 2, 1]
    assert tokenizer.count_many(["bb", "ccc"]) == [2, 3]
    assert seen == ["a", "bb", "ccc"]
    texts = ["x" * n for n in range(1000)]
    assert tokenizer.count_many(texts) == list(range(1000))


def test_a_tokenizer_folder(tmp_path: Path) -> None:
    from tokenizers import Tokenizer as Fast
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    fast = Fast(WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    fast.pre_tokenizer = Whitespace()
    fast.enable_truncation(2)
    fast.save(str(tmp_path / "tokenizer.json"))
    assert get_tokenizer(str(tmp_path)).count("a b b a c") == 5


def test_a_changed_table_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "_table", lambda _: b"IQ== 0\n")
    with pytest.raises(InputError, match="not OpenAI's"):
        tokenizers.cl100k_encoding.__wrapped__()


@pytest.mark.parametrize(("encoding", "tokens"), [("cl100k_base", 6), ("o200k_base", 6)])
def test_hosts_need_no_network_for_the_tables_of_tiktoken(encoding: str, tokens: int, tmp_path: Path) -> None:
    """tiktoken itself compares the table with the hash that it knows."""
    code = (
        "import socket; socket.socket.connect = None\n"
        f"from long_context_tasks.tokens import provide_table; provide_table({encoding!r})\n"
        f"import tiktoken; print(len(tiktoken.get_encoding({encoding!r}).encode('antidisestablishmentarianism')))"
    )
    environment = {"TIKTOKEN_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == str(tokens), done.stderr
