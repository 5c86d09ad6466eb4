"""Generate synthetic and recast cases, for ``lct build`` and for hosts, which generate them on first use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import nan
from pathlib import Path

from long_context_tasks.benchmarks.building import MadeCases, TaskReport, Work
from long_context_tasks.benchmarks.catalogue import TaskSpec, card
from long_context_tasks.benchmarks.ethic.build.annotator import gold_labels, merge_labels
from long_context_tasks.benchmarks.ethic.build.drafts import task_name
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS
from long_context_tasks.benchmarks.ethic.settings import SyntheticSettings
from long_context_tasks.benchmarks.ethic.synthetic.attribute import attribute
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, MadeCase, Maker, Writings
from long_context_tasks.benchmarks.ethic.synthetic.organize import organize, recast_genre
from long_context_tasks.benchmarks.run_cases import cached_cases, run_settings
from long_context_tasks.corpora.plain_files import encodings_of
from long_context_tasks.recast.carriers import CARRIER_KINDS, carriers_of
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Options, format_length
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer

SYNTHETIC, RECAST = "synthetic", "recast"
# Case source to the suffix in the names of tasks, builders and case folders.
EDITIONS = {"seed": SYNTHETIC, "recast": RECAST}
CASES = 200  # default number of cases per task and length
SECTIONS = "sections"
# Default number of section questions per length: 36 documents from 8k on; see docs/nano.md.
NANO_CASES = 288
# Number of documents tried for a case. At 1k, an eighth of the reviews yield no Attributing case.
WRITINGS = 48
MOST_SECTIONS = 8
LEAST_TOKENS = 1_000  # minimum number of tokens per section: an eighth of the length at 8k and above
_ABOUT = 'This is about one section of the context only, which begins with the words "{}" and {}.'
# Phrases replaced in questions about a section; the others ask about the whole context, as in recall.
_ASKED = {"### Instruction:\n": "### Instruction:\n<section> ", "in the passage": "in this section"}


def family_of(task: str, edition: str = SYNTHETIC) -> str:
    """Return the name of a builder and its case folder, such as ``ethic_recall_synthetic``."""
    return "_".join(["ethic", task, *_suffix(task, edition)])


def name_of(task: str, domain: str, edition: str = SYNTHETIC) -> str:
    """Return the name of a task and its case file, such as ``ethic_recall_medicine_synthetic``."""
    return "_".join([task_name(task, domain), *_suffix(task, edition)])


def _suffix(task: str, edition: str) -> list[str]:
    # A task that exists in only one edition has no edition suffix.
    return [] if task == SECTIONS else [edition]


def _task_and_edition(family: str) -> tuple[str, str]:
    return family.split("_")[1], RECAST if family.endswith(f"_{RECAST}") else SYNTHETIC


def build(
    family: str, source: Path | None, settings: SyntheticSettings, folder: Path, work: Work | None = None
) -> list[TaskReport]:
    """Write a task's synthetic or recast cases into a case folder, all or nothing, replacing an older one."""
    task, edition = _task_and_edition(family)
    work = work or Work()
    known = tuple(GENRES) if edition == SYNTHETIC else DOMAINS[task]
    if settings.domain is not None and settings.domain not in known:
        raise InputError(
            f"{family} has no cases of {settings.domain}, only of {', '.join(known)}; correct --domain"
        )
    settings = replace(settings, n=settings.n or cases_of(task))
    tokenizers_of(settings)  # reports an unavailable tokenizer before anything is written
    domains = known if settings.domain is None else (settings.domain,)
    encodings: dict[str, str] = {}
    if edition == RECAST:
        for domain in domains:  # reports missing carriers, too
            encodings |= encodings_of(carriers_of(Options(carriers=source), CARRIER_KINDS[domain], family))
    options = {**asdict(settings), "source": source and str(source), "card_version": card("ethic").version}
    # Rounded up; surplus questions on the last document are dropped.
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
    return NANO_CASES if task == SECTIONS else CASES


def _questions(task: str, length: int) -> int:
    """Return the number of cases that share a document."""
    return questions_at(length) if task == SECTIONS else 1


def tokenizers_of(settings: SyntheticSettings) -> tuple[Tokenizer, ...]:
    """Return the distinct tokenizers in which prompts are counted, the one that measures lengths first."""
    other = settings.other_tokenizer
    every = (settings.measure, get_tokenizer(CL100K), *([other] if other is not None else []))
    return tuple({tokenizer.name: tokenizer for tokenizer in every}.values())


def _made(
    family: str,
    domain: str,
    source: Path | None,
    settings: SyntheticSettings,
    wanted: tuple[int, Sequence[int]],
) -> Mapping[int, MadeCases]:
    """Make the cases for one case number, at each of its lengths."""
    number, lengths = wanted
    task, edition = _task_and_edition(family)
    genre = GENRES[domain] if edition == SYNTHETIC else recast_genre(Options(carriers=source), domain)
    # Fresh tokenizers cache counts for one case only, so memory does not grow with the number of cases.
    tokenizers = tuple(tokenizer.fresh() for tokenizer in tokenizers_of(settings))
    writings = Writings(genre)
    found: dict[int, MadeCases] = {}
    for length in lengths:
        made = make_cases(task, domain, length, settings.seed, tokenizers, number, writings)
        # The last document may have more questions than are still needed.
        left = (settings.n or CASES) - number * _questions(task, length)
        drafts = [each.draft.case(name_of(task, domain, edition), domain, tokenizers) for each in made[:left]]
        texts = {key: text for _, own in drafts for key, text in own}
        found[length] = MadeCases(tuple(case for case, _ in drafts), tuple(texts.items()))
    return found


def make_cases(
    task: str,
    domain: str,
    length: int,
    seed: int,
    tokenizers: tuple[Tokenizer, ...],
    number: int,
    writings: Writings,
) -> Sequence[MadeCase]:
    """Make the case with the given number, or all cases on its document.

    Up to ``WRITINGS`` documents are tried; the first that yields a case is used. The task is recall,
    organize, attribute or sections. ``writings`` are shared by all lengths with the same number.
    """
    make = {"recall": Maker.recall, "organize": organize, "attribute": attribute, SECTIONS: section_questions}
    for attempt in range(WRITINGS):
        if made := make[task](Maker(domain, length, seed, tokenizers, number, attempt, writings)):
            return made
    raise InputError(
        f"{task_name(task, domain)}: no case of {format_length(length)} could be made; use a longer length"
    )


def cached_synthetic(spec: TaskSpec, options: Options) -> CaseSet:
    """Return a task's synthetic or recast cases, which are generated into the cache once."""
    number = cases_of(spec.task)
    settings = run_settings(spec.name, SyntheticSettings, options, number, domain=spec.split)
    family = family_of(spec.task, EDITIONS[spec.source])
    carriers = None
    if spec.source == "recast":
        carriers = carriers_of(options, CARRIER_KINDS[spec.split], spec.name)
    return cached_cases(
        spec.name,
        settings,
        options,
        card("ethic").version,
        lambda folder: build(family, carriers and carriers.parent, settings, folder),
        carriers,
    )


def questions_at(length: int) -> int:
    """Return the number of questions per document: one per section, so eight at 8k and above."""
    return max(1, min(MOST_SECTIONS, length // LEAST_TOKENS))


def section_questions(maker: Maker) -> list[MadeCase] | None:
    """Make the questions on a document's sections; return None if the document does not allow it."""
    number, recall = questions_at(maker.length), maker.recall()
    if recall is None or len(recall[0].paragraphs) < number:
        return None
    found = maker.sections(recall[0].paragraphs, number)
    # A section that reports no study would have no label.
    if found is None or not all(section.reports for section in found):
        return None
    ends = [
        *(f'ends before the words "{section.name}"' for section in found[1:]),
        "goes on to the end of the context",
    ]
    made = []
    for place, (section, end) in enumerate(zip(found, ends, strict=True), start=1):
        draft = replace(
            recall[0].draft,
            gold=gold_labels(merge_labels(paragraph.labels for paragraph in section.paragraphs)),
            part=f"list{place}",
            slots={"section": _ABOUT.format(section.name, end)} if number > 1 else {},
            turn_labels={},
            labels={**recall[0].draft.labels, "asked": "list", "section": place},
            rewrite=_ASKED if number > 1 else {},
        )
        made.append(MadeCase(draft, tuple(section.paragraphs)))
    # At 1k, naming a section may make the prompt too long.
    return made if all(maker.tokens(case.draft) <= maker.length for case in made) else None
