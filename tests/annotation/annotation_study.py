"""A small study with hostile texts, answers as POTATO writes them, and hypothesis strategies."""

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from long_context_tasks.annotation import AnnotationStudy, changing, create, load_scale
from long_context_tasks.annotation.potato import item_id
from long_context_tasks.annotation.scale import CODES
from long_context_tasks.annotation.study import Annotation, Incoming, StudyQuestion

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&amp; ]]> \u202e\u2028 'x'"


def incoming() -> list[Incoming]:
    """Three questions, six candidates of two models."""
    return [
        Incoming(
            StudyQuestion(
                f"q{n}",
                f"Question {n}? {HOSTILE}",
                f"Reference {n}",
                rationale,
                None,
                "d1",
                "speech",
                "who",
                source,
            ),
            (
                (None, "small", f"Answer small {n} {HOSTILE}"),
                (None, "large/x", f"A longer answer, large {n}"),
            ),
            f"row {n}",
        )
        for n, rationale, source in ((1, HOSTILE, "dev"), (2, "Because.", "dev"), (3, None, "test"))
    ]


def make_study(path: Path, scale: str = "orca", said: Iterable[Annotation] = ()) -> AnnotationStudy:
    """Write the study, with annotations, and return it."""
    create(path, load_scale(scale), incoming(), {"d1": f"The document. {HOSTILE}\n\nIts end."})
    with changing(path) as study:
        study.annotate(said)
    return study


def answer_potato(folder: Path, given: list[Annotation], done: bool = False) -> None:
    """Write annotations into a project as POTATO 2.12.1 did in a browser: radio and multiselect hold their name, text its text.

    The history, which POTATO extends and never shortens, has the local time of each answer.
    """
    items: dict[str, dict[str, list[Any]]] = {}
    for one in given:
        labels = [[{"schema": "comment", "name": "text_box"}, one.comment]] if one.comment else []
        labels += [[{"schema": "feedback", "name": code}, code] for code in one.codes]
        if one.rating is not None:
            labels.append([{"schema": "rating", "name": str(one.rating)}, str(one.rating)])
        items.setdefault(one.annotator, {})[item_id(one.candidate)] = labels
        place = folder / "annotation_output" / one.annotator
        place.mkdir(parents=True, exist_ok=True)
        action = {"instance_id": item_id(one.candidate), "action_type": "add_label"}
        if one.at:
            at = datetime.strptime(one.at, "%Y-%m-%dT%H:%M:%S%z").astimezone()
            action["timestamp"] = at.replace(tzinfo=None, microsecond=123).isoformat()
            with (place / "annotation_history.jsonl").open("a") as file:
                file.write(json.dumps(action) + "\n")
    for name, answers in items.items():
        phase = ["done" if done else "annotation", None]
        state = {"user_id": name, "current_phase_and_page": phase, "instance_id_to_label_to_value": answers}
        (folder / "annotation_output" / name / "user_state.json").write_text(json.dumps(state))


names = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@st.composite
def annotations(draw: Any, candidates: list[str], low: int = 1, high: int = 5) -> list[Annotation]:
    """Valid annotations of candidates, at most one of each annotator and candidate."""
    keys = draw(st.lists(st.tuples(st.sampled_from(candidates), names), min_size=1, max_size=12, unique=True))
    found = []
    for candidate, annotator in keys:
        rating = draw(st.none() | st.integers(low, high))
        codes = "".join(code for code in CODES if draw(st.booleans()))
        comment = draw(texts.map(str.strip))
        if rating is None and not codes and not comment:
            rating = low
        found.append(Annotation(candidate, annotator, rating, codes, comment, "2026-01-02T03:04:05Z"))
    return found
