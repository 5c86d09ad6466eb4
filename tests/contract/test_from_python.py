"""The page for notebooks runs from top to bottom and shows what its code prints."""

import ast
import doctest
import importlib.util
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from both_hosts import write_published_files
from written_book import sorting_cases

import long_context_tasks as lct

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/from_python.md"
FENCE = re.compile(r"^```(python|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run_cell(code: str, names: dict[str, object]) -> str:
    """Run a cell as a notebook does: the value of a last expression is shown."""
    cell = ast.parse(code)
    last = cell.body[-1]
    shown = io.StringIO()
    with redirect_stdout(shown):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(cell.body[:-1], []), PAGE.name, "exec"), names)
            value = eval(compile(ast.Expression(last.value), PAGE.name, "eval"), names)
            if value is not None:
                print(repr(value))
        else:
            exec(compile(cell, PAGE.name, "exec"), names)
    return shown.getvalue()


def test_the_page_runs_and_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("polars")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    blocks = FENCE.findall(PAGE.read_text(encoding="utf-8"))
    assert sum(kind == "python" for kind, _ in blocks) > 10
    same = doctest.OutputChecker().check_output
    names: dict[str, object] = {}
    for place, (kind, code) in enumerate(blocks):
        if kind == "python":
            printed = run_cell(code, names)
            shown = (
                blocks[place + 1][1]
                if blocks[place + 1 : place + 2] and blocks[place + 1][0] == "text"
                else ""
            )
            assert same(shown, printed, doctest.ELLIPSIS), f"{code}\nshows:\n{shown}\nprints:\n{printed}"
    names["server"].shutdown()  # type: ignore[attr-defined]


def test_the_snippet_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    [(_, code)] = FENCE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    summary = run_cell(code, {"my_model": lambda messages: "A1"})
    assert "'n_scored': 20" in summary and "'strict_accuracy_low'" in summary


def test_names_are_loaded_at_first_use_and_are_all_there() -> None:
    assert all(getattr(lct, name).__doc__ for name in lct.__all__)
    assert set(lct.__all__) <= set(dir(lct))
    with pytest.raises(AttributeError, match="no attribute 'load_tasks'"):
        lct.load_tasks  # noqa: B018


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lct.Task:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    return lct.load_task("ada_leval_bestanswer_1k_synthetic", n=1)


def test_mistakes_are_named(task: lct.Task, tmp_path: Path) -> None:
    with pytest.raises(lct.InputError, match="unknown option lenght; did you mean length"):
        lct.load_task("ada_leval_bestanswer_any_synthetic", lenght="2k")
    with pytest.raises(lct.InputError, match=r"fixed length; .* name ada_leval_bestanswer_any_synthetic"):
        lct.load_task("ada_leval_bestanswer_1k_synthetic", length="2k", n=1)
    write_published_files("elitr_bench", tmp_path / "data", 1)
    with pytest.raises(lct.InputError, match="elitr_bench_qa_dev: its texts keep their own length"):
        lct.load_task("elitr_bench_qa_dev", length="2k", data_dir=tmp_path / "data")
    with pytest.raises(lct.InputError, match="has no turn 3; it has 1, counted from 0"):
        task.messages(task.cases[0], 3)
    for case in ("A1", task.cases[0].id, None):
        with pytest.raises(lct.InputError, match=r"expected a case of task\.cases, not a (str|NoneType)$"):
            task.score(case, "A1")  # type: ignore[arg-type]
        with pytest.raises(lct.InputError, match=r"expected a case of task\.cases"):
            task.messages(case)  # type: ignore[arg-type]
    with pytest.raises(lct.InputError, match=r"no scores; give summary the results of Task\.score"):
        task.summary({})
    with pytest.raises(lct.InputError, match="2 responses to 1 turns"):
        task.score(task.cases[0], ["A1", "A2"])
    with pytest.raises(lct.InputError, match="has no case 'x'"):
        task.judge({"x": "A1"})
    with pytest.raises(lct.InputError, match=r"ada_leval is a group; .* such as ada_leval_\w+; `lct tasks"):
        lct.load_task("ada_leval")
    with pytest.raises(lct.InputError, match="None: expected the name of a task"):
        lct.load_task(None)  # type: ignore[arg-type]
    with pytest.raises(lct.InputError, match=r"missing.yaml: there is no such file"):
        lct.load_task(task.name, n=1, judge="missing.yaml")
    with pytest.raises(lct.InputError, match="expected a dictionary by case id, not a list"):
        task.save(["A1"], "model", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(lct.InputError, match="expected the scores of each turn"):
        task.summary({task.cases[0].id: "A4"})  # type: ignore[dict-item]
    with pytest.raises(lct.InputError, match="no judge to ask"):
        task.judge({task.cases[0].id: "A1"})
    of_metrics = dict.fromkeys(task.metrics)
    for scores in (0.5, None, [{}], [of_metrics], [*task.score(task.cases[0], "A1"), {}]):
        with pytest.raises(lct.InputError, match="expected the scores of each turn"):
            task.summary({task.cases[0].id: scores})  # type: ignore[dict-item]
    for response in (5, b"x", [5], {"A1": 1}):
        with pytest.raises(lct.InputError, match="expected text or None, or a list with one of them"):
            task.score(task.cases[0], response)  # type: ignore[arg-type]
        with pytest.raises(lct.InputError, match="expected text or None, or a list with one of them"):
            task.save({task.cases[0].id: response}, "model", tmp_path)  # type: ignore[dict-item]
    with pytest.raises(lct.InputError, match="there is no such file"):
        lct.load_task(task.name, n=1, judge="a\0b")
    likelihood = lct.load_task("ada_leval_tsort_any_ppl", length=1000, cases=sorting_cases(tmp_path))
    with pytest.raises(lct.InputError, match="compares log-likelihoods"):
        likelihood.score(likelihood.cases[0], "text")


def test_thinking_is_no_history_and_a_missing_response_is_no_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    task = lct.load_task("elitr_bench_conv_synthetic", n=1, length="2k")
    case = task.cases[0]
    assert task.messages(case, 1, ["<think>Who?</think>Anna"]) == task.messages(case, 1, ["Anna"])
    first, second = task.score(case, ["", None])
    assert first["answer_found"].value == 0.0
    assert second["answer_found"].value is None and second["answer_found"].reason == "endpoint_failed"
    assert task.summary({case.id: [first, second]})["n_scored"] == 1


def test_a_judge_that_is_down_is_an_error_before_its_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    judge = tmp_path / "judge.yaml"
    judge.write_text("kind: openai\nmodel: m\nbase_url: http://127.0.0.1:9/v1\n")
    task = lct.load_task("elitr_bench_qa_synthetic", n=1, length="2k", judge=judge)
    with pytest.raises(lct.InputError, match=r"cannot be reached.*start the server"):
        task.judge({task.cases[0].id: "Anna"})


def test_what_reports_leave_out_is_a_warning(task: lct.Task, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    path = task.save({task.cases[0].id: "A1"}, "model", tmp_path / "results")
    path.write_text('{"kind": "own run"', encoding="utf-8")
    with pytest.warns(UserWarning, match="damaged"):
        assert lct.load_results(tmp_path / "results").height == 0


@pytest.mark.parametrize("function", ["load_results", "leaderboard"])
def test_frames_without_polars_name_the_extra(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "polars" else find(name))
    with pytest.raises(lct.InputError, match=rf"{function} needs polars: pip install '.*\[report\]'"):
        getattr(lct, function)("results")
