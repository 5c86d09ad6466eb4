"""Whether the numbers of an abstract count people or not."""

import re

from long_context_tasks.recast.carriers import Passage
from long_context_tasks.recast.quantities import MEASURE

_OTHERS_COUNTED = re.compile(
    r"\b(?:rats?|mice|mouse|rabbits?|dogs?|cats?|monkeys?|pigs?|hamsters?|animals?|trials|studies|articles|million)\b|https?:|\d/\d|\d ?[MF]\b|-case\b"
    r"|\b(?:hospitals?|questionnaires?|KHQ|charts?|cells?|neurones?|deaths?|infarctions?|revascularizations?|lesions?)\b[^.;()]{0,40}\(n ?=|CI[^()]{1,40}; n ?=",
    re.IGNORECASE,
)
"""Whose counts may be taken for those of people."""
_NO_PEOPLE = re.compile(
    r"(?:[ -][\w-]{1,30}){0,4}?[ -](?:cases?|families|twins|segments|leaflets|surgeries|thirds|mg|patient [a-z]{1,30}s)\b"
)
"""What a count of people may count instead: "two patient scenarios", "two thirds of children"."""
WHOLE_NUMBER = re.compile(r"(?<![\w.,/:$£€-])\d[\d,]*(?![\w]|[.,:/]\d)")
_THINGS = (
    "weeks?|months?|days?|years?|hours?|minutes?|times|trials?|stud(?:y|ies)|treatments?|drugs?|doses?|agents?|visits?|"
    "sessions?|phases?|periods?|parts?|types?|points?|measures?|scales?|factors?|cent(?:er|re)s?|sites?|hospitals?|countries|per ?cent|percent|"
    "methods?|tests?|items?|domains?|categories|regimens?|therapies|medications?|antidepressants?|compounds?|outcomes?|conditions?"
)
# A number in words, unless it counts one of these things.
_NUMBER_WORD = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\w+)?|hundred)\b"
    rf"(?!-)(?! (?:(?!(?:and|or|in|of|with|for|to|at|on|by|who|were|was|had|patients?|women|men|subjects?|participants?|volunteers?)\b)[\w-]+ ){{0,2}}?(?:{_THINGS})\b)|\b(?:both|one)\b(?= (?:\w+ ){{0,2}}?"
    r"(?:patients?|women|men|subjects?|cases?|others?|were|was|had|who|of|received|did|developed|completed|discontinued|with|without))",
    re.IGNORECASE,
)


def counts_are_clear(passage: Passage) -> bool:
    """Return whether every whole number counts people or measures something."""
    text = passage.text
    taken = [mention for mention in passage.mentions if mention.kind in ("count", "date")]
    if not any(mention.kind == "count" for mention in taken) or _OTHERS_COUNTED.search(text):
        return False

    def loose(start: int, end: int) -> bool:
        return not any(mention.start <= start and end <= mention.end for mention in taken)

    if any(mention.kind == "count" and _NO_PEOPLE.match(text, mention.end) for mention in taken):
        return False
    # A count with a per cent, or of a list, may be one of people.
    for match in WHOLE_NUMBER.finditer(text):
        if loose(*match.span()) and not MEASURE.match(text, match.end()):
            return False
    return not any(loose(*match.span()) for match in _NUMBER_WORD.finditer(text))
