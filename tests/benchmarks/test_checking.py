"""`lct check` finds planted mistakes, names file and remedy, and finds none in sound benchmarks."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins import installed, package_on_page
from typer.testing import CliRunner

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.checking import check_benchmark
from long_context_tasks.cli import app
from long_context_tasks.schema import InputError

TOYS = Path(__file__).parents[1] / "contract" / "toys"
CARD, CLASS, DATA = "card.yaml", "__init__.py", "data.py"
TURN = "(turn,), key"
BOUNDED = "__import__('typing').Annotated[int, __import__('pydantic').Field(ge=2, le=999)]"
HEAT_MAPS = "def heat_maps(self, runs):\n        return [1 / 0]\n\n    def sections("
OPTIONS = (
    "@__import__('dataclasses').dataclass(frozen=True)\nclass Own(Options):\n    FIELD\n\n\nclass Registers("
)
OTHER = f"""
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema import Options
from long_context_tasks.schema.card import Card

CARD = "{{name: other, title: O, metrics: {{m: right}}, tasks: {{t: {{source: built, headline: m, chance: 0}}}}}}"

{OPTIONS.replace("FIELD", "style: str = 'plain'").replace("Registers(", "Other(Benchmark):")}
    card, options, load_task = Card.parse(CARD, "card"), Own, None


BENCHMARK = Other()
"""


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the toy package, which can be imported again after each change."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    shutil.copytree(TOYS, tmp_path / "toys", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    _forget_toys()
    yield tmp_path / "toys"
    _forget_toys()


def _forget_toys() -> None:
    for name in [name for name in sys.modules if name.startswith("lct_toys")]:
        del sys.modules[name]


def findings(folder: Path, name: str = "registers") -> list[str]:
    """Return the mistakes, or the error of a benchmark that cannot be loaded."""
    with installed(folder):
        try:
            found = check_benchmark(name)
        except InputError as error:
            return [str(error)]
        return [f"{remark.file}: {remark.place}: {remark.text}" for remark in found if remark.wrong]


@pytest.mark.parametrize(
    ("file", "before", "after", "expected"),
    [
        (DATA, '(f"{settings.seed} {length} {number}")', "()", "one seed gives other cases each time; draw"),
        (DATA, "{settings.seed} {length}", "{length}", "two seeds give the same cases; draw them from settings.seed"),
        (DATA, "tokens = tokenizer.count(PROMPT", "tokens = 100 + tokenizer.count(PROMPT", "count the rendered prompt"),
        (DATA, "PROMPT.format(register=text, box=box)", "text", "count the rendered prompt"),
        (DATA, 'box=case.inputs["box"])', 'box=case.inputs["box"]) + f" ({case.turns[0].gold})"', "the last line of the prompt holds the right answer; remove it"),
        (DATA, "Turn(keys[box],", 'Turn(keys[box], f"Are {keys[box]} keys in it?",', "the question of the prompt holds the right answer"),
        (DATA, "cases.cases[: options.n]", "[]", "registers_keys_1k: no cases"),
        (CARD, "    chance: 0.01", "    chance: 0.01\n    chance: 0.5", "line 12: its mapping has this key already; remove one"),
        (CARD, "chance: 0.01", "chance: 1.5", "tasks, keys, chance must be a number from 0 to 1"),
        (CARD, "chance: 0.01", "chance: 1 %", "tasks, keys, chance must be a number from 0 to 1"),
        (DATA, "(length - 40)", "(length // 2)", "tokens are far fewer than the 1k of the name; make the text longer"),
        (DATA, "tokenizer.count(PROMPT.format(register=text, box=box))", "tokenizer.count(text)", "count the rendered prompt"),
        (DATA, "box = draw.choice(boxes)", "box = int(draw.choice(list({f'{one}' for one in boxes})))", "other cases; draw nothing from the order of a set (sort it)"),
        (DATA, "box = draw.choice(boxes)", "draw.seed(f'{draw.random()} {Path.cwd()}')\n        box = draw.choice(boxes)", "hash(), the time or the folder"),
        (DATA, "box = draw.choice(boxes)", "box = len(Path('pyproject.toml').read_text()) * 0 + draw.choice(boxes)", "in another process and folder: FileNotFoundError"),
        (DATA, TURN, '(turn,), inputs.update(register=f"{length}_{settings.seed}_0") or key', "have different clusters; name the text as their cluster"),
        (CARD, "[1k, 4k]", "[4k, 1k]", "tasks, keys, lengths must ascend, as in [2k, 8k]"),
        (CARD, "tasks:\n", "data: {url: https://example.org}\ntasks:\n", "data: unknown key 'url'; keys are: base_url"),
        (DATA, TURN, "(turn, turn), key", "several turns, or it has a render_turn; write conversation: true"),
        (DATA, "score=score,", "score=score, render_turn=lambda case, documents, turn, answers: render(case, documents),", "write conversation: true"),
        (CARD, "    chance", "    conversation: true\n    chance", "conversation: true, but no render_turn; remove the key, or give both"),
        (CLASS, '"keys")', '"boxes")', "its task 'boxes' is not on the card; name one of: keys"),
        (CLASS, 'KeysBuilder("registers_keys"', 'KeysBuilder("boxes_keys"', "does not begin with registers_keys; rename it"),
        (DATA, "name=name,", 'name="registers_keys",', "write LoadedTask(name=name, ...)"),
        (DATA, '{"exact": Score(float(', '{"exact": Score(0.0, "misread") or Score(float(', "unknown reason 'misread'; use one of"),
        (DATA, "rows = []\n", "rows = [1 / 0]\n", "correct ZeroDivisionError"),
        (DATA, "values = [t.value for", "values = [t.value / (len(turns) - 3) for", "correct ZeroDivisionError"),
        (CLASS, "def sections(", HEAT_MAPS, "correct ZeroDivisionError"),
        (CARD, "tasks:\n", f"data: {{sha256: {{keys.txt: {64 * 'a'}}}}}\ntasks:\n", "sha256 has keys.txt, which no task lists"),
        (CARD, "tasks:\n", "data: {sha256: {keys.txt: abc}}\ntasks:\n", "keys.txt must be the 64 hexadecimal digits"),
        (CARD, "[1k, 4k]", "[1k, 4k]\n    files: {1k: a.txt, 8k: b.txt}", "give each length a file, and list no other"),
        (CARD, "    chance", "    variants: [{name: Two-Hop}]\n    chance", "must have lower-case letters, digits and _ only"),
        (CLASS, '"keys"),)', '"keys"), KeysBuilder("registers_keys", "keys"))', "two builders have this name; rename one"),
        (DATA, "(turn,), key", '(turn,), ""', "its cluster is empty; name the text"),
        (DATA, 'Message("user", text)', 'Message("User", text)', "unknown role 'User'; use system, user or assistant"),
        (DATA, '[Message("user", text)]', "text", "return a list of messages"),
        (DATA, 'return {"exact": Score(float(', 'return {} if response == "" else {"exact": Score(float(', "returned no exact; the task promises exact"),
        (DATA, 'f"{len(values)}"))', "len(values)))", "each a text"),
        (CLASS, "def sections(", "def heatmaps(self, runs):\n        return []\n\n    def sections(", "rename it if it is meant as heat_maps"),
        (CLASS, ", bins: int | None = None", "", "unexpected keyword argument 'bins'"),
        (CLASS, "class Registers(", OPTIONS.replace("FIELD", "most_keys = 99"), "is no option; write @dataclass(frozen=True) above"),
        (CLASS, "class Registers(", OPTIONS.replace("FIELD", "most_keys: __import__('typing').Literal[9] = 99"), "its default 99 is refused: lct_most_keys must be 9"),
        (CARD, "    chance", "    judged: true\n    chance", "give it both judged: true and a Judging"),
        (CARD, "tasks:\n", "points: {exact: [0, 10]}\ntasks:\n", "[0, 10] on the card and none in LoadedTask"),
        (DATA, "float(response.strip() ==", "draw() + 0 * float(response.strip() ==", "gives a different score when it is called again"),
        (DATA, "max(2, (length - 40)", "max(2, (length + 400)", "tokens are more than the 1k of the name"),
        (DATA, "tokenizer = get_tokenizer(CL100K)", "tokenizer = get_tokenizer({1000: CL100K, 4000: CL100K}[length])", "registers_keys_any: correct KeyError: 2345"),
        (DATA, '"Registers by place",', '"Registers by place", ("a",) or', "tables of section places: must be Table, not str"),
        (CLASS, "def sections(", HEAT_MAPS.replace("1 / 0", "42"), "heat_maps: must be HeatMap, not int"),
        (CLASS, "def sections(", HEAT_MAPS.replace("[1 / 0]", "[HeatMap('m', '', 'x', 'y', ['a', 'b'], ['c'], [[1.0]], [[1]], 0, 1)]"), "need a row for each of y and a cell for each of x"),
        (CLASS, "def sections(", HEAT_MAPS.replace("[1 / 0]", "[HeatMap('m', '', 'x', 'y', [], [], [], [], 0, 1)]"), "of which there must be some"),
        (CARD, "headline: exact", "headline: right", "task keys names the metric 'right', which metrics does not describe"),
        (CARD, 'exact: "the response is the right number"', 'exact: ""', "which metrics does not describe"),
        (DATA, 'metrics=("exact",)', 'metrics=("other",)', "are not in the card, which has exact"),
        (CLASS, "class Registers(", OPTIONS.replace("FIELD", "length: int = 5"), "'length' (lct_toys.registers.Own) is also a common option; rename it in package lct_toys"),
        (CLASS, "class Registers(", OPTIONS.replace("FIELD", "style: int = 5"), "'style' (lct_toys.registers.Own) is also one of benchmark other in package lct_other; rename it in package lct_toys"),
    ],
)  # fmt: skip
def test_a_planted_mistake_is_found_with_file_and_remedy(
    toys: Path, file: str, before: str, after: str, expected: str
) -> None:
    folder = toys / "lct_toys" / "registers"
    text = (folder / file).read_text()
    assert before in text
    text = text.replace(before, after)
    if file == DATA:
        text += "\n\ndef draw() -> float:\n    return random.random()\n"
    if file == CLASS:
        text = text.replace("import ScoredRun,", "import HeatMap, ScoredRun,")
    if "Own" in after:
        text = text.replace("card = Card.load", "options = Own\n    card = Card.load")
        # Its entry point comes first.
        shutil.copytree(toys / "lct_toys-1.0.dist-info", toys / "lct_other-1.0.dist-info")
        points = "[long_context_tasks.benchmarks]\nother = lct_other:BENCHMARK\n"
        (toys / "lct_other-1.0.dist-info" / "entry_points.txt").write_text(points)
        (toys / "lct_other-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: lct-other\n")
        (toys / "lct_other.py").write_text(OTHER)
    (folder / file).write_text(text)
    found = [remark for remark in findings(toys) if expected in remark]
    assert found, findings(toys)
    assert "lct_toys" in found[0]
    sys.modules.pop("lct_other", None)


def test_an_answer_beyond_the_budget_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change = (CLASS, 'return [f"{gold}", f', 'return [17 * "shelf " + f"{gold}", f')
    found = _in_the_package_on("adding_a_benchmark.md", "parcels", tmp_path, monkeypatch, change)
    expected = "tokens, and answer_budget is 16; raise it"
    assert [remark for remark in found if expected in remark and "parcels_benchmark" in remark], found


@pytest.mark.parametrize(
    ("file", "before", "after", "expected"),
    [
        ("scoring.py", ', {"turn": turn}', "", "a judge request does not name its turn; give it meta="),
        ("scoring.py", "replied: {response}", "replied.", "a judge prompt does not contain the response"),
        ("scoring.py", "if response:", "if response and response.format():", "correct IndexError"),
        ("scoring.py", "if not verdicts:", "if verdicts[0] is None:", "correct IndexError"),
        ("scoring.py", "if value is not None:", "if value > 0:", "correct TypeError"),
        ("scoring.py", '"judge_failed" if', '"unparsed" if', 'of verdicts without a score is Score(value=None, reason=\'unparsed\''),
        (DATA, 'messages.append(Message("assistant", answer))', "pass", "without the model's answers to earlier ones; insert"),
        (DATA, 'Message("assistant", answer)', 'Message("assistant", case.turns[0].gold)', "without the model's answers to earlier ones; insert"),
        (DATA, 'messages.append(Message("user", later.question))', "pass", "without its question; add it after"),
        ("scoring.py", '"not_judged"', '"judge_failed"', 'give Score(None, "not_judged")'),
        ("scoring.py", 'metrics=("rating",)', 'metrics=("rating",), headline="mark"', "the card promises mark, the task has ['rating']"),
        (CARD, "points: {rating: [1, 5]}", "", "none on the card and [1, 5] in LoadedTask.points"),
        (CARD, "points: {rating: [1, 5]}", "points: {rating: [1, 10]}", "[1, 10] on the card and [1, 5] in"),
        (CARD, "    judged: true\n", "", "give it both judged: true and a Judging"),
    ],
)  # fmt: skip
def test_a_mistake_in_judging_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, before: str, after: str, expected: str
) -> None:
    change = (file, before, after)
    found = _in_the_package_on("adding_a_judged_benchmark.md", "tales", tmp_path, monkeypatch, change)
    assert [remark for remark in found if expected in remark and "tales_benchmark" in remark], found


def _in_the_package_on(
    page: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str, str]
) -> list[str]:
    monkeypatch.setenv("LCT_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    package_on_page(page, name, folder / "package")
    file, before, after = change
    path = folder / "package" / f"{name}_benchmark" / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    found = findings(folder / "package", name)
    for module in [module for module in sys.modules if module.startswith(f"{name}_benchmark")]:
        del sys.modules[module]
    return found


def test_the_package_that_takes_an_option_of_another_is_named(toys: Path) -> None:
    path = toys / "lct_toys" / "registers" / CLASS
    text = path.read_text().replace("card = Card.load", "options = Own\n    card = Card.load")
    path.write_text(text.replace("class Registers(", OPTIONS.replace("FIELD", f"most_keys: {BOUNDED} = 99")))
    shutil.copytree(toys / "lct_toys-1.0.dist-info", toys / "zoo-1.0.dist-info")
    (toys / "zoo-1.0.dist-info" / "entry_points.txt").write_text(
        "[long_context_tasks.benchmarks]\nzoo = zoo:BENCHMARK\n"
    )
    (toys / "zoo-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo\n")
    (toys / "zoo.py").write_text(
        OTHER.replace("{name: other,", "{name: zoo,").replace("style: str = 'plain'", "most_keys: int = 1")
    )
    found = findings(toys)
    sys.modules.pop("zoo", None)
    assert ["leaves out benchmark zoo: its option 'most_keys'" in remark for remark in found] == [True]


def test_an_error_of_a_card_is_said_once(toys: Path) -> None:
    path = toys / "lct_toys" / "registers" / CARD
    path.write_text(path.read_text().replace("chance: 0.01", "chance: 1.5"))
    with installed(toys):
        said = CliRunner().invoke(app, ["check", "registers"])
    assert said.output.count("chance must be") == 1
    assert "package.module:OBJECT" not in said.output and "InputError" not in said.output


def test_the_toys_are_sound(toys: Path) -> None:
    assert findings(toys) == findings(toys, "riddles") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", catalogue.own_benchmark_names())
def test_the_benchmarks_of_this_package_are_sound(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path))
    assert [remark for remark in check_benchmark(name) if remark.wrong] == []
