"""The summarizer without --summarizer: OpenCompass looks for this name, first in --config-dir."""

from long_context_tasks.hosts.opencompass.summary import CaseSummarizer

summarizer = dict(type=CaseSummarizer)
