"""Sentence plans that cannot be compiled."""

from pathlib import Path

import pytest

from long_context_tasks.synthetic.wording import plans


def test_lists_that_refer_to_each_other_in_a_circle_are_named(tmp_path: Path) -> None:
    path = tmp_path / "plans.txt"
    path.write_text("== own.a\nso <own.b>\n== own.b\nand <own.a>\n")
    with pytest.raises(ValueError, match="in a circle"):
        plans(str(path))
