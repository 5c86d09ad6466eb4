"""A pipeline of the user's own: export prompts, score responses."""
