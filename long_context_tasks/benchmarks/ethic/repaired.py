"""Rules that read a response as its task's instructions mean it, for the metrics beside the official ones.

What they change is form, never content: list marks, brackets, quotes and headings around an item are no part of it, every line of
a list is read, nothing is counted that the response does not give as an item, and a right "None" is right.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from long_context_tasks.benchmarks.ethic.official import F1, rates

_NOBODY = "none"
_NUMERIC = frozenset(("medicine", "law"))
"""Domains whose recalling items are numbers, separated by semicolons."""

_ANSWER = re.compile(r"^[^\w\n]*(?:final )?answers?[*_ ]*:[*_]*", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)
_LIST_MARK = re.compile(r"\s*(?:[-*•–—+]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
_AROUND = " \t\r\n.,:;!\"'`*_“”‘’«»[](){}<>"
_LEADING_AND = re.compile(r"(?:and|&)\s+", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def _normalized(item: str) -> str:
    text = unicodedata.normalize("NFKC", item).replace("’", "'").strip(_AROUND)
    return " ".join(_LEADING_AND.sub("", text, count=1).strip(_AROUND).casefold().split())


def final_answer(text: str) -> str:
    """What stands behind the last line that begins with "Answer:"; the whole text without one. Code fences are left out.

    >>> final_answer("I looked.\\n**Answer:** Anne")
    ' Anne'
    """
    last = None
    for last in _ANSWER.finditer(text):  # noqa: B007
        pass
    return _FENCE.sub("", text[last.end() :] if last else text)


def recalled_items(answer: str, domain: str) -> list[str]:
    """The items of a recalling answer, each once, normalised; ``none`` is left in.

    Items stand between commas, semicolons and line breaks. In the domains of numbers, whose instruction asks for semicolons, a
    comma inside a number ("1,234") is part of it where semicolons or lines separate the items.

    >>> recalled_items("Names:\\n1. Anne\\n2. O’Neil, Kitty,", "books")
    ['anne', "o'neil", 'kitty']
    >>> recalled_items("1,234; 56", "medicine"), recalled_items("123,456", "law")
    (['1234', '56'], ['123', '456'])
    """
    text = final_answer(answer).strip()
    if domain in _NUMERIC and re.search(r"[;\n]", text):
        text = _THOUSANDS.sub("", text)
    items: dict[str, None] = {}
    for line in text.split("\n"):
        pieces = re.split(r"[;,]", _LIST_MARK.sub("", line, count=1))
        _, colon, rest = pieces[0].partition(":")
        # "Names: Anne, Kitty", or a heading over the list.
        if colon and (not rest.strip(_AROUND) or len(pieces) > 1):
            pieces[0] = rest
        for piece in pieces:
            if item := _normalized(piece):
                items[item] = None
    return list(items)


def recall_labels(labels: Sequence[str], domain: str) -> set[str]:
    """Labels as :func:`recalled_items` reads items; empty where "None" is right."""
    texts = [_THOUSANDS.sub("", label) if domain in _NUMERIC else label for label in labels]
    return {item for item in map(_normalized, texts) if item not in ("", _NOBODY)}


def recall_f1(items: Sequence[str], labels: set[str]) -> F1:
    """F1 of items against labels; without labels only "none", and nothing else, is right.

    >>> recall_f1(["none"], set()).f1, recall_f1(["anne"], set()).f1, recall_f1(["none"], {"anne"}).f1
    (1.0, 0.0, 0.0)
    """
    named = set(items) - {_NOBODY}
    return _f1(named, labels, says_none=_NOBODY in items)


def _f1(named: set[str], labels: set[str], *, says_none: bool) -> F1:
    if not labels and not named:
        return F1(*[float(says_none)] * 3)
    return rates(len(named & labels), len(named), len(labels))


# --- attributing -----------------------------------------------------------------------------------------------

_MARKS = r"[\s*_`]*"
_WANTED = re.compile(rf"(?:related segments?|core ids?){_MARKS}:{_MARKS}", re.IGNORECASE)
_OTHERS = re.compile(rf"[-*•#\s]*(?:supporting segments?|supplementary ids?){_MARKS}:", re.IGNORECASE)
_BRACKETED = re.compile(r"\[([^\[\]]*)\]|<([^<>]*)>")
_LABELS = r"(?:(?:segments?|sections?|options?|ids?|pmids?|stud(?:y|ies)|core|related)\b\W*){0,3}"
_ONLY_NUMBER = re.compile(rf"\W*{_LABELS}(\d+)\W*", re.IGNORECASE | re.ASCII)
_LEADING_NUMBER = re.compile(rf"\W*{_LABELS}(\d+)\b", re.IGNORECASE | re.ASCII)
_PARENTHESIS = re.compile(r"\([^()]*\)")
_PIECES = re.compile(r"[;,\n]|\band\b", re.IGNORECASE)


def attributed_ids(answer: str) -> list[str] | None:
    """The ids under "Core IDs" or "Related Segments"; an empty list where the answer says that there are none.

    The last such heading counts, up to the heading of the other category or a paragraph that is no list. Ids in brackets are
    taken when there are any, else the number that each item begins with: years, counts and numbers in an explanation are no
    ids. Without a heading the answer has to be a bare list.

    >>> attributed_ids("**Core IDs:** [12], [7] (cited in 1999)\\n- Supplementary IDs: [3]")
    ['12', '7']
    >>> attributed_ids("- Core IDs:\\n- Supplementary IDs: [3]"), attributed_ids("Of 40 studies, 12 fit.")
    ([], None)

    Returns:
        Ids without leading zeros, each once; None where the answer has no list.
    """
    heading = None
    for heading in _WANTED.finditer(answer):  # noqa: B007
        pass
    if heading is None:
        return _bare_list(answer)
    rest = answer[heading.end() :]
    if others := _OTHERS.search(rest):
        rest = rest[: others.start()]
    rest = _first_paragraphs(rest)
    bracketed = [one or other for one, other in _BRACKETED.findall(rest)]
    if any(map(_numbers_only, bracketed)):
        return _unique(number for content in bracketed for number in _numbers_only(content))
    pieces = _PIECES.split(_PARENTHESIS.sub("", rest))
    found = [_LEADING_NUMBER.match(_LIST_MARK.sub("", piece, count=1)) for piece in pieces]
    ids = _unique(match[1] for match in found if match)
    says_none = not rest.strip(_AROUND + "-•") or re.search(rf"\b{_NOBODY}\b", rest, re.IGNORECASE)
    return ids if ids or says_none else None


def _bare_list(answer: str) -> list[str] | None:
    text = final_answer(answer)
    if _normalized(text) == _NOBODY:
        return []
    pieces = [piece for piece in _PIECES.split(text) if piece.strip(_AROUND + "-•")]
    found = [_ONLY_NUMBER.fullmatch(_LIST_MARK.sub("", piece, count=1)) for piece in pieces]
    numbers = [match[1] for match in found if match]
    return _unique(numbers) if numbers and len(numbers) == len(pieces) else None


def _numbers_only(content: str) -> list[str]:
    """The numbers of a bracket, where each of its pieces is one."""
    found = [_ONLY_NUMBER.fullmatch(piece) for piece in re.split("[;,]", content)]
    return [match[1] for match in found if match]


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
    """Ids of the right entries; empty where "None" is right."""
    found = [re.search(r"\d+", entry, re.ASCII) for entry in answer]
    return {_plain(match[0]) for match in found if match}


def attribution_f1(ids: Sequence[str], labels: set[str]) -> F1:
    """F1 of ids against labels; where there are no labels, naming none is right."""
    return _f1(set(ids), labels, says_none=not ids)


# --- organizing ------------------------------------------------------------------------------------------------


def listed_order(answer: str) -> list[str]:
    """The option numbers that an answer lists, in its order: those in square brackets, else its items that are bare numbers.

    >>> listed_order("1. [3]\\n2. [1] (part 7)"), listed_order("Option 2 > Option 1"), listed_order("3 parts: first 2")
    (['3', '1'], ['2', '1'], [])
    """
    text = final_answer(answer)
    inside = [content for content, _ in _BRACKETED.findall(text) if content]
    numbers = [number for content in inside for number in _numbers_only(content)]
    if not numbers:
        pieces = [piece for piece in re.split(r"[;,>\n]|→|\bthen\b", text.replace("<", "")) if piece.strip()]
        found = [_ONLY_NUMBER.fullmatch(_LIST_MARK.sub("", piece, count=1)) for piece in pieces]
        numbers = [match[1] for match in found if match]
    return [_plain(number) for number in numbers]
