"""Collecting human ratings of answers, in the three stages of the ORCA paper: prepare, annotate, correct.

Sedláček et al., "ORCA: Open-ended Response Correctness Assessment for Audio Question Answering" (TACL 2026), Section 3 and
Appendix A. A study is one SQLite file.
"""

from long_context_tasks.annotation.exchange import read_documents, read_questions
from long_context_tasks.annotation.figures import (
    LEVELS,
    Alpha,
    CodeCount,
    Level,
    Part,
    krippendorff_alpha,
    study_figures,
)
from long_context_tasks.annotation.records import (
    CODES,
    SHIPPED,
    Annotation,
    Incoming,
    Question,
    Review,
    load_scale,
)
from long_context_tasks.annotation.study import (
    Study,
    add,
    add_answers,
    annotate,
    create,
    open_study,
    review,
    set_rationales,
)

__all__ = [
    "CODES",
    "LEVELS",
    "SHIPPED",
    "Alpha",
    "Annotation",
    "CodeCount",
    "Incoming",
    "Level",
    "Part",
    "Question",
    "Review",
    "Study",
    "add",
    "add_answers",
    "annotate",
    "create",
    "krippendorff_alpha",
    "load_scale",
    "open_study",
    "read_documents",
    "read_questions",
    "review",
    "set_rationales",
    "study_figures",
]
