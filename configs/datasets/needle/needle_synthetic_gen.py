"""Needle: texts generated from a seed; no download, no contamination.

    opencompass --datasets needle_synthetic_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    needle_plain_500 needle_plain_1k needle_plain_2k needle_plain_4k needle_plain_8k needle_plain_16k
    needle_plain_32k needle_plain_64k needle_plain_128k
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
needle_synthetic_datasets = _configs.datasets('needle_synthetic_gen')

del _configs
