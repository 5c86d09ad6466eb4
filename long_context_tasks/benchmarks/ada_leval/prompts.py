"""Render the prompts of cases.

BestAnswer prompts equal those of the official code byte for byte. Published TSort files contain their
prompts; those of built TSort cases are reconstructed from Appendix B of the paper, with the white space of
the official BestAnswer prompt.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from long_context_tasks.schema import Case, Documents, Message
from long_context_tasks.schema.files import packaged_text
from long_context_tasks.tokens import cl100k_encoding

QUESTION = "The question is given below.\n"
ANSWERS = "Possible answers are given below.\n"
FOOTER = (
    "\nNow the answers are over, please decide which answer is the most helpful one to the question. \n"
    "You must give me only the designation of the MOST helpful answer.\n"
)
GAP = "\n\n"


def template(name: str) -> str:
    return packaged_text(__package__, "prompts", f"{name}.txt")


def render_bestanswer(question: str | None, answers: Iterable[str]) -> str:
    """Return the official BestAnswer prompt (official code; Appendix B); texts are inserted unchanged."""
    return "".join(bestanswer_parts(question, answers))


def bestanswer_parts(question: str | None, answers: Iterable[str]) -> list[str]:
    """Return the prompt in parts with additive token counts; an answer's part is position-independent."""
    asked = "" if question is None else f"{QUESTION}{question}{GAP}"
    parts = [f"{template('bestanswer')}{asked}", ANSWERS]
    for number, answer in enumerate(answers, start=1):
        parts += (f"A{number}", f":\n\n{answer}{GAP}")
    # The newline at the start of the footer joins the newlines before it.
    return [*parts[:-1], parts[-1] + FOOTER]


def example_order(n: int) -> list[int]:
    """Return the example answer in the instruction; for four segments it is the paper's.

    >>> example_order(4), example_order(5)
    ([4, 1, 3, 2], [5, 1, 4, 2, 3])
    """
    return [n - place // 2 if place % 2 == 0 else place // 2 + 1 for place in range(n)]


@lru_cache
def tsort_instruction(n: int) -> str:
    """Return the TSort instruction for ``n`` segments; for four it is that of Appendix B."""
    example = example_order(n)
    return template("tsort").format(
        n=n,
        example=example,
        arrows=" -> ".join(f"Part {part}" for part in example),
        parts=GAP.join(f"Part {part}: XXX" for part in range(1, n + 1)),
    )


def tsort_labels(n: int) -> list[str]:
    return ["Before:", *(f"Part {number}:" for number in range(1, n + 1)), "After:"]


def render_tsort(before: str, segments: Sequence[str], after: str) -> str:
    """Return the reconstructed TSort prompt: instruction of Appendix B, case in the layout of its sample."""
    texts = zip(tsort_labels(len(segments)), [before, *segments, after], strict=True)
    return tsort_instruction(len(segments)) + "".join(
        f"{label} {text}{GAP}" if text else label + GAP for label, text in texts
    )


def render_arrangements(before: str, segments: Sequence[str], after: str) -> list[str]:
    """Return the text with its segments in every order, as in ``itertools.permutations`` (section 4.5.1)."""
    return [
        GAP.join(text for text in (before, *order, after) if text)
        for order in itertools.permutations(segments)
    ]


def split_tsort(prompt: str, parts: int) -> tuple[str, list[str], str]:
    """Split a published TSort prompt into the text before, the segments as shown, and the text after.

    Labels begin a line; those in the instruction's sample are ignored.

    Raises:
        ValueError: a label is missing or occurs more than once, so that the texts cannot be separated.
    """
    # The instruction has the same labels in its sample.
    case = prompt[prompt.rfind("Sample Output") :]
    texts, rest = [], case
    for label in tsort_labels(parts):
        lines = re.findall(rf"^{re.escape(label)}", case, re.MULTILINE)
        if len(lines) != 1:
            raise ValueError(f"the label {label!r} begins {len(lines)} lines")
        text, rest = re.split(rf"^{re.escape(label)}", rest, maxsplit=1, flags=re.MULTILINE)
        texts.append(text.strip())
    return texts[1], texts[2:], rest.strip()


def sorting_texts(case: Case, documents: Documents | Mapping[str, str]) -> tuple[str, list[str], str]:
    """Return the text before, the segments as shown, and the text after."""
    # Published cases have no spans, only their prompt.
    if "prompt" in case.inputs:
        return split_tsort(documents[case.inputs["prompt"]], len(case.turns[0].gold))
    assert case.document is not None
    book, inputs = documents[case.document], case.inputs
    before, *segments, after = (
        book[start:end] for start, end in (inputs["before"], *inputs["segments"], inputs["after"])
    )
    return before, segments, after


def prompt(case: Case, documents: Documents | Mapping[str, str]) -> str:
    inputs = case.inputs
    if "prompt" in inputs:
        return documents[inputs["prompt"]]
    if "segments" in inputs:
        return render_tsort(*sorting_texts(case, documents))
    # The nodoc variant omits the question, to test what models have memorized.
    question = None if inputs["question"] is None else documents[inputs["question"]]
    answers = [documents[key] for key in inputs["answers"]]
    if "cut" in inputs:
        return render_cut(question, answers, **inputs["cut"])
    return render_bestanswer(question, answers)


def render_cut(question: str | None, answers: Sequence[str], tokens: int, keep: str) -> str:
    """Return the BestAnswer prompt, truncated to at most ``tokens`` cl100k tokens (section 4.5.4).

    The instruction, question and closing line stay complete; the front or the rear of the answers is kept.
    """
    encoding = cl100k_encoding()
    whole = render_bestanswer(question, answers)
    start = len(render_bestanswer(question, [])) - len(FOOTER)
    head, body = whole[:start], whole[start : len(whole) - len(FOOTER)]
    room = tokens - len(encoding.encode_ordinary(head)) - len(encoding.encode_ordinary(FOOTER))
    ids = encoding.encode_ordinary(body)
    if len(ids) <= room:
        return whole
    # Decoding and re-encoding may add a token at the cut, so the cut moves until the prompt fits.
    while room > 0:
        shown = ids[:room] if keep == "front" else ids[-room:]
        text = head + encoding.decode_bytes(shown).decode("utf-8", errors="ignore") + FOOTER
        if (over := len(encoding.encode_ordinary(text)) - tokens) <= 0:
            return text
        room -= over
    return head + FOOTER


def messages(case: Case, documents: Documents) -> list[Message]:
    """Return the messages to send: one user message and no system message, as in the official code."""
    return [Message("user", prompt(case, documents))]


def arrangements(case: Case, documents: Documents) -> list[str]:
    return render_arrangements(*sorting_texts(case, documents))
