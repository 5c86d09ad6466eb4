"""Format names, settings and times for pages, and make file names."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from long_context_tasks.results.cells import held_settings
from long_context_tasks.results.lengths import FamilyLength, bar_words, tokens_text
from long_context_tasks.results.tidy import moment
from long_context_tasks.schema.card import LabelCard
from long_context_tasks.stats.effective_length import EffectiveLength

_REASONS = {"does_not_fit": "did not fit the window", "answer_cut": "answer cut off"}
_SETTINGS = {"lct_cases": "built cases", "cases": "built cases"}


def tokens(length: int | None) -> str:
    return "" if length is None else tokens_text(length)


def day(made: str) -> str:
    """Return the date from a host's timestamp, or the timestamp unchanged if it has fewer than eight digits."""
    digits = moment(made)
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}" if len(digits) >= 8 else made


def time_of_day(made: str) -> str:
    digits = moment(made)
    return f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}" if len(digits) >= 14 else ""


def joined(*parts: str | None) -> str:
    return " · ".join(filter(None, parts))


def judged_by(judge: str | None) -> str:
    return f"judge {judge}" if judge else ""


# A site has thousands of cells with only a few different settings.
@lru_cache(maxsize=10_000)
def settings(text: str) -> str:
    """Describe in a few words the settings of a cell that differ from the defaults.

    >>> settings('{"lct_answer_budget": 96, "lct_cases": "mine"}'), settings('{"lct_n": 6, "lct_cases": "cases"}'), settings("{}")
    ('answer budget 96, built cases mine', 'first 6 cases, built cases', '')
    """
    parts = []
    for name, value in held_settings(text).items():
        if name == "lct_n" and type(value) is int:
            # "n 6" could be mistaken for the number of cases behind a score.
            parts.append(f"first {value} case{'' if value == 1 else 's'}")
        else:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            noun = _SETTINGS.get(name, name.removeprefix("lct_").replace("_", " "))
            # A folder named "cases" adds nothing to "built cases".
            parts.append(noun if shown in noun.split() else f"{noun} {shown}")
    return ", ".join(parts)


SHORT = 48
"""Number of characters of settings that fit into a heading."""
_PART = 20


def settings_label(text: str) -> str:
    """Return a short name for settings in words; truncated ones end in four digits of a hash.

    >>> settings_label("built cases a-folder-with-a-long-name-of-its-own, answer budget 96")
    'built cases a-folde…, answer budget 96 (6ef4)'
    """
    if len(text) <= SHORT:
        return text
    parts = [_cut(part, _PART) for part in text.split(", ")]
    digits = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:4]
    return f"{_cut(', '.join(parts), SHORT)} ({digits})"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip(' ,-/')}…"


def setting_label(settings_text: str, judge: str | None) -> str:
    return joined(settings_label(settings_text), judged_by(judge))


def long_settings(texts: Iterable[str]) -> dict[str, str]:
    """Map the short names of abbreviated settings to their full text, for a page's legend."""
    in_words = (settings(text) for text in texts)
    return dict(sorted((settings_label(each), each) for each in in_words if len(each) > SHORT))


def shared(texts: Iterable[str]) -> str:
    """Return the common text if all are equal, otherwise an empty string."""
    different = set(texts)
    return different.pop() if len(different) == 1 else ""


def length_name(length: FamilyLength) -> str:
    judge = judged_by(length.judge)
    return joined(length.family, length.variant, settings(length.settings), judge, bar_words(length))


def outcomes(length: EffectiveLength) -> str:
    """Group the lengths by outcome: ``holds at 1k, 2k; open at 4k; fails at 8k``, plus unscored ones."""
    groups: dict[str, list[str]] = {}
    for each in length.lengths:
        name = f"{each.outcome} at" if each.n else "no scores at"
        few = f" ({each.n} of {each.total} cases)" if 0 < each.n < each.total else ""
        groups.setdefault(name, []).append(tokens(each.length) + few)
    return "; ".join(f"{outcome} {', '.join(lengths)}" for outcome, lengths in groups.items())


def reason_words(reason: str) -> str:
    return _REASONS.get(reason, reason.replace("_", " "))


def label_title(name: str, labels: Mapping[str, LabelCard]) -> str:
    """Return the words for a label; ``labels`` are those of its benchmark's card."""
    return (name in labels and labels[name].title) or name.replace("_", " ")


def scale_top(high: float, *, points: bool) -> float:
    """Return the upper end of a column's bars: 1 for rates, or the smallest usual scale for points."""
    if not points:
        return 1.0
    return next((top for top in (5.0, 10.0, 100.0) if high <= top), high)


def short_name(task: str, benchmark: str) -> str:
    """Strip the benchmark's name from a task or family name, for use under a heading that shows it."""
    return task.removeprefix(f"{benchmark}_") or task


_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HASHED = re.compile(r".*-[0-9a-f]{8}")
# Names of devices, which Windows does not allow for files.
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def slug(name: str) -> str:
    """Return a file name that is valid on every system, and different for different names.

    >>> slug("toy_sort_8k"), slug("Qwen/Qwen3-0.6B")
    ('toy_sort_8k', 'qwen-qwen3-0.6b-fb68f5a6')
    """
    odd = name.endswith(".") or _RESERVED.fullmatch(name) or _HASHED.fullmatch(name)
    if _PLAIN.fullmatch(name) and not odd:
        return name
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:48].rstrip("-._")
    return f"{cleaned or 'name'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
