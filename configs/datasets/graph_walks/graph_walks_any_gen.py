"""GraphWalks: any length (LCT_LENGTH=24k) or your own cases (LCT_CASES=DIR, made by `lct build`).

    opencompass --datasets graph_walks_any_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    graph_walks_bfs_any graph_walks_bfs_any_synthetic graph_walks_parents_any
    graph_walks_parents_any_synthetic
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
graph_walks_any_datasets = _configs.datasets('graph_walks_any_gen')

del _configs
