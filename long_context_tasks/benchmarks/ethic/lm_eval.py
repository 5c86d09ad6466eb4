"""ETHIC in lm-eval: the class that the YAML files in ``lm_eval_tasks`` name."""

from long_context_tasks.benchmarks.ethic.data import load_task
from long_context_tasks.hosts.lm_eval.task import CaseTask


class EthicTask(CaseTask):
    """A task of ETHIC in one domain."""

    load = staticmethod(load_task)
