"""Build BestAnswer cases from forum posts: a question, its accepted answer, and other answers.

Sections 3.2, 3.3 and Appendix A of the paper (Wang et al., NAACL 2024). The other answers are first all older
answers to the same question, then answers to similar questions: those with 40 % of tags in common (shared
tags divided by the size of the smaller set, or of the union), and at 32k and more also those with at least
one. The paper leaves the rest open; we decided:

* No shown answer has an image, is empty, or repeats another one; questions with equal text are never similar.
* Answers to similar questions are taken in a random order specific to the question; those that share enough
  tags come before those that share one. They are added until the next would exceed the bound, so a longer
  case shows all answers of a shorter one and more. If no other answer to the question itself can be shown,
  the first one taken is one that fits the shortest length.
* A question needs at least one older answer of its own besides the accepted one; otherwise words that a
  question shares only with its own answers would give the accepted one away.
* Up to 16k the questions are the same at every length, even if lengths are built separately. A question
  qualifies if the accepted answer, all older answers and at least one other answer fit the shortest length,
  and if there are enough similar answers to fill the longest length up to 16k to four fifths. From 32k on,
  the same questions are used as far as the answers suffice.
* All answers are shown in random order, so the accepted one is equally likely at every position.

Every post is encoded once for all lengths.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.posts import (
    AnswerCounter,
    Ints,
    Pool,
    PoolTexts,
    choose_pool,
    read_texts,
)
from long_context_tasks.benchmarks.building import (
    TaskReport,
    Work,
    bound_of,
    write_task,
)
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.corpora.stack_exchange import build_index, posts_encoding
from long_context_tasks.schema import Case, InputError, Turn, format_length, parse_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens import CL100K, get_tokenizer

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.ada_leval.builders import BestAnswerSettings

_WORD = re.compile(r"\w+")
_STEP, _FIRST, _SECOND, _ALL = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xFFFFFFFFFFFFFFFF
"""Constants of SplitMix64 (Steele, Lea and Flood 2014), whose last steps make 64-bit numbers look random."""


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = values + np.uint64(_STEP)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_FIRST)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_SECOND)
    return values ^ (values >> np.uint64(31))


def shuffled(ids: npt.NDArray[np.integer[Any]], *seeds: int) -> npt.NDArray[np.intp]:
    """Return a random order of distinct ids, determined by the ids and seeds only, on every system."""
    key = np.zeros(1, dtype=np.uint64)
    for seed in seeds:
        key = _mixed(key ^ np.uint64(seed & _ALL))
    return np.argsort(_mixed(ids.astype(np.uint64) ^ key), kind="stable")


@dataclass(frozen=True, eq=False)
class _ChosenQuestion:
    question: int  # index in the pool
    # Indices of the answers needed at any length: the accepted one, older ones to the same question, strongly
    # similar and weakly similar ones.
    sequence: npt.NDArray[np.int32]
    fixed: int  # number of them shown in every case
    shown: Mapping[int, int]  # for each length, the number of them that fit


class _Selection:
    """Chooses questions and turns them into cases."""

    def __init__(
        self,
        pool: Pool,
        texts: PoolTexts,
        counter: AnswerCounter,
        task: TaskCard,
        settings: "BestAnswerSettings",
    ) -> None:
        self._pool, self._texts, self._counter = pool, texts, counter
        self._settings = settings
        self._measure, self._other = settings.measure, settings.other_tokenizer
        self._tag_counts = np.diff(pool.tag_offsets)
        owner = np.repeat(np.arange(len(pool.ids)), self._tag_counts)
        order = np.argsort(pool.tag_ids, kind="stable")
        self._by_tag = owner[order]
        self._tag_starts = np.searchsorted(pool.tag_ids[order], np.arange(len(pool.tag_names) + 1))
        # Among answers with equal text, only the first may be shown with other questions.
        first = np.unique(texts.answer_text, return_index=True)[1]
        self._free = np.zeros(len(pool.answer_ids), dtype=bool)
        self._free[first] = texts.usable[first]
        border = parse_length(task.build["relaxed_from"])

        # Lengths below 32k at which the questions must be the same.
        same_as = map(parse_length, task.lengths) if settings.same_as is None else settings.same_as
        deciding = sorted(length for length in {*settings.lengths, *same_as} if length < border)
        bounds = {
            length: length if settings.bounds == "round" else bound_of(task, length)
            for length in (*settings.lengths, *deciding)
        }
        self._same = [(length, bounds[length]) for length in deciding]
        # Maximum number of tokens in a prompt, by length to build.
        self.bounds = {length: bounds[length] for length in settings.lengths}
        self._relaxed = frozenset(length for length in settings.lengths if length >= border)
        # Reasons why questions yielded no case, with counts.
        self.dropped: dict[int, Counter[str]] = {length: Counter() for length in self.bounds}
        self.used: set[str] = set()  # keys of the posts shown in cases
        # Longer cases repeat the answers of shorter ones.
        self._words_of = lru_cache(maxsize=4096)(lambda post: _words(texts.store[post]))
        self._keys = np.array([str(post) for post in pool.answer_ids.tolist()], dtype=object)

    def choose(self, work: Work) -> dict[int, list[_ChosenQuestion]]:
        n = self._settings.n
        chosen: dict[int, list[_ChosenQuestion]] = {length: [] for length in self.bounds}
        targets = self._targets()
        for question in work.over(targets.tolist(), "choosing answers", "question", len(targets)):
            wanted = {length for length, taken in chosen.items() if n is None or len(taken) < n}
            if (taken := self._consider(question, wanted)) is not None:
                for length in taken.shown:
                    chosen[length].append(taken)
            if n is not None and all(len(taken) == n for taken in chosen.values()):
                break
        return chosen

    def _targets(self) -> Ints:
        """Return the questions whose accepted answer is text-only, in random order."""
        pool, texts = self._pool, self._texts
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
                self._drop(reason, count)
        places = np.flatnonzero(~(without | image | empty))
        return places[shuffled(pool.ids[places], self._settings.seed)]

    def _own(self, question: int) -> Ints:
        """Return the accepted answer and the question's older usable answers, without duplicates."""
        pool, texts = self._pool, self._texts
        gold = int(pool.gold[question])
        places = pool.answers(question)
        places = places[texts.usable[places] & (pool.answer_created[places] < pool.answer_created[gold])]
        places = places[texts.answer_text[places] != texts.answer_text[gold]]
        once = places[np.sort(np.unique(texts.answer_text[places], return_index=True)[1])]
        return np.concatenate([[gold], once])

    def _similar(self, question: int) -> tuple[Ints, Ints]:
        """Return other questions with enough tags in common, and those with at least one."""
        pool, texts = self._pool, self._texts
        tags = pool.tags(question)
        lists = [self._by_tag[self._tag_starts[tag] : self._tag_starts[tag + 1]] for tag in tags]
        shared = np.bincount(np.concatenate(lists), minlength=len(pool.ids))
        shared[question] = 0
        others = np.flatnonzero(shared)
        same_text = texts.question_text[others] == texts.question_text[question]
        others = others[~(same_text & (texts.question_text[others] >= 0))]
        if self._settings.shared_of == "union":
            whole = self._tag_counts[others] + len(tags) - shared[others]
        else:
            whole = np.minimum(self._tag_counts[others], len(tags))
        # Exact in integer thousandths: 0.4 x 5 must be 2, not slightly more.
        enough = 1000 * shared[others] >= round(1000 * self._settings.shared_tags) * whole
        return others[enough], others[~enough]

    def _others_of(self, questions: Ints, question: int, own: Ints) -> Ints:
        """Return the usable answers to similar questions, in an order specific to ``question``."""
        pool, texts = self._pool, self._texts
        starts, ends = pool.answer_offsets[questions], pool.answer_offsets[questions + 1]
        sizes = ends - starts
        # Concatenates the answer ranges without a loop over questions.
        steps = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = np.repeat(starts, sizes) + steps
        places = places[self._free[places]]
        places = places[~np.isin(texts.answer_text[places], texts.answer_text[own])]
        mixed: Ints = places[shuffled(pool.answer_ids[places], self._settings.seed, int(pool.ids[question]))]
        return mixed

    def _consider(self, question: int, wanted: set[int]) -> _ChosenQuestion | None:
        """Return a question with its answers if it yields a wanted case; otherwise count the reason."""
        texts = self._texts
        own = self._own(question)
        # `own` includes the accepted answer.
        if len(own) <= self._settings.min_own:
            self._drop(f"fewer than {self._settings.min_own} older answers to the question itself")
            return None
        near, far = self._similar(question)
        strong = self._others_of(near, question, own)
        weak = self._others_of(far if self._relaxed else far[:0], question, own)
        frame = int(texts.question_tokens[question]) + self._counter.after_last(self._answer(own[0]))
        if len(own) == 1:
            # The first one taken must fit the shortest length.
            shortest = min([*self.bounds.values(), *(bound for _, bound in self._same)])
            room = shortest - frame - texts.answer_tokens[own[0]] - self._counter.designations(2)[2]
            fits = np.flatnonzero(texts.answer_tokens[strong] <= room)[:1]
            strong = np.concatenate([strong[fits], np.delete(strong, fits)])
        sequence = np.concatenate([own, strong, weak])
        sums = np.concatenate([[0], np.cumsum(texts.answer_tokens[sequence])])
        # int64 (len(sequence) + 1,): tokens in a prompt with the first k answers, for every k.
        tokens = sums + self._counter.designations(len(sequence)) + frame

        def number_shown(length: int, bound: int) -> int:
            most = len(sequence) if length in self._relaxed else len(own) + len(strong)
            return int(np.searchsorted(tokens[: most + 1], bound, side="right")) - 1

        def problem(length: int, bound: int, fill: bool) -> str | None:
            shown = number_shown(length, bound)
            if tokens[len(own)] > bound:
                return f"with its accepted and older answers it is longer than {format_length(length)}"
            if shown < 2:
                return f"no second answer fits {format_length(length)}"
            if fill and tokens[shown] < self._settings.min_fill * bound:
                return f"too few answers to similar questions for {format_length(length)}"
            return None

        # The decision for all lengths below 32k depends only on the shortest and the longest of them.
        if self._same:
            reason = problem(*self._same[0], fill=False) or problem(*self._same[-1], fill=True)
            if reason:
                self._drop(reason)
                return None
        shown = {}
        for length, bound in self.bounds.items():
            if length in self._relaxed and (reason := problem(length, bound, fill=True)):
                self.dropped[length][reason] += 1
            elif length in wanted:
                shown[length] = number_shown(length, bound)
        if not shown:
            return None
        return _ChosenQuestion(question, sequence[: max(shown.values())].astype(np.int32), len(own), shown)

    def _drop(self, reason: str, count: int = 1) -> None:
        for counter in self.dropped.values():
            counter[reason] += count

    def figures(self, case: Case) -> dict[str, float]:
        """Return how often a rival answer is shown and word overlap finds the gold, in per cent."""
        store = self._texts.store
        asked = case.inputs["question"]
        question = _words(store[int(asked)])
        shared = [len(question & self._words_of(int(post))) for post in case.inputs["answers"]]
        gold = shared[int(case.turns[0].gold[1:]) - 1]
        hit = (gold == max(shared)) / shared.count(gold)
        return {"own rival %": 100.0 * (case.labels["own_distractors"] > 0), "word overlap %": 100.0 * hit}

    def _answer(self, place: int) -> str:
        return self._texts.store[int(self._pool.answer_ids[place])]

    def cases(self, questions: Iterable[_ChosenQuestion], length: int, task: str) -> Iterator[Case]:
        for chosen in questions:
            # In other tokenizers the sum of parts is an estimate, so answers are removed until the prompt
            # fits.
            for number in range(chosen.shown[length], max(chosen.fixed, 2) - 1, -1):
                case = self._with_answers(chosen, number, length, task)
                if case.num_tokens[self._measure.name] <= self.bounds[length]:
                    self.used.update(case.inputs["answers"], [case.inputs["question"]])
                    yield case
                    break
            else:
                self.dropped[length]["the prompt does not fit the length"] += 1

    def _with_answers(self, chosen: _ChosenQuestion, number: int, length: int, task: str) -> Case:
        pool, store, seed = self._pool, self._texts.store, self._settings.seed
        question_id = int(pool.ids[chosen.question])
        places = chosen.sequence[:number]
        # The length is part of the seed, so that the answer's position differs between lengths.
        order = shuffled(pool.answer_ids[places], seed, question_id, length)
        gold = f"A{int(np.flatnonzero(order == 0)[0]) + 1}"
        places = places[order]
        counts: dict[str, int] = {}
        if self._measure.name == CL100K:
            counts[CL100K] = int(
                self._texts.question_tokens[chosen.question]
                + self._texts.answer_tokens[places].sum()
                + self._counter.designations(number)[-1]
                + self._counter.after_last(self._answer(places[-1]))
            )
        if self._other is not None:
            answers = [store[post] for post in pool.answer_ids[places].tolist()]
            prompt = prompts.render_bestanswer(store[question_id], answers)
            if CL100K not in counts:
                counts[CL100K] = get_tokenizer(CL100K).count(prompt)
            counts[self._other.name] = self._other.count(prompt)
        return Case(
            id=f"{question_id}_{gold}",
            task=task,
            inputs={"question": str(question_id), "answers": self._keys[places].tolist()},
            turns=(Turn(gold=gold),),
            cluster=str(question_id),
            num_tokens=counts,
            labels={
                "tags": [pool.tag_names[tag] for tag in pool.tags(chosen.question)],
                "num_answers": number,
                "own_distractors": chosen.fixed - 1,
                "length": length,
            },
        )


def build_bestanswer(
    tasks: Mapping[int, str], source: Path, settings: "BestAnswerSettings", folder: Path, work: Work
) -> list[TaskReport]:
    """Write the cases of all lengths into a case folder; ``tasks`` maps each length to a task name."""
    benchmark = card("ada_leval")
    options = {**asdict(settings), "source": str(source), "card_version": benchmark.version}
    with work.writer(folder, options) as writer:
        counter = AnswerCounter(settings.measure)
        index = build_index(source, lambda rows: work.over(rows, "indexing posts", "post"))
        pool = choose_pool(index, settings.tags, settings.questions_per_tag, source)
        texts = read_texts(source, pool, counter, work)
        try:
            selection = _Selection(pool, texts, counter, benchmark.tasks["bestanswer"], settings)
            chosen = selection.choose(work)
            if empty := [length for length, questions in chosen.items() if not questions]:
                raise _no_case(source, pool, texts, empty, selection.dropped[empty[0]])
            reports = []
            for length, questions in chosen.items():
                shown = work.over(questions, f"writing {tasks[length]}", "case", len(questions))
                cases = selection.cases(shown, length, tasks[length])
                dropped = selection.dropped[length]
                reports.append(
                    write_task(writer, tasks[length], cases, settings, _guess, dropped, selection.figures)
                )
            writer.add_documents((key, texts.store[int(key)]) for key in sorted(selection.used))
        finally:
            texts.store.close()
        notes = [f"{source}: {index.dropped:,} control characters were dropped"] if index.dropped else []
        encodings = {source.name: posts_encoding(source)}
        return [replace(reports[0], notes=notes, encodings=encodings), *reports[1:]]


def _no_case(
    source: Path, pool: Pool, texts: PoolTexts, lengths: list[int], dropped: Counter[str]
) -> InputError:
    reasons = "; ".join(f"{count} x {reason}" for reason, count in dropped.most_common())
    return InputError(
        f"{source}: no case of {', '.join(map(format_length, lengths))} can be built from {len(pool.ids):,} questions "
        f"with {len(pool.answer_ids):,} answers of {int(texts.answer_tokens.sum()):,} tokens in all: {reasons}. Leave "
        "out those lengths, take more --tags or --questions-per-tag, or a larger dump; or add --same-as none: the same "
        "questions must do at every published length up to 16k, also where only some of them are built"
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _guess(case: Case) -> float:
    return 1 / len(case.inputs["answers"])
