"""One process or several that train together, as ``accelerate launch`` or ``torchrun`` starts them.

Each holds the whole model and computes its parts of every step; gradients and predictions are joined, so that all processes decide alike.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import Parameter

from long_context_tasks.orca.checkpoint import choose_device, named_failures


class Processes:
    """Those of this run.

    Attributes:
        rank: number of this process, from 0.
        count: of all.
        device: where this one computes.
    """

    def __init__(self, device: str = "auto") -> None:
        """Meet the others.

        Args:
            device: of torch; ``auto`` takes the GPU when there is one. Of several processes each takes its own GPU.
        """
        chosen, _ = choose_device(device, "auto")
        with named_failures("accelerate"):
            from accelerate import PartialState

            self._state = PartialState(cpu=chosen.startswith("cpu"))
        self.rank: int = self._state.process_index
        self.count: int = self._state.num_processes
        self.device: str = chosen if self.count == 1 else str(self._state.device)

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Go on when all have come here."""
        if self.count > 1:
            self._state.wait_for_everyone()

    def share(self, items: Sequence[Any]) -> list[tuple[int, Any]]:
        """Part of this process of a list that all have, each with its place in the list."""
        return [(place, item) for place, item in enumerate(items) if place % self.count == self.rank]

    def join(self, parts: Sequence[tuple[int, Any]]) -> list[Any]:
        """The parts of all processes as one list in the order of the places; the same in every process."""
        found = list(parts)
        if self.count > 1:
            from accelerate.utils import gather_object

            found = gather_object(found)
        return [item for _, item in sorted(found, key=lambda part: part[0])]

    def sum_gradients(self, parameters: Sequence[Parameter]) -> None:
        """Add up the gradients of all processes; a process that had nothing to compute adds nothing."""
        if self.count == 1:
            return
        from accelerate.utils import reduce

        for each in parameters:
            grad = torch.zeros_like(each) if each.grad is None else each.grad
            each.grad = reduce(grad, reduction="sum")
