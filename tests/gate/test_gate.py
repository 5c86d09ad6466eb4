"""``lct gate`` against servers whose model errs as often as it is set to: verdicts, self-checks, files, resuming."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from judge_server import Answer, judge_server
from known_server import TASK, known_server, right_answers
from typer.testing import CliRunner

from long_context_tasks.cli import app

BASE = ("--tasks", TASK, "--length", "1k", "--n", "200", "--within", "10")


def gate(a: object, b: object, out: Path, *more: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and JSON."""
    done = CliRunner().invoke(app, ["gate", str(a), str(b), *BASE, "--out", str(out), *more, "--json"])
    assert done.exit_code in (0, 1, 2) and done.stdout, done.output
    return done.exit_code, json.loads(done.stdout)["result"]


def asked_of(server: Any, right: dict[str, str]) -> int:
    """Calls for cases; others are self-checks."""
    return sum(body.get("messages", [{"content": ""}])[-1]["content"] in right for body in server.bodies)


def names(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["side"], one["name"]) for one in found["faults"]]


def test_equal_stacks_pass_and_a_worse_one_fails(right: dict[str, str], tmp_path: Path) -> None:
    with known_server(right, 0.9) as good, known_server(right, 0.9) as same, known_server(right, 0.6) as bad:
        code, found = gate(same.url, good.url, tmp_path / "same")
        assert (code, found["verdict"], names(found), found["flips"]) == (0, "PASS", [], [])
        # Both are asked, and no more than the verdict takes.
        assert asked_of(good, right) == asked_of(same, right) == found["cases"] == 48
        code, found = gate(bad.url, good.url, tmp_path / "bad")
        assert (code, found["verdict"]) == (1, "FAIL")
        [row], [length] = found["cells"], found["lengths"]
        assert length["verdict"] == "FAIL" and length["loss_low"] > 0 and found["documents"] < 200
        assert length["loss"] == found["loss"] and length["length"] == "1k"
        assert found["loss"] == pytest.approx(row["b"] - row["a"])
        assert len(found["flips"]) == round(found["cases"] * found["loss"])
        code, found = gate(bad.url, good.url, tmp_path / "few", "--n", "5")
        assert (code, found["verdict"], found["documents_available"]) == (2, "UNDECIDED", 5)


@pytest.mark.parametrize("named", ["", "m@"])
def test_a_server_that_wants_a_key_is_said_to_want_one(tmp_path: Path, named: str) -> None:
    closed = Answer(status=401, error="no key")
    with judge_server(lambda *_: closed, others={"/v1/models": lambda _: closed}) as server:
        done = CliRunner().invoke(
            app,
            ["gate", named + server.url, server.url, *BASE, "--out", str(tmp_path)],
            env={"COLUMNS": "500"},
        )
    assert done.exit_code == 2 and "requires a key" in done.stderr, done.stderr
    assert "give a YAML file with model, base_url and api_key_env" in done.stderr


def test_an_address_without_v1_is_completed(tmp_path: Path) -> None:
    with judge_server(lambda *_: Answer(status=404, error="no such path")) as server:
        plain = server.url.removesuffix("/v1")
        done = CliRunner().invoke(
            app, ["gate", plain, plain, *BASE, "--out", str(tmp_path)], env={"COLUMNS": "500"}
        )
    assert done.exit_code == 2 and f"end the address in /v1 ({plain}/v1)" in done.stderr, done.stderr


def test_a_server_that_is_down_is_not_said_to_serve_without_a_list(tmp_path: Path) -> None:
    stack = "http://127.0.0.1:9/v1"
    done = CliRunner().invoke(app, ["gate", stack, stack, *BASE, "--out", str(tmp_path)])
    assert done.exit_code == 2 and "cannot be reached" in done.stderr, done.stderr


@pytest.mark.parametrize("form", ["URL", "m@URL", "a file"])
def test_a_server_that_never_answers_is_waited_for_once_and_named(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("long_context_tasks.gate.stacks._FIRST_SECONDS", 0.3)
    monkeypatch.setattr("long_context_tasks.gate.stacks._LIST_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls and never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        file = tmp_path / "a.yaml"
        file.write_text(f"model: m\nbase_url: {url}\ntimeout: 0.3\nretry_wait: 0.01\n")
        stack = str(file) if form == "a file" else form.replace("URL", url)
        done = CliRunner().invoke(app, ["gate", stack, stack, *BASE, "--out", str(tmp_path / "out")])
        silent.settimeout(0)
        calls = 0
        with contextlib.suppress(BlockingIOError):
            while silent.accept():
                calls += 1
    wait = "list of models" if form == "URL" else "first answer"
    assert done.exit_code == 2 and f"waiting for stack A's {wait} ({url})" in done.stderr, done.stderr
    assert f"({url}), at most 0.3 s per attempt" in done.stderr
    assert f"stack A at {url} does not answer (no answer within 0.3 s (" in done.stderr
    assert "raise timeout in a YAML file" in done.stderr
    assert calls == 1


def test_an_error_in_place_of_a_list_of_models_is_shown(tmp_path: Path) -> None:
    broken = Answer(status=500, raw=b'{"error": {"message": "out of memory"}}')
    with judge_server(lambda *_: broken, others={"/v1/models": lambda _: broken}) as server:
        done = CliRunner().invoke(app, ["gate", server.url, server.url, *BASE, "--out", str(tmp_path)])
    said = f"{server.url} does not list its models (status 500: out of memory); name the model"
    assert done.exit_code == 2 and said in done.stderr, done.stderr


def test_a_key_that_is_not_set_is_that_of_a_stack(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("model: m\nbase_url: http://127.0.0.1:9/v1\napi_key_env: NO_SUCH_KEY\n")
    done = CliRunner().invoke(app, ["gate", str(file), str(file), *BASE, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "stack A: environment variable NO_SUCH_KEY is not set" in done.stderr


def test_the_bar_counts_the_answers_that_each_stack_owes(
    right: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    bar = SimpleNamespace(
        update=lambda: None, set_description_str=lambda text, refresh=True: shown.append(text)
    )
    monkeypatch.setattr("long_context_tasks.gate.run.progress", lambda _: contextlib.nullcontext(bar))
    with known_server(right, 0.9) as server:
        done = CliRunner().invoke(
            app, ["gate", server.url, server.url, *BASE, "--n", "5", "--out", str(tmp_path)]
        )
    assert len(shown) == 10 and shown[-1] == "left: A 0, B 0"
    assert {"left: A 4, B 5", "left: A 5, B 4"} & {shown[0]}
    assert "self-checks before the first case" in done.stderr


def test_runs_of_equally_named_models_are_no_repeats(right: dict[str, str], tmp_path: Path) -> None:
    with known_server(right, 0.9) as good, known_server(right, 0.6) as bad:
        gate(bad.url, good.url, tmp_path)
    done = CliRunner().invoke(app, ["report", "compare", str(tmp_path / "runs"), "--json"])
    assert done.exit_code == 0 and "known (A)" in done.stdout and "known (B)" in done.stdout, done.output


def test_a_second_gate_in_the_same_folder_is_refused_before_it_pays(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls and never answers
        stack = f"m@http://127.0.0.1:{silent.getsockname()[1]}/v1"
        command = [
            str(Path(sys.executable).with_name("lct")),
            "gate",
            stack,
            stack,
            *BASE,
            "--out",
            str(tmp_path / "gate"),
        ]
        first = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            silent.settimeout(60)
            silent.accept()
            second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        finally:
            first.kill()
            first.wait()
    assert second.returncode == 2 and "another gate is running there" in second.stderr


@pytest.fixture(scope="module")
def lengths() -> dict[str, dict[str, str]]:
    return {length: right_answers(n=60, lengths=("1k", "2k"), only=length) for length in ("1k", "2k")}


def test_a_loss_at_one_length_fails_the_gate_and_is_named(
    lengths: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    """A is as good as B at 1k and loses at 2k, where there are fewer cases of a larger gate."""
    both = lengths["1k"] | lengths["2k"]
    more = ("--length", "1k,2k", "--n", "60")
    with known_server(both, 1.0) as good, known_server(lengths["1k"], 1.0) as bad:
        done = CliRunner().invoke(
            app, ["gate", bad.url, good.url, *BASE, *more, "--out", str(tmp_path / "console")]
        )
        code, found = gate(bad.url, good.url, tmp_path / "bad", *more)
    assert code == done.exit_code == 1
    assert [(one["length"], one["verdict"]) for one in found["lengths"]] in (
        [("1k", "PASS"), ("2k", "FAIL")],
        [("1k", "UNDECIDED"), ("2k", "FAIL")],
    )
    assert "A is worse than B at 2k (" in found["line"]
    shown = [line for line in done.output.splitlines() if line.endswith("documents")]
    assert len(shown) == len(set(shown)) >= 2
    rows = done.stdout.splitlines()
    assert rows[0].startswith("1k: ") and rows[1].startswith("2k: FAIL, loss +") and rows[2] == found["line"]
    page = (tmp_path / "bad" / "index.html").read_text(encoding="utf-8")
    assert "<h2>Lengths</h2>" in page and "<bdi>2k</bdi>" in page


def test_lengths_that_pass_are_asked_no_more_and_all_have_to_pass(
    lengths: dict[str, dict[str, str]], tmp_path: Path
) -> None:
    both = lengths["1k"] | lengths["2k"]
    more = ("--length", "1k,2k", "--n", "60")
    # At 2k A errs in some cases in which B does not, and the other way round.
    with known_server(both, 1.0) as good, known_server(both, 1.0) as same:
        code, found = gate(same.url, good.url, tmp_path / "same", *more)
        assert code == 0 and "at 1k, 2k (mean loss over all lengths +0.0 points; " in found["line"]
        code, few = gate(same.url, good.url, tmp_path / "few", "--length", "1k,2k", "--n", "20")
    assert code == 2 and "at 1k, 2k" in few["line"]
    for one in found["lengths"]:
        assert one["verdict"] == "PASS" and one["documents"] == 40 < one["documents_available"] == 60


def test_rounds_give_every_task_the_same_weight() -> None:
    from long_context_tasks.gate.run import ordered_documents, round_losses
    from long_context_tasks.gate.stacks import GateCell

    many = GateCell("many", "8k", None, {str(n): [f"{n}.{k}" for k in range(2)] for n in range(30)})
    few = GateCell("few", "8k", None, {str(n): [str(n)] for n in range(10)})
    order = [cases[0][0].name for _, cases in ordered_documents([many, few])]
    assert (order.count("many"), order.count("few")) == (30, 10)
    # After each third of the documents of the one, a third of the other's.
    assert abs(order[:20].count("few") - 5) <= 1
    # The task with many documents loses, the other gains as much: no loss.
    losses = round_losses(
        [{name: 0.4 if name == "many" else -0.4} for name in order], ["many", "few"], shared=False
    )
    assert len(losses) == 20 and sum(losses) == pytest.approx(0)
    # A book in two tasks is one observation, as its answers are not independent.
    assert round_losses([{"a": 0.2, "b": 0.4}, {"a": 1.0}], "ab", shared=True) == pytest.approx([0.3])
    assert round_losses([{"a": 1.0}] * 9, "ab", shared=False) == []
    # One after the other in each task, as stored runs have them.
    both = [
        GateCell(name, "8k", None, {str(n): [str(n)] for n in range(9)}, stored={"A": {}}) for name in "ab"
    ]
    assert [len(cases) for _, cases in ordered_documents(both)] == [2] * 9


def test_a_stack_that_is_right_in_hardly_any_case_is_no_measure(
    right: dict[str, str], tmp_path: Path
) -> None:
    with known_server(right, 0.05) as weak:
        code, found = gate(weak.url, weak.url, tmp_path, "--strict")
    assert (code, found["verdict"], names(found)) == (2, "UNDECIDED", [("B", "no room to lose")])


def test_what_is_wrong_with_a_stack_is_named(right: dict[str, str], tmp_path: Path) -> None:
    faults: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
        "template": ({"more_tokens": 3}, [("A and B", "chat templates differ")]),
        "cut": ({"window": 300}, [("A", "cut prompts")]),
        "refuse": ({"window": 300, "refuse": True}, [("A", "prompts refused")]),
        "think": (
            {"think": 0.5},
            [("A", "thinking eats the answer budget"), ("A", "unfinished answers")],
        ),
    }
    with known_server(right, 0.9) as good:
        for fault, (settings, expected) in faults.items():
            with known_server(right, 0.9, **settings) as bad:
                code, found = gate(bad.url, good.url, tmp_path / fault)
                assert names(found) == expected
                # A prompt that A refuses, or whose thinking never ends, is an answer that A does not give.
                assert code == (1 if fault in ("refuse", "think") else 0), fault
                code, found = gate(bad.url, good.url, tmp_path / fault, "--strict")
                assert (code, found["verdict"]) == (1, "FAIL") and "there are faults" in found["line"], fault


def test_a_length_is_refused_for_tasks_of_a_fixed_length(right: dict[str, str], tmp_path: Path) -> None:
    with known_server(right, 0.9) as server:
        stacks = ("gate", server.url, server.url, "--length", "8k", "--n", "1", "--out", str(tmp_path))
        fixed = CliRunner().invoke(app, [*stacks, "--tasks", "needle_plain_1k"])
        some = CliRunner().invoke(app, [*stacks, "--tasks", "needle_plain_1k", "--length", "1k,2k"])
        both = CliRunner().invoke(app, [*stacks, "--tasks", "needle_plain_1k,needle_plain_any"])
        wrong = CliRunner().invoke(app, [*stacks, "--tasks", "needle_plain_any", "--length", "8q"])
    assert wrong.exit_code == 2 and "error: --length '8q' is not a length: " in wrong.stderr
    said = "needle_plain_1k has a fixed length; leave out --length, or name needle_plain_any"
    for refused in (fixed, some):
        assert refused.exit_code == 2 and said in refused.stderr and not refused.stdout
    assert (
        "tasks of a fixed length ignore --length: needle_plain_1k\n" in both.stderr
        and "\n8k: " in both.stdout
    ), both.output
    assert "B: no room to lose: B scores only 0.0 at 8k" in both.stderr


def test_a_task_without_scores_is_named_once_all_documents_are_used() -> None:
    from long_context_tasks.gate.run import GateSettings, LengthTest
    from long_context_tasks.gate.stacks import GateCell, StackAnswer

    test = LengthTest("8k", [GateCell(name, "8k", None, {"1": ["case"]}) for name in "ab"])
    assert test.row() == "8k: UNDECIDED, first round not complete; 0 of 2 documents"
    answers = {"a": StackAnswer((1.0,), (None,)), "b": StackAnswer((None,), ("does_not_fit",))}
    of_each = {(cell, "case"): answer for cell, answer in answers.items()}
    test.take(test.queue, {"A": of_each, "B": of_each}, GateSettings(0.1, 0.05, 16), 1)
    assert test.row() == "8k: UNDECIDED, no scores of both stacks for b; 2 of 2 documents"


def test_options_that_stored_runs_ignore_are_named(right: dict[str, str], tmp_path: Path) -> None:
    with known_server(right, 0.9) as server:
        gate(server.url, server.url, tmp_path / "gate", "--n", "5")
    runs = [str(tmp_path / "gate" / "runs" / side) for side in "AB"]
    done = CliRunner().invoke(app, ["gate", *runs, *BASE, "--out", str(tmp_path / "stored")])
    assert "--tasks, --length, --n: no effect" in done.stderr


def test_stored_runs_serve_as_well_and_give_the_same_verdict(right: dict[str, str], tmp_path: Path) -> None:
    with known_server(right, 0.9) as good, known_server(right, 0.6) as bad:
        _, asked = gate(bad.url, good.url, tmp_path / "asked")
        runs = tmp_path / "asked" / "runs"
        before = asked_of(bad, right)
        code, mixed = gate(bad.url, runs / "B", tmp_path / "mixed")
        assert code == 1 and asked_of(bad, right) - before == mixed["documents"]
    # Now without servers.
    code, found = gate(runs / "A", runs / "B", tmp_path / "stored")
    assert code == 1
    assert found["documents_available"] == asked["documents"]
    code, found = gate(runs / "B", runs / "B", tmp_path / "itself")
    assert code == 2 and found["loss"] == 0


def test_a_killed_gate_goes_on_where_it_stopped(right: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with known_server(right, 0.9) as good, known_server(right, 0.6) as bad:
        _, first = gate(bad.url, good.url, out)
        asked = asked_of(good, right), asked_of(bad, right)
        lines = (out / "replies" / "A.jsonl").read_text().splitlines(keepends=True)
        (out / "replies" / "A.jsonl").write_text("".join(lines[:-2]) + lines[-2][:20])
        _, again = gate(bad.url, good.url, out)
        assert (asked_of(good, right), asked_of(bad, right)) == (asked[0], asked[1] + 2)
        first.pop("page"), again.pop("page")
        assert again == first


class Slowly(dict[str, str]):
    seconds = 0.3

    def get(self, prompt: str, other: Any = None) -> Any:
        time.sleep(self.seconds)
        return super().get(prompt, other)


def test_an_interrupted_gate_says_how_to_go_on_and_asks_no_case_again(
    right: dict[str, str], tmp_path: Path
) -> None:
    # A shell that starts the tests in the background has them, and all they start, ignore this signal.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heard}; from long_context_tasks.cli import app; app()", "gate"]
    out, few = tmp_path / "out", ("--n", "16", "--concurrency", "1")
    slowly = Slowly(right)
    with known_server(slowly, 1.0) as server:
        stack = f"known@{server.url}"
        gated = subprocess.Popen(
            [*command, stack, stack, *BASE, *few, "--out", str(out)], stderr=subprocess.PIPE, text=True
        )
        replies = [out / "replies" / f"{side}.jsonl" for side in "AB"]
        while not all(path.exists() and path.read_text().count("\n") > 2 for path in replies):
            assert gated.poll() is None
            time.sleep(0.02)
        gated.send_signal(signal.SIGINT)
        _, said = gated.communicate(timeout=60)
        line = f"interrupted: the replies so far are kept in {out}; repeat the command to go on from there"
        assert (gated.returncode, said.splitlines()[-1]) == (130, line) and "Traceback" not in said, said
        kept = sum(path.read_text().count("\n") for path in replies)
        time.sleep(2 * slowly.seconds)  # the server may still read what the command has sent
        server.bodies.clear()
        slowly.seconds = 0.0
        gate(stack, stack, out, *few)
        assert 6 <= kept < 32 and asked_of(server, right) == 32 - kept


def test_a_server_that_is_gone_is_an_error_and_no_verdict(right: dict[str, str], tmp_path: Path) -> None:
    with known_server(right, 0.9) as good:
        gone = good.url
    done = CliRunner().invoke(app, ["gate", gone, gone, *BASE, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "start the server" in done.output and not (tmp_path / "gate.json").exists()


def test_hostile_responses_stay_text_on_the_page(right: dict[str, str], tmp_path: Path) -> None:
    wrong = '</pre><script>alert(1)</script><img src=x onerror="alert(2)"> \ud83d'
    with known_server(right, 0.9) as good, known_server(right, 0.5, wrong=wrong) as bad:
        gate(f"known@{bad.url}", good.url, tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page and "<img" not in page
    assert "&lt;/pre&gt;&lt;script&gt;alert(1)" in page
    assert all((tmp_path / "assets" / name).is_file() for name in ("site.css", "theme.js", "core.js"))


def test_a_judged_task_and_a_word_that_is_no_stack_are_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / "runs").mkdir(parents=True)
    for words, said in (
        ([str(tmp_path), str(tmp_path)], "holds no runs"),
        ([str(tmp_path / "out" / "runs"), "owl"], "would overwrite it"),
        (["owl", "owl"], "not a stack A"),
        (["http://anne:pw@127.0.0.1:1/v1", "owl"], "stack A: base_url must not have a user"),
        (["m@http://anne:pw@127.0.0.1:1/v1", "owl"], "stack A: base_url must not have a user"),
    ):
        done = CliRunner().invoke(app, ["gate", *words, "--out", str(tmp_path / "out")])
        assert done.exit_code == 2 and said in done.output and "pw" not in done.output


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_step_of_the_workflow_ends_as_the_gate_does(code: int, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    [text] = re.findall(r"```yaml\n(name: .*?)```", page, re.DOTALL)
    job = yaml.safe_load(text)["jobs"]["gate"]
    [step] = (step["run"] for step in job["steps"] if "lct gate" in step.get("run", ""))
    # What GitHub starts where a shell is named, and where none is.
    flags = {"bash": ["-eo", "pipefail"], None: ["-e"]}[job.get("defaults", {}).get("run", {}).get("shell")]
    (tmp_path / "lct").write_text(f"#!/bin/sh\necho PASS\nexit {code}\n")
    (tmp_path / "lct").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    done = subprocess.run(["bash", *flags, "-c", step], env=environment, check=False)
    assert done.returncode == code and (tmp_path / "summary").read_text() == "PASS\n"
