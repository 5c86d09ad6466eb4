"""Speech recognition error rules: how often each word is recognised as which form.

Rules are learned from pairs and stored as JSON Lines.
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Annotated

from pydantic import Field, Strict, TypeAdapter, ValidationError
from rapidfuzz.distance import Levenshtein

from long_context_tasks.noise.words import words_of
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, write_whole

_DEFAULT = "rules/default.jsonl.gz"
ENGLISH = "en"
_LANGUAGE = "<language>"  # key in place of a word; its only form is the language code
_REMEDY = "make rules with `lct noise learn`"
# Integers stay integers, so that reading and rewriting rules preserves their bytes.
_Count = Annotated[
    Annotated[int, Strict(), Field(ge=0)] | Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)],
    Field(union_mode="left_to_right"),
]
_LINES = TypeAdapter(list[dict[str, dict[str, _Count]]])
_PAIRS = 'lines like {"ref": "what was said", "hyp": "what was recognised"}'
_FIELDS = (("ref", "hyp"), ("reference", "hypothesis"), ("truth", "asr_hypothesis"))
_GAP = 0.45  # two words less than 10 % alike are a deletion and an insertion, not a substitution
_ALIKE = 0.5
_LONGEST_FORM = 3
_PER_EXTRA_WORD = 0.1
_LARGEST_REGION = 400  # beyond this, the two sides do not belong together


@dataclass(frozen=True)
class ErrorShares:
    """Error types as fractions of all errors, and errors per word."""

    substitution: float  # fraction of errors in which a word is recognised as another
    deletion: float  # fraction in which a word is dropped
    insertion: float  # fraction in which a word is added
    rate: float  # errors per reference word


@dataclass(frozen=True, eq=False)
class Rules:
    """How often each word is recognised as which form."""

    # Word -> form -> count. The form "" is a deletion, and the word "" holds the insertions. A form can be
    # several words; the word itself counts correct recognitions.
    counts: Mapping[str, Mapping[str, float]]
    language: str = ""  # language code of the rules, such as de; empty if unknown

    def __len__(self) -> int:
        """Return the number of words with a rule."""
        return len(self.counts) - ("" in self.counts)

    @cached_property
    def shares(self) -> ErrorShares:
        """Error types; all zero without errors.

        >>> Rules({"cat": {"cat": 8, "hat": 1, "": 1}}).shares
        ErrorShares(substitution=0.5, deletion=0.5, insertion=0.0, rate=0.2)
        """
        inserted = sum(self.counts.get("", {}).values())
        said = deleted = right = 0.0
        for word, forms in self.counts.items():
            if word:
                said += sum(forms.values())
                deleted += forms.get("", 0)
                right += forms.get(word, 0)
        errors = said - right + inserted
        part = 1 / errors if errors else 0.0
        return ErrorShares(
            substitution=(said - right - deleted) * part,
            deletion=deleted * part,
            insertion=inserted * part,
            rate=errors / said if said else 0.0,
        )

    @staticmethod
    def read(path: Path) -> "Rules":
        """Read a file with a JSON object word -> {form: count} per line, plain or ``.gz``.

        Words containing white space are skipped and a repeated word keeps its last rule, both as in the
        official loader. The official first line, ``<unk>`` with corpus rates, is also skipped. The line
        ``{"<language>": {"de": 1}}`` sets the language.

        Raises:
            InputError: the file is unreadable, or a line is not a rule.
        """
        try:
            data = path.read_bytes()
            if data.startswith(b"\x1f\x8b"):
                data = gzip.decompress(data)
            text = data.decode("utf-8")
        except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{path}: the rules cannot be read ({reason}); {_REMEDY}") from error
        return _parse(text, str(path))

    def write(self, path: Path) -> None:
        """Write the rules, gzipped if the name ends in ``.gz``; equal rules give equal bytes.

        Raises:
            InputError: the file cannot be written.
        """
        language = {_LANGUAGE: {self.language: 1}} if self.language else {}
        write_rules(path, chain(language.items(), self.counts.items()))


def write_rules(path: Path, rules: Iterable[tuple[str, Mapping[str, float]]]) -> None:
    """Write a JSON object word -> {form: count} per line, gzipped if the name ends in ``.gz``."""
    lines = "".join(json.dumps({word: forms}, ensure_ascii=False) + "\n" for word, forms in rules)
    # A lone surrogate, which UTF-8 cannot encode, becomes a question mark, as in responses.
    data = lines.encode("utf-8", "replace")
    if path.suffix == ".gz":
        data = gzip.compress(data, 9, mtime=0)
    write_whole(path, data)


def _parse(text: str, name: str) -> Rules:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:  # all lines at once, which is several times faster than line by line
        objects = _LINES.validate_json(f"[{','.join(line for _, line in lines)}]")
    except ValidationError:
        for number, line in lines:
            try:
                _LINES.validate_json(f"[{line}]")
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                problem = "not a rule"
                if first["type"] == "json_invalid":
                    problem = f"not JSON ({first['ctx']['error']})"
                raise InputError(
                    f'{name}, line {number}: {problem}; each line is an object {{"word": {{"form": count}}}} with counts '
                    f"from 0; {_REMEDY}"
                ) from None
        raise
    counts: dict[str, Mapping[str, float]] = {}
    for item in objects:
        counts |= {word: forms for word, forms in item.items() if len(word.split()) == 1 or not word}
    counts.pop("<unk>", None)
    language = "".join(list(counts.pop(_LANGUAGE, {}))[:1])
    if not counts:
        raise InputError(f"{name}: the file holds no rules; {_REMEDY}")
    return Rules(counts, language)


@lru_cache(maxsize=1)
def default_rules() -> Rules:
    """Return the packaged rules, learned from real recognisers (see ``noise/rules/README.md``)."""
    data = resources.files(__package__).joinpath(_DEFAULT).read_bytes()
    return replace(_parse(gzip.decompress(data).decode("utf-8"), _DEFAULT), language=ENGLISH)


def read_pairs(path: Path, *, sources: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Read pairs of reference and hypothesis from JSON Lines, plain or ``.gz``.

    The fields are ``ref`` and ``hyp``, ``reference`` and ``hypothesis``, or those of RED-ACE as published:
    ``truth`` and ``asr_hypothesis``, a list of words. Other fields are ignored.

    Args:
        sources: prefixes of the ``source`` of pairs to read; all pairs if empty.

    Raises:
        InputError: the file is unreadable, a row is not a pair, or no pair is found; the message names the
            row.
    """
    wanted = tuple(sources)
    found = False
    for place, row in json_rows(path, _PAIRS):
        if not isinstance(row, dict):
            raise InputError(f"{place}: not a JSON object; expected {_PAIRS}")
        names = next((names for names in _FIELDS if names[0] in row), _FIELDS[0])
        reference, hypothesis = map(row.get, names)
        if isinstance(hypothesis, list) and all(isinstance(word, str) for word in hypothesis):
            hypothesis = " ".join(hypothesis)
        if not isinstance(reference, str) or not isinstance(hypothesis, str):
            raise InputError(f"{place}: {' and '.join(names)} must both be texts; expected {_PAIRS}")
        if not wanted or str(row.get("source", "")).startswith(wanted):
            found = True
            yield reference, hypothesis
    if not found:
        which = f" of the sources {', '.join(wanted)}" if wanted else ""
        raise InputError(f"{path}: the file holds no pairs{which}; expected {_PAIRS}")


def learn(pairs: Iterable[tuple[str, str]], *, min_count: int = 2, language: str = "") -> Rules:
    """Count how often each word is recognised as which form.

    Case and punctuation around words are ignored. Words are aligned with minimal edits; between two matches,
    words are paired by spelling similarity, up to three for one ("anon" -> "an on"). If only one side has
    digits ("two point six", "2.6"), nothing is counted, because the two differ in writing and not in
    recognition.

    Args:
        pairs: reference and hypothesis.
        min_count: rarer errors are kept only if at least half of the letters agree; otherwise they are
            treated as alignment errors.
        language: language code of the pairs, for :class:`Rules`.

    Raises:
        InputError: the references contain no words.
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
    return Rules({word: forms for word, forms in kept.items() if forms}, language)


def align_words(reference: list[str], hypothesis: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (word, form) pairs.

    A form is "" for a deletion and may be several words; ("", word) is an insertion.
    """
    end_left = end_right = 0
    for block in Levenshtein.editops(reference, hypothesis).as_matching_blocks():
        yield from _align_region(reference[end_left : block.a], hypothesis[end_right : block.b])
        end_left, end_right = block.a + block.size, block.b + block.size
        yield from ((word, word) for word in reference[block.a : end_left])


def _align_region(left: list[str], right: list[str]) -> Iterator[tuple[str, str]]:
    """Pair the words between two matches by spelling."""
    if not left or not right:
        yield from ((word, "") for word in left)
        yield from (("", word) for word in right)
        return
    if len(left) * len(right) > _LARGEST_REGION or _has_digit(" ".join(left)) != _has_digit(" ".join(right)):
        return
    rows, columns = len(left), len(right)
    # Cost and last step of the best path to each cell; a step is the number of words taken from each side.
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


# A corpus has millions of word pairs but few distinct ones.
@lru_cache(maxsize=1 << 18)
def _unlike(word: str, form: str) -> float:
    joined = form.replace(" ", "")
    distance = Levenshtein.distance(word, joined) / max(len(word), len(joined))
    return distance + _PER_EXTRA_WORD * form.count(" ")


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)
