"""Tasks of benchmarks that other installed packages bring (entry points `long_context_tasks.benchmarks`).

    LCT_TASKS=name,name opencompass --datasets other_packages_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50).
"""
from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.hosts.opencompass.likelihood import CasePPLEvaluator, CasePPLInferencer
from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer

# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).tasks_of_other_packages()

other_packages_datasets = [
    dict(
        abbr=name,
        type=CaseDataset,
        lct_task=name,
        n=1,  # --dataset-num-runs wants them
        k=1,
        reader_cfg=dict(input_columns=['case'], output_column='reference'),
        infer_cfg=dict(
            # The host wants a template; the inferencer renders the case itself.
            prompt_template=dict(type=PromptTemplate, template='{case}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=CasePPLInferencer if by_likelihood else CaseGenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=CasePPLEvaluator if by_likelihood else CaseEvaluator)),
    ) for name, by_likelihood in _chosen
]
