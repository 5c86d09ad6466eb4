"""Ada-LEval: by log-likelihood; local models only.

    opencompass --datasets ada_leval_ppl --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

import os

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.benchmarks.ada_leval.opencompass import AdaLevalDataset, AdaLevalPPLEvaluator, AdaLevalPPLInferencer

_tasks = """
    ada_leval_tsort_2k_ppl ada_leval_tsort_4k_ppl ada_leval_tsort_8k_ppl ada_leval_tsort_any_ppl
    ada_leval_tsort_2k_ppl_synthetic ada_leval_tsort_4k_ppl_synthetic ada_leval_tsort_8k_ppl_synthetic
    ada_leval_tsort_any_ppl_synthetic
""".split()
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_wanted = [name for name in _tasks if name in _given and 'official' not in _given]

ada_leval_ppl_datasets = [
    dict(
        abbr=name,
        type=AdaLevalDataset,
        lct_task=name,
        n=1,  # --dataset-num-runs wants them
        k=1,
        reader_cfg=dict(input_columns=['case'], output_column='reference'),
        infer_cfg=dict(
            # The host wants a template; the inferencer renders the case itself.
            prompt_template=dict(type=PromptTemplate, template='{case}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=AdaLevalPPLInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=AdaLevalPPLEvaluator)),
    ) for name in _wanted or _tasks
]

del os  # a module cannot be written down with the config
