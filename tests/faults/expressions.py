"""Every regular expression of the package, how it is used, and texts that make a bad one slow.

A text is made from the expression itself: for each repetition in it, what can precede it, what it repeats, and something that fits
nowhere. That finds expressions that start again at every place and read to the end each time (``\\[[^]]*\\]`` over ``[[[[``), two
adjacent repetitions that share characters (``\\s*\\s*$``), and nested ones.
"""

import ast
import importlib
import pkgutil
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hang_guard import Hangs, hang_guard

import long_context_tasks

if sys.version_info >= (3, 11):
    from re import _constants as codes
    from re import _parser as parser
else:  # pragma: no cover
    import sre_constants as codes
    import sre_parse as parser

METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
PACKAGE = Path(long_context_tasks.__file__).parent
# Modules that need a host or torch hold no expressions over files that others lack.
_SKIPPED = ("startup", "hosts.opencompass.inferencer")


@dataclass(frozen=True)
class Expression:
    """An expression with its place (``corpora.headings._PAGE``) and the methods that are called on it."""

    place: str
    pattern: "re.Pattern[str] | re.Pattern[bytes]"
    methods: tuple[str, ...]


def expressions() -> list[Expression]:
    """Return the expressions of modules, and those that functions give to ``re`` in one piece."""
    trees = {path: ast.parse(path.read_bytes()) for path in sorted(PACKAGE.rglob("*.py"))}
    used: dict[str, set[str]] = {}  # by module and name where it is private, else by name
    found: dict[tuple[str, int], Expression] = {}
    for path, tree in trees.items():
        inside = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute)):
                continue
            owner = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if node.attr in METHODS and owner != "re":
                used.setdefault(f"{inside}.{owner}" if owner.startswith("_") else owner, set()).add(node.attr)
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=method),
                    args=[ast.Constant(value=str() | bytes() as text), *_],
                ) if method in METHODS:
                    place = f"{inside}, line {node.lineno}"
                    found[text, node.lineno] = Expression(place, re.compile(text), (method,))
    for module in pkgutil.walk_packages([str(PACKAGE)], "long_context_tasks."):
        if any(skipped in module.name for skipped in _SKIPPED):
            continue
        try:
            held = vars(importlib.import_module(module.name))
        except ImportError:  # a host that is not installed
            continue
        for name, value in held.items():
            patterns = value if isinstance(value, list | tuple) else [value]
            if isinstance(value, dict):
                patterns = list(value.values())
            for one in patterns:
                for pattern in one if isinstance(one, list | tuple) else [one]:
                    if isinstance(pattern, re.Pattern):
                        place = f"{module.name.removeprefix('long_context_tasks.')}.{name}"
                        methods = tuple(sorted(used.get(place) or used.get(name) or {"match"}))
                        found.setdefault(
                            (pattern.pattern, pattern.flags), Expression(place, pattern, methods)
                        )
    return list(found.values())


def _sample(tokens: Any) -> str:
    """Return a short text that the tokens match, or nearly."""
    return "".join(map(_of_token, tokens))


def _of_token(token: Any) -> str:
    code, value = token
    if code in (codes.LITERAL, codes.NOT_LITERAL):
        return chr(value) if code is codes.LITERAL else ("a" if value != ord("a") else "b")
    if code is codes.ANY:
        return "a"
    if code is codes.IN:
        return _of_set(value)
    if code is codes.BRANCH:
        return _sample(value[1][0])
    if code is codes.SUBPATTERN:
        return _sample(value[-1])
    if code in _REPEATS:
        return _sample(value[2]) * max(1, min(value[0], 300))
    if code is getattr(codes, "ATOMIC_GROUP", None):
        return _sample(value)
    return ""


_REPEATS = tuple(
    getattr(codes, name) for name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") if hasattr(codes, name)
)
_CATEGORIES = {
    codes.CATEGORY_DIGIT: "1",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_NOT_WORD: ".",
}


def _of_set(items: Any) -> str:
    if items[0][0] is codes.NEGATE:
        for letter in "a 1.x\n":
            if not any(_fits(item, letter) for item in items[1:]):
                return letter
        return "é"
    code, value = items[0]
    if code is codes.LITERAL:
        return chr(value)
    return chr(value[0]) if code is codes.RANGE else _CATEGORIES.get(value, "a")


def _fits(item: Any, letter: str) -> bool:
    code, value = item
    if code is codes.LITERAL:
        return chr(value) == letter
    if code is codes.RANGE:
        return value[0] <= ord(letter) <= value[1]
    kinds = {
        codes.CATEGORY_SPACE: str.isspace,
        codes.CATEGORY_DIGIT: str.isdigit,
        codes.CATEGORY_WORD: lambda one: one.isalnum() or one == "_",
    }
    return code is codes.CATEGORY and value in kinds and kinds[value](letter)


def _repeats(tokens: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield, for each repetition without a small bound, what stands before it and what it repeats."""
    for token in tokens:
        code, value = token
        if code in _REPEATS:
            inner = _sample(value[2])
            if value[1] > 100:
                yield before, inner
            yield from _repeats(value[2], before)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        elif code is codes.SUBPATTERN:
            yield from _repeats(value[-1], before)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _repeats(value[1], before)
        elif code is getattr(codes, "ATOMIC_GROUP", None):
            yield from _repeats(value, before)
        before += _of_token(token)


_BAD = ("", "\x01", "\n\x01", "a")
_UNITS = (*' \t\n1aA.-_*[(<"{|\\', "a ", "A. ", "1.", "\n\n ")


@dataclass(frozen=True)
class Attack:
    """A text of any length: something once, something over and over, something at the end."""

    head: str
    unit: str
    tail: str

    def text(self, n: int) -> str:
        """Return a text of about ``n`` characters."""
        return self.head + self.unit * (n // len(self.unit)) + self.tail


def attacks(pattern: "re.Pattern[Any]") -> list[Attack]:
    """Return the attacks on an expression, each once."""
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(text, pattern.flags & (re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE))
    pairs: dict[tuple[str, str], None] = {}
    for before, unit in [("", _sample(tree)), *_repeats(tree, "")]:
        pairs |= dict.fromkeys(
            [(before, unit), ("", before), ("", unit), ("", before + unit), (before, before + unit)]
        )
        pairs |= dict.fromkeys([(before, unit + " "), (before, " "), (before, "\n"), ("", unit + "\n")])
    pairs |= dict.fromkeys(("", unit) for unit in _UNITS)
    return [Attack(head, unit, tail) for head, unit in pairs if unit for tail in _BAD]


LENGTH, MOST = 1 << 15, 5 / 16
"""Characters of the texts, and seconds of processor time: what grows with the square and takes 5 s of 128k characters is at the bound."""
SHORT, QUICK = LENGTH >> 2, 0.012
"""Characters of a first text, and its bound: such work takes 20 ms of this one."""


def slow_attack(expression: Expression) -> Attack | None:
    """Return an attack on which the expression is stopped at the bound; None without one.

    Only attacks that are stopped on a short text are tried at the whole length; and again under a bound of this moment, since beside
    other work the same steps take more processor time.
    """
    for attack in attacks(expression.pattern):
        if _hangs(expression, attack.text(SHORT), QUICK):
            text = attack.text(LENGTH)
            if _hangs(expression, text, MOST) and _hangs(expression, text, _bound_of_now()):
                return attack
    return None


def _bound_of_now() -> float:
    """Return ``MOST``, or half the seconds of processor time that a search that grows with the square takes now, if that is more."""
    begin = time.process_time()
    re.search(r"\[[^\]]*\]", "[" * LENGTH)
    return max(MOST, (time.process_time() - begin) / 2)


def _hangs(expression: Expression, text: Any, most: float) -> bool:
    if isinstance(expression.pattern.pattern, bytes):
        text = text.encode("utf-8")
    try:
        with hang_guard(most):
            for method in expression.methods:
                _call(getattr(expression.pattern, method), method, text)
    except Hangs:
        return True
    return False


def _call(call: Any, method: str, text: Any) -> None:
    if method in ("sub", "subn"):
        call(text[:0], text)
    elif method == "finditer":
        sum(1 for _ in call(text))
    else:
        call(text)
