"""Configuration search of ELITR-Bench with one command: `opencompass configs/search_elitr_bench.py`.

Every decoding (greedy, nucleus) x chat template or none x question-answer markers or none x repetition penalty (1.0, 1.1) for one
model, as in Appendix B.2 of the paper: 16 cells. The table: `lct report elitr-search outputs/search_elitr_bench`. A run that was
stopped goes on with `-r`: cells that are done are not run again.

    LCT_MODEL          folder or hub id of a Hugging Face model with a chat template (out of the box: the demo model)
    LCT_TASKS          single-turn tasks (elitr_bench_qa_dev)
    LCT_N              cases of each task (all)
    LCT_SEARCH_CELLS   some cells only, by parts of their names: `greedy_rp1.0`, or the paper's first step:
                       `chat_rp1.0,raw_markers_rp1.0`
    LCT_SEARCH_STYLES  prompt styles (chat,raw); models of the LLaMA-2 family have theirs: vicuna_v1.1,raw
    LCT_JUDGE          a judge file; without one the answers are stored, and `lct judge run` has them judged
    LCT_WORKERS, LCT_GPUS, LCT_EVAL_GPUS, LCT_BATCH_SIZE as in eval_elitr_bench.py
"""

import os

from mmengine.config import read_base
from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate
from opencompass.partitioners import NaivePartitioner, NumWorkerPartitioner
from opencompass.runners import LocalRunner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

with read_base():
    from .datasets.elitr_bench.elitr_bench_gen import elitr_bench_datasets
    from .datasets.elitr_bench.elitr_bench_variants_gen import elitr_bench_variants_datasets
    from .models.lct_model import models as _models
    from .summarizers.elitr_bench import summarizer

# Not import statements: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.environment', fromlist=[''])
_search = __import__('long_context_tasks.benchmarks.elitr_bench.search', fromlist=[''])
_cells = _search.search_cells(os.environ.get('LCT_SEARCH_STYLES', ''), os.environ.get('LCT_SEARCH_CELLS', ''))
_names = _search.search_tasks(os.environ.get('LCT_TASKS', ''))
_known = dict([(d['abbr'], d) for d in elitr_bench_datasets + elitr_bench_variants_datasets])
_model = dict(_models[0])
_workers = _env.whole('LCT_WORKERS', 1)
if not os.environ.get('LCT_MODEL'):
    _model['path'] = str(__import__('long_context_tasks.hosts.demo_model', fromlist=['']).demo_model_path())
_eval_gpus = _env.whole('LCT_EVAL_GPUS', 0, 0)

datasets = [dict(_known[name], eval_cfg=dict(_known[name]['eval_cfg'], num_gpus=_eval_gpus)) for name in _names]
models = [
    dict(
        _model,
        # The cell is told by the end of the name.
        abbr=_model['abbr'] + '_' + cell.name,
        type=HuggingFacewithChatTemplate if cell.templated else HuggingFaceBaseModel,
        generation_kwargs=cell.generation,
    ) for cell in _cells
]
model_dataset_combinations = [
    dict(models=[model], datasets=[dict(dataset, **cell.options) for dataset in datasets])
    for model, cell in zip(models, _cells)
]

infer = dict(
    partitioner=dict(type=NumWorkerPartitioner, num_worker=_workers, force_rebuild=True, dataset_size_path=''),
    runner=dict(type=LocalRunner, max_num_workers=_workers, task=dict(type=OpenICLInferTask)),
)
eval = dict(
    partitioner=dict(type=NaivePartitioner, n=10),
    runner=dict(type=LocalRunner, max_num_workers=_workers, task=dict(type=OpenICLEvalTask)),
)
work_dir = 'outputs/search_elitr_bench'

del os, _env, _search, _cells, _names, _known, _model, _models, _workers, _eval_gpus, elitr_bench_datasets, elitr_bench_variants_datasets
