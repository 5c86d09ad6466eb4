"""Every command of `lct` in an environment with the core only, and with one host only: it works, or names the extra to install."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from environments import Environment

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

# Commands by their words; nothing that is given exists, but for the arguments below.
PROGRAM = """
import contextlib, io, json, sys, typer
from long_context_tasks.cli import app

ARGUMENTS = json.loads(sys.argv[1])
root = typer.main.get_command(app)

def leaves(command, words, context):
    names = command.list_commands(context) if hasattr(command, "list_commands") else []
    for name in names:
        yield from leaves(command.get_command(context, name), [*words, name], context)
    if not names:
        yield words

said = {}
for words in leaves(root, [], typer.Context(root)):
    out = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            app([*words, *ARGUMENTS.get(" ".join(words), [])], prog_name="lct")
        except SystemExit as end:
            code = end.code or 0
    said[" ".join(words)] = (code, out.getvalue()[-600:])
print(json.dumps(said))
"""


def said_of(environment: Environment, folder: Path) -> dict[str, tuple[int, str]]:
    there = str(folder)
    arguments = {
        "build": ["ada_leval_bestanswer_synthetic", "--length", "1k", "--n", "1", "--out", f"{there}/cases"],
        "demo": ["--out", f"{there}/demo"],
        "plan": ["--tasks", "ada_leval_bestanswer_1k_synthetic"],
        "tasks": ["recall"],
        "report": [there],
        "report site": [there, "--out", f"{there}/site"],
        "report compare": [there],
        "report pack": [there, "--out", f"{there}/bundles"],
        "report check": [there],
        "report paper": ["elitr_bench"],
        "runs rescore": [there],
        "runs export": ["ada_leval_bestanswer_1k_synthetic", "--out", f"{there}/prompts.jsonl"],
        "judge run": [there],
        "noise inject": ["--wer", "0.2", "README.txt"],
    }
    return {
        name: (code, text)
        for name, (code, text) in json.loads(
            environment.run(f"import sys; sys.argv = ['', {json.dumps(arguments)!r}]\n" + PROGRAM)
        ).items()
    }


@pytest.mark.parametrize(
    ("extras", "missing"),
    [
        ((), {"report compare", "report pack", "report check", "demo", "report site"}),
        (("lm-eval",), {"demo"}),
    ],
    ids=["core", "lm-eval"],
)
def test_every_command_works_or_names_the_extra(
    environment_with: Callable[..., Environment], tmp_path: Path, extras: tuple[str, ...], missing: set[str]
) -> None:
    said = said_of(environment_with(*extras), tmp_path / "work")
    broken = {name: text for name, (code, text) in said.items() if code == 3 or "Traceback" in text}
    assert broken == {}
    named = {name for name, (code, text) in said.items() if re.search(r"pip install '[\w\[\]-]+'", text)}
    assert named >= missing
    assert all(said[name][0] == 2 for name in named)
    assert all(re.search(r"lct \w+.* needs [\w, ]+: pip", said[name][1]) for name in named)
    if extras:
        assert named <= missing
