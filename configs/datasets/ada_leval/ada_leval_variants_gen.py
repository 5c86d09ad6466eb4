"""Ada-LEval: changed forms of the published cases.

    opencompass --datasets ada_leval_variants_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below; names of other files are left to those.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer

_tasks = """
    ada_leval_bestanswer_1k_front ada_leval_bestanswer_2k_front ada_leval_bestanswer_4k_front
    ada_leval_bestanswer_8k_front ada_leval_bestanswer_16k_front ada_leval_bestanswer_1k_mid
    ada_leval_bestanswer_2k_mid ada_leval_bestanswer_4k_mid ada_leval_bestanswer_8k_mid
    ada_leval_bestanswer_16k_mid ada_leval_bestanswer_1k_rear ada_leval_bestanswer_2k_rear
    ada_leval_bestanswer_4k_rear ada_leval_bestanswer_8k_rear ada_leval_bestanswer_16k_rear
    ada_leval_bestanswer_16k_cut2k ada_leval_bestanswer_16k_cut4k ada_leval_bestanswer_16k_cut8k
    ada_leval_bestanswer_1k_nodoc ada_leval_bestanswer_2k_nodoc ada_leval_bestanswer_4k_nodoc
    ada_leval_bestanswer_8k_nodoc ada_leval_bestanswer_16k_nodoc
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).chosen_tasks('ada_leval_variants_gen', _tasks)

ada_leval_variants_datasets = [
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
