"""Find what publishers and printers add to a story: their lists of books and their notes at the end, and captions of pictures."""

import re
from collections.abc import Sequence
from itertools import pairwise

from long_context_tasks.corpora.headings import KEEP, Block, Label, bare, is_capitals, is_prose, is_title
from long_context_tasks.corpora.numerals import plain

# Sizes, bindings and editions, which only a list of books has.
_FORMAT = re.compile(
    r"\b(?:(?:8|12|16|18|24|32|4)(?:vo|mo|to|º|°)\b|(?:in-|gr\. ?|kl\. ?)(?:4|8|12|16|18|32)\b"
    r"|(?:cloth|leather|boards|half morocco|paper covers?)(?:, | gilt| extra| back| bound| decorated|; )"
    r"|\d+(?:st|nd|rd|th|e|[ºª])\.? (?:edition|impression|thousand|édition|mille|edición|edizione|edição|druk|oplag)\b"
    r"|\d+(?:\. ?[-–] ?\d+)?\. (?:auflage|tausend|upplagan|oplag)\b"
    r"|(?:geb|brosch|geh|kart|inb|häft|hft|indb|relié|broché|cart)\.,? (?:m(?:k|ark)?\.|fl?\.|kr\.|fr\.|\d)|en rústica|encuadernad[oa]s? en"
    r"|vols?\., \d|illustrated by [A-Z]|with (?:\w+ )?(?:full-page )?illustrations)",
    re.IGNORECASE,
)
_PRICE = re.compile(
    r"(?:[£$] ?\d|\b\d+s\. ?(?:\d+d\.|net|each)?|\b\d+d\.(?: net| each)?|\b\d+(?:[.,]\d\d)? ?(?:fr|kr|mk|pts?|ptas|reis|rub|руб)\b|\bnet\b"
    r"|\b(?:m(?:k|ark)?|fr|fl|kr)\.? ?\d|\b\d+ (?:fr|kr|руб|р)\.)[^\w]*$",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"(?:(?:other |some |more |all )?(?:books?|works|novels|stories|tales|romances|volumes) (?:by|of) (?!the )\S.{2,60}"
    r"|(?:also |works |books |novels |other .{2,30})?by the same (?:author|writer).{0,20}|.{0,40}['’]s? (?:new |popular |recent |complete )?"
    r"(?:catalogue|list|announcements|publications|series|library|novels)(?: of .{3,40})?|(?:a )?(?:selection from|list of|catalogue of) .{0,40}"
    r"(?:books|publications|works|novels|fiction|catalogue|list)\b.{0,30}|(?:new|recent|popular|standard|forthcoming)(?: and \w+)? (?:books|novels|"
    r"fiction|publications|works|editions).{0,30}|(?:ouvrages |œuvres |du |livres )?du même auteur.{0,20}|ouvrages de .{3,40}|catalogue .{3,60}|"
    r"(?:bücher |werke |romane )?(?:vom|von dem|von der|von) (?:selben|gleichen|demselben|derselben) (?:verfasser(?:in)?|autor(?:in)?).{0,20}|im (?:selben|"
    r"gleichen) verlage?.{0,40}|(?:obras |libros )?del mismo autor.{0,20}|obras? (?:completas )?de .{3,40}|(?:opere )?dello stesso autore.{0,20}|"
    r"(?:obras )?d[oa] mesm[oa] auc?tora?.{0,20}|(?:werken )?van denzelfden (?:schrijver|auteur).{0,20}|bij denzelfden uitgever.{0,40}|av samma "
    r"författare.{0,20}|af samme forfatter.{0,20}|(?:dzieła )?te(?:go|goż) samego autora.{0,20}|tegoż autora.{0,20}|(?:книги |сочинения )?того же "
    r"автора.{0,20})[.:;]?",
    re.IGNORECASE,
)
_PRINTED = re.compile(
    r"[\W_]*(?:[^\W\d_][\w.,&' -]{0,40}?(?:[:;]|[.,]? ?(?:—|--|–)) ?)?"
    r"(?:(?:printed|imprinted|composed|electrotyped|stereotyped|typography|presswork) (?:and bound |in [A-Z][\w ,]{2,40} )?(?:by|at|for|in) "
    r"|[\w .,&'-]{2,60},? printers\b|(?:at )?the [A-Z][\w ]{2,30} press[,.]|imprim(?:é|ée|eries)\b|impr?\. |achevé d['’]imprimer|typ\. "
    r"|druck (?:von|der|und)|gedruckt (?:bei|in|von)|impreso (?:en|por)|(?:este libro |esta obra )?(?:se )?(?:acab|termin)[óo](?:se)? de imprimir"
    r"|tip\. |stampato (?:in|a|da)|stab\. tip|(?:questo libro )?finito di stampare|impresso (?:em|na)|composto e impresso"
    r"|gedrukt (?:bij|door|ter|te)|(?:snelpers)?druk van|tryckt (?:hos|i|av|af|å)|trykt (?:hos|i)|drukiem|odbito|тип\. |отпечатано|печатано)",
    re.IGNORECASE,
)
_PRESS = re.compile(
    r"imprimerie|typographie|druckerei\b|offizin\b|\bimprenta\b|tipografia|tipográfic|typographia|drukkerij\b|tryckeri|trykkeri|drukarni|типографи",
    re.IGNORECASE,
)
_MOST_LIST_HEADING = 90  # characters
_MOST_PRINTED = 240  # characters of a printer's note
_NEAR_END = 25  # blocks in which a printer's note is looked for
_GAP = 12  # blocks of a list that have neither size nor price, at most
_TAIL = 0.15
"""Share of the words of a book that a list takes, at most."""
_MOST_LONG = 60  # words of a block of prose after a printer's note

_PICTURES = re.compile(
    r"(?:the |list of |full-page )?(?:illustrations?|plates|pictures)|(?:verzeichnis der )?(?:abbildungen|illustrationen|bilder)"
    r"|(?:table|liste) des (?:gravures|illustrations|planches)|illustrations|gravures|(?:lista de |índice de )?(?:láminas|grabados|ilustraciones)|"
    r"(?:indice delle )?(?:illustrazioni|tavole)|(?:índice das )?(?:gravuras|ilustrações)|(?:lijst der )?(?:platen|afbeeldingen)|illustrationer|spis rycin",
    re.IGNORECASE,
)
_OF_PICTURE = re.compile(
    r"(?:frontispiece|titelbild|frontispice|portada|(?:fig|plate|pl|tafel|taf|abb|lám|tav|gravure|est|plaat)\.? ?(?:\d{1,3}|[ivxlc]{1,6}))\b\W*(?:\S.{0,120})?"
)
_QUOTES = "\"“«„'‘—"
_LONGEST_CAPTION, _FEWEST_CAPTION_WORDS, _FEWEST_REPEATED_WORDS = 200, 4, 6
_AROUND = 80  # blocks around a caption in which its words stand again


def list_of_books(blocks: Sequence[Block]) -> int | None:
    """Return the first block of a publisher's list or a printer's note at the end of a text, None without one."""
    left, first = _TAIL * sum(block.size for block in blocks), len(blocks)
    while first and left > 0:
        first -= 1
        left -= blocks[first].size
    sure = {i for i in range(first, len(blocks)) if _is_sure(blocks, i)}
    marks = sorted(
        sure
        | {i for i in range(first, len(blocks)) if _PRICE.search(blocks[i].text) and not is_prose(blocks[i])}
    )
    begin = len(blocks)
    for mark, following in reversed(list(pairwise([*marks, len(blocks)]))):
        if following - mark > _GAP:
            break
        begin = mark
    # A sum of money stands in stories too, and a single note has no prose below it.
    while begin < len(blocks) and begin not in sure:
        begin = next((mark for mark in marks if mark > begin), len(blocks))
    if begin == len(blocks) or (
        sum(mark >= begin for mark in marks) == 1
        and any(is_prose(block) and block.size > _MOST_LONG for block in blocks[begin + 1 :])
    ):
        return None
    while begin > first and len(blocks[begin - 1].lines) <= 2 and is_title(blocks[begin - 1]):
        begin -= 1
    return begin


def _is_sure(blocks: Sequence[Block], i: int) -> bool:
    block = blocks[i]
    if block.text[0] in _QUOTES:
        return False
    if len(block.text) <= _MOST_LIST_HEADING and block.gap >= 2 and _LIST.fullmatch(bare(block.text)):
        return True
    if len(block.text) <= _MOST_PRINTED and len(blocks) - i <= _NEAR_END:
        names = sum(not word.islower() for word in block.text.split())
        if _PRINTED.match(block.text) or (_PRESS.search(block.text) and 2 * names >= block.size):
            return True
    return _FORMAT.search(block.text) is not None


def captions(blocks: Sequence[Block], labels: Sequence[Label]) -> set[int]:
    """Return the blocks that are captions: listed under pictures, named as one, or set apart with words that the text has near them."""
    listed: set[str] = set()
    own: set[int] = set()
    found: set[int] = set()
    for i, block in enumerate(blocks):
        if _PICTURES.fullmatch(bare(block.text)):
            own = set(_listing(blocks, labels, i))
            listed |= {plain(re.sub(r"[\W\d]+$|^[\W\d]+", "", line)) for j in own for line in blocks[j].lines}
    listed = {entry for entry in listed if len(entry) > 8}
    for i, block in enumerate(blocks):
        if i in own or labels[i] is not KEEP or len(block.text) > _LONGEST_CAPTION or len(block.lines) > 3:
            continue
        named = _OF_PICTURE.fullmatch(block.text.casefold()) is not None and not is_prose(block)
        # Below a heading stands its title, and what is listed may be a name that somebody calls.
        below_title = i > 0 and labels[i - 1].heading is not None
        called = block.text[0] in _QUOTES and block.size < _FEWEST_CAPTION_WORDS
        is_listed = bool(listed) and not called and plain(block.text) in listed
        if named or (not below_title and (is_listed or _is_said_near(blocks, i))):
            found.add(i)
    return found


def _listing(blocks: Sequence[Block], labels: Sequence[Label], heading: int) -> range:
    """Return the blocks of a list of pictures: those below its heading, up to prose or another heading."""
    end = heading + 1
    while (
        end < len(blocks)
        and labels[end].heading is None
        and (len(blocks[end].lines) > 2 or not is_prose(blocks[end]))
    ):
        end += 1
    return range(heading + 1, end)


def _is_said_near(blocks: Sequence[Block], i: int) -> bool:
    """Return whether a block in capitals or italics repeats words of a longer one."""
    text = blocks[i].text
    apart = is_capitals(text) or (text[0] == text[-1] == "_" and text.count("_") == 2 and blocks[i].gap >= 2)
    if not apart or blocks[i].size < _FEWEST_REPEATED_WORDS:
        return False
    said = plain(text)
    around = blocks[max(0, i - _AROUND) : i + _AROUND]
    return any(
        block.size > blocks[i].size and is_prose(block) and said in plain(block.text) for block in around
    )
