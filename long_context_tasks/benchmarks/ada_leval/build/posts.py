"""Select popular forum questions and their answers for BestAnswer cases, and count their tokens.

Section 3.2 of the paper: the most popular questions for each of the most frequent tags. A dump's metadata
(ids, dates, scores, tags) are cached for the next build; the chosen posts' texts are stored in a temporary
file that spills to disk when it grows.
"""

import difflib
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.building import Work
from long_context_tasks.corpora.stack_exchange import PostIndex, html_to_text, is_text_only, read_bodies
from long_context_tasks.schema import InputError
from long_context_tasks.tokens import Tokenizer
from long_context_tasks.tokens.tokenizers import text_hash

Ints = npt.NDArray[np.int64]

_IN_MEMORY = 256 * 1024 * 1024
# Batching texts into one call is cheaper than many calls.
_BATCH = 256


class TextStore:
    """Texts by number, in one temporary file that stays in memory while it is small."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed in close()
        self._places: dict[int, tuple[int, int]] = {}
        self._end = 0

    def add(self, number: int, text: str) -> None:
        # Posts may contain lone surrogates.
        data = text.encode("utf-8", "surrogatepass")
        self._file.seek(self._end)
        self._file.write(data)
        self._places[number] = (self._end, len(data))
        self._end += len(data)

    def __getitem__(self, number: int) -> str:
        start, size = self._places[number]
        self._file.seek(start)
        return self._file.read(size).decode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True, eq=False)
class Pool:
    """The chosen questions (n) and all their answers (m), grouped by question."""

    ids: Ints  # int64 (n,), ascending
    # tag_offsets, tag_ids: the tags of question i are tag_ids[tag_offsets[i]:tag_offsets[i + 1]]
    tag_offsets: Ints
    tag_ids: Ints
    tag_names: tuple[str, ...]  # names of the tag ids
    gold: Ints  # int64 (n,): index of the accepted answer among the answers; -1 if it is not in the file
    answer_offsets: Ints  # int64 (n + 1,): the answers of question i
    answer_ids: Ints  # int64 (m,)
    answer_created: npt.NDArray[np.datetime64]  # datetime64[ms] (m,)

    def tags(self, question: int) -> Ints:
        return self.tag_ids[self.tag_offsets[question] : self.tag_offsets[question + 1]]

    def answers(self, question: int) -> Ints:
        return np.arange(self.answer_offsets[question], self.answer_offsets[question + 1])


def choose_pool(index: PostIndex, tags: int | Sequence[str], per_tag: int, source: Path) -> Pool:
    """Return questions with the most frequent tags (ties by name) or the given tags, and their answers.

    For each tag, the top-scoring questions are taken (ties by id).
    """
    if not len(index.tag_ids):
        raise InputError(
            f"{source}: none of {len(index.questions):,} questions has tags; give a dump whose questions have them"
        )
    tag_counts = np.diff(index.tag_offsets)
    owner = np.repeat(np.arange(len(index.questions)), tag_counts)
    ranked = np.lexsort((index.questions, -index.scores.astype(np.int64)))
    # Ranks over all questions, because a question may have several tags.
    rank = np.empty(len(index.questions), dtype=np.int64)
    rank[ranked] = np.arange(len(index.questions))
    chosen = []
    for tag in _tag_ids(index, tags, source):
        of_tag = owner[index.tag_ids == tag]
        chosen.append(of_tag[np.argsort(rank[of_tag], kind="stable")[:per_tag]])
    rows = np.unique(np.concatenate(chosen))
    rows = rows[np.argsort(index.questions[rows], kind="stable")]
    ids = index.questions[rows]

    parent = np.searchsorted(ids, index.parents)
    # searchsorted returns the length for ids beyond the last; the next line filters these out.
    parent[parent == len(ids)] = 0
    known = np.flatnonzero(ids[parent] == index.parents)
    known = known[np.lexsort((index.answers[known], parent[known]))]
    answer_question, answer_ids = parent[known], index.answers[known]
    gold = np.full(len(ids), -1, dtype=np.int64)
    hits = np.flatnonzero(index.accepted[rows][answer_question] == answer_ids)
    gold[answer_question[hits]] = hits
    if not len(hits):
        raise InputError(
            f"{source}: none of the {len(ids):,} chosen questions ({index.rows:,} posts in the file) has an accepted answer in "
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


def _tag_ids(index: PostIndex, tags: int | Sequence[str], source: Path) -> Sequence[int]:
    if isinstance(tags, int):
        counts = np.bincount(index.tag_ids, minlength=len(index.tags))
        by_number = sorted(range(len(index.tags)), key=lambda tag: (-int(counts[tag]), index.tags[tag]))
        return by_number[:tags]
    places = {tag: place for place, tag in enumerate(index.tags)}
    for tag in tags:
        if tag not in places:
            near = difflib.get_close_matches(tag, places, n=3)
            hint = f"; near it: {', '.join(near)}" if near else ""
            raise InputError(f"{source}: no question has the tag {tag!r}{hint}. Correct --tags")
    return [places[tag] for tag in tags]


# Counts of a prompt's parts are additive wherever cl100k never joins them. It splits text with a regular
# expression before it merges bytes, from left to right and without lookbehind. A match either contains no
# white space except possibly its first character, or is punctuation with the newlines after it, or is white
# space only; and a run of white space that contains a newline is cut after its last one. So no match spans
# the border between the last newline of such a run and the text after it, and counts are additive there.
# Inside a run they are not, so blank lines at the beginning of a text are counted with the fixed part before
# it. White space is Unicode's; Python's \s has four more characters.
_SPACE = r"[^\S\x1c-\x1f]"
_LEADING_LINES = re.compile(rf"{_SPACE}*[\r\n]")
_BLANK = re.compile(rf"{_SPACE}*")


def split_lead(text: str) -> tuple[str, str]:
    """Split a text into its leading blank lines and the rest; their counts are additive after a fixed part.

    The rest of a blank text is empty; such a text is counted with the fixed part and the gap that follows it.

    >>> split_lead("\\n\\n  Hello"), split_lead("\\n ")
    (('\\n\\n', '  Hello'), ('\\n ', ''))
    """
    match = _BLANK.fullmatch(text) or _LEADING_LINES.match(text)
    return (match[0], text[match.end() :]) if match else ("", text)


class AnswerCounter:
    """Counts the tokens in a BestAnswer prompt from its parts.

    The count is :meth:`questions` + the sum of :meth:`answers` + :meth:`designations` + :meth:`after_last`
    for the last answer. It is exact for cl100k and an estimate for other tokenizers.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._short = lru_cache(maxsize=4096)(tokenizer.count)
        self._around_question = lru_cache(maxsize=4096)(self._count_around_question)
        self._after_ending = lru_cache(maxsize=4096)(self._count_ending)
        self._designations = np.zeros(1, dtype=np.int64)

    def questions(self, texts: Sequence[str]) -> Ints:
        """int64 (n,): tokens before the first answer, for each question."""
        split = [split_lead(text) for text in texts]
        around = [self._around_question(lead, bool(body)) for lead, body in split]
        return np.array(around, dtype=np.int64) + self._bodies([body for _, body in split])

    def _count_around_question(self, lead: str, followed: bool) -> int:
        asked = prompts.QUESTION + lead + ("" if followed else prompts.GAP)
        return sum(map(self._tokenizer.count, (prompts.template("bestanswer"), asked, prompts.ANSWERS)))

    def _bodies(self, bodies: Sequence[str]) -> Ints:
        """int64 (n,): tokens in each body and the gap after it; 0 for an empty body.

        The gap after an empty body is counted with its lead.
        """
        # A fresh tokenizer discards its cached counts, so memory does not grow with the number of posts.
        counts = self._tokenizer.fresh().count_many([body + prompts.GAP if body else "" for body in bodies])
        return np.array(counts, dtype=np.int64)

    def answers(self, texts: Sequence[str]) -> Ints:
        """int64 (n,): tokens in each answer with the blank lines around it, without its designation."""
        split = [split_lead(text) for text in texts]
        # A text's leading blank lines join the colon and the newlines before them; so does the gap after a
        # blank text.
        leads = [
            self._short(f"A1:\n\n{lead}" if body else f"A1:\n\n{lead}{prompts.GAP}") for lead, body in split
        ]
        bodies = self._bodies([body for _, body in split])
        return np.array(leads, dtype=np.int64) - self._short("A1") + bodies

    def designations(self, number: int) -> Ints:
        """int64 (number + 1,): tokens in the first k designations ("A1", "A2", ...), for every k."""
        if len(self._designations) <= number:
            start = len(self._designations)
            new = [self._short(f"A{place}") for place in range(start, 2 * number + 1)]
            self._designations = np.concatenate([self._designations, self._designations[-1] + np.cumsum(new)])
        return self._designations[: number + 1]

    def after_last(self, text: str) -> int:
        """Return the closing line's tokens, plus those added because the last answer's gap runs into it."""
        if not split_lead(text)[1]:
            return self._after_ending(f"A1:\n\n{text}")
        # Only characters after the last letter or digit can join the gap.
        start = len(text)
        while start and not (text[start - 1].isascii() and text[start - 1].isalnum()):
            start -= 1
        return self._after_ending("x" + text[start:])

    def _count_ending(self, ending: str) -> int:
        count = self._tokenizer.count
        gap, newline, footer = prompts.GAP, prompts.FOOTER[0], prompts.FOOTER[1:]
        return count(ending + gap + newline) - count(ending + gap) + count(footer)


@dataclass(frozen=True, eq=False)
class PoolTexts:
    """Metadata on the texts of a pool's posts, and the texts by post id."""

    store: TextStore  # texts by post id
    question_text: Ints  # int64 (n,): equal numbers for equal texts; -1 if the text is missing
    # int64 (n,): tokens before the first answer; 0 for questions without an accepted answer.
    question_tokens: Ints
    answer_text: Ints  # int64 (m,): like question_text
    answer_tokens: Ints  # int64 (m,): tokens without the designation; 0 for unusable answers
    usable: npt.NDArray[np.bool_]  # bool (m,): whether the answer has text and no image
    has_image: npt.NDArray[np.bool_]  # bool (m,): whether the answer has an image


def read_texts(source: Path, pool: Pool, counter: AnswerCounter, work: Work) -> PoolTexts:
    """Read a pool's texts and count the tokens in every answer and question once."""
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
    questions = {post: place for place, post in enumerate(pool.ids.tolist())}
    answers = {post: place for place, post in enumerate(pool.answer_ids.tolist())}
    seen: dict[bytes, int] = {}
    posts = read_bodies(source, {**questions, **answers})
    for post, body in work.over(posts, "reading posts", "post", n + m):
        text = html_to_text(body)
        if not (words := text.strip()):
            continue
        # Equal texts share a number, because no case may show a text twice.
        number = seen.setdefault(text_hash(words), len(seen))
        if post in questions:
            texts.question_text[questions[post]] = number
            needed = bool(pool.gold[questions[post]] >= 0)
        else:
            place, needed = answers[post], is_text_only(body)
            texts.answer_text[place] = number
            texts.has_image[place], texts.usable[place] = not needed, needed
        if needed:
            texts.store.add(post, text)

    def count(
        ids: Ints, needed: npt.NDArray[np.bool_], tokens: Ints, of: Callable[..., Ints], what: str
    ) -> None:
        places = np.flatnonzero(needed)
        batches = [places[at : at + _BATCH] for at in range(0, len(places), _BATCH)]
        for batch in work.over(batches, f"encoding {what}", "batch", len(batches)):
            tokens[batch] = of([texts.store[post] for post in ids[batch].tolist()])

    with_text = (texts.question_text >= 0) & (pool.gold >= 0)
    count(pool.ids, with_text, texts.question_tokens, counter.questions, "questions")
    count(pool.answer_ids, texts.usable, texts.answer_tokens, counter.answers, "answers")
    return texts
