"""ORCA's modules that need torch, imported with their first use."""

from lazy_modules import Lazy

heads = Lazy("long_context_tasks.orca.model")
model_code = Lazy("long_context_tasks.orca.model")
scorer = Lazy("long_context_tasks.orca.scoring")
