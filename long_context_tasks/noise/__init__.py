"""Speech recognition errors: learn them from transcript pairs and inject them at a target word error rate."""

from long_context_tasks.noise.error_rules import Rules, default_rules, learn, read_pairs
from long_context_tasks.noise.inject import Noisy, inject, noise_seed
from long_context_tasks.noise.official import official_rules
from long_context_tasks.noise.words import word_error_rate

__all__ = [
    "Noisy",
    "Rules",
    "default_rules",
    "inject",
    "learn",
    "noise_seed",
    "official_rules",
    "read_pairs",
    "word_error_rate",
]
