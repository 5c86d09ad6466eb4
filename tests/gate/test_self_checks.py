"""The self-checks of stacks: each fault is named, and similar behaviour without a fault is not."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from known_server import known_server
from tiny_model import make_rope_checkpoint

from long_context_tasks.gate import checks
from long_context_tasks.gate.stacks import GateCell, StackAnswer
from long_context_tasks.hosts.stored import LM_EVAL, StoredRun
from long_context_tasks.judges.verdict import Reply
from long_context_tasks.schema import Message

WHOLE = [[-1.0, -2.0, -0.5, -3.0, -1.5]] * 8


def shifted(first: float, later: float) -> list[list[float]]:
    """Shift likelihoods by a number of nats after one token and after more."""
    return [[one[0] + first, *(value + later for value in one[1:])] for one in WHOLE]


def apart(first: float, later: float) -> list[str]:
    """Return the faults of two stacks that differ by these numbers of nats."""
    return [one.name for one in checks._rope_apart(WHOLE, shifted(first, later))]


def test_positions_are_told_from_precision() -> None:
    # As measured of SmolLM2-135M: base 10,000 for 100,000; linear factor 2; bfloat16; 8 and 4 bits a weight.
    assert apart(0.0, 0.35) == apart(0.0, 1.1) == ["RoPE settings differ"]
    assert apart(0.04, 0.04) == apart(0.07, 0.09) == apart(0.2, 1.5) == apart(0.0, 0.0) == []
    assert checks._rope_apart([[]] * 8, WHOLE) == []


def test_a_second_bos_and_another_template_are_seen_in_the_tokens(
    right: dict[str, str], tmp_path: Path
) -> None:
    from test_gate import gate, names

    with (
        known_server(right, 0.9, ids=(1, 5, 6)) as good,
        known_server(right, 0.9, ids=(1, 1, 5, 6)) as double,
        known_server(right, 0.9, ids=(1, 7, 6)) as other,
    ):
        assert names(gate(double.url, good.url, tmp_path / "a")[1]) == [("A", "double BOS")]
        assert names(gate(good.url, double.url, tmp_path / "b")[1]) == [("B", "double BOS")]
        assert names(gate(other.url, good.url, tmp_path / "c")[1]) == [("A and B", "chat templates differ")]


class Template:
    """A tokenizer of whole numbers, whose chat template is the text of a prompt."""

    bos_token_id = 1

    def apply_chat_template(self, rows: list[dict[str, str]], **_: Any) -> str:
        return rows[0]["content"]

    def __call__(self, text: str, **_: Any) -> Any:
        return SimpleNamespace(input_ids=list(map(int, text.split())))


@pytest.mark.parametrize(
    ("counted", "expected", "bos", "name"),
    [
        ((101, 1001), (100, 1000), 1, "double BOS"),
        ((101, 1001), (100, 1000), 0, "chat templates differ"),
        ((90, 900), (100, 1000), 1, "tokenizers differ"),
        ((100, 512), (100, 1000), 1, "cut prompts"),
        ((512, 512), (990, 1000), 1, "cut prompts"),
        ((100, 1000), (100, 1000), 1, ""),
    ],
)
def test_the_tokenizers_own_count_is_held_against_the_servers(
    counted: tuple[int, int],
    expected: tuple[int, int],
    bos: int,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "_tokenizer", lambda _: Template())
    prompts = {str(place): " ".join([str(bos), *["7"] * (n - 1)]) for place, n in enumerate(expected)}
    task = SimpleNamespace(
        by_id={case: SimpleNamespace(id=case, num_tokens={}) for case in prompts},
        messages=lambda case: [Message("user", prompts[case.id])],
    )
    cells = {"cell": replace(GateCell("cell", "", None, {}), task=task)}
    answers = {
        ("cell", str(place)): StackAnswer((1.0,), (None,), (), (Reply("A1", n, 5, "stop"),))
        for place, n in enumerate(counted)
    }
    found = checks.check_replies({"A": answers, "B": answers}, cells, "some/tokenizer")
    assert [(one.side, one.name) for one in found] == [(side, name) for side in "AB" if name]


@pytest.mark.parametrize(
    ("a", "b", "side", "name"),
    [
        ((100, 512, 512), (100, 900, 1000), "A", "cut prompts"),
        ((900, 1000), (512, 512), "B", "cut prompts"),
        ((90, 810, 900), (100, 900, 1000), "A and B", "tokenizers differ"),
        ((150, 1049), (100, 1000), "A and B", "chat templates differ"),
    ],
)
def test_the_counts_of_both_servers_are_held_against_one_another(
    a: tuple[int, ...], b: tuple[int, ...], side: str, name: str
) -> None:
    of_a = {("cell", str(place)): n for place, n in enumerate(a)}
    of_b = {("cell", str(place)): n for place, n in enumerate(b)}
    found = checks._compare_counts("A", of_a, of_b, "B's")
    assert [(one.side, one.name) for one in found] == [(side, name)]


def test_both_servers_that_cut_prompts_are_named() -> None:
    case = SimpleNamespace(num_tokens={"cl100k": 1000})
    cells = {"cell": replace(GateCell("cell", "", None, {}), task=SimpleNamespace(by_id={"1": case}))}
    answers = {("cell", "1"): StackAnswer((1.0,), (None,), (), (Reply("A1", 400, 5, "stop"),))}
    found = checks.check_replies({"A": answers, "B": answers}, cells)
    assert [(one.side, one.name) for one in found] == [("A", "cut prompts"), ("B", "cut prompts")]


def test_few_answers_that_end_in_thinking_are_no_fault() -> None:
    right = StackAnswer((1.0,), (None,), (), (Reply("A1", 10, 5, "stop"),))
    cut = replace(right, scores=(0.0,), reasons=("answer_cut",))
    cells: dict[str, GateCell] = {"cell": GateCell("cell", "", None, {})}

    # A server may keep the thinking to itself.
    hidden = StackAnswer((0.0,), ("empty",), (), (Reply("", 10, 8, "length"),))

    def named(n: int, cut: StackAnswer) -> list[str]:
        answers = {("cell", str(i)): cut if i < n else right for i in range(100)}
        return [one.name for one in checks.check_replies({"A": answers, "B": answers}, cells)]

    for ended in (cut, hidden):
        assert named(5, ended) == [] and named(6, ended) == ["thinking eats the answer budget"] * 2


def run(**provenance: Any) -> StoredRun:
    return StoredRun(
        host=LM_EVAL, model="owl", task="t", options={}, version=1, folder=Path(), label="t", made="1", files=(),
        read=lambda _: iter(()), provenance=provenance,
    )  # fmt: skip


@pytest.mark.slow
def test_stored_runs_tell_of_rotary_settings_and_templates() -> None:
    def named(a: StoredRun, b: StoredRun) -> list[tuple[str, str]]:
        return [
            (one.side, one.name) for one in checks.check_runs([GateCell("t", "", None, {}, {"A": a, "B": b})])
        ]

    whole = run(rope="default, base 1e+06", chat_template_sha="11")
    assert named(whole, whole) == []
    assert named(run(rope="yarn, factor 4, base 10000"), whole) == [("A and B", "RoPE settings differ")]
    assert named(run(rope="default, base 1e+06", chat_template_sha="12"), whole) == [
        ("A and B", "chat templates differ")
    ]


@pytest.mark.slow
def test_a_lost_base_is_named_by_the_runs_own_checkpoint(tmp_path: Path) -> None:
    folder = make_rope_checkpoint(tmp_path / "llama", "Llama")
    lost = run(rope="yarn, factor 4, base 10000", model_args=f"pretrained={folder},dtype=auto")
    whole = run(rope="default, base 1e+06", model_args={"pretrained": str(folder)})
    found = checks.check_runs(
        [GateCell("t", "", None, {}, {"A": lost}), GateCell("u", "", None, {}, {"B": whole})]
    )
    assert [(one.side, one.name) for one in found] == [("A", "lost RoPE base")]
    assert "base 1e+06" in found[0].text
