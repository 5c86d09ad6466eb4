"""Reference sets: a few cases of each synthetic task, whose hash stands on the card, so that every machine can tell that it writes the same.

The hash is of what a model sees and what is right, and of nothing else. It changes with the task's version.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, LoadedTask, Options, parse_length


def reference_settings(benchmark: str) -> Mapping[str, Any]:
    """What the card says under ``data.synthetic.reference``: ``length``, ``seed``, ``n`` and ``sha256`` by task.

    Raises:
        InputError: it says nothing.
    """
    settings = catalogue.card(benchmark).data.get("synthetic", {}).get("reference")
    if not settings:
        raise InputError(f"{benchmark}/card.yaml: has no reference sets (data.synthetic.reference)")
    found: Mapping[str, Any] = settings
    return found


def reference_sha256(task: str) -> str:
    """The hash of a task's reference set, written anew (or taken from the cache).

    Raises:
        InputError: an unknown task, or a card without reference sets.
    """
    benchmark = catalogue.parse_task(task).benchmark
    settings = reference_settings(benchmark)
    options = Options(length=parse_length(settings["length"]), seed=settings["seed"], n=settings["n"])
    loaded: LoadedTask = catalogue.core(benchmark, "data").load_task(task, options)
    digest = hashlib.sha256()
    for case in loaded.cases.cases:
        sent = loaded.whole_conversation(case) if loaded.is_conversation else loaded.messages(case)
        row = {
            "messages": [[message.role, message.content] for message in sent],
            "turns": [[turn.question, turn.gold] for turn in case.turns],
        }
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
    return digest.hexdigest()
