"""Where sentences end, and the passages that clear sentences make."""

import re
from collections.abc import Callable, Iterator, Sequence, Set

from long_context_tasks.recast.carriers import Passage

SENTENCE_END = re.compile(
    r"(?<=[a-z0-9)\]’”\"]{2}[.?!])(?<![Hh]on\.)(?<!Mrs\.)(?<!Rev\.)(?<!Messrs\.)(?<!Prof\.)(?<!Capt\.)(?<!Col\.)(?<!Inc\.)(?<!Corp\.)(?<!Cir\.)(?<!App\.)(?<!Supp\.)(?<!Fed\.)"
    r"(?<!Stat\.)(?<!Civ\.)(?<!Crim\.)(?<!Mass\.)(?<!Const\.)(?<!Ann\.)(?<!Dept\.)(?<!Bankr\.)(?<!al\.)(?<!art\.)(?<!Gen\.)[\"”’)]*\s+"
    r"(?=[\"“‘(]*[A-Z])"
)
# What begins a sentence of an opinion, and no part of a citation ("Ins. Co.", "Fed. R. Bankr. P.").
_OPENER = (
    "A|After|All|Although|An|And|As|At|Because|But|By|Even|First|For|From|Given|Had|He|Her|Here|His|However|If|In|Indeed|It|Its|"
    "Moreover|Neither|Nevertheless|No|Nor|Nothing|On|Once|One|Only|Or|Our|Rather|Second|See|She|Similarly|Since|So|Some|Such|That|The|"
    "Their|Then|There|Therefore|These|They|This|Those|Though|Thus|To|Under|Unlike|We|What|When|Where|Whether|While|With|Yet|You"
)
LAW_SENTENCE_END = re.compile(rf"{SENTENCE_END.pattern}(?=[\"“‘(]*(?:{_OPENER})\b)")
_LEAST_RUN = 120
"""Characters of a passage of debates or opinions."""


def clear_runs(passage: Passage, clear: Callable[[Passage], bool], asked: Set[str]) -> Iterator[Passage]:
    """Yield whole sentences that follow one another and are clear, where something of the kinds asked for stands in them."""
    sentence_end = LAW_SENTENCE_END if "citation" in asked else SENTENCE_END
    ends = [match.end() for match in sentence_end.finditer(passage.text)]
    run: list[Passage] = []
    for start, end in zip([0, *ends], [*ends, len(passage.text)], strict=True):
        own = tuple(
            mention._replace(start=mention.start - start, end=mention.end - start)
            for mention in passage.mentions
            if start <= mention.start and mention.end <= end
        )
        sentence = Passage(passage.text[start:end].rstrip(), own)
        if clear(sentence):
            run.append(sentence)
            continue
        yield from _joined(run, asked)
        run = []
    yield from _joined(run, asked)


def _joined(run: Sequence[Passage], asked: Set[str]) -> Iterator[Passage]:
    start, mentions = 0, []
    for passage in run:
        mentions += [
            each._replace(start=start + each.start, end=start + each.end) for each in passage.mentions
        ]
        start += len(passage.text) + 1
    if start >= _LEAST_RUN and any(mention.kind in asked for mention in mentions):
        yield Passage(" ".join(passage.text for passage in run), tuple(mentions))
