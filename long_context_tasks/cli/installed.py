"""What is installed: `lct paths` says where the files for both hosts lie, `lct generate` makes them anew."""

from pathlib import Path
from typing import Annotated

import typer

from long_context_tasks.cli.options import Json, examples
from long_context_tasks.cli.output import give, json_wanted, say
from long_context_tasks.schema import InputError

paths_app = typer.Typer(add_completion=False)
generate_app = typer.Typer(add_completion=False)


def config_folder() -> Path:
    """OpenCompass configurations: in an installed package beside its modules, in a checkout at its top."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


@paths_app.command(
    epilog=examples(
        "lct paths",
        'opencompass --datasets BENCHMARK_gen --models lct_model --config-dir "$(lct paths --opencompass)"',
    )
)
def paths(
    lm_eval: Annotated[
        bool, typer.Option("--lm-eval", help="Print only the folder of lm-eval's tasks, for $(...).")
    ] = False,
    opencompass: Annotated[
        bool, typer.Option("--opencompass", help="Print only OpenCompass' config folder, for $(...).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the folders with the task files of lm-eval, made at first use, and the configurations of OpenCompass.

    lm-eval finds its tasks by itself once the package is installed; --include_path "$(lct paths --lm-eval)" is for
    installations where the start-up hook does not run. OpenCompass takes --config-dir "$(lct paths --opencompass)".
    """
    from long_context_tasks.hosts.lm_eval.task_files import task_folder

    give(lm_eval=task_folder(), opencompass=config_folder())
    if json_wanted():
        return
    both = lm_eval == opencompass
    if lm_eval or both:
        say(f"lm-eval:     {task_folder()}" if both else str(task_folder()))
    if opencompass or both:
        say(f"opencompass: {config_folder()}" if both else str(config_folder()))


@generate_app.command(epilog=examples("lct generate"))
def generate() -> None:
    """Write the files of a checkout that are made from the cards, and delete those that no card makes any more (for contributors)."""
    from long_context_tasks.hosts.generated import CHECKOUT, write_generated_files

    if not (CHECKOUT / "docs").is_dir():
        raise InputError(
            f"{CHECKOUT}: no checkout of this package; lm-eval's task files need no command, they are made at first use"
        )
    for path in write_generated_files():
        say(str(path.relative_to(CHECKOUT)))
