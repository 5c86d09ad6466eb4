"""ETHIC: the published files (LCT_DATA_DIR, or `lct data fetch ethic`).

    opencompass --datasets ethic_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below; names of other files are left to those.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer

_tasks = """
    ethic_recall_books ethic_recall_debates ethic_recall_medicine ethic_recall_law ethic_summarize_books
    ethic_summarize_debates ethic_summarize_medicine ethic_summarize_law ethic_organize_books
    ethic_organize_debates ethic_attribute_medicine ethic_attribute_law
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).chosen_tasks('ethic_gen', _tasks)

ethic_datasets = [
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
            inferencer=dict(type=CaseGenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=CaseEvaluator)),
    ) for name in _chosen
]
