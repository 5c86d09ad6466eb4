"""`lct orca` as a user types it, and the files it reads and writes."""

from typer.testing import CliRunner, Result

from long_context_tasks.cli import app


def orca(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["orca", *map(str, arguments)])


def good(*arguments: object) -> Result:
    result = orca(*arguments)
    assert result.exit_code == 0, result.output
    return result


def bad(*arguments: object) -> str:
    """Bad input: exit code 2 and one line."""
    result = orca(*arguments)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.output.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in result.output
    return lines[0]
