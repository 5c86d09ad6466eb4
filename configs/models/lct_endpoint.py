"""A model behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, a provider).

    LCT_API_BASE   http://127.0.0.1:8000/v1
    LCT_API_MODEL  the model's name at the server
    LCT_PRESET     a model as a paper asked it: a file of elitr_bench/ or ada_leval/ beside this one
    LCT_TOKENIZER  folder or hub id of its tokenizer, to count prompts; without it the host takes the preset's, or GPT-4's
    LCT_WINDOW     its context window; without it prompts are not checked, and a refusal for length costs that case only
    LCT_TEMPERATURE  of sampling (0)
    LCT_BATCH_SIZE   requests side by side (8); LCT_QUERIES_PER_SECOND: how many may begin in a second (8)
    OPENAI_API_KEY the key; 'EMPTY' for a server that wants none
"""

import os

from opencompass.models import OpenAISDK

# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
_preset = _env.preset('openai-chat-completions')
_name = os.environ.get('LCT_API_MODEL') or _preset.get('model_args', {}).get('model', 'model')
_sampling = dict(_preset.get('gen_kwargs', {}))
_temperature = _env.number('LCT_TEMPERATURE', _sampling.pop('temperature', 0))
if 'seed' in _preset or 'LCT_RUN_SEED' in os.environ:
    _sampling['seed'] = _env.whole('LCT_RUN_SEED', _preset.get('seed', 0), 0)
_side_by_side = _env.whole('LCT_BATCH_SIZE', 8)

models = [
    dict(
        type=OpenAISDK,
        # Reports take runs of one name for repeats of one another, so a sampling model has a name of its own.
        abbr=_name.replace('/', '_') + (f'_t{_temperature:g}' if _temperature else ''),
        path=_name,
        openai_api_base=os.environ.get('LCT_API_BASE', 'http://127.0.0.1:8000/v1'),
        key='ENV' if os.environ.get('OPENAI_API_KEY') else 'EMPTY',
        tokenizer_path=_env.served_tokenizer(_preset),
        meta_template=dict(
            round=[dict(role='HUMAN', api_role='HUMAN'), dict(role='BOT', api_role='BOT', generate=True)],
            reserved_roles=[dict(role='SYSTEM', api_role='SYSTEM')],
        ),
        temperature=_temperature,
        openai_extra_kwargs=_sampling or None,
        query_per_second=_env.whole('LCT_QUERIES_PER_SECOND', 8),
        retry=3,
        max_out_len=64,
        # The host hands over a batch and asks it with so many threads; its own number of threads goes by the processors.
        batch_size=_side_by_side,
        max_workers=_side_by_side,
        run_cfg=dict(num_gpus=0),
    )
]

del os, _env, _preset
