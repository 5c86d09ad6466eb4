"""ELITR-Bench: changed forms of the published cases.

    opencompass --datasets elitr_bench_variants_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of the tasks below; names of other files are left to those.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from opencompass.openicl.icl_prompt_template import PromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

from long_context_tasks.hosts.opencompass.task import CaseDataset, CaseEvaluator, CaseGenInferencer

_tasks = """
    elitr_bench_qa_dev_wer20 elitr_bench_qa_dev_wer40 elitr_bench_qa_dev_wer60 elitr_bench_qa_dev_wer80
    elitr_bench_qa_dev_wer100 elitr_bench_qa_dev_czech elitr_bench_qa_dev_czech_wer20
    elitr_bench_qa_dev_czech_wer40 elitr_bench_qa_dev_czech_wer60 elitr_bench_qa_dev_czech_wer80
    elitr_bench_qa_dev_czech_wer100 elitr_bench_qa_dev_multiturn elitr_bench_qa_dev_multiturn_wer20
    elitr_bench_qa_dev_multiturn_wer40 elitr_bench_qa_dev_multiturn_wer60 elitr_bench_qa_dev_multiturn_wer80
    elitr_bench_qa_dev_multiturn_wer100 elitr_bench_qa_dev_multiturn_czech
    elitr_bench_qa_dev_multiturn_czech_wer20 elitr_bench_qa_dev_multiturn_czech_wer40
    elitr_bench_qa_dev_multiturn_czech_wer60 elitr_bench_qa_dev_multiturn_czech_wer80
    elitr_bench_qa_dev_multiturn_czech_wer100 elitr_bench_qa_dev_multiturn_goldhistory
    elitr_bench_qa_dev_multiturn_goldhistory_wer20 elitr_bench_qa_dev_multiturn_goldhistory_wer40
    elitr_bench_qa_dev_multiturn_goldhistory_wer60 elitr_bench_qa_dev_multiturn_goldhistory_wer80
    elitr_bench_qa_dev_multiturn_goldhistory_wer100 elitr_bench_qa_dev_multiturn_goldhistory_czech
    elitr_bench_qa_dev_multiturn_goldhistory_czech_wer20
    elitr_bench_qa_dev_multiturn_goldhistory_czech_wer40
    elitr_bench_qa_dev_multiturn_goldhistory_czech_wer60
    elitr_bench_qa_dev_multiturn_goldhistory_czech_wer80
    elitr_bench_qa_dev_multiturn_goldhistory_czech_wer100 elitr_bench_qa_test_wer20
    elitr_bench_qa_test_wer40 elitr_bench_qa_test_wer60 elitr_bench_qa_test_wer80 elitr_bench_qa_test_wer100
    elitr_bench_qa_test_czech elitr_bench_qa_test_czech_wer20 elitr_bench_qa_test_czech_wer40
    elitr_bench_qa_test_czech_wer60 elitr_bench_qa_test_czech_wer80 elitr_bench_qa_test_czech_wer100
    elitr_bench_qa_test_multiturn elitr_bench_qa_test_multiturn_wer20 elitr_bench_qa_test_multiturn_wer40
    elitr_bench_qa_test_multiturn_wer60 elitr_bench_qa_test_multiturn_wer80
    elitr_bench_qa_test_multiturn_wer100 elitr_bench_qa_test_multiturn_czech
    elitr_bench_qa_test_multiturn_czech_wer20 elitr_bench_qa_test_multiturn_czech_wer40
    elitr_bench_qa_test_multiturn_czech_wer60 elitr_bench_qa_test_multiturn_czech_wer80
    elitr_bench_qa_test_multiturn_czech_wer100 elitr_bench_qa_test_multiturn_goldhistory
    elitr_bench_qa_test_multiturn_goldhistory_wer20 elitr_bench_qa_test_multiturn_goldhistory_wer40
    elitr_bench_qa_test_multiturn_goldhistory_wer60 elitr_bench_qa_test_multiturn_goldhistory_wer80
    elitr_bench_qa_test_multiturn_goldhistory_wer100 elitr_bench_qa_test_multiturn_goldhistory_czech
    elitr_bench_qa_test_multiturn_goldhistory_czech_wer20
    elitr_bench_qa_test_multiturn_goldhistory_czech_wer40
    elitr_bench_qa_test_multiturn_goldhistory_czech_wer60
    elitr_bench_qa_test_multiturn_goldhistory_czech_wer80
    elitr_bench_qa_test_multiturn_goldhistory_czech_wer100 elitr_bench_conv_dev_wer20
    elitr_bench_conv_dev_wer40 elitr_bench_conv_dev_wer60 elitr_bench_conv_dev_wer80
    elitr_bench_conv_dev_wer100 elitr_bench_conv_dev_czech elitr_bench_conv_dev_czech_wer20
    elitr_bench_conv_dev_czech_wer40 elitr_bench_conv_dev_czech_wer60 elitr_bench_conv_dev_czech_wer80
    elitr_bench_conv_dev_czech_wer100 elitr_bench_conv_dev_goldhistory
    elitr_bench_conv_dev_goldhistory_wer20 elitr_bench_conv_dev_goldhistory_wer40
    elitr_bench_conv_dev_goldhistory_wer60 elitr_bench_conv_dev_goldhistory_wer80
    elitr_bench_conv_dev_goldhistory_wer100 elitr_bench_conv_dev_goldhistory_czech
    elitr_bench_conv_dev_goldhistory_czech_wer20 elitr_bench_conv_dev_goldhistory_czech_wer40
    elitr_bench_conv_dev_goldhistory_czech_wer60 elitr_bench_conv_dev_goldhistory_czech_wer80
    elitr_bench_conv_dev_goldhistory_czech_wer100 elitr_bench_conv_test_wer20 elitr_bench_conv_test_wer40
    elitr_bench_conv_test_wer60 elitr_bench_conv_test_wer80 elitr_bench_conv_test_wer100
    elitr_bench_conv_test_czech elitr_bench_conv_test_czech_wer20 elitr_bench_conv_test_czech_wer40
    elitr_bench_conv_test_czech_wer60 elitr_bench_conv_test_czech_wer80 elitr_bench_conv_test_czech_wer100
    elitr_bench_conv_test_goldhistory elitr_bench_conv_test_goldhistory_wer20
    elitr_bench_conv_test_goldhistory_wer40 elitr_bench_conv_test_goldhistory_wer60
    elitr_bench_conv_test_goldhistory_wer80 elitr_bench_conv_test_goldhistory_wer100
    elitr_bench_conv_test_goldhistory_czech elitr_bench_conv_test_goldhistory_czech_wer20
    elitr_bench_conv_test_goldhistory_czech_wer40 elitr_bench_conv_test_goldhistory_czech_wer60
    elitr_bench_conv_test_goldhistory_czech_wer80 elitr_bench_conv_test_goldhistory_czech_wer100
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_chosen = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).chosen_tasks('elitr_bench_variants_gen', _tasks)

elitr_bench_variants_datasets = [
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
