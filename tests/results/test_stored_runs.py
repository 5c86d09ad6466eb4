"""Reading of stored runs: real output of lm-eval, and damaged files."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("lm_eval")


from hypothesis import given
from hypothesis import strategies as st
from run_commands import answer_by_question, published_data, served_model, write_selections
from stored_runs import only, run_lm_eval
from stub_server import stub_server

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.hosts.stored import Places, load_task, options_of, responses_to
from long_context_tasks.results import find_runs
from long_context_tasks.schema import InputError
from long_context_tasks.schema.response import Response, from_stored_form, stored_form

ADA = "ada_leval_bestanswer_1k"
CONVERSATION = "elitr_bench_conv_dev"


STATUS = st.sampled_from([None, "does_not_fit", "endpoint_failed"])
TEXT = st.text() | st.sampled_from(["", "null", "[]", '{"response": "x"}', "None", "\ud800"])
RESPONSE = st.builds(lambda text, status: Response(None if status else text, status), TEXT, STATUS)


@given(RESPONSE)
def test_a_plain_response_comes_back(response: Response) -> None:
    text, status = stored_form([response], conversation=False)
    assert from_stored_form(text, status) == [response]


@given(st.lists(RESPONSE, max_size=5))
def test_a_conversation_comes_back(responses: list[Response]) -> None:
    text, status = stored_form(responses, conversation=True)
    assert from_stored_form(text, status) == responses


@pytest.mark.parametrize(
    ("text", "status"),
    [("[1]", [None]), ('["a"]', [None, None]), ("", [None]), ('{"a": 1}', [None]), (["a"], None), ("a", 3)],
)
def test_other_things_are_refused(text: Any, status: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        from_stored_form(text, status)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Published files of both benchmarks, in a folder that options have to name."""
    folder = tmp_path_factory.mktemp("published")
    write_selections(
        folder,
        "\nWhat is {}?\n",
        lambda case, place: f"\nIt is {place}. " + "More words. " * (10 if case < 4 else 400) + "\n",
    )
    yield from published_data(folder, elitr_bench=0)


@pytest.fixture(scope="module")
def left(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain task and a conversation; the server refuses the two long cases of the plain one."""
    output = tmp_path_factory.mktemp("left")
    with stub_server(answer_by_question, refuse_over=3000) as server:
        run_lm_eval(
            output,
            (ADA, CONVERSATION),
            served_model(server.url, "org/stub"),
            {"lct_data_dir": str(data), "lct_n": 6},
        )
    return output


@pytest.fixture
def results(left: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(left, tmp_path / "results"))


def test_a_plain_task(results: Path, data: Path) -> None:
    run = only(results, ADA)
    assert (run.host, run.model, run.version, run.headline) == (
        "lm_eval",
        "org/stub",
        card("ada_leval").version,
        "strict_accuracy",
    )
    # All six cases ran, so that the limit is not a setting.
    assert "lct_n" not in run.options and run.options["lct_data_dir"] == str(data)
    assert run.numbers["n"] == 6 and run.numbers["n_does_not_fit"] == 2
    cases = list(run.cases())
    assert [case.responses[0].status for case in cases].count("does_not_fit") == 2
    task = load_task(run)
    for case in cases:
        [response] = case.responses
        scores = task.score(task.by_id[case.id], response.text, response.status)
        assert {name: (score.value,) for name, score in scores.items()} == case.scores
        assert scores["strict_accuracy"].reason == case.reasons[0]
        assert case.verdicts == () and case.log_likelihoods is None
    assert {case.reasons[0] for case in cases} > {None, "does_not_fit"}


def test_a_conversation(results: Path) -> None:
    run = only(results, CONVERSATION)
    cases = {case.id: case for case in run.cases()}
    assert {case: len(one.responses) for case, one in cases.items()} == {
        "meeting_en_dev_001": 2,
        "meeting_en_dev_002": 1,
    }
    for case in cases.values():
        assert len(case.reasons) == len(case.responses)
        assert all(len(values) == len(case.responses) for values in case.scores.values())
    assert {reason for case in cases.values() for reason in case.reasons} <= {"not_judged", "empty", None}
    [responses] = responses_to(run, load_task(run))
    assert responses == {case: list(one.responses) for case, one in cases.items()}


def test_the_prompts_are_not_held(results: Path, tmp_path: Path) -> None:
    """One line at a time: reading a file of 60 MB takes far less."""
    import tracemalloc

    [path] = results.rglob(f"samples_{ADA}_*.jsonl")
    line = json.loads(path.read_text().splitlines()[0])
    line["arguments"] = {"gen_args_0": {"arg_0": ["x" * 3_000_000]}}
    path.write_text("".join(json.dumps(line) + "\n" for _ in range(20)))
    [sums] = results.rglob("results_*.json")
    content = json.loads(sums.read_text())
    content["n-samples"][ADA]["effective"] = 20
    sums.write_text(json.dumps(content))
    tracemalloc.start()
    try:
        assert len(list(only(results, ADA).cases())) == 20
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000


def test_predictions_alone(data: Path, tmp_path: Path) -> None:
    """--predict_only writes responses and one number of its own, 999, which is no result."""
    with stub_server(refuse_over=3000) as server:
        metadata = {"lct_data_dir": str(data)}
        run_lm_eval(
            tmp_path, (ADA, CONVERSATION), served_model(server.url, "org/stub"), metadata, predict_only=True
        )
    for run in find_runs(tmp_path).runs:
        assert run.numbers == {} and run.result_file is None
        assert all(case.scores == {} and case.reasons == () for case in run.cases())
    states = [case.responses[0].status for case in only(tmp_path, ADA).cases()]
    assert states.count("does_not_fit") == 2


@pytest.mark.parametrize("cut", [1, 60])
def test_a_file_that_was_cut(results: Path, cut: int) -> None:
    [path] = results.rglob(f"samples_{ADA}_*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) if cut == 1 else path.read_bytes()[:-cut])
    with pytest.raises(InputError, match="cut") as error:
        list(only(results, ADA).cases())
    assert str(path) in str(error.value)


@pytest.mark.parametrize("change", [{"filtered_resps": []}, {"doc": {}}, {"judge_score": [1, 1, 1]}])
def test_a_sample_that_makes_no_sense(results: Path, change: dict[str, Any]) -> None:
    [path] = results.rglob(f"samples_{CONVERSATION}_*.jsonl")
    lines = path.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"line 2: not a sample"):
        list(only(results, CONVERSATION).cases())


def test_damaged_and_missing_results(results: Path) -> None:
    [path] = results.rglob("results_*.json")
    content = path.read_bytes()
    path.write_bytes(content[:-200])
    found = find_runs(results)
    [problem] = found.problems
    assert not found.runs and problem.startswith(f"{path}: ")
    path.unlink()
    found = find_runs(results)
    assert not found.runs and len(found.problems) == 2
    assert all("results file" in problem for problem in found.problems)


def test_an_output_path_that_is_a_file(results: Path) -> None:
    """``--output_path x.json`` gives ``x_<time>.json``."""
    [path] = results.rglob("results_*.json")
    path.rename(path.with_name(path.name.replace("results_", "mine_")))
    assert {run.task for run in find_runs(results).runs} == {ADA, CONVERSATION}


def test_other_packages_are_passed_over(results: Path) -> None:
    [path] = results.rglob("results_*.json")
    folder = results / "other"
    folder.mkdir()
    content = json.loads(path.read_text())
    content["configs"] = {"gsm8k": {"metadata": {"version": 3}}}
    (folder / path.name).write_text(json.dumps(content))
    (folder / path.name.replace("results_", "samples_gsm8k_").replace(".json", ".jsonl")).write_text(
        '{"doc": {"question": "1 + 1"}}\n'
    )
    (folder / "notes.json").write_text("{")
    found = find_runs(results)
    assert len(found.runs) == 2 and not found.problems


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(InputError, match=path.name):
            find_runs(path)


def test_options_are_those_of_the_run(results: Path, data: Path, tmp_path: Path) -> None:
    """The environment sets the place of the data and nothing else; the judge of the run is left out."""
    run = only(results, ADA)
    options = options_of(run, environ={"LCT_N": "1", "LCT_DATA_DIR": str(tmp_path)})
    assert (options.n, options.data_dir) == (None, tmp_path)
    assert options_of(run, Places(data), {"LCT_DATA_DIR": str(tmp_path)}).data_dir == data
    assert options_of(run, environ={}).data_dir == data
