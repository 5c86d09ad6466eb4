"""Whether the Hugging Face hub answers, because its client tries each file six times before it gives up."""

import logging
import os
from functools import cache
from pathlib import Path
from threading import Thread

from long_context_tasks.schema import InputError

logger = logging.getLogger(__name__)

_SECONDS = 5.0  # the client waits for 23 seconds and more, for each file


@cache
def why_offline() -> str:
    """Return why the hub is not asked for files; empty if it answers.

    It is asked once per process. A thread limits the time for all its addresses and for their names.
    """
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    found = [f"no answer in {_SECONDS:g} seconds"]

    def ask() -> None:
        try:
            status = get_session().head(constants.ENDPOINT, timeout=_SECONDS).status_code
            found[0] = f"status {status}" if status >= 500 else ""
        except Exception as error:  # the client's library depends on its version
            found[0] = type(error).__name__

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(_SECONDS)
    return f"{constants.ENDPOINT}: {found[0]}" if found[0] else ""


@cache
def check_hub_model(name: str, option: str, *, required: bool = True) -> None:
    """Check that a model is on this machine or on the hub, because hosts find out late and show pages of tracebacks.

    If the hub does not answer, this process and its children read only local copies from then on.

    Args:
        name: a hub id; nothing is done for a folder or an empty text.
        option: what the model was given with, such as LCT_MODEL.
        required: whether the run fails without it.

    Raises:
        InputError: it is required, there is neither a folder nor a local copy, and the hub does not answer or has no such model.
    """
    if not name or Path(name).expanduser().exists():
        return
    try:
        from huggingface_hub import HfApi, constants, errors
    except ImportError:
        return
    copies = Path(constants.HF_HUB_CACHE, f"models--{name.replace('/', '--')}", "snapshots")
    if required and not copies.is_dir() and "TRANSFORMERS_CACHE" not in os.environ:
        gone = f"{option} {name}: no such folder here, and "
        if reason := why_offline():
            raise InputError(
                f"{gone}the Hugging Face hub cannot be reached ({reason}); correct the path, or fetch the model first: "
                f"hf download {name}"
            )
        try:
            HfApi().model_info(name, timeout=_SECONDS)
        except (errors.RepositoryNotFoundError, errors.HFValidationError):
            raise InputError(
                f"{gone}the Hugging Face hub has no such model, or not for you; correct the path or the hub id such as "
                "Qwen/Qwen3-8B, or give a token with hf auth login"
            ) from None
        except Exception:  # whatever else the hub does, the host's own client tries longer
            return
    if not constants.HF_HUB_OFFLINE and (reason := why_offline()):
        logger.warning(
            "%s: the Hugging Face hub cannot be reached (%s), so only a local copy is read; %s also takes a folder",
            *(name, reason, option),
        )
        os.environ["HF_HUB_OFFLINE"] = "1"
        constants.HF_HUB_OFFLINE = True
