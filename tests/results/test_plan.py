"""What a run will cost: the sums of a plan are those of the prompts that are rendered."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from run_commands import published_data
from written_book import sorting_cases

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import expand_tasks, load_task, parse_task, resolve_options
from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
from long_context_tasks.results.plan.cost import (
    AROUND_MESSAGE,
    PlanSettings,
    Price,
    Rate,
    TaskPlan,
    make_plan,
    plan_case,
    plan_task,
)
from long_context_tasks.schema import InputError, LoadedTask, Message
from long_context_tasks.schema.case import CL100K
from long_context_tasks.tokens import get_tokenizer

GENERATED = ("ada_leval_bestanswer_1k", "ada_leval_tsort_2k", "ethic_recall_books", "ethic_summarize_law")
TURN_BY_TURN = (
    "elitr_bench_qa_dev",
    "elitr_bench_conv_dev",
    "elitr_bench_conv_dev_goldhistory",
    "elitr_bench_qa_test_multiturn",
)


def exact(texts: Sequence[str]) -> list[int]:
    return get_tokenizer(CL100K).count_many(list(texts))


def by_characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


PLAIN = PlanSettings({CL100K: exact})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"), ada_leval=3, elitr_bench=3, ethic=3)


def load(name: str, data: Path, **options: object) -> LoadedTask:
    given = {"lct_data_dir": data, **{f"lct_{key}": value for key, value in options.items()}}
    task = load_task(name, resolve_options(given, {}))
    return task


def text_of(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.content for message in messages)


@pytest.mark.parametrize("name", GENERATED)
def test_stored_counts_are_those_of_the_rendered_prompts(name: str, data: Path) -> None:
    task = load(name, data)
    plan = plan_task(task, PLAIN)
    rendered = exact([text_of(task.messages(case)) for case in task.cases.cases])
    assert plan.prompt_tokens[CL100K] == sum(rendered) > 0
    assert plan.longest[CL100K] == max(rendered)
    assert (plan.cases, plan.requests) == (len(rendered), len(rendered))
    assert (plan.answer_tokens, plan.history_tokens) == (task.answer_budget * len(rendered), 0)


@pytest.mark.parametrize("name", TURN_BY_TURN)
@pytest.mark.parametrize("style", ["chat", "gpt", "llama-2"])
def test_every_turn_is_sent_with_its_history(name: str, style: str, data: Path) -> None:
    """The stub answers nothing, so only known texts are counted."""
    task = load(name, data, prompt_style=style)
    plan = plan_task(task, PlanSettings({CL100K: by_characters}))
    sent = [
        sum(len(message.content) for message in task.messages(case, turn, [None] * turn))
        for case in task.cases.cases
        for turn in range(len(case.turns) if task.is_conversation else 1)
    ]
    if style == "chat" and not task.is_conversation:
        # The stored counts, in tokens.
        assert plan.prompt_tokens[CL100K] == sum(exact([text_of(task.messages(c)) for c in task.cases.cases]))
    else:
        assert plan.prompt_tokens[CL100K] == sum(sent)
    assert plan.requests == len(sent) > 0
    assert plan.answer_tokens == len(sent) * task.answer_budget
    again = sum(turn for case in task.cases.cases for turn in range(len(case.turns)))
    own = task.is_conversation and "goldhistory" not in name
    assert plan.history_tokens == (again * task.answer_budget if own else 0)
    assert again if name.startswith("elitr_bench_conv_dev") else True


def test_a_task_by_likelihood_sends_every_candidate(tmp_path: Path) -> None:
    options = {"lct_length": 1000, "lct_cases": str(sorting_cases(tmp_path))}
    task = load_task("ada_leval_tsort_any_ppl", resolve_options(options, {}))
    assert task.candidates is not None
    plan = plan_task(task, PlanSettings({CL100K: by_characters}))
    texts = [text for case in task.cases.cases for text in task.candidates(case, task.cases.documents)]
    assert plan.prompt_tokens[CL100K] == sum(map(len, texts))
    assert (plan.requests, plan.answer_tokens) == (len(texts), 0) == (48, 0)
    assert not plan_task(task, replace(PLAIN, window=max(exact(texts)))).does_not_fit
    assert len(plan_task(task, replace(PLAIN, window=min(exact(texts)) - 1)).does_not_fit) == 2


def test_repeats_short_answers_and_windows_of_a_conversation(data: Path) -> None:
    task = load("elitr_bench_conv_dev", data)
    settings = PlanSettings({CL100K: by_characters}, answer_tokens=3, repeats=2)
    plan = plan_task(task, settings)
    sent = [
        sum(len(message.content) for message in task.messages(case, turn, ["abc"] * turn))
        for case in task.cases.cases
        for turn in range(len(case.turns))
    ]
    assert plan.prompt_tokens[CL100K] + plan.history_tokens == 2 * sum(sent)
    assert (plan.requests, plan.answer_tokens) == (2 * len(sent), 2 * 3 * len(sent))
    # A whole conversation must fit, with the budget for every answer.
    rooms = {}
    for case in task.cases.cases:
        whole = task.whole_conversation(case)
        room = len(case.turns) * task.answer_budget + AROUND_MESSAGE * len(whole)
        rooms[case.id] = room + sum(len(message.content) for message in whole)
    largest = max(rooms, key=lambda case: rooms[case])
    assert not plan_task(task, replace(settings, window=rooms[largest])).does_not_fit
    assert plan_task(task, replace(settings, window=rooms[largest] - 1)).does_not_fit == (largest,)


def test_the_case_that_does_not_fit_is_left_out_and_not_counted(data: Path) -> None:
    task = load("ethic_recall_books", data)
    sizes = {case.id: case.num_tokens[CL100K] for case in task.cases.cases}
    largest = max(sizes, key=lambda name: sizes[name])
    window = sizes[largest] + task.answer_budget + 2 * AROUND_MESSAGE
    assert not plan_task(task, replace(PLAIN, window=window)).does_not_fit
    plan = plan_task(task, replace(PLAIN, window=window - 1))
    assert plan.does_not_fit == (largest,)
    assert plan.prompt_tokens[CL100K] == sum(sizes.values()) - sizes[largest]
    assert plan.longest[CL100K] == sizes[largest]


def test_hours_and_price_go_by_the_tokenizer_that_is_named() -> None:
    plan = TaskPlan(
        "t", prompt_tokens={CL100K: 1, "own": 7_100_000}, history_tokens=100_000, answer_tokens=36_000
    )
    assert plan.hours(Rate(1_000, 10), "own") == pytest.approx(2 + 1)
    assert plan.price(Price(prompt=0.5, completion=10), "own") == pytest.approx(3.6 + 0.36)
    assert plan.hours(Rate(1_000, 10), CL100K) == pytest.approx(100_001 / 3_600_000 + 1)


def test_prompts_above_the_bound_of_the_price_list_are_counted_as_long(data: Path) -> None:
    task = load("elitr_bench_conv_dev", data)
    sent = [
        sum(len(message.content) for message in task.messages(case, turn, [None] * turn))
        for case in task.cases.cases
        for turn in range(len(case.turns))
    ]
    above = sorted(sent)[len(sent) // 2]
    price = Price(prompt=1, completion=2, above=above, long_prompt=2, long_completion=3)
    settings = PlanSettings({CL100K: by_characters}, answer_tokens=3, repeats=2, price=price)
    plan = plan_task(task, settings)
    long = [tokens for tokens in sent if tokens > above]
    assert 0 < len(long) < len(sent)
    assert (plan.long_tokens, plan.long_answer_tokens) == (2 * sum(long), 2 * 3 * len(long))
    cheap = replace(plan, history_tokens=0)
    by_hand = 2 * (sum(sent) + sum(long)) + 2 * 3 * (2 * len(sent) + 4 * len(long))
    assert cheap.price(price, CL100K) == pytest.approx(by_hand / 1e6)


def test_the_model_s_tokenizer_is_counted_beside_cl100k(data: Path) -> None:
    """A case that has one count stored is rendered for the other."""
    task = load("elitr_bench_qa_dev", data)
    case = task.cases.cases[0]
    plan = plan_case(task, case, {CL100K: exact, "own": by_characters})
    assert plan.prompts["own"] == [sum(len(message.content) for message in task.messages(case))]
    assert plan.prompts[CL100K] == [case.num_tokens[CL100K]]


def test_names_groups_and_globs_as_lm_eval_takes_them() -> None:
    groups = lm_eval_groups()
    assert expand_tasks(["ethic_recall"], groups) == [
        f"ethic_recall_{domain}" for domain in ("books", "debates", "medicine", "law")
    ]
    both = expand_tasks(["ethic_recall", "ethic_recall_synthetic"], groups)
    assert sorted(expand_tasks(["ethic_recall_*,ethic_recall", "ethic_recall"], groups)) == sorted(both)
    everything = expand_tasks(["lct_official"], groups)
    assert everything == [*dict.fromkeys(everything)] and len(everything) > 30
    with pytest.raises(InputError, match=r"'ethic_recal'; did you mean: ethic_recall"):
        expand_tasks(["ethic_recal"], groups)
    with pytest.raises(InputError, match="no tasks"):
        expand_tasks([","], groups)
    # lm-eval's group of this name has only some of the benchmark's tasks.
    assert (
        set(expand_tasks(["ethic_*"], groups))
        == set(expand_tasks(["ethic"], groups))
        == {spec.name for spec in catalogue.task_specs() if spec.benchmark == "ethic"}
    )


def test_lct_official_is_what_opencompass_calls_official() -> None:
    from long_context_tasks.hosts.opencompass.configs import task_groups

    theirs = [name for one in catalogue.benchmark_names() for name in task_groups(one).get(f"{one}_gen", ())]
    assert sorted(expand_tasks(["lct_official"], lm_eval_groups())) == sorted(theirs)


def test_lm_eval_expands_to_the_same_tasks() -> None:
    pytest.importorskip("lm_eval")
    from lm_eval.tasks import TaskManager

    from long_context_tasks.hosts.lm_eval.task_files import task_folder

    manager = TaskManager(include_defaults=False, include_path=str(task_folder()))
    groups = lm_eval_groups()
    assert set(groups) == set(manager.all_groups)
    for word in ("lct_official", "lct_synthetic", "ada_leval_tsort_[24]k*"):
        matched = manager.match_tasks([word])
        listed = {name for name in expand_tasks([word], groups) if parse_task(name).listed}
        assert set(expand_tasks(matched, groups)) == listed


def test_missing_data_are_named_and_do_not_stop_the_others(data: Path) -> None:
    names = ["ada_leval_tsort_any", "ada_leval_tsort_2k", "ethic_single_qa_books"]
    plan = make_plan(names, resolve_options({"lct_data_dir": data}, {}), PLAIN)
    assert [one.task for one in plan.tasks] == ["ada_leval_tsort_2k"]
    assert list(plan.not_planned) == ["ada_leval_tsort_any", "ethic_single_qa_books"]
    assert "lct_length=8k" in plan.not_planned[names[0]] and "lct build" in plan.not_planned[names[2]]
    assert plan.total.cases == plan.tasks[0].cases == 3
