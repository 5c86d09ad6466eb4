"""Cases of BestAnswer from forum posts, written into a case folder; ``bestanswer_choice`` has the rules."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.choice import (
    BestAnswerPlan,
    BestAnswerSettings,
    Chooser,
    Chosen,
    choose_questions,
    shuffled,
)
from long_context_tasks.benchmarks.ada_leval.build.fit import filled_question, least_tokens
from long_context_tasks.benchmarks.ada_leval.build.plan import Progress, TaskReport, stable_seed
from long_context_tasks.benchmarks.ada_leval.build.posts import (
    Pool,
    PoolTexts,
    PostSource,
    choose_pool,
    read_texts,
)
from long_context_tasks.benchmarks.ada_leval.build.tokens import PromptCounter
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens import CL100K, get_tokenizer


class CaseMaker:
    """Turns chosen questions into cases of one length."""

    def __init__(self, chooser: Chooser, plan: BestAnswerPlan, fill: bool = False) -> None:
        """Work for the questions that a chooser knows; ``fill``: with more text where a case is shorter than its length."""
        self._chooser, self._plan, self._fill = chooser, plan, fill
        pool, settings = chooser.pool, chooser.settings
        self._keys = np.array([str(post) for post in pool.answer_ids.tolist()], dtype=object)
        self._measure = settings.measure
        self._cl100k = get_tokenizer(CL100K)
        self._other = settings.other_tokenizer
        self.used: set[str] = set()
        self.longer: dict[str, str] = {}

    def make(self, chosen: Chosen, length: int, task: str) -> Case | None:
        """The case, None when its prompt does not fit the length after all."""
        bound = self._plan.bounds[length]
        for number in range(chosen.shown[length], max(chosen.fixed, 2) - 1, -1):
            case = self._case(chosen, number, length, task)
            if case.num_tokens[self._measure.name] <= bound:
                whole = self._filled(case, bound, length) if self._fill else case
                if whole is not None:
                    self.used.update(whole.inputs["answers"])
                    if whole is case:
                        self.used.add(case.inputs["question"])
                return whole
        return None

    def _filled(self, case: Case, bound: int, length: int) -> Case | None:
        """The case, with a longer question of its own where it does not fill the bound; None when there is none."""
        if case.num_tokens[self._measure.name] >= least_tokens(bound):
            return case
        store, key = self._chooser.texts.store, case.inputs["question"]
        answers = [store[int(post)] for post in case.inputs["answers"]]
        question = filled_question(
            store[int(key)],
            int(stable_seed(self._chooser.settings.seed, key, length)[:12], 16),
            lambda text: self._measure.count(prompts.render_bestanswer(text, answers)),
            least_tokens(bound),
            bound,
        )
        if question is None:
            return None
        name = f"{key}_{format_length(length)}"
        self.longer[name] = question
        prompt = prompts.render_bestanswer(question, answers)
        counters = [self._cl100k, *([self._other] if self._other is not None else [])]
        return replace(
            case,
            inputs={**case.inputs, "question": name},
            num_tokens={
                counter.name: counter.count(prompt) for counter in counters if counter.name in case.num_tokens
            },
        )

    def _case(self, chosen: Chosen, number: int, length: int, task: str) -> Case:
        pool, settings = self._chooser.pool, self._chooser.settings
        question_id = int(pool.ids[chosen.question])
        places = chosen.sequence[:number]
        order = shuffled(pool.answer_ids[places], settings.seed, question_id, length)
        gold = f"A{int(np.flatnonzero(order == 0)[0]) + 1}"
        places = places[order]
        tags = [pool.tag_names[tag] for tag in pool.tags(chosen.question)]
        return Case(
            id=f"{question_id}_{gold}",
            task=task,
            inputs={"question": str(question_id), "answers": self._keys[places].tolist()},
            turns=(Turn(gold=gold),),
            cluster=str(question_id),
            num_tokens=self._count(chosen, number, length, places),
            labels={
                "tags": tags,
                "num_answers": number,
                "own_distractors": chosen.fixed - 1,
                "length": length,
            },
        )

    def _count(
        self, chosen: Chosen, number: int, length: int, places: npt.NDArray[np.int32]
    ) -> dict[str, int]:
        chooser = self._chooser
        pool, store, counter = chooser.pool, chooser.texts.store, chooser.counter
        counts: dict[str, int] = {}
        if self._measure.name == CL100K:
            first, last = (store[int(pool.answer_ids[place])] for place in (chosen.sequence[0], places[-1]))
            dropped = chosen.sequence[number : chosen.shown[length]]
            counts[CL100K] = int(
                chosen.tokens[length]
                - chooser.texts.answer_tokens[dropped].sum()
                - (counter.designations(chosen.shown[length])[-1] - counter.designations(number)[-1])
                - counter.after_last(first)
                + counter.after_last(last)
            )
        if self._other is not None:
            prompt = prompts.render_bestanswer(
                store[int(pool.ids[chosen.question])],
                [store[post] for post in pool.answer_ids[places].tolist()],
            )
            if CL100K not in counts:
                counts[CL100K] = self._cl100k.count(prompt)
            counts[self._other.name] = self._other.count(prompt)
        return counts


def build_bestanswer(
    source: PostSource,
    card: TaskCard,
    settings: BestAnswerSettings,
    writer: CaseWriter,
    *,
    task_name: Callable[[int], str],
    first_questions: int | None = None,
    fill: bool = False,
    progress: Progress | None = None,
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder.

    Args:
        source: the posts.
        card: BestAnswer's part of the card.
        settings: see :class:`BestAnswerSettings`.
        writer: an open writer.
        task_name: gives the task's name for a length in tokens.
        first_questions: ask only so many questions, those with the lowest ids; the others give answers.
        fill: make questions longer, so that every case fills its length (synthetic forum, see ``synthetic_fit``).
        progress: reports long work.

    Raises:
        InputError: the posts cannot be used, or a length gets no case.
    """
    progress = progress or Progress()
    plan = BestAnswerPlan.of(card, settings)
    counter = PromptCounter(settings.measure)
    pool = choose_pool(source.index(progress), settings.tags, settings.questions_per_tag, source.name)
    texts = read_texts(source, pool, counter, progress)
    try:
        chooser = Chooser(pool, texts, _with_spare(settings) if fill else settings, counter, plan.shortest)
        dropped: dict[int, Counter[str]] = {length: Counter() for length in plan.bounds}
        chosen = choose_questions(chooser, plan, dropped, progress, first_questions)
        _require_cases(chosen, dropped, pool, texts, source)
        maker = CaseMaker(chooser, plan, fill)
        reports = []
        for length, questions in chosen.items():
            task = task_name(length)
            tokens: list[int] = []
            choices: list[int] = []

            def cases(
                length: int = length,
                questions: list[Chosen] = questions,
                task: str = task,
                tokens: list[int] = tokens,
                choices: list[int] = choices,
            ) -> Iterator[Case]:
                for one in progress.over(questions, f"writing {task}", "case", len(questions)):
                    case = maker.make(one, length, task)
                    if case is None:
                        dropped[length]["the prompt does not fit the length"] += 1
                        continue
                    tokens.append(case.num_tokens[settings.measure.name])
                    choices.append(len(case.inputs["answers"]))
                    yield case
                    if len(tokens) == settings.n:
                        return

            writer.add_cases(task, cases())
            guess = sum(1 / number for number in choices) / max(1, len(choices))
            reports.append(TaskReport(task, tokens, len(tokens), guess, dropped[length]))
        writer.add_documents((key, texts.store[int(key)]) for key in sorted(maker.used))
        writer.add_documents(maker.longer.items())
        return reports
    finally:
        texts.store.close()


def _with_spare(settings: BestAnswerSettings) -> BestAnswerSettings:
    """Settings that choose some questions more than are asked for.

    In other tokenizers than cl100k a question's tokens are an estimate, and one that barely fits the shortest length may not.
    """
    if settings.n is None or settings.measure.name == CL100K:
        return settings
    return replace(settings, n=settings.n + settings.n // 5 + 10)


def _require_cases(
    chosen: Mapping[int, list[Chosen]],
    dropped: Mapping[int, Counter[str]],
    pool: Pool,
    texts: PoolTexts,
    source: PostSource,
) -> None:
    empty = [length for length, questions in chosen.items() if not questions]
    if not empty:
        return
    reasons = "; ".join(f"{count} x {reason}" for reason, count in dropped[empty[0]].most_common())
    raise InputError(
        f"{source.name}: no case of {', '.join(map(format_length, empty))} can be built from {len(pool.ids):,} questions with "
        f"{len(pool.answer_ids):,} answers of {int(texts.answer_tokens.sum()):,} tokens in all: {reasons}. Leave out those "
        "lengths (up to 16k the questions are the same at every length), take more --tags or --questions-per-tag, or a "
        "larger dump"
    )
