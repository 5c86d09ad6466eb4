"""Rules that read a response as its task's instructions mean it, for the metrics beside the official ones.

What they change is form, never content: list marks, brackets, quotes and headings around an item are no part of it, every line of
a list is read, nothing is counted that the response does not give as an item, and a right "None" is right.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from long_context_tasks.benchmarks.ethic.scoring.official import F1, REFUSAL, rates
from long_context_tasks.schema import response
from long_context_tasks.schema.response import ANSWER_CUT, EMPTY, REFUSED
from long_context_tasks.schema.thinking import without_thinking

NONE = "none"
"""The answer that there is nothing to list, in lower case."""
AROUND = " \t\r\n.,:;!?\"'`*_“”‘’«»[](){}<>#"
"""Characters to be stripped from both ends of an item."""
LIST_MARK = re.compile(r"^\s*(?:[-*•–—+]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
"""A bullet or a number before the item that follows in the same line."""
LEADING_NONE = re.compile(
    r"[\W_]*(?:none\b(?!-)|n/a\b|no (?:characters?|names?|people|persons?|speakers?|numbers?|citations?)\b)",
    re.IGNORECASE,
)
"""For ``match``: an answer that begins with "None" or the like, whatever it explains behind it."""
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""The comma inside a number such as 1,234; it is in "123,456" too, so a list must be known to have other separators."""


_NUMERIC = ("medicine", "law")
"""Domains whose recalling items are numbers, separated by semicolons."""

_ANSWER = re.compile(r"^[^\w\n]*(?:final )?answers?[*_ ]*:[*_]*", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*```.*$", re.MULTILINE)
_HEADING = re.compile(r"(?:names?|characters?|people|persons?|numbers?|labels?|list)\b", re.IGNORECASE)
"""Begins what stands before a colon that is no item."""
_NEXT_ITEM = re.compile(r"[;,]|(?:^|(?<=\s))(?:and|&)\s", re.IGNORECASE)


_SAYS = re.compile(r"[^\W_]")


def _normalized(item: str) -> str:
    text = unicodedata.normalize("NFKC", item).replace("’", "'").strip(AROUND)
    return " ".join(text.casefold().split())


def final_answer(text: str) -> str:
    """Return what follows the last line that begins with "Answer:", else the whole text; without code fences.

    >>> final_answer("I looked.\\n**Answer:** Anne")
    ' Anne'
    """
    end = max((match.end() for match in _ANSWER.finditer(text)), default=0)
    return _FENCE.sub("", text[end:])


def without_closing(text: str) -> str:
    """Leave out sentences behind a list, such as "These are all the names."; those that give a number as an answer does stay.

    >>> without_closing("Anne, Mr. Darcy. These are all.\\n\\nI hope this helps, Jane!"), without_closing("[3]\\nThe last is [1].")
    ('Anne, Mr. Darcy.', '[3]\\nThe last is [1].')
    """
    for begin in reversed([match.end() for match in _SENTENCE_BEGIN.finditer(text)]):
        words = re.findall(r"[^\W\d_]+", re.split("[,;]", text[begin:])[0].lower())
        closing = len(words) > 2 and any(map(_OF_SENTENCES.fullmatch, words))
        listed = LIST_MARK.match(text[begin:]) or _NUMBERED.match(text, begin)
        if text[begin:].strip() and (listed or not closing):
            break
        text = text[:begin].rstrip()
    return text


def recalled_items(answer: str, domain: str) -> list[str]:
    """Return the items of a recalling answer, each once, normalised; ``none`` is left in.

    Items stand between commas, semicolons, line breaks and the word "and"; one that begins with "None" is that. In the domains of
    numbers, whose instruction asks for semicolons, a comma inside a number ("1,234") is part of it where semicolons or lines separate
    the items.

    Sentences behind the list are no items.

    >>> recalled_items("Names:\\n1. Anne\\n2. O’Neil, Kitty,", "books")
    ['anne', "o'neil", 'kitty']
    >>> recalled_items("1,234; 56", "medicine"), recalled_items("123,456", "law")
    (['1234', '56'], ['123', '456'])
    """
    text = without_closing(final_answer(answer).strip())
    if domain in _NUMERIC and re.search(r"[;\n]", text):
        text = THOUSANDS.sub("", text)
    items: dict[str, None] = {}
    for line in text.split("\n"):
        pieces = _NEXT_ITEM.split(LIST_MARK.sub("", line))
        before, colon, rest = pieces[0].partition(":")
        # "Names: Anne", "Here they are: Anne, Kitty", or a heading over the list.
        if colon and (not rest.strip(AROUND) or len(pieces) > 1 or _HEADING.match(before.strip(AROUND))):
            pieces[0] = rest
        for piece in pieces:
            item = NONE if LEADING_NONE.match(piece) else _normalized(piece)
            if _SAYS.search(item):  # a Markdown rule, "---", says nothing
                items[item] = None
    return list(items)


def recall_labels(labels: Sequence[str], domain: str) -> set[str]:
    """Return labels as :func:`recalled_items` reads items; empty where "None" is right."""
    texts = [THOUSANDS.sub("", label) if domain in _NUMERIC else label for label in labels]
    return {item for item in map(_normalized, texts) if item not in ("", NONE)}


def recall_f1(items: Sequence[str], labels: set[str]) -> F1:
    """Return F1 of items against labels; without labels only "none", and nothing else, is right.

    >>> recall_f1(["none"], set()).f1, recall_f1(["anne"], set()).f1, recall_f1(["none"], {"anne"}).f1
    (1.0, 0.0, 0.0)
    """
    named = set(items) - {NONE}
    return _f1(named, labels, says_none=NONE in items)


def _f1(named: set[str], labels: set[str], *, says_none: bool) -> F1:
    if not labels and not named:
        return F1(*[float(says_none)] * 3)
    return rates(len(named & labels), len(named), len(labels))


_MARKS = r"[ \t*_`]*"
_ALONE = r"(?<![^\W_])(?<!\w-)"
"""No part of a word, nor behind its hyphen."""
_WANTED = re.compile(
    rf"{_ALONE}(?:related segments?|core ids?){_MARKS}(?:(:)[\s*_`]*|$)", re.IGNORECASE | re.MULTILINE
)
_OTHER = (
    r"(?:supporting|supplementary|unrelated|irrelevant|other|remaining|excluded|no[nt][- ]?(?:related|core)) "
    rf"(?:segments?|ids?){_MARKS}"
)
_OTHERS = re.compile(rf"{_ALONE}{_OTHER}:|^[^\w\n]*{_OTHER}$", re.IGNORECASE | re.MULTILINE)
_LETTER = re.compile(r"[^\W\d_]")
_BRACKETED = re.compile(r"\[([^\[\]]*)\]|<([^<>]*)>")
_LABELS = r"(?:(?:segments?|sections?|options?|ids?|pmids?|stud(?:y|ies)|core|related)\b\W*){0,3}"
_ONLY_NUMBER = re.compile(rf"\W*{_LABELS}(\d+)\W*", re.IGNORECASE | re.ASCII)
_LEADING_NUMBER = re.compile(r"(?<!\d)\d+\b", re.ASCII)
_RANGE = re.compile(rf"\W*{_LABELS}(\d{{1,9}})\s*(?:[-–—]|to)\s*(\d{{1,9}})\W*", re.IGNORECASE | re.ASCII)
_WIDEST = 200
"""Ids in a range; a wider one is not written out."""
_NUMBERED = re.compile(rf"\W*{_LABELS}\d|.*[\[<][^\[\]<>]*\d[^\[\]<>]*[\]>]", re.IGNORECASE | re.DOTALL)
"""For ``match``: a text that begins with a number, or has one in brackets."""
_SENTENCE_BEGIN = re.compile(r"\n|(?<=[.!?;])[ \t]+(?=[A-Z])")
_OF_SENTENCES = re.compile(
    "is|are|was|were|be|been|has|have|had|do|does|did|no|let|hope|note|please|i|you|we|it|this|these|those|that|there"
)
_PARENTHESIS = re.compile(r"\([^()]*\)")
_PIECES = re.compile(r"[;,\n]|\band\b", re.IGNORECASE)


def attributed_ids(answer: str) -> list[str] | None:
    """Return the ids under "Core IDs" or "Related Segments"; an empty list where the answer says that there are none.

    The last such heading that begins a line counts (else the last before a colon), up to the heading of another category or a
    paragraph that is no list. Ids in brackets are taken when there are any, else the number that each item begins with: years,
    counts and numbers in an explanation are no ids. "[1-4]" names four. Without a heading the answer has to be a bare list.

    >>> attributed_ids("**Core IDs:** [12], [7] (cited in 1999)\\n- Supplementary IDs: [3]")
    ['12', '7']
    >>> attributed_ids("- Core IDs:\\n- Supplementary IDs: [3]"), attributed_ids("Of 40 studies, 12 fit.")
    ([], None)

    Returns:
        Ids without leading zeros, each once; None where the answer has no list.
    """
    for text in (final_answer(answer), answer):
        if heading := _heading(text):
            break
    else:
        return _bare_list(answer)
    rest = text[heading.end() :]
    if others := _OTHERS.search(rest):
        rest = rest[: others.start()]
    rest = without_closing(_first_paragraphs(rest))
    if LEADING_NONE.match(rest):
        return []  # numbers behind it explain
    bracketed = [one or other for one, other in _BRACKETED.findall(rest)]
    if ids := _unique(number for content in bracketed for number in _bracket_ids(content)):
        return ids
    pieces = [LIST_MARK.sub("", piece) for piece in _PIECES.split(_PARENTHESIS.sub("", rest))]
    ids = _unique(
        number for piece in pieces for number in _range(piece) or _LEADING_NUMBER.findall(piece)[:1]
    )
    says_none = not rest.strip(AROUND + "-•") or re.search(rf"\b{NONE}\b", rest, re.IGNORECASE)
    return ids if ids or says_none else None


def _heading(text: str) -> re.Match[str] | None:
    """The heading of the ids, see :func:`attributed_ids`; without a colon it has to be a line of its own."""
    last = inside = None
    for match in _WANTED.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        if not _LETTER.search(text, begin, match.start()):
            last = match
        elif match[1]:
            inside = match
    return last or inside


def _bare_list(answer: str) -> list[str] | None:
    text = without_closing(final_answer(answer).strip())
    if _normalized(text) == NONE:
        return []
    pieces = [piece for piece in _PIECES.split(text) if piece.strip(AROUND + "-•")]
    found = [_ONLY_NUMBER.fullmatch(LIST_MARK.sub("", piece)) for piece in pieces]
    numbers = [match[1] for match in found if match]
    return _unique(numbers) if numbers and len(numbers) == len(pieces) else None


def _bracket_numbers(content: str) -> list[str]:
    """The numbers of a bracket, where its pieces are some."""
    found = [_ONLY_NUMBER.fullmatch(piece) for piece in re.split("[;,]", content)]
    return [match[1] for match in found if match]


def _bracket_ids(content: str) -> list[str]:
    return [
        number for piece in re.split("[;,]", content) for number in _range(piece) or _bracket_numbers(piece)
    ]


def _range(piece: str) -> list[str]:
    """What "1-4" stands for; nothing for a text that is no range."""
    match = _RANGE.fullmatch(piece)
    first, last = (int(match[1]), int(match[2])) if match else (0, -1)
    return [str(number) for number in range(first, last + 1)] if last - first < _WIDEST else []


def _first_paragraphs(text: str) -> str:
    """The first paragraph, and those behind it that go on with the list."""
    first, *more = re.split(r"\n[ \t]*\n", text.strip())
    kept = [first]
    for paragraph in more:
        if not re.match(r"\s*[-*•<\[(\d]", paragraph):
            break
        kept.append(paragraph)
    return "\n".join(kept)


def _unique(numbers: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(_plain(number) for number in numbers))


def _plain(number: str) -> str:
    """Digits without leading zeros; not ``int``, which refuses to read very long ones."""
    return number.lstrip("0") or "0"


def attribution_labels(answer: Sequence[str]) -> set[str]:
    """Return the ids of the right entries; empty where "None" is right."""
    found = [re.search(r"\d+", entry, re.ASCII) for entry in answer]
    return {_plain(match[0]) for match in found if match}


def attribution_f1(ids: Sequence[str], labels: set[str]) -> F1:
    """Return F1 of ids against labels; where there are no labels, naming none is right."""
    return _f1(set(ids), labels, says_none=not ids)


_LINE_LABEL = re.compile(r"^[^\d:\n]*:")
_OPENS_BRACKET = re.compile(r"[^\w\[<]*[\[<]")
_OPENS_WORD = re.compile(r"[^\w\[<]*[^\W\d_]")
_BARE_NUMBERS = re.compile(r"\W*\d+(?:\s+\d+)+\W*", re.ASCII)


def listed_order(answer: str) -> list[str]:
    """Return the option numbers that an answer lists, in its order: those in square brackets, else its items that are bare numbers.

    Where a line lists several options in brackets from its beginning on, other lines that begin with a word explain, and do not
    count.

    >>> listed_order("1. [3]\\n2. [1] (part 7)"), listed_order("Option 2 > Option 1"), listed_order("3 parts: first 2")
    (['3', '1'], ['2', '1'], [])
    >>> listed_order("Order: 3, 1, 2"), listed_order("3 1 2"), listed_order("[3], [1]\\nOption [3] is first.")
    (['3', '1', '2'], ['3', '1', '2'], ['3', '1'])
    """
    lines = without_closing(final_answer(answer)).split("\n")
    first = next((place for place, line in enumerate(lines) if _lists_several(line)), None)
    if first is not None:
        lines = [line for place, line in enumerate(lines) if place == first or not _OPENS_WORD.match(line)]
    found = [number for line in lines for number in _numbers_in_brackets(line)]
    if not found:
        pieces = (re.split(r"[;,>]|→|\bthen\b", _LINE_LABEL.sub("", line).replace("<", "")) for line in lines)
        for piece in (LIST_MARK.sub("", piece) for line in pieces for piece in line):
            if match := _ONLY_NUMBER.fullmatch(piece):
                found.append(match[1])
            elif _BARE_NUMBERS.fullmatch(piece):
                found += re.findall(r"\d+", piece, re.ASCII)
    return [_plain(number) for number in found]


def _lists_several(line: str) -> bool:
    """Whether a line begins with a bracket, behind a heading at most, and gives two options or more."""
    return bool(_OPENS_BRACKET.match(_LINE_LABEL.sub("", line))) and len(_numbers_in_brackets(line)) > 1


def _numbers_in_brackets(line: str) -> list[str]:
    contents = [content for content, _ in _BRACKETED.findall(line) if content]
    return [number for content in contents for number in _bracket_numbers(content)]


@dataclass(frozen=True)
class Answer:
    """A response without its thinking.

    Attributes:
        text: the answer.
        failure: None, ``empty`` (nothing but white space), or ``answer_cut`` (the response ended inside its thinking).
    """

    text: str
    failure: str | None

    def why(self, otherwise: str | None) -> str | None:
        """Return why a response without anything that counts has the lowest score; ``otherwise`` where it is no refusal either."""
        return self.failure or (REFUSED if is_refusal(self.text) else otherwise)


def answer_of(text: str | None) -> Answer:
    """Remove ``<think>...</think>``, also when the server swallowed the opening tag.

    >>> answer_of("<think>Anne? Jane?</think>Anne"), answer_of("<think>Anne or")
    (Answer(text='Anne', failure=None), Answer(text='', failure='answer_cut'))
    """
    answer = without_thinking(text or "")
    if answer.text.strip():
        return Answer(answer.text, None)
    return Answer("", ANSWER_CUT if answer.unclosed else EMPTY)


def is_refusal(answer: str) -> bool:
    """Whether a text without an answer in it refuses to give one, or is what the official code stores without a text.

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Anne, Jane")
    (True, False)
    """
    return answer.strip() == REFUSAL or response.is_refusal(answer)
