"""``lm_eval --model lct_kvpress``: presses of kvpress on a random model, and on the small one.

``make test-kvpress`` makes an environment of its own for it.
"""

from typing import Any

import pytest
from context_runs import reads, responses
from tiny_model import demo_model, make_tiny_model

from long_context_tasks.hosts.lm_eval.models.kvpress import _offered, make_press, moves_keys
from long_context_tasks.schema import InputError

pytest.importorskip("kvpress", reason="kvpress is not installed (make test-kvpress)")
pytestmark = pytest.mark.engines

MEETINGS = "elitr_bench_qa_nano"
PRESSES = ("streaming_llm", "snapkv", "expected_attention", "knorm", "tova", "pyramid_kv", "keydiff", "lagkv")
# They change values or scores of a head's cache, or its length by layer; or they move what is left.
AROUND = ("key_rerotation+streaming_llm", "ada_kv+snapkv", "chunk_kv+knorm", "criticalkv+expected_attention")
ELSEWHERE = {
    "DuoAttention", "ExpectedAttentionStats", "FastKVzip", "KVzap", "LUKV", "QFilter", "RestoreKV"
}  # fmt: skip
"""They load weights for the models that they know."""


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    return str(make_tiny_model(folder, max_position_embeddings=2000, initializer_range=0.3))


def model(path: str, press: str, ratio: float | None = None, **more: Any) -> Any:
    from long_context_tasks.hosts.lm_eval.models.kvpress import KVPressLM

    return KVPressLM(path, press=press, ratio=ratio, device="cpu", **more)


@pytest.fixture(scope="module")
def whole(tiny_path: str) -> Any:
    return model(tiny_path, "none")


@pytest.mark.parametrize("press", [*PRESSES, *AROUND])
def test_ratio_0_changes_nothing_and_half_a_cache_does(press: str, tiny_path: str, whole: Any) -> None:
    ids = whole.tok_encode("The weather was mild that day. A bus stopped near the old market. " * 20)
    question = [7, 8, 9]
    wanted = whole._ask(whole.read(ids).cache, question, len(ids))
    logits = []
    for ratio in (0.0, 0.5):
        pressed = model(tiny_path, press, ratio)
        read = pressed.read(ids)
        assert read.position == (read.cache.get_seq_length() if "rotation" in press else len(ids))
        logits.append(pressed._ask(read.cache, question, read.position))
    assert bool((logits[0] - wanted).abs().max() < 1e-4)
    assert bool((logits[1] - wanted).abs().max() > 1e-2)


def test_half_of_the_context_is_kept_and_all_of_the_question(tiny_path: str) -> None:
    pressed = model(tiny_path, "streaming_llm", 0.5, press_n_sink=2)
    read = pressed.read(range(5, 105))
    assert read.position == 100 and read.cache.get_seq_length() == 50
    pressed._ask(read.cache, [7, 8, 9], 100)
    assert read.cache.get_seq_length() == 53


@pytest.mark.parametrize("press", ["streaming_llm", "snapkv"])
def test_ratio_0_gives_the_hosts_answers_of_the_small_model(press: str) -> None:
    from lm_eval.models.huggingface import HFLM

    path = str(demo_model())
    pressed = model(path, press, 0.0, dtype="float32")
    with reads(pressed) as lengths:
        found = responses(pressed, MEETINGS, limit=4)
    assert found == responses(HFLM(path, device="cpu", dtype="float32"), MEETINGS, limit=4)
    assert len(lengths) == 2  # two questions on each of two meetings


def test_every_press_on_offer_works_or_says_why(tiny_path: str) -> None:
    """With a press inside where it needs one; those that need weights of their own are not tried."""
    ids = list(range(5, 205))
    for name in sorted(_offered()):
        short = name.removesuffix("Press")
        if short in ELSEWHERE:
            continue
        more = {"attn_implementation": "eager"} if short == "ObservedAttention" else {}
        try:
            pressed = _any(tiny_path, short, **more)
        except InputError as error:
            assert "takes no ratio" in str(error), error
            pressed = (
                model(tiny_path, "dms+knorm", press_threshold=-5.0)
                if short == "DMS"
                else model(tiny_path, short)
            )
        read = pressed.read(ids)
        assert pressed._ask(read.cache, [7, 8], read.position).isfinite().all(), name


def _any(path: str, name: str, **more: Any) -> Any:
    try:
        return model(path, name, 0.5, **more)
    except InputError as error:
        if "needs a press inside" not in str(error):
            raise
        return model(path, f"{name}+snapkv", 0.5, press_window_size=16, **more)


@pytest.mark.parametrize(
    ("press", "ratio", "settings", "said"),
    [
        ("h2o", 0.5, {}, "press=h2o: unknown; kvpress has AdaKV, Block, "),
        ("snapkv", None, {}, "press=snapkv: how much is dropped"),
        ("snapkv", 1.0, {}, "ratio=1.0: the share"),
        (
            "snapkv",
            0.5,
            {"n_sink": 4},
            "has no setting n_sink; it has compression_ratio, kernel_size, window_size",
        ),
        ("adakv", 0.5, {}, r"needs a press inside; write adakv\+snapkv"),
        ("adakv+think", 0.5, {}, "kvpress refuses its settings"),
        ("snapkv+knorm", 0.5, {}, "SnapKVPress takes no other press"),
        ("sim_layer_kv", 0.5, {}, "takes no ratio but settings of its own"),
    ],
)
def test_a_wrong_press_is_refused(
    press: str, ratio: float | None, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        make_press(press, ratio, settings)


def test_positions_move_only_where_keys_are_rotated_anew() -> None:
    assert moves_keys(make_press("key_rerotation+streaming_llm", 0.5, {}))
    assert not moves_keys(make_press("adakv+snapkv", 0.5, {}))


def test_likelihoods_are_refused(tiny_path: str) -> None:
    with pytest.raises(InputError, match="use press=none"):
        model(tiny_path, "knorm", 0.5).loglikelihood_rolling([])
