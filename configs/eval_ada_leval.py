"""Ada-LEval with one command: `opencompass configs/eval_ada_leval.py`.

Out of the box: a few synthetic cases of up to 4k tokens, with the demo model, on this machine, without any download.

    LCT_TASKS   names, with commas between: any task of `lct tasks`, e.g. LCT_TASKS=ada_leval_tsort_1k; or
                LCT_TASKS=official for all tasks on the published files (LCT_DATA_DIR, or `lct data fetch ada_leval`)
    LCT_N       cases of each task (5 out of the box; all, or the official subsets, where LCT_TASKS is given)
    LCT_MODEL   folder or hub id of a Hugging Face model; other models: see models/ beside this file, and --models with
                --datasets. Beside a config file the host ignores --models and --datasets.
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); the host's --dataset-num-runs has no effect beside a config file. Repeats
                differ where the model samples: LCT_TEMPERATURE=0.6, LCT_TOP_P=0.9 (greedy without them)
    LCT_SLURM_PARTITION  run the processes as Slurm jobs; see eval_all.py

Other LCT_ options: see the docs. The command ends with status 1 when a result is missing.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: what those bring cannot be called in a config file.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.benchmark_datasets('ada_leval')
infer, eval = _configs.stages()
work_dir = 'outputs/ada_leval'

del _configs
