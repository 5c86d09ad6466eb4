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
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

import os

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner, SlurmRunner, SlurmSequentialRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from .datasets.ada_leval.ada_leval_any_gen import ada_leval_any_datasets
    from .datasets.ada_leval.ada_leval_gen import ada_leval_datasets
    from .datasets.ada_leval.ada_leval_ppl import ada_leval_ppl_datasets
    from .datasets.ada_leval.ada_leval_synthetic_gen import ada_leval_synthetic_datasets
    from .datasets.ada_leval.ada_leval_variants_gen import ada_leval_variants_datasets
    from .datasets.elitr_bench.elitr_bench_gen import elitr_bench_datasets
    from .datasets.elitr_bench.elitr_bench_synthetic_gen import elitr_bench_synthetic_datasets
    from .datasets.elitr_bench.elitr_bench_variants_gen import elitr_bench_variants_datasets
    from .datasets.ethic.ethic_built_gen import ethic_built_datasets
    from .datasets.ethic.ethic_gen import ethic_datasets
    from .datasets.ethic.ethic_synthetic_gen import ethic_synthetic_datasets
    from .datasets.other_packages_gen import other_packages_datasets
    from .models.lct_endpoint import models as _served
    from .models.lct_model import models as _local
    from .models.lct_vllm import models as _vllm
    from .summarizers.example import summarizer

_official = ada_leval_datasets + elitr_bench_datasets + ethic_datasets
# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.environment', fromlist=[''])
_all = ada_leval_any_datasets + ada_leval_datasets + ada_leval_ppl_datasets + ada_leval_synthetic_datasets + ada_leval_variants_datasets + elitr_bench_datasets + elitr_bench_synthetic_datasets + elitr_bench_variants_datasets + ethic_built_datasets + ethic_datasets + ethic_synthetic_datasets + other_packages_datasets
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_by_name = dict([(d['abbr'], d) for d in _all])
_unknown = [name for name in _given if name not in _by_name and name != 'official']
if _unknown:
    raise ValueError('LCT_TASKS: not tasks of this benchmark: ' + ', '.join(_unknown) + '; `lct tasks` lists all')

datasets = [_by_name[name] for name in _given if name != 'official']
if 'official' in _given or not _given:
    datasets += [d for d in _official if d['abbr'] not in _given]

models = _local
if os.environ.get('LCT_MODEL_TYPE') == 'vllm':
    models = _vllm
if os.environ.get('LCT_API_BASE'):
    models = _served

_runs = _env.whole('LCT_RUNS', 1)
_eval_gpus = _env.whole('LCT_EVAL_GPUS', 0, 0)
datasets = [dict(d, n=_runs, k=_runs, eval_cfg=dict(d['eval_cfg'], num_gpus=_eval_gpus)) for d in datasets]

_workers = _env.whole('LCT_WORKERS', 1)
_partition = os.environ.get('LCT_SLURM_PARTITION')
_runner = dict(type=LocalRunner, max_num_workers=_workers)
if _partition:
    _runner = dict(
        type=SlurmSequentialRunner if os.environ.get('LCT_SLURM_SEQUENTIAL') else SlurmRunner,
        max_num_workers=_workers,
        partition=_partition,
        qos=os.environ.get('LCT_SLURM_QOS'),
        extra_command=os.environ.get('LCT_SLURM_ARGS', '').split(),
    )
infer = dict(
    # force_rebuild: the host remembers sizes by name only and would run 5 cases where 50 are asked the next time.
    partitioner=dict(type=NumWorkerPartitioner, num_worker=_workers, force_rebuild=True, dataset_size_path=''),
    runner=dict(_runner, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    # Ten tasks to a process: each process takes ten seconds to start.
    partitioner=dict(type=NaivePartitioner, n=10),
    runner=dict(_runner, task=dict(type=OpenICLEvalTask)),
)
work_dir = 'outputs/all'

# What is left here is written down with the run: no modules, and the datasets once.
del os, _env, _official, _all, _given, _by_name, _unknown, _local, _served, _vllm, _partition, _runner
del _runs, _eval_gpus, _workers, ada_leval_any_datasets, ada_leval_datasets, ada_leval_ppl_datasets, ada_leval_synthetic_datasets, ada_leval_variants_datasets, elitr_bench_datasets, elitr_bench_synthetic_datasets, elitr_bench_variants_datasets, ethic_built_datasets, ethic_datasets, ethic_synthetic_datasets, other_packages_datasets
