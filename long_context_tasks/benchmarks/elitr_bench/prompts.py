"""Render prompts byte for byte: a turn of a case as messages, and a response as messages to the judge.

The official scripts send the same texts in three layouts, which are the *styles* here:

* ``chat`` (llama3.1, phi3): the first user message begins with the instruction and the transcript; the
  model's own chat template does the rest. The default: without a system message it works with every template,
  and as plain text it equals ``raw``.
* ``gpt``: the instruction is the system message.
* ``raw``, ``llama-2``, ``vicuna_v1.1``, ``longalign`` (the LLaMA-2 family): one string, assembled by hand as
  in the models' training. It is sent as a single message, to which the host must not apply a chat template.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from long_context_tasks.schema import Case, Documents, InputError, Message
from long_context_tasks.schema.files import packaged_text
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.tokens import Tokenizer

CHAT, GPT = "chat", "gpt"
GAP = "\n\n"


@dataclass(frozen=True)
class Conversation:
    """How a model family marks the speakers in its training text."""

    system: str  # text before the first message
    # user, assistant: role tags; a message that is not yet written is its tag without text
    user: str
    assistant: str
    before: str  # text between a tag and its message
    # after_user, after_assistant: text after a message
    after_user: str
    after_assistant: str


CONVERSATIONS: Mapping[str, Conversation] = {
    "raw": Conversation("", "", "", "", "", ""),
    "llama-2": Conversation("", "[INST]", "[/INST]", " ", " ", " </s><s>"),
    "vicuna_v1.1": Conversation(
        "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and "
        "polite answers to the user's questions. ",
        "USER:",
        "ASSISTANT:",
        " ",
        " ",
        "</s>",
    ),
    "longalign": Conversation("", "[INST]", "[/INST]", "", "", GAP),
}
STYLES = (CHAT, GPT, *CONVERSATIONS)


def template(name: str) -> str:
    return packaged_text(__package__, "prompts", f"{name}.txt")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace names in braces with values; braces inside a value are left as they are.

    >>> fill("{a}, {b}, {c}", {"a": "{b}", "b": "2"})
    '{b}, 2, {c}'
    """
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text)


def instruction(transcript: str, language: str = "english") -> str:
    """Return the instruction with the transcript, ending in two newlines (Fig. 5; official code)."""
    return fill(template(f"answer_{language}"), {"transcript": transcript})


def opening(passages: Sequence[str], language: str = "english") -> list[str]:
    r"""Return the text before the first question, in parts whose token counts are additive.

    ``passages`` are the parts of the transcript; each begins without white space, and all but the last end in
    a line break.

    >>> "".join(opening(["A\n", "B"])) == instruction("A\nB") + GAP
    True
    """
    before, after = template(f"answer_{language}").split("{transcript}")
    parts = [*passages[:-1], passages[-1] + after + GAP]
    return [before + parts[0], *parts[1:]]


def asked(question: str, markers: bool = False) -> str:
    """Format a question for the prompt, optionally with question-answer markers (Appendix B.2)."""
    return f"QUESTION: {question.strip()} ANSWER:" if markers else question.strip()


def conversation_prompt(user_texts: Sequence[str], answers: Sequence[str | None], form: str) -> str:
    """Return a LLaMA-2 family prompt that ends where the next answer begins.

    An empty text is rendered like a missing one, as the role tag only, as in the official code.

    >>> conversation_prompt(["Q1", "Q2"], ["A1"], "llama-2")
    '[INST] Q1 [/INST] A1 </s><s>[INST] Q2 [/INST]'
    >>> conversation_prompt(["Q1", "Q2"], [""], "longalign")
    '[INST]Q1[/INST][INST]Q2[/INST]'
    """
    style = CONVERSATIONS[form]
    pieces = [style.system]
    # An answer that is not yet written is the bare tag at the end.
    for place, user_text in enumerate(user_texts):
        answer = answers[place] if place < len(answers) else None
        pieces.append(style.user + (style.before + user_text + style.after_user if user_text else ""))
        pieces.append(style.assistant + (style.before + answer + style.after_assistant if answer else ""))
    return "".join(pieces)


def conversation(
    transcript: str,
    questions: Sequence[str],
    answers: Sequence[str | None] = (),
    *,
    style: str = CHAT,
    language: str = "english",
    markers: bool = False,
) -> list[Message]:
    """Return the messages that pose the last question; there is one question more than answers.

    A None answer is omitted, so that two user messages are adjacent; an empty one is kept. The ``gpt`` script
    does this; the other scripts never have such answers.
    """
    if len(questions) != len(answers) + 1:
        raise ValueError(f"{len(questions)} questions need {len(questions) - 1} answers, not {len(answers)}")
    check_style(style, markers)
    opening = instruction(transcript, language)
    user_texts = [asked(question, markers) for question in questions]
    if style != GPT:
        user_texts[0] = opening + GAP + user_texts[0]
    if style in CONVERSATIONS:
        return [Message("user", conversation_prompt(user_texts, answers, style))]
    messages = [Message("system", opening, len(opening))] if style == GPT else []
    for place, text in enumerate(user_texts):
        shared = len(opening + GAP) if style == CHAT and place == 0 else 0
        messages.append(Message("user", text, shared))
        if place < len(answers) and (answer := answers[place]) is not None:
            messages.append(Message("assistant", answer))
    return messages


def check_style(style: str, markers: bool) -> None:
    """Reject a prompt that no official script sends."""
    if style not in STYLES:
        raise InputError(f"prompt style {style!r} is not one of {', '.join(STYLES)}")
    if style == GPT and markers:
        raise InputError("the gpt prompt style has no question-answer markers; leave one of the two out")


def messages(
    case: Case, documents: Documents | Mapping[str, str], turn: int = 0, answers: Sequence[str | None] = ()
) -> list[Message]:
    """Return the messages for one turn of a case, after the model's earlier answers."""
    inputs = case.inputs
    if inputs["history"] == "gold":
        history: list[str | None] = [str(asked.gold) for asked in case.turns[:turn]]
    else:
        # Models see their earlier answers without thinking, as chat templates render them.
        history = [None if answer is None else without_thinking(answer).text for answer in answers]
    return conversation(
        documents[inputs["transcript"]],
        [str(asked.question) for asked in case.turns[: turn + 1]],
        history,
        style=inputs["style"],
        language=inputs["language"],
        markers=inputs["markers"],
    )


def counted(
    meetings: Iterable[Case],
    transcripts: Mapping[str, str],
    tokenizers: Sequence[Tokenizer],
    *,
    together: bool,
    passages: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Iterator[Case]:
    """Yield the meetings' cases with the token counts of their chat-style prompts, without model answers.

    If ``together``, a meeting's questions form one case, a dialogue; otherwise each question is a case.
    ``passages`` are transcripts split into parts that are already counted, see :func:`opening`.
    """
    for meeting in meetings:
        # The newlines before the question end a token in every tokenizer, so the counts of the two parts are
        # additive.
        key = meeting.inputs["transcript"]
        before = opening(passages.get(key) or (transcripts[key],), meeting.inputs["language"])
        spent = {each.name: each.count_parts(before) for each in tokenizers}
        for turns in [meeting.turns] if together else [(turn,) for turn in meeting.turns]:
            sent = [asked(str(turn.question)) for turn in turns]
            yield replace(
                meeting,
                id=meeting.id if together else f"{meeting.id}_{turns[0].labels['question_id']}",
                turns=turns,
                num_tokens={each.name: spent[each.name] + sum(each.count_many(sent)) for each in tokenizers},
            )


def judge_prompt(
    question: str, response: str, reference: str, judge: str = "gpt", language: str = "english"
) -> str:
    """Return the judge's user message with its rubric (Figs. 6 to 9; official code); texts are stripped."""
    values = {"question": question, "response": response, "reference": reference}
    return fill(template(f"judge_{judge}_{language}"), {name: text.strip() for name, text in values.items()})


def judge_conversation(prompt: str, judge: str = "gpt", language: str = "english") -> list[Message]:
    """Return the judge's messages; only GPT gets a system message. Prompts share their text up to the question."""
    system = [Message("system", template("judge_gpt_system"))] if judge == "gpt" else []
    return [*system, Message("user", prompt, template(f"judge_{judge}_{language}").index("{question}"))]
