"""The recast edition with one command: `opencompass configs/eval_recast.py`.

Every task on real texts whose names are replaced from a seed. It needs carriers: `lct data fetch carriers`, or
LCT_CARRIERS. Out of the box: five cases of each task at 2k tokens, with the demo model, on this machine.

    LCT_LENGTH  of the prompts: 1k, 32k, 1m, 4096 ... (2k)
    LCT_CARRIERS  folder of real texts; without it LCT_DATA_DIR/carriers
    LCT_SEED    of the names and orders (0)
    LCT_N       cases of each task (5)
    LCT_TASKS   names, with commas between: some of the group lct_recast (`lct tasks`)
    LCT_MODEL   folder or hub id of a model in this process; without it the demo model; see models/lct_model.py beside this file
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); see LCT_TEMPERATURE in the model's file
    LCT_SLURM_PARTITION  run the processes as Slurm jobs; see eval_all.py

Other LCT_ options: see the docs. The command ends with status 1 when a result is missing.
"""

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: what those bring cannot be called in a config file.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.synthetic_datasets('recast')
infer, eval = _configs.stages()
work_dir = 'outputs/recast'

# What is left here is written down with the run.
del _configs
