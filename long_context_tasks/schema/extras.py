"""Optional libraries, and our package extras that install them."""

import importlib.util
import re
from collections import Counter

from long_context_tasks.schema.files import InputError

_REQUIREMENT = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)['\"]")
PACKAGE = "long_context_tasks"


def require(extra: str, what: str, *modules: str) -> None:
    """Raise an error with the install command for the extra if top-level modules are missing; import none."""
    if missing := [module for module in modules if importlib.util.find_spec(module) is None]:
        raise lacking(extra, what, *missing)


def lacking(extra: str, what: str, *missing: str) -> InputError:
    return InputError(f"{what} needs {', '.join(missing)}: pip install '{PACKAGE}[{extra}]'")


def remedy_for(module: str) -> str:
    """Return the command that installs a library, using the smallest extra that includes it."""
    extras = _extras()
    # The smallest extra, because `all` would install every host.
    sizes = Counter(extra for named in extras.values() for extra in named)
    name = _normal(module.partition(".")[0])
    if name not in extras:
        return f"pip install {name}"
    return f"pip install '{PACKAGE}[{min(extras[name], key=sizes.__getitem__)}]'"


def _extras() -> dict[str, list[str]]:
    """Map normalized library names to the extras that include them."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(PACKAGE) or []
    except PackageNotFoundError:  # run from an uninstalled source tree
        lines = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        if (match := _REQUIREMENT.match(line)) and _normal(match[1]) != _normal(PACKAGE):
            extras.setdefault(_normal(match[1]), []).append(match[2])
    return extras


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
