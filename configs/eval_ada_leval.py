"""Ada-LEval with one command: `opencompass configs/eval_ada_leval.py`.

Out of the box: a few synthetic cases of up to 4k tokens, with the demo model, on this machine, without any download.

    LCT_TASKS   names, with commas between: any task of `lct tasks`, e.g. LCT_TASKS=ada_leval_tsort_1k; or
                LCT_TASKS=official for all tasks on the published files (LCT_DATA_DIR, or `lct data fetch ada_leval`)
    LCT_N       cases of each task (5 out of the box; all, or the official subsets, where LCT_TASKS is given)
    LCT_MODEL   folder or hub id of a Hugging Face model; other models: see models/ beside this file, and --models with
                --datasets. Beside a config file the host ignores --models and --datasets.
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); the host's --dataset-num-runs has no effect beside a config file. Repeats
                differ where the model samples: LCT_TEMPERATURE=0.6, LCT_TOP_P=0.9 (greedy without them)

Other LCT_ options: see the docs. The command ends with status 1 when a result is missing.
"""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

import os

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from .datasets.ada_leval.ada_leval_any_gen import ada_leval_any_datasets
    from .datasets.ada_leval.ada_leval_gen import ada_leval_datasets
    from .datasets.ada_leval.ada_leval_ppl import ada_leval_ppl_datasets
    from .datasets.ada_leval.ada_leval_synthetic_gen import ada_leval_synthetic_datasets
    from .datasets.ada_leval.ada_leval_variants_gen import ada_leval_variants_datasets
    from .models.lct_model import models
    from .summarizers.example import summarizer

_demo = """
    ada_leval_tsort_2k_synthetic ada_leval_tsort_4k_synthetic ada_leval_bestanswer_1k_synthetic
    ada_leval_bestanswer_2k_synthetic ada_leval_bestanswer_4k_synthetic
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.environment', fromlist=[''])
_all = ada_leval_datasets + ada_leval_any_datasets + ada_leval_synthetic_datasets + ada_leval_ppl_datasets + ada_leval_variants_datasets
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_by_name = dict([(d['abbr'], d) for d in _all])
_unknown = [name for name in _given if name not in _by_name and name != 'official']
if _unknown:
    raise ValueError('LCT_TASKS: not tasks of this benchmark: ' + ', '.join(_unknown) + '; `lct tasks` lists all')

if _given:
    datasets = [_by_name[name] for name in _given if name != 'official']
    if 'official' in _given:
        datasets += [d for d in ada_leval_datasets if d['abbr'] not in _given]
else:
    datasets = [dict(_by_name[name], lct_n=_env.whole('LCT_N', 5)) for name in _demo]

_runs = _env.whole('LCT_RUNS', 1)
_eval_gpus = _env.whole('LCT_EVAL_GPUS', 0, 0)
datasets = [dict(d, n=_runs, k=_runs, eval_cfg=dict(d['eval_cfg'], num_gpus=_eval_gpus)) for d in datasets]

_workers = _env.whole('LCT_WORKERS', 1)
infer = dict(
    # force_rebuild: the host remembers sizes by name only and would run 5 cases where 50 are asked the next time.
    partitioner=dict(type=NumWorkerPartitioner, num_worker=_workers, force_rebuild=True, dataset_size_path=''),
    runner=dict(type=LocalRunner, max_num_workers=_workers, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    # Ten tasks to a process: each process takes ten seconds to start.
    partitioner=dict(type=NaivePartitioner, n=10),
    runner=dict(type=LocalRunner, max_num_workers=_workers, task=dict(type=OpenICLEvalTask)),
)
work_dir = 'outputs/ada_leval'

# What is left here is written down with the run: no modules, and the datasets once.
del os, _env, _demo, _all, _given, _by_name, _unknown, _runs, _eval_gpus, _workers, ada_leval_datasets, ada_leval_any_datasets, ada_leval_synthetic_datasets, ada_leval_ppl_datasets, ada_leval_variants_datasets
