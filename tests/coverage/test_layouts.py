"""Files of other benchmarks, as they are published, give context, query and length."""

import json
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.cli.coverage import item_sources
from long_context_tasks.coverage.items import ItemSource
from long_context_tasks.schema import InputError, resolve_options

TEXT = "Anne walks to the mill.\n\nJane stays at home."


def written(file: Path, *rows: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def found(path: Path, *lengths: str) -> list[ItemSource]:
    return list(item_sources(str(path), resolve_options({}), (), lengths))


def test_l_eval_has_several_instructions_on_a_document(tmp_path: Path) -> None:
    row = {"instructions": ["Who?", "Where?"], "outputs": ["Anne", "mill"], "input": TEXT, "source": "x"}
    [source] = found(written(tmp_path / "quality.jsonl", row | {"evaluation": "exam"}))
    first, second = source.read(0), source.read(1)
    assert (source.task, source.length, first.id, second.id) == ("quality", "", "1_0", "1_1")
    assert first.context == second.context == TEXT and first.cluster == second.cluster
    assert (first.query, second.query) == ("Who?", "Where?")


def test_zero_scrolls_says_where_its_document_is(tmp_path: Path) -> None:
    before, after = "Answer the question.\n\nStory:\n", "\n\nQuestion:\nWho?\n\nAnswer:\n"
    start, end = len(before), len(before) + len(TEXT)
    places = {"document_start_index": start, "document_end_index": end, "query_start_index": end}
    row = {"id": "a", "pid": "a_0", "input": before + TEXT + after, "output": None, **places}
    written(tmp_path / "qmsum" / "test.jsonl", row | {"query_end_index": end + 10})
    [source] = found(tmp_path)
    assert source.task == "qmsum" and source.read(0).context == TEXT
    assert source.read(0).query == "Answer the question.\n\nStory:\n\n[...]\n\nQuestion:\nWho?\n\nAnswer:"


RULER = {
    "niah": (
        "A special magic number is hidden.\nThe grass is green.\nWhat is the special magic number for x mentioned?",
        "The grass is green.",
        "A special magic number is hidden.\n\n[...]\n\nWhat is the special magic number for x mentioned?",
    ),
    "vt": (
        "Memorize the chain.\n\nVAR A = 1\nQuestion: Find all\nQuestion: Find all variables",
        "VAR A = 1\nQuestion: Find all",
        "Memorize the chain.\n\n[...]\n\nQuestion: Find all variables",
    ),
    "fwe": ("Read the text. aa ... bb\nQuestion: Which?", "Read the text. aa ... bb", "Question: Which?"),
}


@pytest.mark.parametrize("task", RULER)
def test_ruler_ends_in_its_question(tmp_path: Path, task: str) -> None:
    text, context, query = RULER[task]
    row = {"index": 7, "input": text, "outputs": ["1"], "length": 3900}
    for length in ("4096", "8192"):
        # The index of a row need not be its own.
        written(tmp_path / "model" / length / "data" / task / "validation.jsonl", row, row)
    sources = found(tmp_path)
    assert [(source.task, source.length, len(source)) for source in sources] == [
        (task, "4096", 2),
        (task, "8192", 2),
    ]
    assert (sources[0].read(1).context, sources[0].read(1).query) == (context, query)
    [only] = found(tmp_path, "8192")
    assert only.length == "8192"
    with pytest.raises(InputError, match=r"holds no cases of 16k, only 4096, 8192; correct --length"):
        found(tmp_path, "16k")
    [loose] = found(written(tmp_path / "loose.jsonl", row))
    assert loose.length == "4096"
    [loose] = found(written(tmp_path / "loose.jsonl", row | {"max_length": 5000}))
    assert loose.length == "5k"


def test_long_bench_takes_its_instruction_from_the_code_of_the_benchmark(tmp_path: Path) -> None:
    row = {"input": "Who?", "context": TEXT, "answers": ["Anne"], "length": 9, "dataset": "hotpotqa"}
    row |= {"language": "en", "all_classes": None, "_id": "f0"}
    summary = row | {"input": "", "dataset": "gov_report"}
    file = written(tmp_path / "one" / "hotpotqa.jsonl", row)
    [source] = found(file)
    assert (source.task, source.length, source.read(0).id, source.read(0).query) == (
        *("hotpotqa", "", "f0", "Who?"),
    )
    with pytest.raises(InputError, match=r"gov_report has no question; put dataset2prompt.json"):
        found(written(tmp_path / "one" / "gov_report.jsonl", summary))
    prompts = {"hotpotqa": "Passages: {context}\nQuestion: {input}", "gov_report": "{context}\nSummarize."}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "dataset2prompt.json").write_text(json.dumps(prompts))
    written(tmp_path / "two" / "a.jsonl", row)
    written(tmp_path / "two" / "b.jsonl", summary)
    queries = {source.task: source.read(0).query for source in found(tmp_path / "two")}
    assert queries == {"hotpotqa": "Passages: [...]\nQuestion: Who?", "gov_report": "[...]\nSummarize."}
    [extended] = found(written(tmp_path / "two" / "hotpotqa_e.jsonl", row | {"dataset": "hotpotqa_e"}))
    assert extended.read(0).query == "Passages: [...]\nQuestion: Who?"


def test_infinite_bench_shows_its_options(tmp_path: Path) -> None:
    row = {"id": 3, "context": TEXT, "input": "Who walks?", "answer": ["Anne"], "options": ["Anne", "Jane"]}
    [source] = found(written(tmp_path / "longbook_choice_eng.jsonl", row))
    assert (source.task, source.read(0).id, source.read(0).context) == ("longbook_choice_eng", "3", TEXT)
    assert source.read(0).query == "Who walks?\nA. Anne\nB. Jane"


def test_loong_reads_its_documents(tmp_path: Path) -> None:
    template = "{docs}\n\n{instruction}\n\n{question}"
    common = {"level": 1, "question": "Which?", "answer": "A", "prompt_template": template, "language": "en"}
    paper = common | {
        "id": "p",
        "set": 1,
        "type": "paper",
        "doc": ["a.md", "b.md"],
        "instruction": "Compare.",
    }
    financial = common | {"id": "f", "set": 4, "type": "financial", "doc": ["Mill"], "instruction": "Read."}
    legal = common | {"id": "l", "set": 2, "type": "legal", "doc": ["x"], "instruction": "Read."}
    matched = legal | {"id": "m", "level": 4, "instruction": "我将给你若干份判决结果："}
    file = written(tmp_path / "loong.jsonl", paper, financial, legal, matched)
    with pytest.raises(InputError, match=r"document a.md of paper cannot be read .* put the folder doc"):
        found(file)
    for name, text in (("paper/a.md", "# A"), ("paper/b.md", "# B"), ("financial/2024-Mill-j.txt", "Sales.")):
        (tmp_path / "doc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "doc" / name).write_text(text)
    (tmp_path / "doc" / "financial" / "2023-Mill-j.txt").write_text("Old sales.")
    (tmp_path / "doc" / "legal").mkdir()
    (tmp_path / "doc" / "legal" / "legal.json").write_text(
        '{"x": {"content": "Facts.", "result": "Guilty."}}'
    )
    sources = {(source.domain, source.length): source for source in found(file)}
    assert list(sources) == [("paper", "50k"), ("financial", "250k"), ("legal", "100k")]
    assert sources["paper", "50k"].read(0).context == "# A\n\n# B"
    assert sources["paper", "50k"].read(0).query == "[...]\n\nCompare.\n\nWhich?"
    assert sources["financial", "250k"].read(0).context == "《j》\nSales."
    law = sources["legal", "100k"]
    assert (law.read(0).context, law.read(1).context) == ("Facts.Guilty.", "Facts.")


def test_a_row_that_only_looks_like_a_layout_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "x.jsonl", {"input": "no query", "outputs": [], "length": 3})
    with pytest.raises(InputError, match=r"row 1: does not have its benchmark's layout \(.*no question"):
        found(file)
