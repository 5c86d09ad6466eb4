"""Cases built from documents whose labels are known: what a perfect annotator leads to, and what is refused."""

import json
import re
from pathlib import Path

import pytest
from ethic_oracle import (
    GOLD,
    TARGET,
    context_of,
    oracle,
    write_documents,
    write_rows,
)
from typer.testing import CliRunner

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.ethic import BENCHMARK, prompts, scoring
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic.build.labels import label_f1
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.sections import split_sections
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.cli import app
from long_context_tasks.schema import Case, CaseSet, InputError
from long_context_tasks.tokens import get_tokenizer

DOMAINS = ("books", "debates", "medicine", "law")
FROM_DOCUMENTS = [name for name, family in BENCHMARK.builders.items() if family.source is not None]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="module")
def built(documents: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All families at two lengths."""
    root = tmp_path_factory.mktemp("built")
    patch = pytest.MonkeyPatch()
    patch.setenv("LCT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    with oracle(root) as (_, annotator):
        for family in FROM_DOCUMENTS:
            settings = EthicSettings(lengths=(4000, 8000), annotator=annotator, seed=3)
            ethic_build.build(family, documents, settings, root / family)
    patch.undo()
    return root


def cases_of(built: Path, family: str, task: str) -> tuple[list[Case], CaseSet]:
    cases = CaseSet.read(built / family, task)
    return list(cases.cases), cases


def user_message(case: Case, cases: CaseSet) -> str:
    return prompts.messages(case, cases.documents)[-1].content


@pytest.mark.parametrize("domain", DOMAINS)
def test_built_labels_are_those_of_the_context(built: Path, domain: str) -> None:
    found, cases = cases_of(built, "ethic_recall", f"ethic_recall_{domain}")
    assert {case.labels["length"] for case in found} == {4000, 8000}
    for case in found:
        context = context_of(user_message(case, cases))
        right = GOLD[domain](context)
        assert len(right) > 3
        gold = list(case.turns[0].gold)
        assert label_f1(gold, sorted(right)).f1 >= 0.99
        assert len({label.lower() for label in gold}) == len(gold) == len(case.turns[0].labels["first_chunk"])
        assert max(case.turns[0].labels["first_chunk"]) < case.labels["num_chunks"]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_right_answer_scores_one_through_the_loaded_task(built: Path, domain: str) -> None:
    task = load_task(f"ethic_recall_{domain}", resolve_options({"lct_cases": built / "ethic_recall"}))
    separator = ", " if domain in ("books", "debates") else "; "
    for case in task.cases.cases:
        scores = scoring.score_recall(case, separator.join(case.turns[0].gold))
        assert scores["strict_f1"].value == 1 and scores["official_f1"].value == 1
        system, user = task.messages(case)
        assert (system.role, user.role) == ("system", "user")
        assert system.content.startswith("You are given a long context")
        assert case.labels["system_message"] == "ours"


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
            found, cases = cases_of(built, family, task)
            assert found
            for case in found:
                system, user = prompts.messages(case, cases.documents)
                whole = cl100k.count(f"{system.content}\n\n{user.content}")
                assert case.num_tokens["cl100k"] == whole <= case.labels["length"], (task, case.id)
                assert whole > 0.6 * case.labels["length"], (task, case.id)
                assert not re.search(
                    r"<(passages|num_\w+|options|background|target_case|question)>", user.content
                )


@pytest.mark.parametrize("domain", ["books", "debates"])
def test_options_in_the_gold_order_follow_the_context(built: Path, domain: str) -> None:
    found, cases = cases_of(built, "ethic_organize", f"ethic_organize_{domain}")
    shown_in_order = 0
    for case in found:
        user = user_message(case, cases)
        context, options = context_of(user), dict(re.findall(r"^\[(\d+)\] (.*)$", user, re.MULTILINE))
        gold = case.turns[0].gold
        assert sorted(options) == sorted(gold) and len(gold) >= 2
        heads = [re.search(r"It says: (.*?)\. Sentence", options[number]) for number in gold]
        places = [" ".join(context.replace(".", "").split()).find(head[1]) for head in heads if head]
        assert len(places) == len(gold) and -1 not in places and places == sorted(places)
        # Five sentences at most.
        assert all("Sentence 5" in option and "Sentence 6" not in option for option in options.values())
        shown_in_order += gold == sorted(gold, key=int)
        assert scoring.score_organize(case, ", ".join(f"[{one}]" for one in gold))["strict_lcs"].value == 1
    assert shown_in_order < len(found)


@pytest.mark.parametrize("domain", DOMAINS)
def test_sections_are_the_context(built: Path, domain: str) -> None:
    found, cases = cases_of(built, "ethic_summarize", f"ethic_summarize_{domain}")
    for case in found:
        user = user_message(case, cases)
        sections = split_sections(context_of(user), domain)
        assert list(sections) == case.turns[0].gold and len(sections) >= 2
        sizes = [len(text) for text in sections.values()]
        assert min(sizes) > 0.3 * max(sizes)
        word = "segment(s)" if domain == "law" else "section(s)"
        assert f"split into {len(sections)} {word}" in user


def test_medicine_takes_the_review_with_the_largest_overlap(built: Path, documents: Path) -> None:
    found, cases = cases_of(built, "ethic_attribute", "ethic_attribute_medicine")
    by_review = {case.id.removesuffix("_4k"): case for case in found if case.labels["length"] == 4000}
    assert by_review["review_0"].labels["target"] == "review_1"
    assert by_review["review_1"].labels["target"] == by_review["review_2"].labels["target"] == "review_0"
    for case in found:
        user = user_message(case, cases)
        shown = re.findall(r"^ID: (\d+)$", user, re.MULTILINE)
        right = {number for number in shown if int(number) >= 10_000}
        if case.labels["target"] == "review_1":
            right = {number for number in right if int(number) < 10_030}
        if case.id.startswith("review_3"):
            assert case.turns[0].gold == ["none"] and case.labels["target_kind"] == "none"
            continue
        assert set(case.turns[0].gold) == right and 0 < len(right) < len(shown)
        assert f"treatment {case.labels['target'][-1]} helps" in user
        answer = f"- Core IDs: {', '.join(f'[{one}]' for one in right)}\n- Supplementary IDs: [1]"
        assert scoring.score_attribute(case, answer)["strict_f1"].value == 1


def test_a_screening_list_is_its_own_target(tmp_path: Path) -> None:
    rows = "".join(
        f'{n},Trial {n},"We looked at {n} people and wrote it down in a long abstract that says little.",{int(n % 4 == 0)}\n'
        for n in range(300)
    )
    (tmp_path / "Topic_2006.csv").write_text(f"record_id,title,abstract,label_included\n{rows}")
    with oracle(tmp_path) as (server, annotator):
        settings = EthicSettings(lengths=(4000,), annotator=annotator, min_document=5000)
        ethic_build.build("ethic_attribute", tmp_path / "Topic_2006.csv", settings, tmp_path / "out")
        assert any("background paragraph" in body["messages"][-1]["content"] for body in server.bodies)
    [case], cases = cases_of(tmp_path, "out", "ethic_attribute_medicine")
    shown = re.findall(r"^ID: (\d+)$", user_message(case, cases), re.MULTILINE)
    assert set(case.turns[0].gold) == {number for number in shown if int(number) % 4 == 0}
    assert case.labels["target_kind"] == "the finished review"


def test_law_masks_the_target_and_labels_its_segments(built: Path, documents: Path) -> None:
    found, cases = cases_of(built, "ethic_attribute", "ethic_attribute_law")
    assert found
    raw = (documents / "law" / "opinions.jsonl").read_text()
    for case in found:
        user = user_message(case, cases)
        segments = split_sections(context_of(user), "law")
        assert "F.3d" not in context_of(user) and "[TARGET CITATION]" not in user and TARGET in user
        assert TARGET not in context_of(user)
        # The sentence before a citation of the target stands nowhere else.
        right = [
            marker for marker, text in segments.items() if "The rule is settled. See [CITATION]." in text
        ]
        assert case.turns[0].gold == right and 0 < len(right) < len(segments)
    assert "The rule is settled" in raw


def test_counterparts_have_the_contexts_of_recalling(built: Path) -> None:
    for domain, kind in (("books", "single_qa"), ("debates", "focused_summary"), ("medicine", "multi_qa")):
        recall, of_recall = cases_of(built, "ethic_recall", f"ethic_recall_{domain}")
        low, of_low = cases_of(built, "ethic_recall_counterparts", f"ethic_{kind}_{domain}")
        assert [case.id for case in low] == [case.id for case in recall]
        for one, other in zip(recall, low, strict=True):
            assert context_of(user_message(one, of_recall)) == context_of(user_message(other, of_low))
            assert len(other.turns[0].gold) == 1 and "What stands at" in user_message(other, of_low)


def test_equal_settings_give_equal_bytes_and_lengths_do_not_depend_on_each_other(
    built: Path, documents: Path, tmp_path: Path
) -> None:
    with oracle(tmp_path) as (_, annotator):
        settings = EthicSettings(lengths=(4000,), annotator=annotator, seed=3, domain="books")
        for family in ("ethic_recall", "ethic_organize"):
            ethic_build.build(family, documents, settings, tmp_path / family)
            name = f"{family}_books.jsonl"
            whole = (built / family / name).read_text().splitlines()
            alone = (tmp_path / family / name).read_text().splitlines()
            assert alone == [line for line in whole if '"length":4000' in line]


def test_chunks_are_asked_for_once_over_all_lengths(documents: Path, tmp_path: Path) -> None:
    with oracle(tmp_path) as (server, annotator):
        settings = EthicSettings(lengths=(4000, 8000, 16000), annotator=annotator, domain="books")
        ethic_build.build("ethic_recall", documents, settings, tmp_path / "out")
        asked = [body["messages"][-1]["content"] for body in server.bodies]
        assert len(asked) == len(set(asked))
        # Two novels of 16 chunks, a cut chunk for each length, and the check of the annotator.
        assert 30 < len(asked) <= 2 * (16 + 3) + 1
        again = ethic_build.build("ethic_recall", documents, settings, tmp_path / "out")
        assert len(server.bodies) == len(asked) + 1
    assert [report.task for report in again] == [f"ethic_recall_books {n}" for n in ("4k", "8k", "16k")]


def test_label_quality_against_a_hand_labelled_file(documents: Path, tmp_path: Path) -> None:
    rows = [
        {
            "domain": "books",
            "passage": "It rained, and Mr. Anna Brandt saw it.",
            "labels": ["Anna", "Brandt"],
        },
        {"domain": "books", "passage": "It rained, and Mr. Hugo Pohl saw it.", "labels": ["Hugo"]},
        {"domain": "medicine", "passage": "We enrolled 40 patients.", "labels": [40]},
        {"domain": "medicine", "passage": "Nobody came.", "labels": []},
    ]
    write_rows(tmp_path / "hand.jsonl", rows)
    with oracle(tmp_path) as (_, annotator):
        command = [
            "build",
            "ethic_recall",
            "--documents",
            str(documents),
            "--length",
            "4k",
            "--domain",
            "books",
        ]
        command += ["--annotator", str(annotator), "--check-labels", str(tmp_path / "hand.jsonl")]
        result = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    quality = json.loads((tmp_path / "ethic_recall" / "manifest.json").read_text())["options"][
        "label_quality"
    ]
    assert [row["domain"] for row in quality] == ["books", "medicine"]
    assert quality[0]["f1"] == pytest.approx((1 + 2 / 3) / 2) and quality[0]["recall"] == 1
    assert quality[1]["f1"] == 1
    assert re.search(r"books +2 of 2 +83\.3 +75\.0 +100\.0", result.output)


def test_the_command_line(documents: Path, tmp_path: Path) -> None:
    with oracle(tmp_path) as (_, annotator):
        arguments = ["build", "ethic_recall", "--documents", str(documents), "--length", "4k,...,16k"]
        arguments += ["--annotator", str(annotator), "--out", str(tmp_path / "cases"), "--n", "1"]
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    for domain in DOMAINS:
        assert len(re.findall(rf"ethic_recall_{domain} (4k|8k|16k) ", result.output)) == 3
    assert "not among the first n" in result.output
    result = CliRunner().invoke(
        app, ["build", "ada_leval_tsort", "--length", "2k", "--documents", str(documents)]
    )
    assert result.exit_code == 2 and "takes no --documents" in result.output


def test_lengths_in_another_tokenizer(documents: Path, tmp_path: Path) -> None:
    """One that counts letters needs more room for the instruction."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    letters = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    letters.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split("", "isolated")])
    letters.save(str(tmp_path / "tokenizer.json"))
    settings = EthicSettings(
        lengths=(8000,),
        tokenizer=str(tmp_path),
        length_policy="same_tokens",
        domain="debates",
        chunk_tokens=2000,
    )
    [report] = ethic_build.build("ethic_summarize", documents, settings, tmp_path / "out")
    cases = CaseSet.read(tmp_path / "out", "ethic_summarize_debates")
    for case in cases.cases:
        system, user = prompts.messages(case, cases.documents)
        whole = f"{system.content}\n\n{user.content}"
        assert case.num_tokens["cl100k"] == get_tokenizer("cl100k").count(whole)
        assert case.num_tokens[str(tmp_path)] == get_tokenizer(str(tmp_path)).count(whole) <= 8000
    assert list(report.tokens) == [case.num_tokens[str(tmp_path)] for case in cases.cases]
