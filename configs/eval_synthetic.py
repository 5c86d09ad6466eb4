"""The synthetic edition with one command: `opencompass configs/eval_synthetic.py`.

Every task on texts that are written from a seed: no download, no contamination, any length. Out of the box: five cases of each task
at 1k tokens, with the demo model, on this machine.

    LCT_LENGTH  of the prompts: 1k, 32k, 1m, 4096 ... (1k)
    LCT_SEED    of the texts (0); a new seed is a new test set
    LCT_N       cases of each task (5)
    LCT_TASKS   names, with commas between: some of the tasks below, or their variants: elitr_bench_qa_synthetic_wer20
    LCT_MODEL   folder or hub id of a model in this process; without it the demo model; see models/lct_model.py beside this file
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); see LCT_TEMPERATURE in the model's file

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
    from .datasets.elitr_bench.elitr_bench_synthetic_gen import elitr_bench_synthetic_datasets
    from .datasets.ethic.ethic_synthetic_gen import ethic_synthetic_datasets
    from .datasets.other_packages_gen import other_packages_datasets
    from .models.lct_endpoint import models as _served
    from .models.lct_model import models as _local
    from .summarizers.example import summarizer

_names = """
    ada_leval_tsort_any_synthetic ada_leval_bestanswer_any_synthetic elitr_bench_qa_synthetic
    elitr_bench_conv_synthetic ethic_recall_books_synthetic ethic_recall_debates_synthetic
    ethic_recall_medicine_synthetic ethic_recall_law_synthetic ethic_summarize_books_synthetic
    ethic_summarize_debates_synthetic ethic_summarize_medicine_synthetic ethic_summarize_law_synthetic
    ethic_organize_books_synthetic ethic_organize_debates_synthetic ethic_attribute_medicine_synthetic
    ethic_attribute_law_synthetic
""".split()
# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.environment', fromlist=[''])
_all = ada_leval_any_datasets + elitr_bench_synthetic_datasets + ethic_synthetic_datasets + other_packages_datasets
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_seeded = __import__('long_context_tasks.hosts.opencompass.chosen_tasks', fromlist=['']).seeded_tasks()
_by_name = dict([(d['abbr'], d) for d in _all if d['abbr'] in _seeded])
_unknown = [name for name in _given if name not in _by_name]
if _unknown:
    raise ValueError(
        'LCT_TASKS: not synthetic tasks of any length: ' + ', '.join(_unknown) + '; there are: ' + ', '.join(_names)
        + ', and their variants, such as elitr_bench_qa_synthetic_wer20'
    )
_length = os.environ.get('LCT_LENGTH') or '1k'
_n = _env.whole('LCT_N', 5)
datasets = [dict(_by_name[name], lct_length=_length, lct_n=_n) for name in _given or _names]

models = _local
if os.environ.get('LCT_API_BASE'):
    models = _served

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
work_dir = 'outputs/synthetic'

# What is left here is written down with the run: no modules, and the datasets once.
del os, _env, _seeded, _names, _all, _given, _unknown, _length, _n, _by_name, _local, _served, _runs, _eval_gpus, _workers
del ada_leval_any_datasets, elitr_bench_synthetic_datasets, ethic_synthetic_datasets, other_packages_datasets
