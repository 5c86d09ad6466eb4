"""Cases as attackers see them (:mod:`long_context_tasks.audit`): which of the values that a meeting brings up is right."""

import re
from collections.abc import Sequence
from functools import lru_cache, partial

from long_context_tasks.audit.challenge import Challenge
from long_context_tasks.benchmarks.elitr_bench.answers import INPUT
from long_context_tasks.schema import Case, Documents, InputError


def take_apart(case: Case, documents: Documents) -> list[Challenge]:
    """Return every turn of a case as attackers see it; the values stand in alphabetical order.

    Raises:
        InputError: the case does not say which values are right and wrong, as published ones do not.
    """
    if INPUT not in case.inputs:
        raise InputError(
            f"{case.task}: only cases that are made from a seed name their wrong values; audit those"
        )
    transcript = documents[case.inputs["transcript"]]
    found, subject = [], ""
    for turn, stated in zip(case.turns, case.inputs[INPUT], strict=True):
        values = sorted([stated["right"], *stated["wrong"]])
        right = values.index(stated["right"])
        mentions = tuple(_mentions(transcript, forms) for forms in values)
        last = max(mentions[right], default=len(transcript))
        subject = next(iter(_SUBJECT.findall(turn.question or "")), subject)
        found.append(
            Challenge(
                form="choice",
                context=transcript,
                query=f"{turn.question} {subject}",
                options=tuple(forms[0] for forms in values),
                gold=(right,),
                rests=(last / len(transcript),),
                write=partial(_value, values),
                mentions=mentions,
                rules={"settling words": settled},
                carrier="meetings",
            )
        )
    return found


def _value(values: Sequence[Sequence[str]], places: Sequence[int]) -> str:
    return values[places[0]][0]


def _mentions(text: str, forms: Sequence[str]) -> tuple[int, ...]:
    # A pattern that begins with a letter of one case is looked for much faster.
    starts = [
        (re.escape(form[0]), re.escape(form[1:]))
        for form in sorted(map(str.lower, forms), key=len, reverse=True)
    ]
    any_form = "|".join(rf"{first}(?<!\w{first}){rest}" for first, rest in starts)
    return tuple(match.start() for match in re.finditer(rf"(?:{any_form})(?!\w)", _lower(text)))


@lru_cache(maxsize=1)
def _lower(text: str) -> str:
    """Return a text in small letters, as long as it is: only one letter becomes two."""
    return text.replace("İ", "i").lower()


_SUBJECT = re.compile(r"the (?:(?!the )[^?\[\]])*?(?:\[PROJECT\d+\]|\b[A-Z][a-z]+)")
_SPEAKER = re.compile(r"^\((PERSON\d+)\) ", re.MULTILINE)
_REASON = re.compile(r"(?:thing|point|argument|hint|one) with the (?:\w+ )?(\w+)")
_PLACE = re.compile(r"\bthe (first|second|third|last) (?:one|idea|of)")
_KINDS = [
    re.compile(words, re.IGNORECASE)
    for words in (
        r"\bhow +(?:\w+ +)?(?:many|much)|money",
        r"\bwhom?\b|\bperson\b",
        r"\bwhen\b|deadline|day\b|what time|back online|due|date of",
    )
]
_PASSAGE = 1800
"""Characters of the talk in which a point comes up and is settled."""


def _asks(text: str) -> int:
    """The first of the kinds of questions of which a text has a word; their number for another one."""
    return next((place for place, words in enumerate(_KINDS) if words.search(text)), len(_KINDS))


def settled(challenge: Challenge) -> Sequence[int]:
    """Take the value to which the last words point that settle something near the subject: who said it, why, or which of four."""
    text, subject = challenge.context, _SUBJECT.findall(challenge.query)[-1:]
    heads = [word for word in re.findall(r"\w+", subject[0]) if len(word) > 3] if subject else []
    near = [match.start() for match in re.finditer(re.escape(heads[-1]), text)] if heads else []
    near = [
        at
        for at in near
        for line in [text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)]]
        if all(word in line for word in heads) and _asks(line) == _asks(challenge.query)
    ]
    if not near:
        return [0]
    said = [
        next((at for at in own if near[0] < at < near[0] + _PASSAGE), len(text)) for own in challenge.mentions
    ]
    order = sorted(range(len(said)), key=said.__getitem__)
    speakers = [(_SPEAKER.findall(text, 0, at) or [""])[-1] for at in said]
    reasons = [text[at : at + 120].split("\n")[0] for at in said]
    begin = max(at for at in [near[0], *said] if at < len(text))
    found = order[0]
    for start in [begin, *(at for at in near if at > begin)]:
        for line in text[start : start + 500].split("\n")[1:7]:
            words = _SPEAKER.sub("", line)
            named = [
                place
                for place, speaker in enumerate(speakers)
                if speaker and re.search(rf"\b{speaker}\b", words)
            ]
            why = [
                place
                for place, reason in enumerate(reasons)
                for one in _REASON.findall(words)
                if one in reason
            ]
            which = _PLACE.findall(words)
            left = [place for place in order if place not in named]
            one = named if len(named) == 1 else left if len(left) == 1 else why[:1]
            one = one or [order[("first", "second", "third", "last").index(place)] for place in which[:1]]
            if one:
                found = one[0]
                break
    return [found]
