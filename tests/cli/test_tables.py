"""Tables on real terminals of several widths: no line is too wide, and no word is broken."""

import fcntl
import os
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from collected_runs import Run, simple, write_lm_eval

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.schema.grid import Grid

COUNTED = ["task", "host", "cases", "strict accuracy", "official accuracy", "left out", "why"]
ROWS = [
    [f"ada_leval_{task}_128k_synthetic", host, 1234, "12.5 [1.2, 31.0]", "", 0, why]
    for task, why in (("bestanswer", ""), ("tsort", "the server refused 12 prompts as too long"))
    for host in ("lm-eval", "OpenCompass")
]


def printed(width: int, *tail: list[object]) -> list[str]:
    """Print a table on a terminal of this width."""
    return on_a_terminal(width, f"print_table('Scores', {COUNTED}, {[*ROWS, *tail]}, ('host', 'why'))")


def on_a_terminal(width: int, call: str) -> list[str]:
    """Call a function of the output in a process whose standard output is a terminal of this width."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    code = f"from long_context_tasks.cli.output import *; {call}"
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=theirs,
        stdout=theirs,
        env={**environment, "TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(theirs)
    received = b""
    try:
        while part := os.read(ours, 65536):
            received += part
    except OSError:  # Linux reports the end of a terminal as an error
        pass
    os.close(ours)
    assert process.wait() == 0
    return re.sub(r"\x1b\[[0-9;]*m|\r", "", received.decode()).split("\n")


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_tables_fit_and_break_no_name(width: int) -> None:
    lines = printed(width, ["total", "", 4936, "", "", 0, ""])
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    assert "1,234" in text and text.count("12.5 [1.2, 31.0]") == 4 and text.count("OpenCompass") == 2
    shared = "ada_leval_…" in text  # the heading then has what all names begin with
    for task in ("bestanswer", "tsort"):
        assert text.count(f"{'…' if shared else 'ada_leval_'}{task}_128k_synthetic") == 2
    assert "total" in text and "4,936" in text


def test_a_wide_terminal_shows_all_columns_and_a_narrow_one_drops_empty_ones() -> None:
    assert "official accuracy" in "\n".join(printed(200))
    assert "official" not in "\n".join(printed(80))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_message_breaks_no_name_and_no_command(width: int) -> None:
    names = [f"a_long_name_of_a_file_{number}.json" for number in range(8)]
    message = f"missing: {', '.join(names)}; `lct data fetch ada_leval --file 1k`"
    *lines, end = on_a_terminal(width, f"say('  ' + {message!r})")
    assert not end
    assert max(map(len, lines)) <= width and len(lines) > 1
    assert all(line.startswith("  ") for line in lines)
    assert " ".join(line.strip() for line in lines) == message
    assert any("`lct data fetch ada_leval --file 1k`" in line for line in lines)
    assert on_a_terminal(width, f"say({message!r}, wrap=False)") == [message, ""]


@pytest.mark.parametrize("width", [80, 100, 120])
def test_missing_runs_of_a_model_name_it_once_and_fit(width: int, tmp_path: Path) -> None:
    command = ["lm_eval", "--model_args", "pretrained=org/Qwen2.5-7B-Instruct", "--metadata", "lct_n=2"]
    tasks = [f"ada_leval_bestanswer_{length}_synthetic" for length in ("1k", "2k", "any")]
    for place, name in enumerate(tasks[:2]):
        run = Run(
            simple([1.0, 0.0]), name, "org/Qwen2.5-7B-Instruct", options={"lct_n": 2, "command": command}
        )
        write_lm_eval(tmp_path / str(place), run)
    arguments = ["plan", "--missing", str(tmp_path), "--tasks", ",".join(tasks), "--n", "4"]
    call = f"from long_context_tasks.cli import app; app({arguments}, standalone_mode=False)"
    lines = on_a_terminal(width, call)
    printed = " ".join(lines)
    assert printed.index("Runs of org/Qwen2.5-7B-Instruct that are not done") < printed.index("task ")
    copied = "lm_eval --model_args pretrained=org/Qwen2.5-7B-Instruct --metadata lct_n=2"
    assert copied in lines and max(len(line) for line in lines if line != copied) <= width
    table, _, rest = printed.partition("2 partial, 1 absent.")
    assert table.count("org/Qwen2.5-7B-Instruct") == 1 and "lct_n" not in table
    assert all(re.search(rf" {name} +(partial|absent) ", table) for name in tasks)
    assert "(org/Qwen2.5-7B-Instruct); without lct_n and --limit, it runs all cases:" in rest


@pytest.mark.parametrize("width", [70, 80, 100, 120])
def test_the_table_at_the_end_of_a_hosts_run_fits_and_breaks_no_figure(width: int) -> None:
    task, model = "ada_leval_bestanswer", "smollm2-135m-instruct"
    scores, chances = ["66.7 [9.4, 99.2]", "0.0 [0.0, 70.8]"], ["25.0", "7.9"]
    rows = [
        ["task", "model", "1k", "2k"],
        [f"{task} (synthetic)", model, *scores],
        [f"{task} (synthetic)", "random guess", *chances],
    ]
    shown = {"ada_leval_bestanswer_1k": ["strict_accuracy", "random_guess"]}
    call = f"from long_context_tasks.hosts.lengths import printed; print(printed({rows}, {shown}))"
    lines = on_a_terminal(width, call)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width and "judged scores in points" in " ".join(text.split())
    assert all(text.count(name) == 1 for name in (model, *scores, *chances))
    assert text.count("…bestanswer" if width == 80 else task) == 2
    assert ("| task" in text) is (width >= 100)  # as in files, where it fits
    told = " ".join(text.split())
    assert all(
        f"{name}: {card('ada_leval').metrics[name]}" in told for name in shown["ada_leval_bestanswer_1k"]
    )


def test_the_layout_is_that_of_rich() -> None:
    """Rich takes a second for a table of a thousand rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    names, rows = (
        ["name", "a number", "日本語"],
        [["owl", "1", "naïve text of some words"], ["crow", "22", ""]],
    )
    grid = Grid(names, rows, [True, False, True])
    table = Table(title="A title", title_justify="left", box=box.SIMPLE_HEAD)
    for name, left, width in zip(names, grid.left, grid._widths(28) or (), strict=True):
        table.add_column(name, justify="left" if left else "right", width=width)
    for row in rows:
        table.add_row(*row)
    console = Console(width=40, no_color=True, highlight=False)
    with console.capture() as captured:
        console.print(table)
    head, body = grid.laid_out("A title", 28)
    assert "\n".join([*head[0][1], *head[1][1], *body, ""]) == captured.get()
