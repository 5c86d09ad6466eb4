"""Numbers in variables of the environment, for the config files of OpenCompass. No host is imported here.

Other options of a run are checked where they are read (:mod:`long_context_tasks.schema.options`); these a config file needs itself.
"""

import math
import os

from long_context_tasks.schema import InputError


def whole(name: str, default: int, least: int = 1) -> int:
    """A whole number.

    Args:
        name: of the variable.
        default: where it is not set, or empty.
        least: that it may be.

    Raises:
        InputError: something else; the variable is named.
    """
    given = os.environ.get(name) or default
    try:
        value = int(given)
    except ValueError:
        value = least - 1
    if value < least:
        raise InputError(
            f"{name}={given}: give a whole number of {least} or more, or leave it out ({default:d})"
        )
    return value


def number(name: str, default: float, most: float = math.inf) -> float:
    """A number of 0 or more.

    Args:
        name: of the variable.
        default: where it is not set, or empty.
        most: that it may be.

    Raises:
        InputError: something else; the variable is named.
    """
    given = os.environ.get(name) or default
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0 <= value <= most or math.isinf(value):
        to = "or more" if math.isinf(most) else f"to {most:g}"
        raise InputError(f"{name}={given}: give a number of 0 {to}, or leave it out ({default:g})")
    return value
