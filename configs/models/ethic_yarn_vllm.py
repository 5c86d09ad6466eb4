"""A model with YaRN through vLLM in this process: factor 4 over an original window of 32,768 tokens, 131,072 in all.

    LCT_MODEL      folder or hub id (Qwen/Qwen2.5-7B-Instruct); one whose own window is 32,768 tokens
    LCT_GPUS       GPUs to use (1)

    opencompass --models ethic_yarn_vllm --datasets ethic_gen --config-dir configs
"""

import os

from opencompass.models import VLLMwithChatTemplate

# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])
_rope = __import__('long_context_tasks.hosts.rope', fromlist=[''])
_path = os.environ.get('LCT_MODEL') or 'Qwen/Qwen2.5-7B-Instruct'
_gpus = _env.whole('LCT_GPUS', 1)

models = [
    dict(
        type=VLLMwithChatTemplate,
        abbr=os.path.basename(_path.rstrip('/')) + '-yarn-vllm',
        path=_path,
        model_kwargs=dict(
            tensor_parallel_size=_gpus,
            enable_prefix_caching=True,
            max_model_len=131072,
            hf_overrides=dict(
                # An override replaces all of it: without the model's base vLLM takes 10,000.
                rope_parameters=dict(
                    rope_type='yarn',
                    factor=4.0,
                    original_max_position_embeddings=32768,
                    rope_theta=_rope.own_base(_path, 1e6),
                ),
                max_position_embeddings=131072,
            ),
        ),
        generation_kwargs=dict(temperature=0),
        max_seq_len=131072,
        max_out_len=4096,
        batch_size=_env.whole('LCT_BATCH_SIZE', 64),
        run_cfg=dict(num_gpus=_gpus),
    )
]

del os, _env, _rope
