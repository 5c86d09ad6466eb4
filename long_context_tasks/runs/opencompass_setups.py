"""What an OpenCompass run was told to do, from the config file that the host writes into its folder; nothing is executed."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Setup:
    """A run as it was meant.

    Attributes:
        folder: the host's folder, named by the time.
        models: name to the model's config: type, path and so on.
        datasets: name of a dataset to its config; only those of our tasks.
        workers: into how many parts a task may be split.
    """

    folder: Path
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: int = 1

    def has_answers(self, model: str, dataset: str) -> bool:
        """Whether anything of a task was kept: all answers, a part of them, or the beginning of a file."""
        folder = self.folder / "predictions" / model
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        starts = (f"{dataset}.json", f"tmp_{dataset}.json", f"{dataset}_0", f"tmp_{dataset}_0")
        return any(name.startswith(starts) for name in names)


def find_setups(path: Path) -> Iterator[Setup]:
    """The setups under a folder, in order of their paths; what cannot be read is passed over."""
    folders = sorted({file.parent.parent for file in path.rglob("configs/*.py")})
    for folder in folders:
        setup = read_setup(folder)
        if setup.datasets and setup.models:
            yield setup


def read_setup(folder: Path) -> Setup:
    """The setup of a run's folder; an empty one when it holds no config that can be read.

    A run that was continued has several; the first tells how the work was split, and later ones add tasks.
    """
    models: dict[str, Mapping[str, Any]] = {}
    datasets: dict[str, Mapping[str, Any]] = {}
    workers: int | None = None
    for path in sorted((folder / "configs").glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        rows = {
            target.id: _plain(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        datasets.update(_by_name(rows.get("datasets"), "lct_task"))
        models.update(_by_name(rows.get("models"), "type"))
        partitioner = (
            (rows.get("infer") or {}).get("partitioner") if isinstance(rows.get("infer"), dict) else None
        )
        if (
            workers is None
            and isinstance(partitioner, dict)
            and isinstance(partitioner.get("num_worker"), int)
        ):
            workers = partitioner["num_worker"]
    return Setup(folder, models, datasets, workers or 1)


def _by_name(rows: Any, needed: str) -> dict[str, Mapping[str, Any]]:
    rows = rows if isinstance(rows, list) else []
    return {
        str(row["abbr"]): row for row in rows if isinstance(row, dict) and "abbr" in row and needed in row
    }


def _plain(node: ast.expr) -> Any:
    """The value of a literal in which ``dict(a=1)`` may stand for a mapping; None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        return {word.arg: _plain(word.value) for word in node.keywords if word.arg is not None}
    if isinstance(node, ast.List | ast.Tuple):
        return [_plain(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            key.value: _plain(value)
            for key, value in zip(node.keys, node.values, strict=True)
            if isinstance(key, ast.Constant)
        }
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
