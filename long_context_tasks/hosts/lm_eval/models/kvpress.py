"""``lm_eval --model lct_kvpress``: methods that drop a part of a context's cache, from NVIDIA's kvpress.

The press works while the context is read, before any question is known; the question and the answer keep all their keys and values.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from long_context_tasks.hosts.lm_eval.models.presses import make_press, moves_keys
from long_context_tasks.hosts.lm_eval.models.shared_context import ReadContext, SharedContextLM
from long_context_tasks.schema import InputError


class KVPressLM(SharedContextLM):
    """A causal model of transformers whose cache of a context is compressed before it is asked."""

    def __init__(
        self, pretrained: Any, press: str | None = None, ratio: float | None = None, **arguments: Any
    ) -> None:
        """Load the model.

        Raises:
            InputError: see :func:`~long_context_tasks.hosts.lm_eval.models.presses.make_press`.
        """
        settings = {key[6:]: arguments.pop(key) for key in list(arguments) if key.startswith("press_")}
        whole = str(press).lower() == "none"
        self._press = None if whole else make_press(str(press), ratio, settings)
        self.method = (
            ""
            if whole
            else "_".join(
                [
                    str(press),
                    *([] if ratio is None else [f"{ratio:g}"]),
                    *(f"{key}{settings[key]}" for key in sorted(settings)),
                ]
            )
        )
        super().__init__(pretrained, **arguments)

    def get_model_info(self) -> dict[str, Any]:
        """Return the host's facts of the model, with the method, by which reports tell it from the whole cache."""
        return {**super().get_model_info(), **({"lct_method": self.method} if self.method else {})}

    @torch.no_grad()
    def read(self, ids: Sequence[int]) -> ReadContext:
        """Read a context and keep what the press leaves of its keys and values."""
        if self._press is None:
            return super().read(ids)
        with self._press(self.model):
            read = super().read(ids)
        return replace(read, position=read.cache.get_seq_length()) if moves_keys(self._press) else read

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        """Score texts with the whole cache.

        Raises:
            InputError: there is a press; a text to score has no context and question.
        """
        if self._press is not None:
            raise InputError(
                "tasks by likelihood have no question apart from the context: use press=none or leave them out"
            )
        return super().loglikelihood_rolling(requests, disable_tqdm)  # type: ignore[no-any-return]
