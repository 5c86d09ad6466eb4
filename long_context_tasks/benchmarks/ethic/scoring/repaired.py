"""Rules for the strict metrics, which read a response as its task's instructions intend.

They normalize form, never content: list marks, brackets, quotes and headings are not part of an item; every
line of a list is read; only what the response presents as an item counts; and a correct "None" is correct.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from long_context_tasks.benchmarks.ethic.scoring.numbers import (
    BARE_NONE,
    LEADING_NONE,
    WORDS,
    settled_numbers,
)
from long_context_tasks.benchmarks.ethic.scoring.official import F1, REFUSAL, rates
from long_context_tasks.schema import response
from long_context_tasks.schema.candidates import (
    OPENS,
    SENTENCE_END,
    Candidate,
    Found,
    Standing,
    choose,
    has,
    has_words,
    hedged,
    introduction,
    weigh,
)
from long_context_tasks.schema.orders import committed_order, runs, without_positions
from long_context_tasks.schema.wrappers import out_of_tables, own_turn, unwrapped

NONE = "none"  # the answer if there is nothing to list, in lower case
# Characters stripped from both ends of an item.
AROUND = " \t\r\n.,:;!?\"'`*_“”‘’«»[](){}<>#$\\"
# A bullet or number before the item on the same line.
LIST_MARK = re.compile(r"^\s*(?:[-*•–—+]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
# The comma in a number such as 1,234; also matches in "123,456", so the list must be known to use other
# separators.
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMERIC = ("medicine", "law")  # domains whose recall items are numbers, separated by semicolons

_ANSWER = re.compile(
    r"^[^\w\n]*(?:(?:the|my) )?(?:final |correct )?answers?[*_ ]*(?::[*_]*|$|(?: is| are)\b:?[*_]*(?= ?[A-Z0-9\[<*\"]))",
    re.IGNORECASE | re.MULTILINE,
)
# Starts of words before a colon that are not an item.
_HEADINGS = (
    re.compile(rf"(?:[\w'-]+\s+){{0,4}}{WORDS['kinds']}", re.IGNORECASE),
    re.compile(r"(?:section|chapter|part|segment|scene|passage|book|volume)\s+\w{1,6}$", re.IGNORECASE),
)
_NEXT_ITEM = re.compile(r"[;,|\t•·]|\s/\s|(?:^|(?<=\s))(?:and|&)\s", re.IGNORECASE)
# Numbers and bullets before items, whether on separate lines or on one line.
_NUMBERING = re.compile(
    r"(?:^|(?<=\s))\(?\d{1,3}[.)]\s+|^[^\S\n]*(?:[-*•–—+>]|\d{1,3}\s?[:–-]|[a-z]\))\s+", re.MULTILINE
)
# A parenthesized explanation, such as "(her sister)"; "(Lizzy)" is a name.
_ASIDE = re.compile(r"(?<!\s)\s*\((?=[a-z]|[^()]*\s[^()]*\s|[^()]*\d)[^()]*\)")
# An item with an explanation: "Anne - the heroine, and ...", "Anne: her sister".
_EXPLAINED = re.compile(
    r"^(\s*(?:\S+\s){0,3}\S+?)\s*(?:\s[-–—]+\s|:\s|[–—])\s*(?=[a-z]|(?:The|A|An|One|His|Her|Main)\b)"
)
# Words before a list on the same line: "The names in the context are".
_LEAD = re.compile(
    rf"\W*(?:(?:the|all|these|its|unique|character|full|complete)\s+){{0,5}}{WORDS['kinds']}[^,.:;\n]{{0,80}}?"
    r"\b(?:are|is|includes?)\b\s+(?=[\[\"'*]*[A-Z0-9])",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z][^<>\n]{0,40}>", re.IGNORECASE)
_TOTAL = re.compile(r"\W*(?:total|count)\b[^,;]*", re.IGNORECASE)
_SENTENCE_BEGIN = re.compile(r"\n|(?<=[.!?;])[ \t]+(?=[A-Z])")
_OF_SENTENCES = re.compile(WORDS["sentences"])


def is_refusal(answer: str) -> bool:
    """Return whether a text refuses to answer, or is the official code's text for a missing response.

    >>> is_refusal("I'm sorry, but I can't help with that."), is_refusal("Anne, Jane")
    (True, False)
    """
    return answer.strip() == REFUSAL or response.is_refusal(answer)


def _normalized(item: str) -> str:
    text = unicodedata.normalize("NFKC", item).replace("’", "'").strip(AROUND)
    return " ".join(text.casefold().split())


def final_answer(text: str) -> str:
    """Return the text after the last line that begins with "Answer:", or the whole text if there is none.

    >>> final_answer("I looked.\\n**Answer:** Anne")
    ' Anne'
    """
    ends = [match.end() for match in _ANSWER.finditer(text) if text[match.end() :].strip()]
    return text[ends[-1] :] if ends else text


def without_opening(text: str) -> str:
    """Drop sentences before a list, such as "Here is the list.", and the words before it on its line.

    >>> without_opening("Sure, I read it.\\nAnne, Kitty"), without_opening("The names are Anne and Kitty.")
    ('Anne, Kitty', 'Anne and Kitty.')
    """
    text = text.strip()
    begin = 0
    for sentence in SENTENCE_END.finditer(text):
        words = text[begin : sentence.start()]
        # "Here they are: Anne, Kitty" contains the list.
        _, colon, after_colon = words.rpartition(":")
        opens = (
            OPENS.match(words) and not LIST_MARK.match(words) and not (colon and after_colon.strip(AROUND))
        )
        if has_words(words) and not opens:
            break
        begin = sentence.end()
    lead = _LEAD.match(text, begin)
    return text[lead.end() if lead else begin :]


def without_closing(text: str) -> str:
    """Drop sentences that follow a list; keep those that state a number as an answer would.

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
    """Return the distinct, normalized items of a recall answer, including ``none``.

    Commas, semicolons, line breaks and the word "and" separate items; an item that begins with "None" is
    ``none``. Wrappers (see :mod:`long_context_tasks.schema.wrappers`), sentences before and after the list,
    and explanations ("Anne - the heroine") are not part of an item. In number domains, the items are those of
    :func:`settled_numbers`.

    >>> recalled_items("Names:\\n1. Anne\\n2. O’Neil, Kitty,", "books")
    ['anne', "o'neil", 'kitty']
    >>> recalled_items("1,234; 56", "medicine"), recalled_items("123,456", "law")
    (['1234', '56'], ['123', '456'])
    """
    text = _TAG.sub("\n", out_of_tables(unwrapped(answer)))
    if domain in _NUMERIC:
        return settled_numbers(text) or []
    text = without_closing(without_opening(final_answer(text)).strip())
    items: dict[str, None] = {}
    for line in _NUMBERING.sub("\n", text.replace("][", "], [")).split("\n"):
        plain = line.replace("**", "").replace("__", "")
        if _TOTAL.fullmatch(plain):
            continue
        # "names: anne, kitty" is not an item with an explanation.
        if (explained := _EXPLAINED.match(plain)) and not _is_heading(explained[1]):
            plain = explained[1]
        listed = _ASIDE.sub("", plain)
        # "Names: Anne", "names = ['Anne']", "As for the book, here they are: Anne, Kitty", or a heading.
        before, sign, rest = (*re.split("([:=])", listed, maxsplit=1), "", "")[:3]
        if sign and (not rest.strip(AROUND) or _NEXT_ITEM.search(rest) or _is_heading(before)):
            listed = rest
        for piece in _NEXT_ITEM.split(listed):
            item = NONE if LEADING_NONE.match(piece) else _normalized(piece)
            if re.search(r"[^\W_]", item) and item != "etc":  # skips a Markdown rule, "---"
                items[item] = None
    return list(items)


def _is_heading(words: str) -> bool:
    return any(pattern.match(words.strip(AROUND)) for pattern in _HEADINGS)


def recall_labels(labels: Sequence[str], domain: str) -> set[str]:
    """Normalize labels like the items of :func:`recalled_items`; the set is empty if "None" is correct.

    >>> sorted(recall_labels(["Health and Social Care", "Home Office"], "debates"))
    ['health', 'home office', 'social care']
    """
    if domain in _NUMERIC:
        texts = [THOUSANDS.sub("", label) for label in labels]
    else:
        # Responses are split at "and", so labels that contain it are split, too.
        texts = [part for label in labels for part in _NEXT_ITEM.split(label)]
    return {item for item in map(_normalized, texts) if item not in ("", NONE)}


def recall_f1(items: Sequence[str], labels: set[str]) -> F1:
    """Return the F1 of items against labels; without labels, only "none" is correct.

    >>> recall_f1(["none"], set()).f1, recall_f1(["anne"], set()).f1, recall_f1(["none"], {"anne"}).f1
    (1.0, 0.0, 0.0)
    """
    named = set(items) - {NONE}
    return _f1(named, labels, says_none=NONE in items)


def _f1(named: set[str], labels: set[str], *, says_none: bool) -> F1:
    if not labels and not named:
        return F1(*[float(says_none)] * 3)
    return rates(len(named & labels), len(named), len(labels))


# Names the requested ids, or the others.
_CATEGORY = re.compile(rf"(?<![^\W_])(?<!\w-)(?:({WORDS['core']})|({WORDS['other']}))", re.IGNORECASE)
_NOUN = r"\.?[ _-]?(?:(?:core|related) )?(?:ids?|pmids?|编号|研究|stud(?:y|ies|ien)(?: ids?)?|segments?(?: ids?)?|ones?)"
_MARKS = r"[ \t*_`\")]*"
_LEADS_TO_IDS = r"(?:[:=→为是]|[-=]>|(?<=\s)[-–—](?=\s)|(?=\[)|(?<=[\s*])(?:are|is|would be)\b:?|$)"
# Follows a category that is a heading for ids: "IDs:", "studies are".
_HEADING_ENDS = re.compile(
    rf"({_NOUN})?{_MARKS}(?:\(\d{{1,3}}\)(?=[*_ ]{{0,3}}:){_MARKS})?{_LEADS_TO_IDS}[ \t*_`]*",
    re.IGNORECASE | re.MULTILINE,
)
# An id or a category: "[12]: Core", "7 and 12 are core, 3 is supplementary", "only 12 meets the criteria".
_CATEGORISED = re.compile(
    r"(?:[\[<]\s?(?:segment\s?)?|\bsegment\s)(\d{1,9})(?:\s?[\]>])?|(?<![\d.\w])(\d{5,9})(?!\d)|"
    rf"({WORDS['wanted']})|{WORDS['unwanted']}",
    re.IGNORECASE | re.ASCII,
)
_DENIED = re.compile(rf"{WORDS['denied']}[^.]*\Z", re.IGNORECASE)
_UNDECIDED = re.compile(
    r"\b(?:cannot|can't|unable to|could not)\s(?:decide|choose|tell|determine)\b", re.IGNORECASE
)
_NO_IDS = re.compile(
    r"\bno (?:core|related) (?:ids?|studies|segments?)\b|\bno (?:study|studies|segments?) [^.\n]{0,40}\b(?:core|related)\b",
    re.IGNORECASE,
)
_LABELLED_BOX = re.compile(r"(:[\s*_$]{0,4})\\boxed\s?\{([^{}]*)\}\$?")
_TAG_HEADING = re.compile(r"<((?:core|related|suppl|support)[\w ]{0,20})>", re.IGNORECASE)
_CONTRASTED = re.compile(
    r"\((?:rather than|not|instead of|unlike|excluding|except)\b[^()\n]*\)|(?<=[\d\])]),?\s(?:while|whereas|but)\b[^\n]*",
    re.IGNORECASE,
)
# A correction after the lists: "[12] belongs under Supplementary IDs"; "could be argued" does not correct.
_MOVES = re.compile(WORDS["moves"], re.IGNORECASE)
# Begins a line under a heading that has its own label: "IDs secundarios: [12]".
_OWN_LABEL = re.compile(r"\n[^\w\n]{0,9}[^\W\d_][^\n\d:=\[<]{0,40}[:=][ *_]{0,9}(?=[\[<(\d])")
# A key to marks beside ids: "✅ = Core, ❌ = Supplementary"
_MARK = re.compile(r"[^\x00-\x7f\w\s]|\b[A-Z]\b")
_KEY = re.compile(
    rf"({_MARK.pattern})\s?[=:]\s?((?i:{WORDS['core']}|{WORDS['other']}))[,;. ]{{0,3}}",
)
_BROKEN = re.compile(r"(?<=\d) (?=\d{3,4}(?!\d))")  # in an id such as "1585 9789"
_LETTER = re.compile(r"[^\W\d_]")
_BRACKETED = re.compile(r"\[([^\[\]]*)\]|<([^<>]*)>")
_ID_WORDS = r"(?:(?:segments?|sections?|options?|ids?|pmids?|stud(?:y|ies)|core|related)\b\W*){0,3}"
_ONLY_NUMBER = re.compile(rf"\W*{_ID_WORDS}(\d+)\W*", re.IGNORECASE | re.ASCII)
_RANGE = re.compile(rf"\W*{_ID_WORDS}(\d{{1,9}})\s*(?:[-–—]|to)\s*(\d{{1,9}})\W*", re.IGNORECASE | re.ASCII)
# For match: a text that begins with a number, or contains a bracketed one.
_NUMBERED = re.compile(rf"\W*{_ID_WORDS}\d|.*[\[<][^\[\]<>]*\d[^\[\]<>]*[\]>]", re.IGNORECASE | re.DOTALL)
_LONGEST_NUMBER = 4  # maximum number of digits in a segment's number, unlike an id of a study
_WIDEST = 200  # maximum number of ids in a range; a wider range is not expanded
_PARENTHESIS = re.compile(r"\([^()]*\)")
_PIECES = re.compile(r"[;,&/\n]|\band\b|(?<=\d{5})\s", re.IGNORECASE)


def attributed_ids(answer: str) -> list[str] | None:
    """Return the ids under "Core IDs" or "Related Segments"; an empty list if the answer says there are none.

    The ids under each such heading are a candidate, see :mod:`long_context_tasks.schema.candidates`; a
    heading inside a sentence counts only if there is no other. Bracketed ids count if there are any,
    otherwise the number that begins each item; years, counts and numbers in explanations are not ids. "[1-4]"
    expands to four ids. Without a heading, the answer has to be a bare list.

    >>> attributed_ids("**Core IDs:** [12], [7] (cited in 1999)\\n- Supplementary IDs: [3]")
    ['12', '7']
    >>> attributed_ids("- Core IDs:\\n- Supplementary IDs: [3]"), attributed_ids("Of 40 studies, 12 fit.")
    ([], None)

    Returns:
        Distinct ids without leading zeros; None if the answer has no list.
    """
    text = re.sub("(?<=[a-z])_(?=[a-z])", " ", own_turn(answer))  # "core_ids"
    if key := dict(_KEY.findall(text)):
        text = _MARK.sub(lambda mark: f" {key[mark[0]]} " if mark[0] in key else mark[0], _KEY.sub("", text))
    # Before JSON is converted to lines, which would drop the labels in a list of objects.
    if (categorised := _categorised(text)) is not None:
        return categorised
    text = out_of_tables(unwrapped(_TAG_HEADING.sub(r"\n\1: ", _LABELLED_BOX.sub(r"\1[\2]", text))))
    candidates = _id_lists(text)
    if not candidates:
        return [] if _NO_IDS.search(text) else _bare_list(text)
    chosen = choose(text, candidates)
    if chosen is None:
        return None
    ids = dict.fromkeys(chosen.answer)
    # A later sentence may move an id to the other category.
    for sentence in SENTENCE_END.split(text[chosen.end :]):
        moves = _MOVES.search(sentence) or has("retracts", sentence)
        if not (moves and _CATEGORY.search(sentence)) or hedged(sentence):
            continue
        for moved, wanted in _by_category(sentence)[0]:
            for number in moved:
                ids.pop(number, None)
                if wanted:
                    ids[number] = None
    return list(ids)


def _id_lists(text: str) -> list[Candidate]:
    """Return the ids under each heading for core or related ids."""
    lists: list[Found] = []
    seen: dict[frozenset[str], tuple[str, ...]] = {}
    headings = [*_headings(text), (len(text), 0, False)]
    for (start, end, wanted), (stop, _, _) in pairwise(headings):
        if not wanted or (ids := _ids_of(text[end:stop])) is None:
            continue
        inside = _LETTER.search(introduction(text, start)[0]) is not None
        # "... all core IDs" at the end of a line is not a heading.
        if inside and text[end : end + 1] in ("", "\n") and not re.search("[:=→]", text[start:end]):
            continue
        # The same ids in another order are the same answer.
        answer = seen.setdefault(frozenset(ids), tuple(ids))
        lists.append(Found(start, end, answer, Standing.MENTIONED if inside else Standing.GIVEN))
    # Every heading begins its line, so its position carries no information about its ids.
    placed = (Standing.ALONE, Standing.FIRST)
    return [
        replace(candidate, standing=Standing.GIVEN) if candidate.standing in placed else candidate
        for candidate in weigh(text, lists)
    ]


def _headings(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield each id heading's start and end, and whether its ids are the requested ones."""
    done = 0
    for category in _CATEGORY.finditer(text):
        ends = _HEADING_ENDS.match(text, category.end())
        if not ends or category.start() < done:
            continue
        led = ends[0].strip(" *_`\t") or text.startswith("[", ends.end())
        # A bare "core" at the end of a line follows its ids: "[12] is core".
        if ends[1] or led or category[0].lower() not in ("core", "related"):
            done = ends.end()
            yield category.start(), done, category[1] is not None


def _categorised(text: str) -> list[str] | None:
    """Return the ids whose sentences say that they are wanted, if sentences categorize all ids of a text.

    A text that begins with a category has headings, unless each of its lines categorizes one other id.
    """
    first = _CATEGORISED.search(text)
    if first is None or _UNDECIDED.search(text):
        return None
    categories: dict[str, bool] = {}
    pending: list[str] = []
    lengths: list[int] = []
    for sentence in SENTENCE_END.split(text):
        groups, rest = _by_category(sentence)
        if groups and not groups[0][0]:
            groups[0] = (pending, groups[0][1])
        elif groups and pending:
            return None
        pending = rest if groups else pending + rest
        for ids, wanted in groups:
            lengths.append(len(ids))
            if any(categories.setdefault(number, wanted) != wanted for number in ids):
                return None
    listed = set(lengths) == {1} and len(lengths) == len(categories) > 2
    if pending or not categories or not (first[1] or first[2] or listed):
        return None
    return [number for number, wanted in categories.items() if wanted]


def _by_category(sentence: str) -> tuple[list[tuple[list[str], bool]], list[str]]:
    """Return the ids before each category in a sentence with whether it is wanted, and the remaining ids.

    If there is only one category, it is that of all ids.
    """
    groups: list[tuple[list[str], bool]] = []
    ids: list[str] = []
    end = 0
    for match in _CATEGORISED.finditer(sentence):
        if number := match[1] or match[2]:
            ids.append(_plain(number))
        else:
            wanted = match[3] is not None and not _DENIED.search(sentence, end, match.start())
            groups.append((ids, wanted))
            ids = []
        end = match.end()
    if len(groups) == 1:
        return [(groups[0][0] + ids, groups[0][1])], []
    return groups, ids


def _ids_of(section: str) -> list[str] | None:
    """Return the ids in the section under a heading, or None if it has no list."""
    # If the ids follow on the heading's line, a later line with a label is another heading.
    if re.search(r"\d", section.partition("\n")[0]) and (label := _OWN_LABEL.search(section)):
        section = section[: label.start()]
    # The first paragraph, plus following ones that continue the list.
    listed = re.split(r"\n[ \t]*\n(?!\s{0,20}[-*•<\[(\d])", _CONTRASTED.sub("", section).strip(), maxsplit=1)[
        0
    ]
    rest = without_closing(listed)
    if LEADING_NONE.match(rest):
        return []  # numbers after it are explanation
    if ids := _in_brackets(rest):
        return ids
    plain = _PARENTHESIS.sub("", rest)
    if not re.search(r"\d", plain):
        plain = rest.translate({ord("("): ";", ord(")"): ";"})
    ids = _unique(
        number
        for piece in _PIECES.split(plain)
        for number in _numbers_of(piece)
        or re.findall(r"(?<!\d)\d+\b", LIST_MARK.sub("", piece), re.ASCII)[:1]
    )
    return ids if ids or not rest.strip(AROUND + "-•") else None


def _bare_list(answer: str) -> list[str] | None:
    text = without_closing(final_answer(answer).strip())
    lines = [line for line in text.split("\n") if line.strip()]
    two = len(lines) == 2 and not lines[0].rstrip().endswith(",") and "," in lines[0] + lines[1]
    if two and not LIST_MARK.match(text):
        text = lines[0]  # the two requested lists, without their headings
    if BARE_NONE.fullmatch(text):
        return []
    pieces = [piece for piece in _PIECES.split(text) if piece.strip(AROUND + "-•")]
    numbers = [_numbers_of(LIST_MARK.sub("", piece)) for piece in pieces]
    ids = _unique(chain.from_iterable(numbers))
    # A single list of studies, whose ids are long, may be of either category.
    if not ids or not all(numbers) or (not two and len(ids[0]) > _LONGEST_NUMBER):
        return None
    return ids


def _numbers_of(piece: str) -> list[str]:
    """Return the number in a list item, or all numbers in a range such as "1-4"; nothing for other words."""
    if only := _ONLY_NUMBER.fullmatch(piece):
        return [only[1]]
    match = _RANGE.fullmatch(piece)
    first, last = (int(match[1]), int(match[2])) if match else (0, -1)
    return [str(number) for number in range(first, last + 1)] if last - first < _WIDEST else []


def _in_brackets(text: str) -> list[str]:
    inside = (square or angled for square, angled in _BRACKETED.findall(text))
    return _unique(
        number
        for ids in inside
        for piece in _PIECES.split(_BROKEN.sub("", ids))
        for number in _numbers_of(piece)
    )


def _unique(numbers: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(_plain(number) for number in numbers))


def _plain(number: str) -> str:
    """Strip leading zeros; ``int`` is avoided because it rejects very long numbers."""
    return number.lstrip("0") or "0"


def attribution_labels(answer: Sequence[str]) -> set[str]:
    """Return the ids of the correct entries; empty if "None" is correct."""
    return {_plain(match[0]) for entry in answer if (match := re.search(r"\d+", entry, re.ASCII))}


def attribution_f1(ids: Sequence[str], labels: set[str]) -> F1:
    """Return the F1 of ids against labels; without labels, an empty answer is correct."""
    return _f1(set(ids), labels, says_none=not ids)


def listed_order(answer: str, n: int) -> tuple[list[str], bool]:
    """Return the option numbers that an answer lists, in order, and whether it is ambiguous.

    An answer is ambiguous if it gives several orders. An order of all n options is read by
    :func:`~long_context_tasks.schema.orders.committed_order`. Otherwise the longest run of numbers counts, or
    all numbers in square brackets if there is no run, unless they only recite the options as they are numbered.

    >>> listed_order("1. [3]\\n2. [1] (part 7)", 3), listed_order("Option 2 > Option 1", 2), listed_order("3 parts: first 2", 2)
    ((['3', '1'], False), (['2', '1'], False), ([], False))
    """
    plain = out_of_tables(unwrapped(answer))
    whole, ambiguous = committed_order(plain, n)
    if whole or ambiguous:
        return [str(number) for number in whole or ()], ambiguous
    plain = without_positions(without_closing(final_answer(plain)))
    longest = max((numbers for _, _, numbers in runs(plain)), key=len, default=[])
    if len(longest) > 1:
        return [str(number) for number in longest], False
    inside = _in_brackets(plain)
    return ([] if inside == [str(place) for place in range(1, n + 1)] else inside), False
