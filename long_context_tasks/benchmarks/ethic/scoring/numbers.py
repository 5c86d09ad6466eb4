"""Extract the numbers on which a response settles, despite drafts, exclusions and explanations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain

from long_context_tasks.schema.candidates import (
    SENTENCE_END,
    Candidate,
    Found,
    Standing,
    alternatives,
    choose,
    settles,
    weigh,
)
from long_context_tasks.synthetic.numbers import in_words

WORDS = alternatives("long_context_tasks.benchmarks.ethic.scoring", "words.yaml")
# For match: an answer that begins with "None" or similar, whatever explanation follows.
LEADING_NONE = re.compile(rf"[\W_]*{WORDS['nothing']}", re.IGNORECASE)
BARE_NONE = re.compile(r"[\W_]*(?:none|n/a|无)[\W_]*", re.IGNORECASE)

# Parentheses or brackets that contain words; "(12)" is an item, and "Numbers (not people):" a label.
_ASIDE = re.compile(
    r"\s?\((?=[^()\n]*[^\W\d_])[^()\n]*\)(?!\s?:)|(?<=\d)\s?\[[^\[\]]*[^\W\d_]{2}[^\[\]]*\]",
    re.IGNORECASE,
)
# The explanation of an item before another item with one; a truncated quotation may leave brackets open.
_EXPLANATION = re.compile(r"\s?\((?=[^;\n]{0,300}[^\W\d_])[^;\n]{0,300}(?=;\s?[\d,]{1,9}\s?\()")
# Between two lists in a line: "Study 1: 12, 45; Study 2: 7"
_NEXT_LIST = re.compile(rf";\s*(?=(?:{WORDS['parts']}\s?)?\d{{1,9}}:\s)", re.IGNORECASE)
# The number of an item in "1) 34; 2) 35".
_PLACE = re.compile(r"(?:(?<=[;,*-]\s)|^)\(?(\d{1,3})\)\s?(?=\d)", re.ASCII | re.MULTILINE)
# A whole item in words that may be a spelled-out number: "forty-seven", "one hundred and twenty".
_IN_WORDS = re.compile(
    r"(?:(?<=[;,:\n])|(?<=[;,:]\s)|(?<=\n[-*]\s)|\A)([a-z]+(?:[ -][a-z]+){0,8})(?=\s?[;,\n(]|\.?\s*\Z)",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"[^\S\n]*(?:[-*•–—+>]\s+|\(?\d{1,3}[.)][^\S\n]+(?=\S))")
# Words before the items of a list: "Study 1 -", "Numbers:", "**Study A**".
_LABEL = re.compile(
    rf"\W*{WORDS['parts']}\s\W{{0,2}}\d+\s[-–—→](?=\s)|"
    r"(?:[^;:]{1,200}(?:(?<!\d):|:(?!\d))[*_\s]*(?=\W{0,4}(?:\d|none\b))){1,2}|"
    r"\W*\*\*(?=[^*\n]*[^\W\d_])[^*\n]+\*\*(?!\s*[;,])",
    re.IGNORECASE,
)
# The start of a sentence before its first number.
_LEAD = re.compile(
    r"[^\w;]*(?!n\s?=|(?:also|then|finally)\s\d)[^\W\d_][^;:\d]*(?<=[\s*_`\"'\[])(?=\d|none\W*\Z)",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[;,|\t•·/<>→+]|(?:^|(?<=\s))(?:and|&|y|et|und)\s", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d{3}(?!\d))")
_BEFORE = r"[\W_]*(?:n\s?=\s?|(?:also|then|finally|about|approximately|around|nearly|over|another)\s){0,2}"
_ITEM = re.compile(
    rf"{_BEFORE}(\d\w*)\b(?![.,]?\d|\s?%|\s(?:integers|numbers|items|entries)\b)", re.ASCII | re.IGNORECASE
)
_SPACED = re.compile(r"[\W_]*\d+(?:[\s\[\]_…–—-]{1,9}\d+){2,}[\W_]*", re.ASCII)
# The label of a count of items: "Total number of integers:".
_COUNT = re.compile(
    r"\W*(?:the )?(?:total|count|number)\b(?:\W+(?:count|number|of|integers|numbers|items|entries|found|listed)\b)*\W*\Z",
    re.IGNORECASE,
)
# A line that explains one number: "12 - patients, of whom 3 left".
_EXPLAINED = re.compile(r"\W*\d[\d,.]*[*_]{0,2}(?:\s[-–—]\s|:\s)[^\n]*[^\W\d_]{2}")
_QUOTED = re.compile(r"\W*\d[\d,.]*[*_]{0,2}:\s[\"“'«]")  # '12: "12 patients, of whom 3 left"'
# The id of a document whose list follows, or a column of ids: "ID 25797559: 104", "28637584:".
_DOCUMENT = re.compile(
    rf"(?:{WORDS['parts']}\W{{1,5}}){{1,3}}\d{{6,9}}(?:[\s,;]{{1,3}}\d{{6,9}})*|^\W{{0,4}}(?:\d{{1,3}}[.)]\W{{1,4}})?\d{{8}}(?=\W{{0,3}}$|\s?[:–—→-])|"
    r"^\W{0,4}\d{1,9}(?=\W{0,2}:\W{0,9}\n\W{0,9}\d)",
    re.IGNORECASE | re.MULTILINE,
)
_DECIMAL = re.compile(r"(?<=\d)\.0{1,2}(?!\d)")
_NUMBERS = (
    r"(?:the\s)?(?:numbers?\s|integers?\s)?(?<!\d)(\d{1,9}(?:(?:\s?[,;&]\s?|\s?,?\sand\s)\d{1,9}){0,20})"
)
_LATER = rf"{_NUMBERS}[^.\d\n]{{0,40}}\b(?:should|must|needs? to)\s(?:also\s)?"
_ADDED = re.compile(rf"\badd\s{_NUMBERS}|{_LATER}be\s(?:added|included)", re.IGNORECASE)
_WITHDRAWN = re.compile(
    rf"\b(?:disregard|ignore|remove|exclude|drop)\s{_NUMBERS}|{_LATER}(?:be\s(?:removed|excluded|dropped)|not\sbe)\b",
    re.IGNORECASE,
)
_REPEATS = 0.6  # if two lists share more of their items, the second repeats the first
_STATED = {Standing.GIVEN, Standing.FIRST, Standing.ALONE}


def settled_numbers(text: str) -> list[str] | None:
    """Return the distinct numbers in the list on which a response settles, or ["none"].

    Consecutive lists, such as one per study, are one candidate unless they repeat items; see
    :mod:`long_context_tasks.schema.candidates` for the choice. An item may begin with its number and explain
    it ("12 patients", "n = 12", "12 (the drug group)"). If there is a list, numbers in sentences are ignored.

    >>> settled_numbers("Draft: 3; 4\\n\\nFinal: 3; 5"), settled_numbers("Study 1: 12; 45\\nStudy 2: 1,200; 7"), settled_numbers("In May.")
    (['3', '5'], ['12', '45', '1200', '7'], None)

    Returns:
        None without a list; an empty list if there are several and the response does not choose one.
    """
    text = _prepared(text)
    lists = list(_lists(text))
    # "None" between lists is about one part of the passage.
    lists = [*lists[:1], *(found for found in lists[1:-1] if found.answer != ("none",)), *lists[1:][-1:]]
    candidates = _merged(text, weigh(text, lists))
    chosen = choose(text, candidates)
    if LEADING_NONE.match(text) and (chosen is None or chosen.standing <= Standing.MENTIONED):
        return ["none"]
    if chosen is None:
        return [] if candidates else None
    after = text[chosen.end :]
    # Corrections after the list change individual items.
    added, removed = (
        re.findall(r"\d+", " ".join(chain.from_iterable(pattern.findall(after))))
        for pattern in (_ADDED, _WITHDRAWN)
    )
    return [item for item in dict.fromkeys([*chosen.answer, *added]) if item not in removed]


def _prepared(text: str) -> str:
    """Return a text with spelled-out numbers in digits, without bracketed explanations and item numbers."""
    text = _NEXT_LIST.sub("\n", text.strip())
    places = [int(place) for place in _PLACE.findall(text)]
    if places == list(range(1, len(places) + 1)):
        text = _PLACE.sub("", text)
    text = _DECIMAL.sub("", _DOCUMENT.sub("", text))
    text = _IN_WORDS.sub(lambda match: _in_digits(match[1]), text)
    text = _EXPLANATION.sub("", text)
    # Brackets may be nested; each pass removes the innermost ones.
    while (shorter := _ASIDE.sub("", text)) != text:
        text = shorter
    return text


def _in_digits(words: str) -> str:
    """Return an English number below ten thousand in digits, or other words unchanged."""
    plain = " ".join(word for word in re.findall(r"[a-z]+", words.lower()) if word != "and")
    return _numbers_in_words().get(plain, words)


@cache
def _numbers_in_words() -> dict[str, str]:
    return {in_words(number, link=" ", dash=" "): str(number) for number in range(10_000)}


def _lists(text: str) -> Iterator[Found]:
    """Yield the lists in a text's sentences."""
    # In a multi-line list, "1,234" is one number.
    in_lines = "\n" in text.strip()
    start = 0
    for stop in [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]:
        mark = _LIST_MARK.match(text, start)
        if mark and mark.end() > stop:
            continue  # "1. ID" is no end of a sentence
        begin = mark.end() if mark else start
        sentence, start = text[begin:stop], stop
        label = None if mark and _QUOTED.match(sentence) else _LABEL.match(sentence)
        offset = label.end() if label else 0
        # Words that are not a label: "I see 3; 4"
        if prose := _LEAD.match(sentence, offset):
            offset = prose.end()
        body = sentence[offset:].rstrip()
        items, rest = _items(body, in_lines=in_lines)
        place = (begin + offset, begin + offset + len(body) - len(rest))
        if LEADING_NONE.match(sentence) and not BARE_NONE.fullmatch(body):
            continue
        if prose and not settles(sentence[:offset]):
            # A single number after words counts something else: "These are 3 integers."
            if len(items) > 1 or re.match(r"\W*\d", sentence):
                numbers = re.findall(r"\d+", _THOUSANDS.sub("", sentence))
                yield Found(*place, tuple(numbers), Standing.MENTIONED)
        elif items and not (len(items) == 1 and _COUNT.match(sentence[:offset])):
            yield Found(*place, tuple(items[:1] if mark and _EXPLAINED.match(body) else items))


def _items(body: str, *, in_lines: bool) -> tuple[list[str], str]:
    """Return a list's items and the words after it."""
    if BARE_NONE.fullmatch(body):
        return ["none"], ""
    if _SPACED.fullmatch(body):
        body = ";".join(re.findall(r"\d+", body))
    # "123,456" without other separators is two numbers.
    if ";" in body or re.search(r"\d,\s", body) or (in_lines and body.count(",") == 1) or "," not in body:
        body = _THOUSANDS.sub("", body)
    items: list[str] = []
    rest = ""
    for piece in _SEPARATOR.split(body):
        if match := _ITEM.match(piece):
            items.append(match[1])
            rest = piece[match.end() :]
        elif re.search(r"[^\W\d_]", piece) and not BARE_NONE.fullmatch(piece):
            return items, body[body.rfind(piece) :]
    return items, rest


def _merged(text: str, lists: Sequence[Candidate]) -> list[Candidate]:
    """Join lists that continue one another into one candidate."""
    merged: list[Candidate] = []
    for candidate in lists:
        if merged and _continues(text, last := merged[-1], candidate):
            same = last.standing in (Standing.FINAL, candidate.standing)
            merged[-1] = replace(
                last,
                answer=last.answer + candidate.answer,
                end=candidate.end,
                standing=last.standing if same else Standing.GIVEN,
            )
            continue
        # A list after several that repeats them is the answer: "Study 1: 12; 45", "Study 2: 7", "12; 45; 7".
        if merged and "\n" in text[last.start : last.end] and candidate.standing in _STATED:
            before = set(last.answer)
            if len(before & set(candidate.answer)) > _REPEATS * len(before):
                merged[-1] = replace(last, standing=min(last.standing, Standing.ASIDE))
        merged.append(candidate)
    return merged


def _continues(text: str, last: Candidate, candidate: Candidate) -> bool:
    """Return whether a list continues the previous one: compatible standing and new items."""
    before, items = set(last.answer), set(candidate.answer)
    if len(candidate.answer) > 1 and len(before & items) > _REPEATS * min(len(before), len(items)):
        return False
    if last.standing is Standing.FINAL:
        return candidate.standing in _STATED and text.count("\n", last.end, candidate.start) < 2
    return last.standing is candidate.standing or {last.standing, candidate.standing} <= _STATED
