"""Settings of case builders, whose fields are at the same time the options of `lct build`.

A builder's settings are a frozen dataclass that derives from :class:`BuildSettings`. A field made with :func:`option` carries what
the command line needs: help, panel, a check, and how its text is read. A plain field is no option; only other code sets it::

    @dataclass(frozen=True)
    class TSortSettings(BuildSettings):
        segments: int = option(4, "Number of segments to put in order. Default: 4", PANEL, check=between(2, 26))
        items: tuple[int, ...] = option((), "Numbers of options, with commas", PANEL, read=whole_numbers, check=each(at_least(2)))
        per_book: int | None = None  # no option

The field ``section_tokens`` is the option ``--section-tokens``. An option of several builders needs the same help and panel in each.
Checks run whenever settings are made, so a class needs ``__post_init__`` only for rules over several fields. A check is never asked
about None. The raw data that a builder reads are no field but a :class:`SourceOption`.
"""

import types
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from long_context_tasks.schema import InputError
from long_context_tasks.schema.options import LENGTH_POLICIES
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

ALL_TASKS = "All tasks"
"""Panel of the options that every builder has."""

Check = Callable[[Any], str | None]
"""Returns what a value must be, as in "at least 2", or None when it is that."""


def option(
    default: Any,
    help: str,
    panel: str,
    *,
    check: Check | None = None,
    read: Callable[[str, str], Any] | None = None,
) -> Any:
    """Make a field of settings that is an option of `lct build`.

    Args:
        default: of the field; the help states it in words.
        help: for the command line.
        panel: title under which the help lists it.
        check: of a value that is not None.
        read: from the text and the option's flag to the value, where the type alone does not say how, as for lists with commas;
            raises ``InputError``.
    """
    return field(default=default, metadata={"help": help, "panel": panel, "check": check, "read": read})


@dataclass(frozen=True)
class SourceOption:
    """The option of `lct build` that names the raw data of a builder.

    Attributes:
        name: ``documents`` for ``--documents``.
        help, panel: as in :func:`option`.
    """

    name: str
    help: str
    panel: str


@dataclass(frozen=True)
class BuildOption:
    """An option of `lct build` that a field of settings makes.

    Attributes:
        name: of the field.
        type: int, float, str or Path: what the command line accepts; str where there is a reader.
        help, panel: for the command line.
        read: see :func:`option`.
    """

    name: str
    type: type[Any]
    help: str
    panel: str
    read: Callable[[str, str], Any] | None

    @property
    def flag(self) -> str:
        """``--section-tokens``."""
        return flag_of(self.name)

    def value_of(self, typed: Any) -> Any:
        """Return the field's value for what was typed.

        Raises:
            InputError: the text cannot be read.
        """
        return typed if self.read is None else self.read(str(typed), self.flag)


def build_options(settings: type["BuildSettings"]) -> list[BuildOption]:
    """Return the options that the fields of settings make, in the order of the fields.

    >>> [one.flag for one in build_options(BuildSettings)]
    ['--seed', '--n', '--tokenizer', '--length-policy']
    """
    hints = get_type_hints(settings)
    return [
        BuildOption(
            one.name,
            str if one.metadata["read"] else _plain_type(hints[one.name]),
            one.metadata["help"],
            one.metadata["panel"],
            one.metadata["read"],
        )
        for one in _options(settings)
    ]


def _options(settings: "type[BuildSettings] | BuildSettings") -> "list[Field[Any]]":
    return [one for one in fields(settings) if "help" in one.metadata]


def _plain_type(hint: Any) -> type[Any]:
    """``int`` of ``int | None``."""
    if get_origin(hint) is types.UnionType:
        [hint] = (part for part in get_args(hint) if part is not type(None))
    if hint not in (int, float, str, Path):
        raise TypeError(f"an option of the type {hint} needs a reader")
    return hint  # type: ignore[no-any-return]


def flag_of(name: str) -> str:
    """Return the flag of a field: ``--section-tokens`` for ``section_tokens``."""
    return f"--{name.replace('_', '-')}"


def at_least(low: float) -> Check:
    """Check that a number has a least value.

    >>> at_least(2)(1), at_least(2)(2)
    ('at least 2', None)
    """
    return lambda value: None if value >= low else f"at least {low}"


def between(low: float, high: float) -> Check:
    """Check that a number is from ``low`` to ``high``, both included."""
    return lambda value: None if low <= value <= high else f"from {low} to {high}"


def one_of(values: Iterable[Any]) -> Check:
    """Check that a value is one of some."""
    known = tuple(values)
    return lambda value: None if value in known else f"one of {', '.join(map(str, known))}"


def each(check: Check) -> Check:
    """Check every member of a tuple."""
    return lambda values: next((f"{wrong} each" for wrong in map(check, values) if wrong), None)


def whole_numbers(text: str, flag: str) -> tuple[int, ...]:
    """Read whole numbers with commas, each once, ascending.

    >>> whole_numbers("8, 2,8", "--items")
    (2, 8)

    Raises:
        InputError: something else is there.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise InputError(f"{flag} {text}: give whole numbers with commas, as in 2,4,8")
    return tuple(sorted(set(map(int, words))))


@dataclass(frozen=True)
class BuildSettings:
    """Settings that every builder has; its own are in a subclass.

    Attributes:
        lengths: tokens, ascending; from ``--length``.
    """

    SHORTEST: ClassVar[int] = 500
    """Least length in tokens."""
    INSTRUCTION: ClassVar[str] = "some 200"
    """Tokens of a prompt that are no context, for messages."""

    lengths: tuple[int, ...]
    seed: int = option(0, "Seed of shuffles and choices; equal seeds give equal bytes. Default: 0", ALL_TASKS)
    n: int | None = option(
        None,
        "Most cases of each length (and of each domain, where there are several); they cover all books, or are a random choice "
        "of questions. Default: all; synthetic: 200.",
        ALL_TASKS,
        check=at_least(1),
    )
    tokenizer: str | None = option(
        None,
        "Hugging Face tokenizer (folder or hub id) in which prompts are counted beside cl100k.",
        ALL_TASKS,
    )
    length_policy: str = option(
        "same_information",
        "same_information: lengths are cl100k tokens, so every model reads the same text; same_tokens: lengths are tokens of "
        "--tokenizer. Default: same_information",
        ALL_TASKS,
        check=one_of(LENGTH_POLICIES),
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be built, before any costly work; the error names the option and what it must be."""
        if not self.lengths:
            raise InputError("no length is given: add --length, e.g. --length 2k or --length 2k,...,128k")
        if too_short := [length for length in self.lengths if length < self.SHORTEST]:
            raise InputError(
                f"length {too_short[0]} is too short: the instruction alone takes {self.INSTRUCTION} tokens; use "
                f"{self.SHORTEST} or more"
            )
        for one in _options(self):
            value, check = getattr(self, one.name), one.metadata["check"]
            if value is not None and check is not None and (must := check(value)):
                shown = ",".join(map(str, value)) if isinstance(value, tuple) else value
                raise InputError(f"{flag_of(one.name)} must be {must}, not {shown}")
        if self.length_policy == "same_tokens" and self.tokenizer is None:
            raise InputError(
                "same_tokens counts in the model's tokenizer: give --tokenizer (lct_tokenizer) as well"
            )

    @property
    def measure(self) -> Tokenizer:
        """The tokenizer in which caps and bounds are meant."""
        return get_tokenizer(str(self.tokenizer) if self.length_policy == "same_tokens" else CL100K)

    @property
    def other_tokenizer(self) -> Tokenizer | None:
        """The tokenizer beside cl100k, when there is one."""
        return None if self.tokenizer in (None, CL100K) else get_tokenizer(str(self.tokenizer))
