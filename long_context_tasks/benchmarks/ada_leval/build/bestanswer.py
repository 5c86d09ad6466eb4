"""Cases of BestAnswer from forum posts: a question, the answer its asker accepted, and others.

Sections 3.2, 3.3 and Appendix A of the paper (Wang et al., NAACL 2024). The other answers are first all answers to the same
question that are older than the accepted one, then answers to similar questions: 40 % of tags in common (shared tags over the
smaller of the two sets), at 32k and more at least one.

What the paper leaves open is decided so:

* No answer shown has an image, is empty, or repeats another one; questions with equal text are never similar.
* Answers to similar questions are taken in a random order of their own for each question; those that share enough tags come
  before those that share one. They are added until the next would exceed the bound, so a longer case shows all answers of a
  shorter one and more. Where no answer to the question itself can be shown, the first is one that fits the shortest length.
* Up to 16k the questions are the same at every length: a question takes part when, with the accepted answer, all older answers to it
  and at least one other answer, it fits the shortest length asked for, and enough similar answers are there to fill the
  longest one up to 16k to four fifths. From 32k on the same questions are used as far as the answers reach.
* All answers are shown in random order, so the accepted one is equally likely at every place.

Every post is encoded once for all lengths.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.counts import Ints, PromptCounter
from long_context_tasks.benchmarks.ada_leval.build.fit import filled_question, least_tokens
from long_context_tasks.benchmarks.ada_leval.build.posts import (
    Pool,
    PoolTexts,
    PostSource,
    choose_pool,
    read_texts,
)
from long_context_tasks.benchmarks.ada_leval.settings import BestAnswerSettings
from long_context_tasks.benchmarks.building import (
    Progress,
    TaskReport,
    bound_of,
    stable_seed,
)
from long_context_tasks.schema import Case, CaseWriter, InputError, Turn, format_length, parse_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens import CL100K, get_tokenizer

_STEP, _FIRST, _SECOND, _ALL = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xFFFFFFFFFFFFFFFF
"""The constants of SplitMix64 (Steele, Lea and Flood 2014), whose last steps make 64-bit numbers look random."""


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = values + np.uint64(_STEP)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_FIRST)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_SECOND)
    return values ^ (values >> np.uint64(31))


def shuffled(ids: npt.NDArray[np.integer[Any]], *seeds: int) -> npt.NDArray[np.intp]:
    """Return a random order of distinct ids that depends on ids and seeds only; the same on every system."""
    key = np.zeros(1, dtype=np.uint64)
    for seed in seeds:
        key = _mixed(key ^ np.uint64(seed & _ALL))
    return np.argsort(_mixed(ids.astype(np.uint64) ^ key), kind="stable")


@dataclass(frozen=True, eq=False)
class _Draft:
    """A question with the answers that a case of any length is made from.

    Attributes:
        question: place in the pool.
        sequence: places of answers: the accepted one, older ones to the same question, strongly and weakly similar ones.
        fixed: how many of them are in every case.
        strong: how many of them have enough tags in common.
        tokens: int64 (len(sequence) + 1,): tokens of a prompt with the first k answers, for every k.
    """

    question: int
    sequence: Ints
    fixed: int
    strong: int
    tokens: Ints

    def number_shown(self, bound: int, relaxed: bool) -> int:
        """Return how many answers of the sequence fit a bound."""
        most = len(self.sequence) if relaxed else self.strong
        return int(np.searchsorted(self.tokens[: most + 1], bound, side="right")) - 1


class Chooser:
    """Chooses the answers for each question of a pool."""

    def __init__(
        self,
        pool: Pool,
        texts: PoolTexts,
        settings: BestAnswerSettings,
        counter: PromptCounter,
        shortest: int,
    ) -> None:
        """Prepare an index from tags to questions; ``shortest`` is the least bound."""
        self.pool, self.texts, self.settings = pool, texts, settings
        self.counter, self.shortest = counter, shortest
        self._tag_counts = np.diff(pool.tag_offsets)
        owner = np.repeat(np.arange(len(pool.ids)), self._tag_counts)
        order = np.argsort(pool.tag_ids, kind="stable")
        self._by_tag = owner[order]
        self._tag_starts = np.searchsorted(pool.tag_ids[order], np.arange(len(pool.tag_names) + 1))
        # Of answers with equal text only the first may be shown with other questions.
        self._free = texts.usable.copy()
        first = np.unique(texts.answer_text, return_index=True)[1]
        repeated = np.ones(len(pool.answer_ids), dtype=bool)
        repeated[first] = False
        self._free[repeated] = False

    def draft(self, question: int, relaxed: bool) -> _Draft:
        """Return all answers that may be shown with a question, in the order in which they are added."""
        pool, texts = self.pool, self.texts
        gold = int(pool.gold[question])
        own = self._older(question, gold)
        shown_texts = texts.answer_text[np.concatenate([[gold], own])]
        near, far = self._similar(question)
        strong = self._answers_of(near, question, shown_texts)
        before = int(texts.question_tokens[question]) + self.counter.after_last(
            texts.store[int(pool.answer_ids[gold])]
        )
        if not len(own):
            room = self.shortest - before - texts.answer_tokens[gold] - self.counter.designations(2)[2]
            strong = _fitting_first(strong, texts.answer_tokens[strong] <= room)
        weak = self._answers_of(far[: len(far) if relaxed else 0], question, shown_texts)
        sequence = np.concatenate([[gold], own, strong, weak])
        designations = self.counter.designations(len(sequence))
        sums = np.concatenate([[0], np.cumsum(texts.answer_tokens[sequence])]) + designations
        return _Draft(
            question=question,
            sequence=sequence,
            fixed=1 + len(own),
            strong=1 + len(own) + len(strong),
            tokens=sums + before,
        )

    def _older(self, question: int, gold: int) -> Ints:
        """Return usable answers to the question itself that are older than the accepted one, each text once."""
        pool, texts = self.pool, self.texts
        places = pool.answers(question)
        places = places[texts.usable[places] & (pool.answer_created[places] < pool.answer_created[gold])]
        places = places[texts.answer_text[places] != texts.answer_text[gold]]
        once: Ints = places[np.sort(np.unique(texts.answer_text[places], return_index=True)[1])]
        return once

    def _similar(self, question: int) -> tuple[Ints, Ints]:
        """Return other questions with enough tags in common, and those with at least one."""
        pool, texts = self.pool, self.texts
        tags = pool.tags(question)
        lists = [self._by_tag[self._tag_starts[tag] : self._tag_starts[tag + 1]] for tag in tags]
        shared = np.bincount(np.concatenate(lists), minlength=len(pool.ids))
        shared[question] = 0
        others = np.flatnonzero(shared)
        same_text = texts.question_text[others] == texts.question_text[question]
        others = others[~(same_text & (texts.question_text[others] >= 0))]
        smaller = np.minimum(self._tag_counts[others], len(tags))
        # Exact in whole numbers of thousandths: 0.4 x 5 must be 2, not a little more.
        enough = 1000 * shared[others] >= round(1000 * self.settings.shared_tags) * smaller
        return others[enough], others[~enough]

    def _answers_of(self, questions: Ints, question: int, shown_texts: Ints) -> Ints:
        """Return places of the usable answers to some questions, in the random order of the asking question."""
        pool, texts = self.pool, self.texts
        starts, ends = pool.answer_offsets[questions], pool.answer_offsets[questions + 1]
        sizes = ends - starts
        steps = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = np.repeat(starts, sizes) + steps
        places = places[self._free[places]]
        places = places[~np.isin(texts.answer_text[places], shown_texts)]
        mixed: Ints = places[shuffled(pool.answer_ids[places], self.settings.seed, int(pool.ids[question]))]
        return mixed


def _fitting_first(places: Ints, fits: npt.NDArray[np.bool_]) -> Ints:
    if not fits.any():
        return places
    first = int(np.argmax(fits))
    return np.concatenate([places[first : first + 1], places[:first], places[first + 1 :]])


@dataclass(frozen=True, eq=False)
class Chosen:
    """A question that takes part: its answers as far as any length needs them, and how many each length shows."""

    question: int
    sequence: npt.NDArray[np.int32]
    fixed: int
    shown: Mapping[int, int]
    tokens: Mapping[int, int]


@dataclass(frozen=True)
class BestAnswerPlan:
    """The lengths of a build and their bounds.

    Attributes:
        bounds: of the lengths that are built.
        same: lengths below 32k with their bounds, ascending; the questions must be the same at all of them.
        relaxed: lengths from 32k on.
    """

    bounds: Mapping[int, int]
    same: tuple[tuple[int, int], ...]
    relaxed: tuple[int, ...]

    @classmethod
    def of(cls, card: TaskCard, settings: BestAnswerSettings) -> "BestAnswerPlan":
        """Return the plan for some settings."""
        border = parse_length(card.build["relaxed_from"])

        def bound(length: int) -> int:
            return length if settings.bounds == "round" else bound_of(card, length)

        deciding = sorted({*settings.lengths, *settings.same_as})
        return cls(
            {length: bound(length) for length in settings.lengths},
            tuple((length, bound(length)) for length in deciding if length < border),
            tuple(length for length in settings.lengths if length >= border),
        )

    @property
    def shortest(self) -> int:
        """The least bound that counts."""
        return min([*self.bounds.values(), *(bound for _, bound in self.same)])


def _lengths_for(
    draft: _Draft, plan: BestAnswerPlan, settings: BestAnswerSettings, dropped: Mapping[int, Counter[str]]
) -> list[int]:

    def problem(length: int, bound: int, fill: bool) -> str | None:
        shown = draft.number_shown(bound, length in plan.relaxed)
        if draft.tokens[draft.fixed] > bound:
            return f"with its accepted and older answers it is longer than {format_length(length)}"
        if shown < 2:
            return f"no second answer fits {format_length(length)}"
        if fill and draft.tokens[shown] < settings.min_fill * bound:
            return f"too few answers to similar questions for {format_length(length)}"
        return None

    if plan.same:
        reason = problem(*plan.same[0], fill=False) or problem(*plan.same[-1], fill=True)
        if reason:
            for length in plan.bounds:
                dropped[length][reason] += 1
            return []
    lengths = []
    for length, bound in plan.bounds.items():
        if length in plan.relaxed and (reason := problem(length, bound, fill=True)):
            dropped[length][reason] += 1
        else:
            lengths.append(length)
    return lengths


def _targets(pool: Pool, texts: PoolTexts, dropped: Mapping[int, Counter[str]], seed: int) -> Ints:
    """Return questions whose accepted answer is there and is text only, in random order."""
    gold = pool.gold
    without = gold < 0
    image = ~without & texts.has_image[gold]
    empty = ~without & ~image & ((texts.question_text < 0) | ~texts.usable[gold])
    for reason, hits in (
        ("no accepted answer in the file", without),
        ("the accepted answer shows an image", image),
        ("the question or its accepted answer has no text", empty),
    ):
        if count := int(hits.sum()):
            for counter in dropped.values():
                counter[reason] += count
    places = np.flatnonzero(~(without | image | empty))
    return places[shuffled(pool.ids[places], seed)]


def choose_questions(
    chooser: Chooser,
    plan: BestAnswerPlan,
    dropped: Mapping[int, Counter[str]],
    progress: Progress,
    first_questions: int | None = None,
) -> Mapping[int, list[Chosen]]:
    """Return for each length the questions and their answers."""
    settings = chooser.settings
    chosen: dict[int, list[Chosen]] = {length: [] for length in plan.bounds}
    targets = _targets(chooser.pool, chooser.texts, dropped, settings.seed)
    if first_questions is not None:
        targets = targets[targets < first_questions]
    for question in progress.over(targets.tolist(), "choosing answers", "question", len(targets)):
        draft = chooser.draft(question, relaxed=bool(plan.relaxed))
        lengths = [
            length
            for length in _lengths_for(draft, plan, settings, dropped)
            if settings.n is None or len(chosen[length]) < settings.n
        ]
        if not lengths:
            continue
        shown = {
            length: draft.number_shown(plan.bounds[length], length in plan.relaxed) for length in lengths
        }
        taken = Chosen(
            question=question,
            sequence=draft.sequence[: max(shown.values())].astype(np.int32),
            fixed=draft.fixed,
            shown=shown,
            tokens={length: int(draft.tokens[number]) for length, number in shown.items()},
        )
        for length in lengths:
            chosen[length].append(taken)
        if settings.n is not None and all(len(cases) == settings.n for cases in chosen.values()):
            break
    return chosen


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
        """Return the case; None when its prompt does not fit the length after all."""
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
        """Return the case, with a longer question of its own where it does not fill the bound; None when there is none."""
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
        reports = [
            _write_length(
                task_name(length), length, questions, maker, settings, writer, progress, dropped[length]
            )
            for length, questions in chosen.items()
        ]
        writer.add_documents((key, texts.store[int(key)]) for key in sorted(maker.used))
        writer.add_documents(maker.longer.items())
        return reports
    finally:
        texts.store.close()


def _write_length(
    task: str,
    length: int,
    questions: Sequence[Chosen],
    maker: CaseMaker,
    settings: BestAnswerSettings,
    writer: CaseWriter,
    progress: Progress,
    dropped: Counter[str],
) -> TaskReport:
    tokens: list[int] = []
    guesses: list[float] = []

    def cases() -> Iterator[Case]:
        for question in progress.over(questions, f"writing {task}", "case", len(questions)):
            case = maker.make(question, length, task)
            if case is None:
                dropped["the prompt does not fit the length"] += 1
                continue
            tokens.append(case.num_tokens[settings.measure.name])
            guesses.append(1 / len(case.inputs["answers"]))
            yield case
            if len(tokens) == settings.n:
                return

    writer.add_cases(task, cases())
    return TaskReport(task, tokens, len(tokens), sum(guesses) / max(1, len(guesses)), dropped)


def _with_spare(settings: BestAnswerSettings) -> BestAnswerSettings:
    """Return settings that choose a few more questions than needed.

    In other tokenizers than cl100k a question's tokens are an estimate, and a question that barely fits the shortest length may not.
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
