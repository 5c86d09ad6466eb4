"""OpenAI MRCR: texts generated from a seed; no download, no contamination.

    opencompass --datasets openai_mrcr_synthetic_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    openai_mrcr_2needle_4k_synthetic openai_mrcr_2needle_8k_synthetic openai_mrcr_2needle_16k_synthetic
    openai_mrcr_2needle_32k_synthetic openai_mrcr_2needle_64k_synthetic openai_mrcr_2needle_128k_synthetic
    openai_mrcr_4needle_4k_synthetic openai_mrcr_4needle_8k_synthetic openai_mrcr_4needle_16k_synthetic
    openai_mrcr_4needle_32k_synthetic openai_mrcr_4needle_64k_synthetic openai_mrcr_4needle_128k_synthetic
    openai_mrcr_8needle_4k_synthetic openai_mrcr_8needle_8k_synthetic openai_mrcr_8needle_16k_synthetic
    openai_mrcr_8needle_32k_synthetic openai_mrcr_8needle_64k_synthetic openai_mrcr_8needle_128k_synthetic
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
openai_mrcr_synthetic_datasets = _configs.datasets('openai_mrcr_synthetic_gen')

del _configs
