"""A local Hugging Face model: LCT_MODEL=FOLDER_OR_HUB_ID; without it the demo model (SmolLM2-135M-Instruct).

LCT_API_BASE and LCT_API_MODEL: a model behind a server instead; see lct_endpoint.py.
LCT_MODEL_TYPE=base for a model without a chat template; LCT_GPUS: GPUs to use (1 if there is one, otherwise 0);
LCT_BATCH_SIZE: prompts at a time (1); LCT_TEMPERATURE, LCT_TOP_P: sample instead of taking the likeliest token each time.
LCT_ATTENTION=rerope,window=512: another attention (docs/attention.md).
"""

import os

from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate, OpenAISDK

from long_context_tasks.hosts.opencompass.task import DemoModel

# Not an import statement: a config file cannot call what that brings.
_env = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
_path = _env.local_model()
_base = os.environ.get('LCT_MODEL_TYPE') == 'base'
_hidden = os.environ.get('CUDA_VISIBLE_DEVICES', '0') in ('', '-1')
_gpus = _env.whole('LCT_GPUS', os.path.exists('/dev/nvidia0') and not _hidden, 0)
_temperature = _env.number('LCT_TEMPERATURE', 0)
_top_p = _env.number('LCT_TOP_P', 1, 1)

models = [
    dict(
        type=(HuggingFaceBaseModel if _base else HuggingFacewithChatTemplate) if _path else DemoModel,
        # Reports take runs of the same name for repeats, so a sampling model gets another name.
        abbr=(os.path.basename(_path.rstrip('/')) or 'smollm2-135m-instruct')
        + (f'_t{_temperature:g}_p{_top_p:g}' if _temperature else ''),
        path=_path or 'demo',
        generation_kwargs=dict(do_sample=True, temperature=_temperature, top_p=_top_p) if _temperature else {},
        # By default OpenCompass runs code that comes with a model.
        model_kwargs=dict(device_map='auto' if _gpus else 'cpu', trust_remote_code=False),
        tokenizer_kwargs=dict(trust_remote_code=False),
        # Without max_seq_len OpenCompass takes the window from the model's own config.
        max_out_len=64,
        batch_size=_env.whole('LCT_BATCH_SIZE', 1),
        run_cfg=dict(num_gpus=_gpus),
    )
]
if _env.is_served():
    models = [dict(type=OpenAISDK, **_env.served_model())]
else:
    __import__('long_context_tasks.hosts.opencompass.needs', fromlist=['']).check_local_models()
_attention = _env.chosen_attention(not _base) if _path else {}
if _attention and not _env.is_served():
    models[0].update(abbr=models[0]['abbr'] + _attention.pop('suffix'))
    models[0].update(_attention)

del os, _env, _attention
