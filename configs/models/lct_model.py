"""A local Hugging Face model: LCT_MODEL=FOLDER_OR_HUB_ID, without it the demo model (SmolLM2-135M-Instruct).

LCT_MODEL_TYPE=base for a model without chat template; LCT_GPUS: GPUs to use (1 where there is one, else 0);
LCT_BATCH_SIZE: prompts at a time (1).
"""

import os

from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate

from long_context_tasks.hosts.opencompass_models import DemoModel

_path = os.environ.get('LCT_MODEL', '')
_base = os.environ.get('LCT_MODEL_TYPE', 'chat') == 'base'
_hidden = os.environ.get('CUDA_VISIBLE_DEVICES', '0') in ('', '-1')
_gpus = int(os.environ.get('LCT_GPUS') or (os.path.exists('/dev/nvidia0') and not _hidden))

models = [
    dict(
        type=(HuggingFaceBaseModel if _base else HuggingFacewithChatTemplate) if _path else DemoModel,
        abbr=os.path.basename(_path.rstrip('/')) or 'smollm2-135m-instruct',
        path=_path or 'demo',
        # The host's own default is to run code that comes with a model.
        model_kwargs=dict(device_map='auto' if _gpus else 'cpu', trust_remote_code=False),
        tokenizer_kwargs=dict(trust_remote_code=False),
        # max_seq_len: left out, so that the host takes the window from the model's own config.
        max_out_len=64,
        batch_size=int(os.environ.get('LCT_BATCH_SIZE') or 1),
        run_cfg=dict(num_gpus=_gpus),
    )
]

del os
