"""Rules of recognition errors: how often each word is recognised as what; in files of JSON Lines."""

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import write_whole

_PACKAGE = "long_context_tasks.noise"
_DEFAULT = "rules/default.jsonl.gz"
_REMEDY = "make rules with `lct noise learn`"


@dataclass(frozen=True)
class ErrorShares:
    """Kinds of errors as shares of all errors, and errors per word.

    Attributes:
        substitution: Share of words that are recognised as others.
        deletion: Share of words that are left out.
        insertion: Share of words that were not said.
        rate: All errors over all words said.
    """

    substitution: float
    deletion: float
    insertion: float
    rate: float


@dataclass(frozen=True, eq=False)
class Rules:
    """How often each word is recognised as what.

    Attributes:
        counts: Word -> form -> count. The form "" is a deletion, the word "" holds what was inserted; a form can be
            several words; the word itself counts how often it is recognised right.
    """

    counts: Mapping[str, Mapping[str, float]]

    def __len__(self) -> int:
        """Return the number of words with a rule."""
        return len(self.counts) - ("" in self.counts)

    @cached_property
    def shares(self) -> ErrorShares:
        """Kinds of errors; all zero without errors.

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
        """Read a file with a JSON object word -> {form: count} on each line, plain or ``.gz``.

        As in the official loader, words with white space in them are left out and a word given twice keeps its last rule;
        the official first line, ``<unk>`` with rates of the corpus, is left out too.

        Raises:
            InputError: unreadable, or a line that is no rule.
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
        """Write the rules, gzipped when the name ends in ``.gz``; equal rules give equal bytes.

        Raises:
            InputError: the file cannot be written.
        """
        write_rules(path, self.counts.items())


def write_rules(path: Path, rules: Iterable[tuple[str, Mapping[str, float]]]) -> None:
    """Write a JSON object word -> {form: count} on each line, gzipped when the name ends in ``.gz``.

    Raises:
        InputError: the file cannot be written.
    """
    lines = "".join(json.dumps({word: forms}, ensure_ascii=False) + "\n" for word, forms in rules)
    data = lines.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, 9, mtime=0)
    write_whole(path, data)


def _parse(text: str, name: str) -> Rules:
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        objects = json.loads(f"[{','.join(lines)}]")  # at once: several times faster than line by line
    except ValueError:
        objects = list(_objects(text, name))
    counts: dict[str, Mapping[str, float]] = {}
    if not _are_rules(objects):
        place = next(place for place, item in enumerate(objects) if not _are_rules([item]))
        number = [n for n, line in enumerate(text.split("\n"), 1) if line.strip()][place]
        raise InputError(
            f'{name}, line {number}: no rule; each line is an object {{"word": {{"form": count}}}} with counts from 0; '
            + _REMEDY
        )
    for item in objects:
        counts |= {word: forms for word, forms in item.items() if len(word.split()) == 1 or not word}
    counts.pop("<unk>", None)
    if not counts:
        raise InputError(f"{name}: no rules in it; {_REMEDY}")
    return Rules(counts)


def _objects(text: str, name: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise InputError(f"{name}, line {number}: no JSON ({error}); {_REMEDY}") from error


def _are_rules(objects: list[Any]) -> bool:
    """Return whether all are objects of objects of finite numbers from 0; whole lists at once, as files are long."""
    if set(map(type, objects)) - {dict}:
        return False
    rules = list(chain.from_iterable(map(dict.values, objects)))
    if set(map(type, rules)) - {dict}:
        return False
    values = list(chain.from_iterable(map(dict.values, rules)))
    if set(map(type, values)) - {int, float}:
        return False
    # NaN compares with nothing, so it is checked separately; infinity is more than any count.
    return not values or (min(values) >= 0 and max(values) < 1e300 and not any(map(math.isnan, values)))


@lru_cache(maxsize=1)
def default_rules() -> Rules:
    """Return the rules of the package, learned from real recognisers (see ``noise/rules/README.md``)."""
    data = resources.files(_PACKAGE).joinpath(_DEFAULT).read_bytes()
    return _parse(gzip.decompress(data).decode("utf-8"), _DEFAULT)
