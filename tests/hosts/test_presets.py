"""The settings in which the papers ran their models, as files that lm-eval reads."""

from pathlib import Path

import pytest
import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.elitr_bench.paper import published
from long_context_tasks.benchmarks.elitr_bench.prompts import CONVERSATIONS

MODELS = Path(__file__).resolve().parents[2] / "configs" / "models"
FILES = sorted(MODELS.glob("*/*.yaml"))
ELITR = {path.stem: yaml.safe_load(path.read_text()) for path in FILES if path.parent.name == "elitr_bench"}
ADA, ETHIC = ({path.stem for path in FILES if path.parent.name == name} for name in ("ada_leval", "ethic"))


def test_every_model_of_the_papers_has_a_preset() -> None:
    assert set(ELITR) == set(published()["table2"]["rows"])
    # The position embeddings of Table 9 have files in rope/; StreamingLLM is a press, MemoRAG a pipeline (docs/attention.md).
    for benchmark, of_papers in (("ada_leval", ADA), ("ethic", ETHIC)):
        folder = MODELS.parents[1] / "long_context_tasks" / "benchmarks" / benchmark
        figures = yaml.safe_load((folder / "published.yaml").read_text())
        others = ("Random Guess", "Expectation", "StreamingLLM", "MemoRAG")
        named = {name for table in figures["tables"] for name in table.get("rows", {})}
        assert {
            name.replace(" ", "-") for name in named if "," not in name and name not in others
        } == of_papers


@pytest.mark.parametrize(
    "model", [name for name, content in ELITR.items() if "do_sample" in content["gen_kwargs"]]
)
def test_the_configuration_is_the_one_that_the_paper_kept(model: str) -> None:
    gen, options = ELITR[model]["gen_kwargs"], ELITR[model]["metadata"]
    step_1, step_2 = published()["table7"]["retained"], published()["table8"]["retained"]
    if model not in step_2:  # no search was made
        assert (gen, options) == ({"do_sample": False}, {"lct_prompt_style": "chat"})
        return
    style = options["lct_prompt_style"]
    assert style in CONVERSATIONS
    row = (
        "nucleus" if gen["do_sample"] else "greedy",
        "no template" if style == "raw" else "template",
        "markers" if options["lct_question_markers"] else "no markers",
    )
    # Vicuna-13B's step 1 ended with the same row as its step 2 begins.
    assert ", ".join(row) == step_1.get(model, "nucleus, template, markers")
    assert ("penalty" if "repetition_penalty" in gen else "no penalty") == step_2[model]
    if gen["do_sample"]:
        assert (gen["temperature"], gen["top_p"]) == (0.6, 0.9)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_lm_eval_reads_every_preset(path: Path) -> None:
    evaluate_config = pytest.importorskip("lm_eval.config.evaluate_config")
    content = yaml.safe_load(path.read_text())
    read = evaluate_config.EvaluatorConfig.from_config(path)
    assert (read.model, read.model_args, read.gen_kwargs) == (
        content["model"],
        content["model_args"],
        content["gen_kwargs"],
    )
    catalogue.resolve_options(content.get("metadata", {}))
