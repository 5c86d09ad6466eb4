"""OpenCompass' local runner, with the progress of its processes."""

from pathlib import Path
from typing import Any

from opencompass.runners import LocalRunner

from long_context_tasks.hosts.opencompass.console import shown_logs


class ShowingRunner(LocalRunner):  # type: ignore[misc]
    """Shows the cases done in a process: OpenCompass counts processes, and a process with all cases takes hours."""

    def launch(self, tasks: list[dict[str, Any]]) -> Any:
        if self.debug or not tasks:  # with --debug the tasks run in this process and show themselves
            return super().launch(tasks)
        with shown_logs(Path(tasks[0]["work_dir"]) / "logs"):
            return super().launch(tasks)
