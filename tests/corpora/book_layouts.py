"""Set the same story in many layouts of publishers and transcribers, so that the right result is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

import yaml

from long_context_tasks.synthetic.numbers import UNITS

_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth"
_ROMAN = "0 I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX"
ORDINALS, ROMAN = _ORDINALS.split(), _ROMAN.split()
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


LAYOUTS = [
    Layout(**fields)
    for fields in yaml.safe_load(Path(__file__).with_name("layouts.yaml").read_text(encoding="utf-8"))
]


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
