"""How much of the synthetic corpus the builders need, and in which form."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from long_context_tasks.benchmarks.ada_leval.build.posts import PostText
from long_context_tasks.benchmarks.ada_leval.build.windows import caps_for
from long_context_tasks.benchmarks.ada_leval.settings import TSortSettings
from long_context_tasks.benchmarks.building import Progress, stable_seed
from long_context_tasks.corpora.books import Book
from long_context_tasks.corpora.stack_exchange import Answers, PostIndex, Questions
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.synthetic import Thread, write_threads
from long_context_tasks.synthetic.novel import CHARACTERS_PER_TOKEN, write_novel
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

_MOST_TOKENS = 10_000_000
_FEWEST_NOVELS = 10
_CASES = 200
"""Cases for which the tokens above suffice."""
# A paragraph of the synthetic novel has some 133 tokens at most. Not every place has paragraphs that fill a very short case.
_LONG_PARAGRAPH = 150
_SLACK = 80 * _LONG_PARAGRAPH

_CASES_PER_FORUM = 1000
_THREADS_PER_CASE = 2.2
"""Half of the questions can be asked; with all older answers to them the others are too long for the shortest length."""
_MOST_TOKENS_RATIO = 1.2
"""How many more tokens than in cl100k posts may have in a tokenizer for the questions to fit 1k tokens of it."""
_TOKENS_PER_THREAD = 40
"""Tokens of a case for which one more thread is written: every twelfth thread shares enough tags and has 600 tokens of
answers, of which a case needs four fifths at least."""


def _derived_seed(*parts: object) -> int:
    return int(stable_seed(*parts)[:12], 16)


@dataclass(frozen=True)
class NovelPlan:
    """Novels for the cases of one length.

    How many cases come from a novel, and how long it is, depend on the length alone, so that fewer cases are the first of
    more. Up to 50k each case has a novel of its own. Longer cases share some, which are then the clusters of the interval:
    200 cases have ten million tokens of novels to begin in, but never fewer than ten novels (128k: 78 novels of three
    cases each, taken in turns). Beyond what these novels give there are more of them, and the turns are others.

    Attributes:
        seeds: of the novels.
        per_novel: cases from each.
        num_tokens: of each novel.
        characters_per_token: of the tokenizer in which lengths are meant.
    """

    seeds: tuple[int, ...]
    per_novel: int
    num_tokens: int
    characters_per_token: float

    @classmethod
    def of(cls, card: TaskCard, settings: TSortSettings, length: int) -> "NovelPlan":
        """Plan for the number of cases and the length that are asked for."""
        cases = settings.n or 1
        novels = min(max(_FEWEST_NOVELS, _MOST_TOKENS // length), _CASES)
        per_novel = -(-_CASES // novels)
        number = min(cases, novels) if cases <= novels * per_novel else -(-cases // per_novel)
        caps = caps_for(card, length, settings)
        room = (per_novel - 1) * caps.stride * _LONG_PARAGRAPH + _SLACK
        rate = CHARACTERS_PER_TOKEN
        if settings.measure.name != CL100K:
            sample = "\n\n".join(write_novel(0, 3000).paragraphs)
            rate = 1.02 * len(sample) / settings.measure.count(sample)
            room = round(room * CHARACTERS_PER_TOKEN / rate)
        return cls(
            seeds=tuple(_derived_seed(settings.seed, length, place) for place in range(number)),
            per_novel=per_novel,
            num_tokens=length + room,
            characters_per_token=rate,
        )

    def novels(self) -> Iterator[Book]:
        """Write them, one after the other."""
        for seed in self.seeds:
            novel = write_novel(seed, self.num_tokens, characters_per_token=self.characters_per_token)
            yield Book(novel.id, novel.title, novel.paragraphs, novel.chapters)


@lru_cache(maxsize=1)
def _threads(seed: int, number: int) -> list[Thread]:
    """Kept because several lengths take the same threads."""
    return write_threads(seed, number)


@dataclass(frozen=True)
class ForumPosts:
    """Threads of the synthetic forum as a source of posts.

    The questions that are asked come from the first ``asked`` threads at every length; longer cases only have more threads to
    take answers from. Up to a thousand cases the threads depend on the length alone, so that fewer cases are the first of
    more. More cases need more threads; since the answers of all threads are mixed, other cases come out then.

    Attributes:
        seed: of the threads.
        asked: threads whose questions may be asked.
        threads: number of all threads.
    """

    seed: int
    asked: int
    threads: int

    @classmethod
    def of(cls, seed: int, cases: int, length: int) -> "ForumPosts":
        """Return as many threads as so many cases of a length need."""
        asked = int(max(_CASES_PER_FORUM, cases) * _THREADS_PER_CASE)
        return cls(seed, asked, max(asked, length // _TOKENS_PER_THREAD))

    @staticmethod
    def comparable(lengths: Iterable[int], measure: Tokenizer) -> tuple[int, ...]:
        """Return the lengths at which the same questions are asked: where posts have many more tokens than in cl100k, not the shortest."""
        if measure.name == CL100K:
            return tuple(lengths)
        sample = "".join(answer.body for thread in write_threads(0, 20) for answer in thread.answers)
        ratio = measure.count(sample) / get_tokenizer(CL100K).count(sample)
        return tuple(length for length in lengths if length * _MOST_TOKENS_RATIO >= 1000 * ratio)

    @property
    def name(self) -> str:
        """For messages."""
        return f"synthetic forum of seed {self.seed}, {self.threads} threads"

    @property
    def _written(self) -> list[Thread]:
        return _threads(self.seed, self.threads)

    def index(self, progress: Progress) -> PostIndex:
        """Return the numbers of all posts."""
        threads = self._written
        names: dict[str, int] = {}
        tags = [names.setdefault(tag, len(names)) for thread in threads for tag in thread.tags]
        answers = [(answer, thread.id) for thread in threads for answer in thread.answers]
        return PostIndex(
            questions=Questions(
                id=np.array([thread.id for thread in threads], dtype=np.int64),
                accepted=np.array([thread.accepted_id for thread in threads], dtype=np.int64),
                score=np.array([thread.score for thread in threads], dtype=np.int32),
                views=np.array([thread.views for thread in threads], dtype=np.int64),
                created=np.array([thread.date for thread in threads], dtype="datetime64[ms]"),
                tag_offsets=np.cumsum([0, *(len(thread.tags) for thread in threads)], dtype=np.int64),
                tag_ids=np.array(tags, dtype=np.int32),
            ),
            answers=Answers(
                id=np.array([answer.id for answer, _ in answers], dtype=np.int64),
                parent=np.array([parent for _, parent in answers], dtype=np.int64),
                score=np.array([answer.score for answer, _ in answers], dtype=np.int32),
                created=np.array([answer.date for answer, _ in answers], dtype="datetime64[ms]"),
            ),
            tags=tuple(names),
            rows=len(threads) + len(answers),
        )

    def texts(self, wanted: Container[int]) -> Iterator[PostText]:
        """Yield texts of the wanted posts."""
        for thread in self._written:
            posts = [(thread.id, thread.body), *((answer.id, answer.body) for answer in thread.answers)]
            yield from (PostText(post, body, text_only=True) for post, body in posts if post in wanted)
