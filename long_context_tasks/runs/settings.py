"""What runs must share to count as repeats of one another."""

from collections.abc import Mapping
from typing import Any

from long_context_tasks.runs.stored import StoredRun

OF_THE_PLACE = ("lct_data_dir", "lct_judge", "lct_seed", "lct_window", "lct_tokenizer")
"""These tell where and how a run was made, not what was asked."""
DEFAULTS: Mapping[str, Any] = {
    "lct_cut_keep": "front",
    "lct_length_policy": "same_information",
    "lct_prompt_style": "chat",
    "lct_question_markers": False,
    "lct_noise_mode": "exact",
}
_SEEDS = ("seed", "random_seed")


def telling_options(run: StoredRun) -> dict[str, Any]:
    """The options of a run that are not the default ones and change what was asked."""
    return {
        key: value
        for key, value in run.options.items()
        if key not in OF_THE_PLACE and value != DEFAULTS.get(key)
    }


def generation_arguments(run: StoredRun) -> dict[str, Any]:
    """Arguments of generation as the user gave them to lm-eval, a mapping or ``key=value`` with commas between; without seeds.

    OpenCompass does not write them down: there the model's name has to tell.
    """
    given = run.provenance.get("gen_kwargs")
    if not isinstance(given, Mapping):
        parts = (part.partition("=") for part in str(given or "").split(","))
        given = {key.strip(): _value(value.strip()) for key, equals, value in parts if equals}
    return {str(key): value for key, value in given.items() if key not in _SEEDS}


def settings_of(run: StoredRun) -> dict[str, Any]:
    """Options and arguments of generation that runs share when they differ in seed and time alone; sorted by name."""
    return dict(sorted({**telling_options(run), **generation_arguments(run)}.items()))


def seed_of(run: StoredRun) -> str:
    """The seed that tells a run from its repeats, as far as the host tells; empty when nothing does."""
    told = run.provenance.get("gen_kwargs")
    given = dict(told) if isinstance(told, Mapping) else {}
    candidates = (given.get("seed"), run.provenance.get("random_seed"), run.options.get("lct_seed"))
    return next((str(one) for one in candidates if one is not None), "")


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text
