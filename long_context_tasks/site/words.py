"""Numbers and names as pages show them."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from long_context_tasks.stats import Mean

_REASONS = {
    "does_not_fit": "did not fit the window",
    "not_judged": "not judged",
    "truncated": "truncated",
    "answer_cut": "answer cut off",
}


def score(value: float, *, points: bool) -> str:
    """A score: percent with one digit, points with two; a dash where there is none.

    >>> score(0.4567, points=False), score(7.5, points=True), score(float("nan"), points=False)
    ('45.7', '7.50', '–')
    """
    shown = value if points else 100 * value
    if not math.isfinite(shown):
        return "–"
    return f"{shown:.2f}" if points else f"{shown:.1f}"


def interval(mean: Mean, *, points: bool) -> str:
    """Ends of an interval; empty where there is none.

    >>> interval(Mean(0.5, 0.4, 0.61, 9, 9, {}), points=False)
    '40.0–61.0'
    """
    if not (math.isfinite(mean.low) and math.isfinite(mean.high)):
        return ""
    return f"{score(mean.low, points=points)}–{score(mean.high, points=points)}"


def cases(mean: Mean) -> str:
    """Cases of a mean: ``200``, or ``180 of 200`` below full coverage."""
    return f"{mean.n:,}" if mean.n == mean.total else f"{mean.n:,} of {mean.total:,}"


def tokens(length: int | None) -> str:
    """A length as tasks' names have it.

    >>> tokens(128000), tokens(16384), tokens(None), tokens(1500)
    ('128k', '16k', '', '1,500')
    """
    if length is None:
        return ""
    for thousand in (1000, 1024):
        if length >= thousand and length % thousand == 0:
            return f"{length // thousand}k"
    return f"{length:,}"


def day(made: str) -> str:
    """The day in a time as a host wrote it; the text itself where it has no eight digits.

    >>> day("2026-01-31T10-00-00.5"), day("20260131_100000")
    ('2026-01-31', '2026-01-31')
    """
    digits = re.sub(r"\D", "", made)
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}" if len(digits) >= 8 else made


def moment(made: str) -> str:
    """What times as hosts wrote them are ordered by."""
    return re.sub(r"\D", "", made)[:20]


@lru_cache(maxsize=10_000)
def settings(text: str) -> str:
    """Settings of a cell that differ from the defaults, in a few words; empty where none does.

    >>> settings('{"lct_subset": 200, "lct_cases": true}'), settings('{"lct_n": 6}'), settings("{}")
    ('subset 200, cases true', 'first 6 cases', '')
    """
    try:
        held = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    if not isinstance(held, dict):
        return text
    return ", ".join(_setting(name, each) for name, each in held.items())


def _setting(name: str, value: Any) -> str:
    # "n 6" would read like the number of cases that a score has.
    if name == "lct_n" and type(value) is int:
        return f"first {value} case{'' if value == 1 else 's'}"
    return f"{name.removeprefix('lct_')} {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


SHORT = 48
"""Characters of settings that still fit into a heading."""
_PART = 20


def settings_label(told: str) -> str:
    """A short name for settings in words, as good as surely different for different ones.

    Themselves; where they are long, each cut, and a few digits of their hash, by which the legend of the page has them whole.

    >>> settings_label("answer_budget 96, n 1")
    'answer_budget 96, n 1'
    >>> settings_label("cases a-folder-with-a-long-name-of-its-own, answer_budget 96, n 1")
    'cases a-folder-with…, answer_budget 96, n 1 (b8aa)'
    """
    if len(told) <= SHORT:
        return told
    parts = [_cut(part, _PART) for part in told.split(", ")]
    digits = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:4]
    return f"{_cut(', '.join(parts), SHORT)} ({digits})"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip(' ,-/')}…"


def told_of(told: str, judge: str) -> str:
    """A short name for settings in words, and the judge.

    >>> told_of("subset 200", "mine"), told_of("", "")
    ('subset 200 · judge mine', '')
    """
    return " · ".join(filter(None, (settings_label(told), judge and f"judge {judge}")))


def told_apart(names: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Names, those that occur more than once with their labels.

    >>> told_apart(["a", "a", "b"], ["", "subset 200", "subset 50"])
    ['a', 'a · subset 200', 'b']
    """
    return [
        f"{name} · {label}" if label and names.count(name) > 1 else name
        for name, label in zip(names, labels, strict=True)
    ]


def long_settings(texts: Iterable[str]) -> dict[str, str]:
    """Label to words, of all settings that pages show by a label that does not say all; for a legend."""
    told = (settings(text) for text in texts)
    return dict(sorted((settings_label(each), each) for each in told if len(each) > SHORT))


def common(told: Iterable[str]) -> str:
    """What all have in common: the text of all, or nothing where two differ.

    >>> common(["n 1", "n 1"]), common(["n 1", ""]), common([])
    ('n 1', '', '')
    """
    different = set(told)
    return different.pop() if len(different) == 1 else ""


def reasons(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Reasons in words with their counts, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(reason_words(reason), count) for reason, count in ordered]


def reason_words(reason: str) -> str:
    """A reason as pages show it."""
    return _REASONS.get(reason, reason.replace("_", " "))


def scale_top(high: float, *, points: bool) -> float:
    """The upper end of the bars of a column: 1 for shares, and the usual scale that holds the points."""
    if not points:
        return 1.0
    return next((top for top in (5.0, 10.0, 100.0) if high <= top), high)


def short_name(task: str, benchmark: str) -> str:
    """A task or family without the benchmark's name in front, where a heading names that.

    >>> short_name("ada_leval_tsort_8k", "ada_leval")
    'tsort_8k'
    """
    return task.removeprefix(f"{benchmark}_") or task


# Names of files for names of models and tasks, which may hold anything.


_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HASHED = re.compile(r".*-[0-9a-f]{8}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def slug(name: str) -> str:
    """A name that is good for a file on any system, different for different names.

    Small letters, digits, ``.``, ``_`` and ``-`` stay; a name that loses something, that some system keeps for itself, or that ends as
    if it had them, gets eight digits of its hash.

    >>> slug("ada_leval_tsort_8k")
    'ada_leval_tsort_8k'
    >>> slug("Qwen/Qwen3-0.6B")
    'qwen-qwen3-0.6b-fb68f5a6'
    """
    odd = name.endswith(".") or _RESERVED.fullmatch(name) or _HASHED.fullmatch(name)
    if _PLAIN.fullmatch(name) and not odd:
        return name
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:48].rstrip("-._")
    return f"{cleaned or 'name'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
