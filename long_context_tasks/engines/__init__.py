"""Where independent pieces of work run: in this process, in several, or on a Ray cluster.

Results come in the order of the items. So a caller that writes them one after the other writes the same bytes with every engine.
"""

from contextlib import AbstractContextManager, nullcontext

from long_context_tasks.engines.engine import Engine, InProcess, processes
from long_context_tasks.engines.on_ray import cluster
from long_context_tasks.schema.files import InputError

__all__ = ["Engine", "InProcess", "engine_of"]


def engine_of(jobs: int = 1, name: str = "") -> AbstractContextManager[Engine]:
    """Return the engine that a command line names, for a ``with`` statement.

    Args:
        jobs: processes on this machine.
        name: empty; or ``ray`` for the cluster of this machine (or of ``RAY_ADDRESS``), or Ray's address: ``ray://host:10001``.

    Raises:
        InputError: no such engine, fewer than 1 job, both kinds at once, or no cluster at the address.
    """
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: give 1 or more")
    if not name:
        return processes(jobs) if jobs > 1 else nullcontext(InProcess())
    if jobs > 1:
        raise InputError(f"--jobs and --engine {name}: give one of them; a cluster knows its processors")
    if name != "ray" and not name.startswith("ray://"):
        raise InputError(f"--engine {name}: there is only ray, or its address: ray://host:10001")
    return cluster("" if name == "ray" else name)
