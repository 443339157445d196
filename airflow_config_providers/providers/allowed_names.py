"""Which names a provider may read: environment variables, and Airflow's variables, connections and options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import AccessDeniedError, ProviderDefinitionError

ALLOWLIST_PATTERN: Final = "allowlist.pattern"

_MISLEADING: Final = re.compile(r"(^|/)\.{1,2}(/|$)|[?#%\\]|^$")
"""What leads elsewhere in a URL: Airflow (since 3.4 only for variables) and Vault put a name into one unquoted."""

_TEAM_SEPARATORS: Final = ("___", "--", "/")
"""What separates a team from a name in environment variables, in AWS and in Vault."""


@dataclass(frozen=True, slots=True)
class AllowedNames:
    """
    The names that a deployment allows.

    :param pattern: the whole name must match it
    :param has_teams: whether the deployment has several teams, whose secrets differ in how their names begin
    """

    pattern: re.Pattern[str]
    has_teams: bool = False

    @classmethod
    def of(cls, configs: Mapping[str, Any], *, has_teams: bool = False) -> Self:
        """
        Read ``allowlist.pattern``; without it all names are allowed.

        :raises ProviderDefinitionError: it is not a regular expression
        """
        try:
            return cls(re.compile(str(configs.get(ALLOWLIST_PATTERN, ".*"))), has_teams)
        except re.error as error:
            place = f"{error.msg} at position {error.pos}"
        raise ProviderDefinitionError(
            f"{ALLOWLIST_PATTERN} is not a regular expression of Python: {place}. Correct it."
        )

    def require(self, kind: str, name: str, *, is_sensitive: bool = False) -> None:
        """
        Require that the deployment allows ``name``.

        A name that could belong to another team, or that is sensitive, must be one of the pattern's alternatives,
        letter by letter, as ``fernet_key`` is in ``app_.*|fernet_key``.

        :param kind: what has the name, for the message
        :raises AccessDeniedError: it does not; whether the name exists was not looked up
        """
        if _MISLEADING.search(name) or not name.isprintable():
            raise AccessDeniedError(
                f"The {kind} '{printable(name)}' is not read: the name could be mistaken for another. A name must not "
                f"be empty, have a part that is '.' or '..', or contain ? # % \\ or a character that cannot be printed."
            )
        is_of_a_team = self.has_teams and any(separator in name for separator in _TEAM_SEPARATORS)
        is_special = is_sensitive or is_of_a_team
        if not self.match(name, to_the_letter=is_special):
            raise AccessDeniedError(
                f"The {kind} '{printable(name)}' is not allowed by {ALLOWLIST_PATTERN} of the provider. "
                f"{way_out(to_the_letter=is_special)}"
            )

    def match(self, name: str, *, to_the_letter: bool) -> bool:
        """Return whether the pattern matches ``name``, and if ``to_the_letter``, has it as an alternative."""
        return bool(self.pattern.fullmatch(name)) and (not to_the_letter or name in self.pattern.pattern.split("|"))


def way_out(*, to_the_letter: bool) -> str:
    """Return what can be done about a name that the pattern does not allow."""
    way = "add its full name to the pattern, as in A_.*|THE_FULL_NAME" if to_the_letter else "allow it"
    return f"Correct the reference, or ask the deployment owner to {way}."
