"""Estimate of how many prompt tokens a prefix cache holds when the prompts are sent.

Engines and providers cache what they computed for the beginning of a prompt, in blocks of tokens or up to a mark, and reuse it for later
prompts that begin with the same tokens. A full cache drops the least recently used blocks first. Prompts are taken one after the other,
while concurrent requests may compute the same block twice. Tokens of the chat template are left out.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import astuple, dataclass
from math import inf
from typing import Literal, NamedTuple

from long_context_tasks.results.plan.prices import BLOCK, PrefixCache, Rate

Order = Literal["cases", "longest"]
"""Order of the prompts: task by task and case by case, or longest first over all tasks."""
Encode = Callable[[str], Sequence[int]]
"""Encodes a text."""


@dataclass(frozen=True)
class Shared:
    tokens: int = 0  # number of tokens of all prompts
    unique: int = 0  # number of these in blocks that no earlier prompt began with
    cached: int = 0  # number of these found in the cache
    written: int = 0  # number of these that were not found and are billed as written

    def __add__(self, other: "Shared") -> "Shared":
        return Shared(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class _Prompt(NamedTuple):
    task: str
    length: int
    keys: "array[int]"  # hashes of the text up to the end of each block: eight bytes for every 16 tokens
    ends: list[tuple[int, int]]  # tokens and hash of the text up to the end of each message or part of one
    marked: int  # place in ``ends`` of the cache mark, from 1; 0 without one
    answer: int
    cacheable: bool


class Prompts:
    """The prompts of a plan as hashes."""

    def __init__(self) -> None:
        self._all: list[_Prompt] = []

    def add(
        self,
        task: str,
        parts: Sequence[Sequence[int]],
        marked: int = 0,
        answer: int = 0,
        *,
        cacheable: bool = True,
    ) -> None:
        """Add a prompt of a task, as tokens of each message or part of one.

        ``marked`` parts are before a cache mark, and ``answer`` is the expected number of tokens of the answer.
        A prompt that is not ``cacheable`` neither uses nor fills a cache.
        """
        tokens = [token for part in parts for token in part]
        keys: array[int] = array("q")
        key = 0
        for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
            # Each hash covers the one before, so that equal hashes mean equal beginnings.
            key = hash((key, *tokens[start : start + BLOCK]))
            keys.append(key)
        ends: list[tuple[int, int]] = [(0, 0)]
        for part in parts:
            length, key = ends[-1]
            ends.append((length + len(part), hash((key, *part))))
        self._all.append(_Prompt(task, len(tokens), keys, ends[1:], marked, answer, cacheable))

    def shared(
        self, cache: PrefixCache, order: Order = "cases", rate: Rate | None = None
    ) -> dict[str, Shared]:
        """Return, for each task, how much its prompts share with earlier prompts of any task.

        Entries expire only at a known rate.
        """
        prompts: Iterable[_Prompt] = self._all
        if order == "longest":
            prompts = sorted(self._all, key=lambda prompt: -prompt.length)
        seen: set[int] = set()
        store = _Store(cache)
        by_task: dict[str, Shared] = {}
        for prompt in prompts:
            old = _leading(prompt.keys, seen)
            seen.update(prompt.keys)
            hit, written = store.take(prompt) if prompt.cacheable else (0, 0)
            if rate is not None:
                store.seconds += rate.seconds(prompt.length - hit, prompt.answer)
            of_prompt = Shared(prompt.length, prompt.length - BLOCK * old, hit, written)
            by_task[prompt.task] = by_task.get(prompt.task, Shared()) + of_prompt
        return by_task


class _Store:
    """The content of a cache while prompts arrive."""

    def __init__(self, rule: PrefixCache) -> None:
        self.rule = rule
        self.seconds = 0.0  # since the first prompt
        self._lifetime = inf if rule.lifetime is None else 60 * rule.lifetime
        self._used: OrderedDict[int, float] = OrderedDict()  # hash to the time of its last use
        self._checkpoints: set[int] = set()

    def take(self, prompt: _Prompt) -> tuple[int, int]:
        """Return the number of tokens found and of tokens written, and put the prompt into the cache."""
        while self._used and self.seconds - next(iter(self._used.values())) > self._lifetime:
            self._used.popitem(last=False)
        least, stored = self.rule.least, prompt.length
        if self.rule.hits == "marks":
            marks = prompt.ends[prompt.marked - 1 : prompt.marked] if prompt.marked else []
            if self.rule.writes == "prompts":
                marks = [*marks, prompt.ends[-1]]
            found = max((length for length, key in prompt.ends if key in self._used), default=0)
            stored = max((length for length, _ in marks), default=0)
            self._use([key for length, key in marks if length >= least])
        else:
            found = self._in_blocks(prompt)
        found = found if found >= least else 0
        return found, max(stored - found, 0) if stored >= least else 0

    def _in_blocks(self, prompt: _Prompt) -> int:
        keys, step = prompt.keys, self.rule.step
        # The last token is never cached: the model must compute it to predict the first token of the answer.
        found = min(BLOCK * _leading(keys, self._used), prompt.length - 1) // step * step
        if self.rule.hits == "checkpoints":
            while found > 0 and keys[found // BLOCK - 1] not in self._checkpoints:
                found -= step
            chunk = self.rule.chunk
            read = [*(range(chunk, prompt.length, chunk) if chunk else ()), prompt.length]
            ends = (length // step * step for length in read)
            self._checkpoints.update(keys[end // BLOCK - 1] for end in ends if end)
        self._use(keys)
        return max(found, 0)

    def _use(self, keys: Sequence[int]) -> None:
        """Put hashes into the cache; the first is dropped last, because the later ones are useless without it."""
        for key in reversed(keys):
            self._used[key] = self.seconds
            self._used.move_to_end(key)
        while self.rule.size is not None and len(self._used) > self.rule.size // BLOCK:
            self._used.popitem(last=False)


def _leading(keys: "array[int]", known: Collection[int]) -> int:
    return next((place for place, key in enumerate(keys) if key not in known), len(keys))
