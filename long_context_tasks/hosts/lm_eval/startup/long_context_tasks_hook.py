"""Make lm-eval find the tasks of long_context_tasks without ``--include_path``.

lm-eval 0.4.13 searches only its own folder and ``--include_path``. This file and the ``.pth`` file of the
same name are installed at the top level of site-packages; Python reads the ``.pth`` file at every start,
which takes well under a millisecond because nothing is imported here. When a program imports
``lm_eval.tasks.manager``, ``long_context_tasks.hosts.lm_eval.patches`` does the rest. ``LCT_NO_HOOK=1``
disables the hook. An error here is reported in one line on stderr; it never stops Python or the host.
"""

# Types would have to be imported from typing at every start of Python.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
import sys

HOST_MODULE = "lm_eval.tasks.manager"


class TaskFolderFinder:
    """Finds the host's module as Python would, and extends its task search after it is loaded."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Return the module's spec with a loader that also calls ``extend``; None for every other module."""
        if name != HOST_MODULE:
            return None
        for finder in sys.meta_path:
            if finder is TaskFolderFinder or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                _guard(_extend_after_loading, spec)
                return spec
        return None


def _extend_after_loading(spec):
    import os

    if os.environ.get("LCT_NO_HOOK", "0") not in ("", "0"):
        return
    load = spec.loader.exec_module

    def exec_module(module):
        load(module)  # the host's own errors propagate as usual
        _guard(_extend, module)

    spec.loader.exec_module = exec_module


def _extend(_):
    from long_context_tasks.hosts.lm_eval import patches

    patches.extend_lm_eval()


def _guard(function, argument):
    try:
        function(argument)
    except Exception as error:
        print(  # noqa: T201 - a logger may not be configured yet, and importing one costs time
            f"long_context_tasks: lm-eval does not see our tasks ({type(error).__name__}: {error}); use --include_path",
            file=sys.stderr,
        )


if TaskFolderFinder not in sys.meta_path:
    sys.meta_path.insert(0, TaskFolderFinder)
