"""Posts for BestAnswer cases: popular questions of frequent tags, and their answers.

Section 3.2 of the paper: the questions of the most frequent tags, the most popular ones of each. A dump is parsed once
for numbers (ids, dates, scores, tags), which are kept for the next build, and looked through for the texts of the chosen posts, which go to a file that spills to disk when it
grows; what stays in memory are a few numbers for each post.
"""

import difflib
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval.build.counts import Ints, PromptCounter, counted_ahead
from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.corpora.stack_exchange import (
    PostIndex,
    html_to_text,
    is_text_only,
    kept_index,
    read_bodies,
)
from long_context_tasks.schema import InputError
from long_context_tasks.tokens.tokenizers import text_hash

_IN_MEMORY = 256 * 1024 * 1024
_BATCH = 256
_BATCHES_AHEAD = 4


PostText = tuple[int, str, bool]
"""Id and plain text of a post, and whether it shows no image."""


@dataclass(frozen=True)
class DumpPosts:
    """A Stack Exchange dump or a JSON Lines file of posts."""

    path: Path

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    def index(self, progress: Progress) -> PostIndex:
        """Return the numbers of all posts, which the file is read for once."""
        return kept_index(self.path, lambda rows: progress.over(rows, "indexing posts", "post"))

    def texts(self, wanted: Collection[int]) -> Iterator[PostText]:
        """Read the file for the texts of the wanted posts."""
        for post_id, body in read_bodies(self.path, wanted):
            yield post_id, html_to_text(body), is_text_only(body)


class TextStore:
    """Texts by number, kept in one temporary file that stays in memory while it is small."""

    def __init__(self) -> None:
        """Begin empty."""
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed in close()
        self._places: dict[int, tuple[int, int]] = {}
        self._end = 0

    def add(self, number: int, text: str) -> None:
        """Append a text."""
        data = text.encode("utf-8", "surrogatepass")
        self._file.seek(self._end)
        self._file.write(data)
        self._places[number] = (self._end, len(data))
        self._end += len(data)

    def __getitem__(self, number: int) -> str:
        """Read a text back."""
        start, size = self._places[number]
        self._file.seek(start)
        return self._file.read(size).decode("utf-8", "surrogatepass")

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


@dataclass(frozen=True, eq=False)
class Pool:
    """The chosen questions (n) and all their answers (m), answers of one question side by side.

    Attributes:
        ids: int64 (n,), ascending.
        tag_offsets, tag_ids: the tags of question i are ``tag_ids[tag_offsets[i]:tag_offsets[i + 1]]``.
        tag_names: names of the tag ids.
        gold: int64 (n,): place of the accepted answer in the answers' columns; -1 without one in the file.
        answer_offsets: int64 (n + 1,): the answers of question i.
        answer_ids: int64 (m,).
        answer_created: datetime64[ms] (m,).
    """

    ids: Ints
    tag_offsets: Ints
    tag_ids: Ints
    tag_names: tuple[str, ...]
    gold: Ints
    answer_offsets: Ints
    answer_ids: Ints
    answer_created: npt.NDArray[np.datetime64]

    def tags(self, question: int) -> Ints:
        """Return the tag ids of a question."""
        return self.tag_ids[self.tag_offsets[question] : self.tag_offsets[question + 1]]

    def answers(self, question: int) -> Ints:
        """Return the places of a question's answers."""
        return np.arange(self.answer_offsets[question], self.answer_offsets[question + 1])


def choose_pool(index: PostIndex, tags: int | Sequence[str], per_tag: int, name: str) -> Pool:
    """Return the questions of the most frequent tags (ties by name) or of named ones with all their answers.

    Of each tag the questions with the highest scores are taken (ties by id).

    Raises:
        InputError: a named tag that no question has, no tags at all, or no accepted answer in the file.
    """
    if not len(index.tag_ids):
        raise InputError(
            f"{name}: none of {len(index.questions):,} questions has tags; give a dump whose questions have them"
        )
    tag_counts = np.diff(index.tag_offsets)
    owner = np.repeat(np.arange(len(index.questions)), tag_counts)
    ranked = np.lexsort((index.questions, -index.scores.astype(np.int64)))
    rank = np.empty(len(index.questions), dtype=np.int64)
    rank[ranked] = np.arange(len(index.questions))
    chosen = []
    for tag in _tag_ids(index, tags, name):
        of_tag = owner[index.tag_ids == tag]
        chosen.append(of_tag[np.argsort(rank[of_tag], kind="stable")[:per_tag]])
    rows = np.unique(np.concatenate(chosen))
    rows = rows[np.argsort(index.questions[rows], kind="stable")]
    ids = index.questions[rows]

    parent = np.searchsorted(ids, index.parents)
    parent[parent == len(ids)] = 0
    known = np.flatnonzero(ids[parent] == index.parents)
    known = known[np.lexsort((index.answers[known], parent[known]))]
    answer_question, answer_ids = parent[known], index.answers[known]
    gold = np.full(len(ids), -1, dtype=np.int64)
    hits = np.flatnonzero(index.accepted[rows][answer_question] == answer_ids)
    gold[answer_question[hits]] = hits
    if not len(hits):
        raise InputError(
            f"{name}: none of the {len(ids):,} chosen questions ({index.rows:,} posts in the file) has an accepted answer in "
            "the file (AcceptedAnswerId of a question, with the answer itself). Use a whole dump, or a larger one"
        )
    return Pool(
        ids=ids,
        tag_offsets=np.concatenate([[0], np.cumsum(tag_counts[rows])]),
        tag_ids=np.concatenate([index.tags_of(int(row)) for row in rows]).astype(np.int64),
        tag_names=index.tags,
        gold=gold,
        answer_offsets=np.searchsorted(answer_question, np.arange(len(ids) + 1)),
        answer_ids=answer_ids,
        answer_created=index.answered[known],
    )


def _tag_ids(index: PostIndex, tags: int | Sequence[str], name: str) -> Sequence[int]:
    if isinstance(tags, int):
        counts = np.bincount(index.tag_ids, minlength=len(index.tags))
        by_number = sorted(range(len(index.tags)), key=lambda tag: (-int(counts[tag]), index.tags[tag]))
        return by_number[:tags]
    places = {tag: place for place, tag in enumerate(index.tags)}
    for tag in tags:
        if tag not in places:
            near = difflib.get_close_matches(tag, places, n=3)
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise InputError(f"{name}: no question has the tag {tag!r}{hint}. Correct --tags")
    return [places[tag] for tag in tags]


@dataclass(frozen=True, eq=False)
class PoolTexts:
    """Facts about the texts of a pool's posts, and the texts by post id.

    Attributes:
        store: texts by post id.
        question_text: int64 (n,): equal numbers for equal texts; -1 when the text is missing.
        question_tokens: int64 (n,): tokens before the first answer; 0 for questions without an accepted answer.
        answer_text: int64 (m,): like ``question_text``.
        answer_tokens: int64 (m,): tokens without the designation; 0 for answers that are not usable.
        usable: bool (m,): the answer has a text and no image.
        has_image: bool (m,): the answer shows an image.
    """

    store: TextStore
    question_text: Ints
    question_tokens: Ints
    answer_text: Ints
    answer_tokens: Ints
    usable: npt.NDArray[np.bool_]
    has_image: npt.NDArray[np.bool_]


_Batch = tuple[bool, list[tuple[int, str]]]
"""Whether they are questions, and places and texts that are counted together, because one call for many is cheaper."""


def read_texts(source: DumpPosts, pool: Pool, counter: PromptCounter, progress: Progress) -> PoolTexts:
    """Read the texts of a pool, every answer's and every question's, and count their tokens once."""
    n, m = len(pool.ids), len(pool.answer_ids)
    texts = PoolTexts(
        store=TextStore(),
        question_text=np.full(n, -1, dtype=np.int64),
        question_tokens=np.zeros(n, dtype=np.int64),
        answer_text=np.full(m, -1, dtype=np.int64),
        answer_tokens=np.zeros(m, dtype=np.int64),
        usable=np.zeros(m, dtype=bool),
        has_image=np.zeros(m, dtype=bool),
    )
    wanted: Mapping[int, int] = {
        # Answers are numbered from 0, questions downwards from -1.
        **{post: -1 - place for place, post in enumerate(pool.ids.tolist())},
        **{post: place for place, post in enumerate(pool.answer_ids.tolist())},
    }
    seen: dict[bytes, int] = {}

    def batches() -> Iterator[_Batch]:
        """Note every post; yield those whose tokens are needed, questions and answers apart."""
        growing: dict[bool, list[tuple[int, str]]] = {True: [], False: []}
        posts = progress.over(source.texts(wanted), "reading and encoding posts", "post", len(wanted))
        for post, text, text_only in posts:
            words = text.strip()
            if not words:
                continue
            same = seen.setdefault(text_hash(words), len(seen))
            place = wanted[post]
            asks = place < 0
            if asks:
                place = -1 - place
                texts.question_text[place] = same
                needed = bool(pool.gold[place] >= 0)
            else:
                texts.answer_text[place] = same
                texts.has_image[place] = not text_only
                texts.usable[place] = needed = text_only
            if needed:
                texts.store.add(post, text)
                growing[asks].append((place, text))
                if len(growing[asks]) == _BATCH:
                    yield asks, growing[asks]
                    growing[asks] = []
        yield from ((asks, batch) for asks, batch in growing.items() if batch)

    def count(batch: _Batch) -> tuple[_Batch, Ints]:
        asks, posts = batch
        return batch, (counter.questions if asks else counter.answers)([text for _, text in posts])

    for (asks, posts), counts in counted_ahead(batches(), count, _BATCHES_AHEAD):
        column = texts.question_tokens if asks else texts.answer_tokens
        column[[place for place, _ in posts]] = counts
    return texts
