"""Read an annotator's labels of chunks, merge them over chunks, and compare them with a person's."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field, StrictInt, StrictStr

from long_context_tasks.benchmarks.ethic.scoring import official, repaired
from long_context_tasks.benchmarks.ethic.scoring.official import F1, NONE
from long_context_tasks.benchmarks.ethic.scoring.repaired import (
    AROUND,
    LEADING_NONE,
    LIST_MARK,
    THOUSANDS,
    final_answer,
)
from long_context_tasks.corpora.plain_files import read_rows
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Checked, validated

if TYPE_CHECKING:
    from long_context_tasks.stats import Interval

NAMES = frozenset(("books", "debates"))
"""Domains whose labels are names; those of the others are numbers."""
MOST_WORDS = 4
"""Words of an item of names or counts, at most; a longer one is a sentence, and the answer no list."""
_POSSESSIVE = re.compile(r"['’]s$")
_HEADING = re.compile(r"^\D*:(?!\w)")
_AND = re.compile(r"\s(?:and|&)\s", re.IGNORECASE)
_TITLES = frozenset(
    (
        *("mr", "mrs", "ms", "miss", "dr", "sir", "lady", "lord"),
        *("captain", "madam", "madame", "speaker", "hon", "rev", "prof"),
    )
)
_VERBS = frozenset(("is", "are", "was", "were", "not"))
"""Words that only sentences have."""


def parse_labels(answer: str, domain: str) -> list[str] | None:
    """Return the labels in an annotator's answer, each once, in its order; empty for "None".

    The prompts ask for single words or bare numbers, so a full name gives its parts, and of a number only the digits (in law
    also letters next to them) stay; what has no letter, or no digit, is no label. A heading before a colon is passed over.

    Returns:
        None for an answer that is no list: sentences, or no label and no "None" either.

    >>> parse_labels("Names: Elizabeth Bennet, Mr. Darcy and 'Jane'.", "books")
    ['Elizabeth', 'Bennet', 'Darcy', 'Jane']
    >>> parse_labels("1,204; 12 patients; 36.", "medicine"), parse_labels("618; F.3d; 27; 922(g)", "law")
    (['1204', '12', '36'], ['618', '27', '922g'])
    >>> parse_labels("None (nobody is named).", "books"), parse_labels("There are no names in it.", "books")
    ([], None)
    """
    text = final_answer(answer)
    if LEADING_NONE.match(text):
        return []
    # Only in law may a comma in a number separate two of them, as a volume and a page.
    if domain == "medicine" or (domain == "law" and re.search(r"[;\n]", text)):
        text = THOUSANDS.sub("", text)
    items = [words for line in text.split("\n") for words in _items(line)]
    if any(_is_sentence(words, domain) for words in items):
        return None
    read = {"medicine": _count, "law": _citation_numbers}.get(domain, _names)
    labels = merge_labels(map(read, items))
    # Titles alone are a list without a name.
    return labels if labels or any(_is_title(word) for words in items for word in words) else None


def _items(line: str) -> Iterable[list[str]]:
    items = re.split(r"[;,]", LIST_MARK.sub("", line))
    items[0] = _HEADING.sub("", items[0])
    return (part.strip(AROUND).split() for item in items for part in _AND.split(f" {item} "))


def _is_sentence(words: Sequence[str], domain: str) -> bool:
    if domain == "law":
        # Names of cases and statutes may be long.
        return not _VERBS.isdisjoint(words)
    own = [word for word in words if not _is_title(word)]
    if len(own) > MOST_WORDS or not _VERBS.isdisjoint(own):
        return True
    no_name = domain in NAMES and all(word[0].islower() for word in own)
    return len(own) > 1 and (no_name or own[0].lower() == "no")


def _is_title(word: str) -> bool:
    return word.strip(AROUND).lower() in _TITLES


def _names(words: Sequence[str]) -> Iterable[str]:
    for word in words:
        name = _POSSESSIVE.sub("", word.strip(AROUND)).strip(AROUND)
        if re.search(r"[^\W\d_]", name) and not _is_title(name):
            yield name


def _count(words: Sequence[str]) -> Iterable[str]:
    numbers = (word.strip(AROUND) for word in words)
    return [number for number in numbers if re.fullmatch(r"\d+", number, re.ASCII)][:1]


def _citation_numbers(words: Sequence[str]) -> Iterable[str]:
    # "F.3d" and "2d" are series, named by their letters; "922(g)" and "1983" are numbers.
    plain = (re.sub(r"[^0-9A-Za-z]", "", word) for word in words)
    return [word for word in plain if re.match(r"\d", word) and not re.fullmatch(r"\d(?:d|th)", word)]


def merge_labels(lists: Iterable[Iterable[str]]) -> list[str]:
    """Merge the labels of all chunks without duplicates, in order of first mention; case does not tell two labels apart."""
    merged: dict[str, str] = {}
    for label in (label for labels in lists for label in labels):
        if (key := label.lower()) != repaired.NONE:
            merged.setdefault(key, label)
    return list(merged.values())


def occurring(labels: Iterable[str], passage: str) -> list[str]:
    """Return the labels that occur in a passage as words, in any case and with any apostrophe.

    >>> occurring(["O'Neil", "Ann", "anne"], "“Anne’s house,” said O’Neil.")
    ["O'Neil", 'anne']
    """
    plain = passage.replace("’", "'")
    words = ((label, re.escape(label.replace("’", "'"))) for label in labels)
    return [label for label, word in words if re.search(rf"(?<!\w){word}(?!\w)", plain, re.IGNORECASE)]


def gold_labels(labels: Sequence[str]) -> list[str]:
    """Return labels as a case has them: "None" where there are none, as the instruction asks for."""
    return list(labels) or [NONE]


def label_f1(found: Sequence[str], right: Sequence[str]) -> F1:
    """Measure the agreement of two label sets; two empty ones agree.

    >>> label_f1(["anne"], ["Anne", "Jane"]).precision
    1.0
    """
    return official.f1("; ".join(gold_labels(found)), gold_labels(merge_labels([right])))


_EXAMPLE = '{"domain": "books", "passage": "...", "labels": []}'


class _HandMade(Checked):
    model_config = ConfigDict(extra="ignore")

    domain: Literal["books", "debates", "medicine", "law"]
    passage: Annotated[str, Field(pattern=r"\S")]
    labels: list[StrictStr | StrictInt]


@dataclass(frozen=True)
class LabelledChunk:
    """A chunk that a person labelled."""

    domain: str
    passage: str
    labels: tuple[str, ...]


def read_labelled_chunks(path: Path) -> list[LabelledChunk]:
    """Read chunks labelled by hand: JSON Lines with ``domain``, ``passage`` and ``labels`` (a list of texts or numbers).

    Labels are read as an annotator's are, so that "1,204" is 1204 in both.

    Raises:
        InputError: no such file, an empty one, or a row of another form.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; correct --check-labels")
    rows = []
    for place, values in read_rows(path, "a labelled chunk"):
        row = validated(_HandMade, values, place, remedy=f"write {_EXAMPLE}")
        read = [parse_labels(str(label), row.domain) for label in row.labels]
        if None in read:
            wrong = row.labels[read.index(None)]
            raise InputError(f"{place}: {wrong!r} is no label; write names or numbers alone")
        rows.append(LabelledChunk(row.domain, row.passage, tuple(merge_labels(own or () for own in read))))
    if not rows:
        raise InputError(f"{path}: holds no labelled chunks; write {_EXAMPLE}")
    return rows


@dataclass(frozen=True)
class LabelQuality:
    """Agreement of an annotator with hand-made labels in one domain (Table B): means over chunks, 0 to 1."""

    domain: str
    f1: float
    interval: "Interval"
    precision: float
    recall: float
    n: int
    total: int


def label_quality(
    chunks: Sequence[LabelledChunk], found: Sequence[Sequence[str] | None]
) -> list[LabelQuality]:
    """Measure an annotator in each domain; chunks without an answer (None) are outside the mean."""
    from long_context_tasks.stats import interval_of_mean

    result = []
    for domain in dict.fromkeys(chunk.domain for chunk in chunks):
        pairs = [
            (labels, chunk) for labels, chunk in zip(found, chunks, strict=True) if chunk.domain == domain
        ]
        scores = [label_f1(labels, chunk.labels) for labels, chunk in pairs if labels is not None]
        if n := len(scores):
            values = [score.f1 for score in scores]
            interval = interval_of_mean(values, list(range(n)))
            precision, recall = (
                sum(getattr(score, name) for score in scores) / n for name in ("precision", "recall")
            )
            result.append(LabelQuality(domain, sum(values) / n, interval, precision, recall, n, len(pairs)))
    return result
