"""A run's options, spelled the same everywhere.

``lct_length`` is a key in lm-eval's ``--metadata``, a dataset argument in OpenCompass, ``--length`` in
``lct`` and ``LCT_LENGTH`` in the environment; the first one given in that order wins. An unknown ``lct_*``
key is an error. Built cases record their options (:meth:`Options.as_built`): the record supplies options that
are not given, and given ones must agree with it.
"""

import difflib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field
from typing_extensions import Self

from long_context_tasks.schema.case import SplitMessages
from long_context_tasks.schema.files import InputError
from long_context_tasks.schema.thinking import marks_of
from long_context_tasks.schema.validated import Whole, bounds_of, validated


def parse_length(text: str | int, *, option: str = "") -> int:
    """Parse a number of tokens: ``2k`` is 2,000, ``1m`` is a million, and plain numbers are allowed.

    The error begins with ``option``, the name of the option that has this value.

    >>> parse_length("128k"), parse_length("1m"), parse_length(900)
    (128000, 1000000, 900)

    Raises:
        InputError: the text is not a positive length.
    """
    match = re.fullmatch(r"(\d{1,12})([kKmM]?)", str(text).strip(), flags=re.ASCII)
    value = int(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2].lower()] if match else 0
    if value <= 0:
        found = f"{option} {str(text)[:40]!r}".strip()
        raise InputError(f"{found} is not a length: write it like 2k, 128k, 1m or 4096")
    return value


def format_length(tokens: int) -> str:
    """Return the shortest name for a length, the inverse of :func:`parse_length`.

    >>> format_length(128_000), format_length(1_000_000), format_length(4096)
    ('128k', '1m', '4096')
    """
    for unit, size in (("m", 1_000_000), ("k", 1_000)):
        if tokens % size == 0:
            return f"{tokens // size}{unit}"
    return str(tokens)


Text = Annotated[str, BeforeValidator(str)]
"""Any text."""
UserPath = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
"""A path; ``~`` is the home folder. Made absolute, so that results can be read from any folder."""
Tokens = Annotated[int, BeforeValidator(parse_length)]
"""A number of tokens, see :func:`parse_length`."""
Marks = Annotated[str, AfterValidator(lambda text: " ".join(marks_of(text)))]
"""A pair of thinking markers, see :func:`~long_context_tasks.schema.thinking.marks_of`."""
Positive = Annotated[Whole, Field(gt=0)]
"""A whole number above 0."""


def _number(value: object) -> object:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


@dataclass(frozen=True)
class Options:
    """Resolved options common to all benchmarks, recorded in every result.

    Benchmarks add their own in a subclass. The field types convert the user's text or value.
    """

    cases: UserPath | None = None  # a folder of built cases to run on, instead of the official files
    length: Tokens | None = None  # number of tokens, for tasks that end in ``_any`` and for builders
    # ``same_information``: lengths are in cl100k tokens, as in the papers, so every model receives the same
    # text; ``same_tokens``: lengths are in tokens of the model's own tokenizer.
    length_policy: Literal["same_information", "same_tokens"] = "same_information"
    # cl100k, or a Hugging Face folder or hub id, in which lengths are counted in addition to cl100k.
    tokenizer: Text | None = None
    # Context window in tokens; defaults to the host's, and is unknown if the host does not report it.
    window: Tokens | None = None
    seed: Whole = 0  # seed of generated cases and shuffles
    n: Positive | None = None
    # The official subsets, in file order.
    subset: Annotated[Literal[1000, 200, 50], BeforeValidator(_number)] | None = None
    judge: UserPath | None = None
    data_dir: UserPath | None = None  # folder with one subfolder of published files per benchmark
    # Folder of real texts from which recast cases are made; defaults to ``carriers`` in ``data_dir``.
    carriers: UserPath | None = None
    answer_budget: Positive | None = None  # tokens that the model may generate; defaults to the task's
    # For chat models at an endpoint: send a text and its question as two parts, so that caches find the text.
    split_messages: SplitMessages | None = None
    # The model's opening and closing thinking markers, such as ``<plan> </plan>``, if
    # :mod:`long_context_tasks.schema.thinking` does not list them.
    thinking: Marks | None = None
    # Suffix of a task's name that selects a variant, e.g. czech_wer40; loading moves it into the name.
    variant: Text | None = None
    # Names of the options that were set, even to their defaults; not itself an option.
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False, kw_only=True)
    # Maximum number of tokens in synthetic cases that loading may generate into the cache; None for no limit.
    # Not an option: reports set it.
    most_written: int | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        defaults = {item.name: item.default for item in fields(self)}
        differing = {name for name in self.names() if getattr(self, name) != defaults[name]}
        object.__setattr__(self, "given", self.given | differing)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(item.name for item in fields(cls) if item.compare)

    @classmethod
    def of(cls, options: "Options") -> Self:
        """Convert options to this class, dropping fields that it lacks and using defaults for those it adds."""
        if type(options) is cls:
            return options
        # Without `given`, a default that the user typed would count as not given in the other class.
        shared = {name: getattr(options, name) for name in cls.names() if hasattr(options, name)}
        own = options.given & set(cls.names())
        return cls(**shared, given=own, most_written=options.most_written)

    def resolved(self) -> dict[str, Any]:
        """Return the options as plain values under their ``lct_`` names, for result files."""
        values = {name: getattr(self, name) for name in self.names()}
        return {
            f"lct_{name}": str(value) if isinstance(value, Path) else value
            for name, value in values.items()
            if value is not None
        }

    def as_built(
        self,
        recorded: Mapping[str, Any],
        folder: Path,
        same_tokenizer: Callable[[str, str], bool] = str.__eq__,
    ) -> Self:
        """Return the options for a run on built cases, with the build's length policy, tokenizer and seed.

        ``same_information`` cases may also be counted in another tokenizer; ``same_tokens`` cases may not.

        Args:
            recorded: ``options`` in the folder's manifest; a missing key leaves the option unchanged.
            folder: the case folder, for messages.
            same_tokenizer: whether the given and the recorded name denote the same tokenizer.
        """
        # A benchmark's own options are part of the build if its builder records them.
        own = set(self.names()) - set(Options.names())
        fixed = {
            name: recorded[name]
            for name in ("length_policy", "seed", "tokenizer", *own)
            if recorded.get(name) is not None
        }
        if "tokenizer" in fixed and self.tokenizer is not None:
            same = self.tokenizer == fixed["tokenizer"] or same_tokenizer(self.tokenizer, fixed["tokenizer"])
            if same or fixed.get("length_policy") != "same_tokens":
                # Another path to the same tokenizer, or one used only for counting: keep the user's choice.
                fixed["tokenizer"] = self.tokenizer
        # Only options that the user set can contradict the build; defaults give way to it.
        wrong = [name for name in fixed if name in self.given and getattr(self, name) != fixed[name]]
        if wrong:
            built = ", ".join(f"{name.replace('_', ' ')} {fixed[name]}" for name in wrong)
            asked = ", ".join(f"lct_{name}={getattr(self, name)}" for name in wrong)
            typed = " ".join(f"--{name.replace('_', '-')} {getattr(self, name)}" for name in wrong)
            raise InputError(
                f"{folder}: these cases were built with {built}, but {asked} is requested. Leave out "
                f"{', '.join(f'lct_{name} (LCT_{name.upper()})' for name in wrong)}, or build "
                f"other cases with `lct build ... {typed}`"
            )
        return _checked(replace(self, **fixed))


_Options = TypeVar("_Options", bound=Options)


def resolve_options(
    given: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    kind: type[_Options] = Options,  # type: ignore[assignment]
) -> _Options:
    """Resolve options from a host's keys (``lct_length``), then from the environment (``LCT_LENGTH``).

    Keys without the prefix are ignored, because hosts mix in their own; ``None`` and empty strings count as
    not given.

    Raises:
        InputError: an unknown ``lct_*`` key or a wrong value.
    """
    # Empty values come from environment files and from host configurations that list all keys.
    given = {
        key: value
        for key, value in (given or {}).items()
        if key.startswith("lct_") and value not in (None, "")
    }
    environ = os.environ if environ is None else environ
    known = {f"lct_{name}" for name in kind.names()}
    for key in given:
        if key not in known:
            # A misspelt option would otherwise run for hours with its default.
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"unknown option {key}{hint} Options are: {', '.join(sorted(known))}")
    values, places = {}, {}
    for name in kind.names():
        for source, key in ((given, f"lct_{name}"), (environ, f"LCT_{name.upper()}")):
            if source.get(key) not in (None, ""):
                values[name], places[name] = source[key], key
                # pydantic takes true as the number 1.
                if isinstance(source[key], bool) and bounds_of(kind, name).get("type") in (
                    "integer",
                    "number",
                ):
                    raise InputError(f"{key} must be a number, not {str(source[key]).lower()}")
                break
    options = validated(kind, {**values, "given": frozenset(values)}, "options", places=places)
    # A case folder's manifest may record the tokenizer, so the check is left to as_built.
    return options if options.cases is not None else _checked(options)


def _checked(options: _Options) -> _Options:
    if options.length_policy == "same_tokens" and options.tokenizer is None:
        raise InputError(
            "lct_length_policy=same_tokens counts in the model's tokenizer: give lct_tokenizer (--tokenizer) as well"
        )
    return options


def cache_dir() -> Path:
    """Return ``LCT_CACHE_DIR`` or the platform's default; everything in it can be recreated."""
    given = os.environ.get("LCT_CACHE_DIR")
    return Path(given).expanduser() if given else Path(platformdirs.user_cache_dir("long_context_tasks"))


def data_dir(options: Options, benchmark: str) -> Path:
    """Return the folder with a benchmark's published files, in ``lct_data_dir`` or else in the cache."""
    root = options.data_dir if options.data_dir is not None else cache_dir() / "data"
    return root / benchmark
