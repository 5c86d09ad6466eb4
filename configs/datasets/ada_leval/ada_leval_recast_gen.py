"""Ada-LEval: real texts whose names are replaced (LCT_CARRIERS, or `lct data fetch carriers`).

    opencompass --datasets ada_leval_recast_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    ada_leval_tsort_1k_recast ada_leval_tsort_2k_recast ada_leval_tsort_4k_recast ada_leval_tsort_8k_recast
    ada_leval_tsort_16k_recast ada_leval_tsort_32k_recast ada_leval_tsort_64k_recast
    ada_leval_tsort_128k_recast
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
ada_leval_recast_datasets = _configs.datasets('ada_leval_recast_gen')

del _configs
