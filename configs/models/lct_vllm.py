"""A local model through vLLM in this process: LCT_MODEL=FOLDER_OR_HUB_ID, LCT_GPUS (1).

vLLM wants newer versions than OpenCompass of some packages; the other way is a server of its own (lct_endpoint).
"""

import os

from opencompass.models import VLLMwithChatTemplate

_path = os.environ.get('LCT_MODEL', '')
_gpus = int(os.environ.get('LCT_GPUS') or 1)

models = [
    dict(
        type=VLLMwithChatTemplate,
        abbr=(os.path.basename(_path.rstrip('/')) or 'model') + '-vllm',
        path=_path,
        # The cases of one text stand together, so that its tokens are read once.
        model_kwargs=dict(tensor_parallel_size=_gpus, enable_prefix_caching=True),
        generation_kwargs=dict(temperature=0),
        max_out_len=64,
        batch_size=int(os.environ.get('LCT_BATCH_SIZE') or 64),
        run_cfg=dict(num_gpus=_gpus),
    )
]

del os
