"""Extract the numbers on which a response settles, despite drafts, exclusions and explanations.

A line or sentence is a list if it begins with a number, or with a label that a number follows. A label names a
study, a passage, a kind of people or the answer; numbers of studies and passages are never items. Lists are
united, but the last replaces those before it if its label settles ("Final list:"), if the words before it
retract ("wait"), or if it repeats most items outside lists per study. Later sentences may add, remove or
replace single items. A response has no answer if it offers alternatives or has no list.
"""

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
    has,
    has_words,
    hedged,
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
    r"(?<=\S)[ \t]?\((?=[^()\n]*[^\W\d_])[^()\n]*\)(?!\s?:)|(?<=\d)\s?\[[^\[\]]*[^\W\d_]{2}[^\[\]]*\]",
    re.IGNORECASE,
)
# The explanation of an item before another item with one; a truncated quotation may leave brackets open.
_EXPLANATION = re.compile(r"\s?\((?=[^;\n]{0,300}[^\W\d_])[^;\n]{0,300}(?=;\s?[\d,]{1,9}\s?\()")
# Between two lists in a line: "Study 1: 12, 45; Study 2: 7", "12 was my first thought, but the list is 7; 45"
_NEXT_LIST = re.compile(
    r";\s*(?=(?:[^\W\d_][^;\n]{0,60}?|\d{6,9})(?::|\s=|\bis\b|\bare\b)\s)|"
    r",\s(?=(?:\w+ )?(?:the|my) (?:\w+ )?(?:list|answer|result)\b[^;,\d\n]{0,40}\bis\b)",
    re.IGNORECASE,
)
# The number of a study: "in study 2", "Abstract 1:".
_PART = re.compile(
    r"\b(stud(?:y|ies)|abstracts?|trials?|papers?|documents?|passages?|records?|sources?|steps?)[ \t#*_]{1,4}\d{1,2}\b(?!\s?[;,]\s?\d|\d)",
    re.IGNORECASE,
)
# A title above a list: "**Aspirin**", "1. Aspirin".
_TITLE = re.compile(
    r"^[ \t]{0,4}(?:#|\*\*|\d{1,2}[.)]\s)[^\n\d]{0,20}[^\W\d_][^\n\d]{0,200}\n\W{0,9}\d", re.MULTILINE
)
# The words of a line whose last number is the item: '"52 received it" -> 52', "Forty volunteers (40)".
_TO_ARROW = (
    r"^(?=[^\n→⇒>]{0,200}?[^\W\d_])[^\n→⇒>]{1,200}(?:[-=]>|[→⇒])[*_ ]{0,4}(?=\d[\d,.]{0,12}[^\w\n)]{0,4}$)"
)
_WORDS_OF_ITEM = re.compile(
    rf"{_TO_ARROW}|^(?:[^\w\n]{{0,9}}\d{{1,3}}[.)]\s)?[^\n\d()]{{2,200}}(?=\(\d{{1,9}}\)[^\w\n]{{0,4}}$)|[①-⑳]",
    re.MULTILINE,
)
# An item that is marked as none: "315 (not people)", "315 - no", "✗ 315", "315 -> excluded".
_NO = r"[,:(→–—-]\s?(?:no(?=[^\w\n]*$|\s\()|not (?:people|persons?|count|includ|human))"
_CROSSED = re.compile(
    r"(?:[✗❌✘]|\[ \])[^\w\n]{0,4}\d[\d,]{0,12}|(?<![\d,])\d[\d,]{0,12}(?!\d)"
    rf"(?:[^\w\n]{{0,4}}[✗❌✘]|[^;\d\n]{{0,80}}?(?:(?:->|→)\s?(?:exclude|skip|ignore)|{_NO})[^;.\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
# "18 of 104": both are items.
_OF = re.compile(r"(?:^|(?<=[;,]\s))(\d{1,6})\s(?:out\s)?of\s(\d{1,6})(?=\s?(?:[;,.]|$|[a-z]))", re.MULTILINE)
# "None of the passages mentions people, apart from 12; 45."
_NONE_BUT = re.compile(
    rf"^[^\w\n]{{0,9}}{WORDS['nothing']}[^.;\d\n]{{0,200}}\b(?:except|other than|apart from|besides)\b[^.;\d\n]{{0,40}}"
    r"(?=\d(?:[\d;, ]|and ){0,300}\.?$)",
    re.IGNORECASE | re.MULTILINE,
)
_FULL_STOPS = re.compile(r"^\d{1,9}(?:\. \d{1,9}){2,}\.?$", re.MULTILINE)  # "12. 45. 60."
_SETTLED_NONE = re.compile(
    r"[^.;\d\n]{0,60}\b(?:answer|output|result|response)(?: is|:)\W{1,4}none\b(?!\sof)", re.IGNORECASE
)
# The last line of a reply that breaks off before its list: '- "Seventy-seven'.
_BROKEN_OFF = re.compile(
    r"\n\s{0,9}[-*•]\s(?![^\n]*\bno(?:ne)?\b)[^\d\n]{0,200}(?<![.!?)\]*_\s])\Z", re.IGNORECASE
)
_IN_PARENTHESES = re.compile(r"\((\d{1,9}(?:(?:[,;]|\sand)\s\d{1,9}){0,20})\)")
# The number of an item in "1) 34; 2) 35".
_PLACE = re.compile(r"(?:(?<=[;,*-]\s)|^)[(\[]?(\d{1,3})[)\]]\s?(?=\d)", re.ASCII | re.MULTILINE)
# A whole item in words that may be a spelled-out number: "forty-seven", "one hundred and twenty".
_IN_WORDS = re.compile(
    r"(?:(?<=[;,:\n])|(?<=[;,:]\s)|(?<=\n[-*]\s)|\A)([a-z]+(?:[ -][a-z]+){0,8})(?=\s?[;,\n(]|\.?\s*\Z)",
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"[^\S\n]*(?:[-*•–—+>✓✅✔]\s+(?:\[x\]\s)?|\(?(?:\d{1,3}|[a-z])[.)][^\S\n]+(?=\S))")
_COLON = r"(?:(?<!\d):|:(?!\d)|(?<=[^\W\d_])(?<!\bn)\s=)"
# Words before the items of a list: "Numbers:", "counts = 12", "Judges - 12", "**Study A**".
_LABEL = re.compile(
    r"[^;:\d\n]{1,60}\s[-–—→](?=\s\d)|"
    rf"(?:[^;:\d\n]{{1,60}}:[*_]{{0,3}}\s)?(?:[^;:]{{1,200}}{_COLON}[*_\s]*(?=\W{{0,4}}(?:\d|none\b))){{1,2}}|"
    r"\W*\*\*(?=[^*\n]*[^\W\d_])[^*\n]+\*\*(?!\s*[;,])",
    re.IGNORECASE,
)
# The start of a sentence before its first number; a label may precede it: "Answer: The answer is 12".
_LEAD = re.compile(
    r"[^\w;]*(?:[^\W\d_][^;:\d\n]{0,40}:[*_]{0,3}\s)?(?!n\s?=|(?:and|also|then|finally)\s\d)[^\W\d_][^;:\d]*(?<=[\s*_`\"'\[\u2e80-\u9fff])(?=\d|none\W*\Z)",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[;,|\t•·/<>→+和及と]|(?:^|(?<=\s))(?:and|&|y|et|und)\s", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d{3}(?!\d))")
_BEFORE = (
    r"[\W_]*(?:n\s?=\s?|(?:and|also|then|finally|about|approximately|around|nearly|over|another)\s){0,2}"
)
_ITEM = re.compile(
    rf"{_BEFORE}(\d\w*)\b(?![.,]?\d|\s?%|\s(?:integers|numbers|items|entries)\b)", re.ASCII | re.IGNORECASE
)
_SPACED = re.compile(r"[\W_]*\d+(?:[\s\[\]#_…–—-]{1,9}\d+){2,}[\W_]*", re.ASCII)
# The label of a count of items: "Total number of integers:".
_COUNT = re.compile(
    r"\W*(?:the )?(?:total|count|number|found|integers found)\b(?:\W+(?:count|number|of|integers|numbers|items|entries|found|listed)\b)*\W*\Z",
    re.IGNORECASE,
)
# A line that explains one number: "12 - patients, of whom 3 left".
_EXPLAINED = re.compile(r"\W*\d[\d,.]*[*_]{0,2}(?:\s[-–—]\s|:\s)[^\n]*[^\W\d_]{2}")
_QUOTED = re.compile(r"\W*\d[\d,.]*[*_]{0,2}:\s[\"“'«]")  # '12: "12 patients, of whom 3 left"'
# The id of a document whose list follows, or a column of ids: "ID 25797559: 104", "28637584:".
_ID_ENDS = r"(?=\W{0,3}$|[*_: ]{0,4}[:–—→|-]|[)\]>]\s)"
_DOCUMENT = re.compile(
    rf"(?:{WORDS['parts']}[^\w\n]{{1,5}}){{1,3}}\d{{6,9}}(?:[\s,;]{{1,3}}\d{{6,9}})*|^\W{{0,4}}(?:\d{{1,3}}[.)]\W{{1,4}})?\d{{8}}{_ID_ENDS}|"
    r"^\W{0,4}\d{1,9}(?=\W{0,2}:\W{0,9}\n\W{0,9}\d)",
    re.IGNORECASE | re.MULTILINE,
)
_DECIMAL = re.compile(r"(?<=\d)\.0{1,2}(?!\d)")
_NUMBERS = (
    r"(?:the\s)?(?:numbers?\s|integers?\s)?(?<!\d)(\d{1,9}(?:(?:\s?[,;&]\s?|\s?,?\sand\s)\d{1,9}){0,20})"
)
_N = r"(?<!\d)(\d{1,9})(?!\d)"
_LATER = rf"{_NUMBERS}[^.\d\n]{{0,40}}\b(?:should|must|needs? to)\s(?:also\s)?"
_ADDS = r"\b(?:add|also(?:\sinclude)?|I\s(?:also\s)?(?:forgot|missed|overlooked)|should\s(?:also\s)?have\s(?:included|listed)|more:|one more)\s(?:to\s\w+\s)?"
_ADDED = re.compile(
    rf"{_ADDS}{_NUMBERS}|{_NUMBERS}\s(?:is|are)\smissing|{_LATER}(?:be|have\sbeen)\s(?:added|included|listed|counted)",
    re.IGNORECASE,
)
_DROPS = r"\b(?:disregard|ignore|remove|delete|exclude|drop)\s"
_WITHDRAWN = re.compile(
    rf"{_DROPS}{_NUMBERS}|{_LATER}(?:be\s(?:removed|excluded|dropped)|not\s(?:be|have))\b|"
    rf"{_NUMBERS}[^.\d\n]{{0,40}}{_DROPS}(?:it|that|this|them)\b",
    re.IGNORECASE,
)
_STEP = re.compile(r"^(\W{0,4}step\b[^\n]{0,200})\.(?=\W{0,4}\n\s{0,9}\d)", re.IGNORECASE | re.MULTILINE)
_QUOTATION = re.compile(r"[\"“][^\"“”\n]*[\"”]")
_REPLACED = re.compile(rf"{_N}\s(?:should|must)\sbe\s{_N}|\breplace\s{_N}\s(?:with|by)\s{_N}", re.IGNORECASE)
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
    studies = [part for part in _PART.findall(text) if not part.lower().startswith("step")]
    by_study = len(studies) + len(_DOCUMENT.findall(text)) + len(_TITLE.findall(text)) > 1
    text = _prepared(text)
    changed = text
    for amendment in (_REPLACED, _ADDED, _WITHDRAWN):
        changed = amendment.sub(lambda match: " " * len(match[0]), changed)
    lists = list(_lists(changed))
    # "None" between lists is about one part of the passage.
    lists = [*lists[:1], *(found for found in lists[1:-1] if found.answer != ("none",)), *lists[1:][-1:]]
    candidates = _merged(changed, weigh(changed, lists), by_study=by_study)
    chosen = choose(changed, candidates)
    if LEADING_NONE.match(text) and (chosen is None or chosen.standing <= Standing.MENTIONED):
        return ["none"]
    if chosen is None or (chosen.standing < Standing.FINAL and _BROKEN_OFF.search(text)):
        return [] if candidates else None
    return _amended(chosen.answer, text[chosen.end :])


def _amended(items: Sequence[str], after: str) -> list[str]:
    """Apply the corrections of individual items that follow a list."""
    sentences = SENTENCE_END.split(_QUOTATION.sub("", after))
    after = "\n".join(sentence for sentence in sentences if not hedged(sentence))
    added, removed = (
        re.findall(r"\d+", " ".join(chain.from_iterable(pattern.findall(after))))
        for pattern in (_ADDED, _WITHDRAWN)
    )
    replaced = dict(tuple(filter(None, pair)) for pair in _REPLACED.findall(after))
    items = [replaced.get(item, item) for item in dict.fromkeys([*items, *added]) if item not in removed]
    return [item for item in items if item != "none"] or items


def _prepared(text: str) -> str:
    """Return a text with spelled-out numbers in digits, without bracketed explanations and item numbers."""
    text = _FULL_STOPS.sub(lambda line: line[0].replace(".", ";"), _NONE_BUT.sub("", text.strip()))
    text = _NEXT_LIST.sub("\n", _WORDS_OF_ITEM.sub("\nitem: ", text))
    text = _CROSSED.sub(".", _OF.sub(r"\1; \2", _STEP.sub(r"\1:", _PART.sub(r"\1", text))))
    places = [int(place) for place in _PLACE.findall(text)]
    if places == list(range(1, len(places) + 1)):
        text = _PLACE.sub("", text)
    text = _DECIMAL.sub("", _DOCUMENT.sub("", text))
    # "Drug group (52), comparison group (53)"
    inside = _IN_PARENTHESES.findall(text)
    if (
        len(inside) > 1
        and not LEADING_NONE.match(text)
        and not re.search(r"\d", _IN_PARENTHESES.sub("", text))
    ):
        text = "; ".join(inside)
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
        settled = settles(sentence[:offset])
        if none := _SETTLED_NONE.match(sentence):
            yield Found(begin + none.end() - 4, begin + none.end(), ("none",))
            continue
        if LEADING_NONE.match(sentence) and not BARE_NONE.fullmatch(body) and not settled:
            continue
        if prose and not (settled and (len(items) > 1 or not has_words(rest))):
            # A single number after words counts something else: "These are 3 integers."
            numbers = re.findall(r"\d+", _THOUSANDS.sub("", sentence))
            if len(numbers) > 1 or re.match(r"\W*\d", sentence):
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


def _merged(text: str, lists: Sequence[Candidate], *, by_study: bool) -> list[Candidate]:
    """Join lists that continue one another into one candidate; those of studies may share items."""
    merged: list[Candidate] = []
    for candidate in lists:
        if merged and _continues(text, last := merged[-1], candidate, by_study=by_study):
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
    # The same numbers in another order are the same answer.
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    return [replace(each, answer=seen.setdefault(tuple(sorted(each.answer)), each.answer)) for each in merged]


def _continues(text: str, last: Candidate, candidate: Candidate, *, by_study: bool) -> bool:
    """Return whether a list continues the previous one: compatible standing, and it does not replace it."""
    before, items = set(last.answer), set(candidate.answer)
    apart = text.count("\n", last.end, candidate.start) > 1
    # Lists of studies may share items.
    listed = by_study and (last.standing is candidate.standing or not apart)
    least = (
        len(before) if candidate.standing is Standing.GIVEN and not apart else min(len(before), len(items))
    )
    if len(candidate.answer) > 1 and len(before & items) > _REPEATS * least and not listed:
        return False
    if has("retracts", text[last.end : candidate.start]):
        return False
    if last.standing is Standing.FINAL:
        return candidate.standing in _STATED and not apart
    # Words about one number, in a paragraph after one that only lists numbers, explain it.
    explains = candidate.standing is not Standing.ALONE and len(candidate.answer) == 1
    if apart and explains and last.standing is Standing.ALONE and len(last.answer) > 2:
        return False
    return last.standing is candidate.standing or {last.standing, candidate.standing} <= _STATED
