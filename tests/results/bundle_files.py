"""Runs for bundles, and bundles as an attacker would rewrite them."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from collected_runs import CONVERSATION, Run, Turn, simple, write_lm_eval, write_opencompass

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.bundle.format import MANIFEST, SCORES_MEMBER
from long_context_tasks.results.bundle.pack import pack
from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.schema.card import HumanBaseline

JUDGE = {
    "name": "j",
    "base_url": "http://me:secret@judge.example/v1?key=abc",
    "api_key": "sk-0123456789abcdef0123",
}
VERDICT = ({"feedback": "the gold answer says Prague", "score": 7.5},)
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


@contextmanager
def card_without(benchmark: str, part: str) -> Iterator[None]:
    """Forbid to redistribute a part of a benchmark's data while the block runs."""
    card = catalogue.card(benchmark)
    rules = card.redistribute
    object.__setattr__(card, "redistribute", {**rules, part: False})
    try:
        yield
    finally:
        object.__setattr__(card, "redistribute", rules)


@contextmanager
def with_human_baseline(task: str, score: float) -> Iterator[None]:
    """Give a task a human baseline while the block runs."""
    card = catalogue.parse_task(task).card
    object.__setattr__(card, "human", HumanBaseline(score=score, source="Doe et al. 2025, Table 2"))
    try:
        yield
    finally:
        object.__setattr__(card, "human", None)


def rewrite(path: Path, change: Callable[[Members], object]) -> None:
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    path.write_bytes(zipped(list(members.items())))


def state_again(path: Path) -> None:
    """Make what the manifest states of the scores right again."""
    from long_context_tasks.results.bundle import format as check

    before, check._check_stated = check._check_stated, lambda *_: None
    try:
        right = iter([check.stated_of(run).model_dump() for run in check.read_bundle(path, [])])
    finally:
        check._check_stated = before
    rewrite(path, on_stated(lambda run: run.update(next(right))))


def zipped(members: list[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def manifest(**values: Any) -> Callable[[Members], None]:
    def edit(members: Members) -> None:
        members[MANIFEST] = json.dumps({**json.loads(members[MANIFEST]), **values}).encode()

    return edit


def on_stated(change: Callable[[dict[str, Any]], object]) -> Callable[[Members], None]:
    """Change each run of the manifest."""

    def edit(members: Members) -> None:
        content = json.loads(members[MANIFEST])
        for run in content["runs"]:
            change(run)
        members[MANIFEST] = json.dumps(content).encode()

    return edit


def on_run(**values: Any) -> Callable[[Members], None]:
    return on_stated(lambda run: run["row"].update(values))


def on_table(member: str, change: Callable[[Any], Any], **written: Any) -> Callable[[Members], None]:
    """Change a table of Parquet, a frame of Polars; ``written`` goes to the writer."""

    def edit(members: Members) -> None:
        import polars as pl
        import pyarrow.parquet as pq

        table = change(pl.read_parquet(members[member])).to_arrow()
        buffer = io.BytesIO()
        pq.write_table(plain(table), buffer, **{"compression": "NONE", **written})
        members[member] = buffer.getvalue()

    return edit


def plain(table: Any) -> Any:
    """Polars' own kinds of text as the plain one."""
    import pyarrow as pa

    large = {pa.large_string(): pa.string(), pa.string_view(): pa.string()}
    fields = [pa.field(one.name, large.get(one.type, one.type)) for one in table.schema]
    fields = [
        pa.field(one.name, pa.list_(pa.float64())) if one.name == "log_likelihoods" else one for one in fields
    ]
    return table.cast(pa.schema(fields))


def on_scores(change: Callable[[Any], Any], **written: Any) -> Callable[[Members], None]:
    return on_table(SCORES_MEMBER, change, **written)


def column(name: str, value: Any) -> Callable[[Members], None]:
    """The same value in every row; the kind of the column stays where it fits."""

    def change(frame: Any) -> Any:
        import polars as pl

        kind = frame.schema.get(name)
        fits = value is None or (isinstance(value, str) == (kind == pl.String()) and value is not True)
        return frame.with_columns(pl.lit(value, dtype=kind if fits else None).alias(name))

    return on_scores(change)
