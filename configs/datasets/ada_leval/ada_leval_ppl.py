"""Ada-LEval: by log-likelihood; local models only.

    opencompass --datasets ada_leval_ppl --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    ada_leval_tsort_2k_ppl ada_leval_tsort_4k_ppl ada_leval_tsort_8k_ppl ada_leval_tsort_any_ppl
    ada_leval_tsort_2k_ppl_recast ada_leval_tsort_4k_ppl_recast ada_leval_tsort_8k_ppl_recast
    ada_leval_tsort_any_ppl_recast
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
ada_leval_ppl_datasets = _configs.datasets('ada_leval_ppl')

del _configs
