"""What the host takes when no --summarizer is given: it looks for this name, first in --config-dir."""
# Made by `lct generate` from the card of the benchmark; edit the card or the generator, not this file.

from long_context_tasks.hosts.opencompass.summary import CaseSummarizer

summarizer = dict(type=CaseSummarizer)
