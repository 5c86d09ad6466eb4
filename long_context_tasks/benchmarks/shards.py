"""Merge the shards of a build, which ran separately, into the case folder that one build would have written."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from long_context_tasks.schema.case_folder import (
    DOCUMENTS,
    CaseWriter,
    Shard,
    file_sha256,
    read_manifest,
)
from long_context_tasks.schema.files import InputError, loads

_PATTERN = ".shard-*-of-*"
_AGAIN = "build this shard again"


def sharded(root: Path) -> list[Path]:
    """Return the case folders in a root that have shards, merged or not."""
    # Hidden ones are unfinished or about to be replaced.
    return sorted({root / path.name.partition(".shard-")[0] for path in root.glob(f"[!.]*{_PATTERN}")})


def merge_shards(folder: Path) -> Mapping[str, int]:
    """Write a case folder from the shards next to it, which stay; return the number of cases of each task."""
    shards = _complete(folder)
    first = next(iter(shards.values()))
    with CaseWriter(folder, first["options"]) as writer:
        for path in shards:
            uri = f"{(path / DOCUMENTS).resolve().as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as table:
                writer.add_documents(table.execute("SELECT key, text FROM documents"))
        return {task: writer.add_lines(task, _lines(shards, task)) for task in first["tasks"]}


def _complete(folder: Path) -> Mapping[Path, Mapping[str, Any]]:
    """Return the manifests of all shards in order, or raise if the set is not complete and equal."""
    shards: dict[int, tuple[Path, Mapping[str, Any]]] = {}
    for path in sorted(folder.parent.glob(f"{folder.name}{_PATTERN}")):
        manifest = read_manifest(path)
        if "shard" not in manifest:
            raise InputError(f"{path}: holds no shard; remove it, or {_AGAIN} with --shard")
        shard = Shard(manifest["shard"]["number"], manifest["shard"]["of"])
        # Names in the right form cannot hold a shard twice.
        if path != shard.folder(folder):
            raise InputError(
                f"{path}: holds shard {shard}; remove it or rename it to {shard.folder(folder).name}"
            )
        shards[shard.number] = path, manifest
        _check_equal(*next(iter(shards.values())), path, manifest)
        _check_content(path, manifest)
    if not shards:
        raise InputError(f"{folder}: there are no shards of it; build them with --shard 1/2 and so on")
    of = next(iter(shards.values()))[1]["shard"]["of"]
    if missing := [number for number in range(1, of + 1) if number not in shards]:
        raise InputError(
            f"{folder}: {len(missing)} of {of} shards are missing; build them with --shard "
            + ", ".join(str(Shard(number, of)) for number in missing[:10])
        )
    return dict(shards[number] for number in sorted(shards))


def _check_equal(first: Path, manifest: Mapping[str, Any], path: Path, other: Mapping[str, Any]) -> None:
    expected, settings = _made_from(manifest), _made_from(other)
    names = {*expected, *settings}
    if differing := sorted(name for name in names if expected.get(name) != settings.get(name)):
        name = differing[0]
        raise InputError(
            f"{path}: a different {', '.join(differing)} than in {first} ({settings.get(name)}, not {expected.get(name)}); build all "
            "shards with the same settings and version"
        )


def _made_from(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        **{name: manifest[name] for name in ("format", "long_context_tasks")},
        "number of shards": manifest["shard"]["of"],
        **manifest["options"],
        **{f"parts of {task}": len(row["parts"]) for task, row in manifest["tasks"].items()},
    }


def _check_content(path: Path, manifest: Mapping[str, Any]) -> None:
    hashes = {DOCUMENTS: manifest["shard"]["documents"]}
    hashes |= {f"{task}.jsonl": row["sha256"] for task, row in manifest["tasks"].items()}
    for name, sha256 in hashes.items():
        file = path / name
        if not file.is_file():
            raise InputError(f"{file}: is missing; {_AGAIN}")
        if file_sha256(file) != sha256:
            raise InputError(f"{file}: was changed after it was built; {_AGAIN}")


def _lines(shards: Mapping[Path, Mapping[str, Any]], task: str) -> Iterator[tuple[str, str]]:
    """Yield the ids and lines of a task's cases part by part, and within a part shard by shard: the order of a build without shards."""
    at = dict.fromkeys(shards, 0)
    for counts in zip(*(manifest["tasks"][task]["parts"] for manifest in shards.values()), strict=True):
        for path, count in zip(shards, counts, strict=True):
            # Opened again for each part: there may be more shards than a process may have open files.
            with (path / f"{task}.jsonl").open("rb") as file:
                file.seek(at[path])
                yield from ((loads(line)["id"], line.decode()) for line in islice(file, count))
                at[path] = file.tell()
