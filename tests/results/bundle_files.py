"""Runs made up for bundles, and bundles rewritten as somebody would who means harm."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from collected_runs import CONVERSATION, Run, Turn, simple, write_lm_eval, write_opencompass

from long_context_tasks.results.bundle.check import read_bundle
from long_context_tasks.results.bundle.format import MANIFEST, RUNS_MEMBER, SCORES_MEMBER
from long_context_tasks.results.bundle.pack import pack
from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.schema import InputError

JUDGE = {
    "name": "j",
    "base_url": "http://me:secret@judge.example/v1?key=abc",
    "api_key": "sk-0123456789abcdef0123",
}
VERDICT = ({"feedback": "the gold answer says Prague", "score": 7},)
TALK = {
    "m1": [
        Turn({"judge_score": 7.5, "answered": 1.0}, text="Yes, ü.", verdicts=VERDICT),
        Turn({"judge_score": 2.0, "answered": 1.0}, text="<script>"),
    ],
    "m2": [
        Turn({"judge_score": 4.5, "answered": 1.0}),
        Turn({"judge_score": None, "answered": 0.0}, "judge_unparsable"),
    ],
}
Members = dict[str, bytes]


def both_hosts(folder: Path) -> Path:
    """A plain run with a case that did not fit, of lm-eval, and a judged conversation of OpenCompass."""
    arguments = f"pretrained={folder}/models/owl,api_key=sk-0123456789abcdef0123,tokenizer=org/owl"
    plain = Run(
        simple([1.0, 0.0, None, 1.0]),
        model="owl",
        model_args=arguments,
        options={"lct_data_dir": str(folder)},
    )
    write_lm_eval(folder, plain)
    told: dict[str, Any] = {"judge": JUDGE, "points": ("judge_score",), "made": "20260101_100000"}
    write_opencompass(folder / "oc", Run(TALK, CONVERSATION, "owl", **told))
    return folder


def pack_one(results: Path, folder: Path) -> Path:
    """The one bundle of the runs, in a folder."""
    [one] = pack(collect_with_files([results]), folder)
    return one.path


def rewrite(path: Path, change: Callable[[Members], None], *, hashes: bool = True) -> None:
    """Change members, then make the manifest right again: as somebody would who means it."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    manifest = json.loads(members.get(MANIFEST, b"[]"))
    if hashes and isinstance(manifest, dict):
        manifest["members"] = {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in members.items()
            if name != MANIFEST
        }
        members[MANIFEST] = json.dumps(manifest).encode()
    path.write_bytes(zipped(list(members.items())))
    if hashes and SCORES_MEMBER in members:
        tell_again(path)


def tell_again(path: Path) -> None:
    """The lines for people, from the scores, where these can be read at all."""
    from long_context_tasks.results.bundle import check as bundle_check

    before, bundle_check._check_told = bundle_check._check_told, lambda *_: None
    try:
        told = [bundle_check.told_of(one) for one in read_bundle(path)]
    except InputError:
        return
    finally:
        bundle_check._check_told = before
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members[MANIFEST] = json.dumps({**json.loads(members[MANIFEST]), "runs": told}).encode()
    path.write_bytes(zipped(list(members.items())))


def zipped(members: list[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def on_rows(member: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        rows = [json.loads(line) for line in members[member].splitlines()]
        for row in rows:
            change(row)
        members[member] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    return edit


def on_run(**values: Any) -> Callable[[Members], None]:
    return on_rows(RUNS_MEMBER, lambda row: row["run"].update(values))


def on_scores(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    return on_rows(SCORES_MEMBER, change)


def column(name: str, values: Any) -> Callable[[Members], None]:
    return on_scores(lambda row: row["columns"].update({name: values}))


def flipped(packed_values: Any) -> Any:
    return {"all": 0.25} if isinstance(packed_values, dict) and "all" in packed_values else {"all": 0.5}


def manifest(**values: Any) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        members[MANIFEST] = json.dumps({**json.loads(members[MANIFEST]), **values}).encode()

    return edit
