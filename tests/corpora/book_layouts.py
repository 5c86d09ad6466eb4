"""Layouts in which publishers and transcribers set novels: the same story in each, so that what must be left is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
ORDINALS = [
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
]
ROMAN = [
    "0",
    "I",
    "II",
    "III",
    "IV",
    "V",
    "VI",
    "VII",
    "VIII",
    "IX",
    "X",
    "XI",
    "XII",
    "XIII",
    "XIV",
    "XV",
    "XVI",
    "XVII",
    "XVIII",
    "XIX",
    "XX",
]
TITLES = (
    "The Mail",
    "A Knock at the Gate",
    "Pearl",
    "In Which Nothing Is Found",
    "The Widow's Son",
    "Mr. Harrow Pays a Visit",
    "Five Years Later",
    "Of Ropes among Candles",
    "What Did the Ferryman Say?",
    "Hundreds of People",
    "The Night Shadows",
    "Introduction to a Stranger",
    "Going to Law",
    "The Return",
    "Conclusion",
)
FRONT = "The Long Road\n\nby A. N. Author\n\n\n\nLONDON\nPRINTED FOR THE AUTHOR\n1871"
PREFACE = (
    "PREFACE\n\nThis book was begun in another country, and it was finished only because my friends asked for it again and\n"
    "again; whoever is displeased with it should write to them. I have changed the names of all who are still alive.\n\nA. N. A."
)


@dataclass(frozen=True)
class Layout:
    """How a book is set.

    Attributes:
        name: What it imitates.
        heading: Of a chapter, with {roman}, {arabic}, {word}, {Word}, {WORD}, {Ordinal}, {title} and {TITLE}.
        entry: The line of a chapter in the contents, empty without contents; {page} besides.
        part: Heading of a part of five chapters, empty without parts; the number of the part in the same fields.
        again: Whether the numbers of chapters begin again in each part.
        preface: Whether there is one, and whether the contents follow it ("before contents") or come first ("after contents").
        gap: Blank lines above a heading.
        below: Blank lines below it.
        encoding: Of the file.
        pages: Whether page numbers stand between paragraphs.
        end: What stands below the last paragraph.
        header: Whether the file has the lines of Project Gutenberg.
        running: A line printed again above each part.
    """

    name: str
    heading: str
    entry: str = ""
    part: str = ""
    again: bool = False
    preface: str = ""
    gap: int = 4
    below: int = 2
    encoding: str = "utf-8"
    pages: bool = False
    end: str = "THE END"
    header: bool = True
    running: str = ""


LAYOUTS = (
    Layout("roman, title beside it", "CHAPTER {roman}. {title}"),
    Layout("roman, capitals, title below", "CHAPTER {roman}.\n\n{TITLE}"),
    Layout("roman alone with keyword", "CHAPTER {roman}"),
    Layout("arabic, title beside it", "Chapter {arabic}. {title}", entry="Chapter {arabic}. {title}"),
    Layout("arabic, capitals after a space", "Chapter {arabic} {TITLE}", entry="Chapter {arabic} {TITLE}"),
    Layout("word, title in the next line", "CHAPTER {WORD}\n{TITLE}"),
    Layout("word, title below", "Chapter {Word}\n\n{title}", entry="{Word}  {title}"),
    Layout(
        "ordinal",
        "Chapter the {Ordinal}\n\n{title}",
        preface="after contents",
        entry="Chapter the {Ordinal}   {title}",
    ),
    Layout("dash", "CHAPTER {roman}--{TITLE}"),
    Layout("long dash", "CHAPTER {roman}—{title}", entry="CHAPTER {roman}—{title}"),
    Layout("centred", "                              CHAPTER {roman}\n\n                         {TITLE}"),
    Layout(
        "centred, lower case",
        "                          Chapter {arabic}\n\n                     {title}",
        entry="     {arabic}   {title}    {page}",
    ),
    Layout("italics", "_CHAPTER {roman}_\n\n_{title}_"),
    Layout("bold", "=CHAPTER {roman}=\n\n={title}="),
    Layout("roman alone", "{roman}"),
    Layout("roman with a stop", "{roman}.", gap=3),
    Layout("roman with a title", "{roman}. {title}", entry="{roman}. {title}"),
    Layout("roman with a title, no contents", "{roman}. {title}"),
    Layout(
        "roman with capitals",
        "{roman}. {TITLE}",
        entry="    CHAPTER {roman}.     {TITLE}",
        preface="before contents",
    ),
    Layout("roman over a title", "{roman}\n\n{title}", entry="{roman} {title}"),
    Layout("indented by one, as a reading device does", " {roman}\n\n\n {title}", entry=" {roman} {title}"),
    Layout("roman and title in two lines", "{roman}\n{TITLE}"),
    Layout("arabic alone", "{arabic}"),
    Layout("arabic over a title", "{arabic}\n\n\n{title}", entry="{arabic}. {title}  {page}"),
    Layout("arabic with capitals", "{arabic} {TITLE}", entry="{arabic} {TITLE}"),
    Layout("arabic with a dash", "{arabic}—{title}", entry="{arabic}—{title}"),
    Layout("arabic with a stop", "{arabic}. {title}", entry="{arabic}. {title} . . . . . . {page}"),
    Layout("word alone", "{WORD}", gap=4),
    Layout("title alone, listed", "{title}", entry="{title} ........ {page}"),
    Layout(
        "title alone in capitals, listed", "{TITLE}", entry="{title}    {page}", preface="before contents"
    ),
    Layout("title alone in capitals", "{TITLE}"),
    Layout("adventures", "ADVENTURE {roman}. {TITLE}", entry="{roman}. {title}"),
    Layout("staves", "STAVE {WORD}\n\n{title}"),
    Layout("nights", "NIGHT THE {ORDINAL}"),
    Layout(
        "books, numbers begin again",
        "{roman}. {title}",
        part="Book the {Ordinal}--the {title}",
        again=True,
        entry="Chapter {roman}     {title}",
    ),
    Layout(
        "books, numbers run on", "{roman}. {title}", part="BOOK {roman}\n\n{TITLE}", entry="{roman}. {title}"
    ),
    Layout(
        "parts, digits run on",
        "{arabic}\n\n{title}",
        part="PART {WORD}--{title}",
        entry="{arabic}. {title}   {page}",
    ),
    Layout("parts, digits begin again", "{arabic}\n\n{title}", part="PART {roman}", again=True),
    Layout("parts and romans run on, no titles", "{roman}", part="PART {Word}"),
    Layout("volumes", "CHAPTER {roman}.", part="VOLUME {roman}", again=True),
    Layout(
        "volumes, short",
        "CHAPTER {roman}.\n\n{TITLE}.",
        part="VOL. {roman}.",
        again=True,
        end="END OF VOL. III.",
    ),
    Layout("phases", "{roman}", part="Phase the {Ordinal}: {title}"),
    Layout(
        "part over book over chapter",
        "Chapter {roman}. {title}",
        part="PART {roman}\n\n\n\nBook {roman}. {title}",
        again=True,
        entry="      Chapter {roman}. {title}",
    ),
    Layout("the book's title again", "CHAPTER {WORD}\n{TITLE}", part="THE LONG ROAD PART {arabic}"),
    Layout("running title", "CHAPTER {roman}", running="THE LONG ROAD"),
    Layout("preface alone", "CHAPTER {roman}", preface="after contents"),
    Layout(
        "contents before a preface",
        "CHAPTER {roman}. {title}",
        entry="CHAPTER {roman}. {title}",
        preface="after contents",
    ),
    Layout(
        "contents after a preface",
        "CHAPTER {roman}. {title}",
        entry="{roman}. {title}    {page}",
        preface="before contents",
    ),
    Layout("page numbers in digits", "CHAPTER {roman}", pages=True),
    Layout(
        "page numbers beside digits", "CHAPTER {arabic}\n\n{title}", pages=True, entry="{arabic}  {title}"
    ),
    Layout("page numbers beside romans", "{roman}. {title}", pages=True, entry="{roman}. {title}"),
    Layout("Latin letters", "CHAPTER {roman}. {title}", encoding="latin-1"),
    Layout("Latin letters, bare numbers", "{roman}", encoding="latin-1", end="FINIS"),
    Layout("no header", "CHAPTER {roman}\n\n{title}", header=False),
    Layout("no header, contents", "{roman}. {title}", entry="{roman}. {title}", header=False),
    Layout("no end", "Chapter {arabic}", end=""),
    Layout("synopsis", "CHAPTER {roman}\n\n{title}--A Second Thing--Which Leads to a Third"),
    Layout("close", "CHAPTER {roman}", gap=1, below=1),
    Layout(
        "close, with titles", "CHAPTER {roman}. {title}", gap=1, below=1, entry="CHAPTER {roman}. {title}"
    ),
    Layout("wide", "Chapter {Word}", gap=6, below=4),
    Layout("letters of a keyword unknown", "Kapitel {arabic}", gap=4),
    Layout(
        "title with a full stop", "CHAPTER {roman}.\n\n{title}.", entry="CHAPTER {roman}.--{title}. {page}"
    ),
    Layout("digits before a bracket", "{arabic})\n\n{TITLE}"),
    Layout("digits in brackets, parts in dashes", "[ {arabic} ]", part="— {roman} —"),
    Layout("sections", "§ {arabic}", part="CHAPTER {roman}\n\n{TITLE}", again=True),
    Layout("hashes", "## Chapter {arabic}: {title}", gap=1, below=1),
    Layout("roman with a sentence", "{roman}. {sentence}", entry="{roman:>6}. {sentence}    {page}"),
    Layout("lower case behind a colon", "Chapter {arabic}: {lower}"),
    Layout("episodes", "{ORDINAL} EPISODE: {title}"),
    Layout("heading inside a picture", "[Illustration: _The lamp_\n\n\nCHAPTER {roman}.]"),
    Layout("names of pictures", "CHAPTER {roman}\n\np{arabic}.jpg (150K)\n\nFull Size\n\n002{arabic}m"),
    Layout("title in quotation marks", "CHAPTER {roman}\n\n“{TITLE}”"),
    Layout("synopsis below", "CHAPTER {roman}\n\n\n{title}--A second thing--The dog is lost--Supper at ten."),
    Layout("synopsis in brackets", "CHAPTER {roman}\n\n\n[The author is lost in a wood. He finds\n{lower}.]"),
    Layout(
        "motto with its play",
        "CHAPTER {roman}\n\n   Speak, or be still!\n                  Henry IV, Part II.",
    ),
    Layout(
        "motto in italics below a title",
        "{TITLE}\n\n     Who walks so late?\n     _Night Song_",
        entry="{title}",
    ),
    Layout("to be continued", "[_To be continued._]\n\n\n\nCHAPTER {roman}"),
    Layout(
        "second title", "{arabic}\n\nTold by John\n\n{title}", entry="{arabic}. TOLD BY JOHN: {TITLE}  {page}"
    ),
    Layout("letters apart", "C H A P T E R   {roman}\n\nT H E   M A I L"),
    Layout("letters apart in italics", "_C H A P.  {roman}._\n\n{TITLE}", entry="{roman}. {title}  {page}"),
    Layout(
        "synopsis farther from the text",
        "CHAPTER {arabic}\n\nThe description of the family of Harrow, in which a kindred likeness\nprevails as well of {lower} as of persons.",
    ),
    Layout(
        "synopsis of sentences",
        "CHAPTER {roman}. {title}\n\nThe author hears of {lower}. He travels. He is shipwrecked, and\nswims for his life.",
    ),
    Layout("in which", "Chapter {roman}.\n\nIn which {lower} is found, and what came of it.", below=1),
    Layout(
        "synopsis in italics",
        "CHAP. {roman}.\n\n_The history of {lower}, and of a long road; with the fate of those\nwho went along it in the rain, and of their dog._",
        below=1,
    ),
    Layout(
        "how",
        "CHAPTER {roman}\n\nHow {lower}; how the ferryman said no; and how the\nlamp went out.",
        below=1,
    ),
    Layout("title as in a sentence", "CHAPTER {roman}\n\n{title}, and what the dog did about it", below=1),
    Layout("title in brackets", "CHAPTER {roman}\n\n({title})", below=1),
    Layout("date below", "CHAPTER {roman}\n\nMay 3, 1888", below=1),
    Layout(
        "motto with its author, not indented",
        'CHAPTER {roman}\n\n"The road is long that leads away,\nAnd longer still the road."\n          --OLD SONG.',
        below=1,
    ),
    Layout("hashes and titles", "# {title}", gap=1, below=1),
    Layout("underlined", "{title}\n----------", gap=1, below=1),
    Layout("underlined with a number", "Chapter {arabic}\n=========", gap=1, below=1),
    Layout("short keyword", "Ch. {arabic}"),
    Layout("numbers of instalments", "No. {roman}."),
    Layout("book and chapter in one line", "Book One, Chapter {arabic}: {title}"),
    Layout("lower case", "chapter {arabic}\n\n{lower}"),
    Layout("question above the number", "{TITLE}\n\nCHAPTER {roman}"),
    Layout("quoted title in the next line", "Chapter {Word}\n“{title}”"),
    Layout("title of one word, a shout", "CHAPTER {roman}\n\n{title}!", below=1),
    Layout("lower-case numerals", "{lroman}."),
    Layout("two numbers", "2.{arabic}"),
    Layout("tags", "<b>CHAPTER {roman}</b>"),
    Layout("scanner's numerals", "CHAPTER {scanned}"),
    Layout("page in brackets over two lines", "[Page\n{arabic}]\n\n\n\nCHAPTER {roman}"),
    Layout("heads of pages", "12{arabic:0>2} THE LONG WAY\n\n\n\nCHAPTER {roman}"),
    Layout(
        "synopsis of sentences, close",
        "CHAPTER {roman}.\n\nThe author hears of a stranger. He travels. He is shipwrecked, and\nswims for his life.",
        below=1,
    ),
    Layout("essays", "Chapter {roman}.\n\nContaining {lower}, with an uncommon observation.", below=1),
    Layout("in brackets with a title", "[Chapter {arabic}: {title}]"),
    Layout("lower case with a title", "chapter {word}: {lower}"),
    Layout("two numbers and a title", "2.{arabic} {title}"),
    Layout("quoted shout below", "CHAPTER {roman}\n\n“{TITLE}!”", below=1),
    Layout("two columns of spaces", "{roman}.  {TITLE}", entry="CHAPTER {roman}.        {TITLE}"),
)


def _fields(number: int, title: str, page: int = 0) -> dict[str, str]:
    word, ordinal = UNITS[number], ORDINALS[number]
    return {
        "roman": ROMAN[number],
        "lroman": ROMAN[number].lower(),
        "scanned": f"{ROMAN[number][:-1]}l" if ROMAN[number][-2:] in ("VI", "II") else ROMAN[number],
        "arabic": str(number),
        "word": word,
        "Word": word.capitalize(),
        "WORD": word.upper(),
        "Ordinal": ordinal.capitalize(),
        "ORDINAL": ordinal.upper(),
        "title": title,
        "sentence": title.capitalize(),
        "lower": title.lower(),
        "TITLE": title.upper(),
        "page": str(page),
    }


def set_book(layout: Layout, chapters: Sequence[Sequence[str]], in_part: int = 5) -> str:
    """Return the text of a book whose chapters are lists of paragraphs; at most as many as there are titles."""
    contents, body, page = [], [], 3
    for place, paragraphs in enumerate(chapters):
        number = place % in_part + 1 if layout.again else place + 1
        fields = _fields(number, TITLES[place], page)
        if layout.part and place % in_part == 0:
            part = _fields(place // in_part + 1, TITLES[-place // in_part - 2]) | {
                "title": "Golden Thread",
                "TITLE": "GOLDEN THREAD",
            }
            heading = layout.part.format_map(part)
            body.append("\n" * layout.gap + heading + "\n" * layout.below)
            contents.append(f"\n  {' '.join(heading.split())}\n")
        if layout.running:
            body.append("\n" * layout.gap + layout.running + "\n")
        body.append("\n" * layout.gap + layout.heading.format_map(fields) + "\n" * layout.below)
        contents.append(layout.entry.format_map(fields))
        for paragraph in paragraphs:
            body.append("\n".join(wrap(paragraph, 72, break_on_hyphens=False)) + "\n")
            page += len(paragraph) > 300
            if layout.pages and len(paragraph) > 300:
                body.append(f"{page}\n")
    listed = "CONTENTS\n\n\n" + "\n".join(contents) if layout.entry else ""
    front = (
        [FRONT, listed, PREFACE]
        if layout.preface == "after contents"
        else [FRONT, PREFACE, listed]
        if layout.preface
        else [FRONT, listed]
    )
    text = (
        "\n\n\n\n".join(part for part in front if part) + "\n\n" + "\n".join(body) + f"\n\n\n{layout.end}\n"
    )
    if not layout.header:
        return text
    return (
        "The Project Gutenberg EBook of The Long Road, by A. N. Author\n\nTitle: The Long Road\n\n"
        f"*** START OF THIS PROJECT GUTENBERG EBOOK THE LONG ROAD ***\n\n\nProduced by Some Body\n\n\n\n{text}\n\n"
        "End of the Project Gutenberg EBook of The Long Road, by A. N. Author\n\n*** END OF THIS PROJECT GUTENBERG EBOOK THE LONG ROAD ***\n\nLicence.\n"
    )
