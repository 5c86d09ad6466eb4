"""BestAnswer cases by requirements: the accepted answer meets all eight that the question states, every other one misses some.

The questions are the same at every length, and a longer case shows the answers of a shorter one and more. The asker adds sentences
that say nothing, so that a case is at most two per cent below its length. Answers stay as they were drawn: were one chosen
or changed for its length, the accepted one, which never is, would stand out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.counts import least_tokens
from long_context_tasks.benchmarks.ada_leval.settings import ConstraintSettings
from long_context_tasks.benchmarks.building import MadeCases, TaskReport, Work, write_task
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length
from long_context_tasks.synthetic.document import Growing, filled
from long_context_tasks.synthetic.forum import Requirements
from long_context_tasks.synthetic.wording import stream
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer


@dataclass(frozen=True)
class _Posed:
    """A question with its answers.

    Attributes:
        id: of the question.
        asked: what it requires.
        answers: in the order in which they are added, the accepted one first.
    """

    id: str
    asked: Requirements
    answers: Iterable[str]


def build_constraints(
    settings: ConstraintSettings, writer: CaseWriter, work: Work, *, name: str
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder; ``*`` in the name stands for the length.

    Args:
        settings: with a number of cases.
        writer: an open writer.
        work: how to work.
        name: of the tasks.

    Raises:
        InputError: a length that is too short for a question with two answers.
    """
    numbers = dict.fromkeys(settings.lengths, settings.n or 0)
    tasks = {length: name.replace("*", format_length(length)) for length in numbers}
    made = work.cases_by_length(writer, partial(_made, settings, tasks), numbers, f"writing {name}")
    return [
        write_task(writer, tasks[length], cases, settings, lambda case: 1 / len(case.inputs["answers"]), {})
        for length, cases in made.items()
    ]


def _made(
    settings: ConstraintSettings, tasks: Mapping[int, str], wanted: tuple[int, Sequence[int]]
) -> Mapping[int, MadeCases]:
    place, lengths = wanted
    tokenizer = settings.measure.fresh()
    asked = Requirements(stream(settings.seed, f"question {place}"))
    posed = _Posed(f"{settings.seed}_{place}", asked, Growing(map(asked.answer, count())))
    return {length: _case(settings, tokenizer, posed, tasks[length], length) for length in lengths}


def _case(
    settings: ConstraintSettings, tokenizer: Tokenizer, posed: _Posed, task: str, length: int
) -> MadeCases:

    def size(question: str, answers: Iterable[str]) -> int:
        return tokenizer.count_parts(prompts.bestanswer_parts(question, answers))

    texts: list[str] = []
    room = length - size(posed.asked.question(), ())
    for number, text in enumerate(posed.answers, start=1):
        room -= tokenizer.count_parts((f"A{number}", f":\n\n{text}{prompts.GAP}"))
        if room < 0:
            break
        texts.append(text)
    if len(texts) < 2:
        raise InputError(
            f"{task}: a question with two answers is longer than {length:,} tokens; ask for longer cases"
        )
    # Tokens may join otherwise in the whole.
    while size(posed.asked.question(), texts) > length:
        texts.pop()
    spot = stream(settings.seed, f"accepted {posed.id} {length}") % len(texts)
    numbers = [*range(1, spot + 1), 0, *range(spot + 1, len(texts))]
    shown = [texts[number] for number in numbers]
    least = least_tokens(length)
    question, tokens = filled(
        posed.asked.asides(),
        lambda added: posed.asked.question(" ".join(added)),
        lambda text: size(text, shown),
        least,
        length,
    )
    if tokens < least:
        raise InputError(f"{task}: question {posed.id} cannot be filled; give more or longer answers")
    asked = f"{posed.id}_{format_length(length)}"
    keys = [f"{posed.id}_{number}" for number in numbers]
    parts = prompts.bestanswer_parts(question, shown)
    named = {
        counter.name: counter
        for counter in (get_tokenizer(CL100K), settings.other_tokenizer)
        if counter is not None
    }
    case = Case(
        id=f"{posed.id}_A{spot + 1}",
        task=task,
        inputs={"question": asked, "answers": keys},
        turns=(Turn(gold=f"A{spot + 1}"),),
        cluster=posed.id,
        num_tokens={
            name: tokens if name == tokenizer.name else counter.fresh().count_parts(parts)
            for name, counter in named.items()
        },
        labels={"num_answers": len(shown), "length": length},
    )
    return MadeCases((case,), ((asked, question), *zip(keys, shown, strict=True)))
