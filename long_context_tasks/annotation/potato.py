"""Projects and annotations of POTATO (Pei et al., EMNLP 2022), the ORCA paper's annotation tool.

Written for version 2.12. A project has ``config.yaml``, ``data/items.jsonl`` and one folder per annotator in
``annotation_output``, where ``user_state.json`` holds the answers and ``annotation_history.jsonl`` their
times.
"""

import hashlib
import html
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from long_context_tasks.annotation.scale import CODES, Scale
from long_context_tasks.annotation.study import (
    TIME,
    Annotation,
    AnnotationStudy,
    StudyQuestion,
    annotation_problem,
)
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import (
    content_of,
    json_rows,
    loads,
    packaged_yaml,
    read_json,
    read_yaml,
    whole_folder,
    write_whole,
)

_OUTPUT = "annotation_output"
_LABEL_LINES = 12  # lines of the text box for labels
_BOX = "40vh"  # height above which a text scrolls in its own box, so that the form stays on screen
_EMPTY = "(none)"
_EXPECTED = "a file as POTATO writes it; copy it again"
Answers = Mapping[str, Mapping[str, Any]]
"""Scheme (rating, feedback, comment) -> label -> value."""


def item_id(candidate: str) -> str:
    """Return a candidate's id in POTATO: a hash, because annotators see it and candidate ids name the model."""
    return hashlib.sha256(candidate.encode()).hexdigest()[:16]


def export_potato(study: AnnotationStudy, folder: Path, annotators: int | None = None) -> int:
    """Write a POTATO project with all current candidates, or update an earlier export's project.

    An existing project keeps its answers and the settings in ``config.yaml``; items of corrected or removed
    questions are dropped. Stop POTATO first, because it reads the project only at startup. ``annotators`` is
    the number of people per item; None means everyone, or an existing project's setting. Returns the number
    of items.
    """
    fields = _fields(study.scale)
    items = _items(study, fields)
    if not items:
        raise InputError(f"{study.path}: no candidates to annotate; make them with `lct annotate prepare`")
    exists = folder.exists()
    config = _existing(study, folder) if exists else potato_config(study.scale)
    # A field that is empty everywhere, such as the transcript of a text, is not shown.
    shown = [field for field in fields if any(item[field["key"]] != _EMPTY for item in items)]
    # Everything else in an existing config.yaml may be the user's setting.
    config["instance_display"] = {**config["instance_display"], "fields": shown}
    if annotators is not None:
        config["num_annotators_per_item"] = annotators
    if exists:
        _write(folder, items, config)
        _reopen(folder, {item["id"] for item in items})
    else:
        with whole_folder(folder) as part:
            (part / "data").mkdir()
            _write(part, items, config)
    return len(items)


def _write(folder: Path, items: Sequence[Mapping[str, str]], config: Mapping[str, Any]) -> None:
    lines = (json.dumps(item, ensure_ascii=True) + "\n" for item in items)
    write_whole(folder / "data" / "items.jsonl", lines)
    settings = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=120)
    write_whole(folder / "config.yaml", settings)


def potato_config(scale: Scale) -> dict[str, Any]:
    config: dict[str, Any] = packaged_yaml(__package__, "potato.yaml")
    config["annotation_task_name"] = scale.title
    config["instance_display"]["fields"] = _fields(scale)
    rating, feedback, comment = config["annotation_schemes"]
    rating["description"] = scale.guidelines or rating["description"]
    for step in scale.steps:
        for value in step.values:
            # Keyboard keys: 1 to 9, and 0 for 10.
            key = {"key_value": str(value % 10)} if 0 < value <= 10 else {}
            shown = _shown(str(value), step.label, step.text)
            rating["labels"].append({"name": str(value), "displayed_label": shown, **key})
    for code, each in scale.codes.items():
        shown = _shown(code, each.label, each.text)
        feedback["labels"].append({"name": code, "displayed_label": shown, "key_value": code.lower()})
    if scale.writes:
        comment["description"] = scale.guidelines or scale.writes
        comment["textarea"]["rows"] = _LABEL_LINES
        config["annotation_schemes"] = [comment, feedback]
    return config


def _shown(name: str, label: str, text: str) -> str:
    """Return a choice as shown to annotators, e.g. ``5: Right. Says the same.``."""
    return f"{name}: {'. '.join(filter(None, (label, text)))}".removesuffix(": ")


def _fields(scale: Scale) -> list[dict[str, Any]]:
    labels = {"question": "Question", "reference": "Reference answer", "rationale": "Rationale"}
    labels |= {"transcription": "Transcript", "answer": "Candidate answer"}
    if scale.writes:
        labels = {"question": "Instruction", "reference": "Passage"}
    labels["document"] = html.escape(scale.source.capitalize())  # POTATO does not escape this label
    # Annotators should open the source only if the rest is not enough.
    folded = {"collapsible": True, "collapsed_by_default": True}
    return [
        {
            "key": key,
            "type": "text",
            "label": label,
            "display_options": {"max_height": _BOX, **(folded if key == "document" else {})},
        }
        for key, label in labels.items()
    ]


def _items(study: AnnotationStudy, fields: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return one item per current candidate, grouped by document and question.

    A question's answers are ordered by their hashes.
    """
    documents: dict[str, list[StudyQuestion]] = {}
    for question in study.questions():
        # Annotators read a document once for all its questions.
        documents.setdefault(question.document or question.id, []).append(question)
    grouped = [question.key for group in documents.values() for question in group]
    rank = {key: number for number, key in enumerate(grouped)}
    items = []
    # Hash order is independent of the model, so annotators cannot infer which model answered.
    for candidate in sorted(
        study.candidates(current=True), key=lambda each: (rank[each.question], item_id(each.id))
    ):
        asked = study.question_of(candidate.id)
        source = None if asked.document is None else study.documents[asked.document]
        content = {**asked.texts, "answer": candidate.text, "document": source}
        # POTATO shows nothing for an item that lacks a field.
        shown = {field["key"]: content[field["key"]] or _EMPTY for field in fields}
        items.append({"id": item_id(candidate.id), **shown})
    return items


def _existing(study: AnnotationStudy, folder: Path) -> dict[str, Any]:
    """Return the configuration of a project written by an earlier export of this study."""
    remedy = "name a new folder, or the project of an earlier export of this study"
    items = folder / "data" / "items.jsonl"
    if not items.is_file():
        raise InputError(f"{folder}: exists and is not a POTATO project; {remedy}")
    # All candidates, because the project may show those of corrected questions.
    known = {item_id(candidate) for candidate in study.answers}
    for where, item in json_rows(items, "items as the export writes them"):
        if not isinstance(item, dict) or str(item.get("id")) not in known:
            raise InputError(f"{where}: not an item of {study.path}; {remedy}")
    config = read_yaml(folder / "config.yaml", "POTATO configuration", remedy=remedy)
    if not isinstance(config, dict) or not isinstance(config.get("instance_display"), dict):
        raise InputError(f"{folder / 'config.yaml'}: no instance_display in it; {remedy}")
    return config


def _reopen(folder: Path, items: Set[str]) -> None:
    """Let annotators who had finished continue with new items, which POTATO would otherwise not show them."""
    for path in sorted((folder / _OUTPUT).glob("*/user_state.json")):
        answered = {item for item, _ in _answers(path)}
        state = read_json(path, _EXPECTED)
        # An annotator without answers ended differently, e.g. by failing the training; they stay out.
        if answered and items - answered and state.get("current_phase_and_page") == ["done", None]:
            state["current_phase_and_page"] = ["annotation", None]
            write_whole(path, json.dumps(state, indent=2))


@dataclass(frozen=True)
class PotatoAnswers:
    annotations: list[Annotation]
    withdrawn: list[tuple[str, str]]  # (candidate, annotator) of withdrawn annotations
    annotators: list[str]  # everyone who has logged in


def import_potato(folder: Path, study: AnnotationStudy) -> PotatoAnswers:
    """Read and check all annotations in a POTATO project or its output folder.

    POTATO writes times without a time zone; they are read in this machine's zone.
    """
    output = folder / _OUTPUT if (folder / _OUTPUT).is_dir() else folder
    states = sorted(output.glob("*/user_state.json"))
    if not states:
        raise InputError(f"{folder}: no */user_state.json; name POTATO's project folder or its {_OUTPUT}")
    # Projects that users built from an export have the study's ids.
    candidates = {item_id(key): key for key in study.answers} | {key: key for key in study.answers}
    annotations: list[Annotation] = []
    withdrawn: list[tuple[str, str]] = []
    for path in states:
        annotator = path.parent.name
        times = _times(path.with_name("annotation_history.jsonl"))
        answers = dict(_answers(path))
        # Withdrawn answers are missing from the state, but the history still lists their items.
        for item in [*answers, *(times.keys() & candidates.keys() - answers.keys())]:
            where = f"{path}, item {item}"
            if item not in candidates:
                raise InputError(
                    f"{where}: not a candidate of {study.path}; name the project that this study exported"
                )
            key = candidates[item], annotator
            rating, codes, comment = _read_answers(answers.get(item, {}), where)
            if rating is None and not codes and not comment:
                withdrawn.append(key)
                continue
            annotations.append(Annotation(*key, rating, codes, comment, times.get(item, "")))
            if problem := annotation_problem(annotations[-1], study.scale):
                raise InputError(f"{where}: {problem}")
    if not annotations and not withdrawn:
        raise InputError(f"{folder}: no annotations yet")
    return PotatoAnswers(annotations, withdrawn, [path.parent.name for path in states])


def _times(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in content_of(path).splitlines() if path.is_file() else ():
        try:
            action = loads(line)
            at = datetime.fromisoformat(action["timestamp"]).astimezone(timezone.utc).strftime(TIME)
            item = str(action["instance_id"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue  # a line truncated by a crash; POTATO skips it too
        found[item] = max(at, found.get(item, ""))
    return found


def _answers(path: Path) -> Iterator[tuple[str, Answers]]:
    """Yield the items and answers in an annotator's state.

    The state holds ``[[{"schema", "name"}, value], ...]`` for each item.
    """
    try:
        for item, given in read_json(path, _EXPECTED)["instance_id_to_label_to_value"].items():
            found: dict[str, dict[str, Any]] = {}
            for label, value in given:
                found.setdefault(str(label["schema"]), {})[str(label["name"])] = value
            yield str(item), found
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not as POTATO writes it ({type(error).__name__}: {error}); copy it again"
        ) from error


def _read_answers(answers: Answers, where: str) -> tuple[int | None, str, str]:
    # Some versions keep a withdrawn answer's label, with an empty or false value.
    ratings, codes = (
        [name for name, value in answers.get(scheme, {}).items() if value not in (None, False, "", "false")]
        for scheme in ("rating", "feedback")
    )
    if len(ratings) > 1 or not all(rating.isdecimal() for rating in ratings):
        raise InputError(f"{where}: rating is {', '.join(ratings)}; one number is needed")
    if unknown := [code for code in codes if code not in tuple(CODES)]:
        raise InputError(f"{where}: unknown feedback {', '.join(unknown)}; the codes are {', '.join(CODES)}")
    texts = answers.get("comment", {}).values()
    # The scheme has one text box, whatever its label.
    comment = " ".join(str(text) for text in texts if text not in (None, "")).strip()
    return int(ratings[0]) if ratings else None, "".join(code for code in CODES if code in codes), comment
