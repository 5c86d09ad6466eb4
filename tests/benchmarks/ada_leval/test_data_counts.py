"""Tokens of every prompt, of published, moved, cut and built cases; what built cases were built with."""

import json
from pathlib import Path
from typing import Any

import pytest
from forum_posts import make_posts, write_posts
from other_tokenizers import other_tokenizer
from published_files import load, record

from long_context_tasks.benchmarks.ada_leval.build import build
from long_context_tasks.benchmarks.ada_leval.settings import BestAnswerSettings, TSortSettings
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.tokens import Tokenizer, get_tokenizer


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def words(tmp_path: Path) -> str:
    """A folder with a tokenizer whose tokens are words."""
    return other_tokenizer("plain words", tmp_path / "words")


def _counted(task: LoadedTask, *tokenizers: str) -> None:
    """Every case carries the counts of the text that is sent, in these tokenizers at least."""
    for case in task.cases.cases:
        [message] = task.messages(case)
        for name in tokenizers:
            assert case.num_tokens[name] == get_tokenizer(name).count(message.content), (case.id, name)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that tokenizers are asked to count from here on."""
    texts: list[str] = []
    count = Tokenizer.count_many

    def noted(self: Tokenizer, some: list[str]) -> list[int]:
        texts.extend(some)
        return count(self, some)

    monkeypatch.setattr(Tokenizer, "count_many", noted)
    return texts


VARIANTS = ["", "_front", "_mid", "_rear", "_nodoc", "_cut2k"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_case_of_a_published_file_is_counted_once(
    published: Path, words: str, encoded: list[str], variant: str
) -> None:
    name = f"ada_leval_bestanswer_1k{variant}"
    if variant.startswith("_cut"):  # cut inputs have lengths of their own
        (published / "stackselect_16k.json").write_text(json.dumps([record(i, 300) for i in range(20)]))
        name = f"ada_leval_bestanswer_16k{variant}"
    task = load(name, published, n=20, tokenizer=words)
    assert all(set(case.num_tokens) == {"cl100k", words} for case in task.cases.cases)
    _counted(task, "cl100k", words)
    if variant.startswith("_cut"):
        assert all(1800 < case.num_tokens["cl100k"] <= 2000 for case in task.cases.cases)
    encoded.clear()
    again = load(name, published, n=20, tokenizer=words)
    assert encoded == []
    assert again.cases.cases == task.cases.cases


def test_only_the_cases_that_run_are_counted(published: Path, words: str, encoded: list[str]) -> None:
    load("ada_leval_bestanswer_1k", published, n=1)  # the file is converted
    encoded.clear()
    load("ada_leval_bestanswer_1k", published, n=7)
    assert encoded == []
    load("ada_leval_bestanswer_1k", published, n=7, tokenizer=words)
    assert len(encoded) == 7
    load("ada_leval_bestanswer_1k", published, n=9, tokenizer=words)
    assert len(encoded) == 9


def test_published_sort_prompts_are_counted(published: Path, words: str) -> None:
    _counted(load("ada_leval_tsort_2k", published, tokenizer=words), "cl100k", words)


def test_a_cut_that_keeps_the_other_side_is_counted_anew(published: Path) -> None:
    row = record(0, 400)
    row["all_answers"][:200] = [f"\n{'many more words in here ' * 3}\n"] * 200
    (published / "stackselect_16k.json").write_text(json.dumps([row]))
    for side in ("front", "rear"):
        _counted(load("ada_leval_bestanswer_16k_cut2k", published, cut_keep=side), "cl100k")


def test_a_wrong_tokenizer_stops_before_anything_is_read(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="nobody/nothing"):
        load("ada_leval_bestanswer_1k", published, tokenizer="nobody/nothing")
    assert not (tmp_path / "cache" / "cases").exists()


def test_synthetic_cases_are_counted_in_any_tokenizer(published: Path, words: str, tmp_path: Path) -> None:
    for name in ("ada_leval_tsort_any_synthetic", "ada_leval_bestanswer_any_synthetic"):
        task = load(name, published, n=2, length="1k", tokenizer=words)
        _counted(task, "cl100k", words)
        assert task.options.tokenizer == words and {*task.cases.cases[0].num_tokens} == {"cl100k", words}
        measured = load(name, published, n=2, length="1k", tokenizer=words, length_policy="same_tokens")
        _counted(measured, "cl100k", words)
        assert measured.cases.cases[0].num_tokens != task.cases.cases[0].num_tokens


def test_a_tokenizer_that_changed_counts_anew(published: Path, words: str) -> None:
    first = load("ada_leval_bestanswer_1k", published, n=2, tokenizer=words)
    path = Path(words) / "tokenizer.json"
    path.write_text(path.read_text().replace('"WhitespaceSplit"', '"Whitespace"'))
    second = load("ada_leval_bestanswer_1k", published, n=2, tokenizer=words)
    _counted(second, words)
    assert second.cases.cases[0].num_tokens[words] > first.cases.cases[0].num_tokens[words]


def _build(folder: Path, **options: Any) -> Path:
    settings = TSortSettings((1000,), n=3, **options)
    build("ada_leval_tsort_synthetic", None, settings, folder / "ada_leval_tsort_synthetic")
    return folder


def _load_built(folder: Path, name: str = "ada_leval_tsort_any_synthetic", **options: Any) -> LoadedTask:
    given = {f"lct_{key}": value for key, value in options.items()}
    return load_task(name, resolve_options({"lct_cases": str(folder), **given}, {}))


@pytest.fixture
def built(tmp_path: Path, words: str) -> Path:
    """Cases of seed 3 that fill their length in tokens of a model."""
    return _build(tmp_path / "cases", seed=3, tokenizer=words, length_policy="same_tokens")


def test_results_say_what_cases_were_built_with(built: Path, words: str) -> None:
    task = _load_built(built)
    said = task.description()
    assert (said["lct_seed"], said["lct_length_policy"], said["lct_length"]) == (3, "same_tokens", 1000)
    assert said["lct_tokenizer"] == words
    _counted(task, "cl100k", words)
    # Another process of a host gets these as its options.
    again = load_task(task.name, resolve_options(task.options.resolved(), {}))
    assert again.options == task.options and again.cases.cases == task.cases.cases


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 0}, "built with seed 3, but lct_seed=0"),
        ({"length_policy": "same_information"}, "built with length policy same_tokens"),
        ({"tokenizer": "cl100k"}, "built with tokenizer .*words, but lct_tokenizer=cl100k"),
        ({"length": "2k"}, "no cases of ada_leval_tsort_2k_synthetic"),
    ],
)
def test_options_may_not_contradict_built_cases(built: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _load_built(built, **options)
    assert len(_load_built(built, seed=3, length_policy="same_tokens").cases) == 3


def test_a_copy_of_the_tokenizer_is_the_same(built: Path, tmp_path: Path) -> None:
    copy = other_tokenizer("plain words", tmp_path / "copy")
    task = _load_built(built, tokenizer=copy)
    assert task.options.tokenizer == copy
    _counted(task, "cl100k", copy)


def test_built_cases_are_counted_in_another_tokenizer(tmp_path: Path, words: str) -> None:
    task = _load_built(_build(tmp_path / "cases"), tokenizer=words)
    _counted(task, "cl100k", words)
    assert task.options.tokenizer == words and task.options.length_policy == "same_information"


def _posts(folder: Path) -> Path:
    return write_posts(folder, make_posts(5, 300, tags=4, words=40))


@pytest.mark.parametrize("variant", VARIANTS[1:-1])
def test_variants_of_built_cases_are_counted(tmp_path: Path, words: str, variant: str) -> None:
    build("ada_leval_bestanswer", _posts(tmp_path), BestAnswerSettings((1000,), n=5), tmp_path / "cases")
    task = _load_built(tmp_path / "cases", f"ada_leval_bestanswer_any{variant}", tokenizer=words)
    _counted(task, "cl100k", words)


def test_a_builders_tokenizer_that_is_gone_is_only_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    settings = BestAnswerSettings((1000,), n=3, tokenizer=words)
    build("ada_leval_bestanswer", _posts(tmp_path), settings, tmp_path / "cases")
    (Path(words) / "tokenizer.json").rename(tmp_path / "elsewhere.json")
    Path(words).rmdir()
    plain = _load_built(tmp_path / "cases", "ada_leval_bestanswer_any")
    assert all(set(case.num_tokens) == {"cl100k", words} for case in plain.cases.cases)
    assert not caplog.records
    moved = _load_built(tmp_path / "cases", "ada_leval_bestanswer_any_front")
    _counted(moved, "cl100k")
    assert set(moved.cases.cases[0].num_tokens) == {"cl100k"}
    assert "counted in cl100k only" in caplog.text
