"""Find where sentences end, in spite of abbreviations."""

import re

# The mark of a note may stand behind it: "We affirm.12 The".
_END = re.compile(r"(?:[.!?][\"”’)\]]*|(?<=[a-z\"”’)])[.!?][\"”’)\]]*\d{1,2})(?=\s+[\"“‘(\[]*[A-Z0-9])")
_ABBREVIATIONS = (
    "Mr Mrs Ms Dr St Hon Rev Messrs Mme Mlle Prof Sen Rep Gov Gen Col Capt Lt Sgt Maj Esq Jr Sr "
    "No Nos Inc Corp Co Ltd Bros v vs Cir Ct Supp Fed App Civ Crim Bankr Const Dist Dept Div Ann Stat Sess Cong amend art cl ch "
    "cf Cf e.g i.e al rel viz pp p n nn vol Fig fig"
)
# A single letter is an initial or part of "U.S.".
_ABBREVIATED = re.compile(
    rf"(?:^|(?<=[^\w]))(?:{'|'.join(map(re.escape, _ABBREVIATIONS.split()))}|[A-HJ-Z])$"
)
_LONGEST = 8


def sentence_ends(text: str) -> list[int]:
    """Return the offsets behind the sentences of a text, closing quotes included; the end of the text is none.

    Where a sentence ends in an abbreviation, it goes on with the next one.

    >>> text = 'Mr. Darcy left. "In U.S. v. Roe, No. 7?" He read.'
    >>> [text[:end] for end in sentence_ends(text)]
    ['Mr. Darcy left.', 'Mr. Darcy left. "In U.S. v. Roe, No. 7?"']
    """
    return [
        match.end()
        for match in _END.finditer(text)
        if text[match.start()] != "."
        or not _ABBREVIATED.search(text[max(0, match.start() - _LONGEST) : match.start()])
    ]
