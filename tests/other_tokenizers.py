"""Tokens in cl100k, and small tokenizers that cut a text otherwise, for tests of lengths in a model's own tokens."""

from pathlib import Path


def count(text: str) -> int:
    """Tokens of a text in cl100k."""
    from long_context_tasks.tokens import CL100K, get_tokenizer

    return get_tokenizer(CL100K).count(text)


def other_tokenizer(kind: str, folder: Path) -> str:
    """Write a tokenizer's file.

    Args:
        kind: "words", with fewer tokens than cl100k, "plain words", which leave punctuation at their words, or "bytes", with four
            times as many.
        folder: where ``tokenizer.json`` is written.

    Returns:
        The folder, as an option names it.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(exist_ok=True)
    if kind.endswith("words"):
        made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        cut = pre_tokenizers.BertPreTokenizer() if kind == "words" else pre_tokenizers.WhitespaceSplit()
        made.pre_tokenizer = cut
    else:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        made = Tokenizer(models.BPE({character: at for at, character in enumerate(alphabet)}, []))
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    made.save(str(folder / "tokenizer.json"))
    return str(folder)
