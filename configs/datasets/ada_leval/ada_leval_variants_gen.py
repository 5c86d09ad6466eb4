"""Ada-LEval: changed forms of the published cases.

    opencompass --datasets ada_leval_variants_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    ada_leval_bestanswer_1k_front ada_leval_bestanswer_2k_front ada_leval_bestanswer_4k_front
    ada_leval_bestanswer_8k_front ada_leval_bestanswer_16k_front ada_leval_bestanswer_1k_mid
    ada_leval_bestanswer_2k_mid ada_leval_bestanswer_4k_mid ada_leval_bestanswer_8k_mid
    ada_leval_bestanswer_16k_mid ada_leval_bestanswer_1k_rear ada_leval_bestanswer_2k_rear
    ada_leval_bestanswer_4k_rear ada_leval_bestanswer_8k_rear ada_leval_bestanswer_16k_rear
    ada_leval_bestanswer_16k_cut2k ada_leval_bestanswer_16k_cut4k ada_leval_bestanswer_16k_cut8k
    ada_leval_bestanswer_1k_nodoc ada_leval_bestanswer_2k_nodoc ada_leval_bestanswer_4k_nodoc
    ada_leval_bestanswer_8k_nodoc ada_leval_bestanswer_16k_nodoc
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
ada_leval_variants_datasets = _configs.datasets('ada_leval_variants_gen')

del _configs
