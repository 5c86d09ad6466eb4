"""Rows to cases: forms of local copies, damaged data, options, order."""

import gzip
import json
import logging
import re
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from contract_data import BUILT, CONFIGURATIONS, rows, user_message, write_built_cases, write_published_files
from tiny_model import demo_model

from long_context_tasks.benchmarks.catalogue import card, load_task, resolve_options, task_specs
from long_context_tasks.benchmarks.ethic import BENCHMARK
from long_context_tasks.benchmarks.ethic import prompt_tokens as prompt_length
from long_context_tasks.benchmarks.ethic.data import CONFIGURATIONS as TASKS
from long_context_tasks.schema import Case, CaseWriter, InputError, LoadedTask, Message, Turn
from long_context_tasks.tokens import CL100K, cl100k_encoding

NAMES = [
    spec.name
    for spec in task_specs()
    if spec.benchmark == "ethic" and spec.source == "published" and not spec.variant
]


@pytest.fixture(scope="module")
def tiny() -> Path:
    """A folder with a tokenizer and its chat template."""
    return demo_model()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))
    # What HF_HUB_OFFLINE sets in a process that starts with it.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "ethic"
    folder.mkdir(parents=True)
    return folder


def load(data: Path, name: str = "ethic_recall_books", **options: Any) -> LoadedTask:
    return load_task(name, resolve_options({"lct_data_dir": str(data.parent), **options}, {}))


def write(data: Path, *changed: dict[str, Any], configuration: str = "Recalling", cases: int = 2) -> Path:
    """A JSONL file whose rows are changed one after the other."""
    path = data / f"{configuration}.jsonl"
    whole = list(rows(configuration, cases))
    for row, change in zip(whole, changed, strict=False):
        row.update(change)
        for column in [name for name, value in row.items() if value is ...]:
            del row[column]
    path.write_text("".join(json.dumps(row) + "\n" for row in whole), encoding="utf-8")
    return path


def test_a_missing_domain_is_reported_with_the_existing_ones(data: Path) -> None:
    """A group of lm-eval loads all its domains, and one without cases would stop the host with a riddle."""
    whole = [row for row in rows("Recalling", 2) if row["Domain"] in ("Books", "Law")]
    (data / "Recalling.jsonl").write_text("".join(json.dumps(row) + "\n" for row in whole), encoding="utf-8")
    assert len(load(data).cases.cases) == 2
    with pytest.raises(
        InputError, match=r"ethic_recall_debates: .*hold some of ethic_recall_books, ethic_recall_law: name"
    ):
        load(data, "ethic_recall_debates")


def test_data_are_found_or_reported_with_remedies(data: Path) -> None:
    options = resolve_options({"lct_data_dir": str(data.parent)}, {})
    with pytest.raises(InputError, match=r"recalling.zip .*is missing.*lct data fetch ethic"):
        BENCHMARK.has_data("ethic_recall_books", options)
    write(data)
    assert BENCHMARK.has_data("ethic_recall_books", options)
    with pytest.raises(InputError, match="carriers"):
        BENCHMARK.has_data("ethic_organize_books_recast", options)


def test_the_twelve_pairs(data: Path) -> None:
    write_published_files(data, 3)
    assert len(NAMES) == 12
    for name in NAMES:
        task = load(data, name)
        assert [case.id for case in task.cases.cases] == [
            f"{name.rsplit('_', 1)[1][0].upper()}{n}" for n in range(3)
        ]
        assert task.answer_budget == 4096
        assert {case.labels["domain"] for case in task.cases.cases} == {name.rsplit("_", 1)[1]}


def test_a_case_and_its_messages(data: Path) -> None:
    write_published_files(data, 2)
    task = load(data, "ethic_recall_law")
    case = task.cases.cases[1]
    assert task.messages(case) == [
        Message("system", "You read law."),
        Message("user", user_message("Recalling", "Law", 1)),
    ]
    assert case.turns[0].gold[:3] == ["A1", "A2", "A3"] and case.cluster == "law_L1"
    text = "You read law.\n\n" + user_message("Recalling", "Law", 1)
    assert case.num_tokens[CL100K] == len(cl100k_encoding().encode(text))
    # Nothing long is held by the case itself.
    assert "Instruction" not in case.to_json()
    folded = load(data, "ethic_recall_law", lct_prompt_style="folded")
    assert folded.messages(folded.cases.cases[1]) == [Message("user", text)]
    with pytest.raises(InputError, match="prompt style 'x' is not one of chat, folded"):
        load(data, lct_prompt_style="x")


def test_sections_are_the_gold_of_summarizing(data: Path) -> None:
    write_published_files(data, 3)
    assert load(data, "ethic_summarize_law").cases.cases[2].turns[0].gold == [
        "<Segment 1>",
        "<Segment 2>",
        "<Segment 3>",
    ]


@pytest.mark.parametrize("form", ["jsonl", "gzip", "list", "two_files", "zip"])
def test_a_local_copy_in_every_form(data: Path, form: str) -> None:
    whole = list(rows("Recalling", 3))
    texts = [json.dumps(row) for row in whole]
    match form:
        case "jsonl":
            write(data, cases=3)
            (data / ".cache").mkdir()
            (data / ".cache" / "Recalling.jsonl").write_text("no data")
        case "gzip":
            (data / "Recalling.jsonl.gz").write_bytes(gzip.compress("\n".join(texts).encode()))
        case "list":
            (data / "Recalling.json").write_text("\n " + json.dumps(whole))
        case "zip":
            with zipfile.ZipFile(data / "recalling.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("test_recalling.jsonl", "\n".join(texts))
                archive.writestr("__MACOSX/._test_recalling.jsonl", "no data")
        case "two_files":
            (data / "Recalling").mkdir()
            (data / "Recalling" / "test-1.jsonl").write_text("\n".join(texts[:5]))
            (data / "Recalling" / "test-2.jsonl").write_text("\n".join(texts[5:]))
    for domain in CONFIGURATIONS["Recalling"]:
        task = load(data, f"ethic_recall_{domain.lower()}")
        own = [row for row in whole if row["Domain"] == domain]
        assert [case.turns[0].gold for case in task.cases.cases] == [row["Answer"] for row in own]
        assert [task.messages(case)[1].content for case in task.cases.cases] == [
            row["User_msg"] for row in own
        ]


@pytest.fixture
def _in_the_library_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the hub, its library is only loaded if its cache may have the data."""
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path))
    (tmp_path / "dmis-lab___ethic").mkdir()


@pytest.mark.usefixtures("_in_the_library_cache")
def test_the_hub_is_asked_for_the_commit_on_the_card(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    table, asked = datasets.Dataset.from_list(list(rows("Recalling", 3))), []

    def load_dataset(*given: str, **named: str) -> Any:
        asked.append((given, named))
        return table

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    assert load(data).cases.cases
    [((hub, configuration), named)] = asked
    stated = card("ethic").data
    assert (hub, configuration, named["split"]) == (stated["hub"]["id"], "Recalling", "test")
    assert re.fullmatch("[0-9a-f]{40}", named["revision"]) and named["revision"] == stated["hub"]["revision"]
    assert all(f"/resolve/{named['revision']}/{name}" in url for name, url in stated["other_urls"].items())
    assert {name.removesuffix(".zip") for name in stated["other_urls"]} == {
        configuration.lower() for configuration in CONFIGURATIONS
    }


@pytest.mark.parametrize(
    ("configuration", "change", "said"),
    [
        ("Recalling", {"Answer": ..., "answer": ["x"]}, "row 1: Answer is missing; ETHIC has the columns ID"),
        ("Recalling", {"Domain": "Poems"}, "row 1: Domain must be one of books, debates"),
        ("Recalling", {"Domain": None}, "row 1: Domain must be one of"),
        ("Recalling", {"Answer": "Anne, Jane"}, "row 1: Answer must be a list of texts"),
        ("Recalling", {"Answer": None}, "row 1: Answer must be a list of texts"),
        ("Recalling", {"Answer": ["Anne", 1.5]}, "row 1: Answer must be a list of texts"),
        ("Attributing", {"Answer": {"a": 1}}, "row 1: Answer must be a list of texts"),
        ("Organizing", {"Answer": "none"}, "row 1: Answer must be a text with the options' numbers"),
        ("Organizing", {"Answer": 5}, "row 1: Answer must be"),
        ("Summarizing", {"User_msg": "Summarize."}, "row 1: User_msg has no sections marked <Section n>"),
        ("Recalling", {"User_msg": ["a"]}, "row 1: User_msg must be text"),
        ("Recalling", {"User_msg": " "}, "row 1: User_msg is empty"),
        ("Recalling", {"System_msg": 3}, "row 1: System_msg must be text"),
        ("Recalling", {"ID": None}, "row 1: ID must be a text or a whole number"),
        ("Recalling", {"ID": "B1"}, "row 2: ID 'B1' occurs twice in books"),
        ("Recalling", {"User_msg": "Who\ud800?"}, "row 1: User_msg holds half of a surrogate pair"),
        ("Recalling", {"ID": "\udfff"}, "row 1: ID holds half of a surrogate pair"),
        ("Recalling", {"Answer": ["\ud800"]}, "row 1: Answer, item 1 holds half of a surrogate pair"),
    ],
)
def test_bad_rows_are_reported_by_file_and_row(
    data: Path, configuration: str, change: dict[str, Any], said: str
) -> None:
    path = write(data, change, configuration=configuration)
    domain = CONFIGURATIONS[configuration][0].lower()
    task = next(task for task, name in TASKS.items() if name == configuration)
    with pytest.raises(InputError, match=said) as error:
        load(data, f"ethic_{task}_{domain}")
    assert str(path) in str(error.value)
    # Nothing half made is left behind.
    assert not list((data.parents[1] / "cache" / "cases").glob("*/manifest.json"))


@pytest.mark.parametrize(
    ("name", "content"),
    [("Recalling.jsonl", b"{]\n"), ("Recalling.json", b'[{"ID": 1'), ("Recalling.jsonl.gz", b"\x1f\x8b cut"), ("Recalling.jsonl", b"3\n"),
     ("Recalling.jsonl", b"\xff\xfe\n"), ("recalling.zip", b"PK cut")],
)  # fmt: skip
def test_a_damaged_file_is_named(data: Path, name: str, content: bytes) -> None:
    (data / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}.*fetch it again"):
        load(data)


@pytest.mark.usefixtures("_in_the_library_cache")
def test_missing_columns_on_the_hub(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_list([{"ID": 1, "Domain": "Books"}])
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: table)
    with pytest.raises(
        InputError, match=r"Recalling: no column System_msg, User_msg, Answer \(there are: ID, Domain\)"
    ):
        load(data)


def test_rows_of_foreign_domains_are_left_out(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(data, {"Domain": "Law"}, configuration="Organizing", cases=2)
    with caplog.at_level(logging.WARNING):
        assert [case.id for case in load(data, "ethic_organize_books").cases.cases] == ["B1"]
    assert "1 rows of domains that Organizing does not have are left out" in caplog.text


def test_answers_written_into_a_text(data: Path) -> None:
    write(data, {"Answer": "['Anne', \"O'Neil\"]"}, {"Answer": '["Jane", 12]'})
    assert [case.turns[0].gold for case in load(data).cases.cases] == [["Anne", "O'Neil"], ["Jane", "12"]]


def test_new_data_make_new_cases(data: Path) -> None:
    write(data)
    assert len(load(data).cases) == 2
    write(data, cases=5)
    assert len(load(data).cases) == 5
    assert len(load(data, lct_n=3).cases) == 3


def test_short_and_long_prompts(data: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_published_files(data, 3)
    sizes = {}
    task = load(data, lct_tokenizer=str(tiny))
    for case in task.cases.cases:
        sizes[case.id] = len(
            __import__("tokenizers")
            .Tokenizer.from_file(str(tiny / "tokenizer.json"))
            .encode(prompt_length.full_prompt(task.messages(case), str(tiny)), add_special_tokens=False)
        )
    middle = sorted(sizes.values())[1]
    monkeypatch.setattr(prompt_length, "BOUND", middle)
    under = load(data, lct_tokenizer=str(tiny), lct_prompt_tokens="under_32k")
    over = load(data, lct_tokenizer=str(tiny), lct_prompt_tokens="over_32k")
    assert {case.id for case in under.cases.cases} == {name for name, size in sizes.items() if size <= middle}
    assert {case.id for case in over.cases.cases} == {name for name, size in sizes.items() if size > middle}
    assert under.description()["lct_prompt_tokens"] == "under_32k"
    monkeypatch.setattr(prompt_length, "BOUND", 10**6)
    with pytest.raises(InputError, match="no prompt is over_32k"):
        load(data, lct_tokenizer=str(tiny), lct_prompt_tokens="over_32k")
    with pytest.raises(InputError, match="give lct_tokenizer as well"):
        load(data, lct_prompt_tokens="over_32k")


@pytest.mark.slow
def test_another_chat_template_makes_other_prompt_lengths(data: Path, tiny: Path, tmp_path: Path) -> None:
    write_published_files(data, 1)
    model = Path(shutil.copytree(tiny, tmp_path / "model"))

    def sizes() -> list[int]:
        # As in a new process.
        prompt_length._with_template.cache_clear()
        task = load(data, lct_tokenizer=str(model), lct_prompt_tokens="under_32k")
        return [case.labels["full_prompt_tokens"] for case in task.cases.cases]

    [before] = sizes()
    template = "{% for m in messages %}" + "a long way " * 50 + "{{ m.content }}{% endfor %}"
    for path in model.glob("chat_template*"):
        path.unlink()
    config = json.loads((model / "tokenizer_config.json").read_text())
    (model / "tokenizer_config.json").write_text(json.dumps({**config, "chat_template": template}))
    [after] = sizes()
    assert after > before + 50


@pytest.mark.parametrize("kind", ["refuses", "drops"])
def test_a_template_without_system_role_gets_the_system_message_in_the_users_text(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def template(messages: list[dict[str, Any]], **_: Any) -> str:
        if kind == "refuses" and messages[0]["role"] == "system":
            raise ValueError("System role not supported")
        return "".join(f"[{one['role']}]{one['content']}" for one in messages if one["role"] != "system")

    tokenizer = SimpleNamespace(apply_chat_template=template)
    monkeypatch.setattr(prompt_length, "_with_template", lambda _: tokenizer)
    both = [Message("system", "S"), Message("user", "U")]
    assert prompt_length.full_prompt(both, "m") == "[user]S\n\nU"


def test_built_cases(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "built"
    case = Case(
        "x",
        "ethic_recall_books",
        {"system": "", "user": "u"},
        (Turn(["Anne"]),),
        "x",
        labels={"domain": "books"},
    )
    with CaseWriter(folder, {"seed": 3}) as writer:
        writer.add_documents([("u", "Who?")])
        writer.add_cases("ethic_recall_books", [case])
    task = load(data, lct_cases=str(folder))
    assert task.messages(task.cases.cases[0]) == [Message("user", "Who?")]
    assert task.options.seed == 3
    with pytest.raises(InputError, match="holds no cases of ethic_recall_law"):
        load(data, "ethic_recall_law", lct_cases=str(folder))
    with pytest.raises(InputError, match="leave out lct_subset"):
        load(data, lct_subset=50)


BUILT_TASKS = [f"ethic_{kind}_{domain}" for kind, domains in BUILT.items() for domain in domains]
"""The tasks without published data: run on built cases only, in no group of the benchmark."""


@pytest.mark.parametrize("name", BUILT_TASKS)
def test_without_built_cases_one_error_names_the_remedy(name: str, data: Path) -> None:
    said = f"{name}: has no published data; build .*lct build ethic_recall_counterparts.*lct_cases"
    with pytest.raises(InputError, match=said):
        load(data, name)


def test_counterparts_are_found_beside_the_cases_of_other_families(tmp_path: Path, data: Path) -> None:
    write_built_cases(tmp_path, 2)
    for folder in (tmp_path, tmp_path / "ethic_recall_counterparts"):
        for name in BUILT_TASKS:
            task = load(data, name, lct_cases=folder, lct_length="1k")
            assert len(task.cases) == 2 and task.judging is None and not task.points
            for case in task.cases.cases:
                [gold] = case.turns[0].gold
                scores = task.score(case, gold, None)
                assert tuple(scores) == task.metrics and scores[task.metrics[0]].value == 1
    with pytest.raises(InputError, match="holds no cases of ethic_recall_books"):
        load(data, lct_cases=tmp_path / "ethic_recall_counterparts")
