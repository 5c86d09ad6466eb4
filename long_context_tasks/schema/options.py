"""The options of a run, with one spelling everywhere.

``lct_length`` is a key of lm-eval's ``--metadata``, a dataset argument in OpenCompass, ``--length`` of ``lct`` and
``LCT_LENGTH`` in the environment; the first given in that order wins. An unknown ``lct_*`` key is an error. What built
cases say of their making (:meth:`Options.as_built`) stands for what is not given, and what is given may not contradict it.
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

from long_context_tasks.schema.files import InputError
from long_context_tasks.schema.thinking import marks_of
from long_context_tasks.schema.validated import Whole, validated

LENGTH_POLICIES = ("same_information", "same_tokens")


def parse_length(text: str | int) -> int:
    """Tokens meant by a length: ``2k`` is 2,000, ``1m`` a million, plain numbers stand for themselves.

    >>> parse_length("128k"), parse_length("1m"), parse_length(900)
    (128000, 1000000, 900)

    Raises:
        InputError: not a positive length.
    """
    match = re.fullmatch(r"(\d{1,12})([kKmM]?)", str(text).strip(), flags=re.ASCII)
    value = int(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2].lower()] if match else 0
    if value <= 0:
        raise InputError(f"length {str(text)[:40]!r} is not understood: write it like 2k, 128k, 1m or 4096")
    return value


def format_length(tokens: int) -> str:
    """The shortest name of a length, the inverse of :func:`parse_length`.

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
"""A path; ``~`` is the home folder. It is made absolute, so that results name a place wherever they are read."""
Tokens = Annotated[int, BeforeValidator(parse_length)]
"""A number of tokens, see :func:`parse_length`."""
Marks = Annotated[str, AfterValidator(lambda text: " ".join(marks_of(text)))]
"""Two marks around thinking, see :func:`~long_context_tasks.schema.thinking.marks_of`."""
Positive = Annotated[Whole, Field(gt=0)]
"""A whole number above 0."""


def _number(value: object) -> object:
    """Digits as a number; anything else as it is."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


@dataclass(frozen=True)
class Options:
    """The options that every benchmark has, resolved; every result carries them. A benchmark adds its own in a subclass.

    The types of the fields read what a user writes, as text or as a value.

    Attributes:
        cases: a folder of built cases to run on, instead of the official files.
        length: tokens, for tasks that end in ``_any`` and for builders.
        length_policy: ``same_information``: lengths are cl100k tokens, as in the papers, so every model reads the same
            text; ``same_tokens``: lengths are tokens of the model's own tokenizer.
        tokenizer: cl100k, or a Hugging Face folder or hub id, in which lengths are counted beside cl100k.
        window: context window in tokens; without it the host's, else unknown.
        seed: seed of generated cases and shuffles.
        n: number of cases.
        subset: 1000, 200 or 50: the official subsets, in file order.
        judge: a judge file.
        data_dir: folder with one folder per benchmark that holds the published files.
        carriers: folder of real texts that recast cases are made from; without it ``carriers`` in ``data_dir``.
        answer_budget: tokens that the model may generate; without it the task's default.
        thinking: the marks around the model's thinking if they are none that we know: an opening and a closing one, such as
            ``<plan> </plan>``.
        variant: what stands at the end of a task's name where a changed form of it is run, e.g. czech_wer40; it moves into the name.
        given: names of the options that somebody set, also those set to their default; no option itself.
    """

    cases: UserPath | None = None
    length: Tokens | None = None
    length_policy: Literal["same_information", "same_tokens"] = "same_information"
    tokenizer: Text | None = None
    window: Tokens | None = None
    seed: Whole = 0
    n: Positive | None = None
    subset: Annotated[Literal[1000, 200, 50], BeforeValidator(_number)] | None = None
    judge: UserPath | None = None
    data_dir: UserPath | None = None
    carriers: UserPath | None = None
    answer_budget: Positive | None = None
    thinking: Marks | None = None
    variant: Text | None = None
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Count what differs from its default as given."""
        defaults = {item.name: item.default for item in fields(self)}
        differing = {name for name in self.names() if getattr(self, name) != defaults[name]}
        object.__setattr__(self, "given", self.given | differing)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of the options, without ``lct_``."""
        return tuple(item.name for item in fields(cls) if item.name != "given")

    @classmethod
    def of(cls, options: "Options") -> Self:
        """Return the options as this class has them: fields that only one of the two classes has are dropped or take their default."""
        if type(options) is cls:
            return options
        shared = {name: getattr(options, name) for name in cls.names() if hasattr(options, name)}
        return cls(**shared, given=options.given & set(cls.names()))

    def resolved(self) -> dict[str, Any]:
        """Options as plain values under their ``lct_`` names, for result files."""
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
        """Options of a run on built cases: length policy, tokenizer and seed are those that the cases were built with.

        Cases of ``same_information`` may be counted in another tokenizer as well; those of ``same_tokens`` may not.

        Args:
            recorded: what the folder's manifest says under ``options``; a key that is missing leaves the option as it is.
            folder: the case folder, for messages.
            same_tokenizer: tells whether two names mean one tokenizer: the one asked for, and the recorded one.

        Raises:
            InputError: an option was given that contradicts how the cases were built; all contradictions in one message.
        """
        own = set(self.names()) - set(Options.names())
        fixed = {
            name: recorded[name]
            for name in ("length_policy", "seed", "tokenizer", *own)
            if recorded.get(name) is not None
        }
        if "tokenizer" in fixed and self.tokenizer is not None:
            same = self.tokenizer == fixed["tokenizer"] or same_tokenizer(self.tokenizer, fixed["tokenizer"])
            if same or fixed.get("length_policy") != "same_tokens":
                # Another path of the same tokenizer, or one that only counts: the user's word stands.
                fixed["tokenizer"] = self.tokenizer
        wrong = [name for name in fixed if name in self.given and getattr(self, name) != fixed[name]]
        if wrong:
            built = ", ".join(f"{name.replace('_', ' ')} {fixed[name]}" for name in wrong)
            asked = ", ".join(f"lct_{name}={getattr(self, name)}" for name in wrong)
            typed = " ".join(f"--{name.replace('_', '-')} {getattr(self, name)}" for name in wrong)
            raise InputError(
                f"{folder}: these cases were built with {built}, but {asked} is asked for. Leave out "
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
    """Options from a host's keys (``lct_length`` ...), then from the environment (``LCT_LENGTH`` ...).

    Keys without the prefix are ignored (a host mixes its own in); ``None`` and empty strings count as not given.

    Args:
        given: keys and values.
        environ: the environment; that of the process by default.
        kind: the class of the options.

    Raises:
        InputError: an unknown ``lct_*`` key or a value that does not fit.
    """
    given = {
        key: value
        for key, value in (given or {}).items()
        if key.startswith("lct_") and value not in (None, "")
    }
    environ = os.environ if environ is None else environ
    known = {f"lct_{name}" for name in kind.names()}
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"unknown option {key}{hint} Options are: {', '.join(sorted(known))}")
    values, places = {}, {}
    for name in kind.names():
        for source, key in ((given, f"lct_{name}"), (environ, f"LCT_{name.upper()}")):
            if source.get(key) not in (None, ""):
                values[name], places[name] = source[key], key
                break
    options = validated(kind, {**values, "given": frozenset(values)}, "options", places=places)
    # A folder of cases may know its tokenizer.
    return options if options.cases is not None else _checked(options)


def _checked(options: _Options) -> _Options:
    if options.length_policy == "same_tokens" and options.tokenizer is None:
        raise InputError(
            "lct_length_policy=same_tokens counts in the model's tokenizer: give lct_tokenizer (--tokenizer) as well"
        )
    return options


def cache_dir() -> Path:
    """Folder for what can be made again: ``LCT_CACHE_DIR``, else the platform's cache folder."""
    given = os.environ.get("LCT_CACHE_DIR")
    return Path(given).expanduser() if given else Path(platformdirs.user_cache_dir("long_context_tasks"))


def data_dir(options: Options, benchmark: str) -> Path:
    """Folder with the published files of a benchmark: in ``lct_data_dir``, else in the cache."""
    root = options.data_dir if options.data_dir is not None else cache_dir() / "data"
    return root / benchmark
