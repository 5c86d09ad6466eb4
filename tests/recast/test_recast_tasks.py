"""Recast tasks on tiny carriers: they fit their length, gold is what stands there, and a seed gives other names."""

import re
from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_carriers import PEOPLE, PLACES, write_carriers

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import ANY
from long_context_tasks.benchmarks.ethic.synthetic.organize import _sentences, organize
from long_context_tasks.benchmarks.ethic.synthetic.recast import _inserted, _other, _plain_citations
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.recast.carriers import Passage, passages_of
from long_context_tasks.recast.clear.citations import citations_are_clear
from long_context_tasks.recast.clear.counts import counts_are_clear
from long_context_tasks.recast.clear.names import _first_names, _names_are_clear, _unsure
from long_context_tasks.recast.mention import Mention
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.synthetic.vocabulary import Vocabulary

TASKS = [
    spec.name
    for spec in catalogue.task_specs()
    if spec.source == "recast" and spec.length in ("", ANY) and spec.benchmark in ("ada_leval", "ethic")
]


@pytest.fixture(scope="module")
def carriers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_carriers(tmp_path_factory.mktemp("carriers"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "recast_cache"))


def _load(task: str, carriers: Path, seed: int = 0, length: int = 2000, n: int = 4) -> LoadedTask:
    return load_task(
        task,
        {"lct_carriers": str(carriers), "lct_length": str(length), "lct_n": str(n), "lct_seed": str(seed)},
    )


def _prompts(task: LoadedTask) -> list[str]:
    return [task.messages(case)[-1].content for case in task.cases.cases] if not task.by_likelihood else []


def _context(prompt: str) -> str:
    return prompt.partition("### Context:\n")[2].partition("\n\nNow, respond")[0]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_task_fits_its_length_and_shows_no_name_of_the_carrier(task: str, carriers: Path) -> None:
    loaded = _load(task, carriers)
    assert len(loaded.cases) == 4 and loaded.description()["lct_carriers"] == str(carriers)
    assert all(1960 <= case.num_tokens["cl100k"] <= 2000 for case in loaded.cases.cases)
    names = {word for name in (*PEOPLE, *PLACES) for word in name.split()}
    for prompt in _prompts(loaded):
        assert not names & set(re.findall(r"\w+", prompt))
    assert _prompts(_load(task, carriers)) == _prompts(loaded)
    other = _load(task, carriers, seed=1)
    assert loaded.by_likelihood or not set(_prompts(other)) & set(_prompts(loaded))


@pytest.mark.parametrize("domain", ["books", "debates"])
def test_options_are_sentences_that_no_longer_stand_in_the_context(domain: str, carriers: Path) -> None:
    loaded = _load(f"ethic_organize_{domain}_recast", carriers)
    for case, prompt in zip(loaded.cases.cases, _prompts(loaded), strict=True):
        options = re.findall(r"^\[\d+\] (.*)$", prompt, re.MULTILINE)
        assert len(options) == len(set(options)) == len(case.turns[0].gold) >= 3
        assert not any(option in _context(prompt) for option in options)
        assert "sentences that were taken out" in prompt and "summarize" not in prompt


def test_no_option_begins_behind_a_title_or_with_who_speaks() -> None:
    said = "Hon. Anne Bell asked for the report of the whole committee. “Where is it, then?” Mr. Cole said to the house in a loud voice. So the debate went on until late at night."
    assert _sentences(said) == [
        "Hon. Anne Bell asked for the report of the whole committee.",
        "So the debate went on until late at night.",
    ]


def test_a_document_behind_one_that_has_too_few_sentences_has_fewer_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(organize.__globals__, "_in_parts", lambda maker, document, number, room: number)

    def parts(length: int, attempt: int) -> Any:
        tuned = lambda room, make: make(room)  # noqa: E731
        return organize(SimpleNamespace(length=length, attempt=attempt, document=list, tuned=tuned))  # type: ignore[arg-type]

    assert [parts(128_000, attempt) for attempt in (0, 1, 4, 40)] == [200, 160, 100, 18]
    assert parts(2000, 0) == parts(2000, 40) == 6


@pytest.mark.parametrize("domain", ["books", "debates", "medicine", "law"])
def test_labels_are_what_was_put_in_and_as_many_others_stand_there(domain: str, carriers: Path) -> None:
    loaded = _load(f"ethic_recall_{domain}_recast", carriers, n=6)
    others = asked = 0
    for case, prompt in zip(loaded.cases.cases, _prompts(loaded), strict=True):
        text, gold = _context(prompt), set(map(str, case.turns[0].gold))
        if domain in ("medicine", "law"):
            there = {
                each.replace(",", "") for each in re.findall(r"(?<![\w.,])\d[\d,]*(?![\w]|[.,]\d)", text)
            }
        else:
            there = (
                set(re.findall(r"\b[A-Z][a-z]+\b", text))
                - set(re.findall(r"(?:^|[.”\"] )([A-Z][a-z]+)", text))
                - {"Mr", "Mrs"}
            )
            assert gold <= set(re.findall(r"\w+", text))
        asked += len(gold)
        others += len(there - gold)
        if domain == "medicine":
            counts = re.findall(r"enrolled (\d+) patients|given to (\d+) women", text)
            assert {one or two for one, two in counts} <= gold
        if domain == "law":
            assert {part for pair in re.findall(r"(\d+) F\. (\d+)", text) for part in pair} <= gold
            assert not re.search(r"F\.3d|1st Cir", text)
        if domain == "books":
            assert set(re.findall(r"\b(?:Mr|Mrs)\. ([A-Z][a-z]+)", text)) <= gold
            assert not set(re.findall(r"(?:came from|coach|Street|Bank) ([A-Z][a-z]+)", text)) & gold
    assert others >= 0.6 * asked


def test_without_carriers_the_remedies_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lct data fetch carriers"):
        load_task("ethic_organize_books_recast", Options(data_dir=tmp_path, length=2000))


def test_notes_beside_dumps_are_no_dumps(tmp_path: Path) -> None:
    own = write_carriers(tmp_path / "carriers")
    task = "ada_leval_bestanswer_any_recast"
    prompts = _prompts(_load(task, own))
    (own / "forums" / "README.md").write_text("Where these dumps are from.")
    assert _prompts(_load(task, own)) == prompts


def test_a_length_that_the_carriers_do_not_have_is_said(carriers: Path) -> None:
    with pytest.raises(InputError, match="add files, or use a shorter length"):
        _load("ethic_organize_books_recast", carriers, length=400_000, n=1)


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("He works at Tim Hortons in the evening.", False),
        ("Hon. Bill Chisel said so.", False),
        ("I thank Ms. Anna Young for it.", False),
        ("As Mr. MEKN told us, it is so.", False),
        ("I thank him (St. Chisel's East) for it.", False),
        ("It was King Chisel kaBole who asked.", False),
        ("I thank Mr. Speaker and Ms. Anna Chisel for it.", True),
        ("Anna asked May to come.", False),
        ("Anna lives in Chisel.", False),
        ("The Chisel family came; so did Anna.", False),
        ("They went to Queen's Chisel with Anna.", False),
        ("It is from Chisel and Land, said Anna.", False),
        ("Anna sold it to Tim and Chisel.", False),
        ("Mr. Chisel (Anna) rose.", False),
        ("I saw Chisel-on-Sea, said Anna.", False),
        ("I thank Wayne Chisel, Anna Easter and him.", False),
        ("Anna laughed. Curtis was late.", False),
        ("The Member for Chisel thanks Anna.", False),
        ("Anna saw the Queen Chisel sail.", False),
        ("Mrs. van der Chisel saw Anna.", False),
        ("Wood and Chisel came with Anna.", False),
        ("You, Leader, know Anna.", False),
        ("He had the fears of Lot's wife, said Anna.", False),
        ("Queen's Chisel is far, said Anna.", False),
        ("He said it, Steel, to Anna.", False),
        ("May guessed what Anna knew.", False),
        ("May I thank Ms. Anna Chisel for it?", True),
    ],
)
def test_a_passage_with_half_a_name_is_not_clear(text: str, clear: bool) -> None:
    kinds = {
        "Tim": "place",
        "Hortons": "surname",
        "Chisel": "surname",
        "Land": "surname",
        "Anna": "woman",
        "MEKN": "acronym",
    }
    found = ((text.find(name), name, kind) for name, kind in kinds.items())
    mentions = tuple(Mention(at, at + len(name), kind, name) for at, name, kind in sorted(found) if at >= 0)
    assert _names_are_clear(Passage(text, mentions), Counter(), Counter()) is clear


def test_a_first_name_that_is_a_common_word_is_found_by_the_name_behind_it() -> None:
    text = "Then said Will Chisel that Mr. Chisel will come."
    mentions = (Mention(15, 21, "surname", "chisel"), Mention(31, 37, "surname", "chisel"))
    assert list(_first_names([Passage(text, mentions)])) == ["Will"]


def test_names_that_the_text_shows_too_little_of_are_unsure() -> None:
    text = (
        "He told Foma; Foma heard. In Kent the Sergeant, said Roe, met Poe; the Sergeant was in Kent. Miss Zoe Cox and Mr. Cox were at Kent, "
        "Cox said to dear Alma. From Kent Mr. Cox wrote to Alma in Alma's way. In Alma was nobody."
    )
    kinds = {
        "Foma": "place",
        "Kent": "place",
        "Alma": "place",
        "Sergeant": "man",
        "Roe": "surname",
        "Poe": "surname",
        "Cox": "surname",
    }
    mentions = [
        Mention(match.start(), match.end(), kinds[match[0]], match[0])
        for match in re.finditer("|".join(kinds), text)
    ]
    assert _unsure([Passage(text, tuple(mentions))], story=False) == {"Foma", "Sergeant", "Poe", "Alma"}
    assert _unsure([Passage(text, tuple(mentions))], story=True) == {*kinds} - {"Kent", "Cox"}


@pytest.mark.parametrize(
    ("page", "plain"),
    [
        ("465 U.S. 1100, 104 S. Ct. 1593 (1984).", "465 U.S. 1100, 104 S. Ct. 1593."),
        ("466 U.S. 668, 687, 104 S. Ct. 2052.", "466 U.S. 668, 104 S. Ct. 2052."),
        ("See id. at 176 (listing). Id. at 174.", "See id. (listing). Id."),
        ("170 F.3d 555, 567(doing); Id at 364.", "170 F. 555(doing); Id"),
        ("9 F. App'x 294, 297 (unpublished)", "9 F. App'x 294 (unpublished)"),
        ("751 F.2d 150, 152: The 772 F.2d 497-98. We", "751 F. 150: The 772 F. 497. We"),
        ("870 F.3d 1519, 1520 (11th Cir. 1974); 205 F.2d 1247 (2d Cir.)", "870 F. 1519; 205 F. 1247"),
    ],
)
def test_citations_lose_what_may_count_or_not(page: str, plain: str) -> None:
    assert _plain_citations(page) == plain


@pytest.mark.parametrize(
    "text",
    [
        "Torts §§ 861, 766A apply.",
        "The Act of 1889 governs.",
        "It was as required by 1983 alone.",
        "Nothing in 2520 supports it.",
        "Federal Rule of Bankruptcy Procedure 9011 asks it.",
        "See 8 C.F.R. § 1208.13 for it.",
        "It violates 18 U.S.C. 1962 and 1963 alike.",
        "Roe v. 61 MM, Ltd. is law.",
        "They were charged under 371 because they lied; see id. 994.",
        "Rule 12 or 56 motions lie, says Fed. R. Crim P. 35.",
        "See Roe v. Doe, 580 F.2d1199, 1201.",
        "See Doe, 580 F. at 120.",
        "See Roe v. Doe, 270 F. 305Appellants lost.",
        "See Roe v. Doe, 270 F. 305, 311 for it.",
        "So the rule3 says.",
        "So says 45 Fed. Reg. 33,412.",
    ],
)
def test_numbers_that_may_be_of_a_citation_are_not_clear(text: str) -> None:
    [passage] = passages_of([text])
    assert not citations_are_clear(passage)
    [passage] = passages_of(
        ["On May 3, 1991 he sued under 18 U.S.C. 371 for $5,000 and, in June 1992, under 2 U.S.C. § 3."]
    )
    assert citations_are_clear(passage)


@pytest.mark.parametrize(
    ("text", "clear"),
    [
        ("We studied ten women-eight with and eight without a history of it.", False),
        (
            "In 31 patients it helped: twenty-eight mechanically ventilated adult ICU/trauma patients survived.",
            False,
        ),
        ("There were 31 patients. It relieved pain completely in six and in part in the others.", False),
        ("Of 31 patients some stayed; two groups were formed.", False),
        ("One thousand ninety-two patients received study drugs, 31 patients none.", False),
        ("We saw 31 patients under three patient conditions.", False),
        ("Of 31 patients some came back, two thirds of children among them.", False),
        ("We reviewed 31 patients and 100 pump cases.", False),
        ("It helped 31 patients on 30 mg, and was sent to every hospital (n = 123).", False),
        ("We followed 31 patients over three weeks in two teaching hospitals.", True),
    ],
)
def test_a_number_that_may_count_people_is_not_clear(text: str, clear: bool) -> None:
    [passage] = passages_of([text], listed=True)
    assert counts_are_clear(passage) is clear


def test_a_number_that_is_no_label_is_found_where_all_near_ones_are() -> None:
    labels = set(map(str, range(2, 200)))
    found = _other("medicine", ["7"], labels, Random(1), Vocabulary(1))
    assert found not in labels and int(found) < 7 * 100


def test_what_is_put_into_an_opinion_parts_no_citation() -> None:
    text = "We affirm. See Roe v. Doe Ins. Co., Fed. R. Bankr. P. 2014; Conn. Nat'l Bank v. Roe Soc'y, 6 F. 671. The rule holds. It binds."
    put = {_inserted(text, "room 9", Random(seed)) for seed in range(20)}
    assert put == {
        text.replace("affirm.", "affirm (room 9)."),
        text.replace("holds.", "holds (room 9)."),
    }
