"""References for what a DAG file reads from Airflow's connections and variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jinja2 import Environment, TemplateSyntaxError
from jinja2.lexer import TOKEN_COMMENT, TOKEN_DATA, TOKEN_FLOAT, TOKEN_INTEGER, TOKEN_LINECOMMENT, TOKEN_STRING

from airflow_config_providers.core.templates import is_template
from airflow_config_providers.core.variable import ConfigVariable, is_nested, no_default, variables
from airflow_config_providers.exceptions import ConfigException

CONNECTION: Final = "connection"
"""The name of the provider for connections, as the guide defines it."""

VARIABLE: Final = "variable"
"""The name of the provider for variables, as the guide defines it."""

_NAME: Final = r"'[\w.@/ -]+'|\"[\w.@/ -]+\""
_ID: Final = rf"(?:\.(?P<id>\w+)|\.get\(\s*(?P<got>{_NAME})\s*\)|\[\s*(?P<item>{_NAME})\s*\])"
_STEPS: Final = r"(?:\.\w+|\[\s*'[\w-]+'\s*\]|\[\s*\"[\w-]+\"\s*\])+"
_CONNECTION: Final = re.compile(
    rf"\{{\{{-?\s*conn{_ID}\.(?:(?P<field>login|password|host|port|schema|conn_type)|(?P<uri>get_uri\(\))"
    rf"|extra_dejson(?P<extra>{_STEPS}))\s*-?\}}\}}"
)
_VALUE: Final = re.compile(rf"\{{\{{-?\s*var\.value{_ID}\s*-?\}}\}}")
_JSON: Final = re.compile(rf"\{{\{{-?\s*var\.json{_ID}(?P<keys>{_STEPS})\s*-?\}}\}}")
_FROM_JSON: Final = re.compile(r"\bextra_dejson\b|\bvar\.json\b")
_OPENING: Final = re.compile(r"\{[{%]")
_CLOSING: Final = re.compile(r"[}%]\}")
_SOURCES: Final = re.compile(r"\b(?:conn|var)\b")


@dataclass(frozen=True, slots=True)
class Providers:
    """The names of the providers in the references."""

    connection: str = CONNECTION
    variable: str = VARIABLE

    def of_connection(self, conn_id: str, field: str) -> str:
        """Return the reference to a field of a connection; empty if none can express its id."""
        return _written(self.connection, conn_id, field)

    def of_variable(self, name: str, keys: str = "") -> str:
        """
        Return the reference to a variable; empty if none can express its name.

        :param keys: the way to a part of its JSON, with dots; empty for the whole
        """
        return _written(self.variable, name, keys) if keys else _written(self.variable, "", name)


def _written(provider: str, path: str, key: str) -> str:
    """Return a reference; empty if none has exactly these parts, or if it could be read as another."""
    try:
        text = str(variable := ConfigVariable(provider, path, key))
    except ConfigException:
        return ""
    return "" if is_template(text) or is_nested(text) or no_default(variable) else text


def reads_secrets(text: str) -> bool:
    """
    Return whether a Jinja template in ``text`` reads a connection or a variable, in time linear in its length.

    What looks like one counts too: a comment, or something that Jinja refuses.
    """
    return _seems_to_read_secrets(text) or any(map(_SOURCES.search, _code(text)))


def _code(text: str) -> list[str]:
    """Return the tokens of expressions and statements; none if ``text`` is not a template."""
    try:
        return [piece for _, kind, piece in _LEXER.lex(text) if kind != TOKEN_DATA]
    except TemplateSyntaxError:
        return []


def _seems_to_read_secrets(text: str) -> bool:
    """Return whether a source is named between what opens an expression, and the first that could close it."""
    place = 0
    while opening := _OPENING.search(text, place):
        closing = _CLOSING.search(text, opening.end())
        end = closing.start() if closing else len(text)
        if _SOURCES.search(text, opening.end(), end):
            return True
        place = max(opening.start() + 1, end - 1)  # those in between end there too
    return False


def reads_json(text: str) -> bool:
    """Return whether a template in ``text`` reads a part of JSON, which need not be a string."""
    return _FROM_JSON.search(text) is not None


def has_hidden_text(text: str) -> bool:
    """
    Return whether a template in ``text`` has a string, a long number or a comment of its own, such as a default.

    The name of a connection or a variable is not such a string.
    """
    done = with_references(text, Providers())
    if done is None:
        return True
    tokens = _LEXER.lex(done)
    return any(kind in _WRITTEN or (kind in _NUMBERS and len(piece) >= _LONG) for _, kind, piece in tokens)


def with_references(text: str, providers: Providers) -> str | None:
    """
    Return ``text`` with references in place of the templates that read connections and variables.

    Other templates stay. None if a template does more than a reference can, such as a filter or a default, or if the
    result would not have the same meaning, as inside of another reference.
    """
    try:
        parts = list(_parts(text))
    except TemplateSyntaxError:
        return None
    references = {part: reference for part in parts if (reference := _reference(part, providers))}
    done = "".join(references.get(part, part) for part in parts)
    is_known = set(references.values()) <= {str(variable) for variable in variables(done)}
    return done if is_known and not (reads_secrets(done) or _changes_text(parts)) else None


_WRITTEN: Final = frozenset({TOKEN_COMMENT, TOKEN_LINECOMMENT, TOKEN_STRING})
_NUMBERS: Final = frozenset({TOKEN_FLOAT, TOKEN_INTEGER})
_LONG: Final = 4
"""The number of digits from which on a number could be a secret."""

_LEXER: Final = Environment(keep_trailing_newline=True)  # noqa: S701 - it renders nothing

_STATEMENT: Final = re.compile(r"\{%[-+]?\s*(?:if|elif|else|endif|for|endfor)\b")
"""A statement that only decides whether, and how often, the text in it is there. Others can change or compare it."""


def _parts(text: str) -> Iterator[str]:
    """
    Yield texts, expressions and statements, without the blanks that the template strips.

    :raises TemplateSyntaxError: ``text`` is not a template
    """
    inside = ""
    for _, kind, piece in _LEXER.lex(text):
        inside += piece
        if kind == TOKEN_DATA:
            yield inside
        elif kind.endswith("_end"):
            yield inside.rstrip()
        else:
            continue
        inside = ""


def _changes_text(parts: list[str]) -> bool:
    """Return whether a statement can change the text in it, such as ``{% filter %}``, or hides it, as ``{% raw %}``."""
    return any(part.startswith("{%") and not _STATEMENT.match(part) for part in parts)


def _reference(part: str, providers: Providers) -> str:
    """Return the reference that says the same as an expression; empty if none does."""
    if found := _CONNECTION.fullmatch(part):
        return _of_connection(found, providers)
    if found := _VALUE.fullmatch(part):
        return providers.of_variable(_id(found))
    found = _JSON.fullmatch(part)
    return providers.of_variable(_id(found), _keys(found["keys"])) if found else ""


def _of_connection(found: re.Match[str], providers: Providers) -> str:
    field = found["field"] or ("uri" if found["uri"] else f"extra.{_keys(found['extra'])}")
    return providers.of_connection(_id(found), field)


def _id(found: re.Match[str]) -> str:
    """Return the id that an expression has after a dot, or in quotes."""
    return found["id"] or (found["got"] or found["item"])[1:-1]


def _keys(steps: str) -> str:
    """Return the way to a part of JSON with dots, also if brackets and quotes are around its keys."""
    return ".".join(re.findall(r"[\w-]+", steps))
