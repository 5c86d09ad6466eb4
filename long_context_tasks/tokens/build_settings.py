"""Settings of case builders; their fields are also the options of `lct build`.

A builder's settings are a frozen dataclass derived from :class:`BuildSettings`. A field's type determines how
a user's input is parsed and checked; :func:`option` in the type makes the field an option. Other fields are
set only by code::

    @dataclass(frozen=True)
    class TSortSettings(BuildSettings):
        segments: Annotated[Whole, option("Number of segments to put in order. Default: 4", PANEL, ge=2, le=26)] = 4
        items: Annotated[Listed[Whole], option("Numbers of options, with commas", PANEL)] = ()
        fill: bool = False  # not an option

The field ``chunk_tokens`` is the option ``--chunk-tokens``. An option shared by several builders has the same
help and panel in each. :func:`settings_of` checks the types of a user's values; ``__post_init__`` checks
rules that involve several fields. A :class:`SourceOption` names a builder's raw data, which are not part of
its settings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import BeforeValidator, Field

from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Whole, described_fields, validated
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

ALL_TASKS = "All tasks"  # panel of options shared by all builders


def option(help: str, panel: str, **checks: Any) -> Any:
    """Expose a settings field as an `lct build` option; for use inside the field's ``Annotated`` type."""
    return Field(description=help, json_schema_extra={"panel": panel}, **checks)


class SourceOption(NamedTuple):
    """Option of `lct build` for a builder's raw data, e.g. ``documents`` for ``--documents``.

    See :func:`option` for the help and panel.
    """

    name: str
    help: str
    panel: str


def _split(value: Any) -> Any:
    return [word.strip() for word in value.split(",")] if isinstance(value, str) else value


_Item = TypeVar("_Item")
Listed = Annotated[tuple[_Item, ...], BeforeValidator(_split)]
"""Comma-separated values, or a list."""


def flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class BuildSettings:
    """Settings common to all builders; subclasses add more."""

    SHORTEST: ClassVar[int] = 500  # minimum length in tokens
    INSTRUCTION: ClassVar[str] = "some 200"  # tokens of a prompt without its context, for messages

    lengths: tuple[int, ...]  # in tokens, ascending; from --length
    seed: Annotated[
        Whole, option("Seed of shuffles and choices; equal seeds give equal bytes. Default: 0", ALL_TASKS)
    ] = 0
    n: Annotated[
        Whole | None,
        option(
            "Most cases of each length (and of each domain, where there are several). They come from as many books as possible, in "
            "TSort from random ones, or are a random choice of questions. Default: all; synthetic: 200.",
            ALL_TASKS,
            ge=1,
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        option(
            "Hugging Face tokenizer (folder or hub id) that counts prompts in addition to cl100k.", ALL_TASKS
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
        if not self.lengths:
            raise InputError("no length is given: add --length, e.g. --length 2k or --length 2k,...,128k")
        if too_short := [length for length in self.lengths if length < self.SHORTEST]:
            raise InputError(
                f"length {too_short[0]} (lct_length, --length) is too short: the instruction takes "
                f"{self.INSTRUCTION} tokens; use {self.SHORTEST} or more"
            )
        if self.length_policy == "same_tokens" and self.tokenizer is None:
            raise InputError(
                "same_tokens counts in the model's tokenizer: give --tokenizer (lct_tokenizer) as well"
            )

    @property
    def measure(self) -> Tokenizer:
        """Tokenizer in which lengths are measured."""
        return get_tokenizer(str(self.tokenizer) if self.length_policy == "same_tokens" else CL100K)

    @property
    def other_tokenizer(self) -> Tokenizer | None:
        """Second tokenizer that counts prompts; None if only cl100k is used."""
        return None if self.tokenizer in (None, CL100K) else get_tokenizer(str(self.tokenizer))


_Settings = TypeVar("_Settings")


def settings_of(kind: type[_Settings], values: Mapping[str, Any], place: str) -> _Settings:
    """Return a command's settings parsed from the user's values by name; errors name the options."""
    return validated(
        kind, values, place, places={name: flag_of(name) for name in (*values, *described_fields(kind))}
    )
