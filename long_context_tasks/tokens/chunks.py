"""Split texts into size-limited chunks, and find sentence ends despite abbreviations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from long_context_tasks.tokens.tokenizers import Tokenizer

JOINT = "\n\n"


@dataclass(frozen=True)
class Text:
    """A text that is never joined with the preceding one: a paragraph, a speech, an abstract, a page."""

    text: str  # without surrounding white space
    part: int = 0  # index of its document, from 0


@dataclass(frozen=True)
class Piece:
    """A text with its token count, including the blank line that follows it."""

    text: str
    tokens: int
    part: int = 0


@dataclass(frozen=True)
class Chunk:
    pieces: tuple[Piece, ...]

    @cached_property
    def text(self) -> str:
        return JOINT.join(piece.text for piece in self.pieces)

    @cached_property
    def tokens(self) -> int:
        """Number of tokens, including the blank line at the end."""
        return sum(piece.tokens for piece in self.pieces)


def pieces_of(texts: Iterable[Text], cap: int, tokenizer: Tokenizer) -> Iterator[Piece]:
    """Split texts into pieces of at most ``cap`` tokens, preserving words and their order.

    A single word longer than ``cap`` is split between characters.
    """
    for text in texts:
        for part in _split(text.text.strip(), cap, tokenizer):
            yield Piece(part, _count(part, tokenizer), text.part)


def _count(text: str, tokenizer: Tokenizer) -> int:
    return tokenizer.count(text + JOINT)


def _split(text: str, cap: int, tokenizer: Tokenizer) -> list[str]:
    if not text:
        return []
    # A character has at most four bytes and a byte at most one token, so short texts need no counting.
    if len(text) * 4 + len(JOINT) <= cap or _count(text, tokenizer) <= cap:
        return [text]
    ends = [0, *sentence_ends(text), len(text)]
    sentences = [text[start:end].strip() for start, end in pairwise(ends)]
    for parts in (sentences, text.split()):
        if len(parts) > 1:
            return _joined(
                [piece for part in parts for piece in _split(part, cap, tokenizer)], cap, tokenizer
            )
    half = len(text) // 2
    return (
        [text] if half == 0 else [*_split(text[:half], cap, tokenizer), *_split(text[half:], cap, tokenizer)]
    )


def _joined(parts: Sequence[str], cap: int, tokenizer: Tokenizer) -> list[str]:
    """Join neighbours while they fit; the sum of the parts' counts is an upper bound for the whole."""
    counts = tokenizer.count_many([f" {part}" for part in parts])
    joined: list[list[str]] = []
    size = 0
    for part, count in zip(parts, counts, strict=True):
        # The blank line after a piece and the missing space before its first word add at most two tokens.
        if joined and size + count + 2 <= cap:
            joined[-1].append(part)
            size += count
        else:
            joined.append([part])
            size = count
    return [" ".join(group) for group in joined]


def chunks_of(pieces: Iterable[Piece], cap: int) -> Iterator[Chunk]:
    """Join pieces of at most ``cap`` tokens into chunks, packing as many pieces as fit into each."""
    waiting: list[Piece] = []
    size = 0
    for piece in pieces:
        if waiting and size + piece.tokens > cap:
            yield Chunk(tuple(waiting))
            waiting, size = [], 0
        waiting.append(piece)
        size += piece.tokens
    if waiting:
        yield Chunk(tuple(waiting))


# A footnote number may follow the full stop: "We affirm.12 The".
_END = re.compile(r"(?:[.!?][\"”’)\]]*|(?<=[a-z\"”’)])[.!?][\"”’)\]]*\d{1,2})(?=\s+[\"“‘(\[]*[A-Z0-9])")
# Abbreviations of titles, papers, courts, months and states, and in names of cases and reporters (Bluebook,
# tables 6 to 13).
_LISTED = (
    "Mr Mrs Ms Dr St Hon Rev Messrs Mme Mlle Prof Sen Rep Gov Gen Col Capt Lt Sgt Maj Esq Jr Sr "
    "No Nos Inc Corp Co Cos Ltd Bros v vs Cir Ct Supp Fed App Civ Crim Bankr Const Dist Dept Div Ann Stat Sess Cong amend art cl ch "
    "cf Cf e.g i.e al rel viz pp p n nn vol Fig fig ed eds op cert Br Mag Cl Cls Evid Regs Reg Admin Ord Ops Op Rptr App'x Pet Mot "
    "Jan Feb Mar Apr Jun Jul Aug Sept Oct Nov Dec Ala Ariz Ark Cal Colo Conn Del Fla Ga Haw Ill Ind Kan Ky La Md Me Mass Mich Minn "
    "Miss Mo Mont Neb Nev Okla Or Pa Tenn Tex Utah Vt Va Wash Wis Wyo "
    "Acad Adm'r Adm'x Adver Agric Am Ass'n Assoc Assocs Ass'ns Atl Att'y Auth Auto Ave Bd Bldg Cas Cent Chem Coll Comm Comm'n Comm'r "
    "Commc'n Commc'ns Comp Comput Condo Consol Constr Cont'l Coop Cty Ctr Ctrs Def Dep't Dev Dir Disc Distrib Econ Educ Elec Elecs Emp "
    "Emps Eng'g Eng'r Enf't Enter Enters Env't Envtl Equip Exam'r Exch Exec Exp Fed'n Fid Fin Gov't Grp Guar Hosp Hosps Hous Indem "
    "Indep Indus Ins Inst Int Int'l Inv Invs Lab Labs Liab Litig Mach Maint Mech Med Mem Merch Metro Mfg Mfr Mfrs Mgmt Mkt Mktg Mortg "
    "Mun Mut Nat'l Org Pac Pers Pharm Pharms Phila P'ship Pres Proc Prod Prods Prof'l Prop Props Prot Pub Publ'g Ry Rec Ref Rehab "
    "Rels Res Ret Sav Sch Schs Sci Sec Sec'y Secs Serv Servs Soc Soc'y Std Sur Sys Tech Techs Tel Telecomm Transp Tr Univ Util Utils"
)
_ABBREVIATIONS = frozenset(_LISTED.split())
# A single letter is an initial or part of "U.S."; "I" is excluded, because it often ends a sentence.
_INITIALS = frozenset("ABCDEFGHJKLMNOPQRSTUVWXYZ")
_LAST_WORD = re.compile(r"[\w.'’]*\Z")
_LONGEST = 12


def _abbreviated(text: str, end: int) -> bool:
    match = _LAST_WORD.search(text, max(0, end - _LONGEST), end)
    word = match[0].replace("’", "'") if match else ""
    last = word.rpartition(".")[2]
    return word in _ABBREVIATIONS or last in _ABBREVIATIONS or last in _INITIALS


def sentence_ends(text: str) -> list[int]:
    """Return the end offsets of a text's sentences, including closing quotes, except the last one.

    A sentence that ends in an abbreviation is joined with the next one.

    >>> text = 'Mr. Darcy left. "In U.S. v. Roe, No. 7?" He read.'
    >>> [text[:end] for end in sentence_ends(text)]
    ['Mr. Darcy left.', 'Mr. Darcy left. "In U.S. v. Roe, No. 7?"']
    """
    return [
        match.end()
        for match in _END.finditer(text)
        if text[match.start()] != "." or not _abbreviated(text, match.start())
    ]
