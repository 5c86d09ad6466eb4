"""What is sent through the host's models comes back whole: refusals for length, other failures, prompts to the byte, thinking."""

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from judge_server import Answer, judge_server
from needs import needs
from opencompass_steps import replies
from other_tokenizers import other_tokenizer
from stub_server import Stub, like_vllm, stub_server
from tiny_model import make_tiny_model

from long_context_tasks.hosts.opencompass.results import model_facts
from long_context_tasks.schema import InputError, Message, Options

pytestmark = [needs("opencompass"), pytest.mark.slow]

TEMPLATE = {
    "round": [{"role": "HUMAN", "api_role": "HUMAN"}, {"role": "BOT", "api_role": "BOT", "generate": True}]
}
PROMPTS = [[Message("user", f"{i} " + "word " * n)] for i, n in enumerate((10, 30_000, 20))]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def client(stub: Stub, tokenizer: Path) -> Any:
    from opencompass.models import OpenAISDK

    return OpenAISDK(
        path="stub",
        openai_api_base=stub.url,
        key="EMPTY",
        tokenizer_path=str(tokenizer),
        meta_template=TEMPLATE,
        query_per_second=100,
        temperature=0,
    )


def test_a_length_refusal_costs_one_case(tokenizer: Path) -> None:
    """30,000 words also exceed the default limit of the host's class, 16,384, which no user sets."""
    with stub_server(lambda messages: messages[-1]["content"][:1], refuse_over=1000) as stub:
        model = client(stub, tokenizer)
        answers = replies(model, PROMPTS)
    assert stub.refused == 1, "the host's own limit was not lifted, or the host tried again"
    assert [(answer.text, answer.status) for answer in answers] == [
        ("0", None),
        ("", "does_not_fit"),
        ("2", None),
    ]
    assert model.max_seq_len == 16384


@pytest.mark.parametrize(
    ("window", "option", "shown", "fitting"),
    [
        # 11, 30,001 and 21 words, each with a first token, 8 around them, 8 of the answer.
        (38, None, "38 (server)", [True, False, True]),
        (37, None, "37 (server)", [True, False, False]),
        (9, 37, "37 (lct_window)", [True, False, False]),
        (None, None, "unchecked", [True, True, True]),
    ],
)
def test_a_server_states_its_window_and_counts(
    tokenizer: Path, window: int | None, option: int | None, shown: str, fitting: list[bool]
) -> None:
    from opencompass.models import OpenAISDK

    from long_context_tasks.hosts.opencompass.send import Sender, find_window

    name = str(tokenizer)  # the class takes its default tokenizer from there
    with stub_server(lambda _: "x", others=like_vllm(window, name) if window else {}) as stub:
        key = {"key": "sk-0123456789abcdef", "meta_template": TEMPLATE, "query_per_second": 100}
        model = OpenAISDK(path=name, openai_api_base=stub.url, temperature=0, **key)
        found = find_window(model, Options(window=option), None)
        assert found.describe() == shown
        answers = list(Sender(model, found, 8, {}).answers(PROMPTS))
    assert [answer.status is None for answer in answers] == fitting
    assert len(stub.requests) == sum(fitting)
    if window:
        assert [answer.n_prompt_tokens for answer in answers] == [20, 30_010, 30]
        assert {sent for _, sent in stub.asked} == {"Bearer sk-0123456789abcdef"}


def test_a_server_that_states_its_window_and_counts_nothing_lacks_a_tokenizer(
    tokenizer: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from opencompass.models import OpenAISDK

    from long_context_tasks.hosts.opencompass.send import find_window

    with stub_server(others={"/v1/models": like_vllm(131_072, str(tokenizer))["/v1/models"]}) as stub:
        model = OpenAISDK(path=str(tokenizer), openai_api_base=stub.url, key="EMPTY")
        assert not find_window(model, Options(), None).checked
        [line] = caplog.messages
        assert (
            "reports a window of 131,072 tokens but counts no tokens: set lct_tokenizer (LCT_TOKENIZER)"
            in line
        )
        assert find_window(model, Options(tokenizer="cl100k"), None).describe() == "131072 (server)"
    assert caplog.messages == [line]


def test_a_tokenizer_that_was_named_counts(tokenizer: Path, tmp_path: Path) -> None:
    """In the config of the model, or in the options of the task, as on the other hosts."""
    from long_context_tasks.hosts.opencompass.send import find_window

    other = other_tokenizer("words", tmp_path / "words")
    with stub_server(lambda _: "x", others=like_vllm(400)) as stub:
        assert replies(client(stub, tokenizer), PROMPTS[2:])[0].n_prompt_tokens
        model = client(stub, tokenizer)
        by_option = find_window(model, Options(tokenizer=other), None)
    # The second path of each only to see whether it is there.
    assert [path for path, _ in stub.asked] == ["/v1/models", "/tokenize"] * 2
    assert by_option.count is not None and by_option.count("one two") == 2 + 8


def test_a_class_that_repeats_refused_prompts_without_end_is_refused(tokenizer: Path) -> None:
    from opencompass.models import OpenAI

    model = OpenAI(path="stub", key="EMPTY", tokenizer_path=str(tokenizer))
    with pytest.raises(InputError, match="OpenAISDK"):
        replies(model, PROMPTS)


def test_prompts_arrive_to_the_byte(tokenizer: Path) -> None:
    text = "  a\r\n\tb \u00e9\u4e2d {case} \U0001f600\n "
    with stub_server(lambda _: "x") as stub:
        model = client(stub, tokenizer)
        replies(model, [[Message("user", text)]])
        assert stub.requests == [[{"content": text, "role": "user"}]]


@pytest.mark.parametrize(
    ("status", "said", "remedy"),
    [
        (None, "Connection error", "start it, or correct its address (LCT_API_BASE"),
        (401, "no such key", "put its key into OPENAI_API_KEY"),
        (404, "no such model", "name one of its models (LCT_API_MODEL"),
        (424, "odd", "see its log"),
        (502, "Bad\n\nGateway", "see its log"),
        ("late", "timed out", "see its log"),
    ],
)
def test_an_endpoint_that_fails_is_named_with_a_remedy(
    tokenizer: Path, status: int | str | None, said: str, remedy: str
) -> None:
    """One line in the log of the process, and no refusal for length."""
    late = Answer(delay=5)
    with judge_server(
        lambda *_: Answer(status=status, error=said) if isinstance(status, int) else late
    ) as server:
        model = client(Stub(server.url), tokenizer)
        if status == "late":
            model.timeout, model.openai_client.max_retries = 0.1, 0
        if status is not None:
            with pytest.raises(InputError) as raised:
                replies(model, PROMPTS[:1])
    if status is None:
        with pytest.raises(InputError) as raised:
            replies(model, PROMPTS[:1])
    message = str(raised.value)
    said = " ".join(said.split())
    assert server.url in message and said in message and remedy in message, message


def answer_of(monkeypatch: pytest.MonkeyPatch, finish_reason: str, **message: Any) -> str:
    from opencompass.models import OpenAISDK

    monkeypatch.setattr(OpenAISDK, "_init_tokenizer", lambda self: None)
    model = OpenAISDK(
        path="x", key="EMPTY", openai_api_base="http://127.0.0.1:9/v1", retry=1, query_per_second=100
    )
    model.get_token_len = len
    message = {"content": None, **message}
    choice = SimpleNamespace(message=SimpleNamespace(**message), finish_reason=finish_reason)
    completions = SimpleNamespace(create=lambda **_: SimpleNamespace(choices=[choice]))
    chat = SimpleNamespace(completions=completions)
    model.openai_client = SimpleNamespace(chat=chat, base_url="http://127.0.0.1:9/v1", api_key="EMPTY")
    (answer,) = replies(model, [[Message("user", "?")]])
    return answer.text


@pytest.mark.parametrize(
    ("finish_reason", "message", "expected"),
    [
        ("stop", {"content": "A2", "reasoning_content": "A1? no"}, "A1? no</think>A2"),
        ("stop", {"content": "A2", "reasoning": "A1? no"}, "A1? no</think>A2"),
        ("length", {"reasoning_content": "A1 or"}, "<think>A1 or"),
        ("length", {"reasoning": "A1 or"}, "<think>A1 or"),
        ("length", {"content": ""}, ""),
        ("stop", {"content": " A2\n"}, " A2\n"),
    ],
)
def test_an_unfinished_thinking_is_marked(
    monkeypatch: pytest.MonkeyPatch, finish_reason: str, message: dict[str, str], expected: str
) -> None:
    assert answer_of(monkeypatch, finish_reason, **message) == expected


@pytest.mark.parametrize(("end", "expected"), [("<think>\n", "<think>A1 or"), ("<assistant>", "A1 or")])
def test_templates_that_open_the_thinking(end: str, expected: str) -> None:
    from opencompass.models import HuggingFacewithChatTemplate

    class Local(HuggingFacewithChatTemplate):  # type: ignore[misc]
        def __init__(self, end: str) -> None:
            self.max_seq_len = None
            self.tokenizer = SimpleNamespace(
                chat_template="x", apply_chat_template=lambda *_, **__: f"<user>x{end}"
            )

        def parse_template(self, prompt: Any, mode: str) -> Any:
            return prompt

        def get_token_len(self, prompt: Any) -> int:
            return 1

        def generate_from_template(self, templates: Any, max_out_len: int) -> list[str]:
            return ["A1 or"] * len(templates)

    (answer,) = replies(Local(end), [[Message("user", "?")]])
    assert answer.text == expected


@pytest.mark.parametrize("given", [None, "2024"])
def test_an_endpoint_is_sent_the_seed_of_the_run(
    tokenizer: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    from mmengine.config import Config
    from opencompass.registry import MODELS

    seeds = []

    def behave(body: dict[str, Any], _: int) -> Answer:
        seeds.append(body.get("seed"))
        return Answer(text="A1")

    with judge_server(behave) as server:
        for name, value in (
            ("API_BASE", server.url),
            ("MODEL", "stub"),
            ("TOKENIZER", str(tokenizer)),
            ("RUN_SEED", given),
        ):
            if value is not None:
                monkeypatch.setenv(f"LCT_{name}", value)
        [config] = Config.fromfile(Path(__file__).parents[2] / "configs/models/lct_endpoint.py").models
        facts = model_facts(config)
        kept = {
            name: value
            for name, value in config.items()
            if name not in ("abbr", "run_cfg", "batch_size", "max_out_len")
        }
        replies(MODELS.build(kept), [[Message("user", "one")]])
    assert seeds == [given and int(given)]
    assert facts["gen_kwargs"].get("seed") == (given and int(given))


@pytest.mark.parametrize("named", ["cl100k", ""])
def test_a_served_model_needs_no_network_for_a_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    import tiktoken
    from mmengine.config import Config
    from opencompass.registry import MODELS

    from long_context_tasks.hosts.opencompass.send import find_window

    def refused(*_: Any) -> None:
        asked.append(1)
        raise OSError("no network here")

    asked: list[int] = []

    configs = Path(__file__).parents[2] / "configs/models"
    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    for name, value in (
        ("TIKTOKEN_CACHE_DIR", str(tmp_path)),
        ("LCT_API_BASE", "http://h/v1"),
        ("LCT_API_MODEL", "org/a-model"),
        ("LCT_TOKENIZER", named),
    ):
        monkeypatch.setenv(name, value)
    [config] = Config.fromfile(configs / "lct_endpoint.py").models
    kept = {name: config[name] for name in ("type", "path", "key", "tokenizer_path", "openai_api_base")}
    model = MODELS.build(kept)
    assert not asked
    options = Options(window=100, tokenizer=named or None)
    window = find_window(model, options, None)
    source = "lct_window" if named else "lct_window, counted in cl100k"
    assert window.describe() == f"100 ({source})"
    assert window.count is not None and window.count("antidisestablishmentarianism") == 6 + 8


def test_a_tokenizer_that_is_not_there_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from long_context_tasks.hosts.opencompass.configs import served_model

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("LCT_API_BASE", "http://h/v1")
    monkeypatch.setenv("LCT_TOKENIZER", "nobody/nothing")
    with pytest.raises(InputError, match=r"nobody/nothing.*LCT_TOKENIZER"):
        served_model()
