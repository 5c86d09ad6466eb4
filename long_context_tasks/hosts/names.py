"""Look up names in a host's classes, to find out before a run what an unknown version lacks."""

import dis
import inspect


def attributes_of(owner: object) -> set[str]:
    """Return the attributes of a module or class, including those that the class's methods set on an instance."""
    methods = (
        (each for kind in inspect.getmro(owner) for each in vars(kind).values())
        if isinstance(owner, type)
        else ()
    )
    steps = (step for each in methods if inspect.isfunction(each) for step in dis.get_instructions(each))
    return {*dir(owner), *(step.argval for step in steps if step.opname == "STORE_ATTR")}
