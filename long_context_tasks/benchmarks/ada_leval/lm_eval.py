"""Ada-LEval in lm-eval: the class that the YAML files in ``lm_eval_tasks`` name."""

from long_context_tasks.benchmarks.ada_leval.data import load_task
from long_context_tasks.hosts.lm_eval.task import CaseTask


class AdaLevalTask(CaseTask):
    """A task of Ada-LEval."""

    load = staticmethod(load_task)
