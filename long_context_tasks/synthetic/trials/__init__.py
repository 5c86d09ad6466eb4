"""Writes sets of medical abstracts of an invented medicine: reviews with studies to attribute, and counts of people to recall.

A study has five features: illness, drug, age of the people, how treatment was decided, and what it was compared with. A review's
background asks for one value of each, in words that abstracts do not use; a study is included when all five are met. Every
abstract also reports an earlier study by others, which has the value that is asked for exactly where the study itself has another
one: what an abstract mentions is then the same for studies that are included and those that are not, and only what belongs to
which of the two tells.
"""

from collections.abc import Iterator
from random import Random

from long_context_tasks.corpora.medical_abstracts import Review, Study
from long_context_tasks.synthetic.document import Document, Paragraph, check_length, main_facts, paragraphs_of
from long_context_tasks.synthetic.trials.text import TrialWriter
from long_context_tasks.synthetic.wording import stream

__all__ = ["summary_of", "write_abstracts", "write_review"]

# Mean of many texts, in cl100k tokens.
CHARACTERS_PER_TOKEN = 4.18
INCLUDED = 0.4
"""Share of studies that a review includes."""


def _ids(random: Random) -> Iterator[str]:
    """Numbers of eight digits, each once."""
    seen: set[int] = set()
    while True:
        number = 10_000_000 + int(random.random() * 80_000_000)
        if number not in seen:
            seen.add(number)
            yield str(number)


def write_review(seed: int, num_tokens: int, *, characters_per_token: float = CHARACTERS_PER_TOKEN) -> Review:
    """Write a review with studies of at least ``num_tokens`` tokens, and at most one study more; two studies at least.

    A longer review of the same seed begins with the shorter one; its background is the same.

    Args:
        seed: any integer; the same bytes for the same seed.
        num_tokens: of all titles and abstracts, in tokens of cl100k.
        characters_per_token: how many characters are taken for a token.

    Raises:
        InputError: ``num_tokens`` is below 1.
    """
    check_length(num_tokens, "a review")
    writer = TrialWriter(stream(seed, "review"))
    topic = writer.topic()
    wanted = writer.criteria(topic)
    background = writer.background(topic, wanted)
    ids = _ids(Random(stream(seed, "review ids")))
    first = writer.chance(0.5)
    studies: list[Study] = []
    length = 0
    while length < num_tokens * characters_per_token or len(studies) < 2:
        # The first two differ, so that the shortest review has something to tell apart.
        included = writer.chance(INCLUDED) if len(studies) > 1 else first is (len(studies) == 0)
        abstract = writer.abstract(topic, *writer.features(topic, wanted, included=included))
        studies.append(Study(next(ids), abstract.title, abstract.text, included))
        length += len(abstract.title) + len(abstract.text) + 40  # "ID: ...\nTitle: ...\nAbstract: ..."
    title = f"{topic.drugs[0].capitalize()} for {topic.diseases[0]}: a systematic review"
    return Review(f"synthetic-review-{seed}", title, background, tuple(studies), pubmed=False)


def write_abstracts(
    seed: int, num_tokens: int, *, characters_per_token: float = CHARACTERS_PER_TOKEN
) -> Document:
    """Write abstracts, one a paragraph, of at least ``num_tokens`` tokens and at most one abstract more.

    Labels are the counts of people in digits, without commas. A longer text of the same seed begins with the shorter one.
    The arguments and errors are those of :func:`write_review`.
    """
    paragraphs = paragraphs_of(_abstracts(seed), num_tokens, characters_per_token, "a set of abstracts")
    return Document(f"synthetic-abstracts-{seed}", "Abstracts of clinical studies", paragraphs)


def _abstracts(seed: int) -> Iterator[Paragraph]:
    """Yield abstract after abstract for ever; five to twelve of one topic."""
    writer = TrialWriter(stream(seed, "abstracts"))
    ids = _ids(Random(stream(seed, "abstract ids")))
    while True:
        topic = writer.topic()
        wanted = writer.criteria(topic)
        for _ in range(writer.whole(5, 12)):
            features = writer.features(topic, wanted, included=writer.chance(INCLUDED))
            abstract = writer.abstract(topic, *features)
            text = f"ID: {next(ids)} Title: {abstract.title} Abstract: {abstract.text}"
            yield Paragraph(text, abstract.labels, abstract.facts)


summary_of = main_facts
