"""The synthetic edition with one command: `opencompass configs/eval_synthetic.py`.

Every task on texts that are written from a seed: no download, no contamination, any length. Out of the box: five cases of each task
at 1k tokens, with the demo model, on this machine.

    LCT_LENGTH  of the prompts: 1k, 32k, 1m, 4096 ... (1k)
    LCT_SEED    of the texts (0); a new seed is a new test set
    LCT_N       cases of each task (5)
    LCT_TASKS   names, with commas between: some of the group lct_synthetic (`lct tasks`), or their variants: elitr_bench_qa_synthetic_wer20
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
datasets = _configs.synthetic_datasets()
infer, eval = _configs.stages()
work_dir = 'outputs/synthetic'

# What is left here is written down with the run.
del _configs
