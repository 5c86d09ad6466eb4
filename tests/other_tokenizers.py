"""Small tokenizers that cut a text otherwise than cl100k does, for tests of lengths in a model's own tokens."""

from pathlib import Path


def other_tokenizer(kind: str, folder: Path) -> str:
    """Write a tokenizer's file.

    Args:
        kind: "words", with fewer tokens than cl100k, or "bytes", with four times as many.
        folder: where ``tokenizer.json`` is written; it must exist.

    Returns:
        The folder, as an option names it.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    if kind == "words":
        made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    else:
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        made = Tokenizer(models.BPE({character: at for at, character in enumerate(alphabet)}, []))
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    made.save(str(folder / "tokenizer.json"))
    return str(folder)
