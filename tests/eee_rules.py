"""What a record of Every Eval Ever must be: the field rules of its schema 0.3.0 as JSON schemas of our own, and what its merge gate asks beside them."""

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

TEXT: dict[str, Any] = {"type": "string"}
NUMBER, WHOLE, TEXTS = {"type": "number"}, {"type": "integer"}, {"type": "array", "items": TEXT}
DETAILS = {"type": "object", "additionalProperties": TEXT}
BOUND = {"oneOf": [NUMBER, {"enum": ["Infinity", "-Infinity"]}, {"type": "null"}]}
UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def shape(required: str, closed: bool = False, more: Any = None, **properties: Any) -> dict[str, Any]:
    """An object; names of required keys with spaces between."""
    found = {"type": "object", "required": required.split(), "properties": properties, **(more or {})}
    return {**found, "additionalProperties": False} if closed else found


DEPLOYMENT = shape(
    "deployment_type model_availability",
    deployment_type={"enum": ["self_deployed", "externally_managed", "unknown"]},
    model_availability={"enum": ["open_weights", "closed_weights", "unknown"]},
    more={"additionalProperties": TEXT},
)
MODEL = shape(
    "name id additional_details",
    **dict.fromkeys(("name", "id", "developer", "inference_platform"), TEXT),
    inference_engine=shape("", name=TEXT, version=TEXT),
    additional_details=DEPLOYMENT,
)
SOURCES = [
    shape("dataset_name source_type url", source_type={"const": "url"}, url={**TEXTS, "minItems": 1}),
    shape(
        "dataset_name source_type",
        source_type={"const": "hf_dataset"},
        **dict.fromkeys(("dataset_name", "hf_repo", "hf_split"), TEXT),
        samples_number=WHOLE,
        additional_details=DETAILS,
    ),
    shape("dataset_name source_type", source_type={"const": "other"}, additional_details=DETAILS),
]
JUDGING = shape(
    "judges input_prompt",
    judges={
        "type": "array",
        "minItems": 1,
        "items": shape("model_info", model_info=MODEL, temperature=NUMBER),
    },
    input_prompt=TEXT,
    aggregation_method={"enum": ["majority_vote", "average", "weighted_average", "median"]},
    expert_baseline=NUMBER,
    additional_details=DETAILS,
)
METRIC = shape(
    "lower_is_better",
    **dict.fromkeys(
        ("evaluation_description", "metric_id", "metric_name", "metric_kind", "metric_unit"), TEXT
    ),
    lower_is_better={"type": "boolean"},
    score_type={"enum": ["binary", "continuous", "levels"]},
    min_score=BOUND,
    max_score=BOUND,
    llm_scoring=JUDGING,
    additional_details=DETAILS,
    more={
        "if": {"required": ["score_type"], "properties": {"score_type": {"const": "continuous"}}},
        "then": {"required": ["min_score", "max_score"]},
    },
)
UNCERTAINTY = shape(
    "",
    standard_error=shape("value", value=NUMBER, method=TEXT),
    confidence_interval=shape(
        "lower upper",
        lower=NUMBER,
        upper=NUMBER,
        confidence_level={**NUMBER, "minimum": 0, "maximum": 1},
        method=TEXT,
    ),
    standard_deviation=NUMBER,
    num_samples=WHOLE,
)
GENERATION = shape(
    "",
    generation_args=shape(
        "",
        closed=True,
        **{name: {"type": ["number", "null"]} for name in ("temperature", "top_p", "top_k")},
        max_tokens={**WHOLE, "minimum": 1},
    ),
    additional_details=DETAILS,
)
RESULT = shape(
    "evaluation_name source_data metric_config score_details",
    **dict.fromkeys(("evaluation_result_id", "evaluation_name", "evaluation_timestamp"), TEXT),
    source_data={"oneOf": SOURCES},
    metric_config=METRIC,
    score_details=shape("score", score=NUMBER, details=DETAILS, uncertainty=UNCERTAINTY),
    generation_config=GENERATION,
)
AGGREGATE = shape(
    "schema_version evaluation_id retrieved_timestamp source_metadata model_info eval_library evaluation_results",
    closed=True,
    schema_version={"const": "0.3.0"},
    **dict.fromkeys(("evaluation_id", "evaluation_timestamp", "retrieved_timestamp"), TEXT),
    source_metadata=shape(
        "source_type source_organization_name evaluator_relationship",
        source_type={"enum": ["documentation", "evaluation_run"]},
        **dict.fromkeys(("source_name", "source_organization_name", "source_organization_url"), TEXT),
        evaluator_relationship={"enum": ["first_party", "third_party", "collaborative", "other"]},
        additional_details=DETAILS,
    ),
    eval_library=shape("name version", name=TEXT, version=TEXT, additional_details=DETAILS),
    model_info=MODEL,
    evaluation_results={"type": "array", "items": RESULT},
    detailed_evaluation_results=shape(
        "format file_path",
        format={"const": "jsonl"},
        file_path={**TEXT, "pattern": rf"^data/[^/]+/[^/]+/[^/]+/{UUID4}_samples\.jsonl$"},
        hash_algorithm={"enum": ["sha256", "md5"]},
        checksum=TEXT,
        total_rows=WHOLE,
    ),
)
MESSAGE = shape(
    "turn_idx role", turn_idx={**WHOLE, "minimum": 0}, role=TEXT, content={"type": ["string", "null"]}
)
INSTANCE = shape(
    "schema_version evaluation_id model_id evaluation_name sample_id interaction_type input answer_attribution evaluation",
    closed=True,
    schema_version={"const": "0.3.0"},
    **dict.fromkeys(
        ("evaluation_id", "model_id", "evaluation_name", "evaluation_result_id", "sample_id"), TEXT
    ),
    interaction_type={"enum": ["single_turn", "multi_turn", "agentic"]},
    input=shape("raw reference", raw=TEXT, formatted={"type": ["string", "null"]}, reference=TEXTS),
    output=shape("raw", raw=TEXTS),
    messages={"type": "array", "minItems": 1, "items": MESSAGE},
    answer_attribution={"type": "array", "maxItems": 0},
    evaluation=shape(
        "score is_correct", score=NUMBER, is_correct={"type": "boolean"}, num_turns={**WHOLE, "minimum": 1}
    ),
    token_usage=shape(
        "input_tokens output_tokens total_tokens",
        **{key: {**WHOLE, "minimum": 0} for key in ("input_tokens", "output_tokens", "total_tokens")},
    ),
    metadata=DETAILS,
    more={
        "if": {"properties": {"interaction_type": {"const": "single_turn"}}},
        "then": {"required": ["output"], "properties": {"messages": False}},
        "else": {
            "required": ["messages"],
            "properties": {"output": False, "evaluation": {"required": ["num_turns"]}},
        },
    },
)


def check_records(folder: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Check every file of a folder; give each aggregate with its turns."""
    found, seen = [], set()
    for path in sorted(folder.rglob("*.json")):
        record, place = json.loads(path.read_bytes(), parse_constant=_refuse), path.relative_to(folder)
        _validate(AGGREGATE, record, path)
        _check_place(place, record)
        for result in record["evaluation_results"]:
            _check_score(result)
        samples, about = (
            path.with_name(f"{path.stem}_samples.jsonl"),
            record.get("detailed_evaluation_results"),
        )
        assert samples.exists() == (about is not None), path
        rows: list[dict[str, Any]] = []
        if about is not None:
            assert about["file_path"] == samples.relative_to(folder).as_posix()
            text = samples.read_bytes()
            assert (
                about["checksum"] == hashlib.sha256(text).hexdigest() and about["hash_algorithm"] == "sha256"
            )
            rows = [json.loads(line, parse_constant=_refuse) for line in text.decode().splitlines()]
            assert about["total_rows"] == len(rows) > 0
        results = {result["evaluation_result_id"] for result in record["evaluation_results"]}
        for row in rows:
            _validate(INSTANCE, row, samples)
            assert row["evaluation_id"] == record["evaluation_id"] and row["evaluation_result_id"] in results
            assert row["model_id"] == record["model_info"]["id"]
        seen |= {path, samples}
        found.append((record, rows))
    assert not {path for path in folder.rglob("*") if path.is_file()} - seen
    assert len({record["evaluation_id"] for record, _ in found}) == len(found)
    return found


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def _validate(schema: dict[str, Any], value: Any, path: Path) -> None:
    errors = [
        f"{list(error.absolute_path)}: {error.message}"
        for error in Draft7Validator(schema).iter_errors(value)
    ]
    assert not errors, (path, errors[:3])


def _check_place(place: Path, record: dict[str, Any]) -> None:
    assert len(place.parts) == 5 and place.parts[0] == "data" and re.fullmatch(UUID4, place.stem), place
    for part in place.parts[1:4]:
        assert part != "data" and not re.search(r'[<>:"\\|?*\x00-\x1f]|[. ]$', part), place
    developer, _, model = record["model_info"]["id"].partition("/")
    if not re.search(r'[<>"\\|?*\x00-\x1f]', record["model_info"]["id"]):
        assert place.parts[2:4] == (developer.replace(":", "_"), re.sub("[:/]", "_", model)), place


def _check_score(result: dict[str, Any]) -> None:
    config, score = result["metric_config"], result["score_details"]["score"]
    assert math.isfinite(score)
    assert float(config["min_score"]) <= score <= float(config["max_score"]), result
