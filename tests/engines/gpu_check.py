"""What `gpu.sh` runs: our tasks in lm-eval, attention beyond a window, ORCA's scoring and training; prints a table.

The model has random weights, so the figures are of speed and memory, and whether all cases get a score. Attention methods are compared
with the model's own attention inside its window. A part that fails is a row with the reason, and the others run.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options
from long_context_tasks.schema import parse_length

TASKS = ("ada_leval_bestanswer_any_synthetic", "elitr_bench_qa_synthetic", "ethic_recall_medicine_synthetic")
ANSWER = 16  # tokens of an answer
COLUMNS = ("part", "type", "length", "cases", "tokens", "seconds", "tokens/s", "peak GB", "result")
WORDS = ("rain", "on a roof", "two speakers", "a violin", "her coach", "the clip is cut before the end")


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    vocabulary: int
    window: int  # of the model whose window is exceeded
    lengths: tuple[str, ...]
    beyond: tuple[str, ...]  # lengths beyond that window
    cases: int  # of each task and length
    scored: int  # answers for ORCA to score
    trained: int  # rated answers to train on
    seconds: int  # after which no further part begins


GPU = Size(
    16, 2048, 16, 8192, 4096, ("1k", "4k", "8k", "16k", "32k"), ("8k", "16k", "32k"), 4, 4000, 960, 400
)
SMALL = Size(2, 64, 4, 2048, 512, ("1k", "2k"), ("1k",), 1, 48, 32, 10**6)


def methods(size: Size) -> dict[str, dict[str, Any]]:
    """Arguments of the models beyond the window, by method."""
    factor = -(-parse_length(size.beyond[-1]) // size.window) * 2
    local = size.window // 2
    yarn = {"rope_type": "yarn", "factor": float(factor), "rope_theta": 10000.0}
    return {
        "rerope": {"attention": "rerope", "window": local},
        "leaky_rerope": {"attention": "leaky_rerope", "window": local},
        "ntk": {"attention": "ntk", "factor": factor},
        "yarn": {"rope_scaling": {**yarn, "original_max_position_embeddings": size.window}},
        "infllm": {"attention": "infllm", "n_local": local, "exc_block_size": min(512, local // 2)},
    }


class Check:
    """The rows of the table, each printed when it is measured."""

    def __init__(self, size: Size, device: str) -> None:
        self.size, self.device, self.failed = size, device, 0
        self._began = time.monotonic()

    def row(self, *cells: object) -> None:
        print("| " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |", flush=True)

    def measured(self, part: str, dtype: str, length: str, used: "Used", result: str) -> None:
        rate = f"{used.tokens / used.seconds:,.0f}" if used.seconds else ""
        memory = f"{used.peak / 1e9:.1f}" if used.peak else ""
        self.row(
            part, dtype, length, used.cases, f"{used.tokens:,}", f"{used.seconds:.2f}", rate, memory, result
        )

    @contextmanager
    def part(self, name: str, dtype: str = "", length: str = "") -> Iterator[bool]:
        """Whether there is time for a part; its failure becomes a row."""
        late = time.monotonic() - self._began > self.size.seconds
        try:
            yield not late
            if late:
                self.row(name, dtype, length, *[""] * 5, "left out: no time")
        except Exception as error:
            self.failed += 1
            reason = str(error).strip().split("\n")[0][:150].replace("|", "/")
            self.row(name, dtype, length, *[""] * 5, f"FAILED: {type(error).__name__}: {reason}")


@dataclass
class Used:
    """What a part took; ``tokens`` are those of prompts and items, without padding or answers."""

    cases: int = 0
    tokens: int = 0
    seconds: float = 0.0
    peak: int = 0  # bytes of the device

    @contextmanager
    def timed(self, device: str) -> Iterator[None]:
        gpu = device.startswith("cuda")
        if gpu:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        yield
        if gpu:
            torch.cuda.synchronize()
            self.peak = max(self.peak, torch.cuda.max_memory_allocated())
        self.seconds += time.perf_counter() - start


def make_models(folder: Path, size: Size, device: str) -> tuple[Path, Path]:
    """Write two models of the same random weights, with a long and a short window, and a tokenizer made of our own texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    task = load_task(TASKS[2], resolve_options({"lct_length": "4k", "lct_n": 8}))
    texts = [message.content for case in task.cases.cases for message in task.messages(case)]
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<pad>", "<s>", "</s>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size.vocabulary, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    )
    tokenizer.chat_template = (
        "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
        "{% if add_generation_prompt %}Answer: {% endif %}"
    )
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.width,
        intermediate_size=size.width * 11 // 4,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads // 2,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    with torch.device(device):
        model = LlamaForCausalLM(config).to(torch.bfloat16)
    long = 2 * parse_length(size.lengths[-1])
    places = folder / "long", folder / "short"
    for place, window in zip(places, (long, size.window), strict=True):
        model.config.max_position_embeddings = window
        model.save_pretrained(place)
        tokenizer.model_max_length = window
        tokenizer.save_pretrained(place)
    return places


def run_tasks(
    check: Check, model: Any, length: str, folder: Path, tasks: tuple[str, ...]
) -> tuple[Used, str]:
    """Run tasks at a length through lm-eval; return what generating took, and how many cases have a score."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    from long_context_tasks.hosts.lm_eval.task_files import task_folder

    used, generate = Used(), model.generate_until

    def timed(requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        used.cases += len(requests)
        used.tokens += sum(len(model.tok_encode(request.args[0])) for request in requests)
        with used.timed(check.device):
            return generate(requests, disable_tqdm=True)  # type: ignore[no-any-return]

    metadata = {
        "lct_length": length,
        "lct_n": check.size.cases,
        "lct_tokenizer": str(folder),
        "lct_answer_budget": ANSWER,
        "max_length": model.max_length,  # as the command line adds the model's arguments
    }
    model.generate_until = timed
    try:
        manager = TaskManager(include_defaults=False, include_path=str(task_folder()), metadata=metadata)
        result = lm_eval.simple_evaluate(
            model,
            tasks=list(tasks),
            task_manager=manager,
            apply_chat_template=True,
            bootstrap_iters=0,
            log_samples=False,
            verbosity="ERROR",
        )
    finally:
        del model.generate_until
    scored = sum(int(numbers["n_scored,none"]) for numbers in result["results"].values())
    wanted = check.size.cases * len(tasks)
    if scored != wanted:
        raise RuntimeError(f"{scored} of {wanted} cases have a score")
    return used, f"{scored}/{wanted} scored"


def check_tasks(check: Check, folder: Path) -> None:
    from lm_eval.models.huggingface import HFLM

    for dtype in ("float16", "bfloat16"):
        with check.part("tasks in lm-eval", dtype) as begun:
            if not begun:
                continue
            model = HFLM(str(folder), dtype=dtype, device=check.device)
            for length in check.size.lengths:
                with check.part("tasks in lm-eval", dtype, length) as within:
                    if within:
                        used, result = run_tasks(check, model, length, folder, TASKS)
                        check.measured("tasks in lm-eval", dtype, length, used, result)


def check_attention(check: Check, folder: Path) -> None:
    """Run a task beyond the window by each method, and compare each with the model's own attention inside it."""
    from lm_eval.models.huggingface import HFLM

    from long_context_tasks.hosts.lm_eval.models.attention import AttentionLM

    size = check.size
    longest = 2 * parse_length(size.beyond[-1])
    common = {"dtype": "bfloat16", "device": check.device, "max_length": longest}
    ids = torch.randint(3, 500, (1, size.window // 4), generator=torch.Generator().manual_seed(0))
    own = _likelihoods(HFLM(str(folder), **common), ids)
    for name, arguments in methods(size).items():
        title = f"beyond {size.window:,}: {name}"
        with check.part(title, "bfloat16") as begun:
            if not begun:
                continue
            model = (AttentionLM if "attention" in arguments else HFLM)(str(folder), **common, **arguments)
            inside = float((_likelihoods(model, ids) - own).abs().max())
            for length in size.beyond:
                with check.part(title, "bfloat16", length) as within:
                    if within:
                        used, result = run_tasks(check, model, length, folder, TASKS[:1])
                        changed = f"{result}; inside the window {inside:.3f} nats from own attention at most"
                        check.measured(title, "bfloat16", length, used, changed)


def _likelihoods(model: Any, ids: Any) -> Any:
    with torch.no_grad():
        return model.model(ids.to(model.device)).logits.float().log_softmax(-1).cpu()


def rated_answers(n: int) -> list[Any]:
    from long_context_tasks.orca import OrcaItem

    rng = random.Random(0)

    def some(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    return [
        OrcaItem(
            str(i),
            f"{i // 4} {some(6)}",
            some(4),
            f"{i} {some(20)}",
            some(60),
            ratings=(float(rng.randint(1, 5)), 3.0),
        )
        for i in range(n)
    ]


def check_orca(check: Check, folder: Path, made: Path) -> None:
    from long_context_tasks.orca.checkpoint import (
        Dtype,
        load_checkpoint,
        load_lm,
        load_tokenizer,
        save_checkpoint,
    )
    from long_context_tasks.orca.model import HEADS, OrcaModel
    from long_context_tasks.orca.scoring import score_items

    items = rated_answers(check.size.scored)
    with check.part("ORCA, checkpoint"):
        model = OrcaModel(load_lm(folder, torch.bfloat16), HEADS["beta"])
        save_checkpoint(made / "judge", model, load_tokenizer(folder), {})
    types: tuple[Dtype, ...] = ("float16", "bfloat16")
    for dtype in types:
        for part, answers, batch_size in (
            ("ORCA, scoring", items, 64),
            ("ORCA, scoring one by one", items[: len(items) // 20], 1),
        ):
            with check.part(part, dtype) as begun:
                if not begun:
                    continue
                judge = load_checkpoint(made / "judge", device=check.device, dtype=dtype)
                read: list[int] = []
                judge.model.body().register_forward_pre_hook(_counting(read), with_kwargs=True)
                used = Used(len(answers))
                with used.timed(check.device):
                    scores = score_items(judge, answers, batch_size=batch_size).scores
                used.tokens = sum(score.tokens for score in scores)
                scored = sum(score.mean is not None for score in scores)
                padding = f"{sum(read) / used.tokens:.2f} of the tokens with padding, {len(read)} batches"
                check.measured(part, dtype, "", used, f"{scored}/{len(answers)} scored; {padding}")


def _counting(read: list[int]) -> Callable[..., None]:
    def count(_: Any, __: Any, inputs: dict[str, Any]) -> None:
        read.append(inputs["input_ids"].numel())

    return count


def check_training(check: Check, folder: Path, made: Path) -> None:
    """Train by LoRA for an epoch; its time is that of steps, evaluation and saved states, without loading the model."""
    from long_context_tasks.orca.inputs import InputFormat, encode_items
    from long_context_tasks.orca.train.loop import train
    from long_context_tasks.orca.train.plan import Stage, TrainSettings

    with check.part("ORCA, training (LoRA)") as begun:
        if not begun:
            return
        items, dev = rated_answers(check.size.trained), rated_answers(16)
        from long_context_tasks.orca.checkpoint import load_tokenizer

        form = InputFormat()
        used = Used(
            len(items), sum(len(each.ids) for each in encode_items(items, load_tokenizer(folder), form))
        )
        told: list[tuple[float, str]] = []

        def report(text: str) -> None:
            if check.device.startswith("cuda"):
                torch.cuda.synchronize()
            told.append((time.perf_counter(), text))

        settings = TrainSettings(model=str(folder), head="beta", epochs=1)
        with Used().timed(check.device):
            train(
                [Stage("human", tuple(items))],
                dev,
                settings,
                made / "trained",
                device=check.device,
                report=report,
            )
        begin = next(when for when, text in told if "steps" in text)
        end, text = next((when, text) for when, text in told if "best: loss" in text)
        used.seconds = end - begin
        used.peak = torch.cuda.max_memory_allocated() if check.device.startswith("cuda") else 0
        check.measured(
            "ORCA, training (LoRA)",
            "bfloat16" if used.peak else "float32",
            "",
            used,
            text.rpartition("best: ")[2],
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--small", action="store_true", help="small sizes on the processor, to test this script"
    )
    small = parser.parse_args().small
    device = "cpu" if small else "cuda"
    if not small and not torch.cuda.is_available():
        print("no GPU here; SMALL=1 runs small sizes on the processor", file=sys.stderr)
        return 2
    import lm_eval  # noqa: F401 - a missing package is named before anything is made
    import transformers

    card = torch.cuda.get_device_name() if not small else f"processor, {os.cpu_count()} cores, small sizes"
    print(
        f"{card}; torch {torch.__version__}, transformers {transformers.__version__}; {time.strftime('%Y-%m-%d')}\n"
    )
    check = Check(SMALL if small else GPU, device)
    check.row(*COLUMNS)
    check.row(*["---"] * len(COLUMNS))
    with tempfile.TemporaryDirectory() as place:
        made = Path(place)
        os.environ["LCT_CACHE_DIR"] = str(made / "cache")
        long, short = make_models(made, check.size, device)
        check_tasks(check, long)
        check_attention(check, short)
        check_orca(check, long, made)
        check_training(check, long, made)
    print(f"\n{time.monotonic() - check._began:.0f} seconds, {check.failed} parts failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
