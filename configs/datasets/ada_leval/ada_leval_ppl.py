"""Ada-LEval: by log-likelihood; local models only.

    opencompass --datasets ada_leval_ppl --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below; names of other files are left to those.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.hosts.opencompass.likelihood import CasePPLInferencer, CasePPLEvaluator
from long_context_tasks.hosts.opencompass.task import CaseDataset

_tasks = """
    ada_leval_tsort_2k_ppl ada_leval_tsort_4k_ppl ada_leval_tsort_8k_ppl ada_leval_tsort_any_ppl
    ada_leval_tsort_2k_ppl_synthetic ada_leval_tsort_4k_ppl_synthetic ada_leval_tsort_8k_ppl_synthetic
    ada_leval_tsort_any_ppl_synthetic
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).chosen_tasks('ada_leval_ppl', _tasks)

ada_leval_ppl_datasets = [
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
            inferencer=dict(type=CasePPLInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=CasePPLEvaluator)),
    ) for name in _chosen
]
