"""What a model is, as far as its runs tell: its name at the hosts, and whether it has a chat template."""

import re
from collections.abc import Iterable, Mapping

from long_context_tasks.runs.opencompass_setups import Setup
from long_context_tasks.runs.stored import LM_EVAL, StoredRun


def same_model(one: str, other: str) -> bool:
    """Whether two names may mean one model: hosts keep a path, a hub id, or its last part.

    >>> same_model("/models/Qwen2.5-7B/", "Qwen2.5-7B"), same_model("a/Qwen", "a__Qwen"), same_model("a/m", "b/m")
    (True, True, False)
    """
    parts = [re.split(r"/|__", name.rstrip("/")) for name in (one, other)]
    if parts[0][-1] != parts[1][-1]:
        return False
    hub = [len(part) == 2 and bool(part[0]) for part in parts]
    return not all(hub) or parts[0] == parts[1]


def lacks_template(model: str, runs: Iterable[StoredRun], setups: Iterable[Setup] = ()) -> bool:
    """Whether a model's runs were all made without a chat template; False when nothing tells.

    lm-eval writes down a hash of the template that it applied, and bundles keep it. OpenCompass has another type of model for base
    models, which stands in the config of a run and not in bundles. What a server does to messages is not known.

    Args:
        model: name.
        runs: of any model.
        setups: of OpenCompass, of any model.
    """
    told = [
        not run.provenance.get("chat_template_sha")
        for run in runs
        if run.host == LM_EVAL and same_model(run.model, model) and _in_process(run)
    ]
    told += [
        str(row.get("type", "")).endswith("HuggingFaceBaseModel")
        for setup in setups
        for name, row in setup.models.items()
        if same_model(name, model)
    ]
    return bool(told) and all(told)


def _in_process(run: StoredRun) -> bool:
    kind, arguments = str(run.provenance.get("model") or ""), run.provenance.get("model_args")
    named = arguments if isinstance(arguments, str | Mapping) else ""
    return bool(kind) and "completions" not in kind and "base_url" not in named
