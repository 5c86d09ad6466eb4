"""The runner of our config files: OpenCompass' own, which also shows the progress of tasks and why one has failed."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opencompass.registry import RUNNERS
from opencompass.runners import LocalRunner
from tqdm import tqdm

from long_context_tasks.hosts.opencompass.console import FOLLOWED, MARK, last_error

_LOOKS = 2.0  # seconds between two looks at a log


@RUNNERS.register_module()
class FollowedRunner(LocalRunner):  # type: ignore[misc]
    """Repeats the progress in the logs of tasks in the terminal."""

    def _launch(self, task: Any, gpu_ids: Any, index: int) -> tuple[str, int]:
        os.environ[FOLLOWED] = "1"
        log = Path(task.get_log_path(file_extension="out"))
        log.unlink(missing_ok=True)  # of an earlier run that is resumed now
        with followed(log):
            name, code = super()._launch(task, gpu_ids, index)
        if code and (error := last_error(log.read_text(encoding="utf-8", errors="replace"))):
            tqdm.write(f"{name}: {error}")
        return name, code


@contextmanager
def followed(log: Path) -> Iterator[None]:
    """Repeat the lines of progress of a log, from its beginning, while the block runs."""
    ended = threading.Event()
    follower = threading.Thread(target=_follow, args=(log, ended), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def _follow(log: Path, ended: threading.Event) -> None:
    at = 0
    while True:
        last = ended.wait(_LOOKS)
        if log.is_file():
            with log.open("rb") as file:
                file.seek(at)
                # The end of the file may be half a line.
                whole, newline, _ = file.read().rpartition(b"\n")
            at += len(whole) + len(newline)
            for line in whole.decode("utf-8", "replace").splitlines():
                if line.startswith(MARK):
                    tqdm.write(line.removeprefix(MARK))
        if last:
            return
