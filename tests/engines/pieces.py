"""What workers do in the tests of engines; functions of a module, as they are pickled."""

import os
import signal
import time
from pathlib import Path

from long_context_tasks.benchmarks.building import MadeCases
from long_context_tasks.schema import Case, InputError, Turn


def squared(number: int) -> int:
    """The later the quicker, so that results come out of order."""
    time.sleep(0.02 * (number % 3 == 0))
    return number * number


def cache_dir(number: int) -> str | None:
    return os.environ.get("LCT_CACHE_DIR")


def refuse(bad: int, number: int) -> int:
    if number == bad:
        raise InputError(f"piece {number}: cannot be made; use another")
    return number


def die(bad: int, number: int) -> int:
    if number == bad:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def die_once(mark: Path, number: int) -> int:
    """Write down who works, and die at the first time of the third piece."""
    with (mark / f"{number}").open("a") as file:
        file.write(f"{os.getpid()}\n")
    if number == 3 and not (mark / "died").exists():
        (mark / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def sleep(folder: Path, number: int) -> int:
    (folder / f"{os.getpid()}").touch()
    time.sleep(600)  # longer than any test waits for its end
    return number


def cases_of(sizes: tuple[int, ...], part: int, number: int) -> MadeCases:
    """As many cases as the sizes say, with a text of their own and one that all share."""
    names = [f"{part}_{number}_{place}" for place in range(sizes[number])]
    cases = tuple(Case(name, "toy", {"text": name, "all": "common"}, (Turn(number),), name) for name in names)
    return MadeCases(cases, (("common", "shared text"), *((name, f"text of {name}") for name in names)))


def cases_or_death(bad: int, number: int) -> MadeCases:
    die(bad, number)
    return cases_of((1,) * 10, 0, number)
