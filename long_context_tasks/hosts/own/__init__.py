"""The user's own pipeline: export prompts, score responses."""
