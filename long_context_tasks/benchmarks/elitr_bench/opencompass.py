"""ELITR-Bench in OpenCompass. Configs name these classes; all of the work is in ``hosts``."""

from opencompass.registry import ICL_EVALUATORS, ICL_INFERENCERS, LOAD_DATASET

from long_context_tasks.benchmarks.elitr_bench import data
from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer


@LOAD_DATASET.register_module()
class ElitrBenchDataset(CaseDataset):
    """Questions or conversations of one ELITR-Bench task."""

    load_task = staticmethod(data.load_task)


@ICL_INFERENCERS.register_module()
class ElitrBenchGenInferencer(CaseGenInferencer):
    """Asks the model, question by question or in conversations."""

    load_task = staticmethod(data.load_task)


@ICL_EVALUATORS.register_module()
class ElitrBenchEvaluator(CaseEvaluator):
    """Has the answers judged and scores them."""

    load_task = staticmethod(data.load_task)
