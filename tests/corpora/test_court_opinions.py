"""Court opinions from CourtListener rows and from plain texts."""

import json
from pathlib import Path

import pytest

from long_context_tasks.corpora.court_opinions import read_opinions
from long_context_tasks.schema import InputError


def test_both_forms_in_one_folder(tmp_path: Path) -> None:
    row = {
        "opinion_id": 7,
        "case_slug": "united-states-v-de-la-cruz",
        "text": "  The   court\n\n      -2-\n\fholds that\n\n\n   3\n\f \n",
        "opinions_cited": [9, 7, 9, "10"],
        "citation_strings": [[9, "17 F.3d\n462"], [9, "17 F.3d 462"]],
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    (tmp_path / "b.txt").write_text("It is so ordered.")
    (tmp_path / "raw.jsonl").write_text('{"id": 5, "html": "x"}')
    first, second = read_opinions(tmp_path)
    assert (first.id, first.title) == ("7", "United States v. De La Cruz")
    assert first.pages == ("The court", "holds that")
    assert first.cites == ("9", "10") and first.citation_strings == {"9": ("17 F.3d 462",)}
    assert (second.id, second.pages, second.cites) == ("b", ("It is so ordered.",), ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"opinion_id": 1, "html": "x"}', 'line 1: no "text"'),
        ('{"text": "x"}', "line 1: no opinion_id or id"),
        ('{"id": 1, "text": " \\f "}', "line 1: the opinion has no words"),
        ('{"id": 1, "text": "x", "opinions_cited": "9"}', '"opinions_cited" must be a list'),
        ('{"id": 1, "text": "x", "citation_strings": [[1]]}', '"citation_strings" must be a list'),
        ('{"id": 1, "text": "x"}\n{"id": "1", "text": "y"}', "line 2: the id '1' is also that of"),
        ("", "no opinions in it; give"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_opinions(tmp_path / "x.jsonl"))


def test_the_real_opinions(shared: Path) -> None:
    opinions = list(read_opinions(shared / "data" / "court_opinions"))
    assert len(opinions) == 966 and all(opinion.title and opinion.pages for opinion in opinions)
