"""Which questions and answers BestAnswer shows: a question, the answer its asker accepted, and others.

Sections 3.2, 3.3 and Appendix A of the paper (Wang et al., NAACL 2024). The other answers are first all answers to the same
question that are older than the accepted one, then answers to similar questions: 40 % of tags in common (shared tags over the
smaller of the two sets), at 32k and more at least one.

What the paper leaves open is decided so:

* No answer shown has an image, is empty, or repeats another one; questions with equal text are never similar.
* Answers to similar questions are taken in a random order of their own for each question; those that share enough tags come
  before those that share one. They are added until the next would exceed the bound, so a longer case shows all answers of a
  shorter one and more. Where no answer to the question itself can be shown, the first is one that fits the shortest length.
* Up to 16k the questions are the same at every length: one takes part when, with the accepted answer, all older answers to it
  and at least one other answer, it fits the shortest length asked for, and enough similar answers are there to fill the
  longest one up to 16k to four fifths. From 32k on the same questions are used as far as the answers reach.
* All answers are shown in random order, so the accepted one may stand at every place.

Every post is encoded once for all lengths.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval.build.plan import BuildSettings, Progress, bound_of
from long_context_tasks.benchmarks.ada_leval.build.posts import Ints, Pool, PoolTexts
from long_context_tasks.benchmarks.ada_leval.build.tokens import PromptCounter
from long_context_tasks.schema import InputError, format_length, parse_length
from long_context_tasks.schema.card import TaskCard

BOUNDS = ("paper", "round")


@dataclass(frozen=True)
class BestAnswerSettings(BuildSettings):
    """Settings of the BestAnswer builder.

    Attributes:
        bounds: ``paper``: 1,128, 2,154, 4,215 ... tokens as in Table 1; ``round``: 1,000, 2,000, 4,000 ...; None: round for the
            synthetic forum, else the paper's.
        tags: number of most frequent tags, or their names.
        questions_per_tag: most popular questions taken for each tag.
        shared_tags: least share of tags that similar questions have in common.
        min_fill: least share of the bound that a case must have.
        same_as: lengths that are not built but at which the questions must do as well, so that builds of single lengths
            take the same questions.
    """

    bounds: str | None = None
    tags: int | tuple[str, ...] = 23
    questions_per_tag: int = 2500
    shared_tags: float = 0.4
    min_fill: float = 0.8
    same_as: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        super().__post_init__()
        if self.bounds not in (None, *BOUNDS):
            raise InputError(f"--bounds must be one of {', '.join(BOUNDS)}, not {self.bounds!r}")
        if not self.tags or (isinstance(self.tags, int) and self.tags < 1):
            raise InputError("--tags must be a number above 0 or names with commas between them")
        if self.questions_per_tag < 1:
            raise InputError(f"--questions-per-tag must be above 0, not {self.questions_per_tag}")
        for name in ("shared_tags", "min_fill"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(
                    f"--{name.replace('_', '-')} must be above 0 and at most 1, not {getattr(self, name)}"
                )


# --- random order without a generator: a hash of what is ordered --------------------------------------------------


_STEP, _FIRST, _SECOND, _ALL = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xFFFFFFFFFFFFFFFF
"""The constants of SplitMix64 (Steele, Lea and Flood 2014), whose last steps make 64-bit numbers look random."""


def _mix_one(value: int) -> int:
    value = (value + _STEP) & _ALL
    value = ((value ^ (value >> 30)) * _FIRST) & _ALL
    value = ((value ^ (value >> 27)) * _SECOND) & _ALL
    return value ^ (value >> 31)


def _mix_all(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = values + np.uint64(_STEP)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_FIRST)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_SECOND)
    return values ^ (values >> np.uint64(31))


def shuffled(ids: npt.NDArray[np.integer[Any]], *seeds: int) -> npt.NDArray[np.intp]:
    """A random order of distinct ids that depends on ids and seeds only; the same on every system."""
    key = 0
    for seed in seeds:
        key = _mix_one(key ^ (seed & _ALL))
    return np.argsort(_mix_all(ids.astype(np.uint64) ^ np.uint64(key)), kind="stable")


# --- which answers ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Draft:
    """A question with the answers that a case of any length is made from.

    Attributes:
        question: place in the pool.
        sequence: places of answers: the accepted one, older ones to the same question, strongly and weakly similar ones.
        fixed: how many of them stand in every case.
        strong: how many of them have enough tags in common.
        tokens: int64 (len(sequence) + 1,): tokens of a prompt with the first k answers, for every k.
    """

    question: int
    sequence: Ints
    fixed: int
    strong: int
    tokens: Ints


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
        self.pool, self.texts, self.settings, self.counter, self.shortest = (
            pool,
            texts,
            settings,
            counter,
            shortest,
        )
        self._tag_counts = np.diff(pool.tag_offsets)
        owner = np.repeat(np.arange(len(pool.ids)), self._tag_counts)
        order = np.argsort(pool.tag_ids, kind="stable")
        self._by_tag = owner[order]
        self._tag_starts = np.searchsorted(pool.tag_ids[order], np.arange(len(pool.tag_names) + 1))
        # Of answers with equal text only the first may stand under other questions.
        self._free = texts.usable.copy()
        first = np.unique(texts.answer_text, return_index=True)[1]
        repeated = np.ones(len(pool.answer_ids), dtype=bool)
        repeated[first] = False
        self._free[repeated] = False

    def draft(self, question: int, relaxed: bool) -> Draft:
        """All answers that may be shown with a question, in the order in which they are added."""
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
        return Draft(
            question=question,
            sequence=sequence,
            fixed=1 + len(own),
            strong=1 + len(own) + len(strong),
            tokens=sums + before,
        )

    def _older(self, question: int, gold: int) -> Ints:
        """Usable answers to the question itself that are older than the accepted one, each text once."""
        pool, texts = self.pool, self.texts
        places = pool.answers(question)
        places = places[texts.usable[places] & (pool.answer_created[places] < pool.answer_created[gold])]
        places = places[texts.answer_text[places] != texts.answer_text[gold]]
        once: Ints = places[np.sort(np.unique(texts.answer_text[places], return_index=True)[1])]
        return once

    def _similar(self, question: int) -> tuple[Ints, Ints]:
        """Other questions with enough tags in common, and those with at least one."""
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
        """Places of the usable answers to some questions, in the random order of the asking question."""
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
    """The same places with the first that fits moved to the front."""
    if not fits.any():
        return places
    first = int(np.argmax(fits))
    return np.concatenate([places[first : first + 1], places[:first], places[first + 1 :]])


def number_shown(item: Draft, bound: int, relaxed: bool) -> int:
    """How many answers of a draft's sequence fit a bound."""
    most = len(item.sequence) if relaxed else item.strong
    return int(np.searchsorted(item.tokens[: most + 1], bound, side="right")) - 1


# --- which questions ----------------------------------------------------------------------------------------------


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
        """The plan for some settings."""
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
    item: Draft, plan: BestAnswerPlan, settings: BestAnswerSettings, dropped: Mapping[int, Counter[str]]
) -> list[int]:
    """The lengths at which a question makes a case."""

    def problem(length: int, bound: int, fill: bool) -> str | None:
        shown = number_shown(item, bound, length in plan.relaxed)
        if item.tokens[item.fixed] > bound:
            return f"with its accepted and older answers it is longer than {format_length(length)}"
        if shown < 2:
            return f"no second answer fits {format_length(length)}"
        if fill and item.tokens[shown] < settings.min_fill * bound:
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
    """Questions whose accepted answer is there and is text only, in random order."""
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
    mixed: Ints = places[shuffled(pool.ids[places], seed)]
    return mixed


def choose_questions(
    chooser: Chooser,
    plan: BestAnswerPlan,
    dropped: Mapping[int, Counter[str]],
    progress: Progress,
    first_questions: int | None = None,
) -> Mapping[int, list[Chosen]]:
    """For each length the questions and their answers."""
    settings = chooser.settings
    chosen: dict[int, list[Chosen]] = {length: [] for length in plan.bounds}
    targets = _targets(chooser.pool, chooser.texts, dropped, settings.seed)
    if first_questions is not None:
        targets = targets[targets < first_questions]
    for question in progress.over(targets.tolist(), "choosing answers", "question", len(targets)):
        item = chooser.draft(question, relaxed=bool(plan.relaxed))
        lengths = [
            length
            for length in _lengths_for(item, plan, settings, dropped)
            if settings.n is None or len(chosen[length]) < settings.n
        ]
        if lengths:
            shown = {
                length: number_shown(item, plan.bounds[length], length in plan.relaxed) for length in lengths
            }
            one = Chosen(
                question=question,
                sequence=item.sequence[: max(shown.values())].astype(np.int32),
                fixed=item.fixed,
                shown=shown,
                tokens={length: int(item.tokens[number]) for length, number in shown.items()},
            )
            for length in lengths:
                chosen[length].append(one)
        if settings.n is not None and all(len(cases) == settings.n for cases in chosen.values()):
            break
    return chosen
