"""Variants of a case: where the accepted answer stands, what of the input is kept, what is left out.

Sections 4.5.1 (perplexity), 4.5.2 (position) and 4.5.4 (cut input) of the paper, and a memorisation probe of ours.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from long_context_tasks.schema import Case, InputError, Options, parse_length

POSITIONS = ("front", "mid", "rear")


def renamed(case: Case, case_id: str) -> Case:
    """The same case with another id."""
    return replace(case, id=case_id)


def with_tokens(case: Case, num_tokens: Mapping[str, int], length: int | None = None) -> Case:
    """The case with token counts, and with its length as a label."""
    labels = dict(case.labels) if length is None else {**case.labels, "length": length}
    return replace(case, num_tokens={**case.num_tokens, **num_tokens}, labels=labels)


def moved(case: Case, position: str) -> Case:
    """BestAnswer with the accepted answer at the front, in the middle or at the rear; the others keep their order."""
    answers = list(case.inputs["answers"])
    gold = int(str(case.turns[0].gold)[1:]) - 1
    target = {"front": 0, "mid": len(answers) // 2, "rear": len(answers) - 1}[position]
    answers.insert(target, answers.pop(gold))
    turn = replace(case.turns[0], gold=f"A{target + 1}")
    return replace(
        case,
        inputs={**case.inputs, "answers": answers},
        turns=(turn,),
        labels={**case.labels, "position": position},
    )


def apply(cases: Sequence[Case], variant: str, options: Options) -> list[Case]:
    """The cases as a variant wants them.

    Token counts are dropped where the prompt changes; ``data.load`` counts what is missing.

    Raises:
        InputError: the variant does not go with these cases.
    """
    kind = variant.removesuffix("_synthetic").removesuffix("synthetic")
    if kind in POSITIONS:
        return [replace(moved(case, kind), num_tokens={}) for case in cases]
    if kind == "nodoc":
        return [replace(case, inputs={**case.inputs, "question": None}, num_tokens={}) for case in cases]
    if match := re.fullmatch(r"cut(\w+)", kind):
        cut = {"tokens": parse_length(match[1]), "keep": options.cut_keep}
        return [
            replace(
                case, inputs={**case.inputs, "cut": cut}, labels={**case.labels, "cut": cut}, num_tokens={}
            )
            for case in cases
        ]
    if kind == "ppl":
        for case in cases:
            if "segments" not in case.inputs:
                raise InputError(
                    f"case {case.id}: a published TSort prompt does not tell its segments apart for the perplexity "
                    "variant; build cases with `lct build ada_leval_tsort` and give lct_cases, or use _ppl_synthetic"
                )
    return list(cases)
