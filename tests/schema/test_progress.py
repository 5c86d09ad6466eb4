"""Progress bars on a real terminal, whose clock goes on during a step, and none in a file."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest
from collected_runs import Run, simple, write_lm_eval

_LONG = "elitr_bench_conv_synthetic_goldhistory 32k"
_BAR = f"""
import signal, sys
signal.alarm(60)
from long_context_tasks.schema.progress import each_with_progress
for name in each_with_progress(["{_LONG}"], "reading"):
    sys.stdin.readline()
"""
_STEP = """
import signal, sys
signal.alarm(60)
from long_context_tasks.schema.progress import step
with step("waiting for " + "a_server " * 20, print):
    sys.stdin.readline()
"""
# A bar as another library draws it.
_THEIRS = """
import signal, sys
signal.alarm(60)
from long_context_tasks.schema.progress import keep_clocks_going
from tqdm import tqdm
keep_clocks_going()
with tqdm(total=2, desc="theirs"):
    sys.stdin.readline()
"""
_LIMITED = _STEP.replace("print", "print, limit=9")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        # A bar beside the long name, in 80 columns.
        (_BAR, rf"reading {_LONG}:   0%\|[^|\r]{{5,}}\| 0/1 \[(\d\d:\d\d)<"),
        (_STEP, r"\r\[(\d\d:\d\d)\] waiting for a_server [^\r]{40,50}(?=\r)"),
        (_LIMITED, r"\r\[(\d\d:\d\d), 9 s per attempt\] waiting for a_server "),
        (_THEIRS, r"\rtheirs:   0%\|[^\r]*\| 0/2 \[(\d\d:\d\d)<"),
    ],
    ids=["bar", "step", "limited step", "bar of another library"],
)
def test_the_clock_of_a_terminal_goes_on_during_a_step(code: str, line: str) -> None:
    """The step ends when the terminal has shown two of its seconds, and dies if it shows none."""
    console, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    running = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    output = b""
    while len(set(re.findall(line.encode(), output))) < 2:
        output += os.read(console, 65536)
    running.communicate(b"\n")
    os.close(console)
    assert running.returncode == 0


def test_a_file_gets_no_bar_and_the_name_of_a_step_once() -> None:
    for code, printed in ((_BAR, b""), (_STEP, b"waiting for " + b"a_server " * 20 + b"\n")):
        done = subprocess.run([sys.executable, "-c", code], input=b"\n", capture_output=True, check=True)
        assert (done.stderr, done.stdout) == (b"", printed)


_NOTE = """
from long_context_tasks.cli.output import warn
from long_context_tasks.schema.progress import progress
with progress(2) as bar:
    warn("a note")
"""


def _on_a_terminal(*command: object) -> bytes:
    """What a command writes on the standard error of a terminal."""
    console, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    running = subprocess.Popen(
        [sys.executable, *map(str, command)], stdout=subprocess.DEVNULL, stderr=terminal
    )
    os.close(terminal)
    output = b""
    with suppress(OSError):  # Linux's sign that the last process has closed the terminal
        while chunk := os.read(console, 65536):
            output += chunk
    os.close(console)
    assert running.wait() == 0
    return output


def test_a_bar_makes_room_for_a_note() -> None:
    lines = _on_a_terminal("-c", _NOTE).split(b"\r\n")
    assert lines[0].split(b"\r")[-1] == b"a note"


def test_a_report_shows_how_many_runs_are_read(tmp_path: Path) -> None:
    write_lm_eval(tmp_path, Run(simple([1.0])))
    shown = _on_a_terminal("-c", "from long_context_tasks.cli import app; app()", "report", tmp_path)
    assert b"reading runs: " in shown and b"0/1" in shown


def test_a_terminal_shows_that_generated_cases_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    code = (
        "import long_context_tasks as lct; from long_context_tasks.benchmarks import building; building._DELAY = 0; "
        "lct.load_task('elitr_bench_conv_synthetic', length='16k', n=2)"
    )
    assert re.search(rb"\d/2 \[.* cases", _on_a_terminal("-c", code))


def test_the_bar_of_a_long_count_is_visible_in_80_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "a_folder_with_a_long_name" / "Some-Model-8B-Instruct"
    folder.mkdir(parents=True)
    code = f"""
import time
from tokenizers import Tokenizer, models
from long_context_tasks.tokens import cached_counts
Tokenizer(models.WordLevel({{"[UNK]": 0}}, unk_token="[UNK]")).save("{folder}/tokenizer.json")
texts = [(str(n), lambda: time.sleep(0.04) or "text") for n in range(40)]
cached_counts("{folder}", texts, 40, "{_LONG}")
"""
    lines = [part for part in _on_a_terminal("-c", code).decode().split("\r") if "/40 [" in part]
    for line in lines:
        assert re.match(
            r" *\d+%\|.{10}\| \d+/40 \[\d\d:\d\d<\d\d:\d\d\] counting elitr_bench_conv_synth", line
        )
        assert len(line) <= 80 and tmp_path.name not in line
    assert lines


_LEFT_OPEN = """
import time
from long_context_tasks.schema import progress
from tqdm import tqdm
progress._EVERY = 0.05
progress.keep_clocks_going()
bar = tqdm(total=2, desc="theirs")
time.sleep(0.5)
del bar
waited = 0
while tqdm._instances and waited < 100:  # it may be drawn at the moment
    time.sleep(0.05)
    waited += 1
assert not tqdm._instances
"""


def test_a_bar_that_a_library_forgets_ends() -> None:
    done = subprocess.run([sys.executable, "-c", _LEFT_OPEN], capture_output=True, text=True, check=True)
    assert done.stderr.count("theirs:") > 2
