"""Texts written from a seed, so that no model can have seen them before, with answers that the writer decided.

One folder a kind: meetings with questions (:mod:`.meeting`); abstracts and reviews of trials (:mod:`.trials`); court opinions
(:mod:`.opinions`); and questions of a forum with requirements for parts of invented devices (:mod:`.forum`). Names are in :mod:`.vocabulary`.

Equal seeds give equal texts on every machine. What a writer returns is in :mod:`.document`, how sentences are made in
:mod:`.wording`; all words are in text files in ``data``.
"""

from long_context_tasks.synthetic.document import Document, Fact, Paragraph
from long_context_tasks.synthetic.forum import Requirements
from long_context_tasks.synthetic.meeting import Meeting, MeetingQuestion, write_meeting
from long_context_tasks.synthetic.opinions import (
    OpinionGroup,
    begin_opinion_group,
    write_opinion_group,
    write_opinions,
)
from long_context_tasks.synthetic.trials import begin_review, write_abstracts, write_review

__all__ = [
    "Document",
    "Fact",
    "Meeting",
    "MeetingQuestion",
    "OpinionGroup",
    "Paragraph",
    "Requirements",
    "begin_opinion_group",
    "begin_review",
    "write_abstracts",
    "write_meeting",
    "write_opinion_group",
    "write_opinions",
    "write_review",
]
