"""The numbers that a response lists: among drafts, lists for each study, exclusions and explanations, those that it settles on."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from long_context_tasks.schema.commitment import DISJOINED, SETS_ASIDE, SETTLES, takes_back

LEADING_NONE = re.compile(
    r"[\W_]*(?:none\b(?!-|;\s?\d)|n/a\b|there (?:are|is|were) none\b|(?:there (?:are|is|were) )?no (?:(?:such|real|character|person|legal|specific|explicit) )*"
    r"(?:characters?|names?|people|persons?|speakers?|numbers?|integers?|citations?|counts?)\b|"
    r"the (?:context|text|passage|document) (?:does not|doesn't|contains no|mentions no)\b)",
    re.IGNORECASE,
)
"""For ``match``: an answer that begins with "None" or the like, whatever it explains behind it."""

_ASIDE = re.compile(
    r"\s?\((?=[^()]*[^\W\d_])[^()]*\)|\[(?:note|not|exclu)[^\[\]]*\]|(?<=\d)\s?\[[^\[\]]*[^\W\d_]{2}[^\[\]]*\]",
    re.IGNORECASE,
)
"""Brackets with words in them; "(12)" is an item."""
_UNCLOSED = re.compile(r"\s?\((?=[^();\n]*[^\W\d_])[^();\n]*(?=;)")
_NEXT_ELEMENT = re.compile(r"</[a-z]\w{0,20}>\s*<[a-z]\w{0,20}>", re.IGNORECASE)
_NEXT_STUDY = re.compile(r";\s*(?=(?:(?:study|abstract|id|pmid)\s?)?\d{1,9}:\s)", re.IGNORECASE)
"""Between lists that stand on one line: "Study 1: 12, 45; Study 2: 7"."""
_PLACE = re.compile(r"(?:(?<=[;,]\s)|^)\(?(\d{1,3})\)\s?(?=\d)", re.ASCII)
"""In "1) 34; 2) 35", what counts the items."""
_UNITS = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
)
_TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
_WORDS = {word: number for number, word in enumerate(_UNITS)} | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}
_NUMBER_WORD = rf"(?:{'|'.join(sorted([*_WORDS, 'hundred', 'thousand'], key=len, reverse=True))})"
_IN_WORDS = re.compile(
    rf"(?:(?<=[;,:\n])|(?<=[;,:]\s)|(?<=\n[-*]\s)|\A)({_NUMBER_WORD}(?:(?:-|\s(?:and\s)?){_NUMBER_WORD}){{0,7}})(?=[;,\n]|\.?\s*\Z)",
    re.IGNORECASE,
)
"""A whole item in words: "forty-seven", "one hundred and twenty"."""
_TAG = re.compile(r"</?[a-z][^<>\n]{0,40}>", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[*_\"']{0,3}[A-Z])")
_LIST_MARK = re.compile(r"^\s*(?:[-*•–—+>]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
_LABEL = re.compile(
    r"[^\w\n]*(?:(?:study|abstract|passage|text|paper|article|section|trial|id|pmid)\s\W{0,2}\d+(?::|[^\w;]*?\s[-–—](?=\s))|"
    r"\*\*(?=[^*\n]*[^\W\d_])[^*\n]+\*\*(?!\s*[;,])|(?:[^\W\d_][^;:]*|\d+[*_]{0,2}(?=:\W*\d[^a-z\n]*\Z))(?:(?<!\d):|:(?!\d)))",
    re.IGNORECASE,
)
_LEAD = re.compile(r"[^\w;]*(?!n\s?=)[^\W\d_][^;:\d]*(?<=[\s*_`\"'\[])(?=\d)")
_SEPARATOR = re.compile(r"(?<=[a-z]):\s(?=\d+[;,])|[;,|\t•·/]|(?:^|(?<=\s))(?:and|&|plus)\s", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d{3}(?!\d))")
_BEFORE = r"[\W_]*(?:n\s?=\s?|(?:also|then|finally|about|approximately|around|nearly|over|another)\s){0,2}"
_BARE = re.compile(rf"{_BEFORE}(\d\w*)[\W_]*", re.ASCII | re.IGNORECASE)
_LEADING = re.compile(rf"{_BEFORE}(\d\w*)\b(?![.,]?\d)", re.ASCII | re.IGNORECASE)
_SPELT = re.compile(r"[\W_]*[^\W\d_][^\d()]{0,40}\((\d+)\)[\W_]*")
"""An item such as "thirty-five (35)"."""
_SPACED = re.compile(r"[\W_]*\d+(?:\s+\d+){2,}[\W_]*", re.ASCII)
_NONE = re.compile(r"[\W_]*none[\W_]*", re.IGNORECASE)
_SETTLES = re.compile(rf"\b(?:{SETTLES})\b", re.IGNORECASE)
_SETS_ASIDE = re.compile(rf"\b(?:{SETS_ASIDE})\b", re.IGNORECASE)
_COUNT = re.compile(
    r"\W*(?:(?:total|count|study|abstract|id|pmid|no)\W*\Z|(?:total |the )?(?:number|count) of (?:items|integers|numbers)|total (?:integers|numbers|items))",
    re.IGNORECASE,
)
_NUMBERS = r"(?:the\s)?(?:numbers?\s|integers?\s)?(\d+(?:(?:\s?[,;&]\s?|\s?,?\sand\s)\d+)*)"
_ADDED = re.compile(rf"\b(?:add|also include)\s{_NUMBERS}", re.IGNORECASE)
_GOES_ON = re.compile(r"\W*(?:then|next|also|and|finally|plus)\W*", re.IGNORECASE)
"""Before the next of several lists, which is no sentence."""
_WITHDRAWN = re.compile(
    rf"\b(?:disregard|ignore|remove|delete|drop|omit|exclude|strike|leave out)\s{_NUMBERS}|"
    r"\b(\d+)\s(?:should|must|is to)\s(?:not|be\s(?:removed|excluded|dropped|disregarded|ignored))\b",
    re.IGNORECASE,
)


@dataclass
class _List:
    """A list in a response.

    Attributes:
        label: the words before it: up to its colon, else the heading or sentence above it.
        start, end: its place in the text.
        items: its numbers, or "none".
        bare: the number of items without words.
        prose: whether it is inside a sentence ("I see 3; 4") and not after a colon or on its own.
    """

    label: str
    start: int
    end: int
    items: list[str]
    bare: int
    prose: bool

    @property
    def settles(self) -> bool:
        clauses = [clause for clause in re.split("[,.:;]", self.label) if re.search(r"\w", clause)]
        last = clauses[-1] if clauses else ""
        return bool(_SETTLES.search(last)) and ("after " in last or not _SETS_ASIDE.search(last))

    @property
    def is_set_aside(self) -> bool:
        return not self.settles and _SETS_ASIDE.search(self.label) is not None

    @property
    def is_bare(self) -> bool:
        return self.bare >= 0.8 * len(self.items)


def settled_numbers(text: str) -> list[str] | None:
    """Return the numbers of the list that a response settles on, each once, or ["none"].

    The last list counts whose label says that it is final ("Final:", "Corrected list"), or that ends the response and repeats most
    of what precedes it. Otherwise all lists count together, such as one for each study, except those set aside ("Excluded: 5; 9",
    "Draft: ..."). An item may begin with its number and explain it ("12 patients", "n = 12", "12 (the drug group)"). Numbers in
    sentences do not count if there is a list.

    >>> settled_numbers("Draft: 3; 4\\n\\nFinal: 3; 5"), settled_numbers("Study 1: 12; 45\\nStudy 2: 1,200; 7"), settled_numbers("In May.")
    (['3', '5'], ['12', '45', '1200', '7'], None)

    Returns:
        None without a list; an empty list if there are several between which nothing chooses.
    """
    text = _NEXT_STUDY.sub("\n", _TAG.sub("", _NEXT_ELEMENT.sub("; ", text.strip())))
    if [int(place) for place in _PLACE.findall(text)] == list(range(1, len(_PLACE.findall(text)) + 1)):
        text = _PLACE.sub("", text)
    text = _IN_WORDS.sub(lambda match: str(_value(match[1])), text)
    while (shorter := _ASIDE.sub("", text)) != text:
        text = shorter
    text = _UNCLOSED.sub("", text)
    found = list(_lists(text))
    kept = [one for one in found if not one.is_set_aside] or found
    kept = [one for one in kept if not one.prose or one.settles] or kept
    if not kept:
        return ["none"] if LEADING_NONE.match(text) else None
    chosen = _chosen(text, kept)
    if not chosen:
        return []
    withdrawn: set[str] = set()
    for match in _WITHDRAWN.finditer(text, chosen[-1].end):
        withdrawn.update(re.findall(r"\d+", match[1] or match[2]))
    added = [
        number for match in _ADDED.finditer(text, chosen[-1].end) for number in re.findall(r"\d+", match[1])
    ]
    return [item for item in dict.fromkeys([*_items_of(chosen), *added]) if item not in withdrawn]


def _value(words: str) -> int:
    """The number that English words name, up to thousands."""
    total = part = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word == "thousand":
            total, part = total + 1000 * (part or 1), 0
        elif word == "hundred":
            part = 100 * (part or 1)
        else:
            part += _WORDS.get(word, 0)  # "and"
    return total + part


def _items_of(lists: Iterable[_List]) -> list[str]:
    return list(dict.fromkeys(item for one in lists for item in one.items))


def _chosen(text: str, lists: Sequence[_List]) -> Sequence[_List]:
    """Return the lists that count together: the one that a text settles on, else all; none if it does not choose."""
    last, earlier = lists[-1], _items_of(lists[:-1])
    if len(lists) == 1:
        return lists
    settling = [one for one in lists if one.settles]
    common = {*earlier} & {*last.items}
    repeats = len(common) > 0.6 * min(len(earlier), len({*last.items}))
    if any(re.match(DISJOINED, one.label, re.IGNORECASE) for one in lists[:-1]) and not last.settles:
        return [] if any({*last.items} != {*one.items} for one in lists) else [last]
    ends = last.is_bare and repeats and len(last.items) > 1 and not re.search(r"\w", text[last.end :])
    if settling and not ends:
        last = settling[-1]
    elif not settling and not repeats:
        return lists
    elif not settling and not lists[0].label and last.label and not takes_back(last.label):
        return [lists[0]]  # what follows explains it, study by study
    rivals = [
        one
        for one in settling or lists
        if one.end <= last.start and one.is_bare and {*one.items} != {*last.items} and _same_label(one, last)
    ]
    if rivals and not takes_back(text[rivals[-1].end : last.start] + last.label):
        return []
    return [last]


def _same_label(one: _List, other: _List) -> bool:
    """Whether neither list is more final than the other: both have no label, or the same words of :data:`SETTLES`."""
    words, others = ({word.lower() for word in _SETTLES.findall(each.label)} for each in (one, other))
    return words == others and (bool(words) or not one.label + other.label)


def _lists(text: str) -> Iterable[_List]:
    """Return the lists of a text: the lines of a paragraph together, except those whose labels settle on a list or set it aside."""
    heading, current, end = "", None, 0
    in_lines = "\n" in text.strip()
    for line in text.splitlines(keepends=True):
        start, end = end, end + len(line)
        for sentence in _SENTENCE_END.split(_LIST_MARK.sub("", line.strip())):
            label, body, prose = _split_label(sentence)
            items, bare = (
                _items(body, in_lines=in_lines)
                if not LEADING_NONE.match(sentence) or _NONE.fullmatch(body)
                else ([], 0)
            )
            one = _List(_decisive(label, heading), start, end, items, bare, prose)
            if _COUNT.match(label):
                continue
            if prose and len(items) == 1 and not one.settles:  # "These are 3 integers.", "## Study 1"
                counted = re.search(r"\d\W{0,20}[^\W\d_]", sentence)
                if counted and any(map(str.isalnum, sentence[: counted.start()])):
                    yield one
                items = []
            apart = one.settles or one.is_set_aside or (current is not None and current.is_set_aside)
            if current is not None and (not items or prose or (label and apart)):
                yield current
                current = None
            if not items:
                heading = sentence or heading
            elif current is None:
                current = one
            else:
                current.items += items
                current.bare += bare
                current.end = end
    if current is not None:
        yield current


def _decisive(label: str, heading: str) -> str:
    """Return the label of a list if it says what the list is, else its heading with it; a sentence above sets nothing aside."""
    if _SETTLES.search(label) or _SETS_ASIDE.search(label):
        return label
    marked = heading.lstrip(" \n>*_").startswith("#") or (
        heading.startswith("**") and heading.rstrip(" \n.:").endswith("**")
    )
    titled = marked or heading.rstrip(" \n*_)]\"'").endswith(":") or len(heading.split()) < 4
    return f"{heading} {label}".strip() if titled or not _SETS_ASIDE.search(heading) else label


def _split_label(sentence: str) -> tuple[str, str, bool]:
    """Return the words before a list, the rest, and whether they are the beginning of a sentence: "I think the answer is 3; 4"."""
    start = 0
    while label := _LABEL.match(sentence, start):
        start = label.end()
    lead = _LEAD.match(sentence, start)
    start = lead.end() if lead else start
    return sentence[:start], sentence[start:], lead is not None and not _GOES_ON.fullmatch(lead[0])


def _items(body: str, *, in_lines: bool) -> tuple[list[str], int]:
    """Return the items of a list and the number of those without words; nothing for a sentence."""
    if _NONE.fullmatch(body):
        return ["none"], 1
    if _SPACED.fullmatch(body) and not re.fullmatch(r"\W*\d{1,3}(?:\s\d{3})+\W*", body):
        body = ";".join(body.split())
    # "123,456" on its own is two numbers; nothing else separates them.
    if ";" in body or re.search(r"\d,\s", body) or (in_lines and body.count(",") == 1) or "," not in body:
        body = _THOUSANDS.sub("", body)
    items: list[str] = []
    bare = 0
    for piece in _SEPARATOR.split(body):
        if match := _BARE.fullmatch(piece):
            bare += 1
        elif not (match := _LEADING.match(piece) or _SPELT.fullmatch(piece)):
            if re.search(r"[^\W\d_]", piece) and not _NONE.fullmatch(piece):
                break  # the sentence after a list
            continue
        items.append(match[1])
    if bare < len(items) and ";" not in body and _SETS_ASIDE.search(body):
        return [], 0  # "41, 14 and 90 were not included"
    return items, bare
