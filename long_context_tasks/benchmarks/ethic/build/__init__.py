"""Raw documents to ETHIC-style cases of any length: the way in for the command line.

A family's case folder holds one file for each domain, ``ethic_recall_books`` and so on, with the cases of all lengths; the label
``length`` tells them apart.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from long_context_tasks.benchmarks.building import Progress, TaskReport
from long_context_tasks.benchmarks.ethic import BENCHMARK
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator, load_annotator
from long_context_tasks.benchmarks.ethic.build.attribute_law import build_attribute_law
from long_context_tasks.benchmarks.ethic.build.attribute_medicine import build_attribute_medicine
from long_context_tasks.benchmarks.ethic.build.contexts import (
    build_counterparts,
    build_organize,
    build_recall,
    build_summarize,
)
from long_context_tasks.benchmarks.ethic.build.drafts import Built, write
from long_context_tasks.benchmarks.ethic.build.labels import (
    LabelledChunk,
    label_quality,
    read_labelled_chunks,
)
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import places, read_sources
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS
from long_context_tasks.corpora.documents import read_opinions, read_reviews
from long_context_tasks.schema import CaseWriter, InputError


def build(
    family: str,
    source: Path | None,
    settings: EthicSettings,
    folder: Path,
    progress: Progress | None = None,
) -> list[TaskReport]:
    """Build the cases of a family into a case folder, all or nothing.

    What the annotator answered is kept outside the folder, so a build that was stopped goes on where it was. A case folder that is
    there already is replaced.

    Raises:
        InputError: documents that cannot be used, an annotator that does not answer, or no case at all.
    """
    progress = progress or Progress()
    if source is None:
        raise InputError(f"{family} is built from your own documents: add --documents PATH")
    task = BENCHMARK.builders[family].task
    found = _domains(family, places(source, settings.domain), settings)
    labelled = read_labelled_chunks(settings.check_labels) if settings.check_labels is not None else []
    if settings.items and task not in ("organize", "summarize"):
        raise InputError(f"{family} takes no --items; its answers are as long as the text makes them")
    if labelled and family != "ethic_recall":
        raise InputError(f"{family} takes no --check-labels; it measures the labels of ethic_recall")
    annotator = _annotator(family, settings, list(found))
    quality = label_quality(labelled, _labels(labelled, annotator)) if annotator is not None else []
    options = {
        **{
            name: str(value) if isinstance(value, Path) else value for name, value in asdict(settings).items()
        },
        "source": str(source),
        "annotator": None if annotator is None else annotator.config.description(),
        "label_quality": [asdict(row) for row in quality],
    }
    # Nothing is written before everything is annotated, which may take long and be stopped.
    built = [
        one
        for domain, path in found.items()
        for one in _build_domain(family, domain, path, settings, annotator, progress)
    ]
    notes = annotator.notes() if annotator is not None else []
    if annotator is None and settings.annotator is not None:
        notes = [f"{family} needs no annotator; --annotator {settings.annotator} was not used"]
    with CaseWriter(folder, options) as writer:
        reports = [report for one in built for report in write(one, settings, writer)]
        if not writer.tasks:
            why = "; ".join([*(note for report in reports for note in report.notes), *notes])
            remedy = "Give longer documents, other lengths, or a lower --min-document, --min-fill or --chunk-tokens"
            if annotator is not None and annotator.unusable:
                remedy += "; or another annotator, or other seeds of this one, as its answers are kept"
            raise InputError(f"{source}: {why}. {remedy}")
    return [*reports[:-1], replace(reports[-1], notes=(*reports[-1].notes, *notes))]


def _domains(family: str, found: Mapping[str, Path], settings: EthicSettings) -> dict[str, Path]:
    own = DOMAINS[BENCHMARK.builders[family].task]
    wrong = [domain for domain in found if domain not in own]
    if wrong and (settings.domain is not None or len(wrong) == len(found)):
        raise InputError(
            f"{family} has no cases of {wrong[0]}, only of {', '.join(own)}; give other documents, or --domain if their form was "
            "mistaken"
        )
    return {domain: path for domain, path in found.items() if domain in own}


def _annotator(family: str, settings: EthicSettings, domains: list[str]) -> Annotator | None:
    """The annotator; attributing cases of medicine can do without where every review has a background."""
    only_medicine = family == "ethic_attribute" and domains == ["medicine"] and settings.annotator is None
    return (
        None if family == "ethic_summarize" or only_medicine else load_annotator(settings.annotator, family)
    )


def _labels(chunks: list[LabelledChunk], annotator: Annotator) -> list[list[str] | None]:
    """The annotator's labels of chunks that a person labelled, asked for domain by domain."""
    found: dict[int, list[str] | None] = {}
    for domain in dict.fromkeys(chunk.domain for chunk in chunks):
        places = [place for place, chunk in enumerate(chunks) if chunk.domain == domain]
        labels = annotator.labels(domain, [chunks[place].passage for place in places])
        found.update(zip(places, labels, strict=True))
    return [found[place] for place in range(len(chunks))]


def _build_domain(
    family: str,
    domain: str,
    path: Path,
    settings: EthicSettings,
    annotator: Annotator | None,
    progress: Progress,
) -> list[Built]:
    if family == "ethic_attribute" and domain == "medicine":
        return [build_attribute_medicine(list(read_reviews(path)), settings, annotator, progress)]
    if family == "ethic_summarize":
        return [build_summarize(read_sources(path, domain), domain, settings, progress)]
    assert annotator is not None
    if family == "ethic_attribute":
        return [build_attribute_law(list(read_opinions(path)), settings, annotator, progress)]
    sources = read_sources(path, domain)
    if family == "ethic_recall_counterparts":
        return build_counterparts(sources, domain, settings, annotator, progress)
    builder = build_recall if family == "ethic_recall" else build_organize
    return [builder(sources, domain, settings, annotator, progress)]
