"""Texts written from a seed, so that no model can have seen them before, with answers that the writer decided.

One folder a kind: a novel about a company of travellers (:mod:`.novel`); stories of a small world, with the names and facts of
their paragraphs (:mod:`.story`); debates (:mod:`.debate`); meetings with questions (:mod:`.meeting`); abstracts and reviews of
trials (:mod:`.trials`); court opinions (:mod:`.opinions`); and questions of a forum with requirements for parts of invented devices (:mod:`.forum`).

Equal seeds give equal texts on every machine. What a writer returns is in :mod:`.document`, how sentences are made in
:mod:`.wording`; all words are in text files in ``data``.
"""

from long_context_tasks.synthetic.debate import write_debate
from long_context_tasks.synthetic.document import Document, Fact, Paragraph
from long_context_tasks.synthetic.forum import Requirements
from long_context_tasks.synthetic.meeting import Meeting, MeetingQuestion, write_meeting
from long_context_tasks.synthetic.novel import Novel, write_novel
from long_context_tasks.synthetic.opinions import OpinionGroup, write_opinion_group, write_opinions
from long_context_tasks.synthetic.people import Event
from long_context_tasks.synthetic.story import write_story
from long_context_tasks.synthetic.story.world import simulate
from long_context_tasks.synthetic.trials import write_abstracts, write_review

__all__ = [
    "Document",
    "Event",
    "Fact",
    "Meeting",
    "MeetingQuestion",
    "Novel",
    "OpinionGroup",
    "Paragraph",
    "Requirements",
    "simulate",
    "write_abstracts",
    "write_debate",
    "write_meeting",
    "write_novel",
    "write_opinion_group",
    "write_opinions",
    "write_review",
    "write_story",
]
