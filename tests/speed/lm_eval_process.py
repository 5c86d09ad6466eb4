"""One run of lm-eval's evaluator with its dummy model, without the scan of the host's own 14,000 task files.

    python lm_eval_process.py FOLDER_OF_YAML TASK METADATA_AS_JSON

Run as a script, so that each run has a process of its own.
"""

import json
import sys

import lm_eval
from lm_eval.tasks import TaskManager


def main(folder: str, task: str, metadata: str) -> None:
    manager = TaskManager(include_defaults=False, include_path=folder, metadata=json.loads(metadata))
    result = lm_eval.simple_evaluate(
        model="dummy", tasks=[task], task_manager=manager, log_samples=False, bootstrap_iters=0
    )
    sys.stdout.write(f"\nn {result['n-samples'][task]['effective']}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
