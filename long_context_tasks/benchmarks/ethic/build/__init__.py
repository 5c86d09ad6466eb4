"""Raw documents to ETHIC-style cases of any length: the way in for the command line.

A family's case folder holds one file for each domain, ``ethic_recall_books`` and so on, with the cases of all lengths; the label
``length`` tells them apart.
"""

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

from long_context_tasks.benchmarks.building import (
    TaskReport,
    Work,
)
from long_context_tasks.benchmarks.ethic.build.annotator import (
    Annotator,
    label_quality,
    load_annotator,
    read_labelled_chunks,
)
from long_context_tasks.benchmarks.ethic.build.attribute import build_attribute_law, build_attribute_medicine
from long_context_tasks.benchmarks.ethic.build.contexts import (
    build_counterparts,
    build_organize,
    build_recall,
    build_summarize,
)
from long_context_tasks.benchmarks.ethic.build.drafts import Built, write
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
    family: str,
    source: Path | None,
    settings: EthicSettings,
    folder: Path,
    work: Work | None = None,
) -> list[TaskReport]:
    """Build the cases of a family into a case folder, all or nothing.

    What the annotator answered is kept outside the folder, so a build that was stopped goes on where it was. A case folder that is
    there already is replaced.

    Raises:
        InputError: documents that cannot be used, an annotator that does not answer, or no case at all.
    """
    work = work or Work()
    if source is None:
        raise InputError(f"{family} is built from your own documents: add --documents PATH")
    task = family.split("_")[1]
    found = places(source, settings.domain)
    wrong = [domain for domain in found if domain not in DOMAINS[task]]
    if wrong and (settings.domain is not None or len(wrong) == len(found)):
        raise InputError(
            f"{family} has no cases of {wrong[0]}, only of {', '.join(DOMAINS[task])}; give other documents, or --domain if their form "
            "was mistaken"
        )
    own = {domain: path for domain, path in found.items() if domain in DOMAINS[task]}
    labelled = read_labelled_chunks(settings.check_labels) if settings.check_labels is not None else []
    if settings.items and task not in ("organize", "summarize"):
        raise InputError(f"{family} takes no --items; its answers are as long as the text makes them")
    if labelled and family != "ethic_recall":
        raise InputError(f"{family} takes no --check-labels; it measures the labels of ethic_recall")
    # Attributing cases of medicine can do without an annotator where every review has a background.
    only_medicine = family == "ethic_attribute" and list(own) == ["medicine"] and settings.annotator is None
    annotator = None
    if family != "ethic_summarize" and not only_medicine:
        annotator = load_annotator(settings.annotator, family)
    options = {
        **{
            name: str(value) if isinstance(value, Path) else value for name, value in asdict(settings).items()
        },
        "source": str(source),
        "annotator": None if annotator is None else annotator.config.description(),
        "label_quality": [] if annotator is None else label_quality(labelled, annotator),
    }
    left_out: Counter[str] = Counter()
    # Nothing is written before everything is annotated, which may take long and be stopped.
    built = [
        task_cases
        for domain, path in own.items()
        for task_cases in _build_domain(family, domain, path, settings, annotator, work, left_out)
    ]
    notes = [f"left out of the documents: {count} {what}" for what, count in left_out.items()]
    notes += annotator.notes() if annotator is not None else []
    if annotator is None and settings.annotator is not None:
        notes += [f"{family} needs no annotator; --annotator {settings.annotator} was not used"]
    with work.writer(folder, options) as writer:
        reports = [report for task_cases in built for report in write(task_cases, settings, writer)]
        if not writer.tasks:
            why = "; ".join([*(note for report in reports for note in report.notes), *notes])
            remedy = "Give longer documents, other lengths, or a lower --min-document, --min-fill or --chunk-tokens"
            if annotator is not None and annotator.unusable:
                remedy += "; or another annotator, or other seeds of this one, as its answers are kept"
            raise InputError(f"{source}: {why}. {remedy}")
    encodings = {name: found for path in own.values() for name, found in encodings_of(path).items()}
    return [
        *reports[:-1],
        replace(reports[-1], notes=(*reports[-1].notes, *notes), encodings=encodings),
    ]


def _build_domain(
    family: str,
    domain: str,
    path: Path,
    settings: EthicSettings,
    annotator: Annotator | None,
    progress: Work,
    left_out: Counter[str],
) -> list[Built]:
    if family == "ethic_attribute" and domain == "medicine":
        return [build_attribute_medicine(list(read_reviews(path, left_out)), settings, annotator, progress)]
    sources = read_sources(path, domain, left_out)
    if family == "ethic_summarize":
        return build_summarize(sources, domain, settings, progress)
    assert annotator is not None
    if family == "ethic_attribute":
        return [build_attribute_law(list(read_opinions(path, left_out)), settings, annotator, progress)]
    return _ANNOTATED[family](sources, domain, settings, annotator, progress)
