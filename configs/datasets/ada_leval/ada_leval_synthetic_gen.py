"""Ada-LEval: texts generated from a seed; no download, no contamination.

    opencompass --datasets ada_leval_synthetic_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    ada_leval_bestanswer_1k_synthetic ada_leval_bestanswer_2k_synthetic ada_leval_bestanswer_4k_synthetic
    ada_leval_bestanswer_6k_synthetic ada_leval_bestanswer_8k_synthetic ada_leval_bestanswer_12k_synthetic
    ada_leval_bestanswer_16k_synthetic ada_leval_bestanswer_32k_synthetic ada_leval_bestanswer_64k_synthetic
    ada_leval_bestanswer_128k_synthetic
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
ada_leval_synthetic_datasets = _configs.datasets('ada_leval_synthetic_gen')

del _configs
