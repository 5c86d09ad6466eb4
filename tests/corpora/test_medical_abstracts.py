"""Reviews with abstracts: screening lists, MS^2 records, JSON Lines."""

import gzip
import json
from pathlib import Path

import pytest

from long_context_tasks.corpora.medical_abstracts import Study, read_reviews
from long_context_tasks.schema import InputError

HEAD = "record_id,pubmedID,title,abstract,label_included\n"


def test_all_forms_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "Topic_2006.csv.gz").write_bytes(
        gzip.compress(
            f'{HEAD}1,77.0,One,"A line,\nand another",1.0\n2,78,Two,,1\n3,79,Three,Text,0\n4,,Four,Text,0\n'.encode()
        )
    )
    row = {
        "review_id": "mine",
        "background": "Unknown.",
        "studies": [{"id": 5, "title": "T", "abstract": "A"}],
    }
    row["studies"] += [{"pmid": "6", "abstract": "B", "included": False}, {"id": 5, "abstract": "again"}]
    (tmp_path / "own.jsonl").write_text(json.dumps(row))
    references = [
        {"pmid": 9, "title": "<pop>Adults</pop>", "abstract": "Some <int> drug </int>"},
        {"pmid": 8},
    ]
    record = {
        "docid": "1",
        "pmid": 2,
        "included_studies": [{"references": references}],
        "structured_abstract": [["BACKGROUND", "Is it so?"], ["METHODS", "Trials."]],
    }
    (tmp_path / "ms2.json").write_text(json.dumps(record))
    (tmp_path / "other.json").write_text("{}")
    found = {review.id: review for review in read_reviews(tmp_path)}
    assert set(found) == {"Topic_2006", "mine", "2"}
    screened = found["Topic_2006"]
    assert screened.pubmed and screened.title == "Topic 2006" and screened.background == ""
    assert screened.studies == (
        Study("77", "One", "A line, and another", True),
        Study("79", "Three", "Text", False),
    )
    assert found["mine"].studies == (Study("5", "T", "A", True), Study("6", "", "B", False))
    assert found["mine"].included == {"5"}
    assert found["2"].background == "Is it so?" and found["2"].studies == (
        Study("9", "Adults", "Some drug", True),
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "record_id,title\n1,a\n", "no column abstract, label_included"),
        ("x.csv", HEAD + "1,7,a,b,maybe\n", r"x.csv, row 2: label_included .* 'maybe'"),
        ("x.csv", HEAD + "1,7,a,b,1\n2,PMC9,a,b,1\n", r"row 3: the id 'PMC9' must be digits"),
        ("x.jsonl", '{"id": 1}', r"line 1: \"studies\" must be a list"),
        ("x.jsonl", '{"id": 1, "studies": [{"title": "a"}]}', r"line 1, study 1: no id or pmid"),
        ("x.json", "{", "x.json: no JSON"),
        ("x.json", '{"included_studies": [{}]}', r"record 1: \"included_studies\" must be"),
        ("x.json", "{}", "no reviews in it; give"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_reviews(tmp_path))


def test_the_real_reviews(shared: Path) -> None:
    found = {review.id: review for review in read_reviews(shared / "data" / "medical_abstracts")}
    assert len(found) == 14
    assert (
        len(found["Cohen_2006_Estrogens"].studies) == 337
        and len(found["Cohen_2006_Estrogens"].included) == 77
    )
    assert not found["Nagtegaal_2019"].pubmed and len(found["Nagtegaal_2019"].included) == 100
    assert len(found["16801507"].studies) > 10 and "vitamin K" in found["16801507"].background
