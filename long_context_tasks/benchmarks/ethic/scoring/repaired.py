"""Rules that read a response as its task's instructions mean it, for the metrics beside the official ones.

What they change is form, never content: list marks, brackets, quotes and headings around an item are no part of it, every line of
a list is read, nothing is counted that the response does not give as an item, and a right "None" is right.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from long_context_tasks.benchmarks.ethic.scoring.numbers import LEADING_NONE, settled_numbers
from long_context_tasks.benchmarks.ethic.scoring.official import F1, REFUSAL, rates
from long_context_tasks.schema import response
from long_context_tasks.schema.commitment import settles, takes_back
from long_context_tasks.schema.orders import committed_order, runs, without_positions
from long_context_tasks.schema.response import ANSWER_CUT, EMPTY, REFUSED
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.schema.wrappers import narrow, out_of_tables, own_turn, unwrapped

NONE = "none"
"""The answer that there is nothing to list, in lower case."""
AROUND = " \t\r\n.,:;!?\"'`*_“”‘’«»[](){}<>#$\\"
"""Characters to be stripped from both ends of an item."""
LIST_MARK = re.compile(r"^\s*(?:[-*•–—+]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
"""A bullet or a number before the item that follows in the same line."""
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""The comma inside a number such as 1,234; it is in "123,456" too, so a list must be known to have other separators."""


_NUMERIC = ("medicine", "law")
"""Domains whose recalling items are numbers, separated by semicolons."""

_ANSWER = re.compile(
    r"^[^\w\n]*(?:(?:the|my) )?(?:final |correct )?answers?[*_ ]*(?::[*_]*|$|(?: is| are)\b:?[*_]*(?= ?[A-Z0-9\[<*\"]))",
    re.IGNORECASE | re.MULTILINE,
)
_KIND = (
    r"(?:names?|characters?|people|persons?|individuals?|speakers?|numbers?|integers?|counts?|labels?|list)\b"
)
_HEADING = re.compile(
    rf"(?:[\w'-]+\s+){{0,4}}{_KIND}|(?:section|chapter|part|segment|scene|passage|book|volume)\s+\w{{1,6}}$",
    re.IGNORECASE,
)
"""Begins what precedes a colon and is not an item."""
_NEXT_ITEM = re.compile(r"[;,|\t•·]|\s/\s|(?:^|(?<=\s))(?:and|&)\s", re.IGNORECASE)
_ASIDE = re.compile(r"(?<!\s)\s*\((?=[a-z]|[^()]*\s[^()]*\s|[^()]*\d)[^()]*\)")
"""An explanation in brackets, such as "(her sister)"; "(Lizzy)" is a name."""
_EXPLAINED = re.compile(
    r"^(\s*(?:\S+\s){0,3}\S+?)\s*(?:\s[-–—]+\s|:\s|[–—])\s*(?=[a-z]|(?:The|A|An|One|His|Her|Main)\b)"
)
"""An item that a line explains: "Anne - the heroine, and ...", "Anne: her sister"."""
_LEAD = re.compile(
    rf"\W*(?:(?:sure|okay|certainly|of course)[,.!:]*\s+)?(?:(?:based on|according to|from|in) [^,:\n]{{0,60}}, )?"
    rf"(?:(?:here (?:are|is)|the|all|these|its|unique|character|full|complete)\s+){{0,5}}{_KIND}[^,.:;\n]{{0,80}}?\b(?:are|is|includes?)\b:?\s+(?=[\[\"'*]*[A-Z0-9])",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\W*(?:sure|okay|ok|certainly|of course|absolutely|here|below|based|according|after|following|the following|these|this|list|"
    r"i|i've|i'll|let|as requested|great|to answer)\b",
    re.IGNORECASE,
)
"""Begins a line before a list that is a sentence."""
_YES = re.compile(
    r"\W*(?:sure(?: thing)?|certainly|of course|okay|absolutely|yes)[!.,:]\s+(?=\S)", re.IGNORECASE
)
_COUNTED = re.compile(r"^\s*(?:\d{1,3}\s?[:–-]|[a-z]\))\s+(?=\S)")
_TAG = re.compile(r"<br\s?/?>|</?[a-z_]+>")
_ASSIGNED = re.compile(r"\A\s*\w+\s?=\s?(?=[\[({\"'])")
_TOTAL = re.compile(r"\W*(?:total|count)\b[^,;]*", re.IGNORECASE)
_INLINE = re.compile(r"(?:^|\s)\(?\d{1,3}[.)]\s+(?=\S)")


_SAYS = re.compile(r"[^\W_]")


def _normalized(item: str) -> str:
    text = unicodedata.normalize("NFKC", item).replace("’", "'").strip(AROUND)
    return " ".join(text.casefold().split())


def final_answer(text: str) -> str:
    """Return what follows the last line that begins with "Answer:", else the whole text.

    >>> final_answer("I looked.\\n**Answer:** Anne")
    ' Anne'
    """
    ends = [match.end() for match in _ANSWER.finditer(text) if text[match.end() :].strip()]
    return text[ends[-1] :] if ends else text


def without_opening(text: str) -> str:
    """Leave out sentences before a list, such as "Here is the list.", and the words before it in its line.

    >>> without_opening("Sure, I read it.\\nAnne, Kitty"), without_opening("The names are Anne and Kitty.")
    ('Anne, Kitty', 'Anne and Kitty.')
    """
    lines = text.strip().split("\n")
    while len(lines) > 1 and (
        not lines[0].strip() or (_OPENING.match(lines[0]) and not LIST_MARK.match(lines[0]))
    ):
        if ":" in lines[0] and lines[0].rpartition(":")[2].strip(AROUND):
            break
        del lines[0]
    for opening in (_YES, _LEAD):
        if found := opening.match(lines[0]):
            lines[0] = lines[0][found.end() :]
    return "\n".join(lines)


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

    Items stand between commas, semicolons, line breaks and the word "and"; one that begins with "None" is that. What is put around
    the list or an item is no part of it: see :mod:`long_context_tasks.schema.wrappers`, sentences before and after the list, and
    explanations ("Anne - the heroine"). In the domains of numbers the items are those of :func:`settled_numbers`.

    >>> recalled_items("Names:\\n1. Anne\\n2. O’Neil, Kitty,", "books")
    ['anne', "o'neil", 'kitty']
    >>> recalled_items("1,234; 56", "medicine"), recalled_items("123,456", "law")
    (['1234', '56'], ['123', '456'])
    """
    plain = unwrapped(answer)
    if domain in _NUMERIC:
        return settled_numbers(out_of_tables(plain, pairs=True)) or []
    text = _ASSIGNED.sub("", out_of_tables(plain))
    if "</" in text or "<br" in text:
        text = _TAG.sub("\n", text)
    text = without_opening(final_answer(text))
    text = without_closing(text.strip()).replace("][", "], [")
    items: dict[str, None] = {}
    for line in _lines(text):
        named = _ASIDE.sub("", _COUNTED.sub("", line))
        pieces = _NEXT_ITEM.split(named)
        before, colon, rest = named.partition(":")
        # "Names: Anne", "As for the book, here they are: Anne, Kitty", or a heading over the list.
        if colon and (
            not rest.strip(AROUND) or _NEXT_ITEM.search(rest) or _HEADING.match(before.strip(AROUND))
        ):
            pieces = _NEXT_ITEM.split(rest)
        for piece in pieces:
            item = NONE if LEADING_NONE.match(piece) else _normalized(piece)
            if _SAYS.search(item) and item != "etc":  # a Markdown rule, "---", says nothing
                items[item] = None
    return list(items)


def _lines(text: str) -> Iterable[str]:
    """The lines of a list without bullets and numbers, explanations, and a total."""
    lines = text.split("\n")
    if len(lines) == 1 and [
        int(mark) for mark in re.findall(r"\d+", " ".join(_INLINE.findall(text)))
    ] == list(range(1, len(_INLINE.findall(text)) + 1)):
        lines = _INLINE.split(text)
    for line in lines:
        plain = LIST_MARK.sub("", line).replace("**", "").replace("__", "")
        if not _TOTAL.fullmatch(plain):
            explained = _EXPLAINED.match(plain)
            yield explained[1] if explained and not _HEADING.match(explained[1].strip(AROUND)) else plain


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


_MARKS = r"[ \t*_`\"]*"
_LEADS = r"(?:[:=→]|[-=]>|(?<=\s)[-–—](?=\s)|(?<=[\s*])(?:are|is)\b:?|(?=\[))"
"""Between a heading and its ids."""
_ALONE = r"(?<![^\W_])(?<!\w-)"
"""No part of a word, nor behind its hyphen."""
_WANTED = re.compile(
    rf"{_ALONE}(?:related segments?(?: ids?)?|core[ _](?:ids?|studies|study ids?|pmids?)|(?:core|related)(?={_MARKS}[:\[])|"
    rf"studies that meet [^:\n]{{0,60}}criteria)"
    rf"{_MARKS}(?:\([^()\n]{{0,40}}\){_MARKS})?(?:({_LEADS})[\s*_`]*|$)",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER = (
    r"(?:supporting|supplement(?:ary|al)|secondary|unrelated|irrelevant|other|remaining|excluded|no[nt][- ]?(?:related|core))"
    rf"(?:[\s_](?:segments?|ids?|studies|study ids?|pmids?))?{_MARKS}"
)
_OTHERS = re.compile(rf"{_ALONE}{_OTHER}{_LEADS}|^[^\w\n]*{_OTHER}$", re.IGNORECASE | re.MULTILINE)
_CATEGORY = r"(core|related|(?:supplement(?:ary|al)|secondary|supporting|unrelated|irrelevant))"
_CATEGORISED = re.compile(
    rf"[\[<]\s?(?:segment\s?)?(\d{{1,9}})\s?[\]>]|(?<![\d.])(\d{{5,9}}|\d{{1,9}}(?=[\]>)]{{0,2}}[\s*_`]{{0,3}}(?:[:|–—-]|(?:is|are)\b)"
    rf"[\s*_`]{{0,3}}(?:an?\s)?{_CATEGORY.replace('(', '(?:', 1)}\b))(?!\d)|\b{_CATEGORY}\b",
    re.IGNORECASE | re.ASCII,
)
"""An id, or a category: in "[12]: Core", "7 and 12 are core, 3 is supplementary" categories follow their ids."""
_HEADED = re.compile(
    r"\b(?:core|related)(?:[ _-](?:ids?|segments?|studies|study))?[\"*_` ]*(?:\([^()\n]{0,40}\)[* ]*)?[:=\[]",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|n't|neither|nor|none)\b[^.]*\Z", re.IGNORECASE)
_UNDECIDED = re.compile(
    r"\b(?:cannot|can't|unable to|could not)\s(?:decide|choose|tell|determine)\b", re.IGNORECASE
)
_IDS = r"(?:ids?|identifi(?:ants|cadores)|stud(?:y|ies|ien)|études|estudios)"
_TRANSLATED = (
    (
        "Core IDs",
        rf"核心(?:研究)?(?:\s?ids?|编号)?|{_IDS}\s(?:principa\w+|centra\w+|essentiel\w*|clave)|(?:kern|zentrale)[\s-]?{_IDS}",
    ),
    (
        "Supplementary IDs",
        rf"(?:补充|辅助)(?:研究)?(?:\s?ids?|编号)?|{_IDS}\s(?:suppl[eé]mentaires|compl[eé]mentaires|suplementari[oa]s|complementari[oa]s|adicionales)|"
        rf"(?:ergänzende|zusätzliche|ergänzungs)[\s-]?{_IDS}",
    ),
)
"""The two headings, and what they are in other languages, as a colon follows."""
_LABELLED_BOX = re.compile(
    r"(\b(?:ids?|studies|segments?|core|related|supplement(?:ary|al)|supporting)[\s*_]{0,4}:[\s*_$]{0,4})\\boxed\s?\{([^{}]*)\}\$?",
    re.IGNORECASE,
)
_CONTRASTED = re.compile(
    r"\((?:rather than|not|instead of|unlike|excluding|except)\b[^()\n]*\)", re.IGNORECASE
)
_MOVED = re.compile(
    r"(?<!\d)((?:\d{1,9}(?!\d)\]?(?:,?\sand\s|,\s)?\[?){1,8})\s(?:belongs?|should|goes?|moves?)\b([^.\n\d]{0,30}?)\b(core|related|"
    r"supplement(?:ary|al)|supporting|unrelated)\b",
    re.IGNORECASE | re.ASCII,
)
"""A correction behind the lists: "[12] belongs under Supplementary IDs"."""
_NO_IDS = re.compile(r"\bno (?:core|related) (?:ids?|studies|segments?)\b", re.IGNORECASE)
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
    paragraph that is no list; different ids under an earlier one make the answer none, unless words between them take it back. Ids in brackets are taken when there are any, else the number that each item begins with: years,
    counts and numbers in an explanation are no ids. "[1-4]" names four. Without a heading the answer has to be a bare list.

    >>> attributed_ids("**Core IDs:** [12], [7] (cited in 1999)\\n- Supplementary IDs: [3]")
    ['12', '7']
    >>> attributed_ids("- Core IDs:\\n- Supplementary IDs: [3]"), attributed_ids("Of 40 studies, 12 fit.")
    ([], None)

    Returns:
        Ids without leading zeros, each once; None where the answer has no list.
    """
    for english, translations in _TRANSLATED:
        answer = re.sub(
            rf"(?<!\w)(?:{translations})(?=[*_ ]{{0,4}}[:：])", english, answer, flags=re.IGNORECASE
        )
    if (categorised := _categorised(own_turn(narrow(answer)))) is not None:
        return categorised
    answer = out_of_tables(unwrapped(_LABELLED_BOX.sub(r"\1[\2]", answer)), pairs=True)
    for text in (final_answer(answer), answer):
        if headings := _headings(text):
            break
    else:
        return [] if _NO_IDS.search(answer) else _bare_list(answer)
    end = text[headings[-1].end() :].strip()
    if len(headings) > 2 and end and text[headings[-2].end() :].lstrip().startswith(end):
        headings.pop()  # of a block repeated over and over, cut off
    *earlier, last = headings
    ids = _ids_under(text, last)
    for heading in earlier:
        between = text[heading.end() : last.start()]
        rival = _ids_under(text, heading)
        if rival and ids and {*rival} != {*ids} and not takes_back(between) and not settles(between):
            return None
    for numbers, words, category in _MOVED.findall(text, last.end()):
        moved = _unique(re.findall(r"\d+", numbers))
        ids = [number for number in ids or [] if number not in moved]
        if (category.lower() in ("core", "related")) != bool(_DENIED.search(words)):
            ids += moved
    return ids


def _categorised(text: str) -> list[str] | None:
    """Return the ids that a category follows, if that is how all ids of a text are labelled; else None."""
    if _HEADED.search(text) or _UNDECIDED.search(text):
        return None
    wanted: list[str] = []
    pending: list[str] = []
    labelled, end = False, 0
    for match in _CATEGORISED.finditer(text):
        if number := match[1] or match[2]:
            pending.append(number)
        elif pending or labelled:
            if match[3].lower() in ("core", "related") and not _DENIED.search(text, end, match.start()):
                wanted += pending
            labelled, pending = True, []
        else:
            return None
        end = match.end()
    return _unique(wanted) if labelled and not pending else None


def _ids_under(text: str, heading: re.Match[str]) -> list[str] | None:
    rest = _CONTRASTED.sub("", text[heading.end() :])
    if others := _OTHERS.search(rest):
        rest = rest[: others.start()]
    rest = without_closing(_first_paragraphs(rest))
    if LEADING_NONE.match(rest):
        return []  # numbers behind it explain
    bracketed = [one or other for one, other in _BRACKETED.findall(rest)]
    if ids := _unique(number for content in bracketed for number in _bracket_ids(content)):
        return ids
    plain = _PARENTHESIS.sub("", rest)
    pieces = [LIST_MARK.sub("", piece) for piece in _PIECES.split(plain if re.search(r"\d", plain) else rest)]
    ids = _unique(
        number for piece in pieces for number in _range(piece) or _LEADING_NUMBER.findall(piece)[:1]
    )
    says_none = not rest.strip(AROUND + "-•") or re.search(rf"\b{NONE}\b", rest, re.IGNORECASE)
    return ids if ids or says_none else None


def _headings(text: str) -> list[re.Match[str]]:
    """Return the headings of ids that begin a line, else the last before a colon; see :func:`attributed_ids`."""
    begun, inside = [], []
    for match in _WANTED.finditer(text):
        begin = text.rfind("\n", 0, match.start()) + 1
        lettered = _LETTER.search(text, begin, match.start())
        if not lettered or settles(text[max(begin, match.start() - _NEAR) : match.start()]):
            begun.append(match)
        elif match[1] is not None:
            inside = [match]
    return begun[-_MOST_HEADINGS:] or inside


_NEAR = 40
"""Characters before a heading inside a line in which "final" makes it one."""
_MOST_HEADINGS = 20
"""Headings that are compared with the last; a response that repeats itself has thousands."""


def _bare_list(answer: str) -> list[str] | None:
    text = without_closing(final_answer(answer).strip())
    lines = [line for line in text.split("\n") if line.strip()]
    if (
        len(lines) == 2
        and not lines[0].rstrip().endswith(",")
        and "," in lines[0] + lines[1]
        and not LIST_MARK.match(text)
    ):
        text = lines[0]  # the two lists that are asked for, without their headings
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


def listed_order(answer: str, n: int) -> tuple[list[str], bool]:
    """Return the option numbers that an answer lists, in its order, and whether it gives different orders, so that none is its answer.

    An order of all n options is read as :func:`~long_context_tasks.schema.orders.committed_order` does. Without any, the numbers in
    square brackets count, else the items that are bare numbers. Where a line lists several options in brackets from its beginning
    on, other lines that begin with a word explain, and do not count.

    >>> listed_order("1. [3]\\n2. [1] (part 7)", 3), listed_order("Option 2 > Option 1", 2), listed_order("3 parts: first 2", 2)
    ((['3', '1'], False), (['2', '1'], False), ([], False))
    """
    plain = out_of_tables(unwrapped(answer))
    whole, ambiguous = committed_order(plain, n)
    if whole or ambiguous:
        return [str(number) for number in whole or ()], ambiguous
    lines = without_closing(final_answer(plain)).split("\n")
    first = next((place for place, line in enumerate(lines) if _lists_several(line)), None)
    if first is not None:
        lines = [line for place, line in enumerate(lines) if place == first or not _OPENS_WORD.match(line)]
    found = [number for line in lines for number in _numbers_in_brackets(line)]
    if not found:
        listed = runs(without_positions("\n".join(lines)))
        found = [
            str(number)
            for number in max((numbers for _, _, numbers in listed if len(numbers) > 1), key=len, default=[])
        ]
    return [_plain(number) for number in found], False


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
