"""The command `lct`: what a user types and reads."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from run_commands import lct

from long_context_tasks.cli import _COMMANDS
from long_context_tasks.schema import CaseSet

BUILD = "from long_context_tasks.cli import app; app(prog_name='lct')"


@pytest.fixture
def books(tmp_path: Path) -> Path:
    path = tmp_path / "books.jsonl"
    paragraphs = [f"Paragraph {i} " + "word " * (10 + i % 7) for i in range(600)]
    path.write_text(json.dumps({"id": "b", "title": "A Book", "paragraphs": paragraphs}), encoding="utf-8")
    return path


def test_help_is_quick_and_lists_the_commands():
    before = os.times()
    done = subprocess.run([sys.executable, "-c", BUILD, "--help"], capture_output=True, text=True, check=True)
    after = os.times()
    quick = after.children_user - before.children_user + after.children_system - before.children_system
    listed = re.findall(r"^\W*([a-z]+)  +[A-Z]", done.stdout, re.MULTILINE)
    assert listed == list(_COMMANDS)
    assert quick < 1  # 0.2 s of processor time, which other work on the machine hardly changes


def test_build_help_explains_every_option(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = lct("build", "--help")
    assert code == 0
    options = (
        "--length --out --books --posts --n --seed --tokenizer --length-policy --segments --segment-cap --before-cap "
        "--after-cap --stride --bounds --tags --questions-per-tag --shared-tags --min-fill"
    )
    lines = out.splitlines()
    for option in options.split():
        (line,) = (
            line
            for line in lines
            if re.search(rf"{option}\s", line) and "│" in line and line.index(option) < 10
        )
        assert len(line.split("<")[1].split(">")[1].strip(" │")) > 20, option


def test_build_from_books_with_an_ellipsis(books, tmp_path):
    out = tmp_path / "cases"
    words = ("--books", str(books), "--length", "1k,...,4k", "--out", str(out), "--stride", "20")
    code, text, errors = lct("build", "ada_leval_tsort", *words)
    assert (code, errors) == (0, "")
    for name in ("1k", "2k", "4k"):
        made = CaseSet.read(out / "ada_leval_tsort", f"ada_leval_tsort_{name}")
        sizes = [case.num_tokens["cl100k"] for case in made.cases]
        row = re.search(rf"ada_leval_tsort_{name} +(\d+) +1 +([\d,]+) +([\d,]+) +([\d,]+) +4.2", text)
        assert row, text
        numbers = [int(number.replace(",", "")) for number in row.groups()]
        assert numbers == [len(made), round(sum(sizes) / len(sizes)), min(sizes), max(sizes)]
    assert "the book ends before the case does" in text


def test_build_synthetic(tmp_path):
    task = "ada_leval_bestanswer_synthetic"
    code, text, _ = lct("build", task, "--length", "2k", "--seed", "7", "--n", "5", "--out", str(tmp_path))
    assert code == 0 and "2k_synthetic" in text
    made = CaseSet.read(tmp_path / task, task.replace("synthetic", "2k_synthetic"))
    assert len(made) == 5 and made.manifest["options"]["seed"] == 7


def test_build_from_posts_with_named_tags(tmp_path):
    from test_build_bestanswer import make_posts, write_posts

    path = write_posts(tmp_path, make_posts(5, 300, tags=4, words=40))
    path.write_text(
        path.read_text(encoding="utf-8").replace('"Body": "', '"Body": "\\u000e', 3), encoding="utf-8"
    )
    code, text, errors = lct(
        *(
            "build",
            "ada_leval_bestanswer",
            "--posts",
            str(path),
            "--length",
            "1k",
            "--out",
            str(tmp_path / "c"),
        ),
        *("--tags", "t1,t2", "--bounds", "round", "--shared-tags", "0.5", "--questions-per-tag", "100"),
        *("--same-as", "none", "--min-own", "0"),
    )
    assert code == 0 and "ada_leval_bestanswer_1k" in text
    assert "encoding: 1 of 1 files are UTF-8" in text
    assert errors == f"warning: {path}: 3 control characters were dropped\n"
    made = CaseSet.read(tmp_path / "c" / "ada_leval_bestanswer", "ada_leval_bestanswer_1k")
    assert all({"t1", "t2"} & set(case.labels["tags"]) for case in made.cases)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build", "ada_leval_tsrt", "--length", "2k"], "ada_leval_tsort (needs --books),"),
        (["build", "ada_leval_tsort", "--length", "2k"], "--books"),
        (["build", "ada_leval_bestanswer", "--length", "2k"], "--posts"),
        (["build", "ada_leval_tsort", "--length", "2x", "--books", "."], "2x"),
        (["build", "ada_leval_tsort", "--length", "2k", "--books", "missing"], "missing: no such file"),
        (["build", "ada_leval_tsort", "--length", "2k", "--books", ".", "--tags", "3"], "takes no --tags"),
        (["build", "ada_leval_bestanswer_synthetic", "--length", "2k", "--books", "."], "takes no --books"),
        (["build", "ada_leval_bestanswer_synthetic", "--length", "2k", "--stride", "3"], "takes no --stride"),
        (
            ["build", "ada_leval_bestanswer_synthetic", "--length", "2k", "--length-policy", "same_tokens"],
            "--tokenizer",
        ),
        (
            ["build", "ada_leval_bestanswer_synthetic", "--length", "2k", "--length-policy", "odd"],
            "same_information",
        ),
        (["tasks", "nonsense"], "nonsense"),
        (["data", "status", "nonsense"], "ada_leval"),
        (["data", "fetch", "ada_leval", "--file", "3k"], "3k"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, errors = lct(*words)
    assert (code, out) == (2, "")
    assert errors.startswith("error: ") and errors.count("\n") == 1 and message in errors
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_other_things_is_not_replaced(books, tmp_path):
    folder = tmp_path / "cases" / "ada_leval_tsort"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("my only copy", encoding="utf-8")
    code, _, errors = lct(
        "build", "ada_leval_tsort", "--books", str(books), "--length", "1k", "--out", str(folder.parent)
    )
    assert code == 2 and "not a folder of cases" in errors
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_paths():
    folder = lct("tasks", "--paths", "lm-eval").out.strip()
    assert (Path(folder) / "_lct_synthetic.yaml").is_file()
    assert Path(lct("tasks", "--paths", "opencompass").out.strip()).name == "configs"
