"""References for what a DAG file reads from Airflow's connections and variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

CONNECTION: Final = "connection"
"""The name of the provider for connections, as the guide defines it."""

VARIABLE: Final = "variable"
"""The name of the provider for variables, as the guide defines it."""

_ID: Final = r"(?:\.(?P<id>\w+)|\.get\(\s*(?P<quote>['\"])(?P<got>[\w.@/ -]+)(?P=quote)\s*\))"
_CONNECTION: Final = re.compile(
    rf"\{{\{{-?\s*conn{_ID}\.(?:(?P<field>login|password|host|port|schema|conn_type)|(?P<uri>get_uri\(\))"
    r"|extra_dejson\.(?P<extra>\w+(?:\.\w+)*))\s*-?\}\}"
)
_VALUE: Final = re.compile(rf"\{{\{{-?\s*var\.value{_ID}\s*-?\}}\}}")
_JSON: Final = re.compile(r"\{\{-?\s*var\.json\.(?P<id>\w+)\.(?P<keys>\w+(?:\.\w+)*)\s*-?\}\}")
_READS: Final = re.compile(r"\{[{%](?:(?![}%]\}).)*\b(?:conn|var)\b", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Providers:
    """The names of the providers in the references."""

    connection: str = CONNECTION
    variable: str = VARIABLE

    def of_connection(self, conn_id: str, field: str) -> str:
        """Return the reference to a field of a connection."""
        return f"${{{self.connection}:{conn_id}:{field}}}"

    def of_variable(self, name: str, keys: str = "") -> str:
        """
        Return the reference to a variable.

        :param keys: the way to a part of its JSON, with dots; empty for the whole
        """
        return f"${{{self.variable}:{name}:{keys}}}" if keys else f"${{{self.variable}:{name}}}"


def reads_secrets(text: str) -> bool:
    """Return whether a Jinja template in ``text`` reads a connection or a variable."""
    return _READS.search(text) is not None


def with_references(text: str, providers: Providers) -> str | None:
    """
    Return ``text`` with references in place of the templates that read connections and variables.

    Other templates stay. None if a template does more than a reference can, such as a filter or a default.
    """
    done = _CONNECTION.sub(lambda found: _of_connection(found, providers), text)
    done = _VALUE.sub(lambda found: providers.of_variable(found["id"] or found["got"]), done)
    done = _JSON.sub(lambda found: providers.of_variable(found["id"], found["keys"]), done)
    return None if reads_secrets(done) else done


def _of_connection(found: re.Match[str], providers: Providers) -> str:
    field = found["field"] or ("uri" if found["uri"] else f"extra.{found['extra']}")
    return providers.of_connection(found["id"] or found["got"], field)
