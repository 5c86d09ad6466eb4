"""Errors of OpenCompass' tasks in one line."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from long_context_tasks.hosts.opencompass.console import _Told, last_error, last_line, shown_logs

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


_WORK = """
import sys
from pathlib import Path
from long_context_tasks.hosts.opencompass.console import shown_logs
log = Path(sys.argv[1]) / "infer" / "m" / "task.out"
log.parent.mkdir(parents=True)
with shown_logs(Path(sys.argv[1])):
    for line in ("Map: 5/5 [00:01]\\nloading the model\\n11/27 08:36:03 - OpenCompass - \\x1b[97mINFO\\x1b[0m - Task [m]", "\\rtask: 1/9 [00:03<?]\\rtask: 2/9 [00:06<?]11/27 - INFO - Settings"):
        with log.open("a") as file:
            file.write(line + "\\n")
        sys.stdin.readline()
"""


def test_a_terminal_shows_the_bar_of_the_newest_log(tmp_path: Path) -> None:
    """The work goes on when the terminal has shown its first line, and ends when it has shown its second."""
    (tmp_path / "of an earlier run.out").write_text("old")
    os.utime(tmp_path / "of an earlier run.out", (0, 0))
    (tmp_path / "deleted.out").symlink_to(tmp_path / "nowhere")  # cannot be read, like a log that was moved
    console, terminal = os.openpty()
    work = subprocess.Popen(
        [sys.executable, "-c", _WORK, str(tmp_path)], stdin=subprocess.PIPE, stderr=terminal, bufsize=0
    )
    os.close(terminal)
    assert work.stdin is not None
    output = b""
    for line in (b"loading the model", b"task: 2/9 [00:06<?]"):
        while line not in output:
            output += os.read(console, 65536)
        work.stdin.write(b"\n")
    assert work.wait() == 0
    work.stdin.close()
    os.close(console)
    assert not any(other in output for other in (b"1/9", b"old", b"Settings", b"Task"))


def test_what_a_log_holds_for_the_terminal_is_shown_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with shown_logs(tmp_path):
        time.sleep(0.05)  # file systems have a coarser clock
        for name in ("a.out", "b.out"):
            (tmp_path / name).write_text("toy: 0%| | 0/4 [00:30<?]long_context_tasks: waiting for it\nx\n")
    assert capsys.readouterr().err == "waiting for it\n"


def test_the_cases_of_the_task_are_shown_and_not_the_prompts_of_a_batch(tmp_path: Path) -> None:
    """A batch of 64 prompts draws its own bar below that of the task."""
    log = tmp_path / "task.out"
    inner = [f"Inferencing: {n}/64 [00:0{n % 10}<00:09, {'#' * 40}]\x1b[A" for n in range(64)]
    log.write_text("\r".join(["toy_1k:  20%| | 12/60 [00:04<00:16]", *inner]))
    assert last_line(log) == "toy_1k:  20%| | 12/60 [00:04<00:16]"


def test_only_lines_of_this_package_are_shown_and_without_keys(tmp_path: Path) -> None:
    log, told = tmp_path / "task.out", _Told()
    log.write_text(
        "a prompt says: long_context_tasks: no\nlong_context_tasks: Bearer sk-0123456789abcdef0123\n"
    )
    assert list(told.new_lines([log])) == ["(not shown)"]
    log.write_text("1/2 [00:01]\rlong_context_tasks: new")  # written anew, and not complete
    assert not list(told.new_lines([log])) and told._read[log] == len("1/2 [00:01]\r")
    log.write_text("1/2 [00:01]\rlong_context_tasks: new\n")
    assert list(told.new_lines([log])) == ["new"]
