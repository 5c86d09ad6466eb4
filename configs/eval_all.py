"""The whole suite with one command: `LCT_MODEL=FOLDER_OR_HUB_ID opencompass configs/eval_all.py`.

All tasks on the published files of all benchmarks, or those in LCT_TASKS, of any benchmark and kind. Data: LCT_DATA_DIR, or
`lct data fetch BENCHMARK`; `lct plan --tasks lct_official` shows which data are there and what the run costs.

    LCT_TASKS   names separated by commas: any tasks of `lct tasks`; `official` stands for all on the published files
    LCT_N       cases of each task (all, or the official subsets)
    LCT_MODEL   folder or hub id of a model in this process (the demo model). LCT_MODEL_TYPE=base for a model without a chat
                template, =vllm through vLLM; see models/lct_model.py and models/lct_vllm.py
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes at a time (1), each with a part of the cases; LCT_GPUS GPUs of each; LCT_BATCH_SIZE
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    number of answers to each case (1); OpenCompass ignores --dataset-num-runs with a config file. Repeats differ
                if the model samples: LCT_TEMPERATURE=0.6, LCT_TOP_P=0.9 (greedy without them)
    LCT_SLURM_PARTITION   run the processes as Slurm jobs (srun) in this partition, at most LCT_WORKERS at a time; LCT_SLURM_QOS;
                LCT_SLURM_ARGS: other arguments of srun, e.g. '--time=12:00:00 -c 8'; LCT_SLURM_SEQUENTIAL=1: OpenCompass'
                SlurmSequentialRunner, for clusters whose srun prints 'Job N scheduled successfully!'

With a config file OpenCompass ignores --models and --datasets. The same folder and `-r` continue a run that was stopped. The
command ends with status 1 when a result is missing.
"""

import os

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models as _local
    from .models.lct_vllm import models as _vllm
    from .summarizers.example import summarizer

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.suite_datasets()
models = _vllm if os.environ.get('LCT_MODEL_TYPE') == 'vllm' else _local
infer, eval = _configs.stages()
work_dir = 'outputs/all'

# OpenCompass writes the names that remain here into the stored config.
del os, _configs, _local, _vllm
