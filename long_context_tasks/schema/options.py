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
from typing import Any

from long_context_tasks.schema.errors import InputError

LENGTH_POLICIES = ("same_information", "same_tokens")
SUBSETS = (1000, 200, 50)
CUT_SIDES = ("front", "rear")
NOISE_MODES = ("exact", "official")
PROMPT_TOKENS = ("under_32k", "over_32k")


def parse_length(text: str | int) -> int:
    """Tokens meant by a length: ``2k`` is 2,000, ``1m`` a million, plain numbers stand for themselves.

    >>> parse_length("128k"), parse_length("1m"), parse_length(900)
    (128000, 1000000, 900)

    Raises:
        InputError: not a positive length.
    """
    match = re.fullmatch(r"(\d+)([kKmM]?)", str(text).strip(), flags=re.ASCII)
    value = int(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2].lower()] if match else 0
    if value <= 0:
        raise InputError(f"length {text!r} is not understood: write it like 2k, 128k, 1m or 4096")
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


@dataclass(frozen=True)
class Options:
    """Resolved options of a run; every result carries them.

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
        answer_budget: tokens that the model may generate; without it the task's default.
        cut_keep: front or rear: what a ``_cut*`` variant keeps.
        prompt_style: how a benchmark's prompt is laid out, where it knows several; see its docs.
        question_markers: whether questions are marked as such, where a benchmark's paper tried both.
        noise_mode: exact or official: how noisy transcripts are made.
        noise_rules: a file of noise rules; without it those that come with the package.
        prompt_tokens: under_32k or over_32k: only prompts of at most, or above, 32,768 tokens of the model's tokenizer, where a
            benchmark's paper tells them apart.
        given: names of the options that somebody set, also those set to their default; no option itself.
    """

    cases: Path | None = None
    length: int | None = None
    length_policy: str = "same_information"
    tokenizer: str | None = None
    window: int | None = None
    seed: int = 0
    n: int | None = None
    subset: int | None = None
    judge: Path | None = None
    data_dir: Path | None = None
    answer_budget: int | None = None
    cut_keep: str = "front"
    prompt_style: str | None = None
    question_markers: bool | None = None
    noise_mode: str | None = None
    noise_rules: Path | None = None
    prompt_tokens: str | None = None
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __post_init__(self) -> None:
        """What differs from its default was given."""
        defaults = {one.name: one.default for one in fields(self)}
        differing = {name for name in OPTION_NAMES if getattr(self, name) != defaults[name]}
        object.__setattr__(self, "given", self.given | differing)

    def resolved(self) -> dict[str, Any]:
        """Options as plain values under their ``lct_`` names, for result files."""
        values = {name: getattr(self, name) for name in OPTION_NAMES}
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
    ) -> "Options":
        """Options of a run on built cases: length policy, tokenizer and seed are those that the cases were built with.

        Cases of ``same_information`` may be counted in another tokenizer as well; those of ``same_tokens`` may not.

        Args:
            recorded: what the folder's manifest says under ``options``; a key that is missing leaves the option as it is.
            folder: the case folder, for messages.
            same_tokenizer: tells whether two names mean one tokenizer: the one asked for, and the recorded one.

        Raises:
            InputError: an option was given that contradicts how the cases were built; all contradictions in one message.
        """
        fixed = {
            name: recorded[name]
            for name in ("length_policy", "seed", "tokenizer")
            if recorded.get(name) is not None
        }
        if "tokenizer" in fixed and self.tokenizer is not None:
            one = self.tokenizer == fixed["tokenizer"] or same_tokenizer(self.tokenizer, fixed["tokenizer"])
            if one or fixed.get("length_policy") != "same_tokens":
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


def _positive(name: str, value: object) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = 0
    if number <= 0:
        raise InputError(f"{name} must be a whole number above 0, not {value!r}")
    return number


def _seed(name: str, value: object) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise InputError(f"{name} must be a whole number, not {value!r}") from None


def _one_of(choices: tuple[Any, ...]) -> Callable[[str, object], Any]:
    def parse(name: str, value: object) -> Any:
        for choice in choices:
            if str(value) == str(choice):
                return choice
        raise InputError(f"{name} must be one of {', '.join(map(str, choices))}, not {value!r}")

    return parse


def _yes_or_no(name: str, value: object) -> bool:
    text = str(value).lower()
    if text not in ("true", "false", "1", "0", "yes", "no"):
        raise InputError(f"{name} must be true or false, not {value!r}")
    return text in ("true", "1", "yes")


_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    "cases": lambda _, value: Path(value).expanduser(),
    "length": lambda _, value: parse_length(value),
    "length_policy": _one_of(LENGTH_POLICIES),
    "tokenizer": lambda _, value: str(value),
    "window": lambda _, value: parse_length(value),
    "seed": _seed,
    "n": _positive,
    "subset": _one_of(SUBSETS),
    "judge": lambda _, value: Path(value).expanduser(),
    "data_dir": lambda _, value: Path(value).expanduser(),
    "answer_budget": _positive,
    "cut_keep": _one_of(CUT_SIDES),
    "prompt_style": lambda _, value: str(value),
    "question_markers": _yes_or_no,
    "noise_mode": _one_of(NOISE_MODES),
    "noise_rules": lambda _, value: Path(value).expanduser(),
    "prompt_tokens": _one_of(PROMPT_TOKENS),
}
OPTION_NAMES = tuple(one.name for one in fields(Options) if one.name != "given")


def resolve_options(
    given: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> Options:
    """Options from a host's keys (``lct_length`` ...), then from the environment (``LCT_LENGTH`` ...).

    Keys without the prefix are ignored (a host mixes its own in); ``None`` and empty strings count as not given.

    Raises:
        InputError: an unknown ``lct_*`` key or a value that does not fit.
    """
    given = {
        key: value
        for key, value in (given or {}).items()
        if key.startswith("lct_") and value not in (None, "")
    }
    environ = os.environ if environ is None else environ
    known = {f"lct_{name}" for name in OPTION_NAMES}
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"unknown option {key}{hint} Options are: {', '.join(sorted(known))}")
    values: dict[str, Any] = {}
    for name in OPTION_NAMES:
        for source, key in ((given, f"lct_{name}"), (environ, f"LCT_{name.upper()}")):
            if source.get(key) not in (None, ""):
                values[name] = _PARSERS[name](key, source[key])
                break
    options = Options(**values, given=frozenset(values))
    # A folder of cases may know its tokenizer.
    return options if options.cases is not None else _checked(options)


def _checked(options: Options) -> Options:
    if options.length_policy == "same_tokens" and options.tokenizer is None:
        raise InputError(
            "lct_length_policy=same_tokens counts in the model's tokenizer: give lct_tokenizer (--tokenizer) as well"
        )
    return options
