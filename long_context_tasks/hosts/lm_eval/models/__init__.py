"""Models of this package for lm-eval; ``paths.MODELS`` has their names."""
