"""A group of commands of which one may be left unnamed: ``lct report RESULTS --out site`` beside ``lct report elitr ...``."""

from pathlib import Path
from typing import Any

from typer.core import TyperGroup


def with_default(name: str) -> type[TyperGroup]:
    """The class of a group that takes a first word which is a path, or an option, for an argument of the command ``name``.

    A word that is neither a command nor a path stays an unknown command, so that a slip is told as such.
    """

    class DefaultCommand(TyperGroup):
        """See :func:`with_default`."""

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            """Put the name of the default command in front where it was left out."""
            if args and args[0] not in self.list_commands(ctx) and _is_argument(args[0]):
                args = [name, *args]
            return list(super().parse_args(ctx, args))

    return DefaultCommand


def _is_argument(word: str) -> bool:
    if word.startswith("-"):
        return word not in ("--help", "-h")
    return "/" in word or "\\" in word or word.startswith((".", "~")) or Path(word).exists()
