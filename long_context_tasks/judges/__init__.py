"""Judges: models that score responses by a rubric, with one configuration for all hosts. No call is paid for twice.

A benchmark makes requests and a rubric; :func:`judge_all` returns verdicts::

    config = load_judge(options.judge)             # None without a judge
    check_judge(config)                            # before generation
    store = Store(default_store_path(config))
    verdicts = judge_all(requests, config, rubric, store)
    print(summarize(verdicts, config))
"""

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import check_judge, load_judge
from long_context_tasks.judges.parsers import last_boxed, last_result, official_boxed, official_result
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store, default_store_path
from long_context_tasks.judges.task_judge import Judging
from long_context_tasks.judges.verdict import (
    JudgeRequest,
    Reply,
    Rubric,
    Summary,
    TopLogprobs,
    Usage,
    Verdict,
    mean_score,
    summarize,
)
from long_context_tasks.schema.response import ENDPOINT_FAILED, UNPARSABLE

__all__ = [
    "ENDPOINT_FAILED",
    "UNPARSABLE",
    "Draw",
    "JudgeConfig",
    "JudgeRequest",
    "Judging",
    "Reply",
    "Rubric",
    "Store",
    "Summary",
    "TopLogprobs",
    "Usage",
    "Verdict",
    "check_judge",
    "default_store_path",
    "judge_all",
    "last_boxed",
    "last_result",
    "load_judge",
    "mean_score",
    "official_boxed",
    "official_result",
    "summarize",
]
