"""ETHIC: your own cases only (LCT_CASES=DIR, made by `lct build`); none are published.

    opencompass --datasets ethic_built_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    ethic_single_qa_books ethic_single_qa_debates ethic_multi_qa_medicine ethic_multi_qa_law
    ethic_focused_summary_books ethic_focused_summary_debates ethic_focused_summary_medicine
    ethic_focused_summary_law
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
ethic_built_datasets = _configs.datasets('ethic_built_gen')

del _configs
