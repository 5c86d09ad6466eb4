"""Early stopping by the width of an interval: cases run in random order until the headline's 95 % interval is narrow enough."""

import random
from collections.abc import Sequence

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import SampleScore
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from long_context_tasks.hosts.inspect.scores import turns_of
from long_context_tasks.schema import Case, InputError, Score
from long_context_tasks.stats.means import mean_of_scores

FEWEST_CLUSTERS = 10
"""Before so many books (meetings, ...) nothing stops: an interval over few clusters is itself uncertain."""


def by_cluster_at_random(cases: Sequence[Case], seed: int) -> list[Case]:
    """The cases, clusters in random order, so that the first stand for all; those of one cluster stay together."""
    order = list(dict.fromkeys(case.cluster for case in cases))
    random.Random(seed).shuffle(order)
    place = {cluster: number for number, cluster in enumerate(order)}
    return sorted(cases, key=lambda case: place[case.cluster])


class WidthStopping:
    """The host's protocol ``EarlyStopping``: no case begins once the interval is narrow enough; those that run are finished."""

    def __init__(self, width: float, *, rates: bool) -> None:
        """Stop at a width, from the lower to the upper end; `rates` says that the headline is a share from 0 to 1.

        Raises:
            InputError: no width above 0.
        """
        if not isinstance(width, int | float) or not width > 0:
            raise InputError(f"stop_width={width}: give the width of an interval, like -T stop_width=0.1")
        self._width, self._rates = float(width), rates
        self._scores: list[Score] = []
        self._clusters: list[str] = []
        self._reached: float | None = None

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Name the manager."""
        return f"interval no wider than {self._width:g}"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Leave a case out when the interval is narrow enough."""
        if self._reached is None:
            return None
        return EarlyStop(id=id, epoch=epoch, reason=f"the interval is {self._reached:.4g} wide")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Take the headline's scores of a case in."""
        turns, clusters = turns_of(scores.values())
        self._scores += [next(iter(turn.values())) for turn in turns]
        self._clusters += clusters
        if self._reached is None and len(set(self._clusters)) >= FEWEST_CLUSTERS:
            mean = mean_of_scores(self._scores, self._clusters, rates=self._rates)
            if mean.high - mean.low <= self._width:
                self._reached = mean.high - mean.low

    async def complete_task(self) -> dict[str, JsonValue]:
        """What the log says of the stop."""
        return {"width": self._width, "reached": self._reached}
