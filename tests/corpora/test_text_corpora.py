"""Debates, court opinions and reviews: every form of a source gives the same records, and bad rows are named."""

import gzip
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.corpora.debates import read_debates
from long_context_tasks.corpora.opinions import Opinion, read_opinions
from long_context_tasks.corpora.reviews import Study, read_reviews
from long_context_tasks.schema import InputError

GOLDEN = Path(__file__).parent / "golden"


def speeches(folder: Path, source: str | dict[str, Any]) -> tuple[str, ...]:
    """Return the speeches of a transcript, or of a row of JSON Lines."""
    path = folder / ("x.txt" if isinstance(source, str) else "x.jsonl")
    path.write_text(source if isinstance(source, str) else json.dumps(source))
    [debate] = read_debates(path)
    return debate.speeches


def pages(folder: Path, source: str | dict[str, Any]) -> tuple[str, ...]:
    """Return the pages of an opinion as plain text, or of a record of CourtListener."""
    if isinstance(source, str):
        (folder / "1.txt").write_text(source)
    [opinion] = list(read_opinions(folder)) if isinstance(source, str) else read_records(folder, source)
    return opinion.pages


def read_records(folder: Path, *rows: dict[str, Any], left_out: Counter[str] | None = None) -> list[Opinion]:
    """Write records of CourtListener, "/opinion/1/pell-v-roe/" and so on, and read them."""
    for number, row in enumerate(rows, 1):
        row = {"absolute_url": f"/opinion/{number}/pell-v-roe/", **row}
        (folder / f"{number}.json").write_text(json.dumps(row))
    return list(read_opinions(folder, left_out))


HEAD = "record_id,pubmedID,title,abstract,label_included\n"
DEBATE = '{"id": 1, "turns": [{"text": "a"}]}'
BAD_ROWS = {
    read_debates: [
        ("x.jsonl", f"{DEBATE}\n{{", r"x.jsonl, line 2: not JSON"),
        ("x.jsonl", "[]", r"line 1: a list instead of an object"),
        ("x.jsonl", '{"turns": []}', r"line 1: debate_id is missing; correct the row"),
        ("x.jsonl", '{"id": 1, "text": "a"}', r"line 1: turns is missing"),
        ("x.jsonl", DEBATE.replace("}]", '}, {"speaker": "b"}]'), r"line 1: turns, item 2, text is missing"),
        ("x.jsonl", '{"id": 1, "turns": []}', r"line 1: the debate has no words"),
        ("x.jsonl", f"{DEBATE}\n{DEBATE}", r"line 2: the id '1' is also that of .*line 1"),
        ("x.jsonl", "", "no debates in it; give"),
        ("x.xml", "<TEI><u>Order.</u></TEI>", r"not the XML of the Canadian House .*its root is <TEI>"),
        ("x.txt", "<p>Mr. Roe: No.</p><p>So?</p><p>Yes.</p>", "x.txt: is HTML"),
        ("x.txt", "\n\n".join(f"00:00:0{n},000 --> 00:00:0{n},900\nNo." for n in range(3)), "is captions"),
        ("x.txt", "Mr. ROE of Ohio. We lost a\nship.\n" * 3, "those of Mr. ROE of Ohio.*; put one between"),
        ("x.txt", "u1\tWe lost a\nship.\n" * 3, "without a blank line; put one between them"),
        ("x.txt", "Ana Fox\nWe lost a\nship.\n" * 3, "x.txt: speeches follow one another"),
        (
            "x.txt",
            "".join(f"{n:2}  MS FOX: We lost a ship.\n" for n in range(1, 9)),
            "its lines are numbered",
        ),
        (
            "x.txt",
            "Mr. ROE: No.\n\nMs. DOE: They <REPORT file=x> do.\n",
            r"line 3: has markup, <REPORT file=x>; re",
        ),
        (
            "x.jsonl",
            DEBATE.replace('"a"', '"<P> <REPORT x> a"'),
            r"line 1: turns, item 1, text.* has markup, <REPORT x>",
        ),
    ],
    read_opinions: [
        ("x.jsonl", '{"opinion_id": 1, "html": "x"}', "line 1: text is missing"),
        ("x.jsonl", '{"text": "x"}', "line 1: opinion_id is missing"),
        ("x.jsonl", '{"id": true, "text": "x"}', "line 1: id must be text or a number"),
        ("x.jsonl", '{"id": 1, "text": " \\f "}', "line 1: the opinion has no words"),
        ("x.jsonl", '{"id": 1, "text": "x", "opinions_cited": "9"}', "opinions_cited must be a list"),
        ("x.jsonl", '{"id": 1, "text": "x", "citation_strings": [[1]]}', "citation_strings, item 1"),
        ("x.jsonl", '{"id": 1, "text": "x"}\n{"id": "1", "text": "y"}', "line 2: the id '1' is also that of"),
        ("x.jsonl", "", "no opinions in it; give"),
        ("x.txt", "<p>We affirm.</p><p>So ordered.</p></div>", "x.txt: is HTML"),
    ],
    read_reviews: [
        ("x.csv", "record_id,title\n1,a\n", "no column abstract, label_included"),
        ("x.csv", HEAD + "1,7,a,b,maybe\n", r"x.csv, row 2: included \(label_included\) must be 1 or 0"),
        ("x.csv", HEAD + "1,7,a,b,1\n2,PMC9,a,b,1\n", "row 3: id must be digits"),
        ("x.jsonl", '{"id": 1}', "line 1: studies is missing"),
        ("x.jsonl", '{"id": 1, "studies": [{"title": "a"}]}', "line 1: studies, item 1, id is missing"),
        ("x.json", "{", "x.json: not JSON"),
        ("x.json", '{"pmid": 1, "included_studies": [{}]}', "record 1: included_studies, item 1, references"),
        ("x.json", "{}", "no reviews in it; give"),
    ],
}


@pytest.mark.parametrize(
    ("read", "name", "text", "message"), [(read, *row) for read, rows in BAD_ROWS.items() for row in rows]
)
def test_bad_rows_are_named(
    read: Callable[[Path], Iterator[Any]], name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        list(read(tmp_path / name))


def test_both_forms_of_debates_in_one_folder() -> None:
    first, second = read_debates(GOLDEN / "debates")
    assert (first.id, first.title) == ("d1", "A sitting")
    assert first.speeches == ("Ms. Collins: I move the bill.", "Order!")
    assert (second.id, second.speeches) == ("b", ("The Chair: Welcome. All.", "Mr. Kröger: Thanks."))


def test_both_forms_of_opinions_in_one_folder() -> None:
    first, second = read_opinions(GOLDEN / "opinions")
    assert (first.id, first.title) == ("7", "United States v. De La Cruz")
    assert first.pages == ("The court", "holds that")
    assert first.cites == ("9", "10") and first.citation_strings == {"9": ("17 F.3d 462",)}
    assert (second.id, second.pages, second.cites) == ("b", ("It is so ordered.",), ())


def test_all_forms_of_reviews_in_one_folder() -> None:
    found = {review.id: review for review in read_reviews(GOLDEN / "reviews")}
    assert set(found) == {"Topic_2006", "mine", "2"}
    screened = found["Topic_2006"]
    assert screened.pubmed and screened.title == "Topic 2006" and screened.background == ""
    studies = (Study("77", "One", "A line, and another", True), Study("79", "Three", "Text", False))
    assert screened.studies == studies
    assert found["mine"].studies == (Study("5", "T", "A", True), Study("6", "", "B", False))
    assert found["mine"].included == {"5"}
    assert found["2"].background == "Is it so?"
    assert found["2"].studies == (Study("9", "Adults", "Some drug", True),)


FEW_NUMBERS = " ".join(f"{'It was said before. ' * 60}Then {number} members left." for number in range(2, 9))
_ROE_AND_FOX = "  Mr. ROE. We lost\nships.\n  It is late.\n  Mrs. FOX. No.\n" * 3
DEBATES: dict[str, tuple[Any, ...]] = {
    "marks of columns, which may cut a sentence": (
        "Mr. Pell: I beg to ask the hon.\n\nColumn 701\n\ngentleman why.\n\n[Page S 12]\n\nMiss Harrow: No.\n"
        "Col. 702W\nI said no. Page 4 of the report is blank.\n\nPage 5\n\n"
        "Mr. Pell: Will the hon. Lady come with me, if it does not rain, to\n\nColumn 703\n\nHaltwhistle and look?\n\n"
        "Rivers\nQuestion\n\nColumn 704\n\nAsked by Miss Harrow\n\n16 Dec 1985 : Column 705W\n\nMr. Pell: No.\n\n"
        "[[Page H6117]]\n\n     {time}  1430\n\nMiss Harrow: Yes.\n",
        "Mr. Pell: I beg to ask the hon. gentleman why.",
        "Miss Harrow: No. I said no. Page 4 of the report is blank.",
        "Mr. Pell: Will the hon. Lady come with me, if it does not rain, to Haltwhistle and look?",
        "Rivers Question",
        "Asked by Miss Harrow",
        "Mr. Pell: No.",
        "Miss Harrow: Yes.",
    ),
    "a colon in a wrapped sentence": (
        "Mr. Roe: I thank the House for its time, and say to the members for\nLeeds: it is late.\n\nAna Fox: No,\nnever.",
        "Mr. Roe: I thank the House for its time, and say to the members for Leeds: it is late.",
        "Ana Fox: No, never.",
    ),
    "names without a title that open three speeches": (
        "Zdzisław Kos (Łódź)\nWe lost ships.\n\nANA FOX\nNo.\nNever.\n\nOrders of the Day\n\nIt was so\nand is.\n\n"
        * 3,
        *(
            "Zdzisław Kos (Łódź): We lost ships.",
            "ANA FOX: No. Never.",
            "Orders of the Day",
            "It was so and is.",
        )
        * 3,
    ),
    "seats below names, as on Hansard's pages": (
        "Ana Fox\n(Leeds and Otley) (Lab/Co-op)\n1. What has he lost? (904120)\n\nThe Secretary of State (Ben Roe)\nTwo ships."
        "\n\nAna Fox\nSeb Dance lost none.\n\nSir Carl Pell\n(Holland) (Con)\nNo.\n\nHarbours and\nRivers",
        "Ana Fox (Leeds and Otley) (Lab/Co-op): 1. What has he lost? (904120)",
        "The Secretary of State (Ben Roe): Two ships.",
        "Ana Fox: Seb Dance lost none.",
        "Sir Carl Pell (Holland) (Con): No.",
        "Harbours and Rivers",
    ),
    "the Congressional Record, with blank lines around headings only": (
        f"[House]\n[Page H7]\n\n\n      RIVERS\n        ACT\n\n{_ROE_AND_FOX}\n[[Page H8]]\n\n{_ROE_AND_FOX}\n          ______\n",
        "[House]",
        "RIVERS ACT",
        *("Mr. ROE. We lost ships.", "It is late.", "Mrs. FOX. No.") * 6,
    ),
    "headings that look like speakers": (
        "The Coal Industry\n\nWe lost ships.\n\nThe Fishing Bill\n\nSo we did.",
        *("The Coal Industry", "We lost ships.", "The Fishing Bill", "So we did."),
    ),
    "speakers in tags": (
        """<CHAPTER ID="1">
The boats
<SPEAKER ID="1" NAME="Ana Roe" AFFILIATION="P1">
Madam President, the boats leak.
<P>
They must be mended.

<P>
Who pays?
<SPEAKER ID=2 NAME='Bo Doe'>
We do &amp; gladly.
"""
        * 3,
        *(
            "The boats",
            "Ana Roe: Madam President, the boats leak. They must be mended. Who pays?",
            "Bo Doe: We do & gladly.",
        )
        * 3,
    ),
    "tags of layout": (
        "<html><body><pre>\n\n  Mr. ROE. The boats <b>leak</b>.\n\n  Ms. DOE. They do.\n</pre></body></html>\n",
        *("Mr. ROE. The boats leak.", "Ms. DOE. They do."),
    ),
    "turns with cut words, quotation marks and fractions of TeX, and halves of surrogate pairs": (
        {
            "id": 1,
            "turns": [
                {"speaker": "", "text": "Order!"},
                {
                    "speaker": "Mr. Roe: ",
                    "text": "The state- sponsored camps are an inter- national matter, though short- and long-term aid is international.",
                },
                {"text": "He said ``never'' for 3\\1/2\\ years."},
                {"text": "a \ud83d b \ud83d\ude00"},
            ],
        },
        "Order!",
        "Mr. Roe: The state-sponsored camps are an international matter, though short- and long-term aid is international.",
        "He said “never” for 3 1/2 years.",
        "a ? b \U0001f600",
    ),
    "a few numbers in order, which are not those of columns": (
        {"id": 1, "turns": [{"text": FEW_NUMBERS}]},
        FEW_NUMBERS,
    ),
} | {
    f"names in {place} of their own": (
        f"The SPEAKER{gap}Order.\n\nMr. ROE (Leeds):{gap}We lost\nships.\n\n"
        f"The Secretary of State for Energy{gap}The board knows.\n\nIt is late.",
        "The SPEAKER: Order.",
        "Mr. ROE (Leeds): We lost ships.",
        "The Secretary of State for Energy: The board knows.",
        "It is late.",
    )
    for place, gap in (("lines", "\n"), ("paragraphs", "\n\n"))
}


RULES_AND_MARKS = """<center>*902 Pell v. Roe</center>
<p>The rule of law is gov<a class="page-label">*903</a>erned by the board, *904 as it is.<sup>[1]</sup> He had <sup>2</sup>nine x 10<sup>6</sup> tons.</p>
<p>____________________</p><p>llllllllllll</p><p>* * *</p>
<p>He wrote that "the * * * rule is [1] old; [t]he *905 rule[2] holds,"[3] as in Kent Co., ___ F.3d ___, 2006 WL 2808145, at *3, *4 (D. Me. 2006).</p>
<p>Moore, § 28.02[2] it is, of May 4, and *906 so.</p><h2>NOTES</h2><p>[1]  Gabel was there.</p><p>[2]  See Roe.</p>"""
OPINIONS: dict[str, tuple[Any, ...]] = {
    "pages that end inside a sentence or a citation, with notes below it": (
        "No. 9-12\n\nWe affirm.1 See Roe v. Doe, 634\n\n     1\n      It is not clear why he left.\n\n   -2-\n"
        "\fF. Supp. 2d 164 (D. Mass. 2009). The well-\nknown rule holds.\f-4-\nSo ordered.",
        "No. 9-12 We affirm.1 It is not clear why he left.",
        "See Roe v. Doe, 634 F. Supp. 2d 164 (D. Mass. 2009). The well-known rule holds.",
        "So ordered.",
    ),
    "running heads": (
        "\f".join(
            f"Case: 12-1234  Document: 00116  Page: {number}  Date Filed: 03/04/2012\n\nPage {number} holds so{'.' * (number % 2)}\n\n{number}"
            for number in range(1, 7)
        ),
        *(f"Page {number} holds so{'.' * (number % 2)}" for number in range(1, 7)),
    ),
    "entities in plain text": (
        "Pell &amp; Sons v. Harrow\f-2-\nAffirmed.",
        "Pell & Sons v. Harrow",
        "Affirmed.",
    ),
    "rules in plain text": (
        'Pell v. Roe\n   ______________\n12   ---------------x\nHe said "no\n  * * *\nmore."\n\n    * * *\n\nSo ordered.\n',
        'Pell v. Roe He said "no * * * more." So ordered.',
    ),
} | {
    f"marks of pages and of notes, and rules, in {field}": (
        {field: RULES_AND_MARKS},
        "Pell v. Roe The rule of law is governed by the board, as it is. He had nine x 106 tons. "
        'He wrote that "the * * * rule is [1] old; [t]he rule holds," as in Kent Co., ___ F.3d ___, 2006 WL 2808145, '
        "at *3, *4 (D. Me. 2006). Moore, § 28.02[2] it is, of May 4, and so. NOTES Gabel was there. See Roe.",
    )
    for field in ("html", "html_lawbox", "html_columbia", "xml_harvard", "html_with_citations")
}


@pytest.mark.parametrize("name", DEBATES)
def test_speeches(tmp_path: Path, name: str) -> None:
    source, *said = DEBATES[name]
    assert list(speeches(tmp_path, source)) == said


@pytest.mark.parametrize("name", OPINIONS)
def test_pages(tmp_path: Path, name: str) -> None:
    source, *found = OPINIONS[name]
    assert list(pages(tmp_path, source)) == found


def _sitting(columns: bool) -> dict[str, Any]:
    """Forty speeches of a column each; 7 ships and 300 men are counted in them."""
    said = "We lost ships that year, and the Minister knows it as well as I do. " * 12
    rows = [
        {
            "speaker": "Mr. Roe",
            "text": f"{said}It is for the board{f' {number}' if columns else ''} to say. Some 300 men left.",
        }
        for number in range(2, 42)
    ]
    rows[20]["text"] += " They had 7 ships."
    return {"id": "sitting", "turns": rows}


def test_numbers_of_columns_in_sentences_are_removed_and_others_stay(tmp_path: Path) -> None:
    """As in the bound volumes of Hansard, whose marks some files keep as bare numbers."""
    with_them, without = (speeches(tmp_path, _sitting(columns)) for columns in (True, False))
    assert with_them == without
    assert without[20].endswith("It is for the board to say. Some 300 men left. They had 7 ships.")


def test_a_number_that_may_be_counted_or_a_column_stays(tmp_path: Path) -> None:
    sitting = _sitting(True)
    sitting["turns"][5]["text"] += " They had 7 ships."
    _, _, _, _, before, said, after, *_ = speeches(tmp_path, sitting)
    assert "the board 7 to say" in said and said.endswith("had 7 ships.")
    assert "the board to say" in before and "the board to say" in after


SAID = (
    (
        "Mr. Roe",
        "We lost two ships in the winter of that year, and the ministry has not said why it was so, or when.",
    ),
    ("Ana Fox", "No. I was there; the point is this: we lost one ship, the Ann."),
    (
        "The Speaker",
        "Order! The House will hear the hon. Member, and it will hear her in silence, as is our custom.",
    ),
    ("Mr. Roe", "No—"),
    ("Ana Fox", "He has no answer to what I asked him in March, when he was away with"),
    ("Mr. Roe", "I was here."),
)


@pytest.mark.parametrize("width", [None, 72, 40])
@pytest.mark.parametrize(
    "gaps", ["\n\n\n\n\n", "bbbbb", "\n\nbbb", "bb\n\nb"], ids=["none", "all", "late", "early"]
)
def test_turns_are_parted_with_and_without_blank_lines(tmp_path: Path, width: int | None, gaps: str) -> None:
    turns = [f"{who}: {said}" for who, said in SAID]
    shown = [textwrap.fill(turn, width) if width else turn for turn in turns]
    ends = ["\n\n" if gap == "b" else "\n" for gap in gaps] + [""]
    text = "".join(turn + end for turn, end in zip(shown, ends, strict=True))
    assert speeches(tmp_path, text) == tuple(turns)


@pytest.mark.parametrize("form", ["{1}", "[10:30] {0}: {1}", "Q. {1}"], ids=["plain", "times", "letters"])
def test_lines_that_are_not_wrapped_are_paragraphs(tmp_path: Path, form: str) -> None:
    lines = [form.format(*turn) for turn in (*SAID[:4], *SAID[:3])]
    assert speeches(tmp_path, "\n".join(lines)) == tuple(lines)


_THINGS = ["boat", "barn", "shop", "bridge", "garden", "school", "mill", "ferry", "inn", "ford", "tower"]


def _slip(number: int, section: str, thing: str) -> str:
    """A page of a slip opinion: the case's name stands on left pages, how to cite it on right ones; a sentence runs over the edge."""
    head = f"           Cite as: 999 U. S. ____ (2030)           {number}"
    if number % 2 == 0:
        head = f"{number}       ROE v. DOE COUNTY"
    return f"{head}\n\n                {section}\n\n{_body(thing)}"


def _body(thing: str) -> str:
    return f"of the {thing} holds. We read it so\nfor the {thing} too, and see no reason to depart.\nIt follows for the {thing} that the rule"


@pytest.mark.parametrize("first", [1, 2, 7])
def test_running_heads_that_alternate_are_removed(tmp_path: Path, first: int) -> None:
    """A dissent of one page has a head of its own; the syllabus has other numbers than the opinion."""
    sections = [
        *["Syllabus"] * 2,
        *["Opinion of the Court"] * 5,
        "ROE, J., concurring",
        *["DOE, J., dissenting"] * 3,
    ]
    numbers = [first, first + 1, *range(1, 10)]
    found = pages(tmp_path, "\f".join(map(_slip, numbers, sections, _THINGS)))
    assert len(found) == 11
    assert " ".join(found) == " ".join(" ".join(_body(thing).split()) for thing in _THINGS)


def test_repeated_lines_far_apart_are_not_running_heads(tmp_path: Path) -> None:
    text = [f"The motion of day {number}00 is long.\n\nIt is\ndenied." for number in range(12)]
    for place in (0, 5, 10):
        text[place] = f"IT IS SO ORDERED\n\n{text[place]}"
    assert " ".join(pages(tmp_path, "\f".join(text))).count("IT IS SO ORDERED") == 3


def test_an_opinion_that_has_only_marked_text(tmp_path: Path) -> None:
    """Most older opinions of CourtListener have HTML or XML and no plain text."""
    marked = '<div>PELL, <i>Judge</i>.<p>We &amp; they<span class="star-pagination">*3</span> agree.</p>Affirmed.<sup>[1]</sup><br>So ordered.<footnote label="2"><p>. Not all.</p></footnote></div>'
    rows = [
        {
            "absolute_url": f"/opinion/{number}/pell-v-harrow-mills-llc/",
            "plain_text": "",
            "html": None,
            name: marked,
        }
        for number, name in enumerate(("html_with_citations", "xml_harvard"), 1)
    ]
    assert [(opinion.title, *opinion.pages) for opinion in read_records(tmp_path, *rows)] == [
        ("Pell v. Harrow Mills LLC", "PELL, Judge. We & they agree. Affirmed. So ordered. Not all.")
    ] * 2


def test_citations_of_a_record_have_the_numbers_of_their_links(tmp_path: Path) -> None:
    """Those of opinions that it does not list are of other things."""
    spans = [
        f'<span class="citation" data-id="{number}"><a href="/opinion/{number}/x/"><span class="volume">{text}</span></a></span>'
        for number, text in (
            (7, "17</span> <span>F.3d</span> <span>462"),
            (7, "17 F.3d at 465"),
            (7, "Id."),
            (8, "5 U.S. 1"),
        )
    ]
    row = {"html_with_citations": " ".join(spans), "opinions_cited": ["/api/7/"]}
    [opinion] = read_records(tmp_path, row)
    assert opinion.citation_strings == {"7": ("17 F.3d 462", "17 F.3d at 465")}


@pytest.mark.parametrize("marked", ["<!-- scanned -->", "<?xml version='1.0'?>", " "])
def test_an_opinion_of_nothing_but_markup_is_skipped(tmp_path: Path, marked: str) -> None:
    left_out: Counter[str] = Counter()
    found = read_records(tmp_path, {"plain_text": "x"}, {"html": marked}, left_out=left_out)
    assert [opinion.id for opinion in found] == ["1"]
    assert left_out == {"records of CourtListener without a text": 1}


def test_opinions_of_one_case_have_their_own_numbers(tmp_path: Path) -> None:
    """What cites an opinion names it by that number; the case's address has another."""
    interface = "https://www.courtlistener.com/api/rest/v4/opinions"
    rows = [
        {
            "absolute_url": "/opinion/7/pell-v-harrow/",
            "resource_uri": f"{interface}/{number}/",
            "html_anon_2020": "<p>We affirm.</p>",
            "opinions_cited": [f"{interface}/21/"],
        }
        for number in (21, 22)
    ]
    found = [(opinion.id, opinion.cites) for opinion in read_records(tmp_path, *rows)]
    assert found == [("21", ("21",)), ("22", ("21",))]


@pytest.mark.parametrize("address", ["", "x", "/opinion/", "/opinion//a-v-b/", "\ud800"])
def test_an_opinion_without_number_and_title_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match=r"1\.json: absolute_url must end in a number and a title"):
        read_records(tmp_path, {"absolute_url": address, "plain_text": "x"})


ABSTRACTS: dict[str, tuple[str, list[str], dict[str, int]]] = {
    "semicolons that a table quoted": (
        """\
1,1,a,"Tests fell (P < 0.1"";"" n = 7).",1
2,2,a,"In labour""; 25 had care; 24 had none;"" odds rose.",0
3,3,a,"The ratio was 0.5;"" P = 0.02.",0
4,4,a,"A ""snowstorm""; then ""rain"".",0""",
        [
            "Tests fell (P < 0.1; n = 7).",
            "In labour; 25 had care; 24 had none; odds rose.",
            "The ratio was 0.5; P = 0.02.",
            'A "snowstorm"; then "rain".',
        ],
        {},
    ),
    "tags, and studies that cannot be shown": (
        """\
1,1,a,"<b>Aim</b>: CO<sub>2</sub> at D<inf>2</inf> &lt; 5, p < 0.1 and n > 7.<br/>",1
2,2,a,,1
3,3,a,[No abstract available],0
1,1,a,Again.,1
,,a,Lost.,1""",
        ["Aim: CO2 at D2 < 5, p < 0.1 and n > 7."],
        {
            "studies without an abstract": 2,
            "studies listed twice in a review": 1,
            "studies without an id": 1,
        },
    ),
}


@pytest.mark.parametrize("name", ABSTRACTS)
def test_abstracts(tmp_path: Path, name: str) -> None:
    rows, abstracts, not_shown = ABSTRACTS[name]
    (tmp_path / "x.csv").write_text(HEAD + rows)
    left_out: Counter[str] = Counter()
    [review] = read_reviews(tmp_path, left_out)
    assert [study.abstract for study in review.studies] == abstracts
    assert left_out == not_shown


def test_other_names_of_the_columns_of_screening_lists(tmp_path: Path) -> None:
    (tmp_path / "rain.csv").write_text(
        "pmid,title,abstract,included\n7,Rain,It rained.,1\n8,Snow,It snowed.,\n"
    )
    [review] = read_reviews(tmp_path)
    assert (review.pubmed, [(study.id, study.included) for study in review.studies]) == (
        True,
        [("7", True), ("8", False)],
    )


def test_a_damaged_file_and_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    with pytest.raises(InputError, match="cut off or damaged"):
        list(read_debates(tmp_path))
    with pytest.raises(InputError, match="no such file or folder"):
        list(read_debates(tmp_path / "nothing"))


@pytest.mark.slow
def test_the_real_debates(shared: Path) -> None:
    debates = list(read_debates(shared / "data" / "debates"))
    assert len(debates) == 19 and sum(len(debate.speeches) for debate in debates) > 4000


@pytest.mark.slow
def test_the_real_opinions(real_opinions: list[Opinion]) -> None:
    assert len(real_opinions) == 966
    assert all(opinion.title and opinion.pages for opinion in real_opinions)


def test_the_real_reviews(shared: Path) -> None:
    found = {review.id: review for review in read_reviews(shared / "data" / "medical_abstracts")}
    assert len(found) == 14
    assert (
        len(found["Cohen_2006_Estrogens"].studies) == 337
        and len(found["Cohen_2006_Estrogens"].included) == 77
    )
    assert not found["Nagtegaal_2019"].pubmed and len(found["Nagtegaal_2019"].included) == 100
    assert len(found["16801507"].studies) > 10 and "vitamin K" in found["16801507"].background
