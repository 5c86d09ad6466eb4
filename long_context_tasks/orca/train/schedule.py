"""What a training step does, as pure functions of the seed and the step: which items, which random numbers, which learning rate.

So a run that was stopped goes on exactly as it would have, without the state of any generator.
"""

import hashlib
import random


def seed_of(*parts: object) -> int:
    """A seed of 63 bits from anything that prints alike.

    >>> seed_of(0, "human", 3) == seed_of(0, "human", 3) != seed_of(0, "human", 4)
    True
    """
    digest = hashlib.sha256(" ".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def steps_per_epoch(items: int, batch_size: int) -> int:
    """Steps in which every item is seen once; the last may have fewer items."""
    return -(-items // batch_size)


def step_items(items: int, batch_size: int, step: int, *seed: object) -> list[int]:
    """Indices of the items of one step, in an order that is drawn anew for each epoch.

    Args:
        items: their number.
        batch_size: items of a step.
        step: from 0.
        seed: of the order.

    >>> sorted(step_items(5, 2, 0, 7) + step_items(5, 2, 1, 7) + step_items(5, 2, 2, 7))
    [0, 1, 2, 3, 4]
    """
    epoch, place = divmod(step, steps_per_epoch(items, batch_size))
    order = list(range(items))
    random.Random(seed_of("order", *seed, epoch)).shuffle(order)
    return order[place * batch_size : (place + 1) * batch_size]


def rate(step: int, steps: int, warmup: float) -> float:
    """Share of the highest learning rate at a step: up in a line over the warm-up, then down in a line, to 0 behind the last step.

    Args:
        step: from 0.
        steps: of the whole stage.
        warmup: share of the steps.

    >>> [rate(step, 4, 0.5) for step in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    """
    rising = round(steps * warmup)
    return (step + 1) / rising if step < rising else (steps - step) / (steps - rising)
