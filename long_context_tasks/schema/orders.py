"""Parse orders of numbered pieces in a reply, in any form: bracketed, with arrows, as a list, in words."""

import re
from collections.abc import Iterator

from long_context_tasks.schema.candidates import SENTENCE_END, Found, Standing, choose, hedged, weigh

Run = tuple[int, int, list[int]]
"""Start and end of a run of numbers in a text, and the numbers."""

_PIECE = r"(?:texts?|books?|parts?|segments?|sections?|pieces?|passages?|paragraphs?|chunks?|options?|events?|summary|numbers?|no|p|s)"
_PIECE_WORD = re.compile(_PIECE, re.IGNORECASE)
_BETWEEN = frozenset(
    re.findall(r"\w+", "and then finally lastly last followed by next after that to st nd rd th")
)
"""Words allowed between two numbers of an order, in addition to words for a piece."""
_MARKS = frozenset(" \t\n,;>/|+&*_`\"'()[]{}<#-–—→⟶➔➜⇒.")
_TOKEN = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|=>|\s|.", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"(?<![\d.])\d{1,9}(?!\d|\.\d)", re.ASCII)
_LEADING = re.compile(
    rf"^[^\w\n]{{0,9}}(?:{_PIECE}\s)?(\d{{1,4}})(?!\d|\.\d)", re.IGNORECASE | re.MULTILINE | re.ASCII
)
_BRACKETED = re.compile(r"\[(\d{1,4})\]", re.ASCII)
_NAMED = re.compile(rf"\b{_PIECE}\W{{0,5}}(\d{{1,9}})(?!\d)", re.IGNORECASE | re.ASCII)
_POSITIONS = (
    re.compile(
        r"^[^\w\n]{0,8}(?:(?:position|place|step|slot|rank|order)\s{0,2}#?)?(\d{1,4})(?:st|nd|rd|th)?[*_]{0,2}[ \t]{0,2}"
        r"(?:(?:part|place|position)\s?)?[.):=|→–—-]>?[*_ \t]{0,3}(?=[^\d\n]{0,40}\d)",
        re.IGNORECASE | re.MULTILINE | re.ASCII,
    ),
    re.compile(
        r"(?:^|(?<=[,;]\s)|(?<=[,;]))\[?(\d{1,4})\]?\s?(?:[-=]>|[=:→–—-])\s?(?=\[?\d{1,4}\]?\s?(?:[,;]|$))",
        re.MULTILINE | re.ASCII,
    ),
    re.compile(
        rf"(?<![\d.])(\d{{1,4}})\s?[.):]\s{{0,3}}(?=[*_\[(]{{0,3}}(?:{_PIECE}\s?)?\[?\d)",
        re.IGNORECASE | re.ASCII,
    ),
)
"""Numbers that count list items, at line starts and inside a line."""
_SUBJECT = re.compile(r"\W{0,4}\s(?:were|are|have|do|can|form|all|seem|must|need|should|in order|into)\b")
"""Follows "Parts 1, 2, 3 and 4" if it is the subject of a sentence."""
_EITHER = re.compile(r"\d\W{1,3}(?:or|oder|ou)\W{1,3}\d", re.IGNORECASE)
_ORDINALS = re.findall(
    r"\w+", "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
)
_SPELLED = {
    word: str(number)
    for words in ("one two three four five six seven eight nine", "I II III IV V VI VII VIII IX")
    for number, word in enumerate(words.split(), 1)
}
_PLACED = re.compile(
    r"(?<!\d)(\d{1,4})[\])>]?(?:\s(?:is|comes|goes|stands)\s(?:(?:the|in|at)\s)?(?:(number|position|place)\s)?|\s?[:=→–-]\s?)"
    rf"({'|'.join(_ORDINALS)}|last|\d{{1,2}}(?=st|nd|rd|th|(?(2)\b|st)))(?:st|nd|rd|th)?\b",
    re.I,
)
_MOVED = re.compile(
    r"\bswap\s\W?(\d{1,4})\]?\sand\s\W?(\d{1,4})|"
    r"\[?(\d{1,4})\]?\s(?:should|must|needs\sto|has\sto)\s(?:\w+\s){0,2}(?:(before)|after)\s\W?(\d{1,4})(?!\d)",
    re.I,
)
"""A correction after an order: "swap [2] and [3]", "[5] should stand after [1]"."""


def without_positions(text: str) -> str:
    """Remove the numbers 1, 2, 3, ... that count list items, if each is followed by another number.

    >>> without_positions("1. Segment 2\\n2. Segment 1"), without_positions("1. 2, 2. 1"), without_positions("2. Segment 1")
    ('Segment 2\\nSegment 1', '2, 1', '2. Segment 1')
    """
    # Only if the counts are exactly 1, 2, 3, ...: a single "2. Segment 1" may be the answer.
    for pattern in _POSITIONS:
        counts = [int(count) for count in pattern.findall(text)]
        if len(counts) > 1 and counts == list(range(1, len(counts) + 1)):
            return pattern.sub("", text)
    return text


def runs(text: str) -> list[Run]:
    """Return the runs of numbers with nothing but punctuation and words such as "Segment" in between.

    A colon, an opening bracket, the end of a sentence and an empty line end a run; a line break does so if
    the line has several numbers.

    >>> runs("In 1815: Part 2 -> Part 1, then [3].")
    [(3, 7, [1815]), (14, 34, [2, 1, 3])]
    """
    numbered: list[Run] = []
    # One pass over the tokens, because repetitive replies contain a million of them.
    goes_on, in_line, depth = False, 0, 0
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word.isdecimal() and len(word) < 10:
            if not goes_on:
                numbered.append((token.start(), token.end(), []))
                in_line = 0
            start, _, numbers = numbered[-1]
            numbers.append(int(word))
            numbered[-1] = (start, token.end(), numbers)
            goes_on, in_line, depth = True, in_line + 1, 0
        # Lines with one number each form one list; a line with several is a separate list.
        elif word == "\n":
            goes_on = goes_on and in_line < 2 and text[token.end() :][:1] != "\n"
            in_line = 0
        elif word in "()":
            depth += 1 if word == "(" else -1
            goes_on = goes_on and depth <= 0
        elif word == ".":
            goes_on = goes_on and text[token.end() : token.end() + 1].strip() != ""
        elif word.isalpha():
            goes_on = goes_on and (word.lower() in _BETWEEN or _PIECE_WORD.fullmatch(word) is not None)
        else:
            goes_on = goes_on and (word in _MARKS or word == "=>")
    return numbered


def orders(text: str, n: int) -> list[Run]:
    """Return the permutations of 1..n that a text lists, with their positions, in the strongest form used.

    The forms, strongest first: "2 is first, 1 is second"; runs of numbers; a single n-digit
    number; every piece number ("Part 2"), every bracketed number, the number that begins each line, or every number in
    the text. The last four do not accept 1..n itself, because texts describe pieces in that order, nor alternatives ("[1] or [3]").
    """
    whole = list(range(1, n + 1))
    for form in _forms(text, n):
        if fitting := [run for run in form if sorted(run[2]) == whole]:
            return fitting
    return []


def _forms(text: str, n: int) -> Iterator[list[Run]]:
    whole = list(range(1, n + 1))
    # A complete statement of positions outranks every list, which may be the wrong one that it corrects.
    places = {**{word: place for place, word in enumerate(_ORDINALS)}, "last": n - 1}
    placed = {
        places.get(word.lower(), int(word) - 1 if word.isdecimal() else n): int(number)
        for number, _, word in _PLACED.findall(text)
    }
    if sorted(placed) == list(range(n)):
        yield [(0, len(text), [placed[place] for place in range(n)])]
    yield [
        (start, end, _once(numbers, n))
        for start, end, numbers in runs(text)
        if numbers != whole or not _SUBJECT.match(text, end)
    ]
    digits = re.finditer(r"(?<![\w.,])[1-9]{2,9}(?![\w.,]?\d)", text, re.ASCII)
    yield [(match.start(), match.end(), [int(digit) for digit in match[0]]) for match in digits]
    if _EITHER.search(text):
        return
    for numbers in (*(form.findall(text) for form in (_NAMED, _BRACKETED, _LEADING)), _numbers(text)):
        order = [int(number) for number in numbers]
        yield [(0, len(text), order)] if order != whole else []


def _once(numbers: list[int], n: int) -> list[int]:
    """Return the first n numbers of a run that repeats them, even if truncated; keep other runs.

    A truncated run that counts from 1 to n again and again is no order.
    """
    loops = len(numbers) >= 2 * n and all(a == b for a, b in zip(numbers, numbers[n:], strict=False))
    counts = len(numbers) % n and numbers[:n] == sorted(numbers[:n])
    return numbers[:n] if loops and not counts else numbers


def committed_order(text: str, n: int) -> tuple[list[int] | None, bool]:
    """Return the permutation of 1..n to which a text commits, and whether it is ambiguous.

    >>> committed_order("Answer: 2 > 1", 2), committed_order("[1, 2] or [2, 1]", 2), committed_order("Neither.", 2)
    (([2, 1], False), (None, True), (None, False))
    """
    if not re.search(r"\d", text):  # "three, one, two", "Part II → Part I"
        text = re.sub(r"[A-Za-z]+", lambda word: _SPELLED.get(word[0], word[0]), text)
    text = without_positions(text)
    candidates = weigh(text, [Found(start, end, tuple(numbers)) for start, end, numbers in orders(text, n)])
    chosen = choose(text, candidates)
    given = any(candidate.standing > Standing.DENIED for candidate in candidates)
    return (_moved(list(chosen.answer), text[chosen.end :]), False) if chosen else (None, given)


def _moved(order: list[int], after: str) -> list[int]:
    """Apply the corrections of single places that follow an order.

    >>> _moved([1, 2, 3], "Wait, [3] should come before [2]."), _moved([1, 2, 3], "Swap 1 and 3."), _moved([1, 2], "Could swap 1 and 2?")
    ([1, 3, 2], [3, 2, 1], [1, 2])
    """
    for sentence in SENTENCE_END.split(after):
        for first, second, moved, before, other in _MOVED.findall("" if hedged(sentence) else sentence):
            one, two = int(first or moved), int(second or other)
            if one not in order or two not in order:
                continue
            at, to = order.index(one), order.index(two)
            if first:
                order[at], order[to] = two, one
            elif (at < to) != bool(before):
                order.insert(to, order.pop(at))
    return order


def _numbers(text: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(text)]
