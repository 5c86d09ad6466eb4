"""ETHIC: the published files (LCT_DATA_DIR, or `lct data fetch ethic`).

    opencompass --datasets ethic_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    ethic_recall_books ethic_recall_debates ethic_recall_medicine ethic_recall_law ethic_summarize_books
    ethic_summarize_debates ethic_summarize_medicine ethic_summarize_law ethic_organize_books
    ethic_organize_debates ethic_attribute_medicine ethic_attribute_law
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
ethic_datasets = _configs.datasets('ethic_gen')

del _configs
