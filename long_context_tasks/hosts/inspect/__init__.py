"""inspect_ai: our generative tasks, and its logs. Checked against inspect_ai 0.3.285."""
