r"""What models put around an answer, and the answer inside: end-of-turn tokens, tags, boxes, code fences, JSON, tables, wide letters.

Strict metrics read answers through :func:`unwrapped`; official metrics never do. Nothing here changes what an answer says.
"""

import re
from collections.abc import Iterable
from typing import Any

from long_context_tasks.schema.commitment import without_retractions
from long_context_tasks.schema.files import loads

# Fullwidth ASCII, and the ideographic marks that have an ASCII sense. Not NFKC, which also turns "①" into a number.
_NARROW = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_NARROW |= dict(zip("　、。【】〔〕［］「」『』〈〉《》", ' ,.[][][]""""<><>', strict=True))
_TO_NARROW = str.maketrans(_NARROW)

_END_OF_TURN = re.compile(
    r"</s>|<eos>|<end_of_turn>|<turn\|>|<\|(?:im_end|im_start|eot_id|eom_id|end|endoftext|end_of_text|return|call|eos|endofturn|"
    r"end_of_role|end_of_turn|END_OF_TURN_TOKEN|END_RESPONSE|END_TEXT|user|system|observation|start_header_id|start)\|>|"
    r"\n\n(?:Human|User):|<[|｜]end▁of▁sentence[|｜]>|<\|end▁of▁sentence\|>|\[/INST\]|<start_of_turn>|<\|turn>",
)
_BEGIN_OF_TURN = re.compile(
    r"\s*(?:assistant|model):?\s*\n|(?:\s*(?:<s>|<bos>|\[/INST\]|<\|(?:begin_of_text|start_of_role|start_header_id|im_start|start|START_OF_TURN_TOKEN|"
    r"CHATBOT_TOKEN|START_RESPONSE|START_TEXT|assistant|end_header_id|end_of_role|message|channel|begin_of_solution)\|>|"
    r"<start_of_turn>|<\|turn>|<[|｜]Assistant[|｜]>)(?:(?:assistant|model|final)\b)?)+"
)
_TAGS = ("answer", "final_answer", "final", "response", "result", "output", "solution")
_TAGGED = re.compile(
    rf"<({'|'.join(_TAGS)})>(.*?)(?:</\1>|\Z)|<\|begin_of_box\|>((?:(?!<\|begin_of_).)*?)<\|end_of_box\|>|"
    r"<\|begin_of_solution\|>((?:(?!<\|begin_of_).)*?)<\|end_of_solution\|>",
    re.IGNORECASE | re.DOTALL,
)
_BOX = re.compile(r"\\{1,3}(?:boxed|fbox)\s{0,9}\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_MATH_TEXT = re.compile(r"\\(?:text|textbf|textit|texttt|mathrm|mathbf|mathit|operatorname)\s?\{([^{}]*)\}")
_MATH_ARROW = re.compile(r"\\(?:long)?(?:right)?arrow\b|\\(?:to|Rightarrow|gt|succ|prec)\b")
_MATH_SPACE = re.compile(r"\\(?:[,;:! ]|q?quad\b|\\)")
_FENCED = re.compile(
    r"^[ \t]*(?:```|~~~)[^\n`]*\n(.*?)(?:^[ \t]*(?:```|~~~)[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$")
_NUMBER_COLUMN = re.compile(r"\W*(?:integers?|numbers?|items?|values?|counts?)\W*", re.IGNORECASE)
"""Heads a first column of items that the other columns explain."""
_COUNTS = re.compile(
    r"[^\w#]*(?:(?:#|no|nr|index|rank|position|pos|place|order|step|slot|sequence)\W*)?", re.IGNORECASE
)


def narrow(text: str) -> str:
    """Return a text with ASCII for fullwidth letters, digits and punctuation.

    >>> narrow("Ａ３，【１】、２。")
    'A3,[1],2.'
    """
    return text if text.isascii() else text.translate(_TO_NARROW)


def own_turn(text: str) -> str:
    """Return what a model says in its own turn: without the tokens around it, and without turns that it makes up.

    >>> own_turn("<|im_start|>assistant\\nA3<|im_end|>\\n<|im_start|>user\\nThanks")
    '\\nA3'
    """
    if begin := _BEGIN_OF_TURN.match(text):
        text = text[begin.end() :]
    for end in _END_OF_TURN.finditer(text):
        if text[: end.start()].strip():
            return text[: end.start()]
    return text


def unwrapped(text: str, *, json_lists: bool = True) -> str:
    r"""Return the answer in a response without thinking, out of what is put around it.

    >>> unwrapped("Here it is:\n```json\n{\"answer\": \"A3\"}\n```"), unwrapped(r"So $\boxed{\text{A3}}$."), unwrapped("<answer>A3</answer> ok")
    ('answer: A3', 'A3', 'A3')

    Args:
        text: the response.
        json_lists: whether a JSON array becomes lines; an object always does.
    """
    text = without_retractions(own_turn(narrow(text)))
    if tagged := [content for found in _TAGGED.findall(text) if (content := "".join(found[1:])).strip()]:
        text = tagged[-1]
    if boxes := [box for box in map(_plain_math, _BOX.findall(text)) if box.strip(" .")]:
        text = ", ".join(boxes)
    if "\\" in text and _MATH_TEXT.search(text):
        text = _plain_math(text)
    fenced = [content for content in _FENCED.findall(text) if content.strip()]
    if len(fenced) == 1:
        text = fenced[0]
    text = _FENCE.sub("", text)
    return _out_of_json(text, json_lists)


def _plain_math(text: str) -> str:
    text = _MATH_TEXT.sub(r"\1", text)
    text = _MATH_SPACE.sub(" ", _MATH_ARROW.sub("→", text))
    return text.replace("\\{", "{").replace("\\}", "}").replace("$", "")


def _out_of_json(text: str, lists: bool) -> str:
    """Return lines for a JSON object (and array) that is all of a text, or all but some words around it; else the text."""
    begin, end = text.find("{"), text.rfind("}")
    candidates = [text.strip()] + ([text[begin : end + 1]] if 0 <= begin < end else [])
    for candidate in candidates:
        if not candidate.startswith(("{", "[") if lists else "{"):
            continue
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
            first = next(iter(item.values()), "") if isinstance(item, dict) else item
            yield from (f"- {each}" for each in (first if isinstance(first, list) else [first]))


def out_of_tables(text: str, *, pairs: bool = False) -> str:
    """Return a text with a line for each row of its Markdown tables: the first cell that is no count of rows.

    >>> out_of_tables("| # | Name |\\n|---|---|\\n| 1 | Anne |\\n| 2 | Kitty |")
    'Anne\\nKitty'

    Args:
        text: any.
        pairs: give all cells, the first as a label: "Core IDs: [1], [2]"; where the heading has the labels, a line for each column.
    """
    if "|" not in text:
        return text
    lines, table = [], []
    for line in [*text.split("\n"), ""]:
        if row := _TABLE_ROW.match(line):
            table.append([cell.strip() for cell in row[1].split("|")])
        elif table and _is_rule(line):
            table.append([line])
        else:
            lines += _rows(table, pairs) if len(table) > 1 else ["|".join(row) for row in table]
            table = []
            lines.append(line)
    return "\n".join(lines[:-1])


def _is_rule(text: str) -> bool:
    """Return whether a line or cell of a table only rules off others: "|---|:--|"."""
    return "-" in text and not text.strip(" \t|:+-")


def _rows(table: list[list[str]], pairs: bool) -> list[str]:
    rules = [all(map(_is_rule, row)) for row in table]
    head = table[0] if len(table) > 1 and rules[1] else []
    body = [row for row, rule in list(zip(table, rules, strict=True))[1 if head else 0 :] if not rule]
    if pairs and head and not any(re.search(r"[^\W\d_]", cell) for row in body for cell in row):
        columns = [", ".join(row[place] for row in body if place < len(row)) for place in range(len(head))]
        return [f"{label}: {cells}" for label, cells in zip(head, columns, strict=True)]
    counted = [place for place, cell in enumerate(head) if _COUNTS.fullmatch(cell) and len(head) > 1]
    kept = [[cell for place, cell in enumerate(row) if place not in counted] for row in body]
    if pairs and head and _NUMBER_COLUMN.fullmatch(head[0]) and all(row[0].isdecimal() for row in body):
        return [row[0] for row in body]
    if pairs:
        return [f"{row[0]}: {', '.join(row[1:])}" for row in kept if row]
    return [row[0] for row in kept if row]


_NOUN = r"(?:answers?|order(?:ing)?|sequence|arrangement|response|output|result|solution|choice|selection|designation|pick|verdict|decision)"
_LABEL = re.compile(
    r"(?:^|(?<=[.!?;,]\s)|(?<=[.!?]\s\s))[^\w\n]{0,12}(?=\w)"
    r"(?:(?:so|thus|therefore|hence|conclusion|in conclusion|overall|okay|ok|and|to conclude|in summary)\b[,:]?[ ]{1,2})?"
    r"(?:(?:the|my|our|your|a)\s{1,3})?"
    r"(?:(?:final|correct|right|best|most helpful|most useful|chosen|resulting|proper|complete|chronological|overall|true|"
    r"original|logical|sorted|likely|single|selected|segment|section|option|part)\s{1,3}){0,4}"
    rf"(?:{_NOUN})(?:\s(?:of|for|to|in|from|based|among|that)\b[^:\n.]{{0,80}}?)?"
    r"[\s*_`\"']{0,6}(?:\([^()\n]{0,60}\)\s?)?"
    r"(?:\s(?:is|are|would be|should be|will be|must be)\b[\s*_`]{0,6}:?|(?:[:=]|(?<=[*_])\n|\n))[\s*_`]{0,6}"
    r"|(?<=[\s.!?])(?-i:Answer):[\s*_`]{0,6}|^\W{0,6}(?:正确|最有帮助的?|最终)?(?:答案|正解|答え|我选择?|选择?)\s?(?:是|为|は|:)?\s?"
    r"|^\W{0,6}(?:antwort|réponse|respuesta|risposta|resposta|ответ|svar|antwoord)\s?:\s{0,3}",
    re.IGNORECASE | re.MULTILINE,
)


def labelled(text: str) -> list[str]:
    """Return what follows each label such as "Answer:", "Final answer" on a line of its own, or "The correct order is", last first.

    >>> labelled("A1 is a bad answer: no. The best answer is A3.\\nAnswer: A3")
    ['A3', 'A3.\\n']
    """
    marks = list(_LABEL.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    return [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)][::-1]
