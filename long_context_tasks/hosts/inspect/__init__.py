"""inspect_ai: every generating task under ``long_context_tasks/``, and its logs. Checked against inspect_ai 0.3.285."""
