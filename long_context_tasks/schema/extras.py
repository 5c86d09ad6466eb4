"""Optional libraries, and the extra of this package that installs each."""

import importlib.util
import re
from collections import Counter

from long_context_tasks.schema.files import InputError

_REQUIREMENT = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)['\"]")
PACKAGE = "long_context_tasks"


def require(extra: str, what: str, *modules: str) -> None:
    """Raise an error with the command that installs the extra if modules, named without dots, are missing; import none."""
    if missing := [module for module in modules if importlib.util.find_spec(module) is None]:
        raise lacking(extra, what, *missing)


def lacking(extra: str, what: str, *missing: str) -> InputError:
    return InputError(f"{what} needs {', '.join(missing)}: pip install '{PACKAGE}[{extra}]'")


def remedy_for(module: str) -> str:
    """Return the command that installs a library, by the smallest extra that names it if there is one."""
    extras = _extras()
    # The smallest extra, because `all` would install every host.
    sizes = Counter(extra for named in extras.values() for extra in named)
    name = _normal(module.partition(".")[0])
    if name not in extras:
        return f"pip install {name}"
    return f"pip install '{PACKAGE}[{min(extras[name], key=sizes.__getitem__)}]'"


def _extras() -> dict[str, list[str]]:
    """Return normalized names of libraries with the extras that name them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(PACKAGE) or []
    except PackageNotFoundError:  # run from a source tree that is not installed
        lines = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        if (match := _REQUIREMENT.match(line)) and _normal(match[1]) != _normal(PACKAGE):
            extras.setdefault(_normal(match[1]), []).append(match[2])
    return extras


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
