"""Published files to cases: in official order, nothing dropped in silence, damage named with its record."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.benchmarks.ada_leval import data
from long_context_tasks.benchmarks.ada_leval.bestanswer_choice import BestAnswerSettings
from long_context_tasks.benchmarks.ada_leval.build import build
from long_context_tasks.benchmarks.ada_leval.tsort_windows import TSortSettings
from long_context_tasks.schema import InputError, LoadedTask, resolve_options
from long_context_tasks.tokens import Tokenizer, get_tokenizer


def _record(number: int, answers: int = 3) -> dict[str, Any]:
    return {
        "question_id": str(1000 + number),
        "question": f"\nHow do I water plant {number}? {{braces}} – ünïcode\n",
        "all_answers": [f"\nAnswer {j} to {number}: pour slowly.\n" for j in range(1, answers + 1)],
        "answer": f"A{number % answers + 1}",
        "tags": ["garden"],
    }


def _tsort_record(number: int) -> dict[str, Any]:
    gold = [[4, 1, 3, 2], "[1, 2, 3, 4]"][number % 2]
    return {
        "book_id": f"book{number % 2}",
        "para_offset": [number, 7],
        "answer": gold,
        "prompt": f"Sort these {number}.",
    }


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with small files in the published form."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "data" / "ada_leval"
    folder.mkdir(parents=True)
    (folder / "stackselect_1k.json").write_text(json.dumps([_record(i) for i in range(1201)]))
    with gzip.open(folder / "textsort_2k.json.gz", "wt") as file:
        json.dump([_tsort_record(i) for i in range(6)], file)
    (folder / "stackselect_32k.json").write_text(json.dumps([_record(i) for i in range(205)]))
    return folder


def _load(name: str, published: Path, **options: Any) -> Any:
    given: Mapping[str, Any] = {f"lct_{key}": value for key, value in options.items()}
    return data.load_task(name, resolve_options({"lct_data_dir": str(published.parent), **given}, {}))


def test_cases_hold_what_the_file_holds(published: Path) -> None:
    task = _load("ada_leval_bestanswer_1k", published)
    case = task.cases.cases[1]
    record = _record(1)
    assert (case.id, case.turns[0].gold, case.cluster) == ("1001_A2", "A2", "1001")
    assert task.cases.documents[case.inputs["question"]] == record["question"]
    assert [task.cases.documents[key] for key in case.inputs["answers"]] == record["all_answers"]
    [message] = task.messages(case)
    assert message.role == "user"
    assert case.num_tokens == {"cl100k": get_tokenizer("cl100k").count(message.content)}
    assert case.labels["length"] == 1000


def test_subsets_are_the_first_in_file_order(published: Path) -> None:
    assert [len(_load("ada_leval_bestanswer_1k", published, subset=s).cases) for s in (1000, 200, 50)] == [
        1000,
        200,
        50,
    ]
    assert len(_load("ada_leval_bestanswer_1k", published).cases) == 1000
    assert len(_load("ada_leval_bestanswer_32k", published).cases) == 200
    few = _load("ada_leval_bestanswer_1k", published, n=5)
    assert [case.id.split("_")[0] for case in few.cases.cases] == ["1000", "1001", "1002", "1003", "1004"]


def test_cases_of_one_book_stand_together_after_the_subset(published: Path) -> None:
    task = _load("ada_leval_tsort_2k", published, n=5)
    assert [case.id for case in task.cases.cases] == [
        "book0_0_7",
        "book0_2_7",
        "book0_4_7",
        "book1_1_7",
        "book1_3_7",
    ]
    assert [case.turns[0].gold for case in task.cases.cases] == [[4, 1, 3, 2]] * 3 + [[1, 2, 3, 4]] * 2
    assert task.messages(task.cases.cases[3])[0].content == "Sort these 1."


def test_the_second_load_reads_the_cache(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _load("ada_leval_bestanswer_1k", published, n=3)
    monkeypatch.setattr(data, "convert", None)
    again = _load("ada_leval_bestanswer_1k", published, n=3)
    assert again.cases.cases == first.cases.cases


def test_a_changed_file_is_read_anew(published: Path) -> None:
    _load("ada_leval_bestanswer_1k", published, n=3)
    (published / "stackselect_1k.json").write_text(json.dumps([_record(7)]))
    assert [case.cluster for case in _load("ada_leval_bestanswer_1k", published).cases.cases] == ["1007"]


def test_repeated_ids_are_told_apart(published: Path) -> None:
    (published / "stackselect_1k.json").write_text(json.dumps([_record(1), _record(1)]))
    assert [case.id for case in _load("ada_leval_bestanswer_1k", published).cases.cases] == [
        "1001_A2",
        "1001_A2_2",
    ]


def test_missing_data_name_every_remedy(published: Path) -> None:
    with pytest.raises(InputError) as caught:
        _load("ada_leval_bestanswer_4k", published)
    for remedy in (
        "stackselect_4k.json",
        "lct data fetch ada_leval",
        "LCT_DATA_DIR",
        "lct build",
        "_synthetic",
    ):
        assert remedy in str(caught.value)


def test_any_needs_a_length(published: Path) -> None:
    with pytest.raises(InputError, match="lct_length"):
        _load("ada_leval_bestanswer_any", published)
    assert len(_load("ada_leval_bestanswer_any", published, length="1k", n=4).cases) == 4
    with pytest.raises(
        InputError, match=r"no published file of 3k .*lct build ada_leval_bestanswer --length 3k"
    ):
        _load("ada_leval_bestanswer_any", published, length="3k")


def _without(field: str) -> str:
    row = _record(1)
    del row[field]
    return json.dumps([_record(0), row])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps([_record(0), _record(1)])[:-30],
            r"stackselect_1k.json, after record 1: damaged or cut short",
        ),
        ("[]", "holds no records"),
        ("{}", "holds no records"),
        ("", "damaged or cut short"),
        ("not json", "damaged or cut short"),
        ("[1, 2]", "record 1: a int instead of an object"),
        (_without("question"), "record 2: field 'question'"),
        (_without("all_answers"), "record 2: field 'all_answers'"),
        (_without("answer"), "record 2: field 'answer'"),
        (json.dumps([{**_record(0), "tags": 5}]), "record 1: field 'tags'"),
        (json.dumps([{**_record(0), "answer": "A9"}]), "record 1: answer 'A9' names none of the 3 answers"),
        (
            json.dumps([{**_record(0), "all_answers": [1]}]),
            "record 1: field 'all_answers' must be a list of texts",
        ),
    ],
)
def test_damage_is_named_and_leaves_nothing(published: Path, tmp_path: Path, text: str, message: str) -> None:
    (published / "stackselect_1k.json").write_text(text)
    with pytest.raises(InputError, match=message):
        _load("ada_leval_bestanswer_1k", published)
    assert [path for path in (tmp_path / "cache").glob("cases/*") if path.suffix != ".lock"] == []


@pytest.mark.parametrize("answer", [[1, 2, 2, 4], "x", [], None, [0, 1, 2, 3], "{}"])
def test_a_gold_that_is_no_order_is_named(published: Path, answer: object) -> None:
    (published / "textsort_4k.json").write_text(json.dumps([{**_tsort_record(0), "answer": answer}]))
    with pytest.raises(InputError, match="record 1: field 'answer'"):
        _load("ada_leval_tsort_4k", published)


def test_a_cut_gzip_is_named(published: Path) -> None:
    path = published / "textsort_2k.json.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"textsort_2k.json.gz, after record \d: damaged or cut short"):
        _load("ada_leval_tsort_2k", published)


def test_the_official_file(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    options = resolve_options({"lct_data_dir": str(shared / "data")}, {})
    task = data.load_task("ada_leval_bestanswer_1k", options)
    assert len({case.id for case in task.cases.cases}) == len(task.cases) == 1000
    assert len({case.cluster for case in task.cases.cases}) == 997
    # Section 4.2: the mean of 1 / number of answers; 26.16 % over this file (the paper's 26.7 is over all 7,526 cases).
    assert round(100 * sum(1 / len(case.inputs["answers"]) for case in task.cases.cases) / 1000, 2) == 26.16
    # Table 1: at most 1,128 tokens.
    assert max(case.num_tokens["cl100k"] for case in task.cases.cases) <= 1128


def test_a_damaged_gzip_is_named(published: Path) -> None:
    path = published / "textsort_2k.json.gz"
    data = bytearray(path.read_bytes())
    data[20:40] = bytes(20)
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"textsort_2k.json.gz, after record \d: damaged or cut short"):
        _load("ada_leval_tsort_2k", published)


def test_results_carry_the_length_that_was_run(published: Path) -> None:
    assert _load("ada_leval_bestanswer_1k", published, length="24k", n=2).description()["lct_length"] == 1000


def test_published_files_have_one_length_policy(published: Path) -> None:
    with pytest.raises(InputError, match="same_information"):
        _load("ada_leval_bestanswer_1k", published, length_policy="same_tokens", tokenizer="cl100k")


# --- tokens of prompts -----------------------------------------------------------------------------------------


@pytest.fixture
def words(tmp_path: Path) -> str:
    """A folder with a tokenizer whose tokens are words."""
    return _words(tmp_path / "words")


def _words(folder: Path) -> str:
    from tokenizers import Tokenizer as Fast
    from tokenizers import models, pre_tokenizers

    folder.mkdir()
    fast = Fast(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    fast.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast.save(str(folder / "tokenizer.json"))
    return str(folder)


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
        (published / "stackselect_16k.json").write_text(json.dumps([_record(i, 300) for i in range(20)]))
        name = f"ada_leval_bestanswer_16k{variant}"
    task = _load(name, published, n=20, tokenizer=words)
    assert all(set(case.num_tokens) == {"cl100k", words} for case in task.cases.cases)
    _counted(task, "cl100k", words)
    if variant.startswith("_cut"):
        assert all(1800 < case.num_tokens["cl100k"] <= 2000 for case in task.cases.cases)
    encoded.clear()
    again = _load(name, published, n=20, tokenizer=words)
    assert encoded == []
    assert again.cases.cases == task.cases.cases


def test_only_the_cases_that_run_are_counted(published: Path, words: str, encoded: list[str]) -> None:
    _load("ada_leval_bestanswer_1k", published, n=1)  # the file is converted
    encoded.clear()
    _load("ada_leval_bestanswer_1k", published, n=7)
    assert encoded == []
    _load("ada_leval_bestanswer_1k", published, n=7, tokenizer=words)
    assert len(encoded) == 7
    _load("ada_leval_bestanswer_1k", published, n=9, tokenizer=words)
    assert len(encoded) == 9


def test_published_sort_prompts_are_counted(published: Path, words: str) -> None:
    _counted(_load("ada_leval_tsort_2k", published, tokenizer=words), "cl100k", words)


def test_a_cut_that_keeps_the_other_side_is_counted_anew(published: Path) -> None:
    row = _record(0, 400)
    row["all_answers"][:200] = [f"\n{'many more words in here ' * 3}\n"] * 200
    (published / "stackselect_16k.json").write_text(json.dumps([row]))
    for side in ("front", "rear"):
        _counted(_load("ada_leval_bestanswer_16k_cut2k", published, cut_keep=side), "cl100k")


def test_a_wrong_tokenizer_stops_before_anything_is_read(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="nobody/nothing"):
        _load("ada_leval_bestanswer_1k", published, tokenizer="nobody/nothing")
    assert not (tmp_path / "cache" / "cases").exists()


def test_synthetic_cases_are_counted_in_any_tokenizer(published: Path, words: str, tmp_path: Path) -> None:
    for name in ("ada_leval_tsort_any_synthetic", "ada_leval_bestanswer_any_synthetic"):
        task = _load(name, published, n=2, length="1k", tokenizer=words)
        _counted(task, "cl100k", words)
        assert task.options.tokenizer == words and {*task.cases.cases[0].num_tokens} == {"cl100k", words}
        measured = _load(name, published, n=2, length="1k", tokenizer=words, length_policy="same_tokens")
        _counted(measured, "cl100k", words)
        assert measured.cases.cases[0].num_tokens != task.cases.cases[0].num_tokens


def test_a_tokenizer_that_changed_counts_anew(published: Path, words: str) -> None:
    first = _load("ada_leval_bestanswer_1k", published, n=2, tokenizer=words)
    path = Path(words) / "tokenizer.json"
    path.write_text(path.read_text().replace('"WhitespaceSplit"', '"Whitespace"'))
    second = _load("ada_leval_bestanswer_1k", published, n=2, tokenizer=words)
    _counted(second, words)
    assert second.cases.cases[0].num_tokens[words] > first.cases.cases[0].num_tokens[words]


# --- built cases -----------------------------------------------------------------------------------------------


def _build(folder: Path, **options: Any) -> Path:
    settings = TSortSettings((1000,), n=3, **options)
    build("ada_leval_tsort_synthetic", None, settings, folder / "ada_leval_tsort_synthetic")
    return folder


def _load_built(folder: Path, name: str = "ada_leval_tsort_any_synthetic", **options: Any) -> LoadedTask:
    given = {f"lct_{key}": value for key, value in options.items()}
    return data.load_task(name, resolve_options({"lct_cases": str(folder), **given}, {}))


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> Path:
    """Cases of seed 3 that fill their length in tokens of a model."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    return _build(tmp_path / "cases", seed=3, tokenizer=words, length_policy="same_tokens")


def test_results_say_what_cases_were_built_with(built: Path, words: str) -> None:
    task = _load_built(built)
    expected = {
        "lct_seed": 3,
        "lct_length_policy": "same_tokens",
        "lct_tokenizer": words,
        "lct_length": 1000,
    }
    assert expected.items() <= task.description().items()
    _counted(task, "cl100k", words)
    # Another process of a host gets these as its options.
    again = data.load_task(task.name, resolve_options(task.options.resolved(), {}))
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
    copy = _words(tmp_path / "copy")
    task = _load_built(built, tokenizer=copy)
    assert task.options.tokenizer == copy
    _counted(task, "cl100k", copy)


def test_built_cases_are_counted_in_another_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    task = _load_built(_build(tmp_path / "cases"), tokenizer=words)
    _counted(task, "cl100k", words)
    assert task.options.tokenizer == words and task.options.length_policy == "same_information"


def _posts(folder: Path) -> Path:
    """A small forum in which every question has an accepted answer."""
    rows: list[dict[str, Any]] = []
    for question in range(1000, 1400, 10):
        common = {"CreationDate": f"2015-01-01T00:00:{question // 10 - 90:02}.000", "Score": 1}
        first = {"Id": question, "PostTypeId": 1, "AcceptedAnswerId": question + 1, "Tags": ["garden"]}
        rows.append({**common, **first, "Body": f"How do I water plant {question}?"})
        for answer in (question + 1, question + 2):
            body = f"Answer {answer}: " + "pour slowly and wait. " * 8
            rows.append({**common, "Id": answer, "PostTypeId": 2, "ParentId": question, "Body": body})
    path = folder / "Posts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("variant", VARIANTS[1:-1])
def test_variants_of_built_cases_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, variant: str
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    build(
        "ada_leval_bestanswer",
        _posts(tmp_path),
        BestAnswerSettings((1000,), n=5),
        tmp_path / "cases",
    )
    task = _load_built(tmp_path / "cases", f"ada_leval_bestanswer_any{variant}", tokenizer=words)
    _counted(task, "cl100k", words)


def test_a_builders_tokenizer_that_is_gone_is_only_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
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
