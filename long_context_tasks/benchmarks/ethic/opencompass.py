"""ETHIC in OpenCompass. Configs name these classes; all of the work is in ``hosts``."""

from opencompass.registry import ICL_EVALUATORS, ICL_INFERENCERS, LOAD_DATASET

from long_context_tasks.benchmarks.ethic.data import load_task
from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer


@LOAD_DATASET.register_module()
class EthicDataset(CaseDataset):
    """Cases of one ETHIC task in one domain."""

    load_task = staticmethod(load_task)


@ICL_INFERENCERS.register_module()
class EthicGenInferencer(CaseGenInferencer):
    """Asks the model."""

    load_task = staticmethod(load_task)


@ICL_EVALUATORS.register_module()
class EthicEvaluator(CaseEvaluator):
    """Scores responses; summaries are judged first."""

    load_task = staticmethod(load_task)
