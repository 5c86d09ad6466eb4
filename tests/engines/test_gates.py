"""``lct gate`` on real servers of the demo model: a cache of prefixes passes, half a cache fails, a wrong RoPE base is named."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_runs import vllm_server
from plugins import installed
from typer.testing import CliRunner

from long_context_tasks.cli import app

pytestmark = pytest.mark.engines
EASY = Path(__file__).parents[1] / "gate" / "easy"


@pytest.fixture(scope="module", autouse=True)
def easy_benchmark() -> Iterator[None]:
    """No task of ours is easy enough for a model of 135 M parameters to lose anything."""
    with installed(EASY):
        yield


def gate(a: str, b: str, out: Path, *more: str) -> dict[str, Any]:
    words = ["gate", a, b, "--tasks", "facts_likes", "--n", "60", "--batch", "6", "--within", "20"]
    words += more if "--length" in more else ("--length", "64", *more)
    done = CliRunner().invoke(app, [*words, "--out", str(out), "--json"])
    assert done.exit_code in (0, 1, 2) and done.stdout, done.output
    found: dict[str, Any] = json.loads(done.stdout)["result"]
    return found


@pytest.mark.skipif(not os.environ.get("LCT_VLLM"), reason="LCT_VLLM names no environment with vLLM")
def test_vllm_with_a_cache_of_prefixes_is_as_good_as_without(tmp_path: Path) -> None:
    window = ("--max-model-len", "1024")
    with (
        vllm_server(tmp_path / "on.log", *window, "--enable-prefix-caching") as on,
        vllm_server(tmp_path / "off.log", *window, "--no-enable-prefix-caching") as off,
    ):
        found = gate(f"{on}/v1", f"{off}/v1", tmp_path / "caching")
        assert (found["verdict"], found["faults"]) == ("PASS", [])
    overrides = json.dumps({"rope_parameters": {"rope_type": "default", "rope_theta": 100.0}})
    with (
        vllm_server(tmp_path / "lost.log", *window, "--hf-overrides", overrides) as lost,
        vllm_server(tmp_path / "whole.log", *window) as whole,
    ):
        found = gate(f"{lost}/v1", f"{whole}/v1", tmp_path / "rope")
        assert found["verdict"] == "FAIL"
        assert "RoPE settings differ" in [one["name"] for one in found["faults"]]


# The model loses nothing with a base of 10,000 on texts of 250 tokens; its positions are other ones all the same.
@pytest.mark.parametrize(
    ("base", "length", "verdict"), [(100.0, (), "FAIL"), (10_000.0, ("--length", "250"), "PASS")]
)
def test_a_wrong_rope_base_is_named_and_fails_where_it_costs(
    base: float, length: tuple[str, ...], verdict: str, tmp_path: Path
) -> None:
    from small_server import small_server

    with small_server() as whole, small_server(rope_theta=base) as lost:
        found = gate(lost.url, whole.url, tmp_path, *length)
        strict = gate(lost.url, whole.url, tmp_path, *length, "--strict")
    assert (found["verdict"], strict["verdict"]) == (verdict, "FAIL")
    assert "RoPE settings differ" in [one["name"] for one in found["faults"]]


def test_half_a_cache_fails(tmp_path: Path) -> None:
    pytest.importorskip("kvpress", reason="kvpress is not installed (make test-kvpress)")
    from small_server import small_server

    from long_context_tasks.hosts.lm_eval.models.kvpress import make_press

    with small_server() as whole, small_server(press=make_press("streaming_llm", 0.5, {})) as half:
        found = gate(half.url, whole.url, tmp_path)
    assert found["verdict"] == "FAIL"
    # The weights and positions are the same.
    assert "RoPE settings differ" not in [one["name"] for one in found["faults"]]
