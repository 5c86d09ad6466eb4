"""Tasks of a plan that are loaded one after the other, which takes seconds for each that is written from a seed."""

from collections.abc import Iterable, Sequence

QUIET_SECONDS = 2.0
"""A plan that is ready within them shows no bar."""


def counted(names: Sequence[str]) -> Iterable[str]:
    """Return the names; on a terminal a bar says how many of them are done."""
    from tqdm import tqdm

    return tqdm(names, desc="reading tasks", unit="task", delay=QUIET_SECONDS, disable=None, leave=False)
