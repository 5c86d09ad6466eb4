"""The runner of our config files: the host's, which also shows how far tasks are, and why one has failed."""

import os
from pathlib import Path
from typing import Any

from opencompass.registry import RUNNERS
from opencompass.runners import LocalRunner
from tqdm import tqdm

from long_context_tasks.hosts.opencompass.console import FOLLOWED, followed, last_error


@RUNNERS.register_module()
class FollowedRunner(LocalRunner):  # type: ignore[misc]
    """Repeats the progress in the logs of tasks in the terminal."""

    def _launch(self, task: Any, gpu_ids: Any, index: int) -> tuple[str, int]:
        """Run a task as the host does; see there for the arguments."""
        os.environ[FOLLOWED] = "1"
        log = Path(task.get_log_path(file_extension="out"))
        log.unlink(missing_ok=True)  # of an earlier run that goes on now
        with followed(log):
            name, code = super()._launch(task, gpu_ids, index)
        if code and (error := last_error(log.read_text(encoding="utf-8", errors="replace"))):
            tqdm.write(f"{name}: {error}")
        return name, code
