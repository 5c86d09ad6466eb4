"""Sentence plans: small text files with choices and fields, compiled once and filled quickly.

A plan is a line of text. ``[a|b]`` chooses one alternative (they nest), ``<name>`` stands for any line of the list of
that name, ``{A.his}`` is a field that the writer fills, ``a(n)`` becomes "a" or "an". Lists begin with ``== name``;
lines that begin with ``#`` are comments.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
Plan = tuple[tuple[int, object], ...]
TEXT, FIELD, CHOICE = 0, 1, 2

FOLDER = Path(__file__).parent / "data"
TOKEN = re.compile(r"[\[\]|]|<[a-z_.0-9]+>|\{[A-Za-z_.]+\}|[^\[\]|<{]+")
ARTICLE = re.compile(r"\b([Aa])\(n\) (.)")
SENTENCE_START = re.compile(r"((?:[.?!]|\.\") |^)([a-z])")


@cache
def lines_of(file: str) -> dict[str, tuple[str, ...]]:
    """Read the lists of one data file: name of the list -> its lines, in order."""
    lists: dict[str, list[str]] = {}
    name = ""
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name = line[3:].strip()
            lists[name] = []
        elif line.strip() and not line.startswith("#"):
            lists[name].append(line.strip())
    return {name: tuple(lines) for name, lines in lists.items()}


def words(file: str, name: str) -> tuple[str, ...]:
    """Return the lines of one list as they stand."""
    return lines_of(file)[name]


def records(file: str, name: str) -> Iterator[tuple[str, ...]]:
    """Yield the lines of one list, cut at `` | ``."""
    for line in lines_of(file)[name]:
        yield tuple(part.strip() for part in line.split(" | "))


@cache
def plans(*files: str) -> dict[str, tuple[Plan, ...]]:
    """Compile every list of the files; a ``<name>`` may refer to a list of any of them.

    Raises:
        KeyError: a plan names a list that does not exist.
        ValueError: brackets do not match, or lists refer to each other in a circle.
    """
    sources = {name: lines for file in files for name, lines in lines_of(file).items()}
    compiled: dict[str, tuple[Plan, ...]] = {}

    def get(name: str, open_lists: tuple[str, ...] = ()) -> tuple[Plan, ...]:
        if name in open_lists:
            raise ValueError(f"lists refer to each other in a circle: {' -> '.join((*open_lists, name))}")
        if name not in compiled:
            inner = (*open_lists, name)
            compiled[name] = tuple(
                compile_plan(line, lambda other: get(other, inner)) for line in sources[name]
            )
        return compiled[name]

    for name in sources:
        get(name)
    return compiled


def compile_plan(line: str, lookup: Callable[[str], tuple[Plan, ...]]) -> Plan:
    """Compile one line of text into a plan."""
    tokens = TOKEN.findall(line)
    if "".join(tokens) != line:
        raise ValueError(f"cannot read the sentence plan {line!r}")
    plan, rest = _sequence(tokens, 0, lookup)
    if rest != len(tokens):
        raise ValueError(f"brackets do not match in {line!r}")
    return plan


@cache
def clause(line: str) -> Plan:
    """Compile a line that refers to no list."""
    return compile_plan(line, lambda name: ())


def _sequence(tokens: list[str], start: int, lookup: Callable[[str], tuple[Plan, ...]]) -> tuple[Plan, int]:
    parts: list[tuple[int, object]] = []
    at = start
    while at < len(tokens) and tokens[at] not in ("|", "]"):
        token = tokens[at]
        if token == "[":
            options: list[Plan] = []
            while tokens[at] != "]":
                option, at = _sequence(tokens, at + 1, lookup)
                options.append(option)
                if at >= len(tokens):
                    raise ValueError(f"brackets do not match in {''.join(tokens)!r}")
            parts.append((CHOICE, tuple(options)))
        elif token.startswith("<"):
            found = lookup(token[1:-1])
            # A list of one line that is one choice is as good as the choice itself.
            parts.extend(found[0] if len(found) == 1 else [(CHOICE, found)])
        elif token.startswith("{"):
            role, _, form = token[1:-1].partition(".")
            parts.append((FIELD, (role, form)))
        else:
            parts.append((TEXT, token))
        at += 1
    return tuple(parts), at


def expand(
    plan: Plan, fill: Callable[[tuple[str, str], list[str]], str], random: Callable[[], float], out: list[str]
) -> None:
    """Append the words of a plan to ``out``; ``fill`` turns a field (role, form) into text and may look at ``out``."""
    for kind, payload in plan:
        if kind == TEXT:
            out.append(payload)  # type: ignore[arg-type]
        elif kind == FIELD:
            out.append(fill(payload, out))  # type: ignore[arg-type]
        else:
            expand(payload[int(random() * len(payload))], fill, random, out)  # type: ignore[index, arg-type]


def variants(plan: Plan) -> tuple[str, ...]:
    """Write out every text that a plan can give, fields as ``{role}`` for ``str.format``: faster than :func:`expand`."""
    texts = [""]
    for kind, payload in plan:
        if kind == TEXT:
            ends = [str(payload)]
        elif kind == FIELD:
            ends = ["{" + payload[0] + "}"]  # type: ignore[index]
        else:
            ends = [text for option in payload for text in variants(option)]  # type: ignore[attr-defined]
        texts = [text + end for text in texts for end in ends]
    return tuple(texts)


def repair(text: str) -> str:
    """Choose between "a" and "an" and begin every sentence with a capital."""
    text = ARTICLE.sub(lambda found: found[1] + ("n " if found[2] in "aeiouAEIOU" else " ") + found[2], text)
    return SENTENCE_START.sub(lambda found: found[1] + found[2].upper(), text)


def capital(text: str) -> str:
    """Begin a text with a capital."""
    return text[:1].upper() + text[1:]


def stream(seed: int, name: str) -> int:
    """Derive the seed of one of several independent streams of random numbers."""
    return int.from_bytes(hashlib.sha256(f"{name}:{seed}".encode()).digest()[:8], "big")


class Dice:
    """Draws from one stream of random numbers; the same draws on every Python version and machine."""

    def __init__(self, random: Callable[[], float]) -> None:
        """Draw with ``random``, which gives numbers from 0 to 1."""
        self.random = random

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.random() < probability

    def below(self, number: int) -> int:
        """Draw a whole number from 0 on."""
        return int(self.random() * number)

    def whole(self, low: int, high: int) -> int:
        """Draw a whole number from ``low`` to ``high``."""
        return low + int(self.random() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of the options."""
        return options[int(self.random() * len(options))]

    def sample(self, options: Iterable[T], number: int) -> list[T]:
        """Choose so many different options, in random order."""
        rest = list(options)
        return [rest.pop(int(self.random() * len(rest))) for _ in range(number)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        """Return all options in random order."""
        return self.sample(options, len(options))

    def weighted(self, weights: Mapping[str, float]) -> str:
        """Choose a key of ``weights`` with that share of their sum."""
        mark = self.random() * sum(weights.values())
        for option, weight in weights.items():
            mark -= weight
            if mark < 0:
                return option
        return option

    def made_up(self, kind: str) -> str:
        """Make the name of a ``place`` or a ``surname`` of two parts."""
        return self.pick(words("names.txt", f"{kind}_first")) + self.pick(words("names.txt", f"{kind}_last"))


class Writer(Dice):
    """Fills sentence plans; a writer of a kind says in :meth:`fill` what their fields mean."""

    def __init__(self, random: Callable[[], float], *files: str) -> None:
        """Write by the plans of some data files."""
        super().__init__(random)
        self.plans = plans(*files)

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field (role, form); ``out`` is what stands before it in the sentence."""
        raise NotImplementedError

    def written(self, plan: Plan) -> str:
        """Fill a plan."""
        out: list[str] = []
        expand(plan, self.fill, self.random, out)
        return "".join(out)

    def say(self, name: str) -> str:
        """Fill one of the plans of a list."""
        return self.written(self.pick(self.plans[name]))

    def several(self, name: str, low: int, high: int) -> list[str]:
        """Fill from ``low`` to ``high`` different plans of a list."""
        left = list(self.plans[name])
        number = self.whole(low, high)
        return [self.written(left.pop(int(self.random() * len(left)))) for _ in range(number)]
