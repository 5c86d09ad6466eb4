"""A model with YaRN, as in ETHIC's official script: factor 4 over an original window of 32,768 tokens, 131,072 in all.

    LCT_MODEL      folder or hub id (Qwen/Qwen2.5-7B-Instruct); one whose own window is 32,768 tokens
    LCT_GPUS       GPUs to use (1 where there is one, else 0)

    opencompass --models ethic_yarn --datasets ethic_gen --config-dir configs
"""

import os

from opencompass.models import HuggingFacewithChatTemplate

# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
_rope = __import__('long_context_tasks.hosts.rope', fromlist=[''])
_path = os.environ.get('LCT_MODEL') or 'Qwen/Qwen2.5-7B-Instruct'
_hidden = os.environ.get('CUDA_VISIBLE_DEVICES', '0') in ('', '-1')
_gpus = _env.whole('LCT_GPUS', os.path.exists('/dev/nvidia0') and not _hidden, 0)

models = [
    dict(
        type=HuggingFacewithChatTemplate,
        abbr=os.path.basename(_path.rstrip('/')) + '-yarn',
        path=_path,
        model_kwargs=dict(
            device_map='auto' if _gpus else 'cpu',
            trust_remote_code=False,
            # The base is that of the model: transformers 5 takes it from here, 4 from the model's own config.
            rope_scaling=dict(
                rope_type='yarn',
                factor=4.0,
                original_max_position_embeddings=32768,
                rope_theta=_rope.own_base(_path, 1e6),
            ),
            # Older versions of transformers take the factor from the quotient of the two windows.
            max_position_embeddings=131072,
        ),
        tokenizer_kwargs=dict(trust_remote_code=False),
        # The host would take the window from the model's own config.
        max_seq_len=131072,
        max_out_len=4096,
        batch_size=_env.whole('LCT_BATCH_SIZE', 1),
        run_cfg=dict(num_gpus=_gpus),
    )
]

del os, _env, _rope
