"""Models that read a context once: where it ends, copies of its cache, and the same answers as the host's own model."""

import sys
from typing import Any

import pytest
from context_runs import reads, responses
from tiny_model import make_tiny_model

from long_context_tasks.hosts.lm_eval.models.kvpress import find_press, make_press
from long_context_tasks.schema import InputError

MEETINGS, CHOICES = "elitr_bench_qa_nano", "ada_leval_bestanswer_1k_synthetic"
TASKS = (MEETINGS, "ethic_recall_medicine_synthetic", CHOICES)


@pytest.mark.parametrize(
    ("prompt", "context", "before_question"),
    [
        ("System. The text. Who?", "The text.", "System. The text."),
        # The question repeats the context's end; an answer of the history too.
        ("One.\n\nTwo. Is it Two.?", "One.\n\nTwo.", "One.\n\nTwo."),
        # Designations between the texts, and an answer of two paragraphs.
        ("A1: a\n\nb A2: c\n\nd Which?", "a\n\nb\n\nc\n\nd", "A1: a\n\nb A2: c\n\nd"),
        ("Sort: x y", "x y", "Sort: x y"),
        ("The text was cut he", "The text was cut here.", None),
        ("Any.", " \n", None),
    ],
)
def test_the_question_begins_behind_the_context(
    prompt: str, context: str, before_question: str | None
) -> None:
    pytest.importorskip("lm_eval")
    from long_context_tasks.hosts.lm_eval.models.shared_context import context_end

    end = context_end(prompt, context)
    assert (None if end is None else prompt[:end]) == before_question


def test_a_press_is_found_by_its_name_or_refused_with_the_known_ones() -> None:
    known = {"StreamingLLMPress": 1, "SnapKVPress": 2, "TOVAPress": 3}
    assert find_press("streaming-llm-press", known) == 1
    with pytest.raises(InputError, match=r"h2o: unknown; kvpress has SnapKV, StreamingLLM, TOVA"):
        find_press("h2o", known)


def test_without_kvpress_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kvpress", None)
    with pytest.raises(InputError, match=r"pip install 'long_context_tasks\[kvpress\]'"):
        make_press("snapkv", 0.5, {})


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Random weights, large ones, so that answers differ."""
    folder = tmp_path_factory.mktemp("model")
    return str(make_tiny_model(folder, max_position_embeddings=2000, initializer_range=0.3))


@pytest.fixture(scope="module")
def whole(tiny_path: str) -> Any:
    """Our model, which keeps the whole cache."""
    pytest.importorskip("lm_eval")
    from long_context_tasks.hosts.lm_eval.models.kvpress import KVPressLM

    return KVPressLM(tiny_path, press="none", device="cpu")


@pytest.mark.hosts
def test_without_a_press_answers_are_the_hosts_to_the_byte(tiny_path: str, whole: Any) -> None:
    from lm_eval.models.huggingface import HFLM

    host = HFLM(tiny_path, device="cpu")
    for task in TASKS:
        wanted = responses(host, task)
        assert len(set(wanted)) > 1
        with reads(whole) as lengths:
            assert responses(whole, task) == wanted
        # Two questions on a meeting share it; in the other tasks each has its own.
        assert len(lengths) == (len(wanted) // 2 if task == MEETINGS else len(wanted))
        assert min(lengths) > 400


@pytest.mark.hosts
def test_a_question_leaves_the_cache_as_it_was(whole: Any) -> None:
    read = whole.read(range(5, 40))
    before = [layer.keys.clone() for layer in read.cache.layers]
    settings = {"until": [], "do_sample": False, "max_gen_toks": 3}
    first, again = (whole._answer(read, [*range(5, 40), 7, 8], settings, keep=True) for _ in range(2))
    assert first == again
    assert all(
        bool((layer.keys == keys).all()) for layer, keys in zip(read.cache.layers, before, strict=True)
    )


@pytest.mark.hosts
def test_layers_may_keep_different_shares(whole: Any) -> None:
    import copy

    ids, question = list(range(5, 40)), [7, 8, 9]
    cache = whole.read(ids).cache
    at_once = whole._ask(copy.deepcopy(cache), question, len(ids))
    one_by_one = copy.deepcopy(cache)
    for place, one in enumerate(question):
        last = whole._ask(one_by_one, [one], len(ids) + place)
    assert bool((at_once - last).abs().max() < 1e-4)
    cache.layers[1].keys, cache.layers[1].values = (
        cache.layers[1].keys[:, :, :-9],
        cache.layers[1].values[:, :, :-9],
    )
    whole._ask(cache, question, len(ids))
    assert [cache.get_seq_length(layer) for layer in range(2)] == [38, 29]


@pytest.mark.hosts
def test_what_cannot_be_answered_is_named(whole: Any) -> None:
    from lm_eval.api.instance import Instance

    from long_context_tasks.hosts.lm_eval.task import CaseInstance

    arguments = ("A prompt.", {"until": [], "max_gen_toks": 2})
    foreign = Instance(
        request_type="generate_until",
        doc={},
        arguments=arguments,
        idx=0,
        metadata=("other", 0, 1),
        task_name="other",
        doc_id=0,
    )
    with pytest.raises(InputError, match=r"other: this model takes tasks of long_context_tasks only"):
        whole.generate_until([foreign])
    cut = CaseInstance(
        "generate_until",
        {"case": "a"},
        arguments,
        idx=0,
        metadata=("ours", 0, 1),
        context=lambda: "Some text.",
    )
    with pytest.raises(InputError, match=r"ours, case a: its prompt does not contain the end of its context"):
        whole.generate_until([cut])
    with pytest.raises(InputError, match="decodes greedily"):
        responses(whole, CHOICES, limit=1, gen_kwargs="do_sample=true,temperature=0.7")
