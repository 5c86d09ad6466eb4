"""What a response takes back, sets aside and settles on: words and marks that all strict readers share, as data."""

import re

SETTLES = (
    r"final(?:ly|ised|ized)?|answers?|correct(?:ed|ion)?|revised|updated|combined|merged|included?|includes|kept|result(?:s|ing)?|"
    r"output|response|solution|conclusion|decision|therefore|thus|hence|so|overall|after (?:removing|dropping|excluding|correcting|checking)"
)
"""Words in a label that name the result."""
SETS_ASIDE = (
    r"exclu(?:ded?|ding|sions?)|(?:not|non)[ -](?:counted|included|people|persons?|participants?|count(?:s|ing)?|refer(?:ring|s)?|relevant|part)|nicht|non retenus?|不包括|排除|不算|don't count|ignor(?:ed|ing)|omit(?:ted|ting)?|left out|leave out|skipped|rejected|discarded|removed|disregard(?:ed)?|"
    r"explanations?|reason(?:s|ing)?|rationale|justifications?|notes?|comments?|details?|analysis|evidence|breakdown|drafts?|candidates?|"
    r"first (?:pass|guess|try|attempt)|second pass|initial(?:ly)?|preliminary|tentative|step|all numbers|for example|e\.g\."
)
"""Words in a label of what is not the answer: drafts, exclusions, explanations."""
TAKES_BACK = (
    r"\b(?:wait|hmm+|actually|correct(?:ion|ed)|let me (?:correct|check|try|re)|on second thoughts?|scratch that|on reflection|reconsidering|"
    r"(?:check|try|checking) again|double-check|not right|oops|sorry|my mistake|revised|no[,.]|strike that)|不对|更正"
)
"""Words between two answers with which the second replaces the first."""
PREFERS = r"(?<!not )\b(?:lean(?:ing)? towards?|prefer|favou?r|go with|choose|opt for|settle on)\b(?![\s\S]*\b(?:over|than|to)\W*\Z)"
"""Words between two answers with which the response chooses the second."""
DISJOINED = r"\A\W*(?:if|alternativ\w+|option|either|or|(?:strict|broad|narrow|wide|loose|literal|liberal)(?:er)?|reading|interpretation|version)\b"
"""For ``match``: a label of one of several answers between which the response does not choose."""

_STRUCK = re.compile(r"~~(?=\S)[^~\n]*~~|<(del|strike)>[^<\n]*</\1>", re.IGNORECASE)
_NEXT_TASK = re.compile(
    r"(?:\n|\A)[ \t]*(?:#{1,4}\s?(?:instruction|context|question|input|task|user|human)\b|(?:user|human|question|instruction)\s?:|"
    r"ID: \d+\s*\nTitle:[^\n]*\nAbstract)|(?<=[\w.)\]}*])(?-i:assistant|user)(?=\s*(?:\n|\Z))",
    re.IGNORECASE,
)


def without_retractions(text: str) -> str:
    """Leave out what is struck through, and further tasks or turns that a model makes up after its answer.

    >>> without_retractions("~~A1~~ A3"), without_retractions("A3\\n\\n### Instruction:\\nSort them."), without_retractions("A3assistant\\n")
    (' A3', 'A3\\n', 'A3')
    """
    text = _STRUCK.sub("", text)
    for task in _NEXT_TASK.finditer(text):
        if re.search(r"\w", text[: task.start()]):
            return text[: task.start()]
    return text


def takes_back(text: str) -> bool:
    """Whether a text between two answers makes the second replace the first.

    >>> takes_back("Wait, that is not right."), takes_back("or")
    (True, False)
    """
    return re.search(TAKES_BACK, text, re.IGNORECASE) is not None


def prefers(text: str) -> bool:
    """Whether a text between two answers chooses the second.

    >>> prefers("; I lean towards the former,"), prefers("or")
    (True, False)
    """
    return re.search(PREFERS, text, re.IGNORECASE) is not None


def settles(text: str) -> bool:
    """Whether a text has a word of :data:`SETTLES`, such as "Final"."""
    return re.search(rf"\b(?:{SETTLES})\b", text, re.IGNORECASE) is not None
