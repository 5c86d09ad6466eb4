"""What a run of OpenCompass shows in the terminal: progress, and errors of ours in one line."""

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from long_context_tasks.hosts.opencompass.console import FOLLOWED, CaseProgress, last_error

_RAISE = """
import sys
sys.argv = [{program!r}, *{more!r}]
from long_context_tasks.hosts.opencompass.console import show_input_errors_in_one_line
from long_context_tasks.schema import InputError
show_input_errors_in_one_line()
raise {error}
"""


@pytest.mark.parametrize(
    ("program", "more", "error", "in_one_line"),
    [
        ("/bin/opencompass", [], "InputError('no data')", True),
        ("/bin/opencompass", ["--debug"], "InputError('no data')", False),
        ("/bin/opencompass", [], "KeyError('no data')", False),
        ("/bin/pytest", [], "InputError('no data')", False),
    ],
)
def test_an_error_of_ours_ends_the_host_in_one_line(
    program: str, more: list[str], error: str, in_one_line: bool
) -> None:
    code = _RAISE.format(program=program, more=more, error=error)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (done.stderr == "InputError: no data\n") is in_one_line
    assert ("Traceback" in done.stderr) is not in_one_line


def test_the_last_error_of_a_log_has_no_module() -> None:
    log = "RuntimeError: first\nInputError\n  File x\na.b.files.InputError: y.json is missing: see z\nbye\n"
    assert last_error(log) == "InputError: y.json is missing: see z"
    assert last_error("all is well\n") == ""


def test_an_error_that_sends_to_the_log_says_what_is_there() -> None:
    said = ("error occurs at http://127.0.0.1:9/v1", "Connection error. Bearer sk-0123456789abcdef0123")
    lines = [
        f"11/24 18:58:19 - OpenCompass - ERROR - /x/openai_api.py - _generate - 95{n % 2} - {said[n % 2]}"
        for n in range(6)
    ]
    log = "\n".join([*lines, "RuntimeError: Calling failed. Check the logs for details."])
    found = last_error(log)
    assert found.startswith(
        "RuntimeError: Calling failed. error occurs at http://127.0.0.1:9/v1; Connection error."
    )
    assert "sk-0123" not in found
    assert (
        last_error("RuntimeError: Check the logs for details.") == "RuntimeError: Check the logs for details."
    )


def test_progress_is_said_at_times_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([0.0, 6.0, 12.0, 18.0, 24.0])
    monkeypatch.setattr("long_context_tasks.hosts.opencompass.console.time.monotonic", lambda: next(now))
    monkeypatch.setenv(FOLLOWED, "1")
    progress = CaseProgress("toy", 6, 2)
    for _ in range(4):
        progress.step()
    assert capsys.readouterr().err.splitlines() == [
        "progress: toy: 4 of 6 cases, about 12 s left",
        "progress: toy: 6 of 6 cases",
    ]


@pytest.mark.parametrize("followed", [False, True])
def test_a_task_whose_log_nothing_repeats_writes_to_its_terminal(tmp_path: Path, followed: bool) -> None:
    log = tmp_path / "log"
    code = "from long_context_tasks.hosts.opencompass.console import say; say('1 of 2 cases')"
    environment = {**os.environ, **({FOLLOWED: "1"} if followed else {})}
    child, terminal = pty.fork()
    if child == 0:
        with log.open("w") as file:
            subprocess.run([sys.executable, "-c", code], stderr=file, env=environment, check=False)
        os._exit(0)
    seen = b""
    while piece := _read(terminal):
        seen += piece
    os.waitpid(child, 0)
    os.close(terminal)
    assert log.read_text() == "progress: 1 of 2 cases\n"
    assert (b"1 of 2 cases" in seen) is not followed


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1024)
    except OSError:  # the other end is closed
        return b""


def test_progress_in_a_log_is_repeated_and_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opencompass")
    from long_context_tasks.hosts.opencompass import runner

    monkeypatch.setattr(runner, "_LOOKS", 0.01)
    shown: list[str] = []
    repeated = threading.Event()

    def write(line: str) -> None:
        shown.append(line)
        repeated.set()

    monkeypatch.setattr(runner.tqdm, "write", write)
    log = tmp_path / "log"
    with runner.followed(log), log.open("w") as file:
        file.write("noise\nprogress: 1 of 2\nprogress: 2 o")
        file.flush()
        assert repeated.wait(300)
        assert shown == ["1 of 2"]
        file.write("f 2\n")
    assert shown == ["1 of 2", "2 of 2"]
