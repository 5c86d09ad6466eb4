"""To and from POTATO (Pei et al., EMNLP 2022), the annotation tool that the ORCA paper used.

Written for its version 2.12: a project folder with ``config.yaml``, ``data/items.jsonl`` and an own folder per annotator below
``annotation_output``. POTATO shows the text of an item as HTML, so all that comes from the study is escaped here. Read back
are its ``user_state.json`` files, and the ``annotated_instances.jsonl`` of version 1.
"""

import html
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from long_context_tasks.annotation.records import Annotation, Candidate, Question, check_annotation
from long_context_tasks.annotation.scale import CODES, Scale
from long_context_tasks.annotation.study import Study
from long_context_tasks.schema import InputError

RATING, FEEDBACK, COMMENT = "rating", "feedback", "comment"
"""Names of POTATO's annotation schemes."""
_OUTPUT = "annotation_output"
_DOCUMENT_MAX = 400_000


def export_potato(study: Study, folder: Path, *, port: int = 8000) -> int:
    """Write a POTATO project with all candidates that count; the folder is there whole or not at all.

    Args:
        study: open.
        folder: must not be there.
        port: on which POTATO will serve.

    Returns:
        How many items it has.

    Raises:
        InputError: the folder is there or cannot be written, or the study has no candidates.
    """
    if folder.exists():
        raise InputError(f"{folder}: is there already; name a new folder")
    questions = {(one.id, one.version): one for one in study.questions()}
    items = [
        _item(study, questions[one.question_id, one.version], one) for one in study.candidates(current=True)
    ]
    if not items:
        raise InputError(f"{study.path}: no candidates to annotate; make them with `lct annotate prepare`")
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        (part / "data").mkdir(parents=True)
        lines = "".join(json.dumps(item, ensure_ascii=True) + "\n" for item in items)
        (part / "data" / "items.jsonl").write_text(lines, encoding="utf-8")
        config = yaml.safe_dump(
            potato_config(study.scale, port), sort_keys=False, allow_unicode=True, width=120
        )
        (part / "config.yaml").write_text(config, encoding="utf-8")
        part.rename(folder)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error}); choose another place") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return len(items)


def potato_config(scale: Scale, port: int = 8000) -> dict[str, Any]:
    """Return POTATO's configuration for a scale."""
    steps = [(value, step) for step in scale.steps for value in step.values]
    return {
        "annotation_task_name": scale.title,
        "server_name": scale.title,
        "task_dir": ".",
        "port": port,
        "server": {"host": "127.0.0.1", "port": port},
        "data_files": ["data/items.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "output_annotation_dir": _OUTPUT,
        "require_password": False,
        "user_config": {"allow_all_users": True, "users": []},
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": RATING,
                "description": html.escape(scale.guidelines) or "Rating",
                "labels": [
                    {
                        "name": str(value),
                        "tooltip": html.escape(f"{step.label}: {step.text}" if step.label else step.text),
                        **({"key_value": str(value % 10)} if 0 < value <= 10 else {}),
                    }
                    for value, step in steps
                ],
            },
            {
                "annotation_type": "multiselect",
                "name": FEEDBACK,
                "description": html.escape(
                    "; ".join(f"{code}: {each.label}" for code, each in scale.codes.items())
                ),
                "labels": [
                    {
                        "name": code,
                        "tooltip": html.escape(f"{each.label}: {each.text}"),
                        "key_value": code.lower(),
                    }
                    for code, each in scale.codes.items()
                ],
            },
            {
                "annotation_type": "text",
                "name": COMMENT,
                "description": "Comment",
                "textarea": {"on": True, "rows": 3},
            },
        ],
    }


def _item(study: Study, asked: Question, candidate: Candidate) -> dict[str, str]:
    parts = [("Question", asked.question), ("Reference answer", asked.reference)]
    parts += [("Rationale", asked.rationale)] if asked.rationale else []
    parts += [("Transcript", asked.transcription)] if asked.transcription else []
    parts += [("Candidate answer", candidate.text)]
    shown = "".join(f"<h4>{name}</h4><div>{html.escape(content)}</div>" for name, content in parts)
    document = None if asked.document is None else study.document(asked.document)
    if document is not None and len(document) <= _DOCUMENT_MAX:
        name = html.escape(study.scale.source.capitalize())
        shown += f"<details><summary>{name}</summary><div>{html.escape(document)}</div></details>"
    return {"id": candidate.id, "text": shown}


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
    found: list[Annotation] = []
    for path in states or older:
        for item, answers in _answers(path):
            where = f"{path}, item {item}"
            one = _annotation(item, path.parent.name, answers, where)
            if one is None:
                continue
            try:
                check_annotation(one, scale)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
            found.append(one)
    if not found:
        raise InputError(f"{folder}: no annotations yet")
    return found


def _answers(path: Path) -> Iterator[tuple[str, Mapping[str, Mapping[str, Any]]]]:
    """Yield item and answers, ``{scheme: {label: value}}``, of a file of either version."""
    try:
        content = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            state = json.loads(content)
            given = state["instance_id_to_label_to_value"]
            yield from ((str(item), _by_scheme(answers)) for item, answers in given.items())
        else:
            for line in content.split("\n"):
                if line.strip():
                    row = json.loads(line)
                    yield str(row["id"]), _by_scheme(row["label_annotations"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not as POTATO writes it ({type(error).__name__}: {error}); copy it again"
        ) from error


def _by_scheme(given: Any) -> dict[str, dict[str, Any]]:
    """Return the answers of an item; version 2 writes ``[[{"schema", "name"}, value], ...]``, other tools and version 1 nested objects."""
    if isinstance(given, Mapping):
        return {str(scheme): dict(labels) for scheme, labels in given.items()}
    found: dict[str, dict[str, Any]] = {}
    for label, value in given:
        found.setdefault(str(label["schema"]), {})[str(label["name"])] = value
    return found


def _annotation(
    item: str, annotator: str, answers: Mapping[str, Mapping[str, Any]], where: str
) -> Annotation | None:
    # A label that was taken back stays in some versions, with an empty or false value.
    chosen = {
        scheme: [name for name, value in labels.items() if value not in (None, False, "", "false")]
        for scheme, labels in answers.items()
    }
    ratings = chosen.get(RATING, [])
    if len(ratings) > 1 or not all(rating.isdecimal() for rating in ratings):
        raise InputError(f"{where}: rating is {', '.join(ratings)}; one number is needed")
    codes = chosen.get(FEEDBACK, [])
    if unknown := [code for code in codes if code not in CODES or len(code) != 1]:
        raise InputError(f"{where}: unknown feedback {', '.join(unknown)}; the codes are {', '.join(CODES)}")
    comment = " ".join(
        str(value) for value in answers.get(COMMENT, {}).values() if value not in (None, "")
    ).strip()
    if not ratings and not codes and not comment:
        return None
    rating = int(ratings[0]) if ratings else None
    return Annotation(item, annotator, rating, "".join(code for code in CODES if code in codes), comment)
