"""`lct` and `lct build` as a user types them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from run_commands import lct

from long_context_tasks.cli import _COMMANDS
from long_context_tasks.schema import CaseSet

SEEDED = ["build", "ada_leval_bestanswer_synthetic", "--length", "2k"]


@pytest.fixture
def books(tmp_path: Path) -> Path:
    path = tmp_path / "books.jsonl"
    paragraphs = [
        f"P{chr(122 - i % 26)}{chr(97 + i // 26)} " + "word " * (10 + i % 7) + "ends." for i in range(600)
    ]
    path.write_text(json.dumps({"id": "b", "title": "A Book", "paragraphs": paragraphs}), encoding="utf-8")
    return path


def test_help_lists_the_commands():
    program = "from long_context_tasks.cli import app; app(prog_name='lct')"
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True
    )
    listed = re.findall(r"^\W*([a-z]+)  +[A-Z]", done.stdout, re.MULTILINE)
    assert listed == list(_COMMANDS)


def test_build_help_explains_the_options_of_the_named_builder(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for words, there, missing in (
        (("build",), {"--books", "--posts", "--min-fill", "--out"}, set()),
        (("build", "ada_leval_tsort"), {"--books", "--segments", "--out"}, {"--posts", "--min-fill"}),
        (("build", "merge"), {"--out"}, {"--books", "--seed"}),
    ):
        done = lct(*words, "--help")
        options = dict(re.findall(r"│ (--[a-z-]+).*<[a-z]+> +(\S.*?) *│", done.out))
        assert done.code == 0 and there <= set(options) and not missing & set(options), words
        assert all(len(explained) > 20 for explained in options.values())


def test_build_from_books_with_an_ellipsis(books, tmp_path):
    out = tmp_path / "cases"
    words = ("--books", str(books), "--length", "1k,...,4k", "--out", str(out), "--stride", "20")
    code, text, errors = lct("build", "ada_leval_tsort", *words)
    assert (code, errors) == (0, "")
    for name in ("1k", "2k", "4k"):
        made = CaseSet.read(out / "ada_leval_tsort", f"ada_leval_tsort_{name}")
        sizes = [case.num_tokens["cl100k"] for case in made.cases]
        row = re.search(rf"ada_leval_tsort_{name} +(\d+) +1 +([\d,.]+) +([\d,]+) +([\d,]+) +4.2", text)
        assert row, text
        numbers = [round(float(number.replace(",", ""))) for number in row.groups()]
        assert numbers == [len(made), round(sum(sizes) / len(sizes)), min(sizes), max(sizes)]
    assert "the book ends before the case does" in text


def test_build_synthetic_and_merge_shards(tmp_path):
    done = lct(*SEEDED, "--seed", "7", "--n", "5", "--out", tmp_path / "whole")
    assert done.code == 0 and "2k_synthetic" in done.out
    made = CaseSet.read(tmp_path / "whole" / SEEDED[1], "ada_leval_bestanswer_2k_synthetic")
    assert len(made) == 5 and made.manifest["options"]["seed"] == 7
    for shard in ("1/2", "2/2"):
        assert lct(*SEEDED, "--seed", "7", "--n", "5", "--out", tmp_path, "--shard", shard).code == 0
    done = lct("build", "merge", "--out", tmp_path)
    assert done.code == 0 and re.search(r"2k_synthetic +5\s", done.out)
    merged = CaseSet.read(tmp_path / SEEDED[1], "ada_leval_bestanswer_2k_synthetic")
    assert [case.to_json() for case in merged.cases] == [case.to_json() for case in made.cases]


def test_build_from_posts_with_named_tags(tmp_path):
    from test_build_bestanswer import make_posts, write_posts

    path = write_posts(tmp_path, make_posts(5, 300, tags=4, words=40))
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"Body": "', '"Body": "\\u000e', 3), encoding="utf-8")
    options = "--length 1k --tags t1,t2 --bounds round --shared-tags 0.5 --questions-per-tag 100 --same-as none --min-own 0"
    done = lct("build", "ada_leval_bestanswer", "--posts", path, "--out", tmp_path / "c", *options.split())
    assert done.code == 0 and "ada_leval_bestanswer_1k" in done.out
    assert "encoding: 1 of 1 files are UTF-8" in done.out
    assert done.err == f"warning: {path}: 3 control characters were dropped\n"
    made = CaseSet.read(tmp_path / "c" / "ada_leval_bestanswer", "ada_leval_bestanswer_1k")
    assert all({"t1", "t2"} & set(case.labels["tags"]) for case in made.cases)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("build ada_leval_tsrt --length 2k", "ada_leval_tsort (needs --books),"),
        ("build ada_leval_tsort --length 2k", "--books"),
        ("build ada_leval_tsort --length 2x --books .", "2x"),
        ("build ada_leval_tsort --length 2k --books missing", "missing: no such file"),
        ("build ada_leval_tsort --length 2k --books . --tags 3", "takes no --tags"),
        ("build ada_leval_tsort --length 2k --books . --shard 1/2", "leave out --shard"),
        (f"{' '.join(SEEDED)} --books .", "takes no --books"),
        (f"{' '.join(SEEDED)} --length-policy same_tokens", "--tokenizer"),
        (f"{' '.join(SEEDED)} --length-policy odd", "same_information"),
        ("build merge --length 2k", "takes only --out"),
        ("build merge", "there are no shards"),
        ("tasks nonsense", "nonsense"),
        ("compare results", "no such command 'compare'; did you mean `lct judge compare` or"),
        ("data status nonsense", "ada_leval"),
        ("data fetch ada_leval --file 3k", "3k"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, errors = lct(*words.split())
    assert (code, out) == (2, "")
    assert errors.startswith("error: ") and errors.count("\n") == 1 and message in errors
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_other_things_is_not_replaced(books, tmp_path):
    folder = tmp_path / "cases" / "ada_leval_tsort"
    folder.mkdir(parents=True)
    (folder / "thesis.txt").write_text("my only copy", encoding="utf-8")
    done = lct("build", "ada_leval_tsort", "--books", books, "--length", "1k", "--out", folder.parent)
    assert done.code == 2 and "not a folder of cases" in done.err
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_paths_of_the_hosts_files():
    folder = lct("tasks", "--paths", "lm-eval").out.strip()
    assert (Path(folder) / "_lct_synthetic.yaml").is_file()
    assert Path(lct("tasks", "--paths", "opencompass").out.strip()).name == "configs"


def test_the_demo_builds_the_cases_of_its_tasks(tmp_path):
    from rich.console import Console

    from long_context_tasks.benchmarks.catalogue import demo
    from long_context_tasks.cli.demo import _build

    names = demo().demo["tasks"]
    _build(names, 1, tmp_path, Console(stderr=True))
    found = [path.stem for path in (tmp_path / "cases").rglob("*.jsonl") if "documents" not in path.stem]
    assert sorted(found) == sorted(names)
