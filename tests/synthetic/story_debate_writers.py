"""The writers of synthetic stories and debates by genre, and a mark that runs a test with each genre."""

import pytest

from long_context_tasks.synthetic import debate, story

WRITE = {"story": story.write_story, "debate": debate.write_debate}
"""A seed and a length in tokens to a document."""
SUMMARY = {"story": story.summary_of, "debate": debate.summary_of}
"""Paragraphs to their summary."""
GENRES = pytest.mark.parametrize("genre", list(WRITE))
