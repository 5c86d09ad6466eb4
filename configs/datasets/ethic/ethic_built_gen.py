"""ETHIC: your own cases only (LCT_CASES=DIR, made by `lct build`); there are no published ones.

    opencompass --datasets ethic_built_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below; names of other files are left to those.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer

_tasks = """
    ethic_single_qa_books ethic_single_qa_debates ethic_multi_qa_medicine ethic_multi_qa_law
    ethic_focused_summary_books ethic_focused_summary_debates ethic_focused_summary_medicine
    ethic_focused_summary_law
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).chosen_tasks('ethic_built_gen', _tasks)

ethic_built_datasets = [
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
