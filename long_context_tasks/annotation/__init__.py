"""Collecting human ratings of answers in the ORCA paper's three stages (Section 3, Appendix A)."""

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
