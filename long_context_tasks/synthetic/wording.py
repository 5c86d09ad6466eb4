"""Compile sentence plans with choices and fields from text files, and fill them.

A plan is a line of text. ``[a|b]`` chooses one alternative (nesting is allowed), ``<name>`` chooses a line
from the list with that name, ``{A.his}`` is a field filled by the writer; "a" and "an" are corrected at the
end. Lists begin with ``== name``, comments with ``#``. In varied lists, words are replaced by synonyms
(``alike.txt``), and some sentences of a list ``part.name`` get an opening from the list ``opening.part``, if
it exists.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Field(NamedTuple):
    role: str
    form: str  # "cap" capitalises; a writer may define others


# Most choices are among words. They are told apart from other choices when plans are compiled, because texts are
# generated in the time that it takes to encode them a few times.
class Words(tuple[str, ...]):
    __slots__ = ()


class Choice(tuple["Plan", ...]):
    __slots__ = ()


# The parts of a sentence, in order.
Plan = tuple["str | Words | Field | Choice", ...]

FOLDER = Path(__file__).parent / "data"
TOKEN = re.compile(r"[\[\]|]|<[a-z_.0-9]+>|\{[A-Za-z_.]+\}|[^\[\]|<{]+")
# Patterns that start with the letters themselves and look behind later are several times as fast.
_AN = r"(?i:(?!uni(?!n|m)|us[aeu]|util|eu|one|once|ubi|ur[aei]n)[aeiou8]|1|hono|hour|heir|honest)"
# Only wrong articles match; the second group does if "an" is right.
ARTICLE = re.compile(
    r"([Aa])(?<![\w.'-].)(?=(?:\(n\)|n)? (?:[A-Za-z]|8|11\b|18))"
    rf"(?:((?:\(n\))? )(?={_AN})|(?:\(n\)|n) (?!{_AN}))(?!n\b)"
)
# Only sentences get an opening, not clauses after a semicolon.
_OPENING = re.compile(r"(?:^|(?<=[.?] ))(?:The|This|These) (?=[a-z])")
_OPENED = 0.4  # fraction of such beginnings that get an opening
_SENTENCE_START = re.compile(r"[.?!](?:(?<=\.)\")? [a-z]")


@cache
def lines_of(file: str | Path) -> dict[str, tuple[str, ...]]:
    """Return the lists of a data file: name -> lines in order."""
    lists: dict[str, list[str]] = {}
    name = ""
    for line in (FOLDER / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name = line[3:].strip()
            lists[name] = []
        elif line.strip() and not line.startswith("#"):
            lists[name].append(line.strip())
    return {name: tuple(lines) for name, lines in lists.items()}


def words(file: str | Path, name: str) -> tuple[str, ...]:
    return lines_of(file)[name]


@cache
def items(file: str | Path, name: str) -> tuple[str, ...]:
    """Return the entries of a list whose lines hold several, separated by commas."""
    return tuple(word for line in words(file, name) for word in line.split(", "))


@cache
def records(file: str, name: str) -> tuple[tuple[str, ...], ...]:
    """Return the lines of a list, each split at `` | ``."""
    return tuple(tuple(part.strip() for part in line.split(" | ")) for line in lines_of(file)[name])


@cache
def plans(*files: str, varied: tuple[str, ...] = ()) -> dict[str, tuple[Plan, ...]]:
    """Compile the lists of files that may refer to each other.

    Args:
        files: file names in ``data``.
        varied: prefixes of the names of lists whose words are varied.
    """
    sources = {name: lines for file in files for name, lines in lines_of(file).items()}
    compiled: dict[str, tuple[Plan, ...]] = {}

    def get(name: str, open_lists: tuple[str, ...] = ()) -> tuple[Plan, ...]:
        if name in open_lists:
            raise ValueError(f"lists refer to each other in a circle: {' -> '.join((*open_lists, name))}")
        if name not in compiled:
            inner = (*open_lists, name)
            own = tuple(compile_plan(line, lambda other: get(other, inner)) for line in sources[name])
            # The words of features are not varied, because they determine the answers.
            change = varied and name.startswith(varied)
            compiled[name] = tuple(map(_varied, own)) if change else own
        return compiled[name]

    for name in sources:
        get(name)
    return compiled


@cache
def _alike() -> tuple[dict[str, tuple[str, ...]], re.Pattern[str]]:
    groups = {first: (first, *others) for first, *others in records("alike.txt", "alike")}
    # Longer phrases must match before their own prefixes.
    longest = sorted(groups, key=len, reverse=True)
    return groups, re.compile(rf"(?<![\w'-])(?:{'|'.join(map(re.escape, longest))})(?![\w'-])", re.IGNORECASE)


def _varied(plan: Plan) -> Plan:
    """Replace words in a plan by choices among their synonyms."""
    parts: list[str | Words | Field | Choice] = []
    for part in plan:
        if isinstance(part, str):
            parts += _exchanged(part)
        elif isinstance(part, Field):
            parts.append(part)
        else:
            parts.append(_choice([_varied((each,) if isinstance(each, str) else each) for each in part]))
    return tuple(parts)


def _exchanged(text: str) -> Iterator[str | Words]:
    groups, pattern = _alike()
    at = 0
    for match in pattern.finditer(text):
        yield text[at : match.start()]
        yield Words(map(capital if match[0][0].isupper() else str, groups[match[0].lower()]))
        at = match.end()
    yield text[at:]


def _choice(options: Sequence[Plan]) -> Words | Choice:
    if all(isinstance(part, str) for option in options for part in option):
        return Words("".join(map(str, option)) for option in options)
    return Choice(options)


def compile_plan(line: str, lookup: Callable[[str], tuple[Plan, ...]]) -> Plan:
    """Compile a line of text into a plan; ``lookup`` returns the plans of a list."""
    tokens = TOKEN.findall(line)
    if "".join(tokens) != line:
        raise ValueError(f"cannot read the sentence plan {line!r}")
    plan, rest = _sequence(tokens, 0, lookup)
    if rest != len(tokens):
        raise ValueError(f"brackets do not match in {line!r}")
    return plan


def _sequence(tokens: list[str], start: int, lookup: Callable[[str], tuple[Plan, ...]]) -> tuple[Plan, int]:
    parts: list[str | Words | Field | Choice] = []
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
            parts.append(_choice(options))
        elif token.startswith("<"):
            found = lookup(token[1:-1])
            # A list with a single line needs no choice.
            parts.extend(found[0] if len(found) == 1 else [_choice(found)])
        elif token.startswith("{"):
            role, _, form = token[1:-1].partition(".")
            parts.append(Field(role, form))
        else:
            parts.append(token)
        at += 1
    return tuple(parts), at


def repair(text: str) -> str:
    """Choose between "a" and "an" and capitalise every sentence.

    >>> repair("an dog met a ink press. a hour later it was a useful unit, an 8 and a(n) uncle.")
    'A dog met an ink press. An hour later it was a useful unit, an 8 and an uncle.'
    """
    text = ARTICLE.sub(lambda found: found[1] + ("n " if found[2] else " "), text)
    return capital(_SENTENCE_START.sub(lambda found: found[0][:-1] + found[0][-1].upper(), text))


def without_gaps(text: str, marks: str) -> str:
    """Remove traces of empty choices: repeated spaces, and spaces before marks.

    >>> without_gaps("one  word , then", ".,")
    'one word, then'
    """
    return _gaps(marks).sub("", text)


@cache
def _gaps(marks: str) -> re.Pattern[str]:
    return re.compile(rf" (?=[ {re.escape(marks)}])")


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def stream(seed: int, name: str) -> int:
    """Return the seed of an independent random stream."""
    # Hashing makes the streams of one seed independent and accepts any integer.
    return int.from_bytes(hashlib.sha256(f"{name}:{seed}".encode()).digest()[:8], "big")


class Dice:
    """Draw from a random stream; the draws are the same on every Python version and machine."""

    def __init__(self, random: Callable[[], float]) -> None:
        self.random = random

    def chance(self, probability: float) -> bool:
        return self.random() < probability

    def below(self, number: int) -> int:
        return int(self.random() * number)

    def whole(self, low: int, high: int) -> int:
        return low + int(self.random() * (high - low + 1))

    def pick(self, options: Sequence[T]) -> T:
        # Python guarantees identical draws across versions only for random.random().
        return options[int(self.random() * len(options))]

    def sample(self, options: Iterable[T], number: int) -> list[T]:
        rest, random = list(options), self.random
        return [rest.pop(int(random() * len(rest))) for _ in range(number)]

    def shuffled(self, options: Sequence[T]) -> list[T]:
        return self.sample(options, len(options))


@cache
def _openings(*files: str, varied: tuple[str, ...]) -> Mapping[str, str]:
    """Return the name of the list of openings for each varied list that has one."""
    every = plans(*files, varied=varied)
    named = {name: f"opening.{name.partition('.')[0]}" for name in every if name.startswith(varied)}
    return {name: opening for name, opening in named.items() if opening in every}


class PlanWriter(Dice):
    """Fill sentence plans with the texts in ``fields``; :meth:`fill` generates those that are missing there."""

    def __init__(self, random: Callable[[], float], *files: str, varied: tuple[str, ...] = ()) -> None:
        super().__init__(random)
        self.plans = plans(*files, varied=varied)
        self._openings = _openings(*files, varied=varied)
        self.fields: dict[str, str] = {}

    def fill(self, role: str, form: str) -> str:
        raise KeyError(role)

    def written(self, plan: Plan) -> str:
        out: list[str] = []
        self._write(plan, out)
        return "".join(out)

    def _write(self, plan: Plan, out: list[str]) -> None:
        random, fields = self.random, self.fields
        for part in plan:
            if isinstance(part, str):
                out.append(part)
            elif isinstance(part, Words):
                out.append(part[int(random() * len(part))])
            elif isinstance(part, Choice):
                self._write(part[int(random() * len(part))], out)
            else:
                role, form = part
                text = fields.get(role)
                if text is None:
                    text = self.fill(role, form)
                elif form == "cap":
                    text = capital(text)
                out.append(text)

    def say(self, name: str) -> str:
        return self._sentence(name, self.pick(self.plans[name]))

    def several(self, name: str, low: int, high: int) -> list[str]:
        """Fill ``low`` to ``high`` different plans of a list."""
        # Without repetition, because an abstract does not report the same result twice.
        left, random = list(self.plans[name]), self.random
        number = self.whole(low, high)
        return [self._sentence(name, left.pop(int(random() * len(left)))) for _ in range(number)]

    def _sentence(self, name: str, plan: Plan) -> str:
        text = self.written(plan)
        openings = self._openings.get(name)
        # A plain search first, because few sentences begin with such a word.
        if openings is None or "Th" not in text:
            return text

        def opened(found: re.Match[str]) -> str:
            return f"{capital(self.say(openings))}, {found[0].lower()}" if self.chance(_OPENED) else found[0]

        return _OPENING.sub(opened, text)
