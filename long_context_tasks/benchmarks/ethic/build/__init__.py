"""Build ETHIC cases of any length from raw documents: the entry point for the command line.

A family's case folder has one file per domain, such as ``ethic_recall_books``, with the cases of all lengths;
their label ``length`` distinguishes them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from long_context_tasks.benchmarks.building import TaskReport, Work
from long_context_tasks.benchmarks.ethic.build.annotator import (
    Annotator,
    label_quality,
    load_annotator,
    read_labelled_chunks,
)
from long_context_tasks.benchmarks.ethic.build.attribute import build_attribute_medicine
from long_context_tasks.benchmarks.ethic.build.attribute_law import build_attribute_law
from long_context_tasks.benchmarks.ethic.build.contexts import (
    build_counterparts,
    build_organize,
    build_recall,
    build_summarize,
)
from long_context_tasks.benchmarks.ethic.build.drafts import DomainCases, write
from long_context_tasks.benchmarks.ethic.build.sources import places, read_sources
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.corpora.opinions import read_opinions
from long_context_tasks.corpora.plain_files import encodings_of
from long_context_tasks.corpora.reviews import read_reviews
from long_context_tasks.schema import InputError

_ANNOTATED = {
    "ethic_recall": build_recall,
    "ethic_organize": build_organize,
    "ethic_recall_counterparts": build_counterparts,
}


def build(
    family: str, source: Path, settings: EthicSettings, folder: Path, work: Work | None = None
) -> list[TaskReport]:
    """Build a family's cases into a case folder, all or nothing, replacing an older one."""
    work = work or Work()
    domains = _domains(family, source, settings.domain)
    labelled = read_labelled_chunks(settings.check_labels) if settings.check_labels is not None else []
    if labelled and family != "ethic_recall":
        raise InputError(f"{family} takes no --check-labels; it measures the labels of ethic_recall")
    # Attributing cases in medicine need no annotator if every review has a background.
    only_medicine = (
        family == "ethic_attribute" and list(domains) == ["medicine"] and settings.annotator is None
    )
    annotator = None
    if family != "ethic_summarize" and not only_medicine:
        annotator = load_annotator(settings.annotator, family)
    # Recorded in the manifest, from which a run takes the settings of its cases.
    options = {
        **{
            name: str(value) if isinstance(value, Path) else value for name, value in asdict(settings).items()
        },
        "source": str(source),
        "annotator": None if annotator is None else annotator.config.description(),
        "label_quality": [] if annotator is None else label_quality(labelled, annotator),
    }
    left_out: Counter[str] = Counter()
    # Annotating takes long and may be interrupted, so nothing is written before it is complete. The answers
    # are stored outside the folder, so that the next build resumes from them.
    built = [
        cases
        for domain, path in domains.items()
        for cases in _build_domain(family, domain, path, settings, annotator, work, left_out)
    ]
    notes = [f"left out of the documents: {count} {reason}" for reason, count in left_out.items()]
    notes += annotator.notes() if annotator is not None else []
    if annotator is None and settings.annotator is not None:
        notes += [f"{family} needs no annotator; --annotator {settings.annotator} was not used"]
    with work.writer(folder, options) as writer:
        reports = [report for cases in built for report in write(cases, settings, writer)]
        if not writer.tasks:
            raise InputError(f"{source}: {_why_empty(reports, notes, annotator)}")
    encodings = {name: found for path in domains.values() for name, found in encodings_of(path).items()}
    return [*reports[:-1], replace(reports[-1], notes=(*reports[-1].notes, *notes), encodings=encodings)]


def _domains(family: str, source: Path, domain: str | None) -> dict[str, Path]:
    """Return the domains that the task covers, each with its documents."""
    known = DOMAINS[family.split("_")[1]]
    found = places(source, domain)
    wrong = [name for name in found if name not in known]
    # A folder of all domains may contain some that the task lacks.
    if wrong and (domain is not None or len(wrong) == len(found)):
        raise InputError(
            f"{family} has no cases of {wrong[0]}, only of {', '.join(known)}; give other documents, or --domain if their form "
            "was mistaken"
        )
    return {name: path for name, path in found.items() if name in known}


def _why_empty(reports: Sequence[TaskReport], notes: Sequence[str], annotator: Annotator | None) -> str:
    why = "; ".join([*(note for report in reports for note in report.notes), *notes])
    remedy = "Give longer documents, other lengths, or a lower --min-document, --min-fill or --chunk-tokens"
    if annotator is not None and annotator.unusable:
        remedy += "; or a different annotator, or different seeds of this one, because its answers are kept"
    return f"{why}. {remedy}"


def _build_domain(
    family: str,
    domain: str,
    path: Path,
    settings: EthicSettings,
    annotator: Annotator | None,
    work: Work,
    left_out: Counter[str],
) -> list[DomainCases]:
    """Plan, annotate and draft a domain's cases; ``left_out`` counts the documents that the readers skip."""
    if family == "ethic_attribute" and domain == "medicine":
        return [build_attribute_medicine(list(read_reviews(path, left_out)), settings, annotator, work)]
    sources = read_sources(path, domain, left_out)
    if family == "ethic_summarize":
        return build_summarize(sources, domain, settings, work)
    assert annotator is not None
    if family == "ethic_attribute":
        return [build_attribute_law(list(read_opinions(path, left_out)), settings, annotator, work)]
    return _ANNOTATED[family](sources, domain, settings, annotator, work)
