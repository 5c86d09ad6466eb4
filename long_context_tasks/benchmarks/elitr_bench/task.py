"""Parse task names, and add noise to transcripts."""

import hashlib
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from long_context_tasks.benchmarks.catalogue import TaskSpec, parse_task
from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions
from long_context_tasks.schema import InputError

if TYPE_CHECKING:
    from long_context_tasks.noise import Noisy, Rules

EXACT: Literal["exact"] = "exact"  # default mode of noise


class ElitrTask(TaskSpec):
    """A task ``elitr_bench_<qa|conv>_<dev|test|synthetic>[_multiturn][_goldhistory][_czech][_werNN]``."""

    @property
    def gold_history(self) -> bool:
        """Whether the history contains gold answers instead of the model's own."""
        return "goldhistory" in self.words

    @property
    def language(self) -> str:
        """Language of questions and answers; transcripts are in English."""
        return "czech" if "czech" in self.words else "english"

    @property
    def wer(self) -> int | None:
        """Target word error rate of the transcripts in percent; None without noise."""
        return next((int(word.removeprefix("wer")) for word in self.words if word.startswith("wer")), None)

    @property
    def words(self) -> list[str]:
        return self.variant.split("_") if self.variant else []

    def without(self, word: str) -> "ElitrTask":
        return replace(self, variant="_".join(each for each in self.words if each != word))


def parse_name(name: str) -> ElitrTask:
    return ElitrTask(**vars(parse_task(name)))


@lru_cache(maxsize=2)
def _rules(file: Path | None) -> "Rules":
    from long_context_tasks.noise import Rules, default_rules

    if file is None:
        return default_rules()
    try:
        return Rules.read(file)
    except InputError as error:
        raise InputError(
            f"lct_noise_rules (LCT_NOISE_RULES): {error}; without this option, the rules of the package are used"
        ) from error


# Cached, because every task in a run needs it and the rules are large.
@lru_cache(maxsize=2)
def _rules_sha256(file: Path | None) -> str:
    digest = hashlib.sha256()
    for word, forms in _rules(file).counts.items():
        # In order, because a random draw iterates over a word's forms.
        digest.update(json.dumps([word, *forms.items()]).encode())
    return digest.hexdigest()


def noise_description(options: ElitrBenchOptions) -> dict[str, Any]:
    """Return the settings that a noisy transcript depends on, except its text, target and seed."""
    return {
        "noise_mode": options.noise_mode or EXACT,
        "noise_rules_sha256": _rules_sha256(options.noise_rules),
    }


def noisy(transcript: str, wer: int, meeting: str, options: ElitrBenchOptions) -> "Noisy":
    """Return a transcript with noise and its measured word error rate.

    ``wer`` is in percent. The result is the same in every process.
    """
    from long_context_tasks.noise import inject, noise_seed

    # Each meeting has its own seed, so its noise does not depend on the other meetings in a run.
    seed = noise_seed(options.seed, meeting, wer / 100)
    return inject(transcript, _rules(options.noise_rules), wer / 100, seed, options.noise_mode or EXACT)
