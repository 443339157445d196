"""Collects all the reasons why a request is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    PolicyViolation,
    ProviderUnavailableError,
    ReservedKeyError,
    gravest,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

_KINDS: Final = (ReservedKeyError, ConfigException, PolicyViolation, ProviderUnavailableError, ConfigProvidersError)
"""First errors that users must correct, then decisions of policies, then temporary errors."""


class Reasons:
    """
    Collects errors; it is true if there are any.

    ``with reasons:`` catches an error that is raised in the block, and continues after it.
    """

    def __init__(self) -> None:
        self._errors: list[ConfigProvidersError] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, ConfigProvidersError):
            return False
        self.add(error)
        return True

    def add(self, error: ConfigProvidersError) -> None:
        """Add an error, which can have several problems."""
        self._errors.append(error)

    def extend(self, errors: Iterable[ConfigProvidersError]) -> None:
        """Add several errors."""
        self._errors.extend(errors)

    def together(self, *more: str) -> ConfigProvidersError:
        """Return one error with all problems; ``more`` are sentences to append."""
        problems = dict.fromkeys(problem for error in self._errors for problem in error.problems)
        return self._kind()(*problems, *more)

    def _kind(self) -> type[ConfigProvidersError]:
        kinds = {type(error) for error in self._errors}
        if len(kinds) == 1:
            return kinds.pop()
        return gravest(self._errors, _KINDS)
