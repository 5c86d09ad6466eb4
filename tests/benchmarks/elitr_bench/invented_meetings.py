"""Archives of the published shape with invented meetings, encrypted as the published ones are."""

import io
import json
import os
import struct
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PASSWORD = "utter"
TEXTS = {
    "meeting_en_dev_001": "(PERSON1) Hello.\n(PERSON2) The bakery opens on Monday.\n",
    "meeting_en_dev_002": "(PERSON3) We have two kites and one {transcript}.\r\n(PERSON1) Good.\rBye.",
    "meeting_en_test2_001": "(PERSON4) The boat leaves at noon.\n",
}
QUESTIONS = {
    "meeting_en_dev_001": [
        ("1", "who", "B", "Who said hello?", "(PERSON1)"),
        ("2", "when", "E", "When does the bakery open?", "On Monday"),
    ],
    "meeting_en_dev_002": [("1", "howmany", "S", " How many kites are there? ", "Two")],
    "meeting_en_test2_001": [("1", "what", "M", "What leaves at noon?", "The boat")],
}
CONV = {("meeting_en_dev_001", "2"): "When does it open?"}


def _key_step(keys: list[int], byte: int) -> None:
    keys[0] = ~zlib.crc32(bytes([byte]), ~keys[0] & 0xFFFFFFFF) & 0xFFFFFFFF
    keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & 0xFFFFFFFF
    keys[2] = ~zlib.crc32(bytes([keys[1] >> 24]), ~keys[2] & 0xFFFFFFFF) & 0xFFFFFFFF


def _encrypt(data: bytes, password: str) -> bytes:
    """Traditional PKWARE encryption (APPNOTE.TXT, section 6.1)."""
    keys = [0x12345678, 0x23456789, 0x34567890]
    for byte in password.encode():
        _key_step(keys, byte)
    out = bytearray()
    for byte in data:
        k = (keys[2] | 2) & 0xFFFF
        out.append(byte ^ ((k * (k ^ 1) >> 8) & 0xFF))
        _key_step(keys, byte)
    return bytes(out)


def encrypted_zip(members: Mapping[str, bytes], password: str | None = PASSWORD) -> bytes:
    """A ZIP archive; without a password a plain one. The standard library can read such files but not write them."""
    body, directory = bytearray(), bytearray()
    for name, data in members.items():
        crc = zlib.crc32(data)
        pressed = zlib.compressobj(wbits=-15)
        packed = pressed.compress(data) + pressed.flush()
        if password is not None:
            # The last byte of the salt is what zipfile checks a password by.
            packed = _encrypt(os.urandom(11) + bytes([crc >> 24]) + packed, password)
        flags = 0x801 if password is not None else 0x800
        head = struct.pack(
            "<HHHHHIIIHH", 20, flags, 8, 0, 0x21, crc, len(packed), len(data), len(name.encode()), 0
        )
        entry = struct.pack("<IH", 0x02014B50, 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += entry + name.encode()
        body += struct.pack("<I", 0x04034B50) + head + name.encode() + packed
    n = len(members)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, n, n, len(directory), len(body), 0)
    return bytes(body + directory + end)


def questions_json(split: str, conv: bool = False, czech: bool = False) -> dict[str, Any]:
    """A question file of the invented meetings."""
    meetings = []
    for meeting, questions in QUESTIONS.items():
        if f"_{split}_" not in meeting:
            continue
        rows = []
        for number, kind, position, question, answer in questions:
            text = CONV.get((meeting, number), question) if conv else question
            prefix = "Česky: " if czech else ""
            rows.append(
                {
                    "id": number,
                    "question-type": kind,
                    "answer-position": position,
                    "question": prefix + text,
                    "groundtruth-answer": prefix + answer,
                }
            )
        meetings.append({"id": meeting, "questions": rows})
    return {"split": split, "meetings": meetings}


def question_members(czech: bool = False) -> dict[str, bytes]:
    """Members of data.zip or czech.zip."""
    folder, stem = ("czech", "elitr-bench-czech") if czech else ("data", "elitr-bench")
    members = {f"{folder}/.DS_Store": b"\x00\x01"}
    for split in ("dev", "test2"):
        for setting in ("qa", "conv"):
            row = questions_json(split, setting == "conv", czech)
            members[f"{folder}/{stem}-{setting}_{split}.json"] = json.dumps(row).encode()
    return members


def transcript_tar(split: str, extra: Mapping[str, bytes] | None = None) -> bytes:
    """The tar of a split (dev, test), with the stray files of the published ones."""
    root = f"ELITR-English-{split}"
    files: dict[str, bytes] = {}
    for meeting, text in TEXTS.items():
        if f"_{split}" in meeting:
            files |= {
                f"{root}/{meeting}/._transcript_MAN_annot01.txt": b"\x00\x05\x16\x07",
                f"{root}/{meeting}/transcript_MAN_annot01.txt": text.encode(),
                f"{root}/{meeting}/alignment+transcript_MAN_annot01.txt": b"1 2",
                f"{root}/{meeting}/{meeting}.txt": b"an older copy",
                f"{root}/{meeting}/minutes_GENER.txt": b"minutes",
            }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in {**files, **(extra or {})}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo(f"{root}/meeting_en_dev_001/transcript_MAN_link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tar.addfile(link)
    return buffer.getvalue()


def response_members() -> dict[str, bytes]:
    """Members of generated-responses.zip."""
    row = questions_json("dev")
    for meeting in row["meetings"]:
        for question in meeting["questions"]:
            question["generated-responses"] = [
                {
                    "model": model,
                    "generated-response": f"{model} says so.",
                    "gpt-4-eval_score": score,
                    "silver-human-eval_score": f"{score}.5",
                }
                for model, score in (("Parrot-7B", "3"), ("Owl-13B", "9"))
            ]
    return {"generated-responses/elitr-bench-qa_dev_st_all-eval.json": json.dumps(row).encode()}


def write_archives(root: Path, password: str | None = PASSWORD) -> Path:
    """Write all five archives into ``root/elitr_bench`` and return that folder."""
    folder = root / "elitr_bench"
    folder.mkdir(parents=True)
    (folder / "data.zip").write_bytes(encrypted_zip(question_members(), password))
    (folder / "czech.zip").write_bytes(encrypted_zip(question_members(czech=True), password))
    (folder / "generated-responses.zip").write_bytes(encrypted_zip(response_members(), password))
    for split in ("dev", "test"):
        tar = {f"ELITR-English-{split}.tar": transcript_tar(split)}
        (folder / f"ELITR-English-{split}.tar.zip").write_bytes(encrypted_zip(tar, password))
    return folder
