"""Progress bars on a real terminal, whose clock goes on during a step, and none in a file."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios

_STEP = """
import sys
from long_context_tasks.schema.progress import each_with_progress
for name in each_with_progress(["some_task"], "reading", "task"):
    sys.stdin.readline()
"""


def test_the_clock_of_a_terminal_goes_on_during_a_step() -> None:
    """The step ends when the terminal has shown two of its seconds."""
    console, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    step = subprocess.Popen([sys.executable, "-c", _STEP], stdin=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    output = b""
    while len(set(re.findall(rb"reading some_task: [^\r]* 0/1 \[(\d\d:\d\d)<", output))) < 2:
        output += os.read(console, 65536)
    step.communicate(b"\n")
    os.close(console)
    assert step.returncode == 0


def test_a_file_gets_no_bar() -> None:
    done = subprocess.run([sys.executable, "-c", _STEP], input=b"\n", capture_output=True, check=True)
    assert done.stderr == done.stdout == b""
