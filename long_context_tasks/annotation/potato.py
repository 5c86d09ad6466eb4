"""To and from POTATO (Pei et al., EMNLP 2022), the annotation tool that the ORCA paper used.

Written for its version 2.12: a project folder with ``config.yaml``, ``data/items.jsonl`` and an own folder per annotator below
``annotation_output``. POTATO shows the text of an item as HTML, so all that comes from the study is escaped here. Read back
are its ``user_state.json`` files, and the ``annotated_instances.jsonl`` of version 1.
"""

import html
import importlib.resources
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from long_context_tasks.annotation.records import (
    CODES,
    Annotation,
    Candidate,
    Question,
    Scale,
    check_annotation,
)
from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import json_rows, read_json, whole_folder, yaml_value

_OUTPUT = "annotation_output"
_DOCUMENT_MAX = 400_000
_ROWS = 12
"""Lines of the text box for labels."""


def export_potato(study: Study, folder: Path, *, port: int = 8000) -> int:
    """Write a POTATO project with all candidates that count; the folder is there whole or not at all.

    Returns:
        How many items it has.

    Raises:
        InputError: the folder is there or cannot be written, or the study has no candidates.
    """
    if folder.exists():
        raise InputError(f"{folder}: is there already; name a new folder")
    questions = {(question.id, question.version): question for question in study.questions()}
    items = [
        _item(study, questions[candidate.question_id, candidate.version], candidate)
        for candidate in study.candidates(current=True)
    ]
    if not items:
        raise InputError(f"{study.path}: no candidates to annotate; make them with `lct annotate prepare`")
    with whole_folder(folder) as part:
        (part / "data").mkdir()
        lines = "".join(json.dumps(item, ensure_ascii=True) + "\n" for item in items)
        (part / "data" / "items.jsonl").write_text(lines, encoding="utf-8")
        config = yaml.safe_dump(
            potato_config(study.scale, port), sort_keys=False, allow_unicode=True, width=120
        )
        (part / "config.yaml").write_text(config, encoding="utf-8")
    return len(items)


def potato_config(scale: Scale, port: int = 8000) -> dict[str, Any]:
    """Return POTATO's configuration for a scale; without ratings, the box for comments holds what annotators write."""
    template = importlib.resources.files("long_context_tasks.annotation") / "potato.yaml"
    config: dict[str, Any] = yaml_value(
        template.read_text(encoding="utf-8"), template.name, remedy="install the package again"
    )
    config["annotation_task_name"] = config["server_name"] = scale.title
    config["port"] = config["server"]["port"] = port
    rating, feedback, comment = config["annotation_schemes"]
    rating["description"] = html.escape(scale.guidelines) or rating["description"]
    for step in scale.steps:
        tooltip = html.escape(f"{step.label}: {step.text}" if step.label else step.text)
        for value in step.values:
            key = {"key_value": str(value % 10)} if 0 < value <= 10 else {}
            rating["labels"].append({"name": str(value), "tooltip": tooltip, **key})
    feedback["description"] = html.escape(
        "; ".join(f"{code}: {each.label}" for code, each in scale.codes.items())
    )
    for code, each in scale.codes.items():
        tooltip = html.escape(f"{each.label}: {each.text}")
        feedback["labels"].append({"name": code, "tooltip": tooltip, "key_value": code.lower()})
    if scale.writes:
        comment["description"] = html.escape(scale.guidelines or scale.writes)
        comment["textarea"]["rows"] = _ROWS
        config["annotation_schemes"] = [comment, feedback]
    return config


def _item(study: Study, asked: Question, candidate: Candidate) -> dict[str, str]:
    if study.scale.writes:
        parts = [("Instruction", asked.question), ("Passage", asked.reference)]
    else:
        parts = [("Question", asked.question), ("Reference answer", asked.reference)]
        parts += [("Rationale", asked.rationale)] if asked.rationale else []
        parts += [("Transcript", asked.transcription)] if asked.transcription else []
        parts += [("Candidate answer", candidate.text)]
    shown = "".join(f"<h4>{name}</h4><div>{_as_html(content)}</div>" for name, content in parts)
    document = None if asked.document is None else study.document(asked.document)
    if document is not None and len(document) <= _DOCUMENT_MAX:
        name = html.escape(study.scale.source.capitalize())
        shown += f"<details><summary>{name}</summary><div>{_as_html(document)}</div></details>"
    return {"id": candidate.id, "text": shown}


def _as_html(content: str) -> str:
    # POTATO drops styles that would keep line breaks.
    return html.escape(content).replace("\n", "<br>")


def import_potato(folder: Path, scale: Scale) -> list[Annotation]:
    """Read the annotations of all annotators from a POTATO project or its output folder, all checked.

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
    found = [
        one
        for path in states or older
        for item, answers in _answers(path)
        if (one := _annotation(item, path.parent.name, answers, f"{path}, item {item}", scale)) is not None
    ]
    if not found:
        raise InputError(f"{folder}: no annotations yet")
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
    item: str, annotator: str, answers: Mapping[str, Mapping[str, Any]], where: str, scale: Scale
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
    annotation = Annotation(
        item, annotator, rating, "".join(code for code in CODES if code in codes), comment
    )
    check_annotation(annotation, scale, f"{where}: ")
    return annotation
