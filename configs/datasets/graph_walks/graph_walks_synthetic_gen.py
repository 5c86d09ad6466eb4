"""GraphWalks: texts generated from a seed; no download, no contamination.

    opencompass --datasets graph_walks_synthetic_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50). LCT_TASKS=name,name takes
some of these tasks; names of other files are left to those.

    graph_walks_bfs_1k_synthetic graph_walks_bfs_2k_synthetic graph_walks_bfs_4k_synthetic
    graph_walks_bfs_8k_synthetic graph_walks_bfs_16k_synthetic graph_walks_bfs_32k_synthetic
    graph_walks_bfs_64k_synthetic graph_walks_bfs_128k_synthetic graph_walks_parents_1k_synthetic
    graph_walks_parents_2k_synthetic graph_walks_parents_4k_synthetic graph_walks_parents_8k_synthetic
    graph_walks_parents_16k_synthetic graph_walks_parents_32k_synthetic graph_walks_parents_64k_synthetic
    graph_walks_parents_128k_synthetic
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
graph_walks_synthetic_datasets = _configs.datasets('graph_walks_synthetic_gen')

del _configs
