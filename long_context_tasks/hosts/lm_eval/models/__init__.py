"""Our models for lm-eval; ``patches.MODELS`` lists their names."""
