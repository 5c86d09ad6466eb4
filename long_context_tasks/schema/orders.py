"""The order of numbered pieces that a response gives, however it is written: bracketed, with arrows, as a numbered list, in words."""

import re
from collections.abc import Sequence

from long_context_tasks.schema.commitment import prefers, takes_back
from long_context_tasks.schema.wrappers import labelled

_LABEL = r"(?:(?:text|book)\s)?(?:parts?|segments?|sections?|texts?|pieces?|passages?|paragraphs?|chunks?|options?|events?|numbers?|no\.?|p|s)"
_GAP = re.compile(
    rf"(?:[\s,;>/|+&*_`\"'()\[\]{{}}<#-]|[–—→⟶➔➜⇒=:]|\.(?!\d)|{_LABEL}\b|{_LABEL}(?=[\s_#-]*\Z)|\band\b|\bthen\b|\bfinally\b|\blastly\b|"
    r"\bfollowed by\b|\bnext\b|\bafter that\b|\bto\b|\blast(?:ly)?\b)*",
    re.IGNORECASE,
)
_LONGEST_GAP = 60
_NUMBER = re.compile(r"(?<![\d.])\d{1,9}(?!\d|\.\d)", re.ASCII)
_LIST = re.compile(r"\[\s*(\d{1,4}(?:(?:\s*[,;]\s*|\s+)\d{1,4})*)\s*(?:,\s*)?\]", re.ASCII)
_LABELLED = re.compile(rf"\b{_LABEL}[\s_#*`\[(<-]{{0,4}}(\d{{1,9}})(?!\d)", re.IGNORECASE | re.ASCII)
_POSITION = re.compile(
    r"^([^\w\n]{0,8}(?:(?:position|place|step|slot|rank|order)\s{0,2}#?)?)(\d{1,4})"
    r"((?:st|nd|rd|th)?(?:\s{0,2}(?:part|place|position|segment)(?=\s{0,2}[:=]))?[*_]{0,2}[ \t]{0,2}(?:[.):=|]|[-–—→]>?)[*_]{0,2}[ \t]{0,3})"
    r"(?=\D{0,40}\d)",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)
_INLINE_POSITION = re.compile(
    rf"(?<![\d.])(\d{{1,4}})\s?[.):]\s{{0,3}}(?=[*_\[(]{{0,3}}(?:{_LABEL}[\s_#-]{{0,3}})?\[?\d)",
    re.IGNORECASE | re.ASCII,
)
# "Parts 1, 2, 3 and 4 were read."
_SUBJECT = re.compile(r"\W{0,4}\s(?:were|are|have|do|can|form|all|seem|must|need|should|in order|into)\b")
# Between two orders of which neither is chosen.
_BETWEEN = re.compile(r"(?:[\W_]|\b(?:and|or)\b)*")
_LINE = re.compile(
    rf"^\W{{0,8}}(?:{_LABEL}[\s_#-]{{0,3}})?[\[(<]?(\d{{1,9}})(?![\w.]\d)", re.IGNORECASE | re.ASCII
)
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
]
_PLACED = re.compile(
    rf"\b(?:{_LABEL}\s)?[\[(<]?(\d{{1,4}})[\])>]?\s(?:is|comes|goes|stands)\s(?:the\s)?({'|'.join(_ORDINALS)})\b",
    re.IGNORECASE,
)
# Of the prompt's sample, read backwards, or denied.
_NOT_MEANT = re.compile(
    r"\[[\d, ]{1,200}\]\s(?:in|from|of)\sthe\s(?:sample|example|prompt|instructions?)\b|\b(?:reversed?|backwards?)\b[^:.\n]{0,30}:[^.\n]*|"
    r"\b(?:not|reject(?:ed)?|ruled out|discard(?:ed)?|instead of)\W{1,4}\[[\d, ]{1,200}\]",
    re.IGNORECASE,
)


def without_positions(text: str) -> str:
    """Remove the numbers 1, 2, 3, ... that count the lines of a list, or the items in a line, if each is followed by another number.

    >>> without_positions("1. Segment 2\\n2. Segment 1"), without_positions("1. 2, 2. 1"), without_positions("2. Segment 1")
    ('Segment 2\\nSegment 1', '2, 1', '2. Segment 1')
    """
    for pattern, group in ((_POSITION, 2), (_INLINE_POSITION, 1)):
        marks = list(pattern.finditer(text))
        if len(marks) > 1 and [int(mark[group]) for mark in marks] == list(range(1, len(marks) + 1)):
            return pattern.sub("", text)
    return text


def runs(text: str) -> list[tuple[int, int, list[int]]]:
    """Return the runs of numbers with nothing but separators and words such as "Segment" between them: start, end, numbers.

    >>> runs("In 1815: Part 2 -> Part 1, then [3].")
    [(3, 7, [1815]), (14, 34, [2, 1, 3])]
    """
    found: list[tuple[int, int, list[int]]] = []
    in_line = 0
    for match in _NUMBER.finditer(text):
        number = int(match[0])
        if found and match.start() - found[-1][1] <= _LONGEST_GAP:
            start, end, numbers = found[-1]
            gap = text[end : match.start()]
            # A line with several numbers is a list of its own.
            if gap and _GAP.fullmatch(gap) and not _apart(gap) and not ("\n" in gap and in_line > 1):
                in_line = 1 if "\n" in gap else in_line + 1
                numbers.append(number)
                found[-1] = (start, match.end(), numbers)
                continue
        in_line = 1
        found.append((match.start(), match.end(), [number]))
    return found


def _apart(gap: str) -> bool:
    """Whether a colon, a bracket, the end of a sentence or an empty line separates two lists: "4: 2, 1", "3 (Part 2", "3. Segment 2"."""
    first = gap.strip()[:2]
    begins_anew = first[:1] in (":", "=") and first != "=>"
    return (
        begins_anew
        or "\n\n" in gap
        or gap.count("(") > gap.count(")")
        or re.search(r"(?<!no)\.(?:\s|\Z)", gap, re.IGNORECASE) is not None
    )


def orders(text: str, n: int) -> list[tuple[int, int, list[int]]]:
    """Return the permutations of 1..n that a text lists, with their places; the weaker forms only if it has none of the stronger.

    From strong to weak: a list in brackets; a run of numbers; one number with n digits; lines that each begin with a number; all
    numbers of pieces ("Part 2"), or all numbers at all. The last two must not be 1..n itself: texts describe pieces in that order.
    """
    whole = list(range(1, n + 1))

    def is_order(numbers: Sequence[int]) -> bool:
        return sorted(numbers) == whole

    placed = {_ORDINALS.index(word.lower()): int(number) for number, word in _PLACED.findall(text)}
    if is_order(list(placed.values())) and sorted(placed) == list(range(n)):
        return [(0, len(text), [placed[place] for place in range(n)])]
    listed = [(match.start(), match.end(), _numbers(match[1])) for match in _LIST.finditer(text)]
    if found := [run for run in listed if is_order(run[2])]:
        return found
    if found := [
        run
        for run in (_once(*run, n) for run in runs(text))
        if is_order(run[2]) and not (run[2] == whole and _SUBJECT.match(text, run[1]))
    ]:
        return found
    if n <= 9:
        written = [
            (match.start(), match.end(), [int(digit) for digit in match[0]])
            for match in re.finditer(rf"(?<![\w.,]){'[1-9]' * n}(?![\w.,]?\d)", text, re.ASCII)
        ]
        if found := [run for run in written if is_order(run[2])]:
            return found
    lines = [int(match[1]) for line in text.split("\n") if (match := _LINE.match(line))]
    named = [int(number) for number in _LABELLED.findall(text)]
    weak = (numbers for numbers in (lines, named, _numbers(text)) if is_order(numbers) and numbers != whole)
    return next(([(0, len(text), numbers)] for numbers in weak), [])


def _once(start: int, end: int, numbers: list[int], n: int) -> tuple[int, int, list[int]]:
    """Return the first n numbers of a run that repeats them over and over, be its end cut off; else the run."""
    loops = len(numbers) >= 2 * n and all(
        number == numbers[place - n] for place, number in enumerate(numbers) if place >= n
    )
    return start, end, numbers[:n] if loops else numbers


def committed_order(text: str, n: int) -> tuple[list[int] | None, bool]:
    """Return the permutation of 1..n that a text commits to, and whether there is none because it gives different ones.

    Read is the last label ("Answer:", "The correct order is") with an order after it, else the whole text. Among several orders the
    last counts if a word before it takes back the others or prefers it, else the one that the text begins with, else the one that is a line of its
    own. An order that is repeated over and over counts once.

    >>> committed_order("Answer: 2 > 1", 2), committed_order("[1, 2] or [2, 1]", 2), committed_order("Neither.", 2)
    (([2, 1], False), (None, True), (None, False))
    """
    text = without_positions(_NOT_MEANT.sub("", text))
    for span in (*labelled(text), text):
        plain = without_positions(span.strip())
        if found := orders(plain, n):
            order = _chosen(plain, found)
            return order, order is None
    return None, False


def _chosen(text: str, found: Sequence[tuple[int, int, list[int]]]) -> list[int] | None:
    """Return the order that a text chooses from those in it; None if it chooses none."""
    start, end, first = found[0]
    replaced = next((stop for _, stop, numbers in reversed(found) if numbers != found[-1][2]), None)
    between = "" if replaced is None else text[replaced : found[-1][0]]
    if takes_back(between) or prefers(between):
        return found[-1][2]
    other = next((begin for begin, _, numbers in found if numbers != first), None)
    if other is None or (not re.search(r"\w", text[:start]) and not _BETWEEN.fullmatch(text, end, other)):
        return first
    alone = [numbers for begin, end, numbers in found if _fills_line(text, begin, end)]
    return alone[0] if alone and all(numbers == alone[0] for numbers in alone) else None


def _fills_line(text: str, start: int, end: int) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return not re.search(r"\w", before + text[end:].split("\n", 1)[0])


def _numbers(text: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(text)]
