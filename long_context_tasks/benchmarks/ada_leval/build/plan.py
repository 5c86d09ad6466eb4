"""What both case builders share: bounds and seeds."""

import hashlib
from typing import Any

from long_context_tasks.benchmarks.building import Progress, TaskReport, parse_lengths
from long_context_tasks.schema import format_length
from long_context_tasks.schema.card import TaskCard
from long_context_tasks.tokens.build_settings import BuildSettings

__all__ = ["BuildSettings", "Progress", "TaskReport", "bound_of", "parse_lengths", "stable_seed"]


def bound_of(card: TaskCard, length: int) -> int:
    """Most tokens of a prompt of a length: the paper's figure where it has one."""
    return int(card.bounds.get(format_length(length), length))


def stable_seed(*parts: Any) -> str:
    """A seed for ``random.Random`` that depends on the parts only, not on order, process or Python version."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()
