"""The whole suite with one command: `LCT_MODEL=FOLDER_OR_HUB_ID opencompass configs/eval_all.py`.

All tasks on the published files of all benchmarks, or those in LCT_TASKS, of any benchmark and kind; also those without published
files. Data: LCT_DATA_DIR, or `lct data fetch BENCHMARK`; `lct plan --tasks lct_official` says what is there and what it costs.

    LCT_TASKS   names, with commas between: any tasks of `lct tasks`; `official` stands for all on the published files
    LCT_N       cases of each task (all, or the official subsets)
    LCT_MODEL   folder or hub id of a model in this process; without it the demo model. LCT_MODEL_TYPE=base for one without chat
                template, =vllm through vLLM; see models/lct_model.py and models/lct_vllm.py beside this file
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1), each with its part of the cases; LCT_GPUS GPUs of each; LCT_BATCH_SIZE
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); see LCT_TEMPERATURE in the model's file
    LCT_SLURM_PARTITION   run the processes as Slurm jobs (srun) in this partition, at most LCT_WORKERS at a time; LCT_SLURM_QOS;
                LCT_SLURM_ARGS: more of srun, e.g. '--time=12:00:00 -c 8'; LCT_SLURM_SEQUENTIAL=1: the host's
                SlurmSequentialRunner, for clusters whose srun prints 'Job N scheduled successfully!'

The same folder and `-r` go on with a run that was stopped. The command ends with status 1 when a result is missing.
"""

import os

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models as _local
    from .models.lct_vllm import models as _vllm
    from .summarizers.example import summarizer

# Not an import statement: what those bring cannot be called in a config file.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.suite_datasets()
models = _vllm if os.environ.get('LCT_MODEL_TYPE') == 'vllm' else _local
infer, eval = _configs.stages()
work_dir = 'outputs/all'

# What is left here is written down with the run.
del os, _configs, _local, _vllm
