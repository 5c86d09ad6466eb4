"""The classes for OpenCompass, called directly: rows of ids, windows, refusals, resume, results."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from opencompass_steps import REFUSAL, ApiModel, evaluate, replies
from opencompass_steps import infer as infer_task
from tiny_model import make_tiny_model
from toy_benchmark import write_cases

from long_context_tasks.hosts.opencompass.rows import RowStore
from long_context_tasks.schema import InputError, Message
from long_context_tasks.stats.means import result_keys

pytestmark = [needs("opencompass"), pytest.mark.slow, pytest.mark.usefixtures("toy_installed")]


class WordModel(ApiModel):
    def reply(self, prompt: Any, chat: list[Any]) -> str:
        return "yes" if "right" in prompt else "no"

    def generate_from_template(self, templates: list[Any], max_out_len: int, **_: Any) -> list[str]:
        return self.generate([self.parse_template(prompt, "gen") for prompt in templates], max_out_len)


def infer(cases: Path, out: Path, model: Any, **options: Any) -> tuple[Any, list[dict[str, Any]]]:
    return infer_task("toy_1k", model, out, lct_cases=str(cases), **options)


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write_cases(
        tmp_path / "cases", [f"{'right' if i % 2 else 'wrong'} " + "word " * (10 * i) for i in range(6)]
    )


def test_rows_hold_ids_only(cases: Path, tmp_path: Path) -> None:
    dataset, rows = infer(cases, tmp_path / "out", WordModel())
    assert set(dataset.test.column_names) == {
        "case",
        "reference",
        "lct_task",
        "lct_options",
        "lct_given",
        "subdivision",
        "idx",
    }
    assert max(len(str(row)) for row in dataset.test) < 1000
    assert [row["case"] for row in rows] == [f"c{i}" for i in range(6)]


def test_prompts_arrive_whole_and_the_excerpt_names_them(cases: Path, tmp_path: Path) -> None:
    model = WordModel()
    _, rows = infer(write_cases(tmp_path / "long", ["x" * 10_000]), tmp_path / "out", model)
    assert model.asked == ["x" * 10_000]
    assert len(rows[0]["origin_prompt"]) < 1000 and rows[0]["n_prompt_chars"] == 10_000
    assert not list((tmp_path / "out").glob("tmp*"))


def test_unknown_options_are_errors(cases: Path) -> None:
    from long_context_tasks.hosts.opencompass.task import CaseDataset

    for options in ({"lct_lenght": "2k"}, {"length": "2k"}):
        with pytest.raises(InputError):
            CaseDataset.load(lct_task="toy_1k", lct_cases=str(cases), **options)


@pytest.mark.parametrize("configured", [None, 45])
def test_window_leaves_out_what_does_not_fit(cases: Path, tmp_path: Path, configured: int | None) -> None:
    """Prompts of 1, 11, 21, 31, 41, 51 words + 8 for the template + 8 for the answer: four of them fit 47."""
    options = {"lct_window": 47} if configured is None else {}
    model = WordModel()
    dataset, rows = infer(cases, tmp_path / "out", model, max_seq_len=configured and 47, **options)
    assert [row["lct_status"] for row in rows] == [None] * 4 + ["does_not_fit"] * 2
    assert len(model.asked) == 4 and model.max_seq_len == 5
    assert [row["n_prompt_tokens"] for row in rows] == [9, 19, 29, 39, 49, 59]
    result = evaluate(dataset, rows)
    assert (result["n"], result["n_scored"], result["n_does_not_fit"]) == (6, 4, 2)
    assert result["strict_accuracy"] == 50 and result["coverage"] == pytest.approx(100 * 4 / 6)
    assert result["n_truncated"] == 0 and result["headline"] == ["strict_accuracy"]
    assert result["window"] == [f"47 ({'lct_window' if configured is None else 'host'})"]


def test_unknown_window_sends_everything(cases: Path, tmp_path: Path) -> None:
    """The default limit of an API class (5 here) is no window."""
    model = WordModel()
    dataset, rows = infer(cases, tmp_path / "out", model)
    assert len(model.asked) == 6
    result = evaluate(dataset, rows)
    assert result["window"] == ["unchecked"] and math.isnan(result["n_truncated"])
    json.dumps(result)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_refusal_costs_one_case(cases: Path, tmp_path: Path, batch_size: int) -> None:
    dataset, rows = infer(cases, tmp_path / "out", WordModel(refuse_over=35), batch_size=batch_size)
    assert [row["lct_status"] for row in rows] == [None] * 4 + ["does_not_fit"] * 2
    assert evaluate(dataset, rows)["n_does_not_fit"] == 2


def test_another_failure_ends_the_task(cases: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="connection refused"):
        infer(cases, tmp_path / "out", WordModel(fail_at=3))
    assert not (tmp_path / "out" / "rows.json").exists()


def test_a_killed_run_goes_on_where_it_was(cases: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(RuntimeError):
        infer(cases, out, WordModel(fail_at=2), batch_size=1, lct_window=47)
    log = out / "tmp_rows.jsonl"
    assert len(log.read_text().splitlines()) == 2
    with log.open("a") as file:
        file.write('{"case": "c2", "predic')
    model = WordModel()
    _, rows = infer(cases, out, model, lct_window=47)
    _, fresh = infer(cases, tmp_path / "fresh", WordModel(), lct_window=47)
    assert rows == fresh and not log.exists()
    assert len(model.asked) == 2


def test_rows_survive_two_kills_and_belong_to_their_cases(tmp_path: Path) -> None:
    def restored(*cases: str) -> tuple[RowStore, int]:
        store = RowStore(str(tmp_path), "x.json")
        return store, store.restore(cases)

    restored()[0].add([{"case": "a"}])
    with (tmp_path / "tmp_x.jsonl").open("a") as file:
        file.write('{"case"')
    store, done = restored("a", "b", "c")
    assert done == 1
    store.add([{"case": "b"}])
    assert restored("a", "b", "c")[1] == 2
    with pytest.raises(InputError, match="without -r"):
        restored("b", "a")


def test_rows_made_with_other_options_are_not_taken_over(cases: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        infer(cases, tmp_path, WordModel(fail_at=2), batch_size=1)
    model = WordModel()
    with pytest.raises(InputError, match=r"lct_answer_budget was not given, is 3.*without -r"):
        infer(cases, tmp_path, model, lct_answer_budget=3)
    assert not model.asked and len((tmp_path / "tmp_rows.jsonl").read_text().splitlines()) == 2


def test_predictions_of_other_options_or_cases_are_refused(cases: Path, tmp_path: Path) -> None:
    """The host finds the file of an earlier run by its name; the number of cases distinguishes others."""
    _, rows = infer(cases, tmp_path / "out", WordModel(), lct_answer_budget=4)
    for options, change in (({}, "lct_answer_budget was 4, is not given"), ({"lct_n": 3}, "lct_n was not")):
        other, _ = infer(cases, tmp_path / change, WordModel(), **options)
        with pytest.raises(InputError, match=change):
            evaluate(other, rows)
    dataset, rows = infer(cases, tmp_path / "same", WordModel())
    with pytest.raises(InputError, match="other cases"):
        evaluate(dataset, rows[::-1])


def test_result_has_the_keys_of_the_other_host(cases: Path, tmp_path: Path) -> None:
    dataset, rows = infer(cases, tmp_path / "out", WordModel(), lct_n=4)
    result = evaluate(dataset, rows)
    keys = result_keys(("strict_accuracy", "random_guess"), ("strict_accuracy",))
    assert tuple(key for key in result if isinstance(result[key], float)) == keys
    assert result["options"][0]["lct_n"] == 4 and result["options"][0]["version"] == 1
    detail = result["details"][1]
    assert detail["case"] == ["c1"] and detail["strict_accuracy"] == [1.0] and detail["pred"] == ["yes"]
    assert "word" not in json.dumps(result)


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (REFUSAL, True),
        ("The decoder prompt (length 9) is longer than the maximum model length of 8.", True),
        ("Error code: 500 - maximum context length", False),
        ("Error code: 400 - unknown model", False),
        ("Request failed with status code 413, response: input too long", True),
    ],
)
def test_refusals_are_told_from_failures(text: str, refused: bool) -> None:
    from long_context_tasks.hosts.opencompass.send import is_refusal

    assert is_refusal(text) is refused


def test_several_runs_of_one_dataset(cases: Path, tmp_path: Path) -> None:
    dataset, rows = infer(cases, tmp_path / "out", WordModel(), n=2)
    assert [row["case"] for row in rows] == [f"c{i}" for i in range(6)] * 2
    assert evaluate(dataset, rows, repeats=2)["strict_accuracy (2 runs average)"] == 50


def test_a_chat_model_gets_the_prompt_to_the_byte(tmp_path: Path) -> None:
    """The host's default template for chat models would add a newline to every prompt."""
    from opencompass.models import HuggingFacewithChatTemplate

    folder = make_tiny_model(tmp_path / "model", max_position_embeddings=256)
    model = HuggingFacewithChatTemplate(path=str(folder), model_kwargs={"device_map": "cpu"})
    seen: list[Any] = []
    render = model.tokenizer.apply_chat_template
    model.tokenizer.apply_chat_template = lambda messages, **kwargs: (
        seen.append(messages),
        render(messages, **kwargs),
    )[1]
    conversation = [Message("user", "one\n"), Message("assistant", "two"), Message("user", " three\n\n")]
    replies(model, [[Message("user", "text\n")], [Message("system", "be short\n"), *conversation]], 2)
    sent = [[(message["role"], message["content"]) for message in messages] for messages in seen]
    assert [("user", "text\n")] in sent
    assert [("system", "be short\n"), ("user", "one\n"), ("assistant", "two"), ("user", " three\n\n")] in sent
    # It asks for the template of probes first.
    ours = [messages for messages in sent if messages[-1][1].strip() in ("text", "three")]
    assert len({json.dumps(messages) for messages in ours}) == 2


TEXTS = ("right one", "wrong two", "right three")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), max_position_embeddings=256)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cases(tmp_path_factory.mktemp("built") / "toy", TEXTS)


@pytest.mark.parametrize("ppl", [False, True])
@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_rows_tell_the_type_that_the_host_loaded(
    folder: Path, built: Path, tmp_path: Path, dtype: str, ppl: bool
) -> None:
    from opencompass.models import HuggingFaceBaseModel

    model = HuggingFaceBaseModel(path=str(folder), model_kwargs={"device_map": "cpu", "torch_dtype": dtype})
    task = "toy_1k_ppl" if ppl else "toy_1k"
    _, rows = infer_task(task, model, tmp_path, lct_cases=str(built), lct_n=1, lct_answer_budget=1)
    assert [row["lct_dtype"] for row in rows] == [dtype] == [str(model.model.dtype)]


def test_results_tell_the_built_cases_by_what_they_hold(folder: Path, built: Path, tmp_path: Path) -> None:
    from opencompass.models import HuggingFaceBaseModel

    model = HuggingFaceBaseModel(path=str(folder), model_kwargs={"device_map": "cpu"})

    def told(place: Path, name: str, **options: Any) -> str:
        options = {"lct_cases": str(place), "lct_answer_budget": 1, **options}
        [digest] = evaluate(*infer_task("toy_1k", model, tmp_path / name, **options))["cases_sha256"]
        return str(digest)

    first = told(built, "a")
    assert len(first) == 16
    assert told(Path(shutil.copytree(built, tmp_path / "moved")), "b", lct_n=2) == first
    assert told(write_cases(tmp_path / "toy", TEXTS[:2]), "c") != first
