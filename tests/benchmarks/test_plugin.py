"""A benchmark that offers only tasks works everywhere, and one that fails does not stop the others."""

import logging
from pathlib import Path

import pytest

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.building import Builder
from long_context_tasks.benchmarks.checking import check_benchmark
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.coverage.items import split_cases
from long_context_tasks.schema import Case, CaseSet, Documents, InputError, LoadedTask, Options, Turn
from long_context_tasks.schema.card import Card

CARD = "{name: bare, title: Bare, metrics: {m: right}, tasks: {t: {source: built, headline: m, chance: 0}}}"


class Bare(Benchmark):
    card = Card.parse(CARD, "the card")

    def load_task(self, name: str, options: Options) -> LoadedTask:
        raise InputError("no cases")


class Wrong(Builder):
    settings = Options  # type: ignore[assignment]

    def write(self, source: object, settings: object, folder: Path, work: object) -> list[object]:
        return []


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Bare:
    found = Bare()
    monkeypatch.setattr(catalogue, "_found", lambda: ({"bare": found}, {}))
    # Without their caches, which would keep this benchmark for other tests.
    for name in ("task_specs", "_by_name", "_every_option"):
        monkeypatch.setattr(catalogue, name, getattr(catalogue, name).__wrapped__)
    return found


def test_a_task_of_a_package_that_is_not_installed() -> None:
    with pytest.raises(InputError, match=r"unknown task zoo_find_2k; .* need their package to be installed"):
        catalogue.parse_task("zoo_find_2k")
    with pytest.raises(InputError, match=r"unknown task ethic_find_2k; .* with a task in \*_any"):
        catalogue.parse_task("ethic_find_2k")


def test_defaults_mean_not_offered(tmp_path: Path) -> None:
    bare, case = Bare(), Case("c", "t", {}, (Turn("x"),), "c")
    assert not (bare.has_sections or bare.has_heat_maps or bare.has_paper_tables or bare.has_ratings)
    assert bare.sections([]) == bare.heat_maps([]) == bare.paper_tables(Options(), "") == []
    assert bare.has_data("bare_t", Options()) is None and list(bare.builders()) == []
    with pytest.raises(InputError, match="bare_t: its benchmark does not split cases"):
        split_cases("bare_t", CaseSet([case], Documents(tmp_path), {}), bare.split)[0].read(0)
    assert bare.labels("c", {}) == bare.rating({}, [], None) == {} and bare.judge_agreement("m") == ""
    assert list(bare.rated_answers(Options())) == list(bare.machine_scores(Options())) == []
    bare.write_example_files(tmp_path / "none", 3)
    assert not (tmp_path / "none").exists() and list(bare.example_answers(case, 0)) == []


@pytest.mark.parametrize(
    ("builders", "remark"),
    [
        (lambda: [3], "returned a int, expected a Builder"),
        (lambda: [Wrong("bare_x", "x")], "its task 'x' is not on the card"),
        (lambda: [Wrong("other_t", "t")], "its name does not begin with bare_"),
        (lambda: [Wrong("bare_t", "t")], "its settings are not a subclass of BuildSettings"),
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
    ],
)
def test_mistakes_in_builders_are_named(
    bare: Bare, builders: object, remark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bare, "builders", builders)
    [found] = check_benchmark("bare")
    assert remark in found.text


def test_builders_that_fail_are_left_out(
    bare: Bare, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bare, "builders", lambda: 1 / 0)
    with caplog.at_level(logging.WARNING):
        assert catalogue.builders() == {}
    assert "builders of benchmark bare are left out: ZeroDivisionError" in caplog.text


def test_a_builder_or_benchmark_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="no builder 'bare_t'; builders: ada_leval_tsort"):
        catalogue.builder("bare_t")
    with pytest.raises(InputError, match="bare_t: no benchmark has this name"):
        catalogue.benchmark_of("bare_t")
