"""`lct generate`: the files that are made from the benchmarks' cards."""

from typing import Annotated

import typer

from long_context_tasks.cli.options import complete_benchmark, examples

app = typer.Typer(add_completion=False)


@app.command(epilog=examples("lct generate", "lct generate BENCHMARK"))
def generate(
    benchmark: Annotated[
        str,
        typer.Argument(
            help="Only lm-eval's YAML of this benchmark, which may belong to another package.",
            show_default=False,
            autocompletion=complete_benchmark,
        ),
    ] = "",
) -> None:
    """Write the files made from the benchmarks' cards, and delete those that no card makes any more (for contributors)."""
    from long_context_tasks.hosts.generated import CHECKOUT, write_generated_files

    for path in write_generated_files(benchmark):
        typer.echo(str(path.relative_to(CHECKOUT) if path.is_relative_to(CHECKOUT) else path))
