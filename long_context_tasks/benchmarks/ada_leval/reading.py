"""Extract the answer to which a response commits, for ``strict_accuracy``.

Responses are given without their thinking.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from long_context_tasks.schema.candidates import (
    Candidate,
    Found,
    Standing,
    choose,
    has_words,
    introduction,
    joined,
    settles,
    weigh,
)
from long_context_tasks.schema.orders import committed_order
from long_context_tasks.schema.response import AMBIGUOUS, EMPTY, REFUSED, UNPARSED, is_refusal
from long_context_tasks.schema.wrappers import out_of_tables, unwrapped


@dataclass(frozen=True)
class Strict:
    """The answer to which a response commits, or the reason if it commits to none.

    Reasons are ``empty``, ``refused``, ``unparsed`` and ``ambiguous``.
    """

    answer: object = None
    reason: str | None = None


_DESIGNATION = re.compile(r"(?<![A-Za-z0-9])A([1-9][0-9]{0,6})(?![A-Za-z0-9])")
_SPELLED = (
    # "A_3", "$A_{3}$"
    re.compile(r"(?<![A-Za-z0-9])A_\{?([0-9]{1,7})\}?"),
    # "answer number 3", "option A-3"
    re.compile(
        r"\b(?:answers?|options?|response|choice|candidate|designation)\s{1,2}(?:(?:number|no\.|#)\s?)?[#\[(*]{0,3}"
        r"A?[ -]?([0-9]{1,7})(?![\w.]\d|\w)",
        re.IGNORECASE | re.ASCII,
    ),
    # "a3", "No. 3" and "3" at the beginning of an answer
    re.compile(
        r"(?:\A|(?<=answer:)|(?<=answer is))[^\w\n]{0,9}\n?[^\w\n]{0,9}(?:a[\s_#-]{0,2}|n[or]\.?\s|number\s)?0?([1-9][0-9]{0,6})"
        r"(?=\W{0,9}(?:\Z|\n|because\b|since\b|as\b|is\b)|[.,;:!?(–—-](?!\d))(?![^\n]*A\d)",
        re.IGNORECASE,
    ),
)
"""Other spellings of a designation."""
_BARE = re.compile(r"^\W{0,9}([1-9][0-9]{0,6})\W{0,3}$", re.MULTILINE)
"""A number alone on a line, used if the response has no designation."""
_NONE = re.compile(
    r"\W{0,9}(?:none(?! of A[0-9])|neither(?!\sA[0-9])|no answer|n/a|nothing|no single)\b", re.IGNORECASE
)
_BULLET = re.compile(r"[ \t]*[-*•][ \t]+[*_]{0,3}")
_NEAR = 200  # maximum number of characters between two designations of one list
_PLURAL = re.compile(r"\b(?:answers|options|candidates|ones|designations)\b", re.IGNORECASE)
"""Introduces several designations: "the answers that break one:", "Two answers remain:"."""
_RANKING = re.compile(
    r"\brank(?:ed|ing|s)?\b|\b(?:best|most helpful) (?:to|first|answer first)\b", re.IGNORECASE
)
_FROM_WORST = re.compile(r"\b(?:worst|least \w+)(?: answer)? (?:to|first)\b", re.IGNORECASE)
_RANKED = re.compile(
    r"^\W{0,9}\d{1,2}[.)]\W{0,9}A\d{1,7}\b|\b(?:rank(?:ed|ing)|first)\b[^.:\n]{0,60}:[ *]{0,9}A\d{1,7}(?:\W{1,4}A\d{1,7})+",
    re.IGNORECASE | re.MULTILINE,
)


def extract_bestanswer_strict(text: str, num_choice: int) -> Strict:
    """Return the designation, A1..An, to which a response commits; an unambiguous number counts as one.

    Every designation in the response is a candidate, and :func:`~long_context_tasks.schema.candidates.choose`
    selects one. If there are several that are only mentioned, listed ("A1, A2", "A1 or A2") or on separate
    lines, none is selected. A designation beyond An is not an answer.

    >>> [extract_bestanswer_strict(text, 12).answer for text in ("A1, not A12", "Answer: A3, A1 is off", "I like NASA1", "7.")]
    ['A1', 'A3', None, 'A7']
    """
    if not text.strip():
        return Strict(reason=EMPTY)
    plain = out_of_tables(unwrapped(text)).strip()
    for spelling in _SPELLED:
        plain = spelling.sub(r" A\1", plain)
    if not _DESIGNATION.search(plain):
        plain = _BARE.sub(r"A\1", plain)
    mentions = [Found(*match.span(), match[0], Standing.MENTIONED) for match in _DESIGNATION.finditer(plain)]
    stated = (Standing.FIRST, Standing.ALONE, Standing.FINAL)
    # "an A7 sheet" is not the answer A7 of five; "Answer: A7" is, but does not exist.
    candidates = [
        candidate
        for candidate in _single(plain, weigh(plain, mentions))
        if candidate.standing in stated or int(candidate.answer[1:]) <= num_choice
    ]
    chosen = choose(plain, candidates)
    if chosen is not None and (
        chosen.standing > Standing.MENTIONED or not (is_refusal(plain) or _NONE.match(plain))
    ):
        return Strict(chosen.answer) if int(chosen.answer[1:]) <= num_choice else Strict(reason=UNPARSED)
    if chosen is None and (first := _first_ranked(plain)):
        return Strict(first)
    if chosen is None and any(candidate.standing > Standing.DENIED for candidate in candidates):
        return Strict(reason=AMBIGUOUS)
    return Strict(reason=REFUSED if is_refusal(plain) else UNPARSED)


def _single(text: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Lower the standing of candidates that are listed among others: they are reasons, not the answer."""
    final = [each for each in candidates if each.standing is Standing.FINAL]
    led = {each.start for each in final if settles(introduction(text, each.start)[0])}
    found = []
    for each in candidates:
        line, after = text[text.rfind("\n", 0, each.start) + 1 : each.start], text[each.end :]
        bullet = _BULLET.match(line)
        if each.standing is Standing.FINAL:
            plural = _PLURAL.search(each.introduction) is not None
            beside = (_beside(text, each, other) for other in final if other.answer != each.answer)
            listed = plural or (led != set() and each.start not in led) or any(beside)
        else:
            listed = each.standing is Standing.FIRST and bullet is not None and f"\n{bullet[0]}" in after
        alone = not has_words(line + after.partition("\n")[0])
        lower = Standing.ALONE if alone else Standing.MENTIONED
        found.append(replace(each, standing=lower) if listed else each)
    return found


def _beside(text: str, one: Candidate, other: Candidate) -> bool:
    start, end = min(one.end, other.end), max(one.start, other.start)
    return end - start < _NEAR and joined(text[start:end])


def _first_ranked(text: str) -> str | None:
    """Return the designation that begins a ranking, or ends one from the worst."""
    ranked: list[str] = re.findall(r"\bA\d+", " ".join(_RANKED.findall(text)))
    if not _RANKING.search(text) or len(ranked) < 2:
        return None
    return ranked[-1 if _FROM_WORST.search(text) else 0]


def extract_tsort_strict(text: str, n: int) -> Strict:
    """Return the order to which a response commits: a complete permutation of 1..n.

    See :mod:`long_context_tasks.schema.orders`.

    >>> [extract_tsort_strict(text, 4).answer for text in ("Answer: [2, 1, 4, 3]", "Part 2 -> Part 1 -> Part 3 -> Part 4", "[2]")]
    [[2, 1, 4, 3], [2, 1, 3, 4], None]
    """
    if not text.strip():
        return Strict(reason=EMPTY)
    plain = out_of_tables(unwrapped(text))
    order, ambiguous = committed_order(plain, n)
    if order is None:
        return Strict(reason=AMBIGUOUS if ambiguous else REFUSED if is_refusal(plain) else UNPARSED)
    return Strict(order)
