"""Ada-LEval in OpenCompass. Configs name these classes; all of the work is in ``hosts``."""

from opencompass.registry import ICL_EVALUATORS, ICL_INFERENCERS, LOAD_DATASET

from long_context_tasks.benchmarks.ada_leval import data
from long_context_tasks.hosts.opencompass.likelihood import CasePPLEvaluator, CasePPLInferencer
from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer


@LOAD_DATASET.register_module()
class AdaLevalDataset(CaseDataset):
    """Cases of one Ada-LEval task."""

    load_task = staticmethod(data.load_task)


@ICL_INFERENCERS.register_module()
class AdaLevalGenInferencer(CaseGenInferencer):
    """Asks the model for an answer to each case."""

    load_task = staticmethod(data.load_task)


@ICL_INFERENCERS.register_module()
class AdaLevalPPLInferencer(CasePPLInferencer):
    """Scores every order of a TSort case by log-likelihood (section 4.5.1 of the paper)."""

    load_task = staticmethod(data.load_task)


@ICL_EVALUATORS.register_module()
class AdaLevalEvaluator(CaseEvaluator):
    """Scores answers."""

    load_task = staticmethod(data.load_task)


@ICL_EVALUATORS.register_module()
class AdaLevalPPLEvaluator(CasePPLEvaluator):
    """Scores log-likelihoods."""

    load_task = staticmethod(data.load_task)
