"""
Checks of a parsed configuration value (Kafka's validators).

A validator has ``ensure_valid(name, value)``, which raises ``ConfigException`` for an invalid value, and a string
form that the generated documentation shows under "Valid values". Messages never quote the value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

from airflow_config_providers.core.invalid_value import invalid_value
from airflow_config_providers.core.sensitive import Password


class Validator(Protocol):
    """Checks one parsed value."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """
        Check the ``value`` of the configuration ``name``; None if the configuration is set to None.

        :raises ConfigException: it is invalid; create the error with ``invalid_value`` and do not quote the value
        """


@dataclass(frozen=True, slots=True)
class Range:
    """A number within inclusive bounds; None is no bound. NaN is in no range."""

    minimum: float | None = None
    maximum: float | None = None

    @classmethod
    def at_least(cls, minimum: float) -> Range:
        """Return a range with a lower bound only."""
        return cls(minimum=minimum)

    @classmethod
    def between(cls, minimum: float, maximum: float) -> Range:
        """Return a range with both bounds."""
        return cls(minimum, maximum)

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse None and values out of bounds."""
        if value is None:
            raise invalid_value(name, "Value must be non-null")
        if self.minimum is not None and not value >= self.minimum:
            raise invalid_value(name, f"Value must be at least {self.minimum}")
        if self.maximum is not None and not value <= self.maximum:
            raise invalid_value(name, f"Value must be no more than {self.maximum}")

    def __str__(self) -> str:
        if self.minimum is None:
            return f"[...,{self.maximum}]"
        return f"[{self.minimum},...]" if self.maximum is None else f"[{self.minimum},...,{self.maximum}]"


@dataclass(frozen=True, slots=True)
class _Choice:
    valid: tuple[str, ...]

    @classmethod
    def in_(cls, *valid: str) -> Self:
        """Allow the strings ``valid``."""
        return cls(valid)

    def __str__(self) -> str:
        return f"[{', '.join(self.valid)}]"


class ValidString(_Choice):
    """One of several strings."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse None and every other string."""
        if _text(value) not in self.valid:
            raise invalid_value(name, f"String must be one of: {', '.join(self.valid)}")


class CaseInsensitiveValidString(_Choice):
    """One of several strings, in upper or lower case."""

    @classmethod
    def in_(cls, *valid: str) -> Self:
        """Allow the strings ``valid``."""
        return cls(tuple(text.upper() for text in valid))

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse None and every other string."""
        text = _text(value)
        if text is None or text.upper() not in self.valid:
            raise invalid_value(name, f"String must be one of (case insensitive): {', '.join(self.valid)}")

    def __str__(self) -> str:
        return f"(case insensitive) [{', '.join(self.valid)}]"


class ValidList(_Choice):
    """A list of strings from a set; repeated ones are allowed."""

    def ensure_valid(self, name: str, value: Sequence[str] | None) -> None:
        """Refuse None and a list with any other string."""
        if value is None or not all(item in self.valid for item in value):
            raise invalid_value(name, f"Each item of the list must be one of: {', '.join(self.valid)}")


@dataclass(frozen=True, slots=True)
class ListSize:
    """A list with a maximum number of items."""

    maximum: int

    @classmethod
    def at_most_of_size(cls, maximum: int) -> ListSize:
        """Allow lists of up to ``maximum`` items."""
        return cls(maximum)

    def ensure_valid(self, name: str, value: Sequence[Any] | None) -> None:
        """Refuse None and longer lists."""
        if value is None:
            raise invalid_value(name, "Value must be non-null")
        if len(value) > self.maximum:
            raise invalid_value(name, f"exceeds maximum list size of [{self.maximum}]")

    def __str__(self) -> str:
        return f"List containing maximum of {self.maximum} elements"


class NonNullValidator:
    """Anything but None."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse None."""
        if value is None:
            raise invalid_value(name, "entry must be non null")

    def __str__(self) -> str:
        return "non-null string"


class NonEmptyString:
    """A string that is not empty; None is valid."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse the empty string."""
        if _text(value) == "":
            raise invalid_value(name, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class NonEmptyStringWithoutControlChars:
    """A string that is not empty and has no control characters; None is valid."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse the empty string and strings with control characters."""
        text = _text(value)
        if text == "":
            raise invalid_value(name, "String may not be empty")
        if text is not None and any(unicodedata.category(c) == "Cc" for c in text):
            raise invalid_value(name, "String may not contain control sequences")

    def __str__(self) -> str:
        return "non-empty string without ISO control characters"


@dataclass(frozen=True, slots=True)
class CompositeValidator:
    """Several validators in order. The first refusal wins: a later validator can rely on an earlier one."""

    validators: tuple[Validator, ...]

    @classmethod
    def of(cls, *validators: Validator) -> CompositeValidator:
        """Combine ``validators`` into one."""
        return cls(validators)

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse values that any of the validators refuses."""
        for validator in self.validators:
            validator.ensure_valid(name, value)

    def __str__(self) -> str:
        return ", ".join(map(str, self.validators))


@dataclass(frozen=True, slots=True)
class LambdaValidator:
    """
    A function as a validator.

    :param check: receives name and value, raises ``ConfigException``
    :param description: the valid values, for the documentation
    """

    check: Callable[[str, Any], None]
    description: str

    @classmethod
    def with_(cls, check: Callable[[str, Any], None], description: str) -> LambdaValidator:
        """Return a validator that calls ``check``."""
        return cls(check, description)

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse values that the function refuses."""
        self.check(name, value)

    def __str__(self) -> str:
        return self.description


def _text(value: Any) -> Any:
    """Return the string of a PASSWORD, so that string validators check it, too."""
    return value.value if isinstance(value, Password) else value
