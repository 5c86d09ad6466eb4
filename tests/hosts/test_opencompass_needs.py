"""What is used of OpenCompass is listed, and a version without it is refused in one line; transformers 5 likewise."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from needs import needs

import long_context_tasks.hosts.opencompass as adapter
from long_context_tasks.hosts.opencompass.needs import _lacks, check_local_models, check_opencompass
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import packaged_yaml

pytestmark = [needs("opencompass"), pytest.mark.slow]
FOLDER = Path(adapter.__file__).parent


def test_the_list_has_every_name_of_opencompass_in_our_code() -> None:
    used = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "opencompass":
                used |= {f"{node.module}.{alias.name}" for alias in node.names}
    text = (FOLDER / "configs.py").read_text().replace('f"{openicl}', '"opencompass.openicl')
    used |= set(re.findall(r'"(opencompass(?:\.\w+)*\.[A-Z]\w+)"', text))
    listed = {f"opencompass.{path}" for path in packaged_yaml(adapter.__name__, "used.yaml")}
    listed |= {path.rpartition(".")[0] for path in listed}  # of a listed method, the class
    assert len(used) > 25 and used <= listed


def test_the_installed_version_has_everything() -> None:
    check_opencompass()


def test_a_version_without_a_part_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import opencompass.models
    from opencompass.models import HuggingFaceBaseModel, OpenAISDK
    from opencompass.openicl.icl_inferencer import GenInferencer

    def generate(self: Any, inputs: Any, max_tokens: int) -> None: ...

    def __init__(self: Any, path: str, key: str, **more: Any) -> None:
        self.client = more  # and no openai_client

    monkeypatch.delattr(opencompass.models, "TurboMindModelwithChatTemplate")
    monkeypatch.setattr(HuggingFaceBaseModel, "generate", generate)
    with pytest.raises(InputError) as error:
        check_opencompass()
    lines = str(error.value)
    assert "\n" not in lines and "pip install 'opencompass>=0.5.4,<0.6'" in lines
    assert "max_out_len= of models.HuggingFaceBaseModel.generate" in lines and lines.count("; ") == 3
    monkeypatch.undo()
    monkeypatch.setattr(OpenAISDK, "__init__", __init__)
    with pytest.raises(InputError, match=r"openai_api_base= of models\.OpenAISDK; "):
        check_opencompass()
    assert "openai_client of models.OpenAISDK" in [*_lacks("models.OpenAISDK", "; openai_client is_api")]
    monkeypatch.undo()
    monkeypatch.setattr(GenInferencer, "inference", lambda self, retriever: None)
    with pytest.raises(InputError, match=r"ice_template= of .*GenInferencer\.inference"):
        check_opencompass()


def test_local_models_without_the_methods_that_opencompass_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in transformers 5, which has dropped them."""
    import transformers
    from mmengine.config import Config

    check_local_models()
    monkeypatch.delattr(transformers.PreTrainedTokenizerBase, "batch_encode_plus")
    config = Path(__file__).parents[2] / "configs" / "models" / "lct_model.py"
    with pytest.raises(InputError, match=r"pip install 'transformers<5'"):
        Config.fromfile(str(config))
    monkeypatch.setenv("LCT_API_BASE", "http://h/v1")
    assert Config.fromfile(str(config)).models[0]["openai_api_base"] == "http://h/v1"
