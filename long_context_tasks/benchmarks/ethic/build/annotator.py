"""Query a model for labels, summaries, spans and questions, and parse its answers.

Labels are also merged over chunks and compared with human labels here.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from itertools import dropwhile
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictInt, StrictStr

from long_context_tasks.benchmarks.ethic.build.drafts import fill_slots
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.scoring import official
from long_context_tasks.benchmarks.ethic.scoring.numbers import LEADING_NONE
from long_context_tasks.benchmarks.ethic.scoring.official import F1
from long_context_tasks.benchmarks.ethic.scoring.repaired import (
    AROUND,
    LIST_MARK,
    NONE,
    THOUSANDS,
    final_answer,
    is_refusal,
)
from long_context_tasks.corpora.plain_files import read_rows
from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import check_judge, load_judge
from long_context_tasks.judges.run import ask_all
from long_context_tasks.judges.store import Store, default_store_path
from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.response import ENDPOINT_FAILED
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.schema.validated import Checked, validated
from long_context_tasks.schema.wrappers import unwrapped
from long_context_tasks.tokens.chunks import sentence_ends

MOST_SENTENCES = 5
_QUESTION, _ANSWER = "Question:", re.compile(r"\n[^\S\n]*Answer:")
# Domains whose labels are names; in the other domains, labels are numbers.
NAMES = frozenset(("books", "debates"))
# Per item in a list of names or counts; an answer with a longer item is prose, not a list.
MOST_WORDS = 4
_POSSESSIVE = re.compile(r"['’]s$")
_HEADING = re.compile(r"^\D*:(?!\w)")
_AND = re.compile(r"\s(?:and|&)\s", re.IGNORECASE)

_TITLES_LISTED = (
    "mr mrs ms miss dr sir lady lord captain madam madame speaker hon rev prof mister mistress messrs mme mlle monsieur mademoiselle "
    "doctor professor reverend honourable squire queen princess duchess countess viscount emperor empress president senator "
    "archbishop colonel lieutenant sergeant admiral uncle aunt ma'am ma’am esq esquire mp qc kc phd ph.d m.d"
)
_RANKS_LISTED = (
    "king prince duke count earl baron marquis prime minister secretary chancellor chief judge justice right bishop cardinal pope "
    "father mother brother sister master general major corporal commander inspector constable baroness dame governor mayor premier "
    "sheriff pastor chairman chairwoman commissioner councillor congressman congresswoman"
)
# Titles, which are never labels.
_TITLES = frozenset(_TITLES_LISTED.split())
# Titles before a name that are themselves names if they are alone or after another name (John Major).
_RANKS = frozenset(_RANKS_LISTED.split())
_NOT_NAMES = frozenset(("the", "a", "an", "of"))
# Words that occur only in prose, not in lists.
_VERBS = frozenset(("is", "are", "was", "were", "not"))


class Annotator:
    """A model and the store of its answers, so that no call is paid for twice."""

    def __init__(self, config: JudgeConfig, store: Store) -> None:
        self.config, self._store = config, store
        # Counts of answers, unusable answers, and answers cut off at max_tokens; and of names that were
        # dropped because they do not occur in their passage.
        self.asked = self.unusable = self.cut = self.invented = 0

    def texts(self, prompts: Sequence[str], usable: Callable[[str], object] = str.strip) -> list[str | None]:
        """Return an answer to each prompt, without the model's thinking, or None if no answer is usable."""
        asked = ask_all(
            [(Message("user", prompt),) for prompt in prompts],
            self.config,
            self._store,
            # Empty answers, refusals and unfinished thinking are never usable.
            usable=lambda reply: _is_answer(reply) and usable(without_thinking(reply).text),
            progress=bool(prompts),
        )
        failed = [answer for answer in asked.answers if answer.reason == ENDPOINT_FAILED]
        # Dropping missing answers would give other runs different cases.
        if failed:
            first = next((answer.error for answer in failed if answer.error), "no answer")
            raise InputError(
                f"annotator {self.config.name}: {len(failed)} of {len(prompts)} calls were not answered ({first}). The answers that "
                "came are kept: run the same command again, and only what is missing is requested"
            )
        self.asked += len(prompts)
        self.unusable += sum(answer.text is None for answer in asked.answers)
        self.cut += sum(answer.cut for answer in asked.answers)
        return [
            None if answer.text is None else without_thinking(answer.text).text for answer in asked.answers
        ]

    def labels(self, domain: str, passages: Sequence[str]) -> list[list[str] | None]:
        """Return each passage's recall labels (appendix B.1), or None if the model did not write a list."""
        filled = _filled(f"build_recall_{domain}", passages)
        answers = self.texts(filled, lambda answer: parse_labels(answer, domain) is not None)
        read = [None if answer is None else parse_labels(answer, domain) for answer in answers]
        if domain not in NAMES:  # the passage may spell out numbers
            return read
        kept = [labels and occurring(labels, passage) for labels, passage in zip(read, passages, strict=True)]
        # A model that only invents names did not read the passage, so its list counts as no answer.
        self.invented += sum(len(labels or ()) for labels in read) - sum(len(labels or ()) for labels in kept)
        return [own if own or not labels else None for own, labels in zip(kept, read, strict=True)]

    def summaries(self, passages: Sequence[str]) -> list[str | None]:
        """Return a one-line summary of each passage, cut to five sentences."""
        answers = self.texts(_filled("build_summary", passages))
        return [None if answer is None else first_sentences(answer) for answer in answers]

    def pairs(self, name: str, passages: Sequence[str]) -> list[tuple[str, str] | None]:
        """Return a question and answer about each passage, or None if the model did not write both."""
        answers = self.texts(_filled(name, passages), lambda text: parse_pair(text) is not None)
        return [None if text is None else parse_pair(text) for text in answers]

    def notes(self) -> list[str]:
        end = f"ended at max_tokens ({self.config.max_tokens}); raise it, or labels may be missing"
        notes = {
            f"{self.cut} of {self.asked} answers {end}": self.cut,
            f"{self.invented} names that do not occur in their chunk were left out": self.invented,
            f"{self.unusable} of {self.asked} answers could not be used": self.unusable,
        }
        return [f"annotator {self.config.name}: {note}" for note, count in notes.items() if count]


def _filled(name: str, passages: Sequence[str]) -> list[str]:
    prompt = template(name)
    return [fill_slots(prompt, {"passages": passage}) for passage in passages]


def load_annotator(path: Path | None, family: str) -> Annotator:
    """Load the model given by ``--annotator`` and check it with a short call."""
    config = load_judge(path)
    if config is None:
        raise InputError(
            f"{family} needs a model that annotates: add --annotator FILE, a YAML file as for judges (model, base_url ...; see the "
            "docs page on judges)"
        )
    check_judge(config, reads_prompts=True)
    return Annotator(config, Store(default_store_path(config)))


def _is_answer(reply: str) -> bool:
    answer = without_thinking(reply)
    return answer.failure is None and not is_refusal(answer.text)


def parse_labels(answer: str, domain: str) -> list[str] | None:
    """Return the distinct labels in an annotator's answer, in order; None if the answer is not a list.

    "None" gives an empty list. The prompts ask for single words or bare numbers. A full name is therefore
    split into its parts, and a number is reduced to its digits (in law, also the letters next to them). Items
    without a letter or digit are dropped, as is a heading before a colon.

    >>> parse_labels("Names: Elizabeth Bennet, Mr. Darcy and the Squire Trelawney.", "books")
    ['Elizabeth', 'Bennet', 'Darcy', 'Trelawney']
    >>> parse_labels("1,204; 12 patients; 36.", "medicine"), parse_labels("618; F.3d; 27; 922(g)", "law")
    (['1204', '12', '36'], ['618', '27', '922g'])
    """
    text = final_answer(unwrapped(answer))
    if LEADING_NONE.match(text):
        return []
    # In law a comma in a number may also separate two numbers, such as volume and page.
    if domain == "medicine" or (domain == "law" and re.search(r"[;\n]", text)):
        text = THOUSANDS.sub("", text)
    items = []
    for line in text.split("\n"):
        parts = re.split(r"[;,]", LIST_MARK.sub("", line))
        parts[0] = _HEADING.sub("", parts[0])
        items += [item.strip(AROUND).split() for part in parts for item in _AND.split(f" {part} ")]
    if any(_is_sentence(words, domain) for words in items):
        return None
    labels = merge_labels(_item_labels(words, domain) for words in items)
    # A list of titles is a list without names, not a failure.
    titled = (_plain(word) in _TITLES | _RANKS for words in items for word in words)
    return labels if labels or any(titled) else None


def _is_sentence(words: Sequence[str], domain: str) -> bool:
    if domain == "law":
        # Names of cases and statutes may be long.
        return not _VERBS.isdisjoint(words)
    names = domain in NAMES
    own = [
        word for word in words if _plain(word) not in _TITLES and not (names and word.lower() in _NOT_NAMES)
    ]
    if len(own) > MOST_WORDS or not _VERBS.isdisjoint(own):
        return True
    no_name = names and all(word[0].islower() for word in own)
    return len(words) > 1 and bool(own) and (no_name or (len(own) > 1 and own[0].lower() == "no"))


def _plain(word: str) -> str:
    return word.strip(AROUND).lower()


def _item_labels(words: Sequence[str], domain: str) -> list[str]:
    """Return the labels in an item: every name, the first count, or all numbers of a citation."""
    if domain == "law":
        # "F.3d" and "2d" are reporter series, not numbers; "922(g)" and "1983" are numbers.
        plain = (re.sub(r"[^0-9A-Za-z]", "", word) for word in words)
        return [word for word in plain if re.match(r"\d", word) and not re.fullmatch(r"\d(?:d|th)", word)]
    stripped = [word.strip(AROUND) for word in words]
    if domain == "medicine":
        return [word for word in stripped if re.fullmatch(r"\d+", word, re.ASCII)][:1]
    names = (_POSSESSIVE.sub("", word).strip(AROUND) for word in stripped if word.lower() not in _NOT_NAMES)
    own = [name for name in names if re.search(r"[^\W\d_]", name) and _plain(name) not in _TITLES]
    # "Prince Andrew" is one name; "Prince" as a separate item may be a surname.
    return own if len(words) == 1 else list(dropwhile(lambda name: _plain(name) in _RANKS, own))


def merge_labels(lists: Iterable[Iterable[str]]) -> list[str]:
    """Merge the labels of all chunks without duplicates (ignoring case), in order of first mention."""
    merged: dict[str, str] = {}
    for label in (label for labels in lists for label in labels):
        if (key := label.lower()) != NONE:
            merged.setdefault(key, label)
    return list(merged.values())


def occurring(labels: Iterable[str], passage: str) -> list[str]:
    """Return the labels that occur in a passage as whole words, ignoring case and apostrophe style."""
    # Models often replace a typographic apostrophe with a straight one.
    plain = passage.replace("’", "'")
    words = ((label, re.escape(label.replace("’", "'"))) for label in labels)
    return [label for label, word in words if re.search(rf"(?<!\w){word}(?!\w)", plain, re.IGNORECASE)]


def gold_labels(labels: Sequence[str]) -> list[str]:
    """Return a case's gold labels; an empty list becomes "None", which the instruction requires."""
    return list(labels) or [official.NONE]


def label_f1(found: Sequence[str], right: Sequence[str]) -> F1:
    """Measure the agreement between two label sets; two empty sets agree."""
    return official.f1("; ".join(gold_labels(found)), gold_labels(merge_labels([right])))


def first_sentences(text: str, most: int = MOST_SENTENCES) -> str:
    """Return a text's first sentences as one line."""
    line = " ".join(text.split())
    ends = sentence_ends(line)
    return line[: ends[most - 1]] if len(ends) >= most else line


def parse_pair(text: str) -> tuple[str, str] | None:
    """Parse a question line and an answer line; return None if either is missing."""
    _, found, rest = text.partition(_QUESTION)
    for mark in _ANSWER.finditer(rest) if found else ():
        question, answer = (" ".join(part.split()) for part in (rest[: mark.start()], rest[mark.end() :]))
        if question:
            return (question, answer) if answer else None
    return None


def parse_spans(answer: str) -> list[str]:
    """Return the spans that an annotator copied, one per line.

    >>> parse_spans("- United States v. Gifford\\nNone")
    ['United States v. Gifford']
    """
    lines: Iterable[str] = (LIST_MARK.sub("", line) for line in answer.split("\n"))
    cleaned = (" ".join(line.split()).strip('"“”`') for line in lines)
    # Shorter lines are list marks without an item.
    return list(dict.fromkeys(line for line in cleaned if len(line) > 2 and line.lower().strip(".") != NONE))


_EXAMPLE = '{"domain": "books", "passage": "...", "labels": []}'


class LabelledChunk(Checked):
    """A human-labelled chunk; its labels are parsed like an annotator's, so that "1,204" is 1204 in both."""

    model_config = ConfigDict(extra="ignore")

    domain: Literal["books", "debates", "medicine", "law"]
    passage: Annotated[str, Field(pattern=r"\S")]
    labels: list[StrictStr | StrictInt]


def read_labelled_chunks(path: Path) -> list[LabelledChunk]:
    """Read human-labelled chunks: JSON Lines with ``domain``, ``passage`` and a list ``labels``."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; correct --check-labels")
    chunks = []
    for place, values in read_rows(path, "a labelled chunk"):
        chunk = validated(LabelledChunk, values, place, remedy=f"write {_EXAMPLE}")
        read = [parse_labels(str(label), chunk.domain) for label in chunk.labels]
        if None in read:
            wrong = chunk.labels[read.index(None)]
            raise InputError(f"{place}: {wrong!r} is not a label; write only names or numbers")
        chunks.append(chunk.model_copy(update={"labels": merge_labels(own or () for own in read)}))
    if not chunks:
        raise InputError(f"{path}: holds no labelled chunks; write {_EXAMPLE}")
    return chunks


def label_quality(chunks: Sequence[LabelledChunk], annotator: Annotator) -> list[dict[str, Any]]:
    """Measure an annotator's agreement with human labels per domain (Table B): means over chunks, 0 to 1."""
    from long_context_tasks.stats.means import interval_of_mean

    rows = []
    for domain in dict.fromkeys(chunk.domain for chunk in chunks):
        own = [chunk for chunk in chunks if chunk.domain == domain]
        found = annotator.labels(domain, [chunk.passage for chunk in own])
        scores = [
            label_f1(labels, list(map(str, chunk.labels)))
            for labels, chunk in zip(found, own, strict=True)
            if labels is not None
        ]
        # Several people may have labelled the same chunk; those labels are not independent.
        passages = [chunk.passage for labels, chunk in zip(found, own, strict=True) if labels is not None]
        # A domain without any answer has no row.
        if n := len(scores):
            row = {
                "domain": domain,
                "f1": sum(score.f1 for score in scores) / n,
                "interval": asdict(interval_of_mean([score.f1 for score in scores], passages)),
                "precision": sum(score.precision for score in scores) / n,
                "recall": sum(score.recall for score in scores) / n,
                "n": n,
                "total": len(own),
            }
            rows.append(row)
    return rows
