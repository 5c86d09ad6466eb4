"""Recast recall of law, read by eyecite, and by patterns for what it hardly knows: statutes, rules, databases.

``LCT_CARRIERS=carriers python tests/recast/citations_probe.py CASES TOKENS SEED`` prints the numbers that only one side has.
"""

import logging
import os
import re
import sys
from pathlib import Path

from eyecite import get_citations
from eyecite.models import FullCaseCitation, ShortCaseCitation

from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import Options

_CODE = r"(?:U\.? ?S\.? ?C\.?(?: ?A\.?)?|C\.? ?F\.? ?R\.?)(?: ?§+| ?[Ss]ec(?:tion|\.)s?| ?Part| ?pt\.)?"
_PATTERNS = (
    rf"(\d+) {_CODE} (\d+)[\w().]*(?:[-–](\d+))?(?:,? (?:and|&|or|to|through) (\d+))?",
    r"(\d{4}) [A-Z]{2} (\d+)|\b(\d+) [A-Z]\. ?[A-Z][a-z]+\.? (\d+)|\bFed\. [^\d]{1,30}P\. (\d+)",
    r"(?:§+|\b[Ss]ections?|\b[Ss]ec\.|\bRules?|\bR\. ?[A-Z][a-z]+\.(?: ?P(?:roc)?\.)?|\b[Aa]rt(?:icle)?\.?|\bTitle|S\.G\.) ?"
    r"(?:§+ ?)?((?:\d+[\w.():-]*(?:, |,? and |,? or |,? & | to | through |-)?)+)",
)
logging.disable(logging.WARNING)  # eyecite warns of citations that it is unsure of
cases, tokens, seed = map(int, sys.argv[1:])
options = Options(length=tokens, n=cases, seed=seed, carriers=Path(os.environ["LCT_CARRIERS"]))
task = load_task("ethic_recall_law_recast", options)
for case in task.cases.cases:
    text = task.messages(case)[-1].content.partition("### Context:\n")[2].partition("\n\nNow, respond")[0]
    cited = [one for one in get_citations(text) if isinstance(one, FullCaseCitation | ShortCaseCitation)]
    found = {one.groups["volume"] for one in cited}
    found |= {one.groups["page"] for one in cited if isinstance(one, FullCaseCitation)}
    matches = [match for pattern in _PATTERNS for match in re.finditer(pattern, text)]
    ruled = {number for match in matches for part in match.groups("") for number in re.findall(r"\d+", part)}
    gold = {*case.turns[0].gold} - {"None"}
    print(
        case.id,
        len(gold),
        "eyecite:",
        *(found - gold),
        "patterns:",
        *(ruled - gold),
        "gold:",
        *(gold - found - ruled),
    )
