"""BestAnswer cases by requirements: the accepted answer meets all eight that the question states, every other one misses one.

The questions are the same at every length (recast: from 2k on), and a longer case shows the answers of a shorter one and more. The asker adds sentences
that say nothing, so that a case is at most two per cent below its length. Answers stay as they were drawn: were one chosen
or changed for its length, the accepted one, which never is, would stand out.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count, islice
from pathlib import Path
from random import Random

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.counts import least_tokens
from long_context_tasks.benchmarks.ada_leval.settings import ConstraintSettings
from long_context_tasks.benchmarks.building import MadeCases, TaskReport, Work, write_task
from long_context_tasks.corpora.stack_exchange import html_to_text, is_text_only, read_posts
from long_context_tasks.recast.carriers import recast_texts
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length
from long_context_tasks.synthetic.document import Growing, filled
from long_context_tasks.synthetic.forum import Requirements
from long_context_tasks.synthetic.wording import stream
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

_SHORTEST, _LONGEST = 60, 500  # characters of a real post; below 2k tokens fewer, for two answers to fit
_MOST_POSTS = 50_000  # read of a dump
_BLANK = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Posed:
    """A question with its answers.

    Attributes:
        id: of the question.
        asked: what it requires.
        question: the sentences that the asker adds to its text.
        answers: in the order in which they are added, the accepted one first.
    """

    id: str
    asked: Requirements
    question: Callable[[str], str]
    answers: Iterable[str]


def synthetic(settings: ConstraintSettings, place: int) -> Callable[[int], Posed]:
    """Return a question written from a seed, the same for each length."""
    asked = Requirements(stream(settings.seed, f"question {place}"))
    answers = Growing(map(asked.answer, count()))
    posed = Posed(f"{settings.seed}_{place}", asked, asked.question, answers)
    return lambda _: posed


def recast(folder: Path, settings: ConstraintSettings, place: int) -> Callable[[int], Posed]:
    """Return, for a length, a real question with requirements added to it, and real answers of any question with parts.

    Which real text the accepted part stands in is drawn as for any other, so that nothing but the parts tells it.

    Raises:
        InputError: no posts of the right size in the folder.
    """
    asked = Requirements(stream(settings.seed, f"question {place}"))

    def posed(length: int) -> Posed:
        questions, answers = _posts(folder, settings.seed, min(_LONGEST, length // 4))
        site, text = questions[place % len(questions)]
        order = Random(stream(settings.seed, f"answers {place}"))
        own = order.sample(answers[site], len(answers[site]))
        others = [text for name, texts in answers.items() if name != site for text in texts]
        real = (*own, *order.sample(others, len(others)))
        return Posed(
            f"{settings.seed}_{place}",
            asked,
            lambda added: f"\n{text}\n{asked.postscript(added)}",
            (f"\n{answer}\n{asked.reply(number)}" for number, answer in enumerate(real)),
        )

    return posed


_DUMPS = frozenset((".xml", ".jsonl", ".7z"))
"""Endings of dumps, also before .gz; other files beside them are passed over."""


@lru_cache(maxsize=4)  # all lengths from 2k on share one
def _posts(
    folder: Path, seed: int, longest: int
) -> tuple[Sequence[tuple[str, str]], Mapping[str, Sequence[str]]]:
    """Return the questions of all sites that are short enough, in random order with their sites, and such answers of each site, recast."""
    questions: list[tuple[str, str]] = []
    answers: dict[str, Sequence[str]] = {}
    for path in sorted(
        path for path in folder.iterdir() if _DUMPS & set(path.suffixes) and path.name[0] != "."
    ):
        posts = [
            (post["PostTypeId"] == "1", _BLANK.sub("\n", html_to_text(post["Body"])).strip())
            for post in islice(read_posts(path), _MOST_POSTS)
            if post.get("PostTypeId") in ("1", "2") and post.get("Body") and is_text_only(post["Body"])
        ]
        posts = [(asks, text) for asks, text in posts if _SHORTEST <= len(text) <= longest]
        texts = [one.text for one in recast_texts([text for _, text in posts], seed, path.name)]
        both = [(asks, text) for (asks, _), text in zip(posts, texts, strict=True)]
        if replies := [text for asks, text in both if not asks]:
            answers[path.name] = replies
            questions += [(path.name, text) for asks, text in both if asks]
    if not questions:
        raise InputError(
            f"{folder}: no short questions with answers in it; put dumps of forums there (Posts.xml)"
        )
    return Random(stream(seed, "questions")).sample(questions, len(questions)), answers


def build_constraints(
    posed: Callable[[ConstraintSettings, int], Callable[[int], Posed]],
    settings: ConstraintSettings,
    writer: CaseWriter,
    work: Work,
    *,
    name: str,
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder; ``*`` in the name stands for the length.

    Args:
        posed: settings and number of a question to a function that returns it for a length.
        settings: with a number of cases.
        writer: an open writer.
        work: how to work.
        name: of the tasks.

    Raises:
        InputError: a length that is too short for a question with two answers.
    """
    numbers = dict.fromkeys(settings.lengths, settings.n or 0)
    tasks = {length: name.replace("*", format_length(length)) for length in numbers}
    [made] = work.cases_by_length(
        [writer], partial(_made, posed, settings, tasks), numbers, f"writing {name}"
    )
    return [
        write_task(writer, tasks[length], cases, settings, lambda case: 1 / len(case.inputs["answers"]), {})
        for length, cases in made.items()
    ]


def _made(
    posed_of: Callable[[ConstraintSettings, int], Callable[[int], Posed]],
    settings: ConstraintSettings,
    tasks: Mapping[int, str],
    wanted: tuple[int, Sequence[int]],
) -> Mapping[int, Sequence[MadeCases]]:
    place, lengths = wanted
    tokenizer, posed = settings.measure.fresh(), posed_of(settings, place)
    return {length: [_case(settings, tokenizer, posed(length), tasks[length], length)] for length in lengths}


def _case(
    settings: ConstraintSettings, tokenizer: Tokenizer, posed: Posed, task: str, length: int
) -> MadeCases:

    def size(question: str, answers: Iterable[str]) -> int:
        return tokenizer.count_parts(prompts.bestanswer_parts(question, answers))

    texts: list[str] = []
    room = length - size(posed.question(""), ())
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
    while size(posed.question(""), texts) > length:
        texts.pop()
    spot = stream(settings.seed, f"accepted {posed.id} {length}") % len(texts)
    numbers = [*range(1, spot + 1), 0, *range(spot + 1, len(texts))]
    shown = [texts[number] for number in numbers]
    least = least_tokens(length)
    question, tokens = filled(
        posed.asked.asides(),
        lambda added: posed.question(" ".join(added)),
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
