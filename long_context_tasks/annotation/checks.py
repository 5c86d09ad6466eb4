"""What an annotation may hold, wherever it comes from: the page, a file, or the study itself."""

from long_context_tasks.annotation.records import Annotation
from long_context_tasks.annotation.scale import CODES, Scale
from long_context_tasks.schema import InputError

NAME_MAX = 64
COMMENT_MAX = 10_000


def name_problem(name: str) -> str | None:
    """What is wrong with a person's name; None: nothing."""
    if not name.strip() or name != name.strip() or len(name) > NAME_MAX or not name.isprintable():
        return f"a name has 1 to {NAME_MAX} printable characters, none of them a blank at an end"
    return None


def check_annotation(one: Annotation, scale: Scale) -> None:
    """Refuse an annotation that the study's scale does not allow.

    Raises:
        InputError: says which and why.
    """
    who = f"annotation of {one.candidate} by {one.annotator!r}"
    if problem := name_problem(one.annotator):
        raise InputError(f"{who}: {problem}")
    if one.rating is not None and (isinstance(one.rating, bool) or one.rating not in scale.values):
        low, high = scale.bounds
        raise InputError(
            f"{who}: rating {one.rating!r} is no whole number from {low} to {high}; correct it, or write null"
        )
    if one.codes != "".join(code for code in CODES if code in one.codes):
        raise InputError(f"{who}: codes {one.codes!r} are not among {', '.join(CODES)}")
    if len(one.comment) > COMMENT_MAX:
        raise InputError(f"{who}: the comment has more than {COMMENT_MAX:,} characters")
    if one.rating is None and not one.codes and not one.comment:
        raise InputError(f"{who}: says nothing; give a rating, a code or a comment")


def check_types(one: Annotation) -> None:
    """Refuse values of other types than the class says.

    Raises:
        InputError: says whose.
    """
    # SQLite stores any type in any column.
    texts = (one.annotator, one.codes, one.comment, one.at)
    if not all(isinstance(each, str) for each in texts) or not isinstance(one.rating, int | None):
        raise InputError(f"annotation of {one.candidate} by {one.annotator!r}: a value of the wrong type")
