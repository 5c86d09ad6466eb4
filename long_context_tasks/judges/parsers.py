r"""Reading the score out of a judge's reply: the official rules, and repaired ones under names of their own.

The official rules (ELITR-Bench, its GPT-4 and Prometheus scripts) take the first match, wherever it is, and know no scale. A judge that quotes the response before it judges it can so be made to give the response's own "Score: \boxed{10}". The
repaired rules read the last score only, and only when it closes the reply, as the judge prompts demand ("first the feedback,
then the score, no other closing"). Where an earlier score differs, the last one must open a sentence or a line, or follow its
label: a score in the middle of a sentence may be a quotation. Nothing else is taken for a score, so that a doubtful reply is asked
again and not guessed at. All of them see the reply and nothing else.
"""

import re
from collections.abc import Callable

Parse = Callable[[str], "float | None"]

NO_BOX = "-1"
NO_RESULT = "-2"
_OFFICIAL_BOX = re.compile(r"\\boxed{(\d+)}")
_OFFICIAL_RESULT = re.compile(r"\[RESULT\] (\d+)")
_JOINED = re.compile(r"\}[\s$]{0,4}(?:[-–—/~]|or|to|and)[\s$]{0,4}\Z", re.IGNORECASE)

# \boxed, also with the backslash doubled, or read as a backspace or lost on the way through JSON.
_BOX = re.compile(r"\\[bB]oxed|\\fbox|\x08oxed|(?<![A-Za-z\\])boxed(?=\s{0,9}\{)")
_IN_BOX = re.compile(r"\s*\{\s*(?:\\(?:text|textbf|mathrm|mathbf|bf)\s*\{([^{}]{0,40})\}|([^{}]{0,40}))\s*\}")
_RESULT = re.compile(r"\[\s{0,9}RESULT\s{0,9}\]", re.IGNORECASE)
_AFTER_RESULT = re.compile(
    r"[\s:*_]{0,20}(?:Score[\s:*_]{1,9})?[(\[{]?\s{0,9}([-+]?\d{1,9}(?:[.,]\d{1,9})?)",
    re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(r"\s*(\d{1,9})(?:[.,](\d{1,9}))?(?:\s*/\s*(\d{1,9}))?\s*", re.ASCII)
_END = re.compile(r"(?:[\s.!$*_)\]}\\]|</s>|<\|[a-z_]{1,30}\|>)*\Z")
_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s|(?:\*\*)?(?:Feedback|Response|Question)\b[^\n]{0,40}:)", re.M | re.I
)
# What a verdict stands behind: a new line, a new sentence, or its label.
_OPENS_VERDICT = re.compile(
    r"(?:\A|\n|[.!?][\"')*_]{0,3}\s|\b(?:score|rating|grade|verdict)(?:\s+is)?\s*[:=]?)[\s*_$>#(\\\[-]{0,9}\Z",
    re.IGNORECASE,
)
_THINKING = "<think>", "</think>"


def official_boxed(reply: str) -> str:
    r"""Return the stored score of the official GPT judge: the first ``\boxed{digits}`` as it stands, "-1" without one.

    >>> official_boxed(r"It says \boxed{10}. Wrong. \boxed{02}"), official_boxed(r"\boxed{ 7 }")
    ('10', '-1')
    """
    match = _OFFICIAL_BOX.search(reply)
    return match[1] if match else NO_BOX


def official_result(reply: str) -> str:
    """Return the stored score of the official Prometheus judge: the first ``[RESULT] digits`` doubled, "-2" without one.

    >>> official_result("Feedback: good. [RESULT] 4"), official_result("[RESULT]: 4")
    ('8', '-2')
    """
    match = _OFFICIAL_RESULT.search(reply)
    try:
        return str(2 * int(match[1])) if match else NO_RESULT
    except ValueError:
        # More digits than Python turns into a number; the official script would stop.
        return NO_RESULT


def last_boxed(low: float, high: float, *, decimals: bool = False, closing: bool = True) -> Parse:
    r"""Return a parser that reads the last ``\boxed{number}`` of a reply, when it is in the scale.

    The last box decides: when it is broken, a range ("8-9") or outside the scale, no earlier box replaces it.

    >>> parse = last_boxed(1, 10)
    >>> parse(r"It says \boxed{10}. Wrong. Score: \boxed{2}"), parse(r"It says \boxed{10}, which is wrong.")
    (2.0, None)

    Args:
        low: lower end of the scale.
        high: upper end.
        decimals: whether 8.5 is a score; 8.0 always is.
        closing: whether nothing may follow but punctuation and "out of 10". Without it text may follow (some judges
            explain afterwards), though no heading; then a quoted box counts when the judge gives none of its own.
    """
    return _last_score(_BOX, _IN_BOX, low, high, decimals, closing)


def last_result(low: float, high: float, *, decimals: bool = False, closing: bool = True) -> Parse:
    """Return a parser that reads the last ``[RESULT] number`` of a reply (Prometheus), when it is in the scale; undoubled.

    >>> parse = last_result(1, 5)
    >>> parse("It says [RESULT] 5. Wrong. [RESULT] (1)"), parse("[RESULT] 4.5"), parse("[RESULT] 4/5")
    (1.0, None, 4.0)

    The arguments are those of :func:`last_boxed`.
    """
    return _last_score(_RESULT, _AFTER_RESULT, low, high, decimals, closing)


def _last_score(
    mark: re.Pattern[str], number: re.Pattern[str], low: float, high: float, decimals: bool, closing: bool
) -> Parse:
    """Return a parser of the number behind the last mark."""

    def parse(reply: str) -> float | None:
        text = _without_thinking(reply)
        marks = list(mark.finditer(text))
        found = number.match(text, marks[-1].end()) if marks else None
        if found is None:
            return None
        start = marks[-1].start()
        if mark is _BOX and _JOINED.search(text[max(0, start - 14) : start]):
            return None
        value = _value(_group(found), low, high, decimals)
        matches = [number.match(text, each.end()) for each in marks[:-1]]
        earlier = {_value(_group(match), low, high, decimals) for match in matches if match}
        if _contradicted(earlier, value, text[:start]):
            return None
        return _closed(text[found.end() :], value, high, closing)

    return parse


def _group(match: re.Match[str]) -> str:
    return str(match[match.lastindex or 0])


def _without_thinking(reply: str) -> str:
    """Return what follows the thinking at the beginning of a reply; thinking that never ends holds no verdict."""
    opening, ending = _THINKING
    if not reply.lstrip().startswith(opening):
        return reply
    return reply.partition(ending)[2]


def _value(text: str, low: float, high: float, decimals: bool) -> float | None:
    match = _NUMBER.fullmatch(text)
    if match is None or (match[3] is not None and float(match[3]) != high):
        return None
    value = float(f"{match[1]}.{match[2] or 0}")
    whole = value == int(value)
    return value if low <= value <= high and (whole or decimals) else None


def _contradicted(earlier: set[float | None], last: float | None, before: str) -> bool:
    r"""Whether an earlier score differs and the last is in the middle of a sentence, as a quotation is.

    >>> _contradicted({2.0}, 10.0, r"\boxed{2} The response ended with "), _contradicted({10.0}, 2.0, "It is wrong. Score: ")
    (True, False)
    """
    return bool(earlier - {None, last}) and _OPENS_VERDICT.search(before) is None


def _closed(rest: str, value: float | None, high: float, closing: bool) -> float | None:
    """The value, unless what follows it shows that it is not the verdict."""
    scale = re.match(
        rf"[)\]}}*$]{{0,3}}\s{{0,3}}(?:/|out of)\s{{0,3}}{high:g}(?!\w|[.,]\d)",
        rest,
        re.IGNORECASE | re.ASCII,
    )
    if scale:
        rest = rest[scale.end() :]
    elif re.match(r"\s{0,3}(?:[-–—/~]|out of|to|or|and)\s{0,3}\\{0,3}[\d({b]", rest, re.IGNORECASE):
        return None  # "8-9", "4/10" on another scale
    if _END.match(rest):
        return value
    return None if closing or _HEADING.search(rest) else value
