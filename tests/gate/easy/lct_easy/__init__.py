"""A benchmark of another package, easy enough for a model of 135 M parameters."""
