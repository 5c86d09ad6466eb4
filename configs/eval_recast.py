"""The recast edition with one command: `opencompass configs/eval_recast.py`.

Every task on real texts whose names are replaced from a seed. It needs carriers: `lct data fetch carriers`, or LCT_CARRIERS. By
default: five cases of each task at 2k tokens, with the demo model, on this machine.

    LCT_LENGTH  of the prompts: 1k, 32k, 1m, 4096 ... (2k)
    LCT_CARRIERS  folder of real texts; LCT_DATA_DIR/carriers without it
    LCT_SEED    of the names and orders (0)
    LCT_N       cases of each task (5)
    LCT_TASKS   names separated by commas: some of the group lct_recast (`lct tasks`)
    LCT_MODEL   folder or hub id of a model in this process (the demo model); see models/ next to this file

See eval_all.py for the other variables. The command ends with status 1 when a result is missing.
"""

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.synthetic_datasets('recast')
infer, eval = _configs.stages()
work_dir = 'outputs/recast'

# OpenCompass writes the names that remain here into the stored config.
del _configs
