"""Check that OpenCompass has everything that this package uses of it (``used.yaml``).

An unknown version must end a run with one line at its start, and not with a missing attribute after hours.
"""

import inspect
import pkgutil
from collections.abc import Iterator, Mapping

from long_context_tasks.hosts.names import attributes_of
from long_context_tasks.hosts.opencompass.console import show_input_errors_in_one_line
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import packaged_yaml


def check_opencompass() -> None:
    show_input_errors_in_one_line()
    used: Mapping[str, str] = packaged_yaml(__package__, "used.yaml")
    if lost := [lack for path, names in used.items() for lack in _lacks(path, names)]:
        shown = "; ".join(lost[:3]) + ("; ..." if len(lost) > 3 else "")
        raise InputError(
            f"long_context_tasks does not know this version of OpenCompass, which lacks {shown}: "
            "pip install opencompass==0.5.4"
        )


def _lacks(path: str, names: str) -> Iterator[str]:
    try:
        found = pkgutil.resolve_name(f"opencompass.{path}")
    except (ImportError, AttributeError) as error:
        yield f"{path} ({error})"
        return
    given, _, read = names.partition(";")
    known = inspect.signature(found).parameters if given else {}
    yield from (f"{name}= of {path}" for name in given.split() if name not in known)
    attributes = attributes_of(found) if read else set()
    yield from (f"{name} of {path}" for name in read.split() if name not in attributes)


def check_local_models() -> None:
    """Check that OpenCompass' classes for local models go with the installed transformers."""
    import transformers
    from opencompass import __version__
    from opencompass.models import HuggingFacewithChatTemplate

    gone = "batch_encode_plus"
    used = gone in HuggingFacewithChatTemplate.generate.__code__.co_names
    if used and not hasattr(transformers.PreTrainedTokenizerBase, gone):
        raise InputError(
            f"OpenCompass {__version__} cannot run local models with transformers {transformers.__version__}, which has no "
            f"{gone}: pip install 'transformers<5' into an environment for OpenCompass, run the model in lm-eval, or "
            "behind a server; `lct report` shows the results of several environments together"
        )
