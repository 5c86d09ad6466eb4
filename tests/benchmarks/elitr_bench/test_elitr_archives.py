"""The published archives, on invented meetings: reading, and errors with their remedies."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from invented_meetings import (
    QUESTIONS,
    TEXTS,
    encrypted_zip,
    question_members,
    questions_json,
    transcript_tar,
    write_archives,
)

from long_context_tasks.benchmarks.elitr_bench.archives import Archives, prepare_transcripts, read_text
from long_context_tasks.schema import InputError


def test_everything_is_read_and_nothing_written(tmp_path: Path) -> None:
    archives = Archives(write_archives(tmp_path))
    before = sorted(tmp_path.rglob("*"))
    dev = archives.questions("dev")
    assert [meeting.id for meeting in dev] == ["meeting_en_dev_001", "meeting_en_dev_002"]
    assert [tuple(vars(question).values())[:5] for question in dev[0].questions] == QUESTIONS[dev[0].id]
    assert archives.questions("dev", conv=True)[0].questions[1].text == "When does it open?"
    assert archives.questions("test", czech=True)[0].questions[0].answer == "Česky: The boat"
    assert archives.transcripts("dev") == {
        "meeting_en_dev_001": TEXTS["meeting_en_dev_001"],
        "meeting_en_dev_002": "(PERSON3) We have two kites and one {transcript}.\n(PERSON1) Good.\nBye.",
    }
    responses = archives.responses("qa_dev_st_all-eval")
    assert len(responses) == 6
    one = responses[1]
    assert (one.meeting, one.question.id, one.model) == ("meeting_en_dev_001", "1", "Owl-13B")
    assert one.scores == {"gpt-4": "9", "silver-human": "9.5"}
    assert sorted(tmp_path.rglob("*")) == before


def test_missing_archives_are_named_with_remedies(folder: Path) -> None:
    (folder / "czech.zip").unlink()
    archives = Archives(folder)
    for read in (archives.questions, archives.paths):
        with pytest.raises(
            InputError, match=r"czech\.zip is missing.*lct data fetch elitr_bench.*LCT_DATA_DIR"
        ):
            read("dev", czech=True)
    assert archives.paths("dev")
    with pytest.raises(InputError, match=r"holds no .*conv_dev.* \(it has: .*qa_dev_st_all-eval\.json\)"):
        archives.responses("conv_dev_mt_gpt-4-eval")


@pytest.mark.parametrize("keep", [0, 10, 200, 0.5, 0.99])
def test_a_cut_archive(folder: Path, keep: float) -> None:
    for name in ("data.zip", "ELITR-English-dev.tar.zip"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(keep if keep > 1 else keep * len(data))])
    for read in (Archives(folder).questions, Archives(folder).transcripts):
        with pytest.raises(InputError, match=r"\.zip: damaged or cut short .*fetch it again"):
            read("dev")


def _empty_tar() -> bytes:
    buffer = io.BytesIO()
    tarfile.open(fileobj=buffer, mode="w").close()
    return buffer.getvalue()


def test_another_password_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"data\.zip: .*assword.*fetch it again"):
        Archives(write_archives(tmp_path, "another")).questions("dev")


def _damaged(data: bytes) -> bytes:
    return data[:100] + bytes(byte ^ 0xFF for byte in data[100:140]) + data[140:]


NOT_UTF_8 = {"ELITR-English-dev/meeting_en_dev_003/transcript_MAN_x.txt": b"ok \xff"}


@pytest.mark.parametrize(
    ("tar", "words"),
    [
        (None, "damaged"),
        (b"no tar at all", "damaged"),
        (_empty_tar(), "no transcript_MAN"),
        (transcript_tar("dev", NOT_UTF_8), "meeting_en_dev_003: not UTF-8 at byte 3"),
    ],
    ids=["flipped bytes", "no tar", "empty tar", "not UTF-8"],
)
def test_transcripts_that_cannot_be_read(folder: Path, tar: bytes | None, words: str) -> None:
    path = folder / "ELITR-English-dev.tar.zip"
    content = _damaged(path.read_bytes()) if tar is None else encrypted_zip({"ELITR-English-dev.tar": tar})
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        Archives(folder).transcripts("dev")


MEETINGS = questions_json("dev")["meetings"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ([], "must be keys and values"),
        ({"split": "test2"}, "says it is split 'test2', not 'dev'"),
        ({"meetings": []}, "meetings .*at least 1 item"),
        ({"meetings": [*MEETINGS, MEETINGS[0]]}, "meeting_en_dev_001 is there twice"),
        (("id", 1), "meetings, item 1, questions, item 1, id must be text"),
        (("question", None), "item 1, question must be text"),
        (("question-type", "why"), "question-type must be 'who', 'what'"),
        (("answer-position", "X"), "answer-position must be 'B', 'M'"),
        (("id", "2"), "meeting_en_dev_001: question 2 is there twice"),
    ],
)
def test_records_of_another_shape(folder: Path, change: Any, words: str) -> None:
    row: Any = questions_json("dev")
    if isinstance(change, tuple):
        row["meetings"][0]["questions"][0].update([change])
    else:
        row = row | change if isinstance(change, dict) else change
    members = question_members() | {"data/elitr-bench-qa_dev.json": json.dumps(row).encode()}
    (folder / "data.zip").write_bytes(encrypted_zip(members))
    with pytest.raises(InputError, match=r"data\.zip, data/elitr-bench-qa_dev\.json.*" + words):
        Archives(folder).questions("dev")


def test_official_preparation() -> None:
    files = [
        ("c/dev/m1/transcript_MAN_a.txt", b"first"),
        ("c/dev/m1/transcript_MAN2_b.txt", b"last one wins"),
        ("c/dev/m1/sub/transcript_MAN_c.txt", b"named after its folder"),
        ("c/test/m2/transcript_MAN_a.txt", b"another split"),
        ("c/test2/m3/atranscript_MAN_a.txt", b"another name"),
        ("c/test2/m3/transcript_ASR_a.txt", b"another kind"),
    ]
    assert prepare_transcripts(files) == {"m1": b"last one wins", "sub": b"named after its folder"}


def test_text_is_read_as_in_text_mode(tmp_path: Path) -> None:
    data = "\ufeffa\r\nb\rc\n\n \x0b\x0c\x85\u2028d".encode()
    path = tmp_path / "t"
    path.write_bytes(data)
    with path.open(encoding="utf-8") as file:
        assert read_text(data, "here") == file.read()
