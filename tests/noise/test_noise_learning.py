"""Learning rules, files of rules and pairs, official noise on small texts, and the command."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_commands import lct

from long_context_tasks.noise import (
    Rules,
    default_rules,
    inject,
    learn,
    official_rules,
    read_pairs,
    word_error_rate,
)
from long_context_tasks.noise.error_rules import align_words
from long_context_tasks.noise.official import RuleTable, _draw, align, calibrate
from long_context_tasks.schema import InputError

WORDS = st.lists(
    st.sampled_from(["a", "we", "um", "the", "they", "cat", "data", "model", "models", "okay"]), max_size=10
)
PAIRS = [
    ("So, we are going to discuss the anon speech corpus.", "so we're going to discuss an on speech corpus"),
    ("(PERSON1) Okay, the the model is ready.", "okay the model is ready uh"),
    ("two point six percent", "2.6 percent"),
]


def test_rules_count_the_forms_of_each_word() -> None:
    counts = learn(PAIRS).counts
    assert counts["anon"] == {"an on": 1}
    assert counts["the"] == {"the": 1, "": 2}
    assert counts["model"] == {"model": 1}
    assert counts[""] == {"uh": 1}
    assert "person1" not in counts
    assert counts["percent"] == {"percent": 1} and "two" not in counts  # numbers differ in writing only


def test_rare_errors_of_another_spelling_are_left_out() -> None:
    counts = learn([("a model", "a market")] * 2 + [("a model", "a motel"), ("a model", "a burger")]).counts
    assert counts["model"] == {"market": 2, "motel": 1}


@given(WORDS, WORDS)
def test_alignment_keeps_every_word(left: list[str], right: list[str]) -> None:
    pairs = list(align_words(left, right))
    assert [word for word, _ in pairs if word] == left
    assert " ".join(form for _, form in pairs).split() == right


@pytest.mark.parametrize(
    ("left", "right", "gap", "path"),
    [  # outputs of pairwise2.align.globalcx (words) and globalms(..., 0, -1, -1, -1) (characters) of Biopython 1.85
        ("a a", "a", 0.0, [(0, -1), (1, 0)]),
        ("a b a", "b a b", 0.0, [(0, -1), (1, 0), (2, 1), (-1, 2)]),
        ("x y", "z", 0.0, [(0, -1), (1, -1), (-1, 0)]),
        ("x", "y z", 0.0, [(0, -1), (-1, 0), (-1, 1)]),
        ("aab", "abab", 1.0, [(0, 0), (-1, 1), (1, 2), (2, 3)]),
        ("cat a", "ca ta", 1.0, [(0, 0), (1, 1), (2, -1), (3, 2), (-1, 3), (4, 4)]),
        ("ananas", "banana", 1.0, [(-1, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, -1)]),
    ],
)
def test_ties_are_broken_as_by_biopython(
    left: str, right: str, gap: float, path: list[tuple[int, int]]
) -> None:
    first, second = (list(text) if gap else text.split() for text in (left, right))
    scores = np.array([[float(a == b) - gap for b in second] for a in first])
    assert align(scores, gap) == path


@pytest.mark.parametrize(
    ("pairs", "characters", "rates", "rules"),
    [  # as the official code writes them
        pytest.param(
            [("a b", ""), ("", "c")],
            False,
            [1 / 3, 2 / 3, 0, 0],
            [("a", {}), ("b", {}), ("", {"c": 1})],
            id="empty",
        ),
        pytest.param(
            [("a - b", "a - b"), ("b -", "b x")],
            False,
            [1 / 6, 2 / 6, 3 / 6, 0],
            [("a", {}), ("", {"x": 1}), ("b", {})],
            id="hyphens on both sides are a deletion",
        ),
        pytest.param(
            [("- Covid-19 said", "a Corbett 19 said"), ("it was", "i twas a")],
            True,
            [0, 0, 1, 3 / 4],
            [("Covid19", {"Corbett": 1}), ("said", {}), ("it", {"i": 1}), ("was", {"twas a": 1})],
            id="distances are without hyphens, a reference of hyphens is not counted",
        ),
        pytest.param(
            [("cut well-known", "cut well - know n")],
            True,
            [0, 0, 1, 1 / 2],
            [("cut", {}), ("wellknown", {"well  know n": 1})],
            id="spaces within a form stay",
        ),
    ],
)
def test_official_rules(
    pairs: list[tuple[str, str]],
    characters: bool,
    rates: list[float],
    rules: list[tuple[str, dict[str, float]]],
) -> None:
    first, *others = official_rules(pairs, characters=characters)
    assert list(first[1].values()) == pytest.approx(rates)
    assert others == rules


def test_official_mode_protects_nothing_and_keeps_lines() -> None:
    rules = Rules({"(PERSON1)": {"person": 3}, "yes": {"yes": 1, "": 1}})
    noisy = inject("(PERSON1) yes\n\n  yes unknown ", rules, 1.0, 3, "official")
    assert noisy.text == "person\n\nunknown"
    assert noisy.measured_wer == 0.75


def test_a_draw_just_below_a_border_takes_the_form_below_it() -> None:
    table = RuleTable({f"w{n}": {"a": 1, "b": 2, f"w{n}": 4} for n in range(5000)})
    result = calibrate(table, dict.fromkeys(table.index, 0) | {"w4999": 1}, 0.4)
    sums = np.cumsum(result.probabilities[result.starts[4999] : result.starts[5000]])
    border = sums[0] / sums[-1]
    drawn = _draw(result, np.array([4999, 4999]), np.array([np.nextafter(border, 0), border]))
    assert [table.forms[result.cells[place]] for place in drawn] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "rules", "message"),
    [
        ("yes yes", Rules({"yes": {"no": 1}}), "cannot be scaled"),
        ("yes yes", Rules({"yes": {"no": 0}}), "only zero counts"),
        ("yes\0yes", default_rules(), "NUL"),
    ],
)
def test_official_mode_names_unusable_input(text: str, rules: Rules, message: str) -> None:
    with pytest.raises(InputError, match=message):
        inject(text, rules, 0.4, 0, "official")


def test_default_rules() -> None:
    rules = default_rules()
    assert len(rules) > 20_000
    assert 0.1 < rules.shares.rate < 0.3
    shares = (rules.shares.substitution, rules.shares.deletion, rules.shares.insertion)
    assert sum(shares) == pytest.approx(1) and min(shares) > 0.05
    assert rules.counts["two"]["to"] > rules.counts["two"]["too"]


@pytest.mark.parametrize("name", ["rules.jsonl", "rules.jsonl.gz"])
def test_rules_are_read_as_written(tmp_path: Path, name: str) -> None:
    rules = learn(PAIRS)
    rules.write(tmp_path / name)
    first = (tmp_path / name).read_bytes()
    assert Rules.read(tmp_path / name).counts == rules.counts
    rules.write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_rules_are_read_as_by_the_official_loader(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(
        '{"<unk>": {"p_insert": 0.1}}\n{"a": {"b": 1}}\n\n{"two words": {"c": 1}}\n{"a": {"d": 2}}\n'
    )
    assert Rules.read(path).counts == {"a": {"d": 2}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "holds no rules"),
        (b'{"a": {"b": 1}}\n{"a": ', "line 2: not JSON"),
        (b'{"a": {"b": 1}}\n\n{"a": 3}', "line 3: not a rule"),
        (b'{"a": {"b": -1}}', "line 1: not a rule"),
        (b'{"a": {"b": NaN}}', "line 1: not a rule"),
        (b'{"a": {"b": true}}', "line 1: not a rule"),
        (b"[1]", "line 1: not a rule"),
        (b"\xff\xfe", "cannot be read"),
        (gzip.compress(b'{"a": {"b": 1}}' * 50, mtime=0)[:40], "cannot be read"),
    ],
)
def test_bad_rules(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "rules.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        Rules.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "row 2: not JSON"),
        ("[]", "row 2: not a JSON object"),
        ('{"ref": "a"}', "row 2: ref and hyp"),
        ('{"truth": "a", "asr_hypothesis": ["b", 1]}', "row 2: truth and asr_hypothesis"),
    ],
)
def test_malformed_pairs(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"ref": "a", "hyp": "b"}\n' + line)
    with pytest.raises(InputError, match=message):
        list(read_pairs(path))


def test_pairs_of_some_sources_and_of_red_ace_as_published(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    red_ace = {"truth": "it was cold", "asr_model": "default", "asr_hypothesis": ["it", "twas", "cold"]}
    rows = [
        {"ref": "a", "hyp": "b", "source": "x/1"},
        {"reference": "c", "hypothesis": "", "source": "y"},
        red_ace,
    ]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert list(read_pairs(path)) == [("a", "b"), ("c", ""), ("it was cold", "it twas cold")]
    assert list(read_pairs(path, sources=["x"])) == [("a", "b")]
    with pytest.raises(InputError, match="no pairs of the sources z"):
        list(read_pairs(path, sources=["z"]))


def test_the_word_error_rate_splits_at_white_space() -> None:
    assert word_error_rate("a b c d", "a x c\nd e") == 0.5
    with pytest.raises(InputError, match="no words"):
        word_error_rate(" ", "a")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.txt").write_text("we are ready")
    Path("empty.txt").write_text("\n")
    Path("pairs.jsonl").write_text("\n".join(json.dumps({"ref": a, "hyp": b}) for a, b in PAIRS))
    Path("wordless.jsonl").write_text('{"ref": " ", "hyp": ""}')
    Path("cut.jsonl").write_text('{"ref": "a b", "hyp": "a"}\n{"ref": "a')


@pytest.mark.usefixtures("files")
def test_command() -> None:
    Path("m.txt").write_bytes(
        b"(PERSON1) We discuss the model.\r\nThe corpus is ready, we are going.\r\n" * 50
    )
    done = lct("noise", "learn", "pairs.jsonl", "-o", "rules")
    assert done.code == 0 and "14 words" in done.out
    done = lct("noise", "inject", "--rules", "rules", "--wer", "0.4", "m.txt", "-o", "noisy.txt")
    target, measured = map(float, re.findall(r"[\d.]+(?= %)", done.err))
    assert done.code == 0 and target == 40 and abs(measured - target) < 1 and done.out == ""
    assert Path("noisy.txt").read_bytes().count(b"\r\n") == 100
    first, second = (lct("noise", "inject", "--wer", "0.4", "m.txt") for _ in range(2))
    assert first.out == second.out
    done = lct("noise", "learn", "pairs.jsonl", "-o", "rules", "--official-rules", "words")
    rates = json.loads(Path("rules").read_text().split("\n")[0])["<unk>"]
    assert done.code == 0 and rates["p_transmit"] > 0.5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("inject --wer 1.4 m.txt", "Invalid value for '--wer'"),
        ("inject --wer 0.4 m.txt -o .", ".: cannot be written"),
        ("inject --wer 0.4 none.txt", "none.txt: cannot be read"),
        ("inject --wer 0.4 empty.txt", "empty.txt: the text holds no words"),
        ("inject --wer 0.4 --rules none m.txt", "none: the rules cannot be read"),
        ("inject --wer 0.4 --mode loud m.txt", "is not one of"),
        ("learn pairs.jsonl -o no/folder/rules", "no/folder/rules: cannot be written"),
        ("learn wordless.jsonl -o rules", "wordless.jsonl: the references hold no words"),
        ("learn wordless.jsonl -o rules --official-rules words", "wordless.jsonl: the pairs hold no words"),
        ("learn cut.jsonl -o rules", "cut.jsonl, row 2: not JSON"),
        ("learn pairs.jsonl -o rules --language de1", "--language de1: give a code"),
        ("learn pairs.jsonl -o rules --language de --official-rules words", "leave out one"),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_input_of_the_command(words: str, message: str) -> None:
    done = lct("noise", *words.split())
    assert done.code == 2 and message in done.err
    assert not Path("rules").exists()


GERMAN = (
    "Wir haben gestern über den Haushalt gesprochen, und heute müssen wir entscheiden, wer das Geld bekommt. "
    * 5
)


@pytest.mark.parametrize("mode", ["exact", "official"])
@pytest.mark.parametrize("text", [GERMAN, "张三：我们今天讨论预算。\n" * 40, "李四：同意。"])
def test_rules_for_english_refuse_other_languages(text: str, mode: str) -> None:
    with pytest.raises(
        InputError, match=r"the text is not English and the rules are for English; learn .*--language"
    ):
        inject(text, default_rules(), 0.4, 1, mode)


def test_rules_that_name_their_language_are_used_for_it(tmp_path: Path) -> None:
    pairs, text, rules = (tmp_path / name for name in ("pairs.jsonl", "text.txt", "rules.jsonl"))
    pairs.write_text(json.dumps({"ref": "den Haushalt heute", "hyp": "den Haushalt Häute"}), encoding="utf-8")
    text.write_text(GERMAN, encoding="utf-8")
    for words, code in (((), 2), (("--language", "de"), 0)):
        assert lct("noise", "learn", pairs, "-o", rules, *words).code == 0
        assert Rules.read(rules).language == "".join(words[1:])
        done = lct("noise", "inject", text, "--wer", "0.6", "--rules", rules)
        assert done.code == code, done.err
        assert "häute" in done.out if words else "do not name their language" in done.err


def test_technical_words_and_short_texts_are_english_enough() -> None:
    text = (
        "The quinoxaline batch of Przybylski's reactor, xylometazoline too, is in vat 7 as we said on Monday. "
        * 3
    )
    for own in (text, "Zyxglk!"):
        assert inject(own, default_rules(), 0.2, 1).text
