"""`lct generate`: make the files of a checkout that come from the cards."""

import typer

from long_context_tasks.cli.options import examples
from long_context_tasks.cli.output import say
from long_context_tasks.schema import InputError

generate_app = typer.Typer(add_completion=False)


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
