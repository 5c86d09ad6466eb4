"""A local model through vLLM in this process: LCT_MODEL=FOLDER_OR_HUB_ID, LCT_GPUS (1): its layers are split over them.

LCT_TEMPERATURE, LCT_TOP_P: sample instead of taking the likeliest token each time; LCT_BATCH_SIZE: prompts in one call (64).
vLLM needs newer versions of some packages than OpenCompass; the alternative is a server (LCT_API_BASE, see lct_endpoint.py).
"""

import os

from opencompass.models import OpenAISDK, VLLMwithChatTemplate

# Not an import statement: a config file cannot call what that brings.
_env = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
_path = _env.local_model()
_gpus = _env.whole('LCT_GPUS', 1)
_temperature = _env.number('LCT_TEMPERATURE', 0)
_top_p = _env.number('LCT_TOP_P', 1, 1)

models = [
    dict(
        type=VLLMwithChatTemplate,
        # Reports take runs of the same name for repeats, so a sampling model gets another name.
        abbr=(os.path.basename(_path.rstrip('/')) or 'model')
        + '-vllm'
        + (f'_t{_temperature:g}_p{_top_p:g}' if _temperature else ''),
        path=_path,
        # The cases of one text follow one another, so that its tokens are read once.
        model_kwargs=dict(tensor_parallel_size=_gpus, enable_prefix_caching=True),
        generation_kwargs=dict(temperature=_temperature, top_p=_top_p) if _temperature else dict(temperature=0),
        max_out_len=64,
        batch_size=_env.whole('LCT_BATCH_SIZE', 64),
        run_cfg=dict(num_gpus=_gpus),
    )
]
if _env.is_served():
    models = [dict(type=OpenAISDK, **_env.served_model())]

del os, _env
