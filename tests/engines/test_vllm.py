"""vLLM, really run on the processor with a small model: in lm-eval's process, and as a server for both hosts.

``make test-vllm`` makes an environment of its own for it and names it in LCT_VLLM; the hosts' other side runs in the ordinary one.
"""

import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from both_hosts import configs_for_the_server, read_lm_eval, read_opencompass, run_command
from engine_runs import ENVIRONMENT, VLLM, samples, scores_of, shared_with_template, vllm_server
from tiny_model import demo_model, make_rope_checkpoint

pytestmark = [
    pytest.mark.engines,
    pytest.mark.skipif(not os.environ.get("LCT_VLLM"), reason="LCT_VLLM names no environment with vLLM"),
]

QUESTIONS = (
    "elitr_bench_qa_synthetic"  # several on one transcript, so that a cache of prefixes has something to keep
)
TASKS = ("ada_leval_bestanswer_any_synthetic", QUESTIONS)
OPTIONS = {"LCT_N": "6", "LCT_LENGTH": "2k", "LCT_TOKENIZER": str(demo_model())}
METADATA = json.dumps({"lct_n": 6, "lct_length": "2k"})
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768, "rope_theta": 1e6}


def run_beside_vllm(command: Sequence[str], folder: Path) -> str:
    """Run a program of the environment with vLLM; it has to succeed."""
    done = subprocess.run(
        [str(VLLM / command[0]), *command[1:]],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def lm_eval_in_process(model: str, arguments: str, folder: Path) -> Path:
    made = folder / model
    run_beside_vllm(
        [
            *("lm_eval", "run", "--model", model, "--model_args", f"pretrained={demo_model()},dtype=float32,{arguments}"),
            *("--tasks", ",".join(TASKS), "--metadata", METADATA, "--apply_chat_template", "--log_samples"),
            *("--output_path", str(made)),
        ],
        folder,
    )  # fmt: skip
    return made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("vllm")


@pytest.fixture(scope="module")
def in_process(made: Path) -> Path:
    return lm_eval_in_process("vllm", "max_model_len=4096,enforce_eager=True", made)


def test_in_lm_evals_process_the_prompts_and_scores_are_those_of_transformers(
    made: Path, in_process: Path
) -> None:
    hf = lm_eval_in_process("hf", "max_length=4096", made)
    for task in TASKS:
        ours, theirs = samples(in_process, task), samples(hf, task)
        assert {case: row["arguments"] for case, row in ours.items()} == {
            case: row["arguments"] for case, row in theirs.items()
        }
        alike = [case for case, row in ours.items() if row["resps"] == theirs[case]["resps"]]
        assert alike and all(scores_of(ours[case]) == scores_of(theirs[case]) for case in alike)
    for folder in (in_process, hf):
        [path] = folder.rglob("results_*.json")
        configs = json.loads(path.read_text(encoding="utf-8"))["configs"]
        # What SmolLM2's own config has.
        assert {configs[task]["metadata"]["rope"] for task in TASKS} == {"default, base 100000"}


@pytest.fixture(scope="module")
def server(made: Path) -> Iterator[str]:
    with vllm_server(made / "server.log", "--max-model-len", "4096") as url:
        yield url


def metrics(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as reply:
        return str(reply.read().decode())


def block_size(url: str) -> int:
    """Tokens of a block of the cache: on the processor more than on GPUs."""
    [line] = re.findall(r"^vllm:cache_config_info\{.*", metrics(url), re.M)
    [size] = re.findall(r'\bblock_size="(\d+)"', line)
    return int(size)


def prefix_tokens(url: str) -> tuple[float, float]:
    """Tokens that the server looked for in its cache of prefixes since it started, and those that it found."""
    text = metrics(url)

    def total(name: str) -> float:
        return sum(
            float(value) for value in re.findall(rf"^vllm:{name}(?:_total)?\{{[^}}]*\}} (\S+)", text, re.M)
        )

    return total("prefix_cache_queries"), total("prefix_cache_hits")


def ask_server(server: str, tasks: str, metadata: str, folder: Path, concurrent: int) -> None:
    arguments = f"model=small,base_url={server}/v1/chat/completions,num_concurrent={concurrent},tokenizer_backend=None"
    run_beside_vllm(
        [
            *("lm_eval", "run", "--model", "local-chat-completions", "--model_args", arguments, "--apply_chat_template"),
            *("--tasks", tasks, "--metadata", metadata, "--log_samples", "--output_path", str(folder)),
        ],
        folder.parent,
    )  # fmt: skip


def test_nano_computes_what_the_plan_says(server: str, made: Path) -> None:
    """Of the tokens of lct_nano the server computes as many as `lct plan` expects and the chat template adds, and a text once."""
    from long_context_tasks.benchmarks.catalogue import expand_tasks, resolve_options
    from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
    from long_context_tasks.results.plan.cost import PlanSettings, make_plan
    from long_context_tasks.results.plan.prices import PrefixCache
    from long_context_tasks.tokens import CL100K, get_tokenizer

    given = {"lct_n": 8, "lct_length": "2k", "lct_answer_budget": 16}
    options = resolve_options({key: str(value) for key, value in given.items()}, {})
    cache = PrefixCache(step=block_size(server))
    settings = PlanSettings(
        {CL100K: lambda texts: get_tokenizer(CL100K).count_many(list(texts))},
        cache=cache,
        encode=get_tokenizer(str(demo_model())).encode,
    )
    names = expand_tasks(["lct_nano"], lm_eval_groups())
    plan = make_plan(names, options, settings)
    assert plan.total.shared is not None and plan.total.shared.cached > 0.55 * plan.total.shared.tokens
    queries, hits = prefix_tokens(server)
    ask_server(server, "lct_nano", json.dumps(given), made / "nano", concurrent=1)
    now_queries, now_hits = prefix_tokens(server)
    asked, found = now_queries - queries, now_hits - hits
    expected = shared_with_template(names, options, cache)
    print(
        f"lct_nano: {asked:,.0f} tokens asked, {asked - found:,.0f} computed; the plan says {plan.total.shared}, "
        f"with the chat template {expected}"
    )
    assert plan.total.shared.tokens < expected.tokens < 1.03 * plan.total.shared.tokens
    assert asked == pytest.approx(expected.tokens, rel=0.01)
    assert asked - found == pytest.approx(expected.tokens - expected.cached, rel=0.02)


def test_both_hosts_ask_a_server_the_same_and_questions_on_one_text_share_it(server: str, made: Path) -> None:
    pytest.importorskip("opencompass")
    queries, hits = prefix_tokens(server)
    ask_server(server, ",".join(TASKS), METADATA, made / "lm_eval", concurrent=2)
    now_queries, now_hits = prefix_tokens(server)
    # Two questions on each transcript, and as many prompts of the same length that share little: a quarter.
    assert (now_hits - hits) / (now_queries - queries) > 0.225
    for benchmark in ("ada_leval", "elitr_bench"):
        config = configs_for_the_server(made / benchmark, benchmark)
        endpoint = {"LCT_API_BASE": f"{server}/v1", "LCT_API_MODEL": "small", "LCT_TASKS": ",".join(t for t in TASKS if t.startswith(benchmark))}  # fmt: skip
        run_command(
            ["opencompass", str(config), "-w", str(made / benchmark / "out")], made, {**OPTIONS, **endpoint}
        )
    for task in TASKS:
        ours = read_lm_eval(made / "lm_eval", task)
        [benchmark] = (name for name in ("ada_leval", "elitr_bench") if task.startswith(name))
        theirs = read_opencompass(made / benchmark / "out", task)
        assert ours.prompts == theirs.prompts
        [path] = (made / benchmark / "out").rglob(f"predictions/*/{task}.json")
        said = {
            row["case"]: row["prediction"] for row in json.loads(path.read_text(encoding="utf-8")).values()
        }
        alike = [
            case for case, row in samples(made / "lm_eval", task).items() if row["resps"][0][0] == said[case]
        ]
        assert alike and all(ours.scores[case] == theirs.scores[case] for case in alike)


ENGINE = """
import json, sys
from vllm import EngineArgs
from long_context_tasks.hosts.rope import rope_settings
for folder in sys.argv[3:]:
    config = EngineArgs(model=folder, skip_tokenizer_init=True, hf_overrides=json.loads(sys.argv[1]),
                        max_model_len=int(sys.argv[2]), dtype="float32").create_engine_config()
    print("FOUND", json.dumps(rope_settings(config.model_config.hf_text_config)))
"""


def test_the_engine_has_the_settings_of_the_yarn_config(made: Path) -> None:
    """Type, factor, original length and base, read from the engine's config; an override without a base shows 10,000."""
    yaml = pytest.importorskip("yaml")
    pytest.importorskip("transformers")
    folders = [str(make_rope_checkpoint(made / kind, kind)) for kind in ("Llama", "Qwen2")]
    path = Path(__file__).resolve().parents[2] / "configs" / "models" / "rope" / "yarn_vllm.yaml"
    arguments = yaml.safe_load(path.read_text(encoding="utf-8"))["model_args"]

    def settings(overrides: dict[str, Any]) -> list[dict[str, Any]]:
        said = run_beside_vllm(
            ["python", "-c", ENGINE, json.dumps(overrides), str(arguments["max_model_len"]), *folders], made
        )
        return [
            json.loads(line.removeprefix("FOUND ")) for line in said.splitlines() if line.startswith("FOUND ")
        ]

    assert settings(arguments["hf_overrides"]) == [{"": YARN}] * 2
    without = {name: value for name, value in YARN.items() if name != "rope_theta"}
    lost = settings({**arguments["hf_overrides"], "rope_parameters": without})
    assert [one[""]["rope_theta"] for one in lost] == [1e4] * 2
