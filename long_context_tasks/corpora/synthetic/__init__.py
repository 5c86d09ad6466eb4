"""The embedded corpus: novels and forum threads written from a seed, so that nobody can have read them before.

A small world goes on by itself (:mod:`.world`) and writers tell it (:mod:`.novel`); the forum (:mod:`.forum`) asks for
parts of invented devices (:mod:`.parts`). All words stand in text files in ``data``.
"""

from long_context_tasks.corpora.synthetic.event import Event
from long_context_tasks.corpora.synthetic.forum import Thread, ThreadAnswer, post_rows, write_threads
from long_context_tasks.corpora.synthetic.novel import Novel, write_novel
from long_context_tasks.corpora.synthetic.world import simulate

__all__ = [
    "Event",
    "Novel",
    "Thread",
    "ThreadAnswer",
    "post_rows",
    "simulate",
    "write_novel",
    "write_threads",
]
