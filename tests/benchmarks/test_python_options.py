"""Options of :func:`long_context_tasks.load_task`."""

import pytest

from long_context_tasks import load_task
from long_context_tasks.schema import InputError


def test_options_are_taken_with_and_without_their_prefix() -> None:
    name = "ada_leval_bestanswer_2k_synthetic"
    assert len(load_task(name, n=2).cases) == len(load_task(name, lct_n=2).cases) == 2
    with pytest.raises(InputError, match="unknown option lenght; did you mean length"):
        load_task(name, lct_lenght="2k")
