"""Attention for texts beyond a model's window, without training: ReRoPE, Leaky ReRoPE and InfLLM for Llama-type models of transformers."""
