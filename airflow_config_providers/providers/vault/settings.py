"""The settings of one Vault, and the options they are read from."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers.core.document import loaded
from airflow_config_providers.core.polled_provider import DEFAULT_POLL_INTERVAL
from airflow_config_providers.core.sensitive import shown_path
from airflow_config_providers.core.text import nearest, printable, whole_number
from airflow_config_providers.providers.vault.logins.login import Credential, Login

TRUE: Final = frozenset({"1", "on", "t", "true", "y", "yes"})
FALSE: Final = frozenset({"0", "f", "false", "n", "no", "off"})

_ROOT: Final = "root"
"""Vault's word for the namespace without a name, so no namespace can have this name."""


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """
    The settings of one Vault; equal settings share one login in a process.

    :param url: scheme, host, and port and path if it has them
    :param login: how to sign in
    :param namespace: namespace of the secrets, in Vault Enterprise and OpenBao; None for none
    :param auth_namespace: namespace to sign in to; None for that of the secrets, and ``root`` for none
    :param mount_point: the mount below which paths are looked for; None if a path begins with its mount
    :param kv_version: 1 or 2 if it is known beforehand; None to find out, once for each mount
    :param timeout: seconds to connect, and seconds for a whole answer
    :param verify: True, False, or the path of a CA bundle
    :param cert: paths of a client certificate and its key
    :param proxies: scheme -> URL
    :param trust_env: whether proxies and .netrc are taken from the process's environment
    :param cache_ttl: milliseconds before a path is read again
    :param gives_back_after_kill: whether a small process waits to give the login back if this one is killed
    :param poll_interval: milliseconds after which the values of a subscription are read again
    """

    url: str
    login: Login
    namespace: str | None = None
    mount_point: str | None = None
    kv_version: int | None = None
    timeout: float = 10.0
    verify: bool | str = True
    cert: tuple[str, str] | None = None
    proxies: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    trust_env: bool = False
    cache_ttl: int = 1000
    gives_back_after_kill: bool = True
    auth_namespace: str | None = None
    poll_interval: int = DEFAULT_POLL_INTERVAL

    @property
    def where(self) -> str:
        """The name of this Vault in errors and logs."""
        return f"Vault at {printable(self.url)}"

    @property
    def login_namespace(self) -> str | None:
        """The namespace of the login and its token; None for none."""
        if self.auth_namespace is None:
            return self.namespace
        return None if self.auth_namespace == _ROOT else self.auth_namespace


@dataclass(frozen=True, slots=True)
class Options:
    """
    Options of one Vault, with typed readers. A value that cannot be used becomes a problem, and is treated as missing.

    :param values: name -> value; None and blank strings are treated as missing
    :param problems: a sentence for each problem, without values
    :param is_part: whether a source of options could not be read, so that nothing is reported as missing
    """

    values: Mapping[str, Any] = field(repr=False)
    problems: list[str] = field(default_factory=list)
    is_part: bool = False

    def has(self, name: str) -> bool:
        """Return whether the option has a value."""
        value = self.values.get(name)
        return value is not None and not (isinstance(value, str) and not value.strip())

    def secret(self, name: str) -> str:
        """Return a string unchanged; empty for none. A whole number becomes a string of digits."""
        value = self.values.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if not self.has(name) or isinstance(value, str):
            return str(value or "")
        self.problems.append(f"{name} is not a string. Write it in quotes.")
        return ""

    def text(self, name: str) -> str:
        """Return a string without spaces around it; empty for none."""
        return self.secret(name).strip()

    def needed(self, name: str, *, by: str) -> str:
        """Return a required string."""
        if not self.has(name):
            self.miss(f"{by} needs {name}. Add it.")
        return self.text(name)

    def miss(self, problem: str) -> None:
        """Report that something is missing."""
        if not self.is_part:
            self.problems.append(problem)

    def credential(self, name: str) -> Credential:
        """Return the credential in the file that ``<name>_path`` names, or else in ``name``."""
        path = self.text(f"{name}_path")
        return Credential(path=path) if path else Credential(self.secret(name))

    def needed_credential(self, name: str, *, by: str) -> Credential:
        """Return a required credential."""
        if not self.has(name) and not self.has(f"{name}_path"):
            self.miss(f"{by} needs {name}_path or {name}. Add one.")
        return self.credential(name)

    def segments(self, name: str) -> str:
        """Return names between slashes, without the slashes around them; empty for none."""
        text = self.text(name).strip("/")
        if text and (not text.isprintable() or {"", ".", ".."} & set(text.split("/"))):
            self.problems.append(f"{name} contains a name that is empty, '.', '..' or not printable. Correct it.")
        return text

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(name)
        text = str(value).strip().lower()
        if self.has(name) and text not in TRUE | FALSE:
            self.problems.append(f"{name} is neither true nor false. Write one of them.")
        return text in TRUE if text in TRUE | FALSE else default

    def number(self, name: str, *, default: float, most: float, unit: str) -> float:
        """Return a number above zero."""
        if not self.has(name):
            return default
        try:
            value = float(str(self.values[name]))
        except ValueError:
            value = math.nan
        if 0 < value <= most:
            return value
        self.problems.append(f"{name} is not a number of {unit} above 0 and at most {most:g}. Correct it.")
        return default

    def whole(self, name: str, *, default: int | None, least: int, most: int) -> int | None:
        """Return a whole number."""
        if not self.has(name):
            return default
        number = whole_number(self.values[name], least=least, most=most)
        if number is not None:
            return number
        self.problems.append(f"{name} is not a whole number from {least} to {most}. Correct it.")
        return default

    def choice(self, name: str, choices: Collection[str], *, default: str) -> str:
        """Return one of some words; empty for any other."""
        text = self.text(name) or default
        if text in choices:
            return text
        known = ", ".join(sorted(choices))
        self.problems.append(
            f"There is no {name} '{printable(text)}'{nearest(text, choices) or '.'} Known are: {known}."
        )
        return ""

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an object, which can be written in JSON."""
        value = self.values.get(name)
        if not self.has(name):
            return {}
        found = json_object(value) if isinstance(value, str) else value
        if isinstance(found, Mapping):
            return dict(found)
        self.problems.append(f"{name} is not a JSON object. Correct it.")
        return {}

    def existing(self, name: str, *, path: str | None = None) -> str:
        """Return the path of an existing file or directory; empty for none. ``path`` replaces the value."""
        path = self.text(name) if path is None else path
        if path and not os.path.exists(path):  # noqa: PTH110 - a Path raises an error where a folder may not be entered
            self.problems.append(f"{name}: there is nothing at {shown_path(path)}. Correct the path.")
        return path


def json_object(text: str) -> dict[str, Any] | None:
    """Return a JSON object; None for anything else. A number that is not whole stays a string."""
    found = loaded(text, parse_float=str, parse_constant=str)
    return found if isinstance(found, dict) else None
