"""Reference sets: a few cases of each synthetic task, whose hash stands on the card, so that every machine can tell that it writes the same.

The hash is of what a model sees, what is right, and all that scores are made from (``inputs``: facts of summaries, forms of answers).
Where one changes the benchmark's version rises; ``version`` beside the hashes says of which one they are.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import InputError, Options, parse_length


def reference_settings(benchmark: str) -> Mapping[str, Any]:
    """Return what the card says under ``data.synthetic.reference``: ``version``, ``length``, ``seed``, ``n`` and ``sha256`` by task.

    Raises:
        InputError: it says nothing.
    """
    settings = catalogue.card(benchmark).data.get("synthetic", {}).get("reference")
    if not settings:
        raise InputError(f"{benchmark}/card.yaml: has no reference sets (data.synthetic.reference)")
    found: Mapping[str, Any] = settings
    return found


def reference_sha256(task: str) -> str:
    """Return the hash of a task's reference set, written anew (or taken from the cache).

    Raises:
        InputError: an unknown task, or a card without reference sets.
    """
    benchmark = catalogue.parse_task(task).benchmark
    settings = reference_settings(benchmark)
    options = Options(length=parse_length(settings["length"]), seed=settings["seed"], n=settings["n"])
    loaded = load_task(task, options)
    digest = hashlib.sha256()
    for case in loaded.cases.cases:
        sent = loaded.whole_conversation(case) if loaded.is_conversation else loaded.messages(case)
        row = {
            "id": case.id,
            "messages": [[message.role, message.content] for message in sent],
            "turns": [[turn.question, turn.gold, dict(turn.labels)] for turn in case.turns],
            "inputs": dict(case.inputs),
        }
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
    return digest.hexdigest()


def changed_without_version(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Tasks whose reference set differs between two states of a card, though the benchmark's version is the same.

    >>> card = {"version": 1, "data": {"synthetic": {"reference": {"length": "1k", "sha256": {"a": "0f", "b": "1e"}}}}}
    >>> later = {"version": 1, "data": {"synthetic": {"reference": {"length": "1k", "sha256": {"a": "0f", "b": "2d"}}}}}
    >>> changed_without_version(card, later), changed_without_version(card, {**later, "version": 2})
    (['b'], [])

    Args:
        old: a card as it was published, as the YAML file has it.
        new: the card now; tasks that it adds or has no more are no change.
    """
    if old["version"] != new["version"]:
        return []
    before, now = (card.get("data", {}).get("synthetic", {}).get("reference", {}) for card in (old, new))
    hashes = before.get("sha256", {})
    return [
        task for task, sha256 in now.get("sha256", {}).items() if task in hashes and hashes[task] != sha256
    ]
