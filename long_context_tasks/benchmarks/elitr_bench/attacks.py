"""Cases as attackers see them (:mod:`long_context_tasks.audit`): which of the values that a meeting brings up is right."""

import re
from collections.abc import Sequence
from functools import partial

from long_context_tasks.audit.challenge import Challenge
from long_context_tasks.benchmarks.elitr_bench.answers import INPUT
from long_context_tasks.schema import Case, Documents


def take_apart(case: Case, documents: Documents) -> list[Challenge]:
    """Return every turn of a case as attackers see it; the values stand in alphabetical order."""
    transcript = documents[case.inputs["transcript"]]
    found = []
    for turn, stated in zip(case.turns, case.inputs[INPUT], strict=True):
        values = sorted([stated["right"], *stated["wrong"]])
        right = values.index(stated["right"])
        mentions = tuple(_mentions(transcript, forms) for forms in values)
        last = max(mentions[right], default=len(transcript))
        found.append(
            Challenge(
                form="choice",
                context=transcript,
                query=turn.question or "",
                options=tuple(forms[0] for forms in values),
                gold=(right,),
                rests=(last / len(transcript),),
                write=partial(_value, values),
                mentions=mentions,
                carrier="meetings",
            )
        )
    return found


def _value(values: Sequence[Sequence[str]], places: Sequence[int]) -> str:
    return values[places[0]][0]


def _mentions(text: str, forms: Sequence[str]) -> tuple[int, ...]:
    any_form = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    return tuple(match.start() for match in re.finditer(rf"(?<!\w)(?:{any_form})(?!\w)", text, re.IGNORECASE))
