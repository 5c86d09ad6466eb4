"""The way in to synthetic and recast cases, for ``lct build`` and for the hosts, which have them made at first use.

Questions on single sections show the context of recalling to the byte, so that a document is computed once for eight of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import nan
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.building import (
    MadeCases,
    TaskReport,
    Work,
)
from long_context_tasks.benchmarks.catalogue import TaskSpec, card
from long_context_tasks.benchmarks.ethic.build.annotator import gold_labels, merge_labels
from long_context_tasks.benchmarks.ethic.build.drafts import task_name
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS
from long_context_tasks.benchmarks.ethic.settings import FittedSettings, SyntheticSettings
from long_context_tasks.benchmarks.ethic.synthetic.attribute import attribute
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Genre, Made, Maker
from long_context_tasks.benchmarks.ethic.synthetic.organize import organize
from long_context_tasks.benchmarks.ethic.synthetic.recast import CARRIER_KINDS, recast_genres
from long_context_tasks.benchmarks.run_cases import (
    cached_cases,
    run_settings,
)
from long_context_tasks.corpora.plain_files import encodings_of
from long_context_tasks.recast.carriers import carriers_of
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Options, format_length

SYNTHETIC, RECAST = "synthetic", "recast"
EDITIONS = {"seed": SYNTHETIC, "recast": RECAST}
"""Source of cases to the end of the name of their tasks, builders and case folders."""
CASES = 200
"""Cases of each task and length when no number is asked for."""
SECTIONS = "sections"
NANO_CASES = 288
"""Questions on sections of each length when no number is asked for: on 36 documents from 8k on; see docs/nano.md."""
WRITINGS = 48
"""Documents that are tried for a case. At 1k an eighth of the reviews make none for attributing."""


def family_of(task: str, edition: str = SYNTHETIC) -> str:
    """``ethic_recall_synthetic``: the name of the builder and of its case folder."""
    return "_".join(["ethic", task, *_suffix(task, edition)])


def name_of(task: str, domain: str, edition: str = SYNTHETIC) -> str:
    """``ethic_recall_medicine_synthetic``: the task, and the file of its case folder with the cases of all lengths."""
    return "_".join([task_name(task, domain), *_suffix(task, edition)])


def _suffix(task: str, edition: str) -> list[str]:
    """A task that is there in one edition only is not named after it."""
    return [] if task == SECTIONS else [edition]


def build(
    family: str,
    source: Path | None,
    settings: SyntheticSettings,
    folder: Path,
    work: Work | None = None,
) -> list[TaskReport]:
    """Write the synthetic or recast cases of a task into a case folder, all or nothing; an older one is replaced.

    Raises:
        InputError: a domain that the task does not have, no carriers, or a length too short for a case.
    """
    task, edition = family.split("_")[1], RECAST if family.endswith(f"_{RECAST}") else SYNTHETIC
    work = work or Work()
    known = tuple(GENRES) if edition == SYNTHETIC else DOMAINS[task]
    if settings.domain is not None and settings.domain not in known:
        raise InputError(
            f"{family} has no cases of {settings.domain}, only of {', '.join(known)}; correct --domain"
        )
    settings = replace(settings, n=settings.n or cases_of(task))
    settings.fitted()  # an unavailable tokenizer is reported before anything is written
    domains = known if settings.domain is None else (settings.domain,)
    encodings: dict[str, str] = {}
    if edition == RECAST:
        recast_genres(Options(carriers=source), domains)  # carriers that are missing are reported now
        for domain in domains:
            encodings |= encodings_of(carriers_of(Options(carriers=source), CARRIER_KINDS[domain], family))
    options = {**asdict(settings), "source": source and str(source), "card_version": card("ethic").version}
    documents = {length: -(-(settings.n or CASES) // _questions(task, length)) for length in settings.lengths}
    reports: list[TaskReport] = []
    with work.writer(folder, options) as writer:
        for domain in domains:
            make = partial(_made, family, domain, source, settings)
            cases = work.cases_by_length(writer, make, documents, f"writing {family} {domain}")
            reports += _write(writer, name_of(task, domain, edition), cases, settings.measure.name)
    return [replace(reports[0], encodings=encodings), *reports[1:]]


def _write(
    writer: CaseWriter, name: str, cases: Mapping[int, Iterator[Case]], measure: str
) -> list[TaskReport]:
    """Write the cases of a task, length by length, and report each."""
    sizes: dict[int, list[int]] = {length: [] for length in cases}

    def noted() -> Iterator[Case]:
        for length, own in cases.items():
            for case in own:
                sizes[length].append(case.num_tokens[measure])
                yield case

    writer.add_cases(name, noted())
    return [
        TaskReport(f"{name} {format_length(length)}", own, len(own), nan) for length, own in sizes.items()
    ]


def cases_of(task: str) -> int:
    """Return the number of cases of each length and domain when no number is asked for."""
    return NANO_CASES if task == SECTIONS else CASES


def _questions(task: str, length: int) -> int:
    """Return the number of cases that are made of a document."""
    return questions_at(length) if task == SECTIONS else 1


def _made(
    family: str,
    domain: str,
    source: Path | None,
    settings: SyntheticSettings,
    wanted: tuple[int, Sequence[int]],
) -> Mapping[int, MadeCases]:
    """Return the cases of each wanted length that a number has."""
    number, lengths = wanted
    task = family.split("_")[1]
    edition, genres = SYNTHETIC, GENRES
    if family.endswith(f"_{RECAST}"):
        edition, genres = RECAST, recast_genres(Options(carriers=source), (domain,))
    own = settings.fitted().fresh()
    begun: dict[tuple[Any, int], Any] = {}

    def of_length(length: int) -> MadeCases:
        found = make_cases(task, domain, length, own, number, genres, begun)
        # Of the last document as many as are wanted.
        left = (settings.n or CASES) - number * _questions(task, length)
        cases: list[Case] = []
        texts: dict[str, str] = {}
        for made in found[:left]:
            case, documents = made.draft.case(name_of(task, domain, edition), domain, own)
            cases.append(case)
            texts.update(documents)
        return MadeCases(tuple(cases), tuple(texts.items()))

    return {length: of_length(length) for length in lengths}


def make_cases(
    task: str,
    domain: str,
    length: int,
    settings: FittedSettings,
    number: int,
    genres: Mapping[str, Genre] = GENRES,
    begun: dict[tuple[Any, int], Any] | None = None,
) -> Sequence[Made]:
    """Return the case of a number, or all that ask about one document, from the first of a few documents that makes them.

    Args:
        task: recall, organize, attribute or sections.
        domain: of the documents.
        length: most tokens of a prompt.
        settings: with tokenizers.
        number: of the case, from 0.
        genres: domain to how its documents are written.
        begun: texts of the number that were begun for other lengths, and those that are begun now.

    Raises:
        InputError: none does.
    """
    begun = {} if begun is None else begun
    make = {"recall": Maker.recall, "organize": organize, "attribute": attribute, SECTIONS: section_questions}
    for attempt in range(WRITINGS):
        if made := make[task](Maker(domain, length, settings, number, attempt, genres, begun)):
            return made
    raise InputError(
        f"{task_name(task, domain)}: no case of {format_length(length)} could be made; use a longer length"
    )


def cached_synthetic(spec: TaskSpec, options: Options) -> CaseSet:
    """Return the synthetic or recast cases of a task, written once into the cache.

    Raises:
        InputError: no carriers, a length too short for a case, or a tokenizer that cannot be had.
    """
    settings = run_settings(SyntheticSettings, options, cases_of(spec.task), domain=spec.split)
    family = family_of(spec.task, EDITIONS[spec.source])
    carriers = None
    if spec.source == "recast":
        carriers = carriers_of(options, CARRIER_KINDS[spec.split], spec.name)
    return cached_cases(
        spec.name,
        settings,
        card("ethic").version,
        lambda folder: build(family, carriers and carriers.parent, settings, folder),
        carriers,
    )


MOST_SECTIONS = 8
LEAST_TOKENS = 1_000
"""Of a length for each section: an eighth of it from 8k on."""


def questions_at(length: int) -> int:
    """Return the number of questions on a document: one on each of its sections, eight from 8k on."""
    return max(1, min(MOST_SECTIONS, length // LEAST_TOKENS))


def section_questions(maker: Maker) -> list[Made] | None:
    """Return the questions on a document, section by section.

    None where a section reports on no study, a prompt is too long (at 1k), or the document makes no case of recall.
    """
    number, recall = questions_at(maker.length), maker.recall()
    if recall is None or len(recall[0].paragraphs) < number:
        return None
    found = maker.sections(recall[0].paragraphs, number)
    if found is None or not all(section.reports for section in found):
        return None
    ends = [
        *(f'ends before the words "{section.begin}"' for section in found[1:]),
        "goes on to the end of the context",
    ]
    made = []
    for place, (section, end) in enumerate(zip(found, ends, strict=True), start=1):
        draft = replace(
            recall[0].draft,
            gold=gold_labels(merge_labels(paragraph.labels for paragraph in section.paragraphs)),
            part=f"list{place}",
            slots={"section": _ABOUT.format(section.begin, end)} if number > 1 else {},
            turn_labels={},
            labels={**recall[0].draft.labels, "asked": "list", "section": place},
            rewrite=_ASKED if number > 1 else {},
        )
        made.append(Made(draft, tuple(section.paragraphs)))
    return made if all(maker.tokens(case.draft) <= maker.length for case in made) else None


_ABOUT = 'This is about one section of the context only, which begins with the words "{}" and {}.'
# The whole context is asked about as in recalling, or the prompt would be longer than the length.
_ASKED = {"### Instruction:\n": "### Instruction:\n<section> ", "in the passage": "in this section"}
