"""OpenAI MRCR: any length (LCT_LENGTH=24k) or your own cases (LCT_CASES=DIR, made by `lct build`).

    opencompass --datasets openai_mrcr_any_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    openai_mrcr_2needle_any openai_mrcr_2needle_any_synthetic openai_mrcr_4needle_any
    openai_mrcr_4needle_any_synthetic openai_mrcr_8needle_any openai_mrcr_8needle_any_synthetic
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
openai_mrcr_any_datasets = _configs.datasets('openai_mrcr_any_gen')

del _configs
