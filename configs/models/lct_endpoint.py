"""A model behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, a provider).

    LCT_API_BASE   address, such as http://127.0.0.1:8000/v1; required
    LCT_API_MODEL  the model's name at the server
    LCT_TOKENIZER  folder or hub id of its tokenizer, to count prompts
    LCT_WINDOW     its context window
                   Without these the server is asked, if it is vLLM, SGLang or llama.cpp; of any other, prompts are not
                   checked, and a refusal for length costs that case only.
    LCT_TEMPERATURE  of sampling (0)
    LCT_BATCH_SIZE   requests at a time (8); LCT_QUERIES_PER_SECOND: requests that may begin in a second (8)
    OPENAI_API_KEY the key; 'EMPTY' for a server without keys
"""

from opencompass.models import OpenAISDK

# Not an import statement: a config file cannot call what that brings.
_env = __import__('long_context_tasks.hosts.opencompass.configs', fromlist=[''])

models = [dict(type=OpenAISDK, **_env.served_model())]

del _env
