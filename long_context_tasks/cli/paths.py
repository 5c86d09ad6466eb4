"""`lct paths`: where the files for both hosts lie in this installation."""

from pathlib import Path
from typing import Annotated

import typer

from long_context_tasks.cli.options import Json, examples
from long_context_tasks.cli.output import give, json_wanted, say

app = typer.Typer(add_completion=False)


def config_folder() -> Path:
    """OpenCompass configurations: in an installed package beside its modules, in a checkout at its top."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


@app.command(
    epilog=examples(
        "lct paths",
        'opencompass --datasets BENCHMARK_gen --models lct_model --config-dir "$(lct paths --opencompass)"',
    )
)
def paths(
    lm_eval: Annotated[
        bool, typer.Option("--lm-eval", help="Print only lm-eval's task folders, for $(...); one a line.")
    ] = False,
    opencompass: Annotated[
        bool, typer.Option("--opencompass", help="Print only OpenCompass' config folder, for $(...).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the folders with the task files of lm-eval and the configurations of OpenCompass.

    lm-eval finds its tasks by itself once the package is installed; --include_path "$(lct paths --lm-eval)" is for
    installations where the start-up hook does not run. OpenCompass takes --config-dir "$(lct paths --opencompass)".
    """
    from long_context_tasks.hosts.lm_eval.paths import task_folders

    give(lm_eval=task_folders(), opencompass=config_folder())
    if json_wanted():
        return
    both = lm_eval == opencompass
    if lm_eval or both:
        for folder in task_folders():
            say(f"lm-eval:     {folder}" if both else str(folder))
    if opencompass or both:
        say(f"opencompass: {config_folder()}" if both else str(config_folder()))
