"""Bundles: their contents, reading back what was packed, and the commands."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

import polars as pl
import yaml
from bundle_files import both_hosts, card_without, on_scores, pack_one, rewrite, state_again
from collected_runs import CONVERSATION, METRICS, Run, Turn, simple, write_lm_eval
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.cli import app
from long_context_tasks.results import bundles_below
from long_context_tasks.results.bundle.format import publishable
from long_context_tasks.results.bundle.pack import pack
from long_context_tasks.results.bundle.runs import find_runs_and_bundles
from long_context_tasks.results.case_pages import shown_cases
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect, collect_with_files
from long_context_tasks.results.plan.missing import DONE, PARTIAL, WantedTask, find_cells
from long_context_tasks.results.tidy import RUNS

DOCS = Path(__file__).parents[2] / "docs" / "results_repository.md"
pytestmark = pytest.mark.slow


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return both_hosts(tmp_path / "results")


@pytest.fixture
def packed(results: Path, tmp_path: Path) -> Path:
    return pack_one(results, tmp_path / "bundles")


def same_scores(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    text = pl.col(pl.Categorical).cast(pl.String())
    order = ["run", "metric", "case", "repeat", "turn"]
    return one.with_columns(text).sort(order).equals(other.with_columns(text).sort(order), null_equal=True)


def test_a_bundle_gives_the_tables_of_its_runs(results: Path, packed: Path) -> None:
    before, after = collect([results]), collect([packed])
    assert not before.problems and not after.problems
    assert same_scores(before.scores, after.scores)
    changed = {"source", "options", "judge_settings", "provenance"}
    kept = [name for name in RUNS if name not in changed]
    assert before.runs.sort("run").select(kept).equals(after.runs.sort("run").select(kept))
    assert set(after.runs["source"]) == {str(packed)}
    assert [(cell.model, cell.task, cell.judge, cell.mean) for cell in cells_of(before)] == [
        (cell.model, cell.task, cell.judge, cell.mean) for cell in cells_of(after)
    ]


VALUES = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 1.0, 1 / 3]))
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    cases=st.dictionaries(NAMES, st.tuples(VALUES, NAMES, st.text(max_size=20)), min_size=1, max_size=8),
    seed=st.integers(0, 3),
)
def test_any_scores_come_back(cases: dict[str, tuple[float | None, str, str]], seed: int) -> None:
    turns = {
        case: [Turn(dict.fromkeys(METRICS, value), None if value is not None else "does_not_fit", text)]
        for case, (value, _, text) in cases.items()
    }
    clusters = {case: cluster for case, (_, cluster, _) in cases.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lm_eval(folder / "r", Run(turns, clusters=clusters, seed=seed))
        collected = collect_with_files([folder / "r"])
        [one] = pack(collected, folder / "b.zip")
        assert same_scores(collected.collection.scores, collect([one.path]).scores)
        first = one.path.read_bytes()
        pack(collected, folder / "b.zip")
        assert one.path.read_bytes() == first  # the same runs make the same file


def test_no_prompt_gold_key_or_place_is_in_it(results: Path, packed: Path) -> None:
    with zipfile.ZipFile(packed) as file:
        text = "\n".join(file.read(name).decode(errors="replace") for name in file.namelist())
    words = ("Prague", "feedback", "What?", "sk-0123", "secret", "key=abc", "samples_", "lct_data_dir")
    for leak in (*words, str(results), str(results.parent)):
        assert leak not in text, leak
    assert "judge.example/v1" in text and "pretrained=owl" in text and "tokenizer=org/owl" in text
    assert "<script>" in text  # a response, as ELITR-Bench's card allows


def test_a_card_that_keeps_responses_back(results: Path, tmp_path: Path) -> None:
    with card_without("elitr_bench", "responses"):
        [one] = pack(collect_with_files([results]), tmp_path / "b")
    assert one.withheld == ("elitr_bench",) and one.cases == 4
    assert b"<script>" not in b"".join(
        zipfile.ZipFile(one.path).read(name) for name in zipfile.ZipFile(one.path).namelist()
    )
    [without] = pack(collect_with_files([results]), tmp_path / "c", responses=False)
    assert without.cases == 0 and len(collect([without.path]).runs) == 2


def test_a_run_counts_once_as_files_and_in_bundles(results: Path, packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lct.zip"
    copy.write_bytes(packed.read_bytes())
    for places in ([results, packed], [packed, results], [packed, copy], [tmp_path], [packed.parent, packed]):
        found = collect(places)
        assert len(found.runs) == 2 and not found.problems, places
    assert set(collect([packed, results]).runs["source"]) != {str(packed)}  # the files, which hold more


def test_other_scores_of_one_run_are_told(results: Path, packed: Path) -> None:
    rewrite(packed, on_scores(lambda frame: frame.with_columns(pl.col("value") * 0.5)))
    state_again(packed)
    found = collect([results, packed])
    assert len(found.runs) == 2 and len(found.problems) == 2
    assert all(str(packed) in one and "with other scores" in one for one in found.problems)


def test_a_bundle_of_bundles(packed: Path, tmp_path: Path) -> None:
    [again] = pack(collect_with_files([packed]), tmp_path / "again.zip")
    assert same_scores(collect([packed]).scores, collect([again.path]).scores)
    assert sorted(collect([packed]).runs["run"]) == sorted(collect([again.path]).runs["run"])
    assert again.cases == 6


def test_a_bundle_for_each_model_or_one_for_all(tmp_path: Path) -> None:
    for model in ("org/owl", "org/Owl", "crow"):
        write_lm_eval(tmp_path / "r" / model.replace("O", "_O"), Run(simple([1.0]), model=model))
    found = pack(collect_with_files([tmp_path / "r"]), tmp_path / "b")
    names = [one.path.name for one in found]
    assert len({name.lower() for name in names}) == 3 and "crow.lct.zip" in names
    assert bundles_below(tmp_path / "b") == sorted(one.path for one in found)
    [all_runs] = pack(collect_with_files([tmp_path / "r"]), tmp_path / "all.zip")
    assert all_runs.runs == 3 and len(collect([all_runs.path]).runs) == 3


def test_pages_of_cases_from_a_bundle(packed: Path) -> None:
    collected = collect_with_files([packed])
    by_task = {one.run.task: list(shown_cases(key, one, None)) for key, one in collected.evaluations.items()}
    talk = {one.case: one for one in by_task[CONVERSATION]}
    assert [turn.response for turn in talk["m1"].turns] == ["Yes, ü.", "<script>"]
    assert [turn.scores["judge_score"] for turn in talk["m2"].turns] == [4.5, None]
    assert talk["m2"].turns[1].reason == "judge_unparsable" and talk["m1"].turns[0].feedback == ()
    assert talk["m1"].prompt is None and talk["m1"].turns[0].gold is None
    [plain] = [cases for task, cases in by_task.items() if task != CONVERSATION]
    assert [one.turns[0].reason for one in plain] == [None, None, "does_not_fit", None]
    assert plain[0].labels["length"] == "1000"


def test_missing_cells_from_bundles(packed: Path) -> None:
    found = find_runs_and_bundles(packed.parent)
    assert len(found.runs) == 2 and not found.problems
    [done] = find_cells([WantedTask(run_task(found), 1, 3)], ["owl"], [found])
    assert done.state == PARTIAL and "3 of 4" in done.why
    [talk] = find_cells([WantedTask(CONVERSATION, 1, 4)], ["owl"], [found])
    assert talk.state == PARTIAL and "judge_unparsable" in talk.why
    [old] = find_cells([WantedTask(CONVERSATION, 2, 4)], ["owl"], [found])
    assert old.state == "old version"


def run_task(found: Any) -> str:
    return str(next(run.task for run in found.runs if run.task != CONVERSATION))


def test_a_whole_run_is_done(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "r", Run(simple([1.0, 0.0])))
    [one] = pack(collect_with_files([tmp_path / "r"]), tmp_path / "b")
    found = find_runs_and_bundles(one.path)
    [cell] = find_cells([WantedTask(found.runs[0].task, 1, 2)], ["owl"], [found])
    assert cell.state == DONE
    one.path.write_bytes(b"PK")
    [problem] = find_runs_and_bundles(one.path).problems
    assert problem.startswith(f"{one.path}: ")


@given(st.text(st.sampled_from("/\\~.:?=,;abC1 '\"-_"), max_size=30) | st.text(max_size=30))
def test_what_was_made_publishable_is(text: str) -> None:
    once = publishable({"a": text})
    assert publishable(once) == once


def lct(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_commands(results: Path, tmp_path: Path) -> None:
    done = lct("report", "pack", results, "--out", tmp_path / "b")
    assert done.exit_code == 0, done.output
    [path] = bundles_below(tmp_path / "b")
    assert path.name == "owl.lct.zip" and "owl.lct.zip" in done.stdout
    checked = lct("report", "check", tmp_path / "b")
    assert checked.exit_code == 0, checked.output
    assert (
        "0.6667" in checked.stdout
        and "4.6667" in checked.stdout
        and "1 of 4 without a score" in checked.stdout
    )
    assert "1 bundle, 2 runs, 0 problems" in checked.output
    shown = lct("report", path)
    assert shown.exit_code == 0 and "66.7 %" in shown.stdout
    told = json.loads(lct("report", "check", path, "--json").stdout)
    assert told["result"]["problems"] == [] and len(told["tables"][0]["rows"]) == 2


def test_check_tells_every_problem(results: Path, packed: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.lct.zip"
    copy.write_bytes(packed.read_bytes())
    broken, odd = tmp_path / "broken.lct.zip", tmp_path / "odd.txt"
    broken.write_bytes(b"no zip")
    odd.write_bytes(b"")
    done = lct("report", "check", packed, copy, broken, odd)
    assert done.exit_code == 1
    assert f"problem: {broken}: " in done.stderr and f"problem: {odd}: " in done.stderr
    assert done.stderr.count(f"is in {packed} as well") == 2
    forged = tmp_path / "x\n::error::forged\n.lct.zip"
    forged.write_bytes(b"no zip")
    done = lct("report", "check", forged)
    assert done.exit_code == 1 and not [line for line in done.output.splitlines() if line.startswith("::")]
    assert lct("report", "check", tmp_path / "none").exit_code == 2
    (tmp_path / "empty").mkdir()
    assert "no bundle" in lct("report", "check", tmp_path / "empty").stderr


def test_pack_tells_what_it_cannot_pack(results: Path, tmp_path: Path) -> None:
    path = next(results.rglob("samples_*"))
    path.write_bytes(path.read_bytes()[:-30])
    done = lct("report", "pack", results, "--out", tmp_path / "b")
    assert done.exit_code == 1 and str(path) in done.stderr and len(bundles_below(tmp_path / "b")) == 1
    assert lct("report", "pack", path.parent / "x", "--out", tmp_path / "b").exit_code == 2
    (tmp_path / "file").write_text("")
    assert "--out" in lct("report", "pack", results, "--out", tmp_path / "file").stderr


def test_pack_names_runs_by_an_older_version_of_their_task(tmp_path: Path) -> None:
    newest = card("ada_leval").version
    for version, told in ((newest - 1, True), (newest, False)):
        write_lm_eval(tmp_path / str(version), Run(simple([1.0, 0.0]), version=version))
        done = lct("report", "pack", tmp_path / str(version), "--out", tmp_path / "b")
        assert done.exit_code == 0, done.output
        said = f" of owl: version {version} of the task, the newest is {newest}; it will not be ranked"
        assert (said in done.stderr) is told


def test_the_workflow_of_a_results_repository(results: Path, packed: Path, tmp_path: Path) -> None:
    """Run the shell steps of the documented workflows: a good bundle passes, a bad one and a change outside the bundles do not."""
    if not shutil.which("git") or not shutil.which("bash"):
        pytest.skip("needs git and bash")
    repository = tmp_path / "repository"
    (repository / "bundles").mkdir(parents=True)
    (repository / "requirements.txt").write_text("long_context_tasks")
    flows = re.findall(r"^```yaml\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert not any("pull_request_target" in text for text in flows)
    workflow, comment = map(yaml.safe_load, flows)
    assert set(workflow["jobs"]) == {"check", "publish"} and workflow["permissions"] == {"contents": "read"}
    # The workflow that may write reads no bundle and checks out no code of the pull request.
    assert not any("checkout" in step.get("uses", "") for step in comment["jobs"]["comment"]["steps"])
    assert "lct" not in comment["jobs"]["comment"]["steps"][-1]["run"]
    steps = {step["name"]: step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step}
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "BASE": "main",
    }

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def commit(name: str) -> None:
        done = shell(f"git add -A && git -c user.name=a -c user.email=a@b commit -qm {name} --allow-empty")
        assert done.returncode == 0, done.stderr

    assert shell("git init -q -b main").returncode == 0
    commit("begin")
    shell("git checkout -qb good")
    shutil.copy(packed, repository / "bundles" / "an owl.lct.zip")
    commit("good")
    assert shell(steps["Only bundles are changed"]).returncode == 0
    done = shell(steps["Check the changed bundles"])
    assert done.returncode == 0 and "an owl.lct.zip" in done.stdout, done.stdout + done.stderr
    assert "```text" in (tmp_path / "summary.md").read_text() and "2 runs" in done.stdout
    changes = shell(steps["Check all bundles, and list what they change"])
    assert changes.returncode == 0, changes.stderr
    assert "| - | 66.7 %" in (tmp_path / "difference.md").read_text()
    assert "What these results change" in (tmp_path / "summary.md").read_text()
    shutil.copy(packed, repository / "bundles" / "copy.lct.zip")
    (repository / "bundles" / "bad.lct.zip").write_bytes(packed.read_bytes()[:-100])
    (repository / "requirements.txt").write_text("evil")
    # Names that would be commands of the workflow at the beginning of a line.
    (repository / "bundles" / "::error::forged.lct.zip").write_bytes(b"")
    (repository / "bundles" / "x\n::error::forged.lct.zip").write_bytes(b"")
    (repository / "::error::forged").write_text("")
    commit("bad")
    only = shell(steps["Only bundles are changed"])
    assert only.returncode == 1 and "requirements.txt" in only.stdout and "owl" not in only.stdout
    bad = shell(steps["Check the changed bundles"])
    assert (
        bad.returncode == 1
        and "problem: bundles/bad.lct.zip: " in bad.stdout
        and "as well; leave one out" in bad.stdout
    )
    told = [line for done in (only, bad) for line in (done.stdout + done.stderr).splitlines()]
    commands = [
        line
        for line in told
        if line.strip().startswith("::") and "a pull request that adds results" not in line
    ]
    assert not commands and sum("forged" in line for line in told) >= 3
    shell("git worktree remove --force $RUNNER_TEMP/before")
    assert shell(steps["Check all bundles, and list what they change"]).returncode == 1
