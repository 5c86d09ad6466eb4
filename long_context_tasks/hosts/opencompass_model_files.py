"""The config files of models for OpenCompass, as ``lct generate`` writes them; see :mod:`long_context_tasks.hosts.generate_opencompass`."""

_LOCAL_MODEL = '''\
"""A local Hugging Face model: LCT_MODEL=FOLDER_OR_HUB_ID, without it the demo model (SmolLM2-135M-Instruct).

LCT_MODEL_TYPE=base for a model without chat template; LCT_GPUS: GPUs to use (1 where there is one, else 0);
LCT_BATCH_SIZE: prompts at a time (1); LCT_TEMPERATURE, LCT_TOP_P: sample instead of taking the likeliest token each time.
"""

import os

from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate

from long_context_tasks.hosts.opencompass_models import DemoModel

# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.config_numbers', fromlist=[''])
_path = os.environ.get('LCT_MODEL', '')
_base = os.environ.get('LCT_MODEL_TYPE', 'chat') == 'base'
_hidden = os.environ.get('CUDA_VISIBLE_DEVICES', '0') in ('', '-1')
_gpus = _env.whole('LCT_GPUS', os.path.exists('/dev/nvidia0') and not _hidden, 0)
_temperature = _env.number('LCT_TEMPERATURE', 0)
_top_p = _env.number('LCT_TOP_P', 1, 1)

models = [
    dict(
        type=(HuggingFaceBaseModel if _base else HuggingFacewithChatTemplate) if _path else DemoModel,
        # Reports take runs of one name for repeats of one another, so a sampling model has a name of its own.
        abbr=(os.path.basename(_path.rstrip('/')) or 'smollm2-135m-instruct')
        + (f'_t{_temperature:g}_p{_top_p:g}' if _temperature else ''),
        path=_path or 'demo',
        generation_kwargs=dict(do_sample=True, temperature=_temperature, top_p=_top_p) if _temperature else {},
        # The host's own default is to run code that comes with a model.
        model_kwargs=dict(device_map='auto' if _gpus else 'cpu', trust_remote_code=False),
        tokenizer_kwargs=dict(trust_remote_code=False),
        # max_seq_len: left out, so that the host takes the window from the model's own config.
        max_out_len=64,
        batch_size=_env.whole('LCT_BATCH_SIZE', 1),
        run_cfg=dict(num_gpus=_gpus),
    )
]

del os, _env
'''

_ENDPOINT = '''\
"""A model behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, a provider).

    LCT_API_BASE   http://127.0.0.1:8000/v1
    LCT_API_MODEL  the model's name at the server
    LCT_TOKENIZER  folder or hub id of its tokenizer, to count prompts; without it the host takes GPT-4's (a download)
    LCT_WINDOW     its context window; without it prompts are not checked, and a refusal for length costs that case only
    LCT_TEMPERATURE  of sampling (0)
    LCT_BATCH_SIZE   requests side by side (8); LCT_QUERIES_PER_SECOND: how many may begin in a second (8)
    OPENAI_API_KEY the key; 'EMPTY' for a server that wants none
"""

import os

from opencompass.models import OpenAISDK

# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.config_numbers', fromlist=[''])
_name = os.environ.get('LCT_API_MODEL', 'model')
_temperature = _env.number('LCT_TEMPERATURE', 0)
_side_by_side = _env.whole('LCT_BATCH_SIZE', 8)

models = [
    dict(
        type=OpenAISDK,
        # Reports take runs of one name for repeats of one another, so a sampling model has a name of its own.
        abbr=_name.replace('/', '_') + (f'_t{_temperature:g}' if _temperature else ''),
        path=_name,
        openai_api_base=os.environ.get('LCT_API_BASE', 'http://127.0.0.1:8000/v1'),
        key='ENV' if os.environ.get('OPENAI_API_KEY') else 'EMPTY',
        tokenizer_path=os.environ.get('LCT_TOKENIZER'),
        meta_template=dict(
            round=[dict(role='HUMAN', api_role='HUMAN'), dict(role='BOT', api_role='BOT', generate=True)],
            reserved_roles=[dict(role='SYSTEM', api_role='SYSTEM')],
        ),
        temperature=_temperature,
        query_per_second=_env.whole('LCT_QUERIES_PER_SECOND', 8),
        retry=3,
        max_out_len=64,
        # The host hands over a batch and asks it with so many threads; its own number of threads goes by the processors.
        batch_size=_side_by_side,
        max_workers=_side_by_side,
        run_cfg=dict(num_gpus=0),
    )
]

del os, _env
'''

_VLLM = '''\
"""A local model through vLLM in this process: LCT_MODEL=FOLDER_OR_HUB_ID, LCT_GPUS (1): its layers are split over them.

LCT_TEMPERATURE, LCT_TOP_P: sample instead of taking the likeliest token each time; LCT_BATCH_SIZE: prompts handed over at a time (64).
vLLM wants newer versions than OpenCompass of some packages; the other way is a server of its own (lct_endpoint).
"""

import os

from opencompass.models import VLLMwithChatTemplate

# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.config_numbers', fromlist=[''])
_path = os.environ.get('LCT_MODEL', '')
_gpus = _env.whole('LCT_GPUS', 1)
_temperature = _env.number('LCT_TEMPERATURE', 0)
_top_p = _env.number('LCT_TOP_P', 1, 1)

models = [
    dict(
        type=VLLMwithChatTemplate,
        # Reports take runs of one name for repeats of one another, so a sampling model has a name of its own.
        abbr=(os.path.basename(_path.rstrip('/')) or 'model')
        + '-vllm'
        + (f'_t{_temperature:g}_p{_top_p:g}' if _temperature else ''),
        path=_path,
        # The cases of one text stand together, so that its tokens are read once.
        model_kwargs=dict(tensor_parallel_size=_gpus, enable_prefix_caching=True),
        generation_kwargs=dict(temperature=_temperature, top_p=_top_p) if _temperature else dict(temperature=0),
        max_out_len=64,
        batch_size=_env.whole('LCT_BATCH_SIZE', 64),
        run_cfg=dict(num_gpus=_gpus),
    )
]

del os, _env
'''

MODELS = {"lct_model": _LOCAL_MODEL, "lct_endpoint": _ENDPOINT, "lct_vllm": _VLLM}
"""Name of a file in ``configs/models`` to its text."""
