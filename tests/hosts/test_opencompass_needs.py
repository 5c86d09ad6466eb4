"""What is used of OpenCompass is listed, and a version without it is refused in one line; transformers 5 likewise."""

import ast
import inspect
import pkgutil
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from needs import needs
from preloaded import host_ended

import long_context_tasks.hosts.opencompass as adapter
from long_context_tasks.hosts.opencompass.needs import check_local_models, check_opencompass
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import packaged_yaml

pytestmark = [needs("opencompass"), pytest.mark.slow]
FOLDER = Path(adapter.__file__).parent
USED: dict[str, str] = packaged_yaml(adapter.__name__, "used.yaml")


def test_the_list_has_every_name_of_opencompass_in_our_code() -> None:
    used = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "opencompass":
                used |= {f"{node.module}.{alias.name}" for alias in node.names}
    text = (FOLDER / "configs.py").read_text().replace('f"{openicl}', '"opencompass.openicl')
    used |= set(re.findall(r'"(opencompass(?:\.\w+)*\.[A-Z]\w+)"', text))
    listed = {f"opencompass.{path}" for path in USED}
    listed |= {path.rpartition(".")[0] for path in listed}  # of a listed method, the class
    assert len(used) > 25 and used <= listed


def test_the_installed_version_has_everything() -> None:
    check_opencompass()


def owner_of(path: str) -> tuple[Any, str]:
    place, _, name = f"opencompass.{path}".rpartition(".")
    return pkgutil.resolve_name(place), name


def rename_attribute(kind: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an attribute of a class and its instances another name, in the code of all methods."""
    for each in inspect.getmro(kind)[:-1]:
        for method in filter(inspect.isfunction, vars(each).values()):
            names = tuple(f"{one}_renamed" if one == name else one for one in method.__code__.co_names)
            monkeypatch.setattr(method, "__code__", method.__code__.replace(co_names=names))
        if name in vars(each):
            monkeypatch.delattr(each, name)


def refused(lack: str) -> None:
    with pytest.raises(InputError) as error:
        check_opencompass()
    text = str(error.value)
    assert "\n" not in text and "pip install opencompass==0.5.4" in text and "lacks " in text
    assert lack in text or "; ..." in text


@pytest.mark.parametrize("path", USED)
def test_a_version_with_another_name_is_refused_in_one_line(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever this package uses of OpenCompass; a run would end with a missing attribute after hours."""
    owner, name = owner_of(path)
    found = getattr(owner, name)
    given, _, read = USED[path].partition(";")
    for parameter in given.split():
        signature = inspect.signature(found)
        others = [each for each in signature.parameters.values() if each.name != parameter]
        with monkeypatch.context() as patch:
            patch.setattr(found, "__signature__", signature.replace(parameters=others), raising=False)
            refused(f"{parameter}= of {path}")
    for attribute in read.split():
        with monkeypatch.context() as patch:
            rename_attribute(found, attribute, patch)
            refused(f"{attribute} of {path}")
    for place in inspect.getmro(owner) if isinstance(owner, type) else [owner]:
        if name in vars(place):
            monkeypatch.delattr(place, name)
    refused(path)
    monkeypatch.undo()
    check_opencompass()


def test_a_run_with_another_name_ends_before_it_asks_a_model(tmp_path: Path) -> None:
    configs = tmp_path / "configs"
    shutil.copytree(Path(__file__).parents[2] / "configs", configs)
    first = configs / "models" / "lct_model.py"
    rename = "exec('import opencompass.models as m; m.Renamed = m.ClaudeSDK; del m.ClaudeSDK', {})"
    first.write_text(f"{rename}\n{first.read_text()}")
    words = ["opencompass", str(configs / "eval_ada_leval.py"), "-w", str(tmp_path)]
    variables = {"LCT_TASKS": "ada_leval_bestanswer_1k", "LCT_API_BASE": "http://h/v1"}
    code, said = host_ended(words, tmp_path, variables)
    assert code == 1
    assert "does not know this version of OpenCompass, which lacks models.ClaudeSDK" in said.splitlines()[-1]
    assert "Traceback" not in said


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
