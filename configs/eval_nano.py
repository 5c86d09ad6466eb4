"""Many questions on each of few documents, with one command: `opencompass configs/eval_nano.py`.

The tasks of the group lct_nano, generated from a seed: 20 meetings with up to 16 questions each and 36 documents with up to 8, about as exact as 200
questions on 200 texts. Behind a server that caches prefixes (vllm serve) a text is computed once.

    LCT_LENGTH  of the prompts: 2k, 32k, 128k ... (8k)
    LCT_SEED    of the texts (0); a new seed is a new test set
    LCT_N       questions of each task (all)
    LCT_TASKS   names separated by commas: some of the group
    LCT_API_BASE, LCT_API_MODEL   the model behind a server; see models/lct_endpoint.py
    LCT_MODEL   folder or hub id of a model in this process instead, which computes every prompt (the demo model)
    LCT_WORKERS processes at a time (1); a text whose questions go to two of them is computed twice

See eval_all.py for the other variables. The command ends with status 1 when a result is missing.
"""

from mmengine.config import read_base

with read_base():
    from .models.lct_model import models
    from .summarizers.example import summarizer

# Not an import statement: a config file cannot call what that brings.
_configs = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
datasets = _configs.nano_datasets()
infer, eval = _configs.stages()
work_dir = 'outputs/nano'

# OpenCompass writes the names that remain here into the stored config.
del _configs
