"""Settings of case builders, whose fields are at the same time the options of `lct build`.

A builder's settings are a frozen dataclass that derives from :class:`BuildSettings`. The type of a field says how a user's text is read
and what a value must be; :func:`option` in the type makes the field an option. Other fields are set by code alone::

    @dataclass(frozen=True)
    class TSortSettings(BuildSettings):
        segments: Annotated[Whole, option("Number of segments to put in order. Default: 4", PANEL, ge=2, le=26)] = 4
        items: Annotated[Listed[Whole], option("Numbers of options, with commas", PANEL)] = ()
        per_book: int | None = None  # no option

The field ``section_tokens`` is the option ``--section-tokens``. An option of several builders needs the same help and panel in each.
Types are checked where a user gives the values (:func:`settings_of`), rules over several fields in ``__post_init__`` whenever settings
are made. The raw data that a builder reads are no field but a :class:`SourceOption`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field

from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Whole, validated
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

ALL_TASKS = "All tasks"
"""Panel of the options that every builder has."""


def option(help: str, panel: str, **checks: Any) -> Any:
    """Make a field of settings an option of `lct build`, as a part of its annotated type.

    Args:
        help: for the command line; it states the default in words.
        panel: title under which the help lists it.
        checks: of :func:`pydantic.Field`, such as ``ge=1``.
    """
    return Field(description=help, json_schema_extra={"panel": panel}, **checks)


class SourceOption(NamedTuple):
    """The option of `lct build` that names the raw data of a builder: ``documents`` for ``--documents``; the rest as in :func:`option`."""

    name: str
    help: str
    panel: str


def _split(value: Any) -> Any:
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


_Item = TypeVar("_Item")
Listed = Annotated[tuple[_Item, ...], BeforeValidator(_split)]
"""Values with commas between them, or a list."""


def flag_of(name: str) -> str:
    """Return the flag of a field: ``--section-tokens`` for ``section_tokens``."""
    return f"--{name.replace('_', '-')}"


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
    seed: Annotated[
        Whole, option("Seed of shuffles and choices; equal seeds give equal bytes. Default: 0", ALL_TASKS)
    ] = 0
    n: Annotated[
        Whole | None,
        option(
            "Most cases of each length (and of each domain, where there are several); they cover all books, or are a random choice "
            "of questions. Default: all; synthetic: 200.",
            ALL_TASKS,
            ge=1,
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        option(
            "Hugging Face tokenizer (folder or hub id) in which prompts are counted beside cl100k.", ALL_TASKS
        ),
    ] = None
    length_policy: Annotated[
        Literal["same_information", "same_tokens"],
        option(
            "same_information: lengths are cl100k tokens, so every model reads the same text; same_tokens: lengths are tokens of "
            "--tokenizer. Default: same_information",
            ALL_TASKS,
        ),
    ] = "same_information"

    def __post_init__(self) -> None:
        """Refuse lengths that cannot be built, before any costly work."""
        if not self.lengths:
            raise InputError("no length is given: add --length, e.g. --length 2k or --length 2k,...,128k")
        if too_short := [length for length in self.lengths if length < self.SHORTEST]:
            raise InputError(
                f"length {too_short[0]} is too short: the instruction alone takes {self.INSTRUCTION} tokens; use "
                f"{self.SHORTEST} or more"
            )
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


_Settings = TypeVar("_Settings", bound=BuildSettings)


def settings_of(kind: type[_Settings], values: Mapping[str, Any], place: str) -> _Settings:
    """Return settings from what a user gives, as text or as values.

    Args:
        kind: class of the settings.
        values: by the names of its fields.
        place: begins messages about rules over several fields.

    Raises:
        InputError: a value that does not fit; names the option and what it must be.
    """
    return validated(kind, values, place, places={each.name: flag_of(each.name) for each in fields(kind)})
