"""Collecting people's ratings of answers in the three stages of the ORCA paper (Section 3 and Appendix A): prepare, annotate, correct."""

from long_context_tasks.annotation.exchange import read_documents, read_questions
from long_context_tasks.annotation.figures import study_tables
from long_context_tasks.annotation.scale import load_scale
from long_context_tasks.annotation.study import AnnotationStudy, changing, create, open_study

__all__ = [
    "AnnotationStudy",
    "changing",
    "create",
    "load_scale",
    "open_study",
    "read_documents",
    "read_questions",
    "study_tables",
]
