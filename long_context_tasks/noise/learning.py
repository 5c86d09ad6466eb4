"""Rules learned from pairs of what was said and what a recogniser wrote."""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from rapidfuzz.distance import Levenshtein

from long_context_tasks.noise.error_rules import Rules
from long_context_tasks.noise.rates import encode
from long_context_tasks.noise.words import words_of
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows

_PAIRS = 'lines like {"ref": "what was said", "hyp": "what was recognised"}'
_GAP = 0.45  # two words less alike than 10 % are a deletion and an insertion rather than a substitution
_ALIKE = 0.5
_LONGEST_FORM = 3
_PER_EXTRA_WORD = 0.1
_LARGEST_REGION = 400  # beyond, the two sides do not belong together


def read_pairs(path: Path, *, sources: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Read pairs from JSON Lines with ``ref`` and ``hyp`` (or ``reference`` and ``hypothesis``), plain or ``.gz``.

    Args:
        path: The file; other fields are ignored.
        sources: Take only pairs whose ``source`` begins with one of these; default: all.

    Raises:
        InputError: unreadable, a line that is no pair, or no pair at all; with the row.
    """
    wanted = tuple(sources)
    found = False
    for place, row in json_rows(path, _PAIRS):
        if not isinstance(row, dict):
            raise InputError(f"{place}: no JSON object; expected {_PAIRS}")
        reference = row.get("ref", row.get("reference"))
        hypothesis = row.get("hyp", row.get("hypothesis"))
        if not isinstance(reference, str) or not isinstance(hypothesis, str):
            raise InputError(f"{place}: ref and hyp are not both texts; expected {_PAIRS}")
        if not wanted or str(row.get("source", "")).startswith(wanted):
            found = True
            yield reference, hypothesis
    if not found:
        which = f" of the sources {', '.join(wanted)}" if wanted else ""
        raise InputError(f"{path}: no pairs{which} in it; expected {_PAIRS}")


def learn(pairs: Iterable[tuple[str, str]], *, min_count: int = 2) -> Rules:
    """Count how often each word is recognised as what.

    Case and punctuation around words are ignored. Words are aligned by least edits; between two matches, words go
    with those that are written most alike, up to three for one ("anon" -> "an on"). Where one side has digits and
    the other has none ("two point six", "2.6") nothing is counted: that is writing, not hearing.

    Args:
        pairs: Reference and hypothesis.
        min_count: Errors that are rarer are kept only if at least half of the letters agree, else they count as
            faults of the alignment.

    Raises:
        InputError: no words in the references.
    """
    counts: dict[str, Counter[str]] = {}
    for reference, hypothesis in pairs:
        for word, form in align_words(words_of(reference), words_of(hypothesis)):
            counts.setdefault(word, Counter())[form] += 1
    if not any(counts):
        raise InputError("the references hold no words; give pairs of what was said and what was recognised")
    ordered = sorted(counts.items(), key=lambda item: (-item[1].total(), item[0]))
    kept = {
        word: {
            form: count
            for form, count in sorted(forms.items(), key=lambda item: (item[0] != word, -item[1], item[0]))
            if count >= min_count or not (word and form) or _unlike(word, form) <= _ALIKE
        }
        for word, forms in ordered
    }
    return Rules({word: forms for word, forms in kept.items() if forms})


def align_words(reference: list[str], hypothesis: list[str]) -> Iterator[tuple[str, str]]:
    """Give pairs of a word and its form: equal, "" for a deletion, several words; ("", word) for an insertion."""
    left, right = encode(reference, hypothesis)
    end_left = end_right = 0
    for block in Levenshtein.editops(left, right).as_matching_blocks():
        yield from _region(reference[end_left : block.a], hypothesis[end_right : block.b])
        end_left, end_right = block.a + block.size, block.b + block.size
        yield from ((word, word) for word in reference[block.a : end_left])


def _region(left: list[str], right: list[str]) -> Iterator[tuple[str, str]]:
    """Align what is between two matches: words that are written alike go together."""
    if not left or not right:
        yield from ((word, "") for word in left)
        yield from (("", word) for word in right)
        return
    if len(left) * len(right) > _LARGEST_REGION or _has_digit(" ".join(left)) != _has_digit(" ".join(right)):
        return
    rows, columns = len(left), len(right)
    # cost and step of the best way to each cell; a step says how many words of each side it takes
    cost = [[_GAP * (i + j) for j in range(columns + 1)] for i in range(rows + 1)]
    step = [[(1, 0) if i else (0, 1) for _ in range(columns + 1)] for i in range(rows + 1)]
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            ways = [(cost[i - 1][j] + _GAP, (1, 0)), (cost[i][j - 1] + _GAP, (0, 1))]
            for size in range(1, min(_LONGEST_FORM, j) + 1):
                form = " ".join(right[j - size : j])
                ways.append((cost[i - 1][j - size] + _unlike(left[i - 1], form), (1, size)))
            cost[i][j], step[i][j] = min(ways)
    pairs = []
    i, j = rows, columns
    while i or j:
        taken, size = step[i][j]
        pairs.append((left[i - 1] if taken else "", " ".join(right[j - size : j])))
        i, j = i - taken, j - size
    yield from reversed(pairs)


@lru_cache(maxsize=1 << 18)
def _unlike(word: str, form: str) -> float:
    joined = form.replace(" ", "")
    distance = Levenshtein.distance(word, joined) / max(len(word), len(joined))
    return distance + _PER_EXTRA_WORD * form.count(" ")


@lru_cache(maxsize=1 << 16)
def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)
