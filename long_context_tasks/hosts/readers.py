"""The hosts whose results are read by reports, judges and comparisons: one row each.

To add a host, write a folder ``hosts/<name>/`` and add a row here. The folder needs two modules:

- one that runs tasks: it loads a task with :func:`~long_context_tasks.benchmarks.catalogue.load_task`, sends
  ``task.messages``, stores each answer as returned by ``task.received``, scores with
  :func:`~long_context_tasks.judges.task_judge.score_turns`, and writes the numbers from
  :func:`~long_context_tasks.stats.means.task_numbers` with the metadata from
  :func:`~long_context_tasks.hosts.stored.facts_of`;
- ``results.py``, which reads those files into :class:`~long_context_tasks.hosts.stored.StoredRun`. Reports
  load it without the host's own package, so it imports that package only inside functions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.hosts.inspect.results import inspect_runs
from long_context_tasks.hosts.lm_eval.results import lm_eval_runs
from long_context_tasks.hosts.opencompass.results import begun_without_answers, opencompass_runs
from long_context_tasks.hosts.own.score import own_runs
from long_context_tasks.hosts.stored import INSPECT, LM_EVAL, OPENCOMPASS, OWN, Found

RESULT_FOLDERS = "lm-eval's --output_path, OpenCompass's -w or inspect_ai's --log-dir"  # in messages

FolderReader = Callable[[Path, Sequence[str]], list[Found]]


@dataclass(frozen=True)
class Host:
    name: str  # its folder here, and its runs' field `host`
    library: str  # Python package that runs the model, as named in exports
    # Returns the runs whose files are directly in a folder, given the folder's sorted file names. It
    # recognizes them by file or folder name, and names other packages' tasks.
    runs: FolderReader
    # Returns a message for each run in a folder that was started but left no answers.
    begun: Callable[[Path], list[str]] = lambda _: []
    no_numbers: str = "no scores (--predict_only, or stopped)"  # why a run may have answers but no numbers


HOSTS = (
    Host(LM_EVAL, "lm_eval", lm_eval_runs),
    Host(OPENCOMPASS, "opencompass", opencompass_runs, begun_without_answers, "answers without scores"),
    Host(INSPECT, "inspect_ai", inspect_runs),
    Host(OWN, "long_context_tasks", own_runs),
)
HOST_OF = {host.name: host for host in HOSTS}
