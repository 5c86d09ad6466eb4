"""Real documents of each domain, cut to 4k by every builder; the annotator is a stand-in that reads the prompt."""

import re
from pathlib import Path
from typing import Any

import pytest
from ethic_oracle import context_of, oracle
from judge_server import Answer, judge_server

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.ethic import BENCHMARK, prompts
from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic.build.attribute import mask
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import cited_cases, included_elsewhere, places
from long_context_tasks.cli.coverage import item_sources
from long_context_tasks.corpora.documents import read_opinions, read_reviews
from long_context_tasks.schema import CaseSet

FOLDERS = {"books": "books", "debates": "debates", "medicine": "medical_abstracts", "law": "court_opinions"}


def behave(body: dict[str, Any], _: int) -> Answer:
    """Plain answers of the right form; spans that refer to a case are found by its name."""
    prompt = body["messages"][-1]["content"]
    context = context_of(prompt) if "### Context:" in prompt else ""
    if "Copy each span" in prompt:
        title = re.search(r"Title: (.+)", prompt)
        last = re.escape(title[1].split()[-1]) if title else "x"
        return Answer("\n".join(re.findall(rf"\b{last}, \d+ F\.(?:2|3)d", context)) or "None")
    if "Use semicolons" in prompt or "separated by semicolons" in prompt:
        return Answer("; ".join(re.findall(r"\d+", context)) or "None")
    if "Use commas to separate each name" in prompt:
        return Answer(", ".join(re.findall(r"(?:Mr|Mrs|Hon)\. ([A-Z]\w+)", context)) or "None")
    if "Question: <" in prompt:
        return Answer("Question: Who speaks first?\nAnswer: The first speaker.")
    return Answer(" ".join(context.split()[:30]) + ".")


@pytest.mark.parametrize(
    ("family", "domain"),
    [
        (family, domain)
        for family, made in BENCHMARK.builders.items()
        if made.source is not None
        for domain in ethic_build.DOMAINS[made.task]
    ],
)
def test_real_documents_build_at_4k(shared: Path, tmp_path: Path, family: str, domain: str) -> None:
    with judge_server(behave) as server:
        annotator = tmp_path / "a.yaml"
        annotator.write_text(f"model: stand-in\nbase_url: {server.url}\n")
        settings = EthicSettings(lengths=(4000,), annotator=annotator, n=2)
        reports = ethic_build.build(family, shared / "data" / FOLDERS[domain], settings, tmp_path / family)
    built = [report for report in reports if report.tokens]
    assert built and all(f"_{domain} 4k" in report.task for report in built)
    assert all(max(report.tokens) <= 4000 for report in built)
    for source in item_sources(str(tmp_path / family), resolve_options({})):
        cases = CaseSet.read(tmp_path / family, source.task)
        assert len(cases) == 2 and cases.cases[0].turns[0].gold
        assert source.read(0).context in prompts.messages(cases.cases[0], cases.documents)[1].content
        assert source.domain == domain


def test_the_folder_with_all_domains_is_told_apart(shared: Path) -> None:
    found = places(shared / "data")
    assert {domain: path.name for domain, path in found.items()} == FOLDERS
    for domain, folder in FOLDERS.items():
        assert places(shared / "data" / folder) == {domain: shared / "data" / folder}


def test_real_reviews_overlap_as_their_ids_say(shared: Path) -> None:
    reviews = list(read_reviews(shared / "data" / "medical_abstracts"))
    assert len(reviews) == 14
    found = {review.id: included_elsewhere(review, reviews) for review in reviews}
    best = found["Cohen_2006_ADHD"]
    assert best is not None and best[0].id == "Cohen_2006_AtypicalAntipsychotics" and len(best[1]) == 63
    assert found["Bannach-Brown_2019"] is None


def test_real_citations_of_a_target_are_masked(shared: Path) -> None:
    opinions = list(read_opinions(shared / "data" / "court_opinions"))
    assert len(opinions) == 966
    groups = cited_cases(opinions)
    assert (
        len(groups) == 110
        and len(groups[0].citing) == 7
        and groups[0].target.title == "United States v. Gifford"
    )
    for citing in groups[0].citing:
        strings = citing.citation_strings[groups[0].target.id]
        text = " ".join(citing.pages)
        masked, n = mask(text, [], strings)
        # Opinions of the same year cite each other without a page, which an annotator has to see.
        assert (n >= 1) == any(one in text for one in strings)
        assert not any(one in masked for one in strings)
        assert masked.count("[CITATION]") > 3


def test_the_oracle_is_not_needed_to_summarize(shared: Path, tmp_path: Path) -> None:
    with oracle(tmp_path) as (server, _):
        settings = EthicSettings(lengths=(4000,), n=1, domain="debates")
        ethic_build.build("ethic_summarize", shared / "data", settings, tmp_path / "x")
        assert not server.bodies
