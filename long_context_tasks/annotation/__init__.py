"""Collecting human ratings of answers, in the three stages of the ORCA paper: prepare, annotate, correct.

Sedláček et al., "ORCA: Open-ended Response Correctness Assessment for Audio Question Answering" (TACL 2026), Section 3 and
Appendix A. A study is one SQLite file.
"""

from long_context_tasks.annotation.exchange import read_documents, read_questions
from long_context_tasks.annotation.figures import study_figures
from long_context_tasks.annotation.records import load_scale
from long_context_tasks.annotation.study import Study, add, annotate, create, open_study, review

__all__ = [
    "Study",
    "add",
    "annotate",
    "create",
    "load_scale",
    "open_study",
    "read_documents",
    "read_questions",
    "review",
    "study_figures",
]
