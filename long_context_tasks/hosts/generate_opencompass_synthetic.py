"""The text of ``configs/eval_synthetic.py``; :mod:`.generate_opencompass` fills it in."""

EVAL_SYNTHETIC = '''\
"""The synthetic edition with one command: `opencompass configs/eval_synthetic.py`.

Every task on texts that are written from a seed: no download, no contamination, any length. Out of the box: five cases of each task
at 1k tokens, with the demo model, on this machine.

    LCT_LENGTH  of the prompts: 1k, 32k, 1m, 4096 ... (1k)
    LCT_SEED    of the texts (0); a new seed is a new test set
    LCT_N       cases of each task (5)
    LCT_TASKS   names, with commas between: some of the tasks below, or their variants: elitr_bench_qa_synthetic_wer20 (noise)
    LCT_MODEL   folder or hub id of a model in this process; without it the demo model; see models/lct_model.py beside this file
    LCT_API_BASE, LCT_API_MODEL   a model behind a server instead; see models/lct_endpoint.py
    LCT_WORKERS processes side by side (1); LCT_GPUS GPUs of each (1 where there is one, else 0); LCT_BATCH_SIZE (1)
    LCT_EVAL_GPUS  GPUs of an evaluating process (0), for a judge that is loaded in it
    LCT_RUNS    how often each case is answered (1); see LCT_TEMPERATURE in the model's file

Other LCT_ options: see the docs. The command ends with status 1 when a result is missing.
"""
{header}

import os

from mmengine.config import read_base
from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
{imports}
    from .models.lct_endpoint import models as _served
    from .models.lct_model import models as _local
    from .summarizers.example import summarizer

_names = """
{tasks}
""".split()
{environment}_all = {all}
_given = os.environ.get('LCT_TASKS', '').replace(',', ' ').split()
_by_name = dict([(d['abbr'], d) for d in _all if '_synthetic' in d['abbr']])
_unknown = [name for name in _given if name not in _by_name]
if _unknown:
    raise ValueError(
        'LCT_TASKS: not synthetic tasks of any length: ' + ', '.join(_unknown) + '; there are: ' + ', '.join(_names)
        + '; those of elitr_bench also with _wer20 ... _wer100 behind'
    )
_length = os.environ.get('LCT_LENGTH') or '1k'
_n = _env.whole('LCT_N', 5)
datasets = [dict(_by_name[name], lct_length=_length, lct_n=_n) for name in _given or _names]

models = _local
if os.environ.get('LCT_API_BASE'):
    models = _served

{repeats}
_workers = _env.whole('LCT_WORKERS', 1)
{run}work_dir = 'outputs/synthetic'

# What is left here is written down with the run: no modules, and the datasets once.
del os, _env, _names, _all, _given, _unknown, _length, _n, _by_name, _local, _served, _runs, _eval_gpus, _workers
del {variables}
'''
