"""Every passage that recast recall may show, read by others: eyecite and patterns in law, spaCy in books and debates.

``LCT_CARRIERS=carriers python tests/recast/gold_probe.py DOMAIN`` prints what only one side takes for a right answer, each with the words
around it. It needs eyecite, or spaCy with its model en_core_web_sm.
"""

import logging
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from long_context_tasks.benchmarks.ethic.synthetic.recast import CARRIER_KINDS, _clear, _units
from long_context_tasks.corpora.plain_files import data_files
from long_context_tasks.recast.entities import PERSON, without_possessive

# Statutes and rules, which eyecite hardly knows.
_CODE = r"(?:U\.? ?S\.? ?C\.?(?: ?A\.?)?|C\.? ?F\.? ?R\.?)(?: ?§+| ?[Ss]ec(?:tion|\.)s?| ?Part| ?pt\.)?"
_PATTERNS = (
    rf"(\d+) {_CODE} (\d+)[\w().]*(?:[-–](\d+))?(?:,? (?:and|&|or|to|through) (\d+))?",
    r"(\d{4}) [A-Z]{2} (\d+)|\b(\d+) [A-Z]\. ?[A-Z][a-z]+\.? (\d+)|\bFed\. [^\d]{1,30}P\. (\d+)",
    r"(?:§+|\b[Ss]ections?|\b[Ss]ec\.|\bRules?|\bR\. ?[A-Z][a-z]+\.(?: ?P(?:roc)?\.)?|\b[Aa]rt(?:icle)?\.?|\bTitle|S\.G\.) ?"
    r"(?:§+ ?)?((?:\d+[\w.():-]*(?:, |,? and | ,? or |,? & | to | through |-)?)+)",
)


def _cited(text: str) -> set[str]:
    from eyecite import get_citations
    from eyecite.models import FullCaseCitation, ShortCaseCitation

    cited = [one for one in get_citations(text) if isinstance(one, FullCaseCitation | ShortCaseCitation)]
    found = {one.groups["volume"] for one in cited} | {
        one.groups["page"] for one in cited if isinstance(one, FullCaseCitation)
    }
    matches = (match for pattern in _PATTERNS for match in re.finditer(pattern, text))
    return found | {
        number for match in matches for part in match.groups("") for number in re.findall(r"\d+", part)
    }


def _persons(passages: Iterable[str]) -> Iterator[set[str]]:
    import spacy

    for read in spacy.load("en_core_web_sm", enable=["tok2vec", "ner"]).pipe(passages):
        persons = " ".join(entity.text for entity in read.ents if entity.label_ == "PERSON")
        yield set(re.findall(r"[A-Z][^\W\d_]+", persons))


def main(domain: str) -> None:
    """Print the numbers or names on which the readers differ, each with its carrier and how often."""
    logging.disable(logging.WARNING)  # eyecite warns of citations that it is unsure of
    asked = {"citation"} if domain == "law" else PERSON
    files = data_files(Path(os.environ["LCT_CARRIERS"], CARRIER_KINDS[domain]), "txt", "jsonl")
    for unit in (unit for file in files for unit in _units(file, domain)):
        texts = [passage.text for passage in _clear(unit)]
        readers = map(_cited, texts) if domain == "law" else _persons(texts)
        answers, differ = 0, defaultdict[tuple[str, str], list[str]](list)
        for passage, found in zip(_clear(unit), readers, strict=True):
            gold = {
                without_possessive(passage.text[mention.start : mention.end])
                for mention in passage.mentions
                if mention.kind in asked
            }
            answers += len(gold)
            for side, words in (("right answer", gold - found), ("reader", found - gold)):
                for word in words:
                    place = passage.text.find(word)
                    differ[side, word].append(passage.text[max(0, place - 40) : place + 40])
        for (side, word), around in sorted(differ.items()):
            print(unit.id, answers, side, word, len(around), around[0], sep=" | ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
