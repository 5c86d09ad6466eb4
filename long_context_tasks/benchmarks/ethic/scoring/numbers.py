"""The numbers that a response lists: among drafts, lists for each study, exclusions and explanations, those that it settles on."""

import re
from collections.abc import Iterator, Sequence

from long_context_tasks.schema.candidates import (
    SENTENCE_END,
    Candidate,
    Found,
    Standing,
    choose,
    has_words,
    settles,
    weigh,
)

LEADING_NONE = re.compile(
    r"[\W_]*(?:none\b(?!-|;\s?\d)|无|n/a\b|there (?:are|is|were) none\b|(?:there (?:are|is|were) )?no "
    r"(?:(?:such|real|character|person|legal|specific|explicit) )*"
    r"(?:characters?|names?|people|persons?|speakers?|numbers?|integers?|citations?|counts?)\b|"
    r"the (?:context|text|passage|document) (?:does not|doesn't|contains no|mentions no)\b)",
    re.IGNORECASE,
)
"""For ``match``: an answer that begins with "None" or the like, whatever it explains after it."""
_NONE = re.compile(r"[\W_]*(?:none|无)[\W_]*", re.IGNORECASE)

_ASIDE = re.compile(
    r"\s?\((?=[^()]*[^\W\d_])[^()]*\)|\[(?:note|not|exclu)[^\[\]]*\]|(?<=\d)\s?\[[^\[\]]*[^\W\d_]{2}[^\[\]]*\]",
    re.IGNORECASE,
)
"""Brackets with words in them; "(12)" is an item."""
_UNCLOSED = re.compile(r"\s?\((?=[^();\n]*[^\W\d_])[^();\n]*(?=;)")
_TAGS = (
    (re.compile(r"</[a-z]\w{0,20}>\s*<[a-z]\w{0,20}>", re.IGNORECASE), "; "),
    (re.compile(r"</?[a-z][^<>\n]{0,40}>", re.IGNORECASE), ""),
    # "Study 1: 12, 45; Study 2: 7"
    (re.compile(r";\s*(?=(?:(?:study|abstract|id|pmid)\s?)?\d{1,9}:\s)", re.IGNORECASE), "\n"),
)
"""What separates items or lists and what replaces it."""
_PLACE = re.compile(r"(?:(?<=[;,]\s)|^)\(?(\d{1,3})\)\s?(?=\d)", re.ASCII)
"""In "1) 34; 2) 35", what counts the items."""
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: number for number, word in enumerate(re.findall(r"\w+", _UNITS))}
_WORDS |= {word: 10 * number for number, word in enumerate(re.findall(r"\w+", _TENS), start=2)}
_IN_WORDS = re.compile(
    r"(?:(?<=[;,:\n])|(?<=[;,:]\s)|(?<=\n[-*]\s)|\A)([a-z]+(?:[ -][a-z]+){0,8})(?=[;,\n]|\.?\s*\Z)",
    re.IGNORECASE,
)
"""A whole item in words, which may be a number: "forty-seven", "one hundred and twenty"."""
_LIST_MARK = re.compile(r"\s*(?:[-*•–—+>]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
_STUDY = re.compile(
    r"\W*(?:study|abstract|passage|text|paper|article|section|trial|id|pmid)\s\W{0,2}\d+(?:\W{0,3}:|\*\*|\s[-–—](?=\s))",
    re.I,
)
_LABEL = re.compile(r"[^;:]{1,200}(?:(?<!\d):|:(?!\d))[*_\s]*(?=\W{0,4}(?:\d|none\b))", re.IGNORECASE)
_BOLD = re.compile(r"\W*\*\*(?=[^*\n]*[^\W\d_])[^*\n]+\*\*(?!\s*[;,])")
_LEAD = re.compile(r"[^\w;]*(?!n\s?=)[^\W\d_][^;:\d]*(?<=[\s*_`\"'\[])(?=\d)")
_GOES_ON = re.compile(r"\W*(?:then|next|also|and|finally|plus)\W*", re.IGNORECASE)
"""Before the next of several lists, which does not make it a sentence."""
_SEPARATOR = re.compile(
    r"(?<=[a-z]):\s(?=\d+[;,])|[;,|\t•·/]|(?:^|(?<=\s))(?:and|&|plus|y|et|und)\s", re.IGNORECASE
)
_THOUSANDS = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d{3}(?!\d))")
_BEFORE = r"[\W_]*(?:n\s?=\s?|(?:also|then|finally|about|approximately|around|nearly|over|another)\s){0,2}"
_BARE = re.compile(rf"{_BEFORE}(\d\w*)[\W_]*", re.ASCII | re.IGNORECASE)
_LEADING = re.compile(rf"{_BEFORE}(\d\w*)\b(?![.,]?\d)", re.ASCII | re.IGNORECASE)
_SPELT = re.compile(r"[\W_]*[^\W\d_][^\d()]{0,40}\((\d+)\)[\W_]*")
"""An item such as "thirty-five (35)"."""
_SPACED = re.compile(r"[\W_]*\d+(?:\s+\d+){2,}[\W_]*", re.ASCII)
_COUNT = re.compile(
    r"\W*(?:total|count)\W*\Z|.{0,40}\b(?:number|count|total)(?: of)? (?:items|integers|numbers)",
    re.IGNORECASE,
)
"""Labels the number of items."""
_EXPLAINED = re.compile(r"\W*\d[\d,.]*[*_]{0,2}(?:\s[-–—]\s|:\s)[^\n]*[^\W\d_]{2}")
"""A line about one number: "12 - patients, of whom 3 left"."""
_COUNTED = re.compile(r"\W{0,4}(\d+)\s(?!items|integers|numbers)[^\W\d_]{3}[^\d:]{0,80}:")
"""A label that is an item itself: "448 people in all:"."""
_NUMBERS = r"(?:the\s)?(?:numbers?\s|integers?\s)?(\d+(?:(?:\s?[,;&]\s?|\s?,?\sand\s)\d+)*)"
_ADDED = re.compile(rf"\b(?:add|also include)\s{_NUMBERS}", re.IGNORECASE)
_WITHDRAWN = re.compile(
    rf"\b(?:disregard|ignore|remove|delete|drop|omit|exclude|strike|leave out)\s{_NUMBERS}|"
    r"\b(\d+)\s(?:should|must|is to)\s(?:not|be\s(?:removed|excluded|dropped|disregarded|ignored))\b",
    re.IGNORECASE,
)
_SAME = 0.6
"""Share of common items from which a list repeats another and does not continue it."""


def settled_numbers(text: str) -> list[str] | None:
    """Return the numbers of the list that a response settles on, each once, or ["none"].

    Lists that follow one another, such as one for each study, are one candidate unless they repeat items; see
    :mod:`long_context_tasks.schema.candidates` for the choice. An item may begin with its number and explain it ("12 patients",
    "n = 12", "12 (the drug group)"). Numbers in sentences do not count if there is a list.

    >>> settled_numbers("Draft: 3; 4\\n\\nFinal: 3; 5"), settled_numbers("Study 1: 12; 45\\nStudy 2: 1,200; 7"), settled_numbers("In May.")
    (['3', '5'], ['12', '45', '1200', '7'], None)

    Returns:
        None without a list; an empty list if there are several between which nothing chooses.
    """
    text = _prepared(text)
    candidates = _merged(text, weigh(text, list(_lists(text))))
    chosen = choose(text, candidates)
    if LEADING_NONE.match(text) and (chosen is None or chosen.standing is Standing.MENTIONED):
        return ["none"]
    if chosen is None:
        return [] if candidates else None
    withdrawn = {
        number
        for one in _WITHDRAWN.finditer(text, chosen.end)
        for number in re.findall(r"\d+", one[1] or one[2])
    }
    added = [number for one in _ADDED.finditer(text, chosen.end) for number in re.findall(r"\d+", one[1])]
    return [item for item in dict.fromkeys([*chosen.answer, *added]) if item not in withdrawn]


def _prepared(text: str) -> str:
    """Return a text with digits for numbers in words, and without tags, explanations in brackets and numbers of items."""
    text = text.strip()
    for pattern, instead in _TAGS:
        text = pattern.sub(instead, text)
    places = [int(place) for place in _PLACE.findall(text)]
    if places == list(range(1, len(places) + 1)):
        text = _PLACE.sub("", text)
    text = _IN_WORDS.sub(lambda match: _value(match[1]), text)
    while (shorter := _ASIDE.sub("", text)) != text:
        text = shorter
    return _UNCLOSED.sub("", text)


def _value(words: str) -> str:
    """Return the number that English words name, up to thousands, in digits; the words if they name none."""
    total = part = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word == "thousand":
            total, part = total + 1000 * (part or 1), 0
        elif word == "hundred":
            part = 100 * (part or 1)
        elif word in _WORDS:
            part += _WORDS[word]
        elif word != "and":
            return words
    return str(total + part)


def _lists(text: str) -> Iterator[Found]:
    """Return the lists in the sentences of a text."""
    in_lines = "\n" in text.strip()
    start = 0
    for stop in [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]:
        mark = _LIST_MARK.match(text, start, stop)
        begin = mark.end() if mark else start
        sentence, start = text[begin:stop], stop
        if counted := _COUNTED.match(sentence):
            yield Found(begin, begin + counted.end(), (counted[1],))
        offset, prose = _items_begin(sentence)
        body = sentence[offset:].rstrip()
        items, rest = _items(body, in_lines=in_lines)
        end = begin + offset + len(body) - len(rest)
        if LEADING_NONE.match(sentence) and not _NONE.fullmatch(body):
            continue
        if prose and not settles(sentence[:offset]):
            # "These are 3 integers."
            if len(items) > 1 or re.match(r"\W*\d", sentence):
                yield Found(
                    begin + offset,
                    end,
                    tuple(re.findall(r"\d+", _THOUSANDS.sub("", sentence))),
                    Standing.MENTIONED,
                )
        elif items and not _COUNT.match(sentence[:offset]):
            explained = mark and _EXPLAINED.match(body)
            yield Found(begin + offset, end, tuple(items[:1] if explained else items))


def _items_begin(sentence: str) -> tuple[int, bool]:
    """Return where the items of a sentence begin, and whether words that are not a label precede them: "I see 3; 4"."""
    start = 0
    for label in (_STUDY, _LABEL, _LABEL, _BOLD):
        if match := label.match(sentence, start):
            start = match.end()
    lead = _LEAD.match(sentence, start)
    return (lead.end(), _GOES_ON.fullmatch(lead[0]) is None) if lead else (start, False)


def _merged(text: str, lists: Sequence[Candidate]) -> list[Candidate]:
    """Return lists that continue one another as one candidate: lists of the same standing, or lines without words between them."""
    merged: list[Candidate] = []
    stated = (Standing.GIVEN, Standing.FIRST, Standing.ALONE)
    for one in lists:
        last = merged[-1] if merged else None
        if last is not None:
            common = len({*last.answer} & {*one.answer})
            repeats = len(one.answer) > 1 and common > _SAME * min(len({*last.answer}), len({*one.answer}))
            gap = text[last.end : one.start]
            alike = last.standing == one.standing != Standing.FINAL or (
                last.standing in stated and one.standing in stated
            )
            lines = (
                last.standing is Standing.FINAL
                and one.standing in stated
                and not has_words(gap)
                and gap.count("\n") < 2
            )
            if not repeats and (alike or lines):
                level = last.standing if lines or last.standing == one.standing else Standing.GIVEN
                merged[-1] = Candidate(
                    last.answer + one.answer, last.start, one.end, level, last.introduction
                )
                continue
        merged.append(one)
    return merged


def _items(body: str, *, in_lines: bool) -> tuple[list[str], str]:
    """Return the items of a list and the words after it."""
    if _NONE.fullmatch(body):
        return ["none"], ""
    if _SPACED.fullmatch(body) and not re.fullmatch(r"\W*\d{1,3}(?:\s\d{3})+\W*", body):
        body = ";".join(body.split())
    # "123,456" on its own is two numbers; nothing else separates them.
    if ";" in body or re.search(r"\d,\s", body) or (in_lines and body.count(",") == 1) or "," not in body:
        body = _THOUSANDS.sub("", body)
    items: list[str] = []
    for piece in _SEPARATOR.split(body):
        if match := _BARE.fullmatch(piece) or _LEADING.match(piece) or _SPELT.fullmatch(piece):
            items.append(match[1])
            rest = piece[match.end() :]
        elif re.search(r"[^\W\d_]", piece) and not _NONE.fullmatch(piece):
            return items, body[body.rfind(piece) :]
    return items, rest if items else ""
