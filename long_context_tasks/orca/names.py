"""Names that need no torch."""

from typing import Literal, get_args

HeadName = Literal["beta", "multinomial", "bernoulli"]
HEAD_NAMES: tuple[HeadName, ...] = get_args(HeadName)
