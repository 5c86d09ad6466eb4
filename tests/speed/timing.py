"""Seconds of functions that are compared with one another within one run."""

import gc
import time
from collections.abc import Callable


def best_in_turns(
    *runs: Callable[[], object],
    times: int,
    clock: Callable[[], float] = time.perf_counter,
    before: Callable[[], object] = lambda: None,
) -> list[float]:
    """The quickest of several runs of each function, taken in turns: other work on the machine meets all of them.

    Args:
        runs: the functions.
        times: runs of each.
        clock: gives seconds.
        before: is called before every run, unmeasured.
    """
    gc.collect()
    gc.freeze()  # what pytest and the other tests hold is not searched for garbage again and again
    best = [float("inf")] * len(runs)
    for _ in range(times):
        for place, run in enumerate(runs):
            before()
            start = clock()
            run()
            best[place] = min(best[place], clock() - start)
    return best
