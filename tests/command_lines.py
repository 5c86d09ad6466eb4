"""The commands of `lct` as a tree, and a check of typed command lines against it; nothing is run."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin

import typer

from long_context_tasks.cli import app


@dataclass(frozen=True)
class Command:
    """A command that does something: its words after `lct`, its object, and whether it stands for its group too."""

    words: tuple[str, ...]
    command: Any

    @property
    def options(self) -> dict[str, Any]:
        """Every spelling of its options."""
        found = {"--help": None, "-h": None, "--debug": None}
        for param in self.command.get_params(self.command.context_class(self.command)):
            if param.param_type_name == "option":
                found |= dict.fromkeys((*param.opts, *param.secondary_opts), param)
        return found


@cache
def commands() -> tuple[Command, ...]:
    """All commands, in the order of the help."""
    return tuple(_walk(typer.main.get_command(app), (), None))


def _walk(command: Any, words: tuple[str, ...], parent: Any) -> Iterator[Command]:
    context = command.context_class(command, info_name=(words or ("lct",))[-1], parent=parent)
    if not hasattr(command, "list_commands"):
        yield Command(words, command)
        return
    for name in command.list_commands(context):
        yield from _walk(command.get_command(context, name), (*words, name), context)


def type_of(param: Any) -> str:
    """The type of one value of a parameter, however many it takes."""
    descriptor = getattr(param, "type_descriptor", None)
    if descriptor is None:
        return str(param.type.name)
    annotation = descriptor.annotation
    if get_origin(annotation) is list:
        [annotation] = get_args(annotation)
    return "str" if get_origin(annotation) is Literal else annotation.__name__


_WORDS_OF_SHELL = re.compile(r"\$\([^)]*\)|`[^`]*`")


def problem_of(line: str) -> str | None:
    """What is wrong with a command line that begins with `lct`: an unknown command or option; None when nothing is."""
    plain = _WORDS_OF_SHELL.sub("X", line.partition(" #")[0])
    words = shlex.split(re.split(r" [|>&;] ?|[|;]| 2>| > ", plain)[0])[1:]
    top = {option for param in typer.main.get_command(app).params for option in param.opts}
    words = [word for word in words if word not in ("--debug", "...")]
    if not words or words[0] in {*top, "--help", "-h", "COMMAND"}:
        return None
    known = {command.words: command for command in commands()}
    found = next((known[start] for n in (3, 2, 1) if (start := tuple(words[:n])) in known), None)
    if found is None and words[0] == "report":
        found = known[("report", "site")]
    if found is None:
        groups = {words[:n] for words in known for n in range(1, len(words))}
        if tuple(word for word in words if word not in ("--help", "-h")) in groups:
            return None
        return f"no such command: lct {' '.join(words[:2])}"
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]
    unknown = [word for word in given if word not in found.options]
    return f"lct {' '.join(found.words)} has no {', '.join(unknown)}" if unknown else None
