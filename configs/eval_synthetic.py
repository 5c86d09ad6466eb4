"""The synthetic edition with one command: `opencompass configs/eval_synthetic.py`.

Every task on texts that are generated from a seed: no download, no contamination, any length. By default: five cases of each task
at 1k tokens, with the demo model, on this machine.

    LCT_LENGTH  of the prompts: 1k, 32k, 1m, 4096 ... (1k)
    LCT_SEED    of the texts (0); a new seed is a new test set
    LCT_N       cases of each task (5)
    LCT_TASKS   names separated by commas: some of the group lct_synthetic (`lct tasks`), or their variants: elitr_bench_qa_synthetic_wer20
    LCT_MODEL   folder or hub id of a model in this process (the demo model); see models/ next to this file

See eval_all.py for the other variables. The command ends with status 1 when a result is missing.
"""

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.synthetic_datasets()
infer, eval = _configs.stages()
work_dir = 'outputs/synthetic'

# OpenCompass writes the names that remain here into the stored config.
del _configs
