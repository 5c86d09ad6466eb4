"""OpenAI MRCR with one command: `opencompass configs/eval_openai_mrcr.py`.

By default, a small trial: 4 synthetic cases of each of the shortest tasks, with the demo model, without any download.
The demo model's answers have at most 64 tokens, unless LCT_ANSWER_BUDGET is set.

    LCT_TASKS   names separated by commas: any task of `lct tasks`, e.g. LCT_TASKS=openai_mrcr_2needle_8k; or
                LCT_TASKS=official for all tasks on the published files (LCT_DATA_DIR, or `lct data fetch openai_mrcr`)
    LCT_N       cases of each task (4 by default; all, or the official subsets, if LCT_TASKS is given)
    LCT_MODEL   folder or hub id of a Hugging Face model; other models and settings: see models/ next to this file

See eval_all.py for the other variables. The command ends with status 1 when a result is missing.
"""
# Made by `make generate` from the card of the benchmark; edit the card or the generator, not this file.

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.benchmark_datasets('openai_mrcr')
infer, eval = _configs.stages()
work_dir = 'outputs/openai_mrcr'

del _configs
