"""Estimate of how many prompt tokens a prefix cache holds when the prompts are sent.

Engines and providers cache what they computed for the beginning of a prompt, in blocks of tokens, and reuse it for later prompts that
begin with the same blocks. A full cache drops the least recently used blocks first. Prompts are taken one after the other, while
concurrent requests may compute the same block twice. Tokens of the chat template are left out.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema import InputError

BLOCK = 16
"""Tokens of a block in vLLM; unique tokens are counted in such blocks."""
Order = Literal["cases", "longest"]
Encode = Callable[[str], Sequence[int]]
"""Encodes a text."""


@dataclass(frozen=True)
class PrefixCache:
    step: int = BLOCK  # step in which hits grow, in tokens; a multiple of 16
    least: int = 0  # shortest hit in tokens
    size: int | None = None  # capacity in tokens; None if unlimited
    # Order of the prompts: cases for task by task and case by case, longest for longest first over all tasks.
    order: Order = "cases"

    def __post_init__(self) -> None:
        if self.step < BLOCK or self.step % BLOCK or self.least < 0 or (self.size or 0) < 0:
            raise InputError(
                f"a prefix cache needs a step that is a multiple of {BLOCK} tokens and no negative numbers, not {self.step}:{self.least}"
            )

    @classmethod
    def named(cls, text: str, size: int | None = None, order: Order = "cases") -> "PrefixCache":
        """Return the cache with a name of :data:`KINDS`, or with ``STEP:LEAST``.

        >>> PrefixCache.named("openai"), PrefixCache.named("128:0").least
        (PrefixCache(step=128, least=1024, size=None, order='cases'), 0)
        """
        step, _, least = KINDS.get(text, text).partition(":")
        if not (step.isdecimal() and least.isdecimal()):
            raise InputError(
                f"--prefix-cache {text}: give {', '.join(KINDS)}, or STEP:LEAST in tokens, e.g. 128:1024"
            )
        return cls(int(step), int(least), size, order)


KINDS = {"vllm": f"{BLOCK}:0", "openai": "128:1024"}
"""Step and shortest hit by name: vLLM's blocks on GPUs, and OpenAI's own description of its cache (openai.com/index/api-prompt-caching)."""


@dataclass(frozen=True)
class Shared:
    tokens: int = 0  # number of tokens of all prompts
    unique: int = 0  # number of these in blocks that no earlier prompt began with
    cached: int = 0  # number of these found in the cache

    def __add__(self, other: "Shared") -> "Shared":
        return Shared(self.tokens + other.tokens, self.unique + other.unique, self.cached + other.cached)


class Prompts:
    """The prompts of a plan as hashes of blocks: eight bytes for every 16 tokens."""

    def __init__(self) -> None:
        self._all: list[tuple[str, int, array[int], bool]] = []

    def add(self, task: str, tokens: Sequence[int], *, cacheable: bool = True) -> None:
        """Add a prompt of a task; one that is not ``cacheable`` neither uses nor fills a cache."""
        keys: array[int] = array("q")
        key = 0
        for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
            # Each hash covers the one before, so that equal hashes mean equal beginnings.
            key = hash((key, *tokens[start : start + BLOCK]))
            keys.append(key)
        self._all.append((task, len(tokens), keys, cacheable))

    def shared(self, cache: PrefixCache) -> dict[str, Shared]:
        """Return, for each task, how much its prompts share with earlier prompts of any task."""
        prompts: Iterable[tuple[str, int, array[int], bool]] = self._all
        if cache.order == "longest":
            prompts = sorted(self._all, key=lambda prompt: -prompt[1])
        seen: set[int] = set()
        cache_blocks: OrderedDict[int, None] = OrderedDict()
        room = None if cache.size is None else cache.size // BLOCK
        by_task: dict[str, Shared] = {}
        for task, length, keys, cacheable in prompts:
            new = len(keys) - _leading(keys, seen)
            seen.update(keys)
            # The last token is never cached: the model must compute it to predict the first token of the answer.
            hit = (
                min(BLOCK * _leading(keys, cache_blocks), length - 1) // cache.step * cache.step
                if cacheable
                else 0
            )
            hit = hit if hit >= cache.least else 0
            if cacheable:
                _use(cache_blocks, keys, room)
            of_prompt = Shared(length, length - BLOCK * (len(keys) - new), max(hit, 0))
            by_task[task] = by_task.get(task, Shared()) + of_prompt
        return by_task


def _leading(keys: "array[int]", known: "set[int] | OrderedDict[int, None]") -> int:
    return next((place for place, key in enumerate(keys) if key not in known), len(keys))


def _use(cache_blocks: "OrderedDict[int, None]", keys: "array[int]", room: int | None) -> None:
    """Put blocks into the cache; the first block is dropped last, because the later ones are useless without it."""
    for key in reversed(keys):
        cache_blocks[key] = None
        cache_blocks.move_to_end(key)
    while room is not None and len(cache_blocks) > room:
        cache_blocks.popitem(last=False)
