"""What a response commits to: the repaired rules, behind ``strict_accuracy``. They see a response without its thinking."""

import re
from collections.abc import Set
from dataclasses import dataclass

from long_context_tasks.schema.orders import committed_order
from long_context_tasks.schema.response import AMBIGUOUS, EMPTY, REFUSED, UNPARSED, is_refusal
from long_context_tasks.schema.wrappers import labelled, out_of_tables, unwrapped


@dataclass(frozen=True)
class Strict:
    """What a response commits to, or why it commits to nothing: ``empty``, ``refused``, ``unparsed``, ``ambiguous``."""

    answer: object = None
    reason: str | None = None


_Candidate = tuple[int, int, object]
"""Start, end and answer of what may be the response's choice; None for an answer that does not exist."""

_SPELLED = re.compile(
    r"\b(?:answer|option|response|choice|candidate|designation)\s{1,2}(?:(?:number|no\.|#)\s?)?[#\[(*]{0,3}A?[ -]?([0-9]{1,7})(?![\w.]\d|\w)",
    re.IGNORECASE | re.ASCII,
)
_DESIGNATION = re.compile(r"(?<![A-Za-z0-9])A([1-9][0-9]{0,6})(?![A-Za-z0-9])")
# At the beginning of an answer, where it can mean nothing else: "a3", "A-3", "3".
_BEGINS_LOOSELY = re.compile(
    r"[\s*_`\"'(\[{<>#:.-]{0,20}(?:a[\s_#-]{0,2}|#)?([1-9][0-9]{0,6})(?=[\s*_`\"')\]}>]{0,9}(?:\Z|\n|[.,;:!(-](?!\d)|[–—]|because\b|since\b|as\b|is\b))",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"[\s*_`\"'(\[{<>#:.-]*(?:(?:is|in|it is|it's|its|answer|clearly|definitely)\s[\s*_`\"'(\[]*)?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"(?:[\s,;:/&|*_()\[\]+.\"'`{}-]|\b(?:and|or|both|as well as)\b)*", re.IGNORECASE)
# What a list of designations is followed by if its last one is the subject of a sentence, and so none of the list.
_GOES_ON = re.compile(
    r"[*_`)\]\"']{0,6}(?:\s{0,2}[:–—]\s*[^\W\d_]|\s-\s[^\W\d_]|\s(?:is|was|does|has|only|just|lacks|misses|fails|gives|also|seems|comes|would|could|might|may)\b|['’]s\b)"
)
_AGAINST = re.compile(
    r"\b(?:not|n[o']t be|rather than|instead of|over|than|unlike|versus|vs\.?|compared (?:to|with)|beats|except|second(?: best)?|runner-up|"
    r"alternative|closest|worst|least helpful|excluding|dismiss(?:ed)?|reject(?:ed)?|eliminate[ds]?|neither|nor|followed by)"
    r"(?:\s(?:is|are|be|the|to|would be))?[\s*_`:(\"']{1,5}"
    r"(A[0-9]{1,7}(?:(?:\s?,\s?|\s?,?\s(?:and|or|nor)\s|/)A[0-9]{1,7})*)(?!\d)",
    re.IGNORECASE,
)
_BEST = r"(?:(?:most|more)\s(?:helpful|useful|complete|appropriate|relevant)|best|correct|right|winner)"
_NAMED = r"[\s*_`\"'(\[:]{0,6}(A[0-9]{1,7})(?![A-Za-z0-9])"
_CHOSEN = (
    # "A3 is the most helpful", "A3: best"
    re.compile(
        rf"(?<![A-Za-z0-9])(A[0-9]{{1,7}})[*_`\"')\]]{{0,4}}(?:\s(?:is|was|remains|stands out as|would be|wins|must be)\s(?:(?:clearly|by far|overall|therefore|thus|definitely|"
        rf"still|then|probably|actually|likely)\s)?|\s?[:=–—-]\s?)(?:the\s|my\s)?(?:single\s|clear\s|overall\s)?{_BEST}\b(?!\s(?:written|known|part|formatted|guess at))",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<![A-Za-z0-9])(A[0-9]{1,7})[*_`\"')\]]{0,4}\s(?:stands out|wins|takes it)\b", re.IGNORECASE
    ),
    # "I choose A3", "the most helpful one is A3", "it is A3"
    re.compile(
        r"(?:\b(?:choose|choosing|chose|pick|picked|select|selected|take|go(?:ing)? (?:with|for)|went with|opt for|recommend|prefer|favou?r|"
        r"vote for|settle on|conclude(?: that)?(?: it is)?|say|think|believe|submit|designate|designation|answer with)\b"
        rf"(?:\s(?:answer|option|it is|it's|the designation|is))?|\b{_BEST}\b[^.\n:;]{{0,60}}?(?:\bis\b|\bwould be\b|:|=|→|->)|\b(?:it is|it's|that is|that's|which is|"
        rf"choice is|pick is|verdict is|hence|therefore|thus|so|finally|overall|in conclusion|final(?: answer)?)[,:]?){_NAMED}",
        re.IGNORECASE,
    ),
)
_CORRECTED = re.compile(
    rf"\b(?:actually|correction|on second thoughts?|scratch that|on reflection|reconsidering|let me correct that)\b[^.\n]{{0,40}}?{_NAMED}[\s*_`.!)]{{0,9}}\Z",
    re.IGNORECASE,
)
_ALONE = re.compile(r"^[^\w\n]{0,12}(A[0-9]{1,7})[^\w\n]{0,12}$", re.MULTILINE)
_EXAMPLE = re.compile(r"\be\.\s?g\.,?\s?\"?A[0-9]{1,7}\b[^.\n]{0,60}", re.IGNORECASE)
_NONE = re.compile(r"\W{0,9}(?:none|neither|no answer|n/a|nothing|no single)\b", re.IGNORECASE)


def extract_bestanswer_strict(text: str, num_choice: int) -> Strict:
    """Return the designation that a response commits to.

    A designation is a whole word A1..An, or a number where nothing else can be meant ("3", "Answer 3"). In this order:

    1. The last label ("Answer:", "The most helpful answer is") that a designation follows at once.
    2. The designation that the response begins with, whatever is said of others afterwards ("A1, not A12"), unless a sentence
       later chooses another ("A1 is vague. A3 is the most helpful."). A correction at the end counts instead.
    3. The designation that stands alone in a line, or that sentences choose ("I pick A3 over A1").
    4. The only one that is named, except those that are ruled out ("rather than A1").

    A bare list of designations ("A1, A2", "A1 or A2", one in each line) chooses none, and neither do two different choices. A
    designation beyond An at the beginning chose no answer; elsewhere such words ("the A4 sheet") count for nothing.

    >>> [extract_bestanswer_strict(text, 12).answer for text in ("A1, not A12", "Answer: A3, A1 is off", "I like NASA1", "7.")]
    ['A1', 'A3', None, 'A7']
    """
    if not text.strip():
        return Strict(reason=EMPTY)
    plain = _EXAMPLE.sub("", _SPELLED.sub(r"A\1", unwrapped(out_of_tables(text))))
    spans = labelled(plain)
    for span in spans:
        if (found := _beginning(span, num_choice)).reason != UNPARSED:
            return found
    for span in [*(span for span in spans if not _NONE.match(span)), plain]:
        if (found := _choice(span.strip(), num_choice)).reason != UNPARSED:
            return found
    return Strict(reason=REFUSED if is_refusal(plain) else UNPARSED)


def _named(text: str, num_choice: int) -> list[_Candidate]:
    return [
        (match.start(), match.end(), match[0] if int(match[1]) <= num_choice else None)
        for match in _DESIGNATION.finditer(text)
    ]


def _beginning(span: str, num_choice: int) -> Strict:
    """Return the designation that a span begins with; ambiguous if that begins a bare list, unparsed without any."""
    found = _named(span, num_choice)
    opening = _OPENING.match(span)
    if not (found and opening and found[0][0] <= opening.end()):
        loose = _BEGINS_LOOSELY.match(span)
        chosen = loose is not None and int(loose[1]) <= num_choice
        return Strict(f"A{loose[1]}") if loose is not None and chosen else Strict(reason=UNPARSED)
    if found[0][2] is None:
        return Strict(reason=UNPARSED)
    listed = [found[0]]
    for candidate in found[1:]:
        if not _SEPARATOR.fullmatch(span, listed[-1][1], candidate[0]):
            break
        listed.append(candidate)
    if (
        _GOES_ON.match(span, listed[-1][1])
        and len(listed) > 1
        and not _joined(span, listed[-2][1], listed[-1][0])
    ):
        listed.pop()
    different = {answer for _, _, answer in listed if answer is not None}
    return Strict(found[0][2]) if len(different) == 1 else Strict(reason=AMBIGUOUS)


def _joined(span: str, start: int, end: int) -> bool:
    """Whether "and" or "or" joins two designations to one subject: "A1 and A2 are good"."""
    return re.search(r"\b(?:and|or)\b|&", span[start:end]) is not None


def _choice(text: str, num_choice: int) -> Strict:
    """Return what a text chooses; unparsed without any choice."""
    begun = _beginning(text, num_choice)
    ruled_out = {
        match.start(1) + each.start()
        for match in _AGAINST.finditer(text)
        for each in re.finditer("[Aa][0-9]", match[1])
    }

    def designations(*patterns: re.Pattern[str]) -> list[str]:
        matches = [match for pattern in patterns for match in pattern.finditer(text)]
        numbers = [int(m[1][1:]) for m in matches if m.start(1) not in ruled_out and not _is_doubted(text, m)]
        return [f"A{number}" for number in numbers if 0 < number <= num_choice]

    if corrected := designations(_CORRECTED):
        return Strict(corrected[-1])
    alone, chosen = designations(_ALONE), designations(*_CHOSEN)
    first = _DESIGNATION.search(text)
    is_subject = first is not None and _GOES_ON.match(text, first.end()) is not None
    if begun.answer is not None and not (is_subject and len({*chosen, *alone}) == 1):
        return begun
    # Each line of a bare list stands alone.
    for answers in (chosen,) if begun.reason == AMBIGUOUS else (alone, chosen):
        if answers:
            return Strict(answers[0]) if len(set(answers)) == 1 else Strict(reason=AMBIGUOUS)
    return begun if begun.reason == AMBIGUOUS else _only_one(text, num_choice, ruled_out)


def _only_one(text: str, num_choice: int, ruled_out: Set[int]) -> Strict:
    """Return the only designation that is named and not ruled out."""
    found, opening = _named(text, num_choice), _OPENING.match(text)
    named = [start for start, _, answer in found if answer is not None]
    chose_none = bool(found and opening) and found[0][0] <= opening.end() and found[0][2] is None  # type: ignore[union-attr]
    if not named or chose_none or _NONE.match(text) or is_refusal(text):
        return Strict(reason=UNPARSED)
    left = {answer for start, _, answer in found if answer is not None and start not in ruled_out}
    return Strict(left.pop()) if len(left) == 1 else Strict(reason=AMBIGUOUS)


def _is_doubted(text: str, match: re.Match[str]) -> bool:
    """Whether a designation is one of several ("A1 or A3 is the best") or in doubt ("whether A3 is the best")."""
    before, after = text[max(0, match.start(1) - 14) : match.start(1)], text[match.end(1) : match.end(1) + 14]
    return bool(
        re.search(r"A[0-9]{1,7}[\s*_`\"')\]]*(?:,|/|,?\s?(?:and|or|&))[\s*_`\"'(\[]*\Z", before)
        or re.search(r"\b(?:whether|if|unless|that not|why)\W{1,3}\Z", before, re.IGNORECASE)
        or re.match(r"[\s*_`\"')\]]*(?:/|,?\s?(?:and|or|&))[\s*_`\"'(\[]*A[0-9]", after)
    )


def extract_tsort_strict(text: str, n: int) -> Strict:
    """Return the order that a response commits to: a permutation of 1..n and nothing less; see :mod:`long_context_tasks.schema.orders`.

    >>> [extract_tsort_strict(text, 4).answer for text in ("Answer: [2, 1, 4, 3]", "Part 2 -> Part 1 -> Part 3 -> Part 4", "[2]")]
    [[2, 1, 4, 3], [2, 1, 3, 4], None]
    """
    if not text.strip():
        return Strict(reason=EMPTY)
    plain = out_of_tables(unwrapped(text, json_lists=False))
    order, ambiguous = committed_order(plain, n)
    if order is None:
        return Strict(reason=AMBIGUOUS if ambiguous else REFUSED if is_refusal(plain) else UNPARSED)
    return Strict(order)
