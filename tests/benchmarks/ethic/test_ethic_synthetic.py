"""Cases written from a seed: lengths kept, the same bytes, memory that does not grow; and questions that share a document."""

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.ethic.prompts import context_of, template, user_text
from long_context_tasks.benchmarks.ethic.settings import SyntheticSettings
from long_context_tasks.benchmarks.ethic.synthetic import (
    WRITINGS,
    build,
    make_cases,
    questions_at,
    tokenizers_of,
)
from long_context_tasks.benchmarks.ethic.synthetic.attribute import attribute, filling
from long_context_tasks.benchmarks.ethic.synthetic.maker import (
    GENRES,
    MadeCase,
    Maker,
    Writings,
    fit,
    has_number,
    shortened,
)
from long_context_tasks.benchmarks.run_cases import run_settings
from long_context_tasks.schema import Case, CaseSet, InputError, LoadedTask, Options
from long_context_tasks.synthetic.document import Paragraph
from long_context_tasks.synthetic.trials import TrialWriter
from long_context_tasks.tokens import get_tokenizer
from long_context_tasks.tokens.build_settings import settings_of

pytestmark = pytest.mark.slow


def count(text: str) -> int:
    return get_tokenizer("cl100k").count(text)


def made_case(
    task: str,
    length: int,
    number: int,
    chosen: SyntheticSettings = SyntheticSettings((1000,)),  # noqa: B008
) -> MadeCase:
    [made] = make_cases(
        task, "medicine", length, 3, tokenizers_of(chosen), number, Writings(GENRES["medicine"])
    )
    return made


def test_documents_that_make_no_case_never_run_out() -> None:
    tokenizers = tokenizers_of(SyntheticSettings((1000,)))
    writings = Writings(GENRES["medicine"])
    makers = [Maker("medicine", 1000, 1, tokenizers, number, 0, writings) for number in range(40)]
    share = sum(attribute(maker) is None for maker in makers) / len(makers)
    assert share**WRITINGS * 1000 < 1e-2, share  # a thousand cases


@pytest.mark.parametrize(("task", "spare"), [("recall", 1), ("attribute", 5)])
def test_few_more_abstracts_are_written_than_a_length_takes(
    task: str, spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    abstract = TrialWriter.abstract

    def counted(self: TrialWriter, *given: Any) -> tuple[str, Paragraph]:
        title, paragraph = abstract(self, *given)
        written.append(title)
        return title, paragraph

    monkeypatch.setattr(TrialWriter, "abstract", counted)
    for number in range(5):
        written.clear()
        shown = made_case(task, 2000, number).paragraphs
        assert len(shown) <= len(written) <= len(shown) + spare


@given(st.lists(st.integers(200, 600), min_size=60, max_size=60), st.integers(500, 8000))
@example([250] * 60, 500)
def test_abstracts_are_chosen_by_their_sizes(sizes: list[int], room: int) -> None:
    places = iter(range(60))
    chosen = filling(places, sizes.__getitem__, room, room // 160)
    needed = next(places)
    assert sum(sizes[place] for place in chosen) <= room
    # At most five are needed after those that fit as they come.
    assert sum(sizes[: max(0, needed - 5)]) <= room and chosen == sorted({*chosen})


def test_longer_tokens_than_those_of_cl100k_are_supplied(tmp_path: Path) -> None:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"(?:\S+\s+){1,4}"), "isolated")
    made.save(str(tmp_path / "tokenizer.json"))
    chosen = SyntheticSettings((4000,), tokenizer=str(tmp_path), length_policy="same_tokens")
    user = made_case("attribute", 4000, 0, chosen).draft.user
    assert 0.98 * 4000 <= get_tokenizer(str(tmp_path)).count(f"{template('build_system')}\n\n{user}") <= 4000


@pytest.mark.parametrize("task", ["recall", "attribute", "sections"])
def test_lengths_made_together_are_those_made_alone(task: str, tmp_path: Path) -> None:
    family = "ethic_sections" if task == "sections" else f"ethic_{task}_synthetic"

    def lines(lengths: tuple[int, ...]) -> list[tuple[str, str]]:
        folder = tmp_path / f"{family}_{len(lengths)}_{lengths[0]}"
        build(family, None, SyntheticSettings(lengths, n=3), folder)
        [name] = [path.stem for path in folder.glob("*.jsonl")]
        cases = CaseSet.read(folder, name)
        keys = [[user] if isinstance(user := case.inputs["user"], str) else user for case in cases.cases]
        texts = ["".join(cases.documents[key] for key in own) for own in keys]
        return list(zip((case.to_json() for case in cases.cases), texts, strict=True))

    assert lines((4000, 1500, 2000)) == [*lines((4000,)), *lines((1500,)), *lines((2000,))]


def test_every_file_and_length_is_reported(tmp_path: Path) -> None:
    reports = build("ethic_attribute_synthetic", None, SyntheticSettings((1000, 2000), n=2), tmp_path, Work())
    assert [report.task for report in reports] == [
        f"ethic_attribute_medicine_synthetic {length}" for length in ("1k", "2k")
    ]
    assert all(len(report.tokens) == report.clusters == 2 for report in reports)


def test_settings_without_cases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^ethic_recall_medicine_synthetic: length 900 \(lct_length, --length\)"
    ):
        load_task("ethic_recall_medicine_synthetic", Options(length=900))
    with pytest.raises(InputError, match="no cases of books, only of medicine"):
        chosen = SyntheticSettings((1000,), domain="books")
        build("ethic_recall_synthetic", None, chosen, tmp_path / "x")
    with pytest.raises(InputError, match="--domain must be 'books', 'debates', 'medicine' or 'law'"):
        settings_of(SyntheticSettings, {"lengths": (1000,), "domain": "poems"}, "here")
    with pytest.raises(InputError, match="lct_domain must be 'books'"):
        run_settings("ethic", SyntheticSettings, Options(), 3, domain="poems")


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path: Path) -> None:
    peaks = []
    remembered = len(get_tokenizer("cl100k")._counts)
    for n in (4, 24):
        tracemalloc.start()
        chosen = SyntheticSettings((2000,), n=n)
        build("ethic_recall_synthetic", None, chosen, tmp_path / str(n))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], peaks
    # A tokenizer remembers counts for as long as it lives: the shared one must not count every paragraph.
    assert len(get_tokenizer("cl100k")._counts) == remembered


WORDS = st.sampled_from(
    ["24", "went", "over", "seven", "long", "bridge", "while", "somebody", "laughed", "aloud"]
)
SENTENCES = st.lists(st.lists(WORDS, min_size=3, max_size=9), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=6), st.integers(5, 150))
def test_fitted_paragraphs_are_the_first_ones_and_fit(written: list[list[list[str]]], room: int) -> None:
    texts = [" ".join(f"Then {' '.join(words)} again." for words in one) for one in written]
    paragraphs = [
        Paragraph(text, tuple(one for one in ("24", "7") if has_number(one, text))) for text in texts
    ]
    fitted = fit(
        paragraphs, room, 3, lambda text: count(f"{text}\n\n"), ("So it was.", "It was late by then.")
    )
    assert sum(count(f"{one.text}\n\n") for one in fitted) <= room
    for one, whole in zip(fitted[:-1], paragraphs, strict=False):
        assert one is whole
    if fitted:
        last, whole = fitted[-1], paragraphs[len(fitted) - 1]
        stem = re.sub(r"(?: (?:So it was|It was late by then)\.)+$", "", last.text)
        assert whole.text.startswith(stem) and stem.endswith(".")
        assert last.labels == tuple(one for one in ("24", "7") if has_number(one, stem))


def test_a_shortened_paragraph_keeps_the_labels_that_are_left() -> None:
    text = "The bridge had fallen by noon. Capt. Smith said it was mill 12 (all of it. Really) there. So he went."
    end = text.index(" Capt.")
    one = Paragraph(text, ("12",), end)
    assert shortened(one, end) == Paragraph("The bridge had fallen by noon.", (), end)
    late = Paragraph(text, ("12",), end + 1)
    assert shortened(late, end) == Paragraph("The bridge had fallen by noon.")
    assert shortened(one, text.index(" Smith")) is None  # an abbreviation
    assert shortened(one, text.index(" Really)")) is None  # an open parenthesis
    counts = Paragraph("There were 24 women here. Later 24 per cent of 1,204 went.", ("24", "1204"))
    # Which of the two 24 is a count of people is unclear.
    assert shortened(counts, counts.text.index(" Later")) is None


def loaded() -> LoadedTask:
    return load_task("ethic_sections_medicine", Options(length=4000, n=8))


def right(case: Case) -> str:
    return "; ".join(case.turns[0].gold)


def value(task: LoadedTask, case: Case, response: str | None) -> float:
    found = task.score(case, response, None)["strict_f1"].value
    assert found is not None
    return found


def test_all_questions_and_recall_show_one_context() -> None:
    task = loaded()
    recall = load_task("ethic_recall_medicine_synthetic", Options(length=4000, n=2))
    wanted = [context_of(recall.messages(case)[-1].content) for case in recall.cases.cases]
    cases = task.cases.cases
    assert [case.cluster for case in cases] == [cases[0].cluster] * 4 + [cases[4].cluster] * 4
    assert len({case.id for case in cases}) == 8 and questions_at(4000) == 4 and questions_at(8000) == 8
    for case in cases:
        user = task.messages(case)[-1].content
        assert context_of(user) == wanted[case.cluster != cases[0].cluster]
        assert user == user_text(case, task.cases.documents) and case.num_tokens["cl100k"] <= 4000
    # The texts of a document lie in the table once.
    assert len({case.document for case in cases}) == 2 == len({case.inputs["user"][0] for case in cases})


def test_sections_cover_the_context() -> None:
    tokenizers = tokenizers_of(SyntheticSettings((8000,)))
    made = make_cases("sections", "medicine", 8000, 5, tokenizers, 0, Writings(GENRES["medicine"]))
    assert len(made) == 8
    shown = "".join(one.text for own in made for one in own.paragraphs)
    assert "".join(shown.split()) == "".join(str(context_of(made[0].draft.user)).split())
    # Each question names the beginning of its section, and that of the next one.
    for place, one in enumerate(made):
        asked = one.draft.user.split("### Instruction:")[1]
        assert f'"{one.paragraphs[0].text[:9]}' in asked and ("to the end of the context" in asked) == (
            place == 7
        )


def test_right_answers_score_one_and_those_of_another_section_less() -> None:
    task = loaded()
    cases = task.cases.cases
    assert all(value(task, case, right(case)) == pytest.approx(1) for case in cases)
    other = [value(task, case, right(cases[(place + 1) % 4])) for place, case in enumerate(cases[:4])]
    assert sum(other) / 4 < 0.4
    assert value(task, cases[0], None) == value(task, cases[1], "I'm sorry, I can't.") == 0
    assert task.score(cases[1], None, None)["strict_f1"].reason == "empty"
    assert task.score(cases[1], "x", "does_not_fit")["strict_f1"].value is None


def test_a_document_is_asked_whole_at_1k_and_the_number_counts_questions(tmp_path: Path) -> None:
    folder = tmp_path / "ethic_sections"
    reports = build("ethic_sections", None, SyntheticSettings((1000, 2000), n=6), folder)
    assert [(one.task, len(one.tokens)) for one in reports] == [
        ("ethic_sections_medicine 1k", 6),
        ("ethic_sections_medicine 2k", 6),
    ]
    assert all(max(one.tokens) <= int(one.task.split()[1][0]) * 1000 for one in reports)
    assert "ethic_sections_medicine" in json.loads((folder / "manifest.json").read_text())["tasks"]
    task = load_task("ethic_sections_medicine", Options(cases=tmp_path, length=2000))
    assert len(task.cases) == 6 and len({case.cluster for case in task.cases.cases}) == 3
