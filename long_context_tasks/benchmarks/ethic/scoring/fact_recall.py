"""Score summaries without a judge: the share of the key facts of each section that its summary states.

The writer of a synthetic document says which facts a paragraph holds, as groups of words; a summary states a fact when one of its
sentences has, of each group, one member. The facts of a case are in ``inputs["facts"]``, section by section.

Lists of words state little: what has no full stop is cut into pieces as long as a long sentence, and only as many words count as a good
summary has.
"""

import html
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from long_context_tasks.benchmarks.ethic.scoring import summaries
from long_context_tasks.benchmarks.ethic.scoring.repaired import THOUSANDS, answer_of
from long_context_tasks.judges import Verdict
from long_context_tasks.schema import Case, CaseScores, Score
from long_context_tasks.schema.response import UNPARSED
from long_context_tasks.synthetic.document import Fact

FACT_RECALL = "fact_recall"
METRICS = (FACT_RECALL, *summaries.METRICS)
INPUT = "facts"
PAGE = 500
"""Words of a page: what the instruction asks for, at most."""
_SHARE = 0.3
"""A summary is at most so much of its section; the words behind that do not count, or a copy would state everything."""
_ENOUGH = round(PAGE / _SHARE) + 2
"""Words of a section of which a summary may fill a page."""
_HOLD_ENOUGH = 12_000
"""Characters that hold so many words, mostly."""
LEAST_WORDS = 60
_SENTENCE = 40
"""Words of a sentence, at most; what is longer is cut."""
_ABBREVIATIONS = frozenset(
    [
        "vs",
        "no",
        "nos",
        "vol",
        "mr",
        "mrs",
        "ms",
        "dr",
        "st",
        "sec",
        "art",
        "ss",
        "pp",
        "ch",
        "cf",
        "hon",
        "ltd",
        "co",
        "inc",
        "app",
    ]
)
_END = re.compile(
    r"""(?:(?<![^\W\d_])([^\W\d_]+)|(?<![^\W\d_])(?<![.!?]))[.!?]+["')\]”’*_]*(?=\s)|\n\s*\n|\n(?=\s*(?:[-*•–—+#]|\(?\d{1,3}[.)])\s)"""
)
"""The end of a sentence, a blank line, or a line before a list mark; a line that is only full ends nothing."""
_WORD = re.compile(r"[^\W_]+(?:['.-](?=[^\W_])[^\W_]+)*")
_POSSESSIVE = re.compile(r"'s\b|(?<=s)'(?!\w)")
_HYPHENS = re.compile("[\u2010\u2011]")
_HEADING = re.compile(
    r"^[^\w\n]*(?:\d{1,3}[.)] +)?(?:summary (?:of|for) )?(?:section|segment)[^\w\n]{0,4}(\d{1,6})\b[^\w\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"\d+")


def plain_words(text: str) -> list[str]:
    """Return the words of a text as facts are compared: without case, possessives, and commas in numbers.

    >>> plain_words("Anne’s 1,204 men—all of them.")
    ['anne', '1204', 'men', 'all', 'of', 'them']
    """
    plain = _HYPHENS.sub("-", unicodedata.normalize("NFKC", text).replace("’", "'")).casefold()
    return _WORD.findall(_POSSESSIVE.sub("", THOUSANDS.sub("", plain)))


def sentences(text: str) -> list[list[str]]:
    """Return the words of each sentence; abbreviations and initials end none.

    >>> sentences("Ash v. Blackden was cited. Mr. A. Low,\\nof Dun, lost.")
    [['ash', 'v', 'blackden', 'was', 'cited'], ['mr', 'a', 'low', 'of', 'dun', 'lost']]
    """
    ends = [
        match.end()
        for match in _END.finditer(text)
        if match[1] is None or (len(match[1]) != 1 and match[1].casefold() not in _ABBREVIATIONS)
    ]
    found = [plain_words(text[start:end]) for start, end in pairwise((0, *ends, len(text)))]
    return [words[at : at + _SENTENCE] for words in found for at in range(0, len(words), _SENTENCE)]


@lru_cache(maxsize=4096)
def _padded(words: str) -> str:
    return f" {' '.join(plain_words(words))} "


def states(text: str, fact: Fact) -> bool:
    """Return whether a text has a member of each group of a fact, in whatever sentences.

    >>> states("They mended the old wheel.", Fact("Anne mended a wheel.", (("mended", "repaired"), ("wheel",))))
    True
    """
    return _states(" ".join(["", *plain_words(text), ""]), fact.words)


def _states(text: str, groups: Sequence[Sequence[str]]) -> bool:
    return all(any(_padded(member) in text for member in group) for group in groups)


@dataclass(frozen=True)
class SectionFacts:
    """What the summary of one section should state.

    Attributes:
        facts: at least one.
        most_words: of its summary that count.
    """

    facts: tuple[Fact, ...]
    most_words: int

    @classmethod
    def of(cls, facts: Sequence[Fact], section: str) -> "SectionFacts":
        """The facts of a section, with the number of words that its summary may have."""
        # What begins with a letter or a digit has a word in it at least; finding the words themselves is slow.
        begin = sum(text[0].isalnum() for text in section[:_HOLD_ENOUGH].split())
        if begin > _ENOUGH:
            return cls(tuple(facts), PAGE)
        words = len(plain_words(section))
        return cls(tuple(facts), min(PAGE, max(LEAST_WORDS, round(_SHARE * words))))

    def row(self) -> dict[str, Any]:
        """As plain values, for a case."""
        facts = [[fact.statement, [list(group) for group in fact.words], fact.weight] for fact in self.facts]
        return {"most_words": self.most_words, "facts": facts}


def recall(row: Mapping[str, Any], summary: str) -> float:
    """Return the share of a section's facts, by weight, that the sentences of a summary state within the words that count.

    Args:
        row: see :meth:`SectionFacts.row`.
        summary: of the section; may be empty.
    """
    left, texts = row["most_words"], []
    for words in sentences(summary):
        texts.append(" ".join(["", *words[:left], ""]))
        left = max(0, left - len(words))
    stated = math.fsum(
        weight for _, groups, weight in row["facts"] if any(_states(text, groups) for text in texts)
    )
    return stated / math.fsum(weight for *_, weight in row["facts"])


def written_summaries(answer: str, markers: Sequence[str]) -> dict[str, str]:
    """Return for each marker all that an answer writes under it; markers that it does not have are left out.

    A marker that comes again ("<Section 1> told that ...") adds to its text and does not replace it, and where there is no marker at
    all, headings stand for them ("**Section 1:**"). The judged metrics follow the official code in both, which takes the last text
    and no heading.

    >>> written_summaries("## Section 1\\nOne.\\n## Section 2\\nTwo.", ["<Section 1>", "<Section 2>"])
    {'<Section 1>': 'One.', '<Section 2>': 'Two.'}
    """
    marker_form = re.compile(_NUMBER.sub(r"\\d+", markers[0]))
    found = [(match.start(), match.end(), match[0]) for match in marker_form.finditer(answer)]
    if not found:
        answer = html.unescape(answer)
        found = [
            (match.start(), match.end(), _NUMBER.sub(str(int(match[1])), markers[0]))
            for match in _HEADING.finditer(answer)
        ]
    if not found:
        # A context of one section needs no marker.
        return {markers[0]: answer.strip()} if len(markers) == 1 and answer.strip() else {}
    texts: dict[str, list[str]] = {}
    ends = [start for start, _, _ in found[1:]] + [len(answer)]
    for (_, start, marker), end in zip(found, ends, strict=True):
        texts.setdefault(marker, []).append(answer[start:end].strip())
    return {marker: " ".join(texts[marker]) for marker in markers if marker in texts}


def fact_recall(case: Case, response: str | None) -> Score:
    """Return the mean over the sections that have facts; a section that is left out, or left blank, has 0."""
    [turn] = case.turns
    answer = answer_of(response)
    written = {} if answer.failure else written_summaries(answer.text, turn.gold)
    if not written:
        return Score(0.0, answer.why(UNPARSED))
    recalls = [
        recall(row, written.get(marker, ""))
        for marker, row in zip(turn.gold, case.inputs[INPUT], strict=True)
        if row["facts"]
    ]
    return Score(math.fsum(recalls) / len(recalls))


def score_turn(
    case: Case,
    turn: int,
    response: str | None,
    verdicts: Sequence[Verdict] = (),
    name: str = summaries.DEFAULT,
    status: str | None = None,
) -> CaseScores:
    """Score fact recall, then what :func:`summaries.score_turn` says; the arguments are the same."""
    judged = summaries.score_turn(case, turn, response, verdicts, name, status)
    own = Score(None, status) if status is not None else fact_recall(case, response)
    return {FACT_RECALL: own, **judged}


def score_case(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a case before it is judged."""
    return score_turn(case, 0, response, status=status)
