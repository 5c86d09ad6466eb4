"""Noisy transcripts: the rules, the way of making noise, and everything that a transcript depends on."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from long_context_tasks.noise import MODES, Noisy, Rules, default_rules, inject, noise_seed
from long_context_tasks.schema import InputError

EXACT = "exact"
"""Mode of noise when none is asked for."""


@dataclass(frozen=True)
class NoiseSettings:
    """How transcripts are made noisy.

    Attributes:
        mode: ``exact`` reaches the target word error rate as measured and leaves tags alone; ``official`` is the simulator of the
            paper, which does neither.
        rules: a file of rules; None: those that come with the package.
    """

    mode: str = EXACT
    rules: Path | None = None

    def __post_init__(self) -> None:
        """Refuse an unknown mode.

        Raises:
            InputError: names the known ones.
        """
        if self.mode not in MODES:
            raise InputError(f"noise mode {self.mode!r} is none of {', '.join(MODES)}")

    def description(self) -> dict[str, Any]:
        """Return what a noisy transcript depends on besides its text, its target and the seed."""
        return {"noise_mode": self.mode, "noise_rules_sha256": _digest(self.rules)}


@lru_cache(maxsize=2)
def _rules(path: Path | None) -> Rules:
    if path is None:
        return default_rules()
    try:
        return Rules.read(path)
    except InputError as error:
        raise InputError(
            f"lct_noise_rules (LCT_NOISE_RULES): {error}; left out, the rules of the package are used"
        ) from error


@lru_cache(maxsize=2)
def _digest(path: Path | None) -> str:
    """Return a digest of the rules; the order of a word's forms matters, a draw goes through them."""
    digest = hashlib.sha256()
    for word, forms in _rules(path).counts.items():
        digest.update(json.dumps([word, *forms.items()]).encode())
    return digest.hexdigest()


def noisy(transcript: str, wer: int, settings: NoiseSettings, meeting: str, seed: int) -> Noisy:
    """Return a noisy transcript with its measured word error rate, the same in every process.

    Raises:
        InputError: rules that cannot be used.
    """
    rate = wer / 100
    return inject(transcript, _rules(settings.rules), rate, noise_seed(seed, meeting, rate), settings.mode)
