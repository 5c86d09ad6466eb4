"""ELITR-Bench in lm-eval: the class that the YAML files in ``lm_eval_tasks`` name."""

from long_context_tasks.benchmarks.elitr_bench.data import load_task
from long_context_tasks.hosts.lm_eval.task import CaseTask


class ElitrBenchTask(CaseTask):
    """A task of ELITR-Bench."""

    load = staticmethod(load_task)
