"""Training-free attention beyond the context window: ReRoPE, Leaky ReRoPE, InfLLM for Llama-type models."""
