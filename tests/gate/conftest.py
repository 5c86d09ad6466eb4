import pytest
from known_server import right_answers


@pytest.fixture(scope="session")
def right() -> dict[str, str]:
    """Cases of 1k tokens, each prompt with its right answer."""
    return right_answers()
