"""GraphWalks: the published files (LCT_DATA_DIR, or `lct data fetch graph_walks`).

    opencompass --datasets graph_walks_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    graph_walks_bfs_128k graph_walks_bfs_1m graph_walks_parents_128k graph_walks_parents_1m
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
graph_walks_datasets = _configs.datasets('graph_walks_gen')

del _configs
