"""Tasks of benchmarks that other installed packages bring (entry points `long_context_tasks.benchmarks`).

    LCT_TASKS=name,name opencompass --datasets other_packages_gen --models lct_model --config-dir configs

Options are arguments of a dataset (``lct_n=50``) or variables of the environment (LCT_N=50).
"""

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
other_packages_datasets = _configs.datasets('other_packages_gen')

del _configs
