"""Annotators against a gold annotator, document by document, as the crowd study of ELITR-Bench filtered them (Appendix D).

The paper names neither the measure nor the threshold; here it is Pearson's correlation, which its Fig. 2b uses for raters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError
from long_context_tasks.schema.report import Table, figure_text
from long_context_tasks.stats import correlate


@dataclass(frozen=True)
class GoldAgreement:
    """An annotator's ratings of the answers about one document.

    Attributes:
        annotator: name.
        document: id; empty for questions without a document.
        n: candidates that both have rated.
        pearson: correlation with the gold ratings; not a number when one side is constant.
        difference: mean of the annotator's ratings less that of the gold ratings.
    """

    annotator: str
    document: str
    n: int
    pearson: float
    difference: float


def agreement_with(study: Study, gold: str) -> list[GoldAgreement]:
    """Compare every annotator with the gold annotator.

    Raises:
        InputError: the gold annotator has rated nothing that another one has rated too.
    """
    documents = study.documents_of_candidates()
    rated = [
        (one.annotator, one.candidate, one.rating) for one in study.annotations() if one.rating is not None
    ]
    right = {candidate: rating for annotator, candidate, rating in rated if annotator == gold}
    pairs: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for annotator, candidate, rating in rated:
        if annotator != gold and candidate in right:
            pairs.setdefault((annotator, documents[candidate]), []).append((rating, right[candidate]))
    if not pairs:
        names = ", ".join(sorted({annotator for annotator, *_ in rated})) or "none"
        raise InputError(f"--gold {gold}: no rating beside one of another annotator; with ratings: {names}")
    return [
        GoldAgreement(
            *key,
            len(both),
            correlate([x for x, _ in both], [y for _, y in both]),
            fmean(x - y for x, y in both),
        )
        for key, both in sorted(pairs.items())
    ]


def inconsistent(found: Sequence[GoldAgreement], least: float) -> set[tuple[str, str]]:
    """Return annotator and document of those whose correlation is below ``least``, or is not a number."""
    return {(one.annotator, one.document) for one in found if not one.pearson >= least}


def agreement_table(found: Sequence[GoldAgreement], gold: str) -> Table:
    """Return a row for every annotator and document."""
    return Table(
        "gold",
        f"Annotators against {gold}",
        ("annotator", "document", "ratings", "Pearson", "mean difference"),
        tuple(
            (one.annotator, one.document, str(one.n), figure_text(one.pearson), figure_text(one.difference))
            for one in found
        ),
        frozenset(("annotator", "document")),
    )
