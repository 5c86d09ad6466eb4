"""Labels of the recalling task: what an annotator names in a chunk, merged over chunks, and compared with a person's."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.benchmarks.ethic import official
from long_context_tasks.benchmarks.ethic.official import F1, NONE
from long_context_tasks.benchmarks.ethic.repaired import final_answer
from long_context_tasks.benchmarks.ethic.sources import DOMAINS
from long_context_tasks.corpora.plain_files import read_rows
from long_context_tasks.schema import InputError
from long_context_tasks.stats import Interval, interval_of_mean

NAMES = frozenset(("books", "debates"))
"""Domains whose labels are names; those of the others are numbers."""
_AROUND = " \t.,:;!?\"'`*_“”‘’[](){}<>#"
_LIST_MARK = re.compile(r"^\s*(?:[-*•–—]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
_POSSESSIVE = re.compile(r"['’]s$")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NOTHING = "none"


def parse_labels(answer: str, domain: str) -> list[str]:
    """The labels in an annotator's answer, each once, in its order; empty for "None".

    The prompts ask for single words or bare numbers, so a full name gives its parts, and of a number only the digits (in law
    also letters next to them) stay; what has no letter, or no digit, is no label.

    >>> parse_labels("Elizabeth Bennet, Darcy, Mr., 'Jane'.", "books")
    ['Elizabeth', 'Bennet', 'Darcy', 'Jane']
    >>> parse_labels("1,204; 12 patients; 36.", "medicine"), parse_labels("618; F.3d; 27; 922(g)", "law")
    (['1204', '12', '36'], ['618', '27', '922g'])
    """
    found = _names(answer) if domain in NAMES else _numbers(answer, in_words=domain == "law")
    return merge_labels([found])


_TITLES = frozenset(
    (
        "mr",
        "mrs",
        "ms",
        "miss",
        "dr",
        "sir",
        "lady",
        "lord",
        "captain",
        "madam",
        "madame",
        "speaker",
        "hon",
        "rev",
        "prof",
    )
)


def _names(answer: str) -> Iterable[str]:
    for line in final_answer(answer).split("\n"):
        for item in re.split(r"[;,]", _LIST_MARK.sub("", line)):
            for word in item.split():
                name = _POSSESSIVE.sub("", word.strip(_AROUND)).strip(_AROUND)
                if re.search(r"[^\W\d_]", name) and name.lower() not in _TITLES:
                    yield name


def _numbers(answer: str, *, in_words: bool) -> Iterable[str]:
    text = final_answer(answer)
    if re.search(r"[;\n]", text):
        text = _THOUSANDS.sub("", text)
    for line in text.split("\n"):
        for item in re.split(r"[;,]", _LIST_MARK.sub("", line)):
            words = item.strip(_AROUND).split()
            if in_words:
                # "F.3d" and "2d" are series, named by their letters; "922(g)" and "1983" are numbers.
                words = [re.sub(r"[^0-9A-Za-z]", "", word) for word in words]
                yield from (
                    word for word in words if re.match(r"\d", word) and not re.fullmatch(r"\d(?:d|th)", word)
                )
            elif words and (match := re.fullmatch(r"\d+", words[0], re.ASCII)):
                yield match[0]


def merge_labels(lists: Iterable[Iterable[str]]) -> list[str]:
    """Labels of all chunks without duplicates, in order of first mention; case does not tell two labels apart."""
    merged: dict[str, str] = {}
    for label in (label for labels in lists for label in labels):
        if (key := label.lower()) != _NOTHING:
            merged.setdefault(key, label)
    return list(merged.values())


def gold_labels(labels: Sequence[str]) -> list[str]:
    """Labels as a case has them: "None" where there are none, as the instruction asks for."""
    return list(labels) or [NONE]


def label_f1(found: Sequence[str], right: Sequence[str]) -> F1:
    """Agreement of two label sets; two empty ones agree.

    >>> label_f1(["anne"], ["Anne", "Jane"]).precision
    1.0
    """
    return official.f1("; ".join(gold_labels(found)), gold_labels(merge_labels([right])))


@dataclass(frozen=True)
class LabelledChunk:
    """A chunk that a person labelled."""

    domain: str
    passage: str
    labels: tuple[str, ...]


def read_labelled_chunks(path: Path) -> list[LabelledChunk]:
    """Chunks labelled by hand: JSON Lines with ``domain``, ``passage`` and ``labels`` (a list of texts or numbers).

    Raises:
        InputError: no such file, an empty one, or a row of another form.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; correct --check-labels")
    rows = []
    for place, row in read_rows(path, "a labelled chunk"):
        domain, passage, labels = row.get("domain"), row.get("passage"), row.get("labels")
        if domain not in DOMAINS:
            raise InputError(f'{place}: "domain" must be one of {", ".join(DOMAINS)}')
        if not isinstance(passage, str) or not passage.strip():
            raise InputError(f'{place}: "passage" must be the text of a chunk')
        if not isinstance(labels, list) or not all(isinstance(one, str | int) for one in labels):
            raise InputError(
                f'{place}: "labels" must be a list of names or numbers; an empty one where there are none'
            )
        rows.append(LabelledChunk(domain, passage, tuple(map(str, labels))))
    if not rows:
        raise InputError(
            f"{path}: holds no labelled chunks; write {json.dumps({'domain': 'books', 'passage': '...', 'labels': []})}"
        )
    return rows


@dataclass(frozen=True)
class LabelQuality:
    """Agreement of an annotator with hand-made labels in one domain (Table B): means over chunks, 0 to 1."""

    domain: str
    f1: float
    interval: Interval
    precision: float
    recall: float
    n: int
    total: int


def label_quality(
    chunks: Sequence[LabelledChunk], found: Sequence[Sequence[str] | None]
) -> list[LabelQuality]:
    """Quality in each domain; chunks without an answer (None) are outside the mean.

    Args:
        chunks: labelled by hand.
        found: the annotator's labels of each.
    """
    result = []
    for domain in dict.fromkeys(chunk.domain for chunk in chunks):
        pairs = [(found[place], chunk) for place, chunk in enumerate(chunks) if chunk.domain == domain]
        scores = [label_f1(labels, chunk.labels) for labels, chunk in pairs if labels is not None]
        if scores:
            values = [score.f1 for score in scores]
            result.append(
                LabelQuality(
                    domain,
                    sum(values) / len(values),
                    interval_of_mean(values, list(range(len(values)))),
                    sum(score.precision for score in scores) / len(scores),
                    sum(score.recall for score in scores) / len(scores),
                    len(scores),
                    len(pairs),
                )
            )
    return result
