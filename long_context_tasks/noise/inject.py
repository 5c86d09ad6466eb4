"""Noise of either mode on any text, and its measured rate."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from long_context_tasks.noise.error_rules import Rules
from long_context_tasks.noise.exact import ErrorModel, inject_exact
from long_context_tasks.noise.official import RuleTable, inject_official
from long_context_tasks.noise.words import word_error_rate
from long_context_tasks.schema import InputError

MODES = ("exact", "official")


@dataclass(frozen=True)
class Noisy:
    """A text with noise.

    Attributes:
        text: As many lines as before.
        reference: The text without noise.
    """

    text: str
    reference: str

    @cached_property
    def measured_wer(self) -> float:
        """Word error rate of the text against the text without noise, 0 to 1 and above."""
        return word_error_rate(self.reference, self.text)


def noise_seed(seed: int, document: str, wer: float) -> int:
    """Return the seed of a document at a word error rate: the same in every process, and different for every document and rate.

    >>> noise_seed(0, "meeting_1", 0.4)
    1779061134

    Args:
        seed: Of the whole run.
        document: Its key, such as a meeting id.
        wer: Target, 0 to 1.

    Returns:
        0 to 2**32 - 1, as numpy's legacy generator takes it.
    """
    key = f"{seed}\x00{document}\x00{wer:.6f}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4], "big")


_model = lru_cache(maxsize=4)(ErrorModel)


@lru_cache(maxsize=4)
def _table(rules: Rules) -> RuleTable:
    return RuleTable(rules.counts)


def inject(text: str, rules: Rules, wer: float, seed: int = 0, mode: str = "exact") -> Noisy:
    """Make a text as noisy as a recogniser would.

    Args:
        text: A transcript; lines stay lines.
        rules: From :func:`~long_context_tasks.noise.learn`, ``Rules.read`` or ``default_rules()``.
        wer: Target word error rate, 0 to 1.
        seed: Equal seeds give equal bytes; see :func:`noise_seed`.
        mode: ``exact`` meets the target as measured and leaves tags alone; ``official`` is the simulator of the paper,
            which does neither.

    Raises:
        InputError: a target outside 0 to 1, an unknown mode, a seed that is none, a text without words, rules without errors.
    """
    if not 0 <= wer <= 1:
        raise InputError(f"word error rate {wer}: give a share from 0 to 1, such as 0.4 for 40 %")
    if mode not in MODES:
        raise InputError(f"mode {mode!r}: there are {' and '.join(MODES)}")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed}: give a whole number from 0 to 4294967295")
    if not text.split():
        raise InputError("the text holds no words; noise needs some")
    if mode == "exact":
        noisy = inject_exact(text, _model(rules), wer, seed)
    else:
        noisy = inject_official(text, _table(rules), wer, seed)
    return Noisy(noisy, text)


def measured_rates(
    documents: Mapping[str, str],
    rules: Rules,
    targets: Sequence[float],
    *,
    seed: int = 0,
    mode: str = "exact",
) -> dict[float, dict[str, float]]:
    """Measure the word error rate of each document at each target, as in the paper's Table 5.

    Args:
        documents: Key -> text.
        rules: As in :func:`inject`.
        targets: Word error rates, 0 to 1.
        seed: Of the run; each document and target gets its own from it.
        mode: As in :func:`inject`.

    Returns:
        Target -> key of the document -> measured rate.

    Raises:
        InputError: as :func:`inject`.
    """
    return {
        target: {
            key: inject(text, rules, target, noise_seed(seed, key, target), mode).measured_wer
            for key, text in documents.items()
        }
        for target in targets
    }
