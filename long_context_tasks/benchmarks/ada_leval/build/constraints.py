"""Build BestAnswer cases from a seed: only the accepted answer meets all eight requirements.

The questions are the same at every length, and a longer case shows all the answers of the shorter ones, plus
more. The asker adds content-free sentences, so that a case is within 2 % of its target length. Answers are
shown as drawn: if others were selected or edited for length, the accepted answer, which never is, would stand
out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.building import (
    MadeCases,
    TaskReport,
    Work,
    least_tokens,
    write_task,
)
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.schema import Case, InputError, Turn, format_length
from long_context_tasks.synthetic.document import Growing, filled
from long_context_tasks.synthetic.forum import Requirements
from long_context_tasks.synthetic.wording import stream
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.ada_leval.builders import ConstraintSettings


@dataclass(frozen=True)
class _Question:
    id: str
    requirements: Requirements
    answers: Iterable[str]  # in the order in which they are added, the accepted one first


def build_constraints(
    tasks: Mapping[int, str], settings: "ConstraintSettings", folder: Path, work: Work
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder; ``tasks`` maps each length to a task name."""
    options = {**asdict(settings), "source": None, "card_version": card("ada_leval").version}
    numbers = dict.fromkeys(settings.lengths, settings.n or 0)
    with work.writer(folder, options) as writer:
        made = work.cases_by_length(
            writer, partial(_made, settings, tasks), numbers, f"writing cases of {len(tasks)} lengths"
        )
        return [
            write_task(
                writer, tasks[length], cases, settings, lambda case: 1 / len(case.inputs["answers"]), {}
            )
            for length, cases in made.items()
        ]


def _made(
    settings: "ConstraintSettings", tasks: Mapping[int, str], wanted: tuple[int, Sequence[int]]
) -> Mapping[int, MadeCases]:
    place, lengths = wanted
    # Cached counts of one question's answers are useless for the next.
    tokenizer = settings.measure.fresh()
    requirements = Requirements(stream(settings.seed, f"question {place}"))
    question = _Question(f"{settings.seed}_{place}", requirements, Growing(map(requirements.answer, count())))
    return {length: _case(settings, tokenizer, question, tasks[length], length) for length in lengths}


def _case(
    settings: "ConstraintSettings", tokenizer: Tokenizer, asked: _Question, task: str, length: int
) -> MadeCases:
    def size(question: str, answers: Iterable[str]) -> int:
        return tokenizer.count_parts(prompts.bestanswer_parts(question, answers))

    texts: list[str] = []
    room = length - size(asked.requirements.question(), ())
    for number, text in enumerate(asked.answers, start=1):
        room -= tokenizer.count_parts((f"A{number}", f":\n\n{text}{prompts.GAP}"))
        if room < 0:
            break
        texts.append(text)
    if len(texts) < 2:
        raise InputError(
            f"{task}: a question with two answers is longer than {length:,} tokens; ask for longer cases"
        )
    # Tokens at the borders of parts may merge in the whole prompt.
    while size(asked.requirements.question(), texts) > length:
        texts.pop()
    # The position depends on the length, so that a model cannot learn it from shorter cases.
    spot = stream(settings.seed, f"accepted {asked.id} {length}") % len(texts)
    numbers = [*range(1, spot + 1), 0, *range(spot + 1, len(texts))]
    shown = [texts[number] for number in numbers]
    least = least_tokens(length)
    question, tokens = filled(
        asked.requirements.asides(),
        lambda added: asked.requirements.question(" ".join(added)),
        lambda text: size(text, shown),
        least,
        length,
    )
    if tokens < least:
        raise InputError(f"{task}: question {asked.id} cannot be filled; give more or longer answers")
    keys = [f"{asked.id}_{number}" for number in numbers]
    question_key = f"{asked.id}_{format_length(length)}"
    counters = (get_tokenizer(CL100K), settings.other_tokenizer)
    case = Case(
        id=f"{asked.id}_A{spot + 1}",
        task=task,
        inputs={"question": question_key, "answers": keys},
        turns=(Turn(gold=f"A{spot + 1}"),),
        cluster=asked.id,
        num_tokens={
            counter.name: tokens
            if counter.name == tokenizer.name
            else counter.fresh().count_parts(prompts.bestanswer_parts(question, shown))
            for counter in counters
            if counter is not None
        },
        labels={"num_answers": len(shown), "length": length},
    )
    return MadeCases((case,), ((question_key, question), *zip(keys, shown, strict=True)))
