"""Needle: any length (LCT_LENGTH=24k) or your own cases (LCT_CASES=DIR, made by `lct build`).

    opencompass --datasets needle_any_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    needle_plain_any
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
needle_any_datasets = _configs.datasets('needle_any_gen')

del _configs
