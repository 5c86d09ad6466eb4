"""ELITR-Bench: texts generated from a seed; no download, no contamination.

    opencompass --datasets elitr_bench_synthetic_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    elitr_bench_qa_synthetic elitr_bench_qa_synthetic_wer20 elitr_bench_qa_synthetic_wer40
    elitr_bench_qa_synthetic_wer60 elitr_bench_qa_synthetic_wer80 elitr_bench_qa_synthetic_wer100
    elitr_bench_conv_synthetic elitr_bench_conv_synthetic_wer20 elitr_bench_conv_synthetic_wer40
    elitr_bench_conv_synthetic_wer60 elitr_bench_conv_synthetic_wer80 elitr_bench_conv_synthetic_wer100
    elitr_bench_conv_synthetic_goldhistory elitr_bench_conv_synthetic_goldhistory_wer20
    elitr_bench_conv_synthetic_goldhistory_wer40 elitr_bench_conv_synthetic_goldhistory_wer60
    elitr_bench_conv_synthetic_goldhistory_wer80 elitr_bench_conv_synthetic_goldhistory_wer100
    elitr_bench_qa_nano
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
elitr_bench_synthetic_datasets = _configs.datasets('elitr_bench_synthetic_gen')

del _configs
