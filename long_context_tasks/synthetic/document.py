"""What a writer returns: paragraphs with the answers that are known because the writer decided them."""

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from long_context_tasks.schema import InputError
from long_context_tasks.synthetic.wording import lines_of, repair, words

_WORD = re.compile(r"[a-zA-Z-]{4,}")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a paragraph says, which a faithful summary of its part of the text would say too.

    Attributes:
        statement: one plain sentence.
        words: groups of words or numbers; a text states the fact when, of each group, it has one member.
        weight: how much it matters: 1 for what a short summary has to say, less for details.
    """

    statement: str
    words: tuple[tuple[str, ...], ...]
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph.

    Attributes:
        text: without line breaks.
        labels: what a recall task asks for and this paragraph has, as the text writes it, in order, each once.
        facts: in order.
    """

    text: str
    labels: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Document:
    """A text of any genre.

    Attributes:
        id: the same for the same seed.
        title: for people.
        paragraphs: in order.
    """

    id: str
    title: str
    paragraphs: tuple[Paragraph, ...]


def check_length(num_tokens: int, what: str = "a text") -> None:
    """Refuse a length that no text can have.

    Raises:
        InputError: ``num_tokens`` is below 1.
    """
    if num_tokens < 1:
        raise InputError(f"{what} of {num_tokens} tokens cannot be written: ask for at least 1 token")


def paragraphs_of(
    written: Iterable[Paragraph], num_tokens: int, characters_per_token: float, what: str = "a text"
) -> tuple[Paragraph, ...]:
    """Take the first paragraphs of a stream: at least ``num_tokens`` tokens of them, and at most one paragraph more.

    Raises:
        InputError: ``num_tokens`` is below 1; the message names ``what`` is written.
    """
    check_length(num_tokens, what)
    taken: list[Paragraph] = []
    length = 0
    for paragraph in written:
        taken.append(paragraph)
        length += len(paragraph.text) + 2  # paragraphs are joined by an empty line
        if length >= num_tokens * characters_per_token:
            break
    return tuple(taken)


def filled(
    additions: Iterable[str],
    extended: Callable[[Sequence[str]], str],
    count: Callable[[str], int],
    least: int,
    most: int,
) -> tuple[str, int]:
    """Add sentences that say nothing to a text until it fills a length; return it with its tokens.

    Additions are tried in order; ``extended`` makes the text with some of them. It is long enough at ``least`` tokens, and stays
    below where the additions do not suffice; no addition brings it above ``most``.
    """
    added: list[str] = []
    text = extended(added)
    size = count(text)
    for addition in additions:
        if size >= least:
            break
        longer = extended([*added, addition])
        if (grown := count(longer)) <= most:
            added.append(addition)
            text, size = longer, grown
    return text, size


@cache
def _everyday() -> frozenset[str]:
    return frozenset(" ".join(words("facts.txt", "everyday")).split())


def telling_words(text: str) -> tuple[str, ...]:
    """Return the words of a phrase that are not everyday words, lower case, each once."""
    plain = re.sub(r"\{[^}]*\}", " ", text).lower()
    return tuple(dict.fromkeys(word for word in _WORD.findall(plain) if word not in _everyday()))


class FactTable:
    """Makes facts by the lists of a data file, one list for each kind of fact.

    The first line of a list is the weight and the groups of words, parted by `` | ``; each further line is a way to state the
    fact. Fields such as ``{thing.noun}`` are filled in all of them. A group has words parted by commas, ``<name>`` for all
    lines of the list of that name, and behind ``~`` a phrase whose telling words belong to it.
    """

    def __init__(self, file: str) -> None:
        """Read the lists of a file."""
        self.lists = lines_of(file)

    def fact(self, kind: str, fields: Mapping[str, object]) -> Fact:
        """Make a fact; which of the statements is chosen depends on the fields alone."""
        head, *statements = self.lists[kind]
        weight, *groups = head.split(" | ")
        first = statements[0].format_map(fields)
        chosen = zlib.crc32(first.encode()) % len(statements)
        statement = statements[chosen].format_map(fields) if chosen else first
        return Fact(repair(statement), tuple(self._group(one, fields) for one in groups), float(weight))

    def _group(self, group: str, fields: Mapping[str, object]) -> tuple[str, ...]:
        listed = re.sub(r"<(\w+)>", lambda found: ", ".join(self.lists[found[1]]), group)
        plain, _, phrase = listed.format_map(fields).partition("~")
        members = [word for word in plain.strip(", ").split(", ") if word]
        return (*members, *telling_words(phrase)) or (phrase.strip(),)


def ranked_facts(paragraphs: Iterable[Paragraph]) -> list[Fact]:
    """Return the facts of a part of a text, the weightiest first; among equals a checksum decides, never the place."""
    facts = (fact for paragraph in paragraphs for fact in paragraph.facts)
    return sorted(facts, key=lambda fact: (-fact.weight, hashlib.sha256(fact.statement.encode()).digest()))


def main_facts(paragraphs: Sequence[Paragraph], most: int = 5) -> str:
    """Summarize paragraphs by their weightiest facts, at most so many, in the order of the text."""
    facts = [fact for paragraph in paragraphs for fact in paragraph.facts]
    chosen = sorted(sorted(range(len(facts)), key=lambda place: -facts[place].weight)[:most])
    return " ".join(facts[place].statement for place in chosen)
