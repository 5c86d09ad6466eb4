"""A model behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, a provider).

    LCT_API_BASE   where it is, as http://127.0.0.1:8000/v1; nothing is asked without it
    LCT_API_MODEL  the model's name at the server
    LCT_TOKENIZER  folder or hub id of its tokenizer, to count prompts; without it the host takes GPT-4's
    LCT_WINDOW     its context window; without it prompts are not checked, and a refusal for length costs that case only
    LCT_TEMPERATURE  of sampling (0)
    LCT_BATCH_SIZE   requests side by side (8); LCT_QUERIES_PER_SECOND: how many may begin in a second (8)
    OPENAI_API_KEY the key; 'EMPTY' for a server that wants none
"""

from opencompass.models import OpenAISDK

# Not an import statement: what those bring cannot be called in a config file.
_env = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])

models = [dict(type=OpenAISDK, **_env.served_model())]

del _env
