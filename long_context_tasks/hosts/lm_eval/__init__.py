"""lm-eval: its task class, files and results."""
