"""What the host takes when no --summarizer is given: it looks for this name, first in --config-dir."""

from long_context_tasks.hosts.opencompass.summary import CaseSummarizer

summarizer = dict(type=CaseSummarizer)
