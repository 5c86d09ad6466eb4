"""Whether a task can be answered without doing what it asks for: attackers over its finished cases."""
