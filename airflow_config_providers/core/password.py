"""The type that carries a secret, and what is shown in its place."""

from __future__ import annotations

from typing import Final

from airflow_config_providers.core.text import octets

HIDDEN: Final = "[hidden]"


class Password:
    """A string that is shown as ``[hidden]``. Compared by value, in constant time; not picklable."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    @property
    def value(self) -> str:
        """The string itself."""
        return self._value

    def __str__(self) -> str:
        return HIDDEN

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Password):
            return NotImplemented
        import hmac  # noqa: PLC0415 - slow to import, and passwords are rarely compared

        return hmac.compare_digest(octets(self._value), octets(other._value))

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> str:
        raise TypeError("a Password is not pickled or copied: send the reference it came from")
