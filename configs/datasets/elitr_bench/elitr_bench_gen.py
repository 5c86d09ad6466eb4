"""ELITR-Bench: the published files (LCT_DATA_DIR, or `lct data fetch elitr_bench`).

    opencompass --datasets elitr_bench_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    elitr_bench_qa_dev elitr_bench_qa_test elitr_bench_conv_dev elitr_bench_conv_test
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
elitr_bench_datasets = _configs.datasets('elitr_bench_gen')

del _configs
