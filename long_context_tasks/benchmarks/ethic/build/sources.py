"""Read raw documents of the four domains into one common structure (section 3.1).

Books and debates are single documents. In medicine, a source is a review with the abstracts of its studies;
in law, it is a target case with up to 15 cases that cite it, or a single opinion if no citations are known.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.debates import read_debates
from long_context_tasks.corpora.opinions import Opinion, read_opinions
from long_context_tasks.corpora.plain_files import data_files, kind_of, read_rows
from long_context_tasks.corpora.reviews import Review, Study, read_reviews
from long_context_tasks.schema import InputError
from long_context_tasks.tokens.chunks import Text

DOMAINS = ("books", "debates", "medicine", "law")
MOST_CITING = 15  # maximum number of citing cases in a law group (section 3.1)
# JSON Lines column to the domain that it indicates; rows without any of these columns are books.
_COLUMNS = {"turns": "debates", "studies": "medicine", "opinions_cited": "law", "opinion_id": "law"}


@dataclass(frozen=True)
class EthicSource:
    """The texts from which one case is built; ``id`` is unique in its domain."""

    id: str
    title: str
    domain: str
    texts: tuple[Text, ...]

    @property
    def documents(self) -> list[tuple[Text, ...]]:
        """The documents that a context shows: each opinion separately in law, otherwise all texts as one."""
        if self.domain != "law":
            return [self.texts]
        return [tuple(own) for _, own in groupby(self.texts, key=lambda text: text.part)]


def places(path: Path, domain: str | None = None) -> dict[str, Path]:
    """Return the file or folder with each domain's documents."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; correct --documents")
    # One subfolder per domain, or else all documents are of one domain.
    folders = {name: path / name for name in DOMAINS if (path / name).is_dir()}
    if not folders:
        return {domain or guess_domain(path): path}
    if domain is None:
        return folders
    if domain not in folders:
        raise InputError(f"{path}: has no folder for {domain}, only {', '.join(folders)}; correct --domain")
    return {domain: folders[domain]}


def guess_domain(path: Path) -> str:
    """Infer the domain from the documents' format; see the readers in ``corpora``."""
    files = data_files(path, "csv", "json", "jsonl", "txt")
    kinds = {kind_of(file) for file in files}
    # Only screening lists are CSV.
    if "csv" in kinds:
        return "medicine"
    for file in files:
        if kind_of(file) == "jsonl":
            for _, row in read_rows(file, "a document"):
                return next((domain for column, domain in _COLUMNS.items() if column in row), "books")
    if "txt" in kinds or any(path.glob("*/*.txt*")):
        return "books"
    if "json" in kinds:
        return "medicine"
    raise InputError(
        f"{path}: holds no documents of a known form; give texts (.txt), JSON Lines or screening lists (.csv), and --domain "
        f"({', '.join(DOMAINS)})"
    )


def read_sources(path: Path, domain: str, left_out: Counter[str]) -> Iterator[EthicSource]:
    """Yield a domain's sources in file order; ``left_out`` counts the rows that the readers skip."""
    if domain == "books":
        for book in read_books(path):
            yield EthicSource(book.id, book.title, domain, tuple(map(Text, book.paragraphs)))
    elif domain == "debates":
        for debate in read_debates(path):
            yield EthicSource(debate.id, debate.title, domain, tuple(map(Text, debate.speeches)))
    elif domain == "medicine":
        for review in read_reviews(path, left_out):
            texts = tuple(Text(study_text(study), part) for part, study in enumerate(review.studies))
            yield EthicSource(review.id, review.title, domain, texts)
    else:
        opinions = list(read_opinions(path, left_out))
        # The target is shown, too, so that a context contains related cases.
        groups = [(group.target, *group.citing) for group in cited_cases(opinions)]
        for group in groups or [(opinion,) for opinion in opinions]:
            # Short opinions first, so that short contexts show several.
            shown = sorted(group, key=lambda opinion: sum(map(len, opinion.pages)))
            texts = tuple(text for part, opinion in enumerate(shown) for text in opinion_texts(opinion, part))
            yield EthicSource(group[0].id, group[0].title, domain, texts)


def study_text(study: Study) -> str:
    title = f"\nTitle: {study.title}" if study.title else ""
    return f"ID: {study.id}{title}\nAbstract: {study.abstract}"


def opinion_texts(opinion: Opinion, part: int = 0) -> tuple[Text, ...]:
    first, *rest = opinion.pages
    return (Text(f"Case: {opinion.title}\n{first}", part), *(Text(page, part) for page in rest))


@dataclass(frozen=True)
class CitedCase:
    """A target case with the cases that cite it."""

    target: Opinion
    citing: tuple[Opinion, ...]


def cited_cases(opinions: Sequence[Opinion]) -> list[CitedCase]:
    """Return the opinions that others cite, with up to 15 citing ones: most cited first."""
    by_id = {opinion.id: opinion for opinion in opinions}
    citing: dict[str, list[Opinion]] = {}
    for opinion in opinions:
        for cited in opinion.cites:
            if cited in by_id:
                citing.setdefault(cited, []).append(opinion)
    groups = [CitedCase(by_id[cited], tuple(found[:MOST_CITING])) for cited, found in citing.items()]
    return sorted(groups, key=lambda group: -len(group.citing))


def included_elsewhere(review: Review, reviews: Sequence[Review]) -> tuple[Review, frozenset[str]] | None:
    """Return the other review that includes the most studies of this one, and their ids, or None."""
    # Only PubMed ids mean the same study in two reviews.
    if not review.pubmed:
        return None
    own = frozenset(study.id for study in review.studies)
    others = [(other, own & other.included) for other in reviews if other.id != review.id and other.pubmed]
    best = max(others, key=lambda pair: len(pair[1]), default=None)
    return best if best is not None and best[1] else None
