"""Two small benchmarks of another package: one writes its cases from a seed, one reads a JSON file."""
