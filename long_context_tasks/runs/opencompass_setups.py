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
        unsure: models whose arguments of generation are not the same in all configs of the folder.
    """

    folder: Path
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: int = 1
    unsure: frozenset[str] = frozenset()

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

    A run that was continued has several; the first tells how the work was split, and later ones add tasks. Which of them an answer was made
    under is not written down.
    """
    models: dict[str, Mapping[str, Any]] = {}
    datasets: dict[str, Mapping[str, Any]] = {}
    workers: int | None = None
    unsure: set[str] = set()
    for path in sorted((folder / "configs").glob("*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        rows = {
            target.id: _plain(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        datasets.update(_by_name(rows.get("datasets"), "lct_task"))
        read = _by_name(rows.get("models"), "type")
        unsure |= {
            name for name in read.keys() & models if _generation(read[name]) != _generation(models[name])
        }
        models.update(read)
        partitioner = (
            (rows.get("infer") or {}).get("partitioner") if isinstance(rows.get("infer"), dict) else None
        )
        if (
            workers is None
            and isinstance(partitioner, dict)
            and isinstance(partitioner.get("num_worker"), int)
        ):
            workers = partitioner["num_worker"]
    return Setup(folder, models, datasets, workers or 1, frozenset(unsure))


_CALLED_WITH = (
    *(
        "path",
        "peft_path",
        "tokenizer_path",
        "tokenizer_only",
        "model_kwargs",
        "peft_kwargs",
        "tokenizer_kwargs",
    ),
    *("max_seq_len", "mode", "drop_middle", "meta_template", "chat_template_kwargs", "stop_words", "think"),
    *(
        "openai_api_base",
        "url",
        "endpoint",
        "model_name",
        "engine_config",
        "extra_body",
    ),
)
"""What a model's config may hold that changes answers or tells which model it is. Only what is named here is taken, and what looks like a key
or a header in it is not shown."""
_GENERATION = ("generation_kwargs", "gen_config")
_SAMPLING = ("temperature", "top_p", "top_k", "seed")


def told_of_model(row: Mapping[str, Any], *, unsure: bool = False) -> dict[str, Any]:
    """A model's config in the words that lm-eval has for it, for the provenance of a run.

    ``gen_kwargs`` are the arguments of generation that were given. How many tokens an answer may have is a task's and not in the config.

    Args:
        row: the config of a model, as :func:`read_setup` has it; empty where nothing tells, and then so is the result.
        unsure: other configs of the folder have other arguments of generation; that is then told in their place.

    >>> told_of_model({"type": "opencompass.models.OpenAISDK", "path": "m", "key": "sk-1", "temperature": 0.6, "batch_size": 8})
    {'model': 'OpenAISDK', 'model_args': {'path': 'm'}, 'batch_size': 8, 'gen_kwargs': {'temperature': 0.6}}
    """
    if not row:
        return {}
    kwargs = _mapping(row.get("model_kwargs"))
    dtype = kwargs.get("torch_dtype") or kwargs.get("dtype")
    return {
        "model": str(row.get("type") or "").rpartition(".")[2] or None,
        "model_args": {name: row[name] for name in _CALLED_WITH if row.get(name) not in (None, {}, [])},
        "batch_size": row.get("batch_size"),
        "gen_kwargs": {"generation": "not the same in all configs"} if unsure else _generation(row),
        **({"model_dtype": str(dtype)} if dtype else {}),
    }


def _generation(row: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: row[name] for name in _SAMPLING if row.get(name) is not None}
    for name in _GENERATION:
        given |= {str(key): value for key, value in _mapping(row.get(name)).items()}
    return given


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
