"""Ada-LEval: the published files (LCT_DATA_DIR, or `lct data fetch ada_leval`).

    opencompass --datasets ada_leval_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

import os

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.benchmarks.ada_leval.opencompass import AdaLevalDataset, AdaLevalEvaluator, AdaLevalGenInferencer

_tasks = """
    ada_leval_tsort_1k ada_leval_tsort_2k ada_leval_tsort_4k ada_leval_tsort_8k ada_leval_tsort_16k
    ada_leval_tsort_32k ada_leval_tsort_64k ada_leval_tsort_128k ada_leval_bestanswer_1k
    ada_leval_bestanswer_2k ada_leval_bestanswer_4k ada_leval_bestanswer_6k ada_leval_bestanswer_8k
    ada_leval_bestanswer_12k ada_leval_bestanswer_16k ada_leval_bestanswer_32k ada_leval_bestanswer_64k
    ada_leval_bestanswer_128k
""".split()
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_wanted = [name for name in _tasks if name in _given and 'official' not in _given]

ada_leval_datasets = [
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
