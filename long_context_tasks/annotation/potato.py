"""To and from POTATO (Pei et al., EMNLP 2022), the annotation tool that the ORCA paper used.

Written for its version 2.12: a project folder with ``config.yaml``, ``data/items.jsonl`` and one folder per annotator in
``annotation_output``. Its ``user_state.json`` holds the answers, its ``annotation_history.jsonl`` their times; the
``annotated_instances.jsonl`` of version 1 is read as well.
"""

import hashlib
import html
import importlib.resources
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from long_context_tasks.annotation.records import (
    CODES,
    TIME,
    Annotation,
    Question,
    Scale,
    check_annotation,
)
from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import (
    json_rows,
    loads,
    read_json,
    read_yaml,
    whole_folder,
    write_whole,
    yaml_value,
)

_OUTPUT = "annotation_output"
_ROWS = 12
"""Lines of the text box for labels."""
_BOX = "40vh"
"""Height from which a text scrolls in a box of its own, so that the form stays on the screen."""
_EMPTY = "(none)"


def item_id(candidate: str) -> str:
    """Return the id of a candidate in POTATO, which annotators can see: it does not name the model."""
    return hashlib.sha256(candidate.encode()).hexdigest()[:16]


def export_potato(study: Study, folder: Path, annotators: int | None = None) -> int:
    """Write a POTATO project with all candidates that count, or bring the project of an earlier export up to date.

    An existing project keeps its answers and the settings in its ``config.yaml``; items of corrected or removed questions
    leave it. POTATO reads all of it when it starts, so it should be stopped first.

    Args:
        study: open.
        folder: of the project.
        annotators: people per item; None: everyone annotates every item, or what an existing project has.

    Returns:
        How many items it has.

    Raises:
        InputError: the folder holds something else or cannot be written, or the study has no candidates.
    """
    fields = _fields(study.scale)
    items = _items(study, fields)
    if not items:
        raise InputError(f"{study.path}: no candidates to annotate; make them with `lct annotate prepare`")
    there = folder.exists()
    config = _existing(study, folder) if there else potato_config(study.scale)
    shown = [field for field in fields if any(item[field["key"]] != _EMPTY for item in items)]
    config["instance_display"] = {**config["instance_display"], "fields": shown}
    if annotators is not None:
        config["num_annotators_per_item"] = annotators
    if there:
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
    """Return POTATO's configuration for a scale; without ratings, the box for comments holds what annotators write."""
    template = importlib.resources.files("long_context_tasks.annotation") / "potato.yaml"
    config: dict[str, Any] = yaml_value(
        template.read_text(encoding="utf-8"), template.name, remedy="install the package again"
    )
    config["annotation_task_name"] = scale.title
    config["instance_display"]["fields"] = _fields(scale)
    rating, feedback, comment = config["annotation_schemes"]
    rating["description"] = scale.guidelines or rating["description"]
    for step in scale.steps:
        for value in step.values:
            key = {"key_value": str(value % 10)} if 0 < value <= 10 else {}
            shown = _shown(str(value), step.label, step.text)
            rating["labels"].append({"name": str(value), "displayed_label": shown, **key})
    for code, each in scale.codes.items():
        shown = _shown(code, each.label, each.text)
        feedback["labels"].append({"name": code, "displayed_label": shown, "key_value": code.lower()})
    if scale.writes:
        comment["description"] = scale.guidelines or scale.writes
        comment["textarea"]["rows"] = _ROWS
        config["annotation_schemes"] = [comment, feedback]
    return config


def _shown(name: str, label: str, text: str) -> str:
    """Return a choice as annotators read it.

    >>> _shown("5", "Right", "Says the same.")
    '5: Right. Says the same.'
    """
    return f"{name}: {'. '.join(filter(None, (label, text)))}".removesuffix(": ")


def _fields(scale: Scale) -> list[dict[str, Any]]:
    """Return the texts of an item in the order in which they are shown, as POTATO's fields; each scrolls when it is long."""
    names = {"question": "Question", "reference": "Reference answer", "rationale": "Rationale"}
    names |= {"transcription": "Transcript", "answer": "Candidate answer"}
    if scale.writes:
        names = {"question": "Instruction", "reference": "Passage"}
    fields: list[dict[str, Any]] = [
        {"key": key, "type": "text", "label": name, "display_options": {"max_height": _BOX}}
        for key, name in names.items()
    ]
    # Annotators open the source only if the rest does not suffice. POTATO does not escape this label.
    folded = {"max_height": _BOX, "collapsible": True, "collapsed_by_default": True}
    source = html.escape(scale.source.capitalize())
    return [*fields, {"key": "document", "type": "text", "label": source, "display_options": folded}]


def _items(study: Study, fields: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return an item for each candidate that counts: questions of a document together, their answers in no order of models."""
    questions = {(question.id, question.version): question for question in study.questions()}
    documents: dict[str, list[Question]] = {}
    for question in questions.values():
        documents.setdefault(question.document or question.id, []).append(question)
    places = {
        (question.id, question.version): (place, number)
        for place, group in enumerate(documents.values())
        for number, question in enumerate(group)
    }
    candidates = sorted(
        study.candidates(current=True),
        key=lambda each: (places[each.question_id, each.version], item_id(each.id)),
    )
    sources = {question.document for question in questions.values() if question.document is not None}
    texts = {source: study.document(source) for source in sources}
    items = []
    for candidate in candidates:
        asked = questions[candidate.question_id, candidate.version]
        source = None if asked.document is None else texts[asked.document]
        content = {**asked.texts, "answer": candidate.text, "document": source}
        # POTATO shows nothing of an item that lacks a field.
        shown = {field["key"]: content[field["key"]] or _EMPTY for field in fields}
        items.append({"id": item_id(candidate.id), **shown})
    return items


def _existing(study: Study, folder: Path) -> dict[str, Any]:
    """Return the configuration of a project that an earlier export of this study wrote.

    Raises:
        InputError: the folder is not such a project.
    """
    remedy = "name a new folder, or the project of an earlier export of this study"
    items = folder / "data" / "items.jsonl"
    if not items.is_file():
        raise InputError(f"{folder}: is there already and is not a POTATO project; {remedy}")
    known = {item_id(candidate.id) for candidate in study.candidates()}
    for where, item in json_rows(items, "items as the export writes them"):
        if not isinstance(item, dict) or str(item.get("id")) not in known:
            raise InputError(f"{where}: not an item of {study.path}; {remedy}")
    config = read_yaml(folder / "config.yaml", "POTATO configuration", remedy=remedy)
    if not isinstance(config, dict) or not isinstance(config.get("instance_display"), dict):
        raise InputError(f"{folder / 'config.yaml'}: no instance_display in it; {remedy}")
    return config


def _reopen(folder: Path, items: Set[str]) -> None:
    """Let annotators who were done go on if there are items that they have not answered; POTATO would never ask them again."""
    for path in sorted((folder / _OUTPUT).glob("*/user_state.json")):
        answered = {item for item, _ in _answers(path)}
        state = read_json(path, _EXPECTED)
        # Without an answer it was a failed training, say, that ended their work.
        if answered and items - answered and state.get("current_phase_and_page") == ["done", None]:
            state["current_phase_and_page"] = ["annotation", None]
            write_whole(path, json.dumps(state, indent=2))


@dataclass(frozen=True)
class Collected:
    """What people did in a POTATO project.

    Attributes:
        annotations: all that there are now.
        withdrawn: candidate and annotator of the annotations that were taken back.
        annotators: everyone who has logged in.
    """

    annotations: list[Annotation]
    withdrawn: list[tuple[str, str]]
    annotators: list[str]


def import_potato(folder: Path, study: Study) -> Collected:
    """Read the annotations of all annotators from a POTATO project or its output folder, all checked.

    POTATO writes times without a zone; they are taken to be of this machine's.

    Raises:
        InputError: names file, item and remedy.
    """
    output = folder / _OUTPUT if (folder / _OUTPUT).is_dir() else folder
    states = sorted(output.glob("*/user_state.json"))
    older = sorted(output.glob("*/annotated_instances.jsonl"))
    if not states and not older:
        raise InputError(
            f"{folder}: no */user_state.json (nor version 1's */annotated_instances.jsonl); name POTATO's project folder or its "
            f"{_OUTPUT}"
        )
    ids = [candidate.id for candidate in study.candidates()]
    # Projects that people made themselves from an export have the ids of the study.
    candidates = {**{item_id(key): key for key in ids}, **{key: key for key in ids}}
    found: list[Annotation] = []
    withdrawn: list[tuple[str, str]] = []
    for path in states or older:
        annotator = path.parent.name
        times = _times(path.with_name("annotation_history.jsonl"))
        answers = dict(_answers(path))
        for item in [*answers, *(times.keys() & candidates.keys() - answers.keys())]:
            where = f"{path}, item {item}"
            if item not in candidates:
                raise InputError(
                    f"{where}: no candidate of {study.path}; name the project that this study exported"
                )
            key = candidates[item], annotator
            one = _annotation(*key, answers.get(item, {}), times.get(item, ""), where, study.scale)
            if one is None:
                withdrawn.append(key)
            else:
                found.append(one)
    if not found and not withdrawn:
        raise InputError(f"{folder}: no annotations yet")
    return Collected(found, withdrawn, [path.parent.name for path in states or older])


def _times(path: Path) -> dict[str, str]:
    """Return item to the time of its last answer, in UTC; POTATO removes answers from its state, but not from this history."""
    found: dict[str, str] = {}
    if not path.is_file():
        return found
    for line in path.read_bytes().splitlines():
        try:
            action = loads(line)
            at = datetime.fromisoformat(action["timestamp"]).astimezone(timezone.utc).strftime(TIME)
            item = str(action["instance_id"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue  # POTATO, too, passes over a line that a crash has cut
        found[item] = max(at, found.get(item, ""))
    return found


_EXPECTED = "a file as POTATO writes it; copy it again"


def _answers(path: Path) -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """Yield item and answers, ``{scheme: {label: value}}``, of a file of either version.

    Version 2 writes ``[[{"schema", "name"}, value], ...]``, other tools and version 1 nested objects.
    """
    try:
        if path.suffix == ".json":
            items = list(read_json(path, _EXPECTED)["instance_id_to_label_to_value"].items())
        else:
            items = [(row["id"], row["label_annotations"]) for _, row in json_rows(path, _EXPECTED)]
        for item, given in items:
            found: dict[str, dict[str, Any]] = {}
            if isinstance(given, Mapping):
                found = {str(scheme): dict(labels) for scheme, labels in given.items()}
            else:
                for label, value in given:
                    found.setdefault(str(label["schema"]), {})[str(label["name"])] = value
            yield str(item), found
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not as POTATO writes it ({type(error).__name__}: {error}); copy it again"
        ) from error


def _annotation(
    candidate: str,
    annotator: str,
    answers: Mapping[str, Mapping[str, Any]],
    at: str,
    where: str,
    scale: Scale,
) -> Annotation | None:
    # A label that was taken back stays in some versions, with an empty or false value.
    ratings, codes = (
        [name for name, value in answers.get(scheme, {}).items() if value not in (None, False, "", "false")]
        for scheme in ("rating", "feedback")
    )
    if len(ratings) > 1 or not all(rating.isdecimal() for rating in ratings):
        raise InputError(f"{where}: rating is {', '.join(ratings)}; one number is needed")
    if unknown := [code for code in codes if code not in tuple(CODES)]:
        raise InputError(f"{where}: unknown feedback {', '.join(unknown)}; the codes are {', '.join(CODES)}")
    texts = answers.get("comment", {}).values()
    comment = " ".join(str(text) for text in texts if text not in (None, "")).strip()
    if not ratings and not codes and not comment:
        return None
    rating = int(ratings[0]) if ratings else None
    ordered = "".join(code for code in CODES if code in codes)
    annotation = Annotation(candidate, annotator, rating, ordered, comment, at)
    check_annotation(annotation, scale, f"{where}: ")
    return annotation
