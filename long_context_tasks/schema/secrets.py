"""Detect secrets by field names and text patterns, inside containers and model arguments.

Judge files with a secret (:func:`holds_secret`) are rejected; results, bundles, commands and pages show
settings through :func:`without_secrets`. A server may repeat a key in its answer, where no name marks it:
:func:`without_known` hides the values that this process knows.
"""

import netrc
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

HIDDEN = "(not shown)"
"""Shown instead of a secret."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.ASCII)
# Secret anywhere in a name, except in ``api_key_env``, which names a variable.
_ANYWHERE = frozenset(
    (
        *("auth", "authentication", "authorization", "bearer", "cookie", "credential", "credentials"),
        *("passphrase", "passwd", "password", "passwords", "pwd", "secret", "secrets", "signature"),
    )
)
_LAST = frozenset(("header", "headers", "key", "keys"))
_JOINED = ("apikey", "apikeys", "accesskey", "secretkey", "accesstoken", "authtoken")
_NAMES_A_VARIABLE = frozenset(("env", "variable"))
# A tokenizer's tokens are text; ``token`` after any other word, or on its own, is a secret.
_TEXT_TOKENS = frozenset(
    (
        *("add", "bos", "cls", "decoder", "end", "eos", "first", "image", "last", "mask", "next", "pad"),
        *("per", "prefix", "sep", "special", "start", "stop", "think", "unk"),
    )
)
_KEYS_TO_DOORS = frozenset(("access", "api", "auth", "bearer", "hf", "refresh", "secret", "session"))
_KEYS = (
    # The header's auth scheme before a key.
    re.compile(r"\b(?i:bearer|basic)\s+(?=\S*[\d=])[^\s,;\"']{6,}", re.ASCII),
    # OpenAI, Stripe, GitLab, Slack. Long, or with a digit: "sk-learn" is not a key.
    re.compile(r"\b(?:sk|pk|glpat|xox[abprs])[-_](?=[\w-]{16}|[\w-]*\d)[\w-]{6,}", re.ASCII),
    # Hugging Face and GitHub; "hf_transfer" is not a key.
    re.compile(r"\b(?:hf|gh[oprsu]|github_pat)_\w{16,}", re.ASCII),
    # Amazon and Google.
    re.compile(r"\b(?:AKIA[0-9A-Z]{12,}|AIza[\w-]{16,})", re.ASCII),
    # JSON web tokens.
    re.compile(r"(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]+)?", re.ASCII),
    re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^\"',;]*", re.ASCII),
)
"""Key patterns; the header comes first because another kind of key may follow it."""
# ``name=value``, ``"name": "value"`` and ``--name value`` inside a text, up to the value. An option is
# searched from the start of its run of letters; otherwise each ``--`` in a long run would be scanned to its
# end.
_NAME = re.compile(
    r"(?<![\w.-])(?!--[\w-]+\s)(?P<name>[\w.-]+)\\?[\"']?\s{0,9}[=:]\s{0,9}(?!//)"
    r"|(?<![\w-])\w*(?:-\w+)*(?P<option>--[\w-]+)\s+(?!-)",
    re.ASCII,
)
_VALUE = re.compile(
    r"\(not shown\)|\\?(?P<quote>[\"']).*?(?P=quote)|(?:(?i:bearer|basic|token)\s+)?[^\s,;&\"'}]+", re.ASCII
)
_PLAIN = frozenset(("true", "false", "none", "null"))
_QUERY = re.compile(r"(://[^\s,;\"'?]+)(?:\?[^\s,;\"'}]+)?", re.ASCII)
_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
# A value that is hidden wherever it stands: an ordinary word or number such as EMPTY must not be.
_TELLING = re.compile(r"(?=\D*\d)(?=[^a-zA-Z]*[a-zA-Z])\S{8,}|\S{16,}", re.ASCII)
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.ASCII | re.IGNORECASE)
_remembered: set[str] = set()  # of hosts' arguments, in addition to the environment


def is_secret_name(name: object) -> bool:
    """Return whether a field, header, environment variable or argument with this name contains a secret.

    >>> [is_secret_name(name) for name in ("x-api-key", "openaiKey", "HF_TOKEN", "monkey", "max_tokens", "api_key_env")]
    [True, True, True, False, False, False]
    """
    # Camel case, snake case and header names split into the same parts.
    parts = [part.lower() for part in _PARTS.findall(str(name))]
    if not parts or parts[-1] in _NAMES_A_VARIABLE:
        return False
    last, before = parts[-1], parts[-2] if len(parts) > 1 else ""
    if last == "token":
        return before not in _TEXT_TOKENS
    if last == "tokens":
        return before in _KEYS_TO_DOORS
    return last in _LAST or any(part in _ANYWHERE or part.endswith(_JOINED) for part in parts)


def holds_secret(value: Any) -> bool:
    """Return whether a value contains, at any depth, a secret field name or text that looks like a key."""
    if isinstance(value, Mapping):
        return any(
            is_secret_name(key) or holds_secret(key) or holds_secret(each) for key, each in value.items()
        )
    if isinstance(value, list | tuple):
        return any(map(holds_secret, value))
    return isinstance(value, str) and any(key.search(value) for key in _KEYS)


def without_secrets(value: Any) -> Any:
    """Replace a value's secrets with :data:`HIDDEN`, and strip logins and queries from URLs.

    Headers are hidden entirely.

    >>> without_secrets({"api_key": "sk-1", "tokenizer": "gpt2", "url": "http://me:pw@host/v1?key=1", "header": [{"X-Owl": "x"}]})
    {'api_key': '(not shown)', 'tokenizer': 'gpt2', 'url': 'http://host/v1', 'header': '(not shown)'}
    >>> without_secrets("pretrained=m,api_key=sk-1,max_tokens=5")
    'pretrained=m,api_key=(not shown),max_tokens=5'
    """
    if isinstance(value, Mapping):
        return {
            _text_without(key) if isinstance(key, str) else key: HIDDEN
            if _is_given(each) and is_secret_name(key)
            else without_secrets(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        # On a command line, an option's name and its value are separate words.
        return [
            HIDDEN if _is_option(before) and isinstance(each, str) else without_secrets(each)
            for before, each in zip((None, *value), value, strict=False)
        ]
    return _text_without(value) if isinstance(value, str) else value


def _is_given(value: Any) -> bool:
    return value is not None and not isinstance(value, bool)


def _is_option(word: object) -> bool:
    return isinstance(word, str) and word.startswith("--") and "=" not in word and is_secret_name(word)


def _text_without(text: str) -> str:
    # Not a template, for which Python imports a module: programs still log while they end.
    text = _LOGIN.sub("", _QUERY.sub(lambda address: address[1], text))
    parts, end = [], 0
    for match in _NAME.finditer(text):
        if match.start() < end or not is_secret_name(match["option"] or match["name"]):
            continue
        value = _VALUE.match(text, match.end())
        # `token=true` is a setting, not a secret.
        if value is not None and value[0].lower() not in _PLAIN:
            parts += [text[end : match.end()], HIDDEN]
            end = value.end()
    text = "".join((*parts, text[end:]))
    for key in _KEYS:
        text = key.sub(HIDDEN, text)
    return text


def remember_secrets(value: Any) -> None:
    """Hide the secrets in a value from now on, such as the arguments of a host; see :func:`without_known`."""
    _remembered.update(_secrets_in(value))


def without_known(text: str) -> str:
    """Replace each secret of the environment and ``.netrc``, and each one remembered, with :data:`HIDDEN`.

    Values that could be an ordinary word or number stay: those of under 16 characters without a letter and a
    digit, and those of under 8.
    """
    for secret in known_secrets():
        text = text.replace(secret, HIDDEN)
    return text


def excerpt(text: str, characters: int = 200) -> str:
    """Return the start of a text in one line; its secrets are hidden first, because a part of one is not recognised."""
    text = text[: 100 * characters]  # a body may have many megabytes
    return without_known(without_secrets(" ".join(text.split())))[:characters]


def known_secrets() -> list[str]:
    """Return what :func:`without_known` replaces, for callers with many texts."""
    return _known(frozenset(os.environ.items()), frozenset(_remembered))


@lru_cache(maxsize=4)
def _known(environment: frozenset[tuple[str, str]], remembered: frozenset[str]) -> list[str]:
    # PWD is a folder, and SSH_AUTH_SOCK, GOOGLE_APPLICATION_CREDENTIALS and the like name files.
    telling = {
        name: value
        for name, value in environment
        # Not Path.exists, which raises for a value longer than a path may be.
        if name not in ("PWD", "OLDPWD") and not os.path.exists(value)  # noqa: PTH110
    }
    known = {*_secrets_in(telling), *_netrc_secrets(), *remembered}
    # The longest first, because a secret may begin with another one.
    return sorted(filter(_TELLING.fullmatch, known), key=len, reverse=True)


def _secrets_in(value: Any) -> Iterator[str]:
    """Yield what :func:`without_secrets` hides in a value, without the addresses' queries that name no secret."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            hidden = _is_given(each) and is_secret_name(key)
            yield from _texts_in(each) if hidden else _secrets_in(each)
    elif isinstance(value, list | tuple):
        for before, each in zip((None, *value), value, strict=False):
            yield from _texts_in(each) if _is_option(before) else _secrets_in(each)
    elif isinstance(value, str):
        for match in _NAME.finditer(value):
            given = _VALUE.match(value, match.end())
            if given is not None and is_secret_name(match["option"] or match["name"]):
                yield from _texts_in(given[0].strip("\\\"'"))
        for address in value.split() if "@" in value else ():
            yield from login_forms(address)
        for key in _KEYS:
            yield from (_SCHEME.sub("", match[0]) for match in key.finditer(value))


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield _SCHEME.sub("", value)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts_in(each)
    else:  # not every header is secret
        yield from _secrets_in(value)


def login_forms(address: str) -> list[str]:
    """Return the forms in which a text may quote an address's password, longest first; empty without one."""
    try:
        at = urlsplit(address)
    except ValueError:
        return []
    return [*_sent_forms(at.username, at.password), at.password] if at.password else []


def _sent_forms(user: str | None, password: str) -> list[str]:
    user, password = unquote(user or ""), unquote(password)
    return [b64encode(f"{user}:{password}".encode()).decode("ascii"), password]


def _netrc_secrets() -> Iterator[str]:
    """Yield the logins of ``.netrc``, which the clients of hosts send to the servers that it names."""
    try:
        logins = netrc.netrc(os.environ.get("NETRC")).hosts.values()
    except (OSError, ValueError, netrc.NetrcParseError):
        return
    for user, _, password in logins:
        yield from _sent_forms(user, password or "")
