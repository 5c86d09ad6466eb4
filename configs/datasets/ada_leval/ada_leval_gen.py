"""Ada-LEval: the published files (LCT_DATA_DIR, or `lct data fetch ada_leval`).

    opencompass --datasets ada_leval_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below; names of other files are left to those.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer

_tasks = """
    ada_leval_tsort_1k ada_leval_tsort_2k ada_leval_tsort_4k ada_leval_tsort_8k ada_leval_tsort_16k
    ada_leval_tsort_32k ada_leval_tsort_64k ada_leval_tsort_128k ada_leval_bestanswer_1k
    ada_leval_bestanswer_2k ada_leval_bestanswer_4k ada_leval_bestanswer_6k ada_leval_bestanswer_8k
    ada_leval_bestanswer_12k ada_leval_bestanswer_16k ada_leval_bestanswer_32k ada_leval_bestanswer_64k
    ada_leval_bestanswer_128k
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).chosen_tasks('ada_leval_gen', _tasks)

ada_leval_datasets = [
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
