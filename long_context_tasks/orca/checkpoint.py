"""Checkpoints, in the released layout.

::

    DIR/model/config.yaml          score_type, use_cls_token, init_type
    DIR/model/lm/                  the language model, or only its LoRA adapter
    DIR/model/model_minus_lm.pt    linear.weight, linear.bias, and cls_token if used
    DIR/tokenizer/
    DIR/args.yaml                  training arguments, including score_type
    DIR/metrics.yaml               metrics on the development set; optional
    DIR/agreement.json             human agreement there, and the best shortcut's; only in ours

A checkpoint is written to a temporary folder and then moved into place. Loading never unpickles: the head is
read with ``weights_only``.
"""

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from long_context_tasks.orca.data import HEAD_NAMES
from long_context_tasks.schema import InputError, file_sha256
from long_context_tasks.schema.extras import lacking
from long_context_tasks.schema.files import bring_back, read_yaml, whole_folder
from long_context_tasks.schema.validated import validated

if TYPE_CHECKING:
    from long_context_tasks.orca.controls import HeldOutAgreement
    from long_context_tasks.orca.model import OrcaModel

HEAD = "model_minus_lm.pt"
MAKE_ROOM = "make room and give the same command again"
_ADAPTER = "adapter_config.json"
# Suffixes of base-model files that affect predictions.
_BASE_FILES = (".safetensors", ".bin", ".json")
_ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
MAX_PARENTS = 6
"""Number of parent folders searched for ``args.yaml``, as in the released clamping program."""


@dataclass(frozen=True)
class Checkpoint:
    folder: Path  # DIR in the layout above
    model: "OrcaModel"  # in evaluation mode, or in training mode if loaded with trainable=True
    tokenizer: Any  # a transformers tokenizer with a padding token
    args: Mapping[str, Any]  # training arguments; empty without args.yaml


def find_checkpoint(path: Path) -> Path:
    """Return the folder DIR of a checkpoint, given DIR or DIR/model."""
    # The released code expects DIR/model.
    folder = path.parent if not (path / "model").is_dir() and (path / "config.yaml").is_file() else path
    model = folder.resolve() / "model"
    if not (model / "config.yaml").is_file():
        raise InputError(
            f"{path}: not an ORCA checkpoint (no model/config.yaml); name the folder that holds model/ and tokenizer/"
        )
    for name, part in ((HEAD, "head"), ("lm", "language model")):
        if not (model / name).exists():
            raise InputError(f"{model}: the checkpoint lacks its {part}, {name}; fetch it again")
    return model.parent


def read_config(folder: Path) -> dict[str, Any]:
    path = folder / "model" / "config.yaml"
    config = read_yaml_mapping(path)
    if config.get("score_type") not in HEAD_NAMES:
        raise InputError(
            f"{path}: score_type {config.get('score_type')!r} is not one of {', '.join(HEAD_NAMES)}"
        )
    return config


def read_args(start: Path) -> dict[str, Any]:
    """Read the first ``args.yaml`` in a folder or its six nearest parents; empty if none has one."""
    for folder in (start, *list(start.resolve().parents)[:MAX_PARENTS]):
        if (folder / "args.yaml").is_file():
            return read_yaml_mapping(folder / "args.yaml")
    return {}


def read_yaml_mapping(path: Path) -> dict[str, Any]:
    remedy = "fetch or make it again"
    return validated(dict[str, Any], read_yaml(path, "YAML file", remedy=remedy), str(path), remedy=remedy)


def fingerprint(path: Path, base_model: str | None = None) -> str:
    """Return a 12-digit hash of everything that affects predictions: the files and an adapter's base model."""
    folder = find_checkpoint(path)
    # An adapter cannot predict without its base model.
    adapter = folder / "model" / "lm" / _ADAPTER
    if adapter.is_file():
        base_model = base_model or read_yaml_mapping(adapter).get("base_model_name_or_path")
    # YAML may contain dates, which JSON cannot represent.
    parts = [json.dumps(read_args(folder), sort_keys=True, default=str)]
    files = sorted(each for part in ("model", "tokenizer") for each in (folder / part).rglob("*"))
    if adapter.is_file() and base_model and Path(base_model).is_dir():
        files += sorted(each for each in Path(base_model).iterdir() if each.suffix in _BASE_FILES)
    # A hub repository is not downloaded just for the fingerprint; its name is used instead.
    elif adapter.is_file():
        parts.append(str(base_model))
    try:
        parts += [f"{each.name} {file_sha256(each)}" for each in files if each.is_file()]
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read ({error.strerror})") from error
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def load_checkpoint(
    path: Path,
    *,
    device: str = "auto",
    dtype: Dtype = "auto",
    base_model: str | None = None,
    tokenizer: Path | None = None,
    trainable: bool = False,
) -> Checkpoint:
    """Load a checkpoint, released or trained by this package.

    Args:
        path: DIR, or DIR/model as in the released code.
        dtype: of the language model; ``auto`` means float32 on the CPU and bfloat16 on a GPU. The head is
            always float32.
        base_model: folder or hub id of a LoRA adapter's base model; None for the one named in the adapter.
        tokenizer: tokenizer folder, if not DIR/tokenizer.
        trainable: keep a LoRA adapter separate and trainable instead of merging it, and return the model in
            training mode.
    """
    folder = find_checkpoint(path)
    config = read_config(folder)
    with named_failures(f"{folder}"):
        from long_context_tasks.orca.model import HEADS, OrcaModel

        device = choose_device(device)
        if dtype == "auto":
            dtype = "float32" if device.startswith("cpu") else "bfloat16"
        words = load_tokenizer(tokenizer or folder / "tokenizer")
        lm_folder = folder / "model" / "lm"
        adapted = (lm_folder / _ADAPTER).is_file()
        lm = _load_adapted(lm_folder, dtype, base_model, trainable) if adapted else load_lm(lm_folder, dtype)
        model = OrcaModel(
            lm,
            HEADS[config["score_type"]],
            bool(config.get("use_cls_token", False)),
            str(config.get("init_type", "xavier_normal")),
        )
    _load_head(model, folder / "model" / HEAD)
    return Checkpoint(folder, model.to(device).train(trainable), words, read_args(folder))


@contextmanager
def named_failures(subject: str, remedy: str = "check the folder or the hub id") -> Iterator[None]:
    """Turn any exception raised while loading a model into an InputError about ``subject``."""
    try:
        yield
    except InputError:
        raise
    except ModuleNotFoundError as error:
        raise lacking("orca", "ORCA", str(error.name)) from error
    except Exception as error:  # a damaged tokenizer raises a bare Exception
        reason = str(error).strip().split("\n")[0][:200]
        if not version("transformers").startswith("4."):  # lm-eval installs other versions
            remedy = str(lacking("orca", "ORCA", "transformers 4"))
        raise InputError(
            f"{subject}: cannot be loaded ({type(error).__name__}: {reason}); {remedy}"
        ) from error


def choose_device(device: str) -> str:
    """Resolve ``auto`` to the GPU if there is one, and check that the device is usable."""
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=device)
    except Exception as error:  # torch raises RuntimeError, AssertionError and others
        reason = str(error).strip().split("\n")[0][:100]
        raise InputError(f"device {device!r} cannot be used here ({reason}); take cpu, or auto") from error
    return device


def load_tokenizer(source: Path | str) -> Any:
    """Load a tokenizer that pads on the right; the end-of-sequence token is the fallback padding token."""
    from transformers import AutoTokenizer

    if isinstance(source, Path) and not source.is_dir():
        raise InputError(
            f"{source}: the checkpoint lacks its tokenizer; fetch it again, or name the tokenizer's folder"
        )
    tokenizer: Any = AutoTokenizer.from_pretrained(source)  # type: ignore[no-untyped-call,unused-ignore]
    # Token positions must not depend on the other items in a batch.
    tokenizer.padding_side = "right"
    # Llama and others have none; any token works, because padding is masked.
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_lm(source: Path | str, dtype: Any) -> Any:
    """Load a causal language model and check that its files contain every weight the model uses."""
    from transformers import AutoModelForCausalLM

    loaded: Any = AutoModelForCausalLM.from_pretrained(source, dtype=dtype, output_loading_info=True)
    lm, info = loaded
    # transformers replaces missing weights with random numbers. The vocabulary projection is never run, so it
    # may be missing, unless it shares its weights with the input embedding.
    unused, used = lm.get_output_embeddings(), lm.get_input_embeddings()
    unrun = set() if unused is None else {id(each) for each in unused.parameters()}
    unrun -= {id(each) for each in used.parameters()}
    names = {name for name, each in lm.named_parameters() if id(each) not in unrun}
    _complete(sorted(names & set(info["missing_keys"])), len(names), f"{source}: the language model")
    return lm


def _complete(missing: list[str], of: int, subject: str) -> None:
    if missing:
        raise InputError(
            f"{subject} lacks {len(missing)} of {of} weights, such as {missing[0]}; its files are damaged or another model's. Fetch it again"
        )


def _load_adapted(folder: Path, dtype: str, base_model: str | None, trainable: bool) -> Any:
    from peft import PeftConfig, PeftModel
    from peft.utils import get_peft_model_state_dict, load_peft_weights

    base = base_model or PeftConfig.from_pretrained(str(folder)).base_model_name_or_path
    if not base:
        raise InputError(f"{folder / _ADAPTER}: does not name a base model; name it with --base-model")
    remedy = "name its folder or hub id with --base-model"
    with named_failures(f"base model {base} of the LoRA adapter in {folder}", remedy):
        lm = load_lm(base, dtype)
    if not any((folder / name).is_file() for name in _ADAPTER_WEIGHTS):
        raise InputError(
            f"{folder}: the LoRA adapter lacks its weights, {_ADAPTER_WEIGHTS[0]}; fetch it again"
        )
    adapted: Any = PeftModel.from_pretrained(lm, folder, is_trainable=trainable)
    # peft does not report missing weights, and an adapter with its initial weights has no effect.
    wanted = get_peft_model_state_dict(adapted)
    found = load_peft_weights(str(folder), device="cpu")
    _complete(sorted(set(wanted) - set(found)), len(wanted), f"{folder}: the LoRA adapter")
    return adapted if trainable else adapted.merge_and_unload()


def _load_head(model: "OrcaModel", path: Path) -> None:
    import pickle

    import torch

    try:
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        raise InputError(
            f"{path}: not a file of tensors ({type(error).__name__}); fetch the checkpoint again"
        ) from error
    for name, parameter in _head_of(model).items():
        tensor = state.get(name) if isinstance(state, Mapping) else None
        if not isinstance(tensor, torch.Tensor):
            raise InputError(f"{path}: the checkpoint lacks its head: no {name} in it; fetch it again")
        if name == "cls_token":
            tensor = tensor.reshape(-1)
        if tensor.shape != parameter.shape:
            raise InputError(
                f"{path}: {name} has the shape {list(tensor.shape)}, a {model.head.name} head on this language model needs "
                f"{list(parameter.shape)}; score_type or lm belong to a different checkpoint"
            )
        if not torch.isfinite(tensor).all():
            raise InputError(f"{path}: {name} holds values that are not numbers; take an earlier checkpoint")
        with torch.no_grad():
            parameter.copy_(tensor)


def _head_of(model: "OrcaModel") -> dict[str, Any]:
    head = {"linear.weight": model.linear.weight, "linear.bias": model.linear.bias}
    return head if model.cls_token is None else {**head, "cls_token": model.cls_token}


def save_checkpoint(
    folder: Path,
    model: "OrcaModel",
    tokenizer: Any,
    args: Mapping[str, Any],
    *,
    metrics: Mapping[str, Any] | None = None,
    agreement: "HeldOutAgreement | None" = None,
) -> None:
    import torch

    folder = folder.absolute()
    # A run killed between the two renames leaves the old checkpoint set aside.
    bring_back(folder)
    if folder.exists() and not (folder / "model" / "config.yaml").is_file() and any(folder.iterdir()):
        raise InputError(f"{folder}: exists and is not a checkpoint; name another folder")
    config = {
        "init_type": model.init_type,
        "score_type": model.head.name,
        "use_cls_token": model.cls_token is not None,
    }
    # float32 on the CPU, so that the file does not depend on the device
    head = {name: each.detach().float().cpu().clone() for name, each in _head_of(model).items()}
    with whole_folder(folder, remedy=MAKE_ROOM) as part:
        (part / "model").mkdir()
        _write_yaml(part / "model" / "config.yaml", config)
        for adapter in getattr(model.lm, "peft_config", {}).values():
            if isinstance(adapter.target_modules, set):  # the order of a set differs between processes
                adapter.target_modules = sorted(adapter.target_modules)
        # For a LoRA model this writes only the adapter, as in the released checkpoints.
        model.lm.save_pretrained(part / "model" / "lm")
        # In memory first: writing the file, torch hides the reason of a disk error.
        content = io.BytesIO()
        torch.save(head, content)
        (part / "model" / HEAD).write_bytes(content.getvalue())
        tokenizer.save_pretrained(part / "tokenizer")
        _write_yaml(part / "args.yaml", {**args, "score_type": model.head.name})
        if metrics is not None:
            _write_yaml(part / "metrics.yaml", metrics)
        if agreement is not None:
            agreement.write(part)


def _write_yaml(path: Path, values: Mapping[str, Any]) -> None:
    path.write_text(yaml.safe_dump(dict(values), sort_keys=True, allow_unicode=True), encoding="utf-8")
