"""Conventions of all commands: examples, one spelling of an option, --json, exit codes, quick help, completion."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import typer
from command_lines import Command, commands, problem_of, type_of
from typer.testing import CliRunner

from long_context_tasks.cli import BAD_INPUT, CLOSED_PIPE, INTERNAL, INTERRUPTED, app
from long_context_tasks.cli import output as printed
from long_context_tasks.schema import InputError

LCT = "import sys; from long_context_tasks.cli import app; sys.argv[0] = 'lct'; app(prog_name='lct')"
NO_RESULT = {
    ("noise", "inject"): "its result is a text",
    ("orca", "train"): "hours of progress, and a folder",
}
HEAVY = (
    *("numpy", "polars", "pandas", "torch", "transformers", "tiktoken", "aiohttp", "lxml", "tqdm", "scipy"),
    "datasets",
)


def name(command: Command) -> str:
    return " ".join(command.words)


def lct(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **more}
    return subprocess.run(
        [sys.executable, "-c", LCT, *words], capture_output=True, text=True, env=environment, check=False
    )


@pytest.mark.parametrize("command", commands(), ids=name)
def test_help_describes_the_command_and_ends_with_a_valid_example(command):
    assert command.command.help and len(command.command.help.split()) >= 4
    for param in command.command.params:
        assert getattr(param, "help", None), f"{param.name} has no help"
    epilog = (command.command.epilog or "").strip()
    assert epilog.startswith("Example"), "no example"
    examples = [line.strip() for line in epilog.splitlines()[1:] if line.strip()]
    own = "lct report" if command.words == ("report", "site") else f"lct {name(command)}"
    assert any(own in line for line in examples)
    for line in examples:
        if line.startswith("lct "):
            assert problem_of(line) is None


def test_an_option_has_one_short_form_and_one_type_everywhere():
    short, types = defaultdict(dict), defaultdict(dict)
    for command in commands():
        for param in command.command.params:
            if param.param_type_name != "option":
                continue
            long = next(option for option in param.opts if option.startswith("--"))
            shorts = tuple(option for option in param.opts if not option.startswith("--"))
            short[long].setdefault(shorts, name(command))
            types[long].setdefault(type_of(param), name(command))
            assert param.opts[0] == long, f"{name(command)}: {param.opts}: the long form stands first"
    assert {long: found for long, found in short.items() if len(found) > 1} == {}
    assert {long: found for long, found in types.items() if len(found) > 1} == {}
    taken = [one for found in short.values() for shorts in found for one in shorts]
    assert sorted(taken) == sorted(set(taken)), "one short form for two options"


@pytest.mark.parametrize("command", commands(), ids=name)
def test_a_command_that_prints_has_json(command):
    assert ("--json" in command.options) == (command.words not in NO_RESULT)
    assert "-o" not in command.options or "--out" in command.options
    assert "--output" not in command.options


def test_no_help_and_no_completion_imports_anything_heavy():
    program = (
        "import sys, typer; from command_lines import commands; [c.options for c in commands()];"
        "from long_context_tasks.cli.options import complete_benchmark, complete_tasks;"
        "assert complete_tasks('ada_leval_tsort_2k,ethic_rec'); assert complete_benchmark('e');"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(sys.modules["command_lines"].__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_shell_completes_tasks_benchmarks_and_choices():
    def completed(line: str) -> list[str]:
        words = line.split(" ")
        more = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_LCT_COMPLETE": "complete_bash"}
        return lct(**more).stdout.split()

    assert "report" in completed("lct re")
    assert completed("lct data fetch eli") == ["elitr_bench"]
    assert completed("lct tasks ada_leval_bestanswer_1k_") == [
        f"ada_leval_bestanswer_1k_{variant}" for variant in ("synthetic", "front", "mid", "rear", "nodoc")
    ]
    before = "ada_leval_tsort_2k"
    assert completed(f"lct plan --tasks {before},ethic_recall_b")[:1] == [f"{before},ethic_recall_books"]
    assert "_LCT_COMPLETE" in lct(_LCT_COMPLETE="source_bash").stdout


def test_version_is_that_of_the_package():
    from long_context_tasks import __version__

    assert lct("--version").stdout.strip() == f"lct {__version__}"


@pytest.fixture
def failing(monkeypatch):
    """Returns a function that makes `lct tasks` raise an error, and returns exit code, standard output and standard error."""

    def run(error: BaseException, *words: str) -> tuple[int, str, str]:
        def fails(*_args: object, **_options: object) -> None:
            raise error

        monkeypatch.setattr("long_context_tasks.benchmarks.catalogue.task_specs", fails)
        result = CliRunner().invoke(app, list(words or ("tasks",)))
        return result.exit_code, result.stdout, result.stderr

    return run


def test_every_error_is_one_line_and_a_traceback_comes_with_debug(failing):
    code, out, err = failing(RuntimeError("the disk\nis on fire"))
    assert (code, out) == (INTERNAL, "")
    assert err == "error: RuntimeError: the disk is on fire; run again with --debug for the traceback\n"
    for words in (("--debug", "tasks"), ("tasks", "--debug")):
        code, out, err = failing(RuntimeError("no"), *words)
        assert code == INTERNAL and "Traceback" in err and err.endswith("error: RuntimeError: no\n")


def test_an_option_that_was_not_typed_keeps_its_name(failing):
    """Such as one that a run has recorded."""
    assert failing(InputError("lct_data_dir is wrong"))[2] == "error: lct_data_dir is wrong\n"
    typed = failing(InputError("lct_data_dir is wrong"), "tasks", "--data-dir", "data")
    assert typed[2] == "error: --data-dir is wrong\n"


def test_interruption_is_one_line(failing):
    assert failing(KeyboardInterrupt()) == (INTERRUPTED, "", "interrupted\n")


def test_bad_input_is_one_line_with_a_remedy():
    result = CliRunner().invoke(app, ["tasks", "nothing_like_it"])
    assert result.exit_code == BAD_INPUT and result.stdout == ""
    assert result.stderr == (
        "error: no task, group or glob 'nothing_like_it'; `lct tasks` lists them. For other lengths use --length with a task in *_any\n"
    )
    assert "Traceback" in CliRunner().invoke(app, ["tasks", "nothing_like_it", "--debug"]).stderr
    for words, said in (
        (["tasks", "--no-such"], "see `lct tasks --help`"),
        (["no-such"], "see `lct --help`"),
        (["judge", "no-such"], "see `lct judge --help`"),
        (["--no-such"], "see `lct --help`"),
        (["coverage", "cases", "--n", "many"], "see `lct coverage --help`"),
        (["annotate", "correct", "study.db"], "see `lct annotate correct --help`"),
    ):
        result = CliRunner().invoke(app, words)
        assert (result.exit_code, result.stdout) == (BAD_INPUT, ""), words
        [line] = result.stderr.splitlines()
        assert line.startswith("error: ") and line.endswith(said), line
    wrong = CliRunner().invoke(app, ["build", "ada_leval_bestanswer_synthetic", "--length", "1k,8q"])
    assert wrong.stderr.startswith("error: --length '8q' is not a length: ")
    assert "Usage: lct judge" in CliRunner().invoke(app, ["judge"]).output


@pytest.mark.slow
def test_a_closed_pipe_is_silent():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-c", LCT, "tasks"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (CLOSED_PIPE, "")


@pytest.mark.slow
def test_json_is_one_document_also_when_a_check_fails(monkeypatch):
    result = CliRunner().invoke(app, ["tasks", "ada_leval_tsort_2k", "--json"])
    [table, _] = json.loads(result.stdout)["tables"]
    assert table["rows"][0]["task"] == "ada_leval_tsort_2k"

    def finding(title: str, *_rest: object, **_more: object) -> None:
        printed.print_table(title, ["rater", "n", "mean", "why"], [["a", "1,024", "0.50", "-"]], ("why",))
        printed.say("a message")
        printed.give("done", file=os.devnull, mean=float("nan"))
        raise typer.Exit(1)

    for name in ("add_table", "print_table"):
        monkeypatch.setattr(f"long_context_tasks.cli.tasks.{name}", finding)
    result = CliRunner().invoke(app, ["tasks", "--json"])
    assert result.exit_code == 1 and result.stderr == "a message\n"
    assert json.loads(result.stdout) == {
        "tables": [
            {
                "title": "tasks",
                "columns": ["rater", "n", "mean", "why"],
                "rows": [{"rater": "a", "n": 1024, "mean": 0.5, "why": "-"}],
            }
        ],
        "result": {"file": os.devnull, "mean": None},
    }
    # The next command of the process begins anew.
    result = CliRunner().invoke(app, ["tasks"])
    assert result.stdout.splitlines()[-2:] == ["a message", "done"] and "{" not in result.stdout
