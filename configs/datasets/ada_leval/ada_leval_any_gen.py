"""Ada-LEval: any length (LCT_LENGTH=24k) or your own cases (LCT_CASES=DIR, made by `lct build`).

    opencompass --datasets ada_leval_any_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

import os

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.benchmarks.ada_leval.opencompass import AdaLevalDataset, AdaLevalEvaluator, AdaLevalGenInferencer

_tasks = """
    ada_leval_tsort_any ada_leval_tsort_any_synthetic ada_leval_bestanswer_any
    ada_leval_bestanswer_any_synthetic ada_leval_bestanswer_any_front ada_leval_bestanswer_any_mid
    ada_leval_bestanswer_any_rear ada_leval_bestanswer_any_cut2k ada_leval_bestanswer_any_cut4k
    ada_leval_bestanswer_any_cut8k ada_leval_bestanswer_any_nodoc
""".split()
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_wanted = [name for name in _tasks if name in _given and 'official' not in _given]

ada_leval_any_datasets = [
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
            inferencer=dict(type=AdaLevalGenInferencer),
        ),
        eval_cfg=dict(evaluator=dict(type=AdaLevalEvaluator)),
    ) for name in _wanted or _tasks
]

del os  # a module cannot be written down with the config
