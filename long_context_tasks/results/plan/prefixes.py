"""How many tokens of prompts are new, and how many a cache of prefixes holds when they are sent.

Engines and providers keep what they computed for the beginning of a prompt, in blocks of tokens, and use it for later prompts that begin
with the same blocks. Blocks that were used longest ago go first when the cache is full. Prompts are taken one after the other: requests
that run side by side may compute the same block twice. Tokens of a chat template are left out.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from long_context_tasks.schema import InputError

BLOCK = 16
"""Tokens of a block: vLLM's own, and what unique tokens are counted in."""
Order = Literal["cases", "longest"]
Encode = Callable[[str], Sequence[int]]
"""A text to its tokens."""


@dataclass(frozen=True)
class PrefixCache:
    """A cache of prefixes.

    Attributes:
        step: tokens by which a hit grows; a multiple of 16.
        least: tokens of the shortest hit.
        size: tokens that it holds; None: all.
        order: in which prompts come. ``cases``: task by task, case by case. ``longest``: longest first over all tasks.
    """

    step: int = BLOCK
    least: int = 0
    size: int | None = None
    order: Order = "cases"

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            InputError: a step that is no multiple of 16, or negative numbers.
        """
        if self.step < BLOCK or self.step % BLOCK or self.least < 0 or (self.size or 0) < 0:
            raise InputError(
                f"a cache of prefixes has a step of a multiple of {BLOCK} tokens and no negative numbers, not {self.step}:{self.least}"
            )

    @classmethod
    def named(cls, text: str, size: int | None = None, order: Order = "cases") -> "PrefixCache":
        """Return the cache of a name, or of ``STEP:LEAST``.

        >>> PrefixCache.named("openai"), PrefixCache.named("128:0").least
        (PrefixCache(step=128, least=1024, size=None, order='cases'), 0)

        Raises:
            InputError: no such name, or a size that cannot be.
        """
        step, _, least = KINDS.get(text, text).partition(":")
        if not (step.isdecimal() and least.isdecimal()):
            raise InputError(
                f"--prefix-cache {text}: name {', '.join(KINDS)}, or STEP:LEAST in tokens, as 128:1024"
            )
        return cls(int(step), int(least), size, order)


KINDS = {"vllm": f"{BLOCK}:0", "openai": "128:1024"}
"""Names to steps and least hits: vLLM's blocks on GPUs, and what OpenAI says of its own cache (openai.com/index/api-prompt-caching)."""


@dataclass(frozen=True)
class Shared:
    """What prompts share.

    Attributes:
        tokens: of all prompts.
        unique: of them, in blocks that no prompt before has begun with.
        cached: of them, found in the cache.
    """

    tokens: int = 0
    unique: int = 0
    cached: int = 0

    def __add__(self, other: "Shared") -> "Shared":
        """Sum of two."""
        return Shared(self.tokens + other.tokens, self.unique + other.unique, self.cached + other.cached)


class Prompts:
    """The prompts of a plan as blocks: eight bytes for each of 16 tokens."""

    def __init__(self) -> None:
        """Hold none."""
        self._all: list[tuple[str, int, array[int], bool]] = []

    def add(self, task: str, tokens: Sequence[int], *, cacheable: bool = True) -> None:
        """Add a prompt of a task; one that is not ``cacheable`` neither uses nor fills a cache."""
        keys: array[int] = array("q")
        key = 0
        for start in range(0, len(tokens) - BLOCK + 1, BLOCK):
            key = hash((key, *tokens[start : start + BLOCK]))
            keys.append(key)
        self._all.append((task, len(tokens), keys, cacheable))

    def shared(self, cache: PrefixCache) -> dict[str, Shared]:
        """Return for each task what its prompts share with those before them."""
        prompts: Iterable[tuple[str, int, array[int], bool]] = self._all
        if cache.order == "longest":
            prompts = sorted(self._all, key=lambda one: -one[1])
        seen: set[int] = set()
        held: OrderedDict[int, None] = OrderedDict()
        room = None if cache.size is None else cache.size // BLOCK
        found: dict[str, Shared] = {}
        for task, length, keys, cacheable in prompts:
            new = len(keys) - _leading(keys, seen)
            seen.update(keys)
            # The last token is always computed: its output is the first token of the answer.
            hit = min(BLOCK * _leading(keys, held), length - 1) // cache.step * cache.step if cacheable else 0
            hit = hit if hit >= cache.least else 0
            if cacheable:
                _use(held, keys, room)
            here = Shared(length, length - BLOCK * (len(keys) - new), max(hit, 0))
            found[task] = found.get(task, Shared()) + here
        return found


def _leading(keys: "array[int]", held: "set[int] | OrderedDict[int, None]") -> int:
    """Return how many of the first blocks are held."""
    return next((place for place, key in enumerate(keys) if key not in held), len(keys))


def _use(held: "OrderedDict[int, None]", keys: "array[int]", room: int | None) -> None:
    """Put blocks into the cache, the first one as the last to go."""
    for key in reversed(keys):
        held[key] = None
        held.move_to_end(key)
    while room is not None and len(held) > room:
        held.popitem(last=False)
