"""Whether the Hugging Face hub answers, because its client tries each file six times before it gives up."""

import logging
import os
from functools import cache
from pathlib import Path
from threading import Thread

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
def use_local_copy_if_offline(name: str, option: str) -> None:
    """Let this process and its children read only local copies of the hub's files if the hub does not answer.

    Args:
        name: a hub id; nothing is done for a folder or an empty text.
        option: what the model was given with, such as LCT_MODEL.
    """
    if not name or Path(name).expanduser().exists():
        return
    try:
        from huggingface_hub import constants
    except ImportError:
        return
    if not constants.HF_HUB_OFFLINE and (reason := why_offline()):
        logger.warning(
            "%s: the Hugging Face hub cannot be reached (%s), so only a local copy is read; %s also takes a folder",
            *(name, reason, option),
        )
        os.environ["HF_HUB_OFFLINE"] = "1"
        constants.HF_HUB_OFFLINE = True
