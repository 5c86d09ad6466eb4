"""Ada-LEval: the published files (LCT_DATA_DIR, or `lct data fetch ada_leval`).

    opencompass --datasets ada_leval_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    ada_leval_tsort_1k ada_leval_tsort_2k ada_leval_tsort_4k ada_leval_tsort_8k ada_leval_tsort_16k
    ada_leval_tsort_32k ada_leval_tsort_64k ada_leval_tsort_128k ada_leval_bestanswer_1k
    ada_leval_bestanswer_2k ada_leval_bestanswer_4k ada_leval_bestanswer_6k ada_leval_bestanswer_8k
    ada_leval_bestanswer_12k ada_leval_bestanswer_16k ada_leval_bestanswer_32k ada_leval_bestanswer_64k
    ada_leval_bestanswer_128k
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
ada_leval_datasets = _configs.datasets('ada_leval_gen')

del _configs
