"""Cases built from documents whose labels are known, with a perfect annotator; and real documents of each domain, cut to 4k."""

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from ethic_oracle import (
    GOLD,
    TARGET,
    annotating,
    build,
    context_of,
    lct,
    oracle,
    paragraph,
    user_messages,
    write_documents,
)
from json_lines import write_rows

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options
from long_context_tasks.benchmarks.ethic import BENCHMARK, prompts, scoring
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic.build import sources
from long_context_tasks.benchmarks.ethic.build.annotator import label_f1
from long_context_tasks.benchmarks.ethic.build.citations import find_citations, mask
from long_context_tasks.benchmarks.ethic.build.sources import cited_cases, included_elsewhere, places
from long_context_tasks.benchmarks.ethic.prompts import split_sections
from long_context_tasks.cli.coverage import item_sources
from long_context_tasks.corpora.opinions import Opinion
from long_context_tasks.corpora.reviews import read_reviews
from long_context_tasks.schema import Case, CaseSet, InputError
from long_context_tasks.tokens import get_tokenizer

pytestmark = pytest.mark.slow

DOMAINS = ("books", "debates", "medicine", "law")
FROM_DOCUMENTS = [
    builder.name
    for builder in BENCHMARK.builders()
    if not builder.name.endswith("_recast") and builder.source is not None
]


@pytest.fixture(scope="module")
def built(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All families at two lengths."""
    root = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch, oracle(root) as (_, annotator):
        patch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        for family in FROM_DOCUMENTS:
            build(family, documents, root / family, lengths=(4000, 8000), annotator=annotator, seed=3)
    return root


def cases_of(folder: Path, task: str) -> list[tuple[Case, str]]:
    """Cases and their user messages."""
    cases = CaseSet.read(folder, task)
    return list(zip(cases.cases, user_messages(cases).values(), strict=True))


@pytest.mark.parametrize("domain", DOMAINS)
def test_built_labels_are_those_of_the_context_and_score_one(built: Path, domain: str) -> None:
    task = load_task(f"ethic_recall_{domain}", resolve_options({"lct_cases": built / "ethic_recall"}))
    assert {case.labels["length"] for case in task.cases.cases} == {4000, 8000}
    for case in task.cases.cases:
        system, user = task.messages(case)
        assert (system.role, user.role) == ("system", "user")
        assert system.content.startswith("You are given a long context")
        right = GOLD[domain](context_of(user.content))
        [turn] = case.turns
        gold = list(turn.gold)
        assert len(right) > 3 and label_f1(gold, sorted(right)).f1 >= 0.99
        assert len({label.lower() for label in gold}) == len(gold) == len(turn.labels["first_chunk"])
        assert max(turn.labels["first_chunk"]) < case.labels["num_chunks"]
        assert case.labels["system_message"] == "ours"
        scores = scoring.score_recall(case, (", " if domain in ("books", "debates") else "; ").join(gold))
        assert scores["strict_f1"].value == 1 and scores["official_f1"].value == 1


def test_one_length_of_the_built_cases(built: Path) -> None:
    options = {"lct_cases": built, "lct_length": "4k"}
    task = load_task("ethic_recall_books", resolve_options(options))
    assert {case.labels["length"] for case in task.cases.cases} == {4000}
    assert task.description()["lct_length"] == 4000
    with pytest.raises(InputError, match="of length 2k; there are: 4k, 8k"):
        load_task("ethic_recall_books", resolve_options({**options, "lct_length": "2k"}))


def test_prompts_fit_their_length_and_are_counted_exactly(built: Path) -> None:
    cl100k = get_tokenizer("cl100k")
    for family in FROM_DOCUMENTS:
        for task in json.loads((built / family / "manifest.json").read_text())["tasks"]:
            cases = CaseSet.read(built / family, task)
            assert cases.cases
            for case in cases.cases:
                system, user = prompts.messages(case, cases.documents)
                whole = cl100k.count(f"{system.content}\n\n{user.content}")
                assert case.num_tokens["cl100k"] == whole <= case.labels["length"], (task, case.id)
                assert whole > 0.6 * case.labels["length"], (task, case.id)
                slots = r"<(passages|num_\w+|options|background|target_case|question)>"
                assert not re.search(slots, user.content)


def in_the_order_of_the_context(case: Case, user: str) -> dict[str, str]:
    """The options of a case, which follow the context in the gold order."""
    options = dict(re.findall(r"^\[(\d+)\] (.*)$", user, re.MULTILINE))
    heads = [re.search(r"It says: (.*?)\. Sentence", options[number]) for number in case.turns[0].gold]
    text = " ".join(context_of(user).replace(".", "").split())
    places = [text.find(head[1]) for head in heads if head]
    assert len(places) == len(heads) >= 2 and -1 not in places and places == sorted(places)
    return options


@pytest.mark.parametrize("domain", ["books", "debates"])
def test_options_in_the_gold_order_follow_the_context(built: Path, domain: str) -> None:
    found = cases_of(built / "ethic_organize", f"ethic_organize_{domain}")
    for case, user in found:
        options = in_the_order_of_the_context(case, user)
        gold = case.turns[0].gold
        assert sorted(options) == sorted(gold)
        # Five sentences at most.
        assert all("Sentence 5" in option and "Sentence 6" not in option for option in options.values())
        right = ", ".join(f"[{number}]" for number in gold)
        assert scoring.score_organize(case, right)["strict_lcs"].value == 1
    assert any(case.turns[0].gold != sorted(case.turns[0].gold, key=int) for case, _ in found)


@pytest.mark.parametrize("domain", DOMAINS)
def test_sections_are_the_context(built: Path, domain: str) -> None:
    for case, user in cases_of(built / "ethic_summarize", f"ethic_summarize_{domain}"):
        sections = split_sections(context_of(user), domain)
        assert list(sections) == case.turns[0].gold and len(sections) >= 2
        sizes = [len(text) for text in sections.values()]
        assert min(sizes) > 0.3 * max(sizes)
        word = "segment(s)" if domain == "law" else "section(s)"
        assert f"split into {len(sections)} {word}" in user


def test_medicine_takes_the_review_with_the_largest_overlap(built: Path) -> None:
    found = cases_of(built / "ethic_attribute", "ethic_attribute_medicine")
    targets = {case.id: case.labels["target"] for case, _ in found}
    assert targets["review_0_4k"] == "review_1"
    assert targets["review_1_4k"] == targets["review_2_4k"] == "review_0"
    for case, user in found:
        shown = re.findall(r"^ID: (\d+)$", user, re.MULTILINE)
        right = {number for number in shown if int(number) >= 10_000}
        if case.labels["target"] == "review_1":
            right = {number for number in right if int(number) < 10_030}
        if case.id.startswith("review_3"):
            assert case.turns[0].gold == ["none"] and case.labels["target_kind"] == "none"
            continue
        assert set(case.turns[0].gold) == right and 0 < len(right) < len(shown)
        assert f"treatment {case.labels['target'][-1]} helps" in user
        answer = f"- Core IDs: {', '.join(f'[{number}]' for number in right)}\n- Supplementary IDs: [1]"
        assert scoring.score_attribute(case, answer)["strict_f1"].value == 1


def test_a_screening_list_is_its_own_target(tmp_path: Path) -> None:
    said = "We looked at {} people and wrote it down in a long abstract that says little."
    rows = "".join(f'{n},Trial {n},"{said.format(n)}",{int(n % 4 == 0)}\n' for n in range(300))
    source = tmp_path / "Topic_2006.csv"
    source.write_text(f"record_id,title,abstract,label_included\n{rows}")
    with oracle(tmp_path) as (server, annotator):
        build("ethic_attribute", source, tmp_path / "out", annotator=annotator, min_document=5000)
        assert any("background paragraph" in body["messages"][-1]["content"] for body in server.bodies)
    [(case, user)] = cases_of(tmp_path / "out", "ethic_attribute_medicine")
    shown = re.findall(r"^ID: (\d+)$", user, re.MULTILINE)
    assert set(case.turns[0].gold) == {number for number in shown if int(number) % 4 == 0}
    assert case.labels["target_kind"] == "the finished review"


def test_law_masks_the_target_and_labels_its_segments(built: Path) -> None:
    found = cases_of(built / "ethic_attribute", "ethic_attribute_law")
    assert found
    for case, user in found:
        context = context_of(user)
        assert "F.3d" not in context and TARGET not in context
        assert "[TARGET CITATION]" not in user and TARGET in user
        # The sentence before a citation of the target stands nowhere else.
        sentence = "The rule is settled. See [CITATION]."
        segments = split_sections(context, "law")
        right = [marker for marker, text in segments.items() if sentence in text]
        assert case.turns[0].gold == right and 0 < len(right) < len(segments)


def test_counterparts_have_the_contexts_of_recalling(built: Path) -> None:
    for domain, kind in (("books", "single_qa"), ("debates", "focused_summary"), ("medicine", "multi_qa")):
        recall = cases_of(built / "ethic_recall", f"ethic_recall_{domain}")
        low = cases_of(built / "ethic_recall_counterparts", f"ethic_{kind}_{domain}")
        for (one, shown), (other, asked) in zip(recall, low, strict=True):
            assert one.id == other.id and context_of(shown) == context_of(asked)
            assert len(other.turns[0].gold) == 1 and "What stands at" in asked


def test_a_question_and_its_answer_are_those_of_all_lengths(
    tmp_path: Path,
) -> None:
    documents = write_documents(tmp_path / "documents", paragraphs=200)
    with oracle(tmp_path) as (server, annotator):
        own = {"lengths": (4000, 8000, 16000), "min_document": 1000, "domain": "books"}
        build("ethic_recall_counterparts", documents, tmp_path / "out", annotator=annotator, **own)
        # One call for each book and kind, and the check of the annotator.
        assert len(server.bodies) == 2 * 2 + 1
    for kind in ("single_qa", "focused_summary"):
        cases = CaseSet.read(tmp_path / "out", f"ethic_{kind}_books")
        shown = user_messages(cases)
        books: dict[str, set[tuple[str, str]]] = {}
        for case in cases.cases:
            [turn] = case.turns
            books.setdefault(case.cluster, set()).add((str(turn.question), turn.gold[0]))
            # The answer is a word of the evidence.
            assert turn.gold[0] in str(context_of(shown[case.id]))
        assert len(cases.cases) == 6 and [len(found) for found in books.values()] == [1, 1]


def test_equal_settings_give_equal_bytes_and_lengths_do_not_depend_on_each_other(
    built: Path, documents: Path, tmp_path: Path
) -> None:
    with oracle(tmp_path) as (_, annotator):
        for family in ("ethic_recall", "ethic_organize"):
            build(family, documents, tmp_path / family, annotator=annotator, seed=3, domain="books")
            name = f"{family}_books.jsonl"
            whole = (built / family / name).read_text().splitlines()
            alone = (tmp_path / family / name).read_text().splitlines()
            assert alone == [line for line in whole if '"length":4000' in line]


def test_chunks_are_asked_for_once_over_all_lengths(documents: Path, tmp_path: Path) -> None:
    own = {"lengths": (4000, 8000, 16000), "domain": "books"}
    with oracle(tmp_path) as (server, annotator):
        build("ethic_recall", documents, tmp_path / "out", annotator=annotator, **own)
        asked = [body["messages"][-1]["content"] for body in server.bodies]
        assert len(asked) == len(set(asked))
        # Two novels of 16 chunks, a cut chunk for each length, and the check of the annotator.
        assert 30 < len(asked) <= 2 * (16 + 3) + 1
        again = build("ethic_recall", documents, tmp_path / "out", annotator=annotator, **own)
        assert len(server.bodies) == len(asked) + 1
    assert [report.task for report in again] == [f"ethic_recall_books {n}" for n in ("4k", "8k", "16k")]


def test_label_quality_against_a_hand_labelled_file(documents: Path, tmp_path: Path) -> None:
    rows = [
        ("books", "It rained, and Mr. Anna Brandt saw it.", ["Anna", "Brandt"]),
        ("books", "It rained, and Mr. Hugo Pohl saw it.", ["Hugo"]),
        ("medicine", "We enrolled 40 patients.", [40]),
        ("medicine", "Nobody came.", []),
    ]
    hand = tmp_path / "hand.jsonl"
    write_rows(hand, [dict(zip(("domain", "passage", "labels"), row, strict=True)) for row in rows])
    with oracle(tmp_path) as (_, annotator):
        words = ("build", "ethic_recall", "--documents", documents, "--length", "4k", "--domain", "books")
        printed = lct(*words, "--annotator", annotator, "--check-labels", hand, "--out", tmp_path)
    manifest = json.loads((tmp_path / "ethic_recall" / "manifest.json").read_text())
    books, medicine = manifest["options"]["label_quality"]
    assert (books["domain"], medicine["domain"]) == ("books", "medicine")
    assert books["f1"] == pytest.approx((1 + 2 / 3) / 2) and books["recall"] == 1 == medicine["f1"]
    assert re.search(r"books +2 of 2 +83\.3 +75\.0 +100\.0", printed)


def test_the_command_line(documents: Path, tmp_path: Path) -> None:
    with oracle(tmp_path) as (_, annotator):
        words = ("build", "ethic_recall", "--documents", documents, "--length", "4k,...,16k", "--n", 1)
        printed = lct(*words, "--annotator", annotator, "--out", tmp_path / "cases")
    for domain in DOMAINS:
        assert len(set(re.findall(rf"ethic_recall_{domain} (4k|8k|16k) ", printed))) == 3
    assert "not among the first n" in printed
    printed = lct("build", "ada_leval_tsort", "--length", "2k", "--documents", documents, code=2)
    assert "takes no --documents" in printed


def test_lengths_in_another_tokenizer(documents: Path, tmp_path: Path) -> None:
    """One that counts letters needs more room for the instruction."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    letters.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split("", "isolated")])
    letters.save(str(tmp_path / "tokenizer.json"))
    counted = {"tokenizer": str(tmp_path), "length_policy": "same_tokens"}
    own = {"lengths": (8000,), "domain": "debates", "chunk_tokens": 2000}
    [report] = build("ethic_summarize", documents, tmp_path / "out", **own, **counted)
    cases = CaseSet.read(tmp_path / "out", "ethic_summarize_debates")
    for case in cases.cases:
        system, user = prompts.messages(case, cases.documents)
        whole = f"{system.content}\n\n{user.content}"
        assert case.num_tokens["cl100k"] == get_tokenizer("cl100k").count(whole)
        assert case.num_tokens[str(tmp_path)] == get_tokenizer(str(tmp_path)).count(whole) <= 8000
    assert list(report.tokens) == [case.num_tokens[str(tmp_path)] for case in cases.cases]


@pytest.mark.parametrize(
    ("domain", "mark"), [("books", "<Section 9>"), ("books", "<Section 2>"), ("law", "<Segment 1>")]
)
def test_a_text_that_contains_markers_gives_no_case(tmp_path: Path, domain: str, mark: str) -> None:
    def text(strange: str) -> str:
        rng = random.Random(5)
        return "\n\n".join([f"See the note under {strange} above.", *(paragraph(rng) for _ in range(40))])

    name = "id" if domain == "books" else "opinion_id"
    rows = [{name: "plain", "text": text("<Part 1>")}, {name: "marked", "text": text(mark)}]
    write_rows(tmp_path / "d.jsonl", rows)
    [report] = build("ethic_summarize", tmp_path, tmp_path / "x", domain=domain, min_document=4000)
    assert report.dropped == {"the text has markers of sections in it": 1}
    [case] = CaseSet.read(tmp_path / "x", f"ethic_summarize_{domain}").cases
    assert case.id == "plain_4k"


def test_an_annotator_that_is_not_needed_is_reported(documents: Path, tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    [report] = build("ethic_summarize", documents, tmp_path / "x", domain="books", annotator=missing)
    assert report.notes == (f"ethic_summarize needs no annotator; --annotator {missing} was not used",)


FOLDERS = {"books": "books", "debates": "debates", "medicine": "medical_abstracts", "law": "court_opinions"}


@pytest.fixture
def _read_once(real_opinions: list[Opinion], shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Builders find the real opinions read."""

    def read(path: Path, left_out: Counter[str]) -> list[Opinion]:
        assert path == shared / "data" / "court_opinions"
        return real_opinions

    monkeypatch.setattr(sources, "read_opinions", read)
    monkeypatch.setattr(ethic_build, "read_opinions", read)


def plain_answer(prompt: str) -> str:
    """An answer of the right form for real documents; references to a case are found by its name."""
    context = context_of(prompt) if "### Context:" in prompt else ""
    if "Copy each span" in prompt:
        title = re.search(r"Title: (.+)", prompt)
        last = re.escape(title[1].split()[-1]) if title else "x"
        return "\n".join(re.findall(rf"\b{last}, \d+ F\.(?:2|3)d", context)) or "None"
    if "Use semicolons" in prompt or "separated by semicolons" in prompt:
        return "; ".join(re.findall(r"\d+", context)) or "None"
    if "Use commas to separate each name" in prompt:
        return ", ".join(re.findall(r"(?:Mr|Mrs|Hon)\. ([A-Z]\w+)", context)) or "None"
    if "Question: <" in prompt:
        return "Question: Who speaks first?\nAnswer: The first speaker."
    return " ".join(context.split()[:30]) + "."


@pytest.mark.parametrize(
    ("family", "domain"),
    [
        ("ethic_recall", "books"),
        ("ethic_organize", "debates"),
        ("ethic_attribute", "medicine"),
        ("ethic_attribute", "law"),
        ("ethic_recall_counterparts", "law"),
        ("ethic_summarize", "law"),
    ],
)
def test_real_documents_build_at_4k(
    shared: Path,
    tmp_path: Path,
    family: str,
    domain: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if domain == "law":
        request.getfixturevalue("_read_once")
    if domain == "books":
        books = request.getfixturevalue("real_books")
        monkeypatch.setattr(sources, "read_books", lambda _: books)
    with annotating(tmp_path, plain_answer) as (_, annotator):
        source = shared / "data" / FOLDERS[domain]
        reports = build(family, source, tmp_path / family, annotator=annotator, n=2)
    built = [report for report in reports if report.tokens]
    assert built and all(f"_{domain} 4k" in report.task for report in built)
    assert all(max(report.tokens) <= 4000 for report in built)
    for item in item_sources(str(tmp_path / family), resolve_options({})):
        cases = CaseSet.read(tmp_path / family, item.task)
        # Of the two targets in law, one has a citation that may be another case's.
        assert len(cases) == (1 if item.task == "ethic_attribute_law" else 2) and cases.cases[0].turns[0].gold
        assert item.read(0).context in prompts.messages(cases.cases[0], cases.documents)[1].content
        assert item.domain == domain


def test_the_domains_of_a_folder_are_recognised(shared: Path) -> None:
    for domain, folder in FOLDERS.items():
        assert places(shared / "data" / folder) == {domain: shared / "data" / folder}


def test_real_reviews_overlap_as_their_ids_say(shared: Path) -> None:
    reviews = list(read_reviews(shared / "data" / "medical_abstracts"))
    assert len(reviews) == 14
    found = {review.id: included_elsewhere(review, reviews) for review in reviews}
    best = found["Cohen_2006_ADHD"]
    assert best is not None and best[0].id == "Cohen_2006_AtypicalAntipsychotics" and len(best[1]) == 63
    assert found["Bannach-Brown_2019"] is None


def test_real_citations_of_a_target_are_masked(real_opinions: list[Opinion]) -> None:
    assert len(real_opinions) == 966
    groups = cited_cases(real_opinions)
    assert (
        len(groups) == 110
        and len(groups[0].citing) == 7
        and groups[0].target.title == "United States v. Gifford"
    )
    for citing in groups[0].citing:
        strings = citing.citation_strings[groups[0].target.id]
        text = " ".join(citing.pages)
        masked, n = mask(text, find_citations(text, strings))
        # Opinions of the same year cite each other without a page, which an annotator has to see.
        assert (n >= 1) == any(one in text for one in strings)
        assert not any(one in masked for one in strings)
        assert masked.count("[CITATION]") > 3
