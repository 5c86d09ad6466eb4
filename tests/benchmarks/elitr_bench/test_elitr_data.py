"""Cases from the archives, on invented meetings."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from invented_meetings import TEXTS, encrypted_zip, question_members, questions_json, transcript_tar

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.elitr_bench import BENCHMARK, data, prompts
from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions
from long_context_tasks.schema import InputError
from long_context_tasks.tokens import CL100K, get_tokenizer


def test_single_turn_cases(options: ElitrBenchOptions) -> None:
    task = load_task("elitr_bench_qa_dev", options)
    cases = task.cases.cases
    first, second, third = cases
    assert [case.id for case in cases] == [f"meeting_en_dev_{name}" for name in ("001_1", "001_2", "002_1")]
    assert (second.cluster, second.document) == ("meeting_en_dev_001", "meeting_en_dev_001")
    assert second.labels == {"split": "dev", "language": "english"}
    labels = {"question_id": "2", "question_type": "when", "answer_position": "E"}
    assert second.turns[0].labels == {**labels, "qa_conv_differs": True}
    assert not first.turns[0].labels["qa_conv_differs"] and not third.turns[0].labels["qa_conv_differs"]
    assert (task.answer_budget, task.metrics[0]) == (512, "judge_score")
    (message,) = task.messages(second)
    assert TEXTS["meeting_en_dev_001"] in message.content
    assert message.content.endswith("When does the bakery open?")
    assert task.score(second, "On Monday", None)["judge_score"].reason == "not_judged"
    for case in cases:
        counted = get_tokenizer(CL100K).count(task.messages(case)[0].content)
        assert case.num_tokens == {CL100K: counted}


@pytest.mark.parametrize("name", ["elitr_bench_qa_dev_multiturn", "elitr_bench_conv_dev"])
def test_multi_turn_cases(options: ElitrBenchOptions, name: str) -> None:
    task = load_task(name, options)
    first, second = task.cases.cases
    assert (first.id, second.id, first.task) == ("meeting_en_dev_001", "meeting_en_dev_002", name)
    asked = "When does it open?" if "conv" in name else "When does the bakery open?"
    assert [turn.question for turn in first.turns] == ["Who said hello?", asked]
    sent = prompts.messages(first, task.cases.documents, 1, ["(PERSON2)"])
    assert [message.content for message in sent[1:]] == ["(PERSON2)", asked]


def test_the_case_records_the_gold_history(options: ElitrBenchOptions) -> None:
    task = load_task("elitr_bench_conv_dev_goldhistory", options)
    case = task.cases.cases[0]
    assert case.task == "elitr_bench_conv_dev_goldhistory" and not case.num_tokens
    assert prompts.messages(case, task.cases.documents, 1)[1].content == "(PERSON1)"


def test_czech_cases(options: ElitrBenchOptions) -> None:
    task = load_task("elitr_bench_qa_test_czech", options)
    [case] = task.cases.cases
    [message] = task.messages(case)
    assert "formulated in Czech" in message.content
    assert message.content.endswith("Česky: What leaves at noon?")
    assert case.labels == {"split": "test", "language": "czech"}


@pytest.mark.parametrize(
    ("style", "markers", "end"),
    [
        ("vicuna_v1.1", True, "QUESTION: Who said hello? ANSWER: ASSISTANT:"),
        ("longalign", False, "Who said hello?[/INST]"),
        ("gpt", False, "Who said hello?"),
    ],
)
def test_other_prompt_styles(options: ElitrBenchOptions, style: str, markers: bool, end: str) -> None:
    task = load_task("elitr_bench_qa_dev", replace(options, prompt_style=style, question_markers=markers))
    case = task.cases.cases[0]
    assert task.messages(case)[-1].content.endswith(end)
    assert not case.num_tokens


def test_n_takes_the_first_cases(options: ElitrBenchOptions) -> None:
    task = load_task("elitr_bench_qa_dev", replace(options, n=2, length=4000, answer_budget=64))
    assert [case.id[-1] for case in task.cases.cases] == ["1", "2"]
    assert task.answer_budget == 64 and "lct_length" not in task.description()


def test_a_second_load_reads_the_cache(options: ElitrBenchOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_task("elitr_bench_qa_dev", options).cases.cases
    monkeypatch.setattr(data, "convert", lambda *arguments: pytest.fail("made again"))
    assert load_task("elitr_bench_qa_dev", options).cases.cases == first
    assert load_task("elitr_bench_conv_dev_goldhistory", options).cases.cases


def test_changed_archives_give_new_cases(options: ElitrBenchOptions) -> None:
    assert len(load_task("elitr_bench_qa_test", options).cases) == 1
    row = questions_json("test2")
    row["meetings"][0]["questions"][0]["question"] = "What sails?"
    members = question_members() | {
        f"data/elitr-bench-{setting}_test2.json": json.dumps(row).encode() for setting in ("qa", "conv")
    }
    assert options.data_dir is not None
    (options.data_dir / "elitr_bench" / "data.zip").write_bytes(encrypted_zip(members))
    assert load_task("elitr_bench_qa_test", options).cases.cases[0].turns[0].question == "What sails?"


def test_a_damaged_archive_leaves_no_folder(options: ElitrBenchOptions, tmp_path: Path) -> None:
    assert options.data_dir is not None
    (options.data_dir / "elitr_bench" / "data.zip").write_bytes(b"PK")
    with pytest.raises(InputError, match="damaged"):
        load_task("elitr_bench_qa_dev", options)
    assert not [path for path in (tmp_path / "cache" / "cases").iterdir() if path.is_dir()]


SHORTER = questions_json("dev", conv=True)
SHORTER["meetings"][0]["questions"].pop()
BLANK = {"ELITR-English-dev/meeting_en_dev_002/transcript_MAN_annot02.txt": b" \n"}
TAR = "ELITR-English-dev.tar"


@pytest.mark.parametrize(
    ("name", "members", "words"),
    [
        (
            f"{TAR}.zip",
            {TAR: transcript_tar("test2")},
            r"no transcript of meeting_en_dev_001, meeting_en_dev_002, or an empty one \(there are: meeting_en_test2",
        ),
        (
            f"{TAR}.zip",
            {TAR: transcript_tar("dev", BLANK)},
            "no transcript of meeting_en_dev_002, or an empty one",
        ),
        (
            "data.zip",
            question_members() | {"data/elitr-bench-conv_dev.json": json.dumps(SHORTER).encode()},
            r"QA and Conv files do not have the same .*\(meeting_en_dev_001, question 2, only in QA\)",
        ),
    ],
    ids=["missing transcript", "empty transcript", "other questions"],
)
def test_archives_that_do_not_belong_together(
    options: ElitrBenchOptions, name: str, members: dict[str, bytes], words: str
) -> None:
    assert options.data_dir is not None
    (options.data_dir / "elitr_bench" / name).write_bytes(encrypted_zip(members))
    with pytest.raises(InputError, match=words):
        load_task("elitr_bench_qa_dev", options)


def test_archives_are_found_or_reported(options: ElitrBenchOptions) -> None:
    assert BENCHMARK.has_data("elitr_bench_qa_dev", options) and options.data_dir is not None
    (options.data_dir / "elitr_bench" / "czech.zip").unlink()
    with pytest.raises(InputError, match=r"czech\.zip is missing"):
        BENCHMARK.has_data("elitr_bench_qa_dev_czech", options)


def test_options_that_do_not_go_with_it(options: ElitrBenchOptions, tmp_path: Path) -> None:
    for changed, words in (
        (replace(options, cases=tmp_path), "lct_cases"),
        (replace(options, subset=50), "lct_subset"),
    ):
        with pytest.raises(InputError, match=words):
            load_task("elitr_bench_qa_dev", changed)
