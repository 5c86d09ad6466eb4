"""Ask a model for labels, summaries, spans and questions; what it has answered once is never asked again."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from long_context_tasks.benchmarks.ethic.build.drafts import fill
from long_context_tasks.benchmarks.ethic.build.labels import NAMES, occurring, parse_labels
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.scoring.repaired import LIST_MARK, NONE, answer_of, is_refusal
from long_context_tasks.judges import ENDPOINT_FAILED, JudgeConfig, Store, check_judge, load_judge
from long_context_tasks.judges.run import ask_all
from long_context_tasks.judges.store import default_store_path
from long_context_tasks.schema import InputError, Message

MOST_SENTENCES = 5
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“‘(\[]*[A-Z0-9])")
_PAIR = re.compile(r"Question:\s*(.+?)\s*\n+\s*Answer:\s*(.+)", re.DOTALL)


class Annotator:
    """A model and the store of its answers.

    Attributes:
        unusable, cut: answers of no use, and answers that ended at ``max_tokens``.
        invented: names that do not occur in their passage, and were left out.
    """

    def __init__(self, config: JudgeConfig, store: Store) -> None:
        """See :func:`load_annotator` for the usual way to make one."""
        self.config, self._store = config, store
        self.asked = self.unusable = self.cut = self.invented = 0

    def texts(self, prompts: Sequence[str], usable: Callable[[str], object] = str.strip) -> list[str | None]:
        """Return an answer to each prompt, without the model's thinking; None where none of several answers could be used.

        Empty answers, refusals and thinking that never ended cannot, whatever ``usable`` says.

        Raises:
            InputError: the endpoint failed; what it answered is kept, so the same command goes on from there.
        """
        asked = ask_all(
            [(Message("user", prompt),) for prompt in prompts],
            self.config,
            self._store,
            usable=lambda reply: _is_answer(reply) and usable(answer_of(reply).text),
            progress=bool(prompts),
        )
        failed = [one for one in asked.answers if one.reason == ENDPOINT_FAILED]
        if failed:
            first = next((one.error for one in failed if one.error), "no answer")
            raise InputError(
                f"annotator {self.config.name}: {len(failed)} of {len(prompts)} calls were not answered ({first}). The answers that "
                "came are kept: run the same command again, and only what is missing is asked"
            )
        self.asked += len(prompts)
        self.unusable += sum(one.text is None for one in asked.answers)
        self.cut += sum(one.cut for one in asked.answers)
        return [None if one.text is None else answer_of(one.text).text for one in asked.answers]

    def labels(self, domain: str, passages: Sequence[str]) -> list[list[str] | None]:
        """Return labels of the recalling task in each passage (appendix B.1); None where the model wrote no list of them.

        Names that do not occur in the passage are left out; a list of nothing else is none.
        """
        filled = _filled(f"build_recall_{domain}", passages)
        answers = self.texts(filled, lambda answer: parse_labels(answer, domain) is not None)
        read = [None if answer is None else parse_labels(answer, domain) for answer in answers]
        if domain not in NAMES:  # numbers may stand there in words
            return read
        kept = [labels and occurring(labels, passage) for labels, passage in zip(read, passages, strict=True)]
        self.invented += sum(len(labels or ()) for labels in read) - sum(len(labels or ()) for labels in kept)
        return [own if own or not labels else None for own, labels in zip(kept, read, strict=True)]

    def summaries(self, passages: Sequence[str]) -> list[str | None]:
        """Return a summary of each passage in at most five sentences, as one line; longer ones lose the rest."""
        answers = self.texts(_filled("build_summary", passages))
        return [None if answer is None else first_sentences(answer) for answer in answers]

    def pairs(self, name: str, passages: Sequence[str]) -> list[tuple[str, str] | None]:
        """Return a question and its answer from each passage; None where the model did not write both."""
        answers = self.texts(_filled(name, passages), lambda text: parse_pair(text) is not None)
        return [None if text is None else parse_pair(text) for text in answers]

    def notes(self) -> list[str]:
        """Return what the user should know of the answers."""
        notes = (
            (
                self.cut,
                f"{self.cut} of {self.asked} answers ended at max_tokens ({self.config.max_tokens}); raise it, or labels may be "
                "missing",
            ),
            (self.invented, f"{self.invented} names that do not occur in their chunk were left out"),
            (self.unusable, f"{self.unusable} of {self.asked} answers could not be used"),
        )
        return [f"annotator {self.config.name}: {note}" for count, note in notes if count]


def _filled(name: str, passages: Sequence[str]) -> list[str]:
    prompt = template(name)
    return [fill(prompt, {"passages": passage}) for passage in passages]


def load_annotator(path: Path | None, family: str) -> Annotator:
    """Load the annotator of ``--annotator`` and check it with a tiny call.

    Raises:
        InputError: none is named, a bad file, or a model that does not answer.
    """
    config = load_judge(path)
    if config is None:
        raise InputError(
            f"{family} needs a model that annotates: add --annotator FILE, a YAML file as for judges (model, base_url ...; see the "
            "docs page on judges)"
        )
    check_judge(config, reads_prompts=True)
    return Annotator(config, Store(default_store_path(config)))


def _is_answer(reply: str) -> bool:
    answer = answer_of(reply)
    return answer.failure is None and not is_refusal(answer.text)


def first_sentences(text: str, most: int = MOST_SENTENCES) -> str:
    """Return the first sentences of a text, as one line.

    >>> first_sentences("One. Two!\\nThree?", 2)
    'One. Two!'
    """
    line = " ".join(text.split())
    ends = [match.start() + len(match[0].rstrip()) for match in _SENTENCE_END.finditer(line)]
    return line[: ends[most - 1]] if len(ends) >= most else line


def parse_pair(text: str) -> tuple[str, str] | None:
    """Return question and answer from an annotator's two lines; None unless both are there.

    >>> parse_pair("Question: Who?\\nAnswer: Anne.")
    ('Who?', 'Anne.')
    """
    match = _PAIR.search(text)
    if not match:
        return None
    question, answer = (" ".join(part.split()) for part in match.groups())
    return (question, answer) if question and answer else None


def parse_spans(answer: str) -> list[str]:
    """Return the spans that an annotator copied, each on a line.

    >>> parse_spans("- United States v. Gifford\\nNone")
    ['United States v. Gifford']
    """
    lines: Iterable[str] = (LIST_MARK.sub("", line) for line in answer.split("\n"))
    cleaned = (" ".join(line.split()).strip('"“”`') for line in lines)
    return list(dict.fromkeys(line for line in cleaned if len(line) > 2 and line.lower().strip(".") != NONE))
