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
_SUBSCRIPT = re.compile(r"(?<![A-Za-z0-9])A_\{?([0-9]{1,7})\}?")
_DESIGNATION = re.compile(r"(?<![A-Za-z0-9])A([1-9][0-9]{0,6})(?![A-Za-z0-9])")
# At the beginning of an answer, where it can mean nothing else: "a3", "A-3", "3".
_BEGINS_LOOSELY = re.compile(
    r"[\s*_`\"'(\[{<>#:.-]{0,20}(?:a[\s_#-]{0,2}|#|n[or]\.?\s|number\s)?([1-9][0-9]{0,6})(?=[\s*_`\"')\]}>]{0,9}(?:\Z|\n|[.,;:!(-](?!\d)|[–—]|because\b|since\b|as\b|is\b))",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"[\s*_`\"'(\[{<>#:.-]*(?:(?:is|in|it is|it's|its|answer|clearly|definitely)\s[\s*_`\"'(\[]*)?",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[*_`\"')\]]{0,6}\s?(?:吗)?\?")
"""After a designation that is only considered: "A1? No."."""
_SEPARATOR = re.compile(r"(?:[\s,;:/&|*_()\[\]+.\"'`{}-]|\b(?:and|or|both|as well as)\b)*", re.IGNORECASE)
# What a list of designations is followed by if its last one is the subject of a sentence, and so none of the list.
_GOES_ON = re.compile(
    r"[*_`)\]\"']{0,6}(?:\s{0,2}[:–—]\s*\w|\s-\s\w|"
    r"\s(?:is|was|does|has|only|just|lacks|misses|fails|gives|also|seems|comes|would|could|might|may)\b|['’]s\b)"
)
_AGAINST = re.compile(
    r"\b(?:not|n[o']t be|rather than|instead of|over|than|unlike|versus|vs\.?|compared (?:to|with)|beats|except|second(?: best)?|"
    r"runner-up|alternative|closest|worst|least helpful|excluding|dismiss(?:ed)?|reject(?:ed)?|eliminate[ds]?|neither|nor|followed by|"
    r"going to say|tempted by|considered|thought of)"
    r"(?:\s(?:is|are|be|the|to|would be))?[\s*_`:(\"']{1,5}"
    r"(A[0-9]{1,7}(?:(?:\s?,\s?|\s?,?\s(?:and|or|nor)\s|/)A[0-9]{1,7})*)(?![0-9])",
    re.IGNORECASE,
)
_MARKED = r"(?<![A-Za-z0-9])(A[0-9]{1,7})[*_`\"')\]]{0,4}"
_NAMED = r"[\s*_`\"'(\[:]{0,6}(A[0-9]{1,7})(?![A-Za-z0-9])"
_SURELY = r"(?:(?:clearly|by far|overall|therefore|thus|definitely|still|then|probably|actually|likely|much|even|also)\s)?"
_BEST = r"(?:most\s\w+|more\s(?:helpful|useful|complete|appropriate|relevant)|better(?!\sthan)|best|correct|right|strongest|clearest|winner)"
_SAID_BEST = rf"(?:the\s|my\s)?(?:(?:single|clear|overall)\s)?{_BEST}\b(?!\s(?:written|known|part|formatted|guess|popular|common))"
_CHOSEN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # "A3 is the most helpful", "A3: best"
        rf"{_MARKED}(?:\s(?:is|was|remains|stands out as|would be|wins|must be)\s{_SURELY}|\s?[:=–—-]\s?){_SAID_BEST}",
        # "A3 provides the most helpful response"
        rf"{_MARKED}\s(?:provides|offers|gives|contains|presents|appears to be|has)\s(?:\w+\s)?the\s(?:most|best|clearest)\b",
        rf"{_MARKED}\s(?:stands out|wins|takes it)\b",
        # "A3 > A1 > A2"
        rf"(?<!>)(?<!>\s){_MARKED}\s?>[\s*_`]{{0,3}}A[0-9]",
        # "While A1 is detailed, A3 answers the question"
        rf"\b(?:while|although|though|whereas)\b[^.\n]{{0,200}}?,\s{_MARKED}\s(?:directly|actually|fully|provides|gives|offers|"
        r"covers|explains|answers|addresses|does|goes)\b",
        # "I choose A3"
        r"\b(?:choose|choosing|chose|pick|picked|select|selected|take|go(?:ing)? (?:with|for)|went with|opt for|recommend|prefer|favou?r|"
        r"vote for|settle on|conclude|say|think|believe|submit|designate|designation|answer with)\b(?:\sthat)?"
        rf"(?:\s(?:answer|option|it is|it's|the designation|is))?{_NAMED}",
        # "the most helpful one is A3"
        rf"\b{_BEST}\b[^.\n:;]{{0,60}}?(?:\bis\b|\bwould be\b|:|=|→|->){_NAMED}",
        # "so it is A3"
        r"\b(?:it is|it's|that is|that's|which is|choice is|pick is|verdict is|hence|therefore|thus|so|finally|overall|in conclusion|"
        rf"final(?: answer)?)[,:]?{_NAMED}",
    )
)
_CORRECTED = re.compile(
    rf"\b(?:actually|correction|on second thoughts?|scratch that|on reflection|reconsidering|let me correct that)\b[^.\n]{{0,40}}?{_NAMED}[\s*_`.!)]{{0,9}}\Z",
    re.IGNORECASE,
)
_ALONE = re.compile(r"^[^\w\n]{0,12}(A[0-9]{1,7})[^\w\n]{0,12}$", re.MULTILINE)
_EXAMPLE = re.compile(r"\be\.\s?g\.,?\s?\"?A[0-9]{1,7}\b[^.\n]{0,60}", re.IGNORECASE)
_NONE = re.compile(r"\W{0,9}(?:none|neither(?!\sA[0-9])|no answer|n/a|nothing|no single)\b", re.IGNORECASE)


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
    plain = _SUBSCRIPT.sub(r"A\1", unwrapped(out_of_tables(text)))
    plain = _EXAMPLE.sub("", _SPELLED.sub(r"A\1", plain))
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
    if found[0][2] is None or _ASKED.match(span, found[0][1]):
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
    # Each line of a bare list is alone.
    alone = [] if begun.reason == AMBIGUOUS else alone
    first = _DESIGNATION.search(text)
    is_subject = first is not None and _GOES_ON.match(text, first.end()) is not None
    if begun.answer is not None and not (is_subject and len({*chosen, *alone}) == 1):
        return begun
    for answers in (alone, chosen):
        if len(set(answers)) == 1:
            return Strict(answers[0])
    if alone or chosen:
        return Strict(reason=AMBIGUOUS)
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


_LIST_BEFORE = re.compile(r"(A[0-9]{1,7})[\s*_`\"')\]]*(?:,|/|,?\s?(?:and|or|&))[\s*_`\"'(\[]*\Z")
_LIST_AFTER = re.compile(r"[\s*_`\"')\]]*(?:/|,?\s?(?:and|or|&))[\s*_`\"'(\[]*(A[0-9]{1,7})")
_DOUBT = re.compile(r"\b(?:whether|if|unless|that not|why)\W{1,3}\Z", re.IGNORECASE)


def _is_doubted(text: str, match: re.Match[str]) -> bool:
    """Whether a designation is one of several ("A1 or A3 is the best") or in doubt ("whether A3 is the best")."""
    before, after = text[max(0, match.start(1) - 14) : match.start(1)], text[match.end(1) : match.end(1) + 14]
    others = (_LIST_BEFORE.search(before), _LIST_AFTER.match(after))
    return any(other and other[1] != match[1] for other in others) or _DOUBT.search(before) is not None


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
