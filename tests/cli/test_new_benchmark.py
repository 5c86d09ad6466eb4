"""`lct new` writes a benchmark that works, and `lct check` says what is wrong once something is."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from plugins import installed
from run_commands import lct

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def zebra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a new benchmark as `pip install -e` would have it."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    done = lct("new", "zebra", "--out", tmp_path)
    assert done.code == 0 and "lct check zebra --write" in done.out, done.err
    metadata = tmp_path / "zebra" / "zebra-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: zebra\nVersion: 1.0\n")
    points = (
        (tmp_path / "zebra" / "pyproject.toml").read_text().split('"long_context_tasks.benchmarks"]\n')[1]
    )
    text = points.partition("\n")[0].replace('"', "")
    (metadata / "entry_points.txt").write_text(f"[long_context_tasks.benchmarks]\n{text}\n")
    yield tmp_path / "zebra" / "zebra_benchmark"
    for name in [name for name in sys.modules if name.startswith("zebra_benchmark")]:
        del sys.modules[name]


def test_a_new_benchmark_works_and_checks_itself(zebra: Path) -> None:
    with installed(zebra.parent):
        first = lct("check", "zebra")
        assert "no reference" in first.out
        assert lct("check", "zebra", "--write").code == 0 and (zebra / "reference.json").is_file()
        done = lct("check", "zebra")
        assert (done.code, done.out) == (0, "zebra: all is well\n")
        assert lct("check", "zebra", "--json").rows["result"] == {"wrong": 0}
        assert "zebra_find_8k" in lct("tasks", "zebra", "--names").out
        assert (Path(lct("tasks", "--paths", "lm-eval").out.strip()) / "zebra_find_8k.yaml").is_file()
    # Its tests hold for a task of another name.
    card = (zebra / "card.yaml").read_text()
    (zebra / "card.yaml").write_text(card.replace("  find:", "  seek:"))
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=zebra.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(zebra.parent), str(REPOSITORY)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        ("card.yaml", "headline: exact", "headline: exat", "exat"),
        ("__init__.py", "BENCHMARK = Zebra()", "BENCHMARK = Zebra", "is Zebra; expected an instance"),
        ("__init__.py", "def load_task", "def load", "Can't instantiate abstract class Zebra"),
        ("data.py", "dice.whole(1, 99)", "dice.whole(1, 98)", "its cases differ from those of version 1"),
        ("data.py", "        dice =", "        raise ValueError(7)\n        dice =", "ValueError: 7"),
        ("data.py", '("exact",)', '("exakt",)', "metrics ['exakt'] are not in the card"),
        ("data.py", "Reply with", "Give", "its cases differ"),
        ("data.py", 'f"{documents', 'f"" and f"{documents', "the prompt is empty"),
        ("data.py", 'f"{documents', 'f"{__import__(\'time\').time_ns()} {documents', "a different prompt"),
        ("scoring.py", "Score(None, status)", "Score(0.0, status)", "a value without a response"),
        ("scoring.py", "Score(None, status)", "Score(None)", "None without a reason"),
        ("scoring.py", 'Score(0.0, "unparsed")', 'Score(None, "unparsed")', "the lowest score with a reason"),
        ("scoring.py", "Score(float(", "Score(100 * float(", "a rate is from 0 to 1"),
        ("__init__.py", '[f"{gold}", f"{gold + 1}"', '[f"{gold + 1}", f"{gold}"', "the first must be the best"),
        ("card.yaml", "version: 1 ", "version: 2 ", "reference hashes are of version 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(zebra: Path, file: str, before: str, after: str, message: str) -> None:
    with installed(zebra.parent):
        assert lct("check", "zebra", "--write").code == 0
    for name in [name for name in sys.modules if name.startswith("zebra_benchmark")]:
        del sys.modules[name]
    text = (zebra / file).read_text()
    assert before in text
    (zebra / file).write_text(text.replace(before, after))
    os.utime(zebra / file, (1, 1))  # Python compares seconds before it reads a module again
    with installed(zebra.parent):
        done = lct("check", "zebra")
    assert (
        done.code == (2 if (file == "__init__.py" and "gold" not in after) or "exat" in after else 1)
        and message in done.out + done.err
    ), done


@pytest.mark.parametrize("name", ["Zebra", "class", "ethic", "a b", "_a", "a__b", "../x", ""])
def test_a_name_that_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    done = lct("new", name, "--out", tmp_path)
    assert done.code == 2 and not list(tmp_path.iterdir())


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "zebra").mkdir()
    done = lct("new", "zebra", "--out", tmp_path)
    assert done.code == 2 and "already exists" in done.err and not list((tmp_path / "zebra").iterdir())


def test_benchmarks_of_this_package_are_checked_without_their_files() -> None:
    done = lct("check", "ada_leval")
    assert done.code == 0 and "not checked" in done.out, done.out
    assert "bestanswer_1k_front: not checked" in done.out, "each variant is looked at, too"
    assert lct("check", "ada_leval", "--write").code == 2  # its hashes are on the card
