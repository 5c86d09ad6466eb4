"""How much of the synthetic corpus the builders need, and in which form."""

from collections.abc import Iterator
from dataclasses import dataclass

from long_context_tasks.benchmarks.ada_leval.build_plan import stable_seed
from long_context_tasks.benchmarks.ada_leval.tsort_builder import TSortSettings, caps_for
from long_context_tasks.corpora.books import Book
from long_context_tasks.corpora.synthetic.novel import CHARACTERS_PER_TOKEN, write_novel
from long_context_tasks.schema import TaskCard
from long_context_tasks.tokens import CL100K

_MOST_TOKENS = 10_000_000
_FEWEST_NOVELS = 10
# A paragraph of the synthetic novel has 144 tokens at most; some may be too long for a segment of a very short case.
_LONG_PARAGRAPH = 150
_SLACK = 40 * _LONG_PARAGRAPH


def _derived_seed(*parts: object) -> int:
    return int(stable_seed(*parts)[:12], 16)


@dataclass(frozen=True)
class NovelPlan:
    """Novels for the cases of one length.

    Each case has a novel of its own as long as that makes ten million tokens at most; beyond, some cases share a novel
    (200 cases of 128k: 78 novels), which is then the cluster of the bootstrap. Never fewer than ten novels.

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
        number = min(cases, max(_FEWEST_NOVELS, _MOST_TOKENS // length))
        per_novel = -(-cases // number)
        caps = caps_for(card, length, settings)
        rate = CHARACTERS_PER_TOKEN
        if settings.measure.name != CL100K:
            sample = "\n\n".join(write_novel(0, 3000).book.paragraphs)
            rate = 1.02 * len(sample) / settings.measure.count(sample)
        return cls(
            seeds=tuple(_derived_seed(settings.seed, length, place) for place in range(number)),
            per_novel=per_novel,
            num_tokens=length + (per_novel - 1) * caps.stride * _LONG_PARAGRAPH + _SLACK,
            characters_per_token=rate,
        )

    def novels(self) -> Iterator[Book]:
        """Write them, one after the other."""
        for seed in self.seeds:
            yield write_novel(seed, self.num_tokens, characters_per_token=self.characters_per_token).book
