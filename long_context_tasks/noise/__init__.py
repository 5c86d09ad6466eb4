"""Noise of speech recognition: learn its errors from pairs, put them into any text, measure word error rates."""

from long_context_tasks.noise.error_rules import ErrorShares, Rules, default_rules, learn, read_pairs
from long_context_tasks.noise.inject import MODES, Noisy, inject, measured_rates, noise_seed
from long_context_tasks.noise.official import official_rules
from long_context_tasks.noise.words import official_error_rate, word_error_rate

__all__ = [
    "MODES",
    "ErrorShares",
    "Noisy",
    "Rules",
    "default_rules",
    "inject",
    "learn",
    "measured_rates",
    "noise_seed",
    "official_error_rate",
    "official_rules",
    "read_pairs",
    "word_error_rate",
]
