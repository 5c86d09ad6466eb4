"""Damaged files of the loaders: a clear error or a result, in seconds and little memory.

Seeds are fixed. ``LCT_FAULTS`` says how many inputs each loader gets: 6 in `make test`, 150 in `make faults`.
"""

import gzip
import hashlib
import json
import os
import random
import resource
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from collected_runs import CONVERSATION, Run, Turn, simple, write_lm_eval, write_opencompass
from hang_guard import hang_guard

from long_context_tasks.schema import InputError
from long_context_tasks.schema.case import Case
from long_context_tasks.schema.case import Turn as CaseTurn
from long_context_tasks.schema.case_folder import CaseSet, CaseWriter

PER_LOADER = int(os.environ.get("LCT_FAULTS", "6"))
Loader = Callable[[Path], object]
Good = Callable[[], bytes]
"""Makes a file without faults."""


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


BOOK = "\n\n".join(
    ["CHAPTER I.", "A long day began. Anne went home.", "CHAPTER II", "It rained, and she read."] * 4
)
DUMP = (
    '<?xml version="1.0"?><posts><row Id="1" PostTypeId="1" AcceptedAnswerId="2" Title="t" Body="&lt;p&gt;q&lt;/p&gt;" Tags="&lt;a&gt;"/>'
    '<row Id="2" PostTypeId="2" ParentId="1" Body="&lt;p&gt;a&lt;/p&gt;" Score="3"/></posts>'
)
JUDGE = "model: m\nbase_url: http://127.0.0.1:1/v1\nextra_body: {a: [1, 2]}\nseeds: [1, 2]\n"
MODELS = "models:\n  - name: org/m\n    window: 32k\n    aliases: [a, b]\n"
QUESTION = {
    "id": "q1",
    "question": "Who?",
    "reference": "Anne.",
    "candidates": [{"id": "c", "model": "m", "text": "Anne"}],
}
REPLY = {"key": "k", "reply": "x", "prompt_tokens": 1, "completion_tokens": None, "finish_reason": "stop"}
_OF_TOY = {"n": 0, "sha256": hashlib.sha256(b"").hexdigest()}
_MANIFEST = {"format": 1, "tasks": {"toy": _OF_TOY}, "options": {}, "documents_sha256": ""}
REVIEW = {"question_id": "q1", "version": 1, "decision": "keep"}
JUDGED = {"id": "a", "rating_orca": 0.5, "variance_orca": 0.01, "rating": 0.4}
POTATO = {"instance_id_to_label_to_value": {"q/c": [[{"schema": "rating", "name": "4"}, "4"]]}}


def _store(path: Path) -> object:
    from long_context_tasks.judges.store import Store

    return Store(path)


def _cases(path: Path) -> object:
    with CaseWriter(path.parent / "cases", {}) as writer:
        writer.add_documents([("d", "text")])
        writer.add_cases("toy", [])
    place, manifest = path.parent / "cases" / "toy.jsonl", path.parent / "cases" / "manifest.json"
    before = hashlib.sha256(place.read_bytes()).hexdigest()
    place.write_bytes(path.read_bytes())
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest.write_text(manifest.read_text().replace('"n": 0', '"n": 1').replace(before, after))
    return CaseSet.read(path.parent / "cases", "toy")


def _manifest(path: Path) -> object:
    with CaseWriter(path.parent / "cases", {}) as writer:
        writer.add_cases("toy", [])
    (path.parent / "cases" / "manifest.json").write_bytes(path.read_bytes())
    return CaseSet.read(path.parent / "cases", "toy")


def _potato(path: Path) -> object:
    from long_context_tasks.annotation import create, load_scale, open_study
    from long_context_tasks.annotation.potato import import_potato
    from long_context_tasks.annotation.study import Incoming, StudyQuestion

    folder, file = path.parent / "annotation_output" / "ann", path.parent / "study.json"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "user_state.json").write_bytes(path.read_bytes())
    if not file.exists():
        create(file, load_scale(), [Incoming(StudyQuestion("q", "?", "r"), ((None, "c", "a"),), "row 1")])
    return import_potato(path.parent, open_study(file))


def _study(path: Path) -> object:
    from long_context_tasks.annotation import open_study

    return open_study(path).annotations()


def _documents(path: Path) -> object:
    from long_context_tasks.schema.case_folder import Documents

    return Documents(path)["d"]


def _bundle(path: Path) -> object:
    from long_context_tasks.results.collect import collect

    return collect([path])


def _carriers(path: Path) -> object:
    from long_context_tasks.recast import carriers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(carriers, "__file__", str(path))
        return carriers.carrier_files.__wrapped__()


def _counts(path: Path) -> object:
    from long_context_tasks.tokens import cached_counts, tokenizer_identity

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(path.parent / "cache"))
        kept = path.parent / "cache" / "token_counts" / f"{tokenizer_identity('cl100k')}.sqlite"
        kept.parent.mkdir(parents=True)
        kept.write_bytes(path.read_bytes())
        [count] = cached_counts("cl100k", [("a b", lambda: "a b")])
        assert count == 2
        return count


def _made(make: Callable[[Path], Path]) -> Good:
    """Gives the bytes of a file that the package writes itself."""
    import tempfile

    def good() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            return make(Path(folder)).read_bytes()

    return good


def _good_study(folder: Path) -> Path:
    from annotation_study import make_study

    return make_study(folder / "s.json").path


def _good_documents(folder: Path) -> Path:
    with CaseWriter(folder / "toy", {}) as writer:
        writer.add_documents([("d", "text")])
    return folder / "toy" / "documents.sqlite"


def _good_bundle(folder: Path) -> Path:
    from bundle_files import both_hosts, pack_one

    return pack_one(both_hosts(folder / "results"), folder / "out")


def _calls(module: str, name: str, *more: Any, **options: Any) -> Loader:
    def load(path: Path) -> object:
        from importlib import import_module

        found = getattr(import_module(f"long_context_tasks.{module}"), name)(path, *more, **options)
        return list(found) if isinstance(found, Iterator) else found

    return load


def _folder(write: Callable[[Path, Run], Path], glob: str, run: Run) -> tuple[Loader, Good]:
    """Collecting a run of a host of which one file was changed; gives that file."""

    def good(folder: Path) -> Path:
        write(folder, run)
        [path] = folder.rglob(glob)
        return path

    def load(path: Path) -> object:
        from long_context_tasks.results.collect import collect

        root = path.parent / "run"
        write(root, run)
        [place] = list(root.rglob(glob))
        place.write_bytes(path.read_bytes())
        return collect([root])

    return load, _made(good)


def _own(suffix: str) -> tuple[Loader, Good]:
    """Collecting a run of ``lct runs score``; as :func:`_folder`."""

    def write(root: Path, _: Run) -> Path:
        from long_context_tasks import load_task

        task = load_task("ada_leval_bestanswer_1k_synthetic", n=2)
        return task.save({case.id: "A1" for case in task.cases}, model="owl", folder=str(root))

    return _folder(write, f"own_*.{suffix}", Run(simple([1.0])))


PLAIN = Run(simple([1.0, 0.0]), made="20260101_100000")
TALK = Run(
    {"m1": [Turn({"judge_score": 4.0, "answered": 1.0}, verdicts=({"score": 4, "feedback": "x"},))]},
    task=CONVERSATION,
    made="20260101_100000",
    judge={"name": "j", "model": "m", "seeds": [1]},
    points=["judge_score"],
)
LM_EVAL = Run(simple([1.0, 0.0]))
CASE = Case("a", "toy", {"text": "d"}, (CaseTurn("x"),), "d").to_json().encode() + b"\n"

DEBATE_XML = b"<d><Intervention><PersonSpeaking>A</PersonSpeaking><ParaText>x</ParaText></Intervention></d>"
OPINION = b'{"absolute_url": "/opinion/1/a-v-b/", "plain_text": "x"}'
OPINION_HTML = b'{"absolute_url": "/opinion/1/a-v-b/", "html": "<p>x <a href=\'y\'>z</a></p>", "opinions_cited": ["/a/2/"]}'
MEDICAL = b'[{"pmid": 1, "included_studies": [{"references": [{"pmid": 2, "title": "t", "abstract": "a"}]}]}]'
SCALE = (
    b"title: T\nguidelines: G\nscale:\n  - {values: [1], label: wrong, text: t}\n  - {values: [2], label: right, text: t}\n"
    b"codes: {Q: &c {label: l, text: t}, A: *c, R: *c, U: *c, E: *c}\n"
)
TALKED = lines({"id": "d", "turns": [{"speaker": "A", "text": "x"}]})
RATED = lines({"id": "a", "question": "q", "reference": "r", "candidate": "x", "ratings": [1, 4]})
CARRIERS = b"- {kind: novels, licence: x, files: {b.txt: {url: 'https://a/b.txt'}}}\n"

# File name, function that reads it, and good content.
READERS: dict[str, tuple[str, str, bytes]] = {
    "models": ("models.yaml", "results.models.read_models", MODELS.encode()),
    "scale": ("scale.yaml", "annotation.scale.load_scale", SCALE),
    "args of a judge": ("args.yaml", "orca.checkpoint.read_yaml_mapping", b"a: 1\nb: {c: [1]}\n"),
    "questions": ("q.jsonl", "annotation.exchange.read_questions", lines(QUESTION)),
    "documents": ("d.jsonl", "annotation.exchange.read_documents", lines({"id": "d", "text": "x"})),
    "reviews": ("r.jsonl", "annotation.exchange.read_reviews", lines(REVIEW)),
    "book": ("b.txt", "corpora.books.read_books", BOOK.encode()),
    "books": ("b.jsonl", "corpora.books.read_books", lines({"id": "b", "text": BOOK})),
    "debates": ("d.jsonl", "corpora.debates.read_debates", TALKED),
    "debate": ("d.txt", "corpora.debates.read_debates", b"MR. A: I rise.\n\nPage 12\n\nMS. B: So do I."),
    "debate in XML": ("d.xml", "corpora.debates.read_debates", DEBATE_XML),
    "opinions": (
        "o.jsonl",
        "corpora.opinions.read_opinions",
        lines({"id": "o", "title": "A v. B", "text": "x"}),
    ),
    "opinion": ("o.json", "corpora.opinions.read_opinions", OPINION),
    "opinion in HTML": ("o.json", "corpora.opinions.read_opinions", OPINION_HTML),
    "medical": ("m.json", "corpora.reviews.read_reviews", MEDICAL),
    "screening list": (
        "m.csv",
        "corpora.reviews.read_reviews",
        b"record_id,title,abstract,label_included\n1,t,a,1\n",
    ),
    "posts": ("Posts.xml", "corpora.stack_exchange.rows", DUMP.encode()),
    "posts as JSON": (
        "Posts.jsonl",
        "corpora.stack_exchange.rows",
        lines({"Id": 1, "PostTypeId": 1, "Body": "b"}),
    ),
    "pairs of words": (
        "p.jsonl",
        "noise.error_rules.read_pairs",
        lines({"reference": "a b", "hypothesis": "a c"}),
    ),
    "coverage cases": (
        "c.jsonl",
        "coverage.items.file_cases",
        lines({"id": 1, "context": "x", "question": "q"}),
    ),
    "rated answers": ("a.jsonl", "orca.data.read_items", RATED),
    "judged answers": ("a.jsonl", "orca.results.read_results", lines(JUDGED)),
}
_rows = _calls("benchmarks.published_files", "json_rows", "ada_leval")
LOADERS: dict[str, tuple[str, Loader, bytes | Good]] = {
    **{name: (file, _calls(*place.rsplit(".", 1)), good) for name, (file, place, good) in READERS.items()},
    "judge file": ("judge.yaml", _calls("judges.kinds", "load_judge", {}), JUDGE.encode()),
    "judge store": ("store.jsonl", _store, lines(REPLY, {**REPLY, "key": "l"})),
    "case folder": ("toy.jsonl", _cases, CASE),
    "manifest": ("manifest.json", _manifest, json.dumps(_MANIFEST).encode()),
    "potato": ("user_state.json", _potato, json.dumps(POTATO).encode()),
    "published rows": ("p.jsonl", _rows, lines({"a": 1})),
    "published list": ("p.json", _rows, b'[{"a": 1}, {"a": [2]}]'),
    "lm-eval results": ("x", *_folder(write_lm_eval, "results_*.json", LM_EVAL)),
    "lm-eval samples": ("x", *_folder(write_lm_eval, "samples_*.jsonl", LM_EVAL)),
    "OpenCompass predictions": ("x", *_folder(write_opencompass, "predictions/*/*.json", PLAIN)),
    "OpenCompass results": ("x", *_folder(write_opencompass, "results/*/*.json", TALK)),
    "own run": ("x", *_own("json")),
    "cases of an own run": ("x", *_own("jsonl")),
    "carriers": ("carriers.yaml", _carriers, CARRIERS),
    "study": ("s.json", _study, _made(_good_study)),
    "documents of cases": ("d.sqlite", _documents, _made(_good_documents)),
    "bundle": ("owl.lct.zip", _bundle, _made(_good_bundle)),
    "token counts": ("t.sqlite", _counts, _made(_good_documents)),
}
ODD = [
    *b'null true 1.5 "x" [] {} 1e999 NaN -1 "\\ud800" 2020-13-13 18446744073709551616'.split(),
    *(b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, b'{"a":' * 100_000, b"[" * 150 + b"]" * 150),
    *(b"\x00", b"\xff\xfe", b"&a [*a, *a]", b"!!int ''", b"[" + b"[]," * 20_000 + b"[]]"),
    *(b" " * 20_000, b"\n" * 20_000, b"_" * 20_000, b"A. " * 10_000, b"1 " * 10_000),
]
"""Values that no reader expects."""


def mutated(good: bytes, seed: int) -> bytes:
    """A file with one to three faults: bytes changed, cut, doubled, values exchanged for odd ones, packed, or nothing left."""
    random_ = random.Random(seed)
    data = bytearray(good)
    for _ in range(random_.randint(1, 3)):
        place = random_.randrange(len(data) + 1)
        match random_.randrange(8):
            case 0:
                del data[place:]
            case 1:
                data[place : place + 1] = bytes([random_.randrange(256)])
            case 2:
                data[place:place] = data[: random_.randrange(len(data) + 1)]
            case 3:
                data = bytearray(random_.choice(ODD) + b"\n") + data
            case 4:
                data[place:place] = random_.choice(ODD)
            case _:
                # A value of JSON or YAML in exchange for an odd one.
                marks = [at for at, byte in enumerate(data) if byte in b":[,"]
                at = random_.choice(marks or [0]) + 1
                ends = [end for end in range(at, len(data)) if data[end] in b",}]\n"]
                data[at : ends[0] if ends else len(data)] = b" " + random_.choice(ODD)
    if seed % 23 == 0:
        return gzip.compress(bytes(data))[: -random_.randrange(1, 9)]
    return bytes(data)


@pytest.mark.faults
@pytest.mark.parametrize("name", LOADERS)
def test_a_damaged_file_gives_a_clear_error_or_a_result(tmp_path: Path, name: str) -> None:
    file, load, given = LOADERS[name]
    good = given if isinstance(given, bytes) else given()
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / file).write_bytes(good)
    load(tmp_path / "good" / file)  # mutations of a file that is refused at once would try nothing
    before, raw = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for number in range(PER_LOADER):
        seed = zlib.crc32(name.encode()) + number
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / file).write_bytes(mutated(good, seed))
        try:
            with hang_guard():
                load(folder / file)
        except InputError as error:
            assert str(error).strip()
        except Exception as error:  # what the test is about
            raw.append(f"seed {seed}: {type(error).__name__}: {str(error)[:200]}")
    assert not raw, "\n".join(raw)
    # Kilobytes, over what the process had reached.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20


@pytest.mark.faults
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("cases of an own run", b'"official_accuracy": [0.0]', b'"official_accuracy": []'),
        ("own run", b'"own run"', b"null"),
        ("lm-eval results", b'"metadata"', b'"meta"'),
        ("manifest", b'"toy"', b'"' + b"9" * 5000 + b'"'),
        ("manifest", b'"toy"', b'"../toy"'),
        ("carriers", LOADERS["carriers"][2], b""),
        ("manifest", b'"options": {}', b'"options": "x"'),
    ],
)
def test_a_fault_that_was_once_missed_is_named(tmp_path: Path, name: str, old: bytes, new: bytes) -> None:
    file, load, given = LOADERS[name]
    good = given if isinstance(given, bytes) else given()
    assert old in good
    (tmp_path / file).write_bytes(good.replace(old, new))
    try:
        assert load(tmp_path / file).problems  # type: ignore[attr-defined]
    except InputError as error:
        assert "damaged" in str(error) or "no list" in str(error)


@pytest.mark.faults
def test_half_of_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    from long_context_tasks.noise.error_rules import Rules, write_rules
    from long_context_tasks.orca.preparation import DataSettings, write_data

    write_rules(tmp_path / "rules.jsonl", [("a\ud800", {"b": 1.0})])
    assert "a?" in Rules.read(tmp_path / "rules.jsonl").counts
    rows = [
        {"question": f"q{place} \ud800", "reference": "r", "candidate": "c", "ratings": [1 + place % 5]}
        for place in range(20)
    ]
    write_data(rows, tmp_path / "parts", DataSettings(split="questions", n_splits=1))
    text = (tmp_path / "parts" / "split_0" / "train.jsonl").read_text()
    assert json.loads(text.splitlines()[0])["question"].endswith("\ud800")
