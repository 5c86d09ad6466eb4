"""Work on a Ray cluster, each item a task of its own. Ray starts a task again whose worker or machine is lost; the others go on."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import long_context_tasks
from long_context_tasks.engines.engine import kept_ahead
from long_context_tasks.schema.files import InputError
from long_context_tasks.schema.secrets import is_secret_name

T = TypeVar("T")
R = TypeVar("R")

_TRIES_AGAIN = 5
"""How often a task whose worker is lost is started again."""


class RayCluster:
    """Runs the function on a cluster; made by :func:`cluster`."""

    def __init__(self, ray: Any) -> None:
        """Use the cluster to which a module ``ray`` is connected."""
        self._ray = ray

    def mapped(self, function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """See :class:`~long_context_tasks.engines.engine.Engine`."""
        ray = self._ray
        run = ray.remote(max_retries=_TRIES_AGAIN)(_outcome)
        shared = ray.put(function)
        workers = int(ray.cluster_resources().get("CPU", 1))
        here = _Here(long_context_tasks.__version__, Path.cwd(), _settings())

        def submit(item: T) -> Any:
            return run.remote(shared, item, here)

        def result(ticket: Any) -> R:
            try:
                found, error = ray.get(ticket)
            except ray.exceptions.RayTaskError:  # an error of ours
                raise
            except ray.exceptions.RayError as lost:
                raise InputError(
                    f"Ray lost the worker of one piece {_TRIES_AGAIN + 1} times, perhaps for want of memory; give the "
                    "machines more, or each fewer processors (`ray start --num-cpus`), and run the same again"
                ) from lost
            if error is not None:
                raise error
            return found  # type: ignore[no-any-return]

        return kept_ahead(submit, result, items, workers)


class _Here(NamedTuple):
    """What workers share with the process that gives them work.

    Attributes:
        version: of the package.
        folder: from which relative paths count.
        settings: environment variables of the package; no secrets, which each machine has for itself.
    """

    version: str
    folder: Path
    settings: Mapping[str, str]


def _settings() -> Mapping[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("LCT_") and not is_secret_name(name)
    }


def _outcome(function: Callable[[T], R], item: T, here: _Here) -> tuple[R | None, InputError | None]:
    """Run on a worker. Bad input is a result like others: Ray would wrap the exception."""
    if long_context_tasks.__version__ != here.version:
        return None, InputError(
            f"a machine of the cluster has long_context_tasks {long_context_tasks.__version__}, this one {here.version}; install "
            "the same on all of them"
        )
    os.environ.update(here.settings)
    if here.folder.is_dir():
        os.chdir(here.folder)
    try:
        return function(item), None
    except InputError as error:
        return None, error


@contextmanager
def cluster(address: str) -> Iterator[RayCluster]:
    """Connect to a cluster for a block.

    Args:
        address: ``ray://host:10001``; empty for that of ``RAY_ADDRESS``, else of this machine, which is started where there is none.

    Raises:
        InputError: Ray is not installed, or no cluster answers.
    """
    try:
        import ray
    except ImportError as error:
        raise InputError("--engine ray needs Ray: pip install 'long_context_tasks[ray]'") from error
    try:
        ray.init(address=address or None, logging_level="error", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"--engine ray{address.removeprefix('ray')}: no cluster answers ({said}); `ray start --head` starts one"
        ) from error
    try:
        yield RayCluster(ray)
    finally:
        ray.shutdown()
