"""What the official scripts make of a model's text before it is judged."""

END = "</s>"


def stored_officially(decoded: str, script: str, context: str = "") -> str:
    r"""The response that an official script stores.

    ``rstrip("</s>")`` was meant to remove an end token; it removes any of the characters < / s > from the end.

    Args:
        decoded: the tokenizer's text: prompt and response for llama2 and prometheus, else the response alone.
        script: gpt, llama3.1, phi3, llama2 or prometheus.
        context: the prompt string, for llama2 and prometheus; what lies between its first and second occurrence counts.

    >>> stored_officially("yes</s>", "phi3"), stored_officially("[INST] Q? [/INST] slides</s>", "llama2", "[INST] Q? [/INST]")
    ('ye', 'slide')

    Raises:
        IndexError: the prompt is not in the text, as in the official code.
    """
    if script == "gpt":
        return decoded
    if script in ("llama3.1", "phi3"):
        return decoded.rstrip(END)
    text = decoded.split(context)[1]
    return (text if script == "prometheus" else text.rstrip(END)).strip()


def as_stored(response: str, style: str) -> str:
    """What the official script of a prompt style stores of a response: the loss of the last letter included.

    >>> as_stored(" two slides ", "chat"), as_stored(" two slides", "vicuna_v1.1"), as_stored("yes", "gpt")
    (' two slides ', 'two slide', 'yes')
    """
    if style == "gpt":
        return response
    return response.rstrip(END) if style == "chat" else response.rstrip(END).strip()
