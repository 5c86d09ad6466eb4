r"""Reading the score out of a judge's reply: the official rules, and repaired ones under names of their own.

The official rules (ELITR-Bench, its GPT-4 and Prometheus scripts) take the first match, wherever it is, and know no scale. A judge that quotes the response before it judges it can so be made to give the response's own "Score: \boxed{10}". The
repaired rules read the last score only, and only when it closes the reply, as the judge prompts demand ("first the feedback,
then the score, no other closing"). Where an earlier score differs, the last one must open a sentence or a line, or follow its
label: a score in the middle of a sentence may be a quotation. Nothing else is taken for a score, so that a doubtful reply is asked
again and not guessed at. All of them see the reply and nothing else.
"""

import re
from collections.abc import Callable

from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.schema.wrappers import narrow

Parse = Callable[[str], "float | None"]

NO_BOX = "-1"
NO_RESULT = "-2"
_OFFICIAL_BOX = re.compile(r"\\boxed{(\d+)}")
_OFFICIAL_RESULT = re.compile(r"\[RESULT\] (\d+)")
_JOINED = re.compile(r"\}[\s$]{0,4}(?:[-–—/~]|or|to|and)[\s$]{0,4}\Z", re.IGNORECASE)

# \boxed, also with the backslash doubled, or read as a backspace or lost on the way through JSON.
_BOX = re.compile(r"\\[bB]oxed|\\fbox|\x08oxed|(?<![A-Za-z\\])boxed(?=\s{0,9}\{)")
_IN_BOX = re.compile(
    r"\s*\{\s*(?!\s)(?:\\(?:text|textbf|mathrm|mathbf|bf)\s*\{([^{}]{0,40})\}|([^{}]{0,40}))\s*\}"
)
_RESULT = re.compile(r"\[\s{0,9}RESULT\s{0,9}\]", re.IGNORECASE)
_AFTER_RESULT = re.compile(
    r"[\s:*_]{0,20}(?:Score[\s:*_]{1,9})?[(\[{]?\s{0,9}([-+]?\d{1,9}(?:[.,]\d{1,9})?)",
    re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(r"\s*(\d{1,9})(?:[.,](\d{1,9}))?(?:\s*/\s*(\d{1,9}))?\s*", re.ASCII)
# Punctuation, end-of-turn tokens, closing tags, "points".
_END = re.compile(r"(?:[\s.!$*_)\]}\\]|</?[a-z_|｜▁ ]{1,30}>|-{3,}(?!-)|\bpoints?\b)*\Z", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`\\\[]*$", re.MULTILINE)
_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s|(?:\*\*)?(?:Feedback|Response|Question)\b[^\n]{0,40}:)", re.M | re.I
)
# What a verdict stands behind: a new line, a new sentence, or its label.
_OPENS_VERDICT = re.compile(
    r"(?:\A|\n|[.!?][\"')*_]{0,3}\s|\b(?:score|rating|grade|verdict)(?:\s+is)?\s*[:=]?)[\s*_$>#(\\\[-]{0,9}\Z",
    re.IGNORECASE,
)
# "8-9", "4/10" on another scale.
_GOES_ON = re.compile(r"\s{0,3}(?:[-–—/~]|out of|to|or|and)\s{0,3}\\{0,3}[\d({b]", re.IGNORECASE)


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
    out_of = rf"[)\]}}*$]{{0,3}}\s{{0,3}}(?:/|out of)\s{{0,3}}{high:g}(?!\w|[.,]\d)"

    def value_of(match: re.Match[str]) -> float | None:
        found = _NUMBER.fullmatch(match[match.lastindex or 0])
        if found is None or (found[3] is not None and float(found[3]) != high):
            return None
        value = float(f"{found[1]}.{found[2] or 0}")
        return value if low <= value <= high and (decimals or value == int(value)) else None

    def parse(reply: str) -> float | None:
        answer = without_thinking(reply)
        # A mark inside a reply is a quotation; thinking that begins it and never ends holds no verdict.
        quoted = answer.unclosed and answer.text.strip()
        text = _FENCE.sub("", narrow(reply if quoted else answer.text))
        marks = list(mark.finditer(text))
        found = number.match(text, marks[-1].end()) if marks else None
        if found is None:
            return None
        before, rest = text[: marks[-1].start()], text[found.end() :]
        if before.endswith("`") and rest.startswith("`") and _OPENS_VERDICT.search(before.rstrip("`")):
            before, rest = before.rstrip("`"), rest.lstrip("`")
        if mark is _BOX and _JOINED.search(before[-14:]):
            return None
        value = value_of(found)
        earlier = {value_of(match) for each in marks[:-1] if (match := number.match(text, each.end()))}
        # Where an earlier score differs, one in the middle of a sentence may be a quotation.
        if earlier - {None, value} and _OPENS_VERDICT.search(before) is None:
            return None
        if scale := re.match(out_of, rest, re.IGNORECASE | re.ASCII):
            rest = rest[scale.end() :]
        elif _GOES_ON.match(rest):
            return None
        if _END.match(rest):
            return value
        return None if closing or _HEADING.search(rest) else value

    return parse
