"""Judges numbered items against a server, in a process that a test may kill: URL, store, number, in flight."""

import json
import sys
import time
from pathlib import Path

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import check_judge
from long_context_tasks.judges.parsers import last_boxed
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Rubric
from long_context_tasks.schema import Message


def items(n: int) -> list[JudgeRequest]:
    return [JudgeRequest(str(i), (Message("user", f"Judge item-{i}."),)) for i in range(n)]


def main() -> None:
    url, store, n, in_flight = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    config = JudgeConfig(
        model="judge",
        base_url=url,
        concurrency=in_flight,
        seeds=(2023,),
        retries=12,
        retry_wait=0.1,
        timeout=300,
    )
    requests = items(n)
    open_store = Store(store)
    if "--check" in sys.argv:
        # As hosts do before generation; it also loads the HTTP library, which takes as long as many calls.
        check_judge(config)
    start = time.perf_counter()
    verdicts = judge_all(
        requests, config, Rubric("ten", 1, 10, last_boxed(1, 10)), open_store, progress=False
    )
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "scores": [row[0].score for row in verdicts]}))


if __name__ == "__main__":
    main()
