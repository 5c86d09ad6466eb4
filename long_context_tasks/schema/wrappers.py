r"""Remove the wrappers that models put around an answer.

These are special tokens, tags, boxes, code fences, JSON, tables and full-width letters. Strict metrics read
answers through :func:`unwrapped`; official metrics never do. Nothing here changes the content of an answer.
"""

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any

from long_context_tasks.schema.files import loads

# Full-width ASCII, and ideographic marks with an ASCII equivalent. Not NFKC, which also turns "①" into a
# number.
_NARROW = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_NARROW |= dict(zip("　、【】〔〕［］「」『』〈〉《》", ' ,[][][]""""<><>', strict=True))
# No space follows these, but an ASCII sentence needs one at its end.
_NARROW |= {"。": ". ", "？": "? ", "！": "! "}
_TO_NARROW = str.maketrans(_NARROW)

_TOKEN = r"</?s>|<(?:bos|eos)>|<\|[\w▁]{1,40}\|>|<(?:start|end)_of_turn>|<\|turn>|<turn\|>|\[/?INST\]"
"""Special tokens in chat templates. Those around a box or a solution are wrappers, see :data:`_TAGGED`."""
_OPENING_TOKENS = re.compile(
    rf"\s*(?:(?:{_TOKEN})\s*(?:(?:assistant|model|final|json)\b:?)?\s*)+", re.IGNORECASE
)
_OPENING_ROLE = re.compile(
    r"\s*(?:(?:assistant|model)(?::|\s*\n)|[#*]{0,4}\s?(?:final )?(?:response|answer|output)s?[:*]{0,3}\s*\n)",
    re.IGNORECASE,
)
"""A role or heading above the whole reply."""
_END_OF_TURN = re.compile(rf"{_TOKEN}|\n\n(?:Human|User):|(?<=[\w.)\]}}*])(?:assistant|user)(?=\s*(?:\n|\Z))")
_NEXT_TASK = re.compile(
    r"^[ \t]*(?:#{1,4}\s?(?:instruction|context|question|input|task|user|human)\b|(?:user|human|question|instruction)\s?:|"
    r"\**follow-up question(?: \d{1,2})?\s?:|"
    r"ID: \d+\s*\nTitle:[^\n]*\nAbstract|You are an AI assistant\. Your job|Now the answers are over|"
    r"(?:The question is|Possible answers are) given below\.)",
    re.IGNORECASE | re.MULTILINE,
)
"""Begins a task that a model invents after its answer."""
_CITATION = re.compile(r"</?co(?:: ?\d[\d, ]{0,20})?>")
"""Command R's marks of grounded words: "<co: 0,2>104</co: 0,2>"."""
_STRUCK = re.compile(r"~~(?=\S)[^~\n]*~~|<(del|strike)>[^<\n]*</\1>", re.IGNORECASE)
_BOX_TOKEN = re.compile(r"<\|(begin|end)_of_(?:box|solution)\|>", re.IGNORECASE)
_TAGGED = re.compile(
    r"<((?:final_)?answer|final|response|result|output|solution)>(.*?)(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL
)
_BOX = re.compile(r"\\{1,3}(?:boxed|fbox)\s{0,9}\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_FENCED = re.compile(
    r"^[ \t]*(?:```|~~~)[^\n`]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_MATH = (
    (re.compile(r"\\(?:text(?:bf|it|tt)?|math(?:rm|bf|it)|operatorname)\s?\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\(?:long)?(?:right)?arrow\b|\\(?:to|Rightarrow|gt|succ|prec)\b"), "→"),
    (re.compile(r"\\item\b"), "- "),
    (re.compile(r"\\(?:[,;:! ]|q?quad\b|\\|(?:begin|end)\{\w+\})"), " "),
    (re.compile(r"\\([{}\[\]()])"), r"\1"),
    (re.compile(r"\$"), ""),
)
"""LaTeX commands and their plain equivalents."""
_COUNTS = re.compile(
    r"[^\w#]*(?:(?:#|no|nr|index|rank|position|pos|place|order|step|slot|sequence|study|abstract)\W*(?:in (?:the )?\w+\W*)?)?",
    re.IGNORECASE,
)
"""Heading of a column that may number the rows."""
_COUNT = re.compile(r"\W*(\d{1,3})(?:st|nd|rd|th)?\W*", re.ASCII)
_REJECTED = re.compile(r"\W*(?:no|not counted|[✗❌✘])\W*", re.IGNORECASE)
_NUMBER_COLUMN = re.compile(r"\W*(?:integers?|numbers?|items?|values?|counts?)\W*", re.IGNORECASE)
"""Heading of a first column of items that the other columns explain."""


def narrow(text: str) -> str:
    """Convert full-width letters, digits and punctuation to ASCII."""
    return text if text.isascii() else text.translate(_TO_NARROW)


def own_turn(text: str) -> str:
    """Return the model's own turn, without special tokens, struck-out words, and invented turns or tasks.

    >>> own_turn("<|im_start|>assistant\\nA3<|im_end|>\\n<|im_start|>user\\nThanks"), own_turn("~~A1~~ A3\\n\\n### Instruction:\\nSort them.")
    ('A3', ' A3\\n\\n')
    """
    # Line ends first, because every later pattern relies on them.
    text = text.replace("\r\n", "\n")
    text = _BOX_TOKEN.sub(lambda token: "<answer>" if token[1].lower() == "begin" else "</answer>", text)
    for opening in (_OPENING_TOKENS, _OPENING_ROLE):
        if begin := opening.match(text):
            text = text[begin.end() :]
    text = _CITATION.sub("", _STRUCK.sub("", text))
    for ending in (_END_OF_TURN, _NEXT_TASK):
        for end in ending.finditer(text):
            if re.search(r"\w", text[: end.start()]):
                text = text[: end.start()]
                break
    return text


def unwrapped(text: str) -> str:
    r"""Return the answer in a response, given without thinking, without wrappers; JSON becomes lines.

    >>> unwrapped("Here it is:\n```json\n{\"answer\": \"A3\"}\n```"), unwrapped(r"So $\boxed{\text{A3}}$."), unwrapped("<answer>A3</answer> ok")
    ('answer: A3', 'A3', 'A3')
    """
    text = own_turn(narrow(text))
    if tagged := [content for _, content in _TAGGED.findall(text) if content.strip()]:
        text = tagged[-1]
    # Several boxes contain the items of one list: \\boxed{3}, \\boxed{1}.
    if boxes := [box for box in map(_plain_math, _BOX.findall(text)) if box.strip(" .")]:
        text = ", ".join(boxes)
    text = _plain_math(text)
    fenced = [content for content in _FENCED.findall(text) if content.strip()]
    # With several fences, none is certain to be the answer, so only their markers are removed.
    text = _FENCE.sub("", fenced[0] if len(fenced) == 1 else text)
    return _out_of_json(text)


def _plain_math(text: str) -> str:
    if "\\" not in text and "$" not in text:
        return text
    for pattern, plain in _MATH:
        text = pattern.sub(plain, text)
    return text


def _out_of_json(text: str) -> str:
    """Convert a JSON value that is the whole text, or a JSON object inside it, to lines; keep other texts."""
    begin, end = text.find("{"), text.rfind("}")
    # An object in prose is an answer; an array in prose is an ordinary list.
    for candidate in (text.strip(), text[begin : end + 1]):
        if candidate.startswith(("{", "[")):
            try:
                value = loads(candidate)
            except ValueError:
                continue
            if value:
                return "\n".join(_lines_of(value))
    return text


def _lines_of(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            key = name.replace("_", " ")
            if isinstance(inner, dict | list):
                yield f"{key}:"
                yield from _lines_of(inner)
            else:
                yield f"{key}: {'' if inner is None else inner}"
    else:
        for item in value:
            first = item
            if isinstance(item, dict):
                # The numbers of a document rather than its id, or the name of a person rather than the role.
                numbers = (inner for inner in item.values() if _is_numbers(inner))
                named = (inner for key, inner in item.items() if not _COUNTS.fullmatch(key))
                first = next(chain(numbers, named, item.values()), "")
            yield from (f"- {each}" for each in (first if isinstance(first, list) else [first]))


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and value != [] and all(isinstance(each, int) for each in value)


def out_of_tables(text: str) -> str:
    """Convert the rows of Markdown tables to lines: the first cell that is not a row number, then the rest.

    If the cells contain no words, each column becomes one line that starts with its heading.

    >>> out_of_tables("| # | Name | Role |\\n|---|---|---|\\n| 1 | Anne | aunt |\\n| 2 | Kitty | |")
    'Anne: aunt\\nKitty'
    >>> out_of_tables("Core IDs | Others\\n---|---\\n[12] | [3]")
    'Core IDs: [12]\\nOthers: [3]'
    """
    if "|" not in text:
        return text
    lines: list[str] = []
    table: list[list[str]] = []
    for line in [*text.split("\n"), ""]:
        if "|" in line:
            table.append(
                [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
            )
            continue
        lines += _rows(table)
        table = []
        lines.append(line)
    return "\n".join(lines[:-1])


def _counted(head: list[str], body: list[list[str]]) -> set[int]:
    """Return the columns that count the rows, and sort the rows by one that gives their places."""
    counted = set()
    for place, cell in enumerate(head if len(head) > 1 else ()):
        counts = [_COUNT.fullmatch(row[place]) for row in body if place < len(row)]
        if _COUNTS.fullmatch(cell) and all(counts):
            counted.add(place)
            numbers = [int(count[1]) for count in counts if count]
            if sorted(numbers) == list(range(1, len(body) + 1)):
                body.sort(key=lambda row: int(re.sub(r"\D", "", row[place])))
    return counted


def _rows(table: list[list[str]]) -> list[str]:
    """Return lines for a table's rows; keep a single row, or rows without a rule between them."""
    rules = ["-" in "".join(row) and not "".join(row).strip(" -:+") for row in table]
    # Lines with bars but without a rule, such as "12 | 45 | 60", are lists.
    if not any(rules) and (len(table) < 2 or len({len(row) for row in table}) > 1 or len(table[0]) == 1):
        return [" | ".join(row) for row in table]
    head = table[0] if rules[1:2] == [True] else []
    body = [row for row, rule in list(zip(table, rules, strict=True))[1 if head else 0 :] if not rule]
    counted = _counted(head, body)
    body = [[cell for place, cell in enumerate(row) if place not in counted and cell] for row in body]
    head = [cell for place, cell in enumerate(head) if place not in counted]
    if len(head) > 1 and not any(re.search(r"[^\W\d_]", cell) for row in body for cell in row):
        columns = (", ".join(row[place] for row in body if place < len(row)) for place in range(len(head)))
        return [f"{label}: {cells}" for label, cells in zip(head, columns, strict=True)]
    # Explanations in the other columns may contain numbers.
    if head and _NUMBER_COLUMN.fullmatch(head[0]):
        return [row[0] for row in body if row and not _REJECTED.fullmatch(row[-1])]
    return [row[0] + (f": {', '.join(row[1:])}" if row[1:] else "") for row in body if row]
