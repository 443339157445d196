"""Reads the parameters of a policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException

_T = TypeVar("_T")


class Params:
    """
    Reads parameters and collects their problems until ``finish`` raises them.

    :param given: name -> value, as read from YAML
    :param where: the prefix of names in messages
    :param known: names that something else reads
    """

    def __init__(self, given: Mapping[str, Any], where: str = "", *, known: Collection[str] = ()) -> None:
        self._given = given
        self._asked = set(known)
        self._where = where
        self.problems: list[str] = []

    def texts(self, name: str, default: Collection[str] | None = None) -> list[str]:
        """Return a list of nonempty strings; one string means a list of one. It is required if there is no default."""
        found = self._take(name, default)
        texts = [found] if isinstance(found, str) else found
        if not isinstance(texts, list | tuple | set | frozenset) or not all(isinstance(t, str) and t for t in texts):
            return self._refuse(name, "expected a list of strings", [])
        if not texts and default is None:
            return self._refuse(name, "the list is empty", [])
        return list(texts)

    def texts_if_given(self, name: str) -> list[str] | None:
        """Return a list like ``texts``, or None if the parameter is not given."""
        self._asked.add(name)
        return self.texts(name) if name in self._given else None

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string. It is required if there is no default."""
        found = self._take(name, default)
        return found if isinstance(found, str) else self._refuse(name, "expected a string", "")

    def value(self, name: str) -> Any:
        """Return the value as given; None if the parameter is not given."""
        return self._take(name)

    def flag(self, name: str) -> bool:
        """Return a boolean; False if the parameter is not given."""
        found = self._take(name, default=False)
        return found if isinstance(found, bool) else self._refuse(name, "expected true or false", False)

    def mappings(self, name: str) -> list[Mapping[str, Any]]:
        """Return a list of mappings, which is required and must not be empty; one mapping means a list of one."""
        found = self._take(name)
        items = [found] if isinstance(found, Mapping) else found
        if isinstance(items, list) and items and all(isinstance(item, Mapping) and item for item in items):
            return items
        return self._refuse(name, "expected a list of mappings", [])

    def finish(self) -> None:
        """
        Raise the problems, including parameters that were given but not read.

        :raises ConfigException: there are problems; lists all of them
        """
        unknown = [name for name in self._given if name not in self._asked]
        for name in unknown:
            self.problems.append(f"{self._name(name)} is unknown{nearest(str(name), self._asked) or '. Remove it.'}")
        if self.problems:
            raise ConfigException(*self.problems)

    def _take(self, name: str, default: Any = None) -> Any:
        self._asked.add(name)
        return self._given.get(name, default)

    def _refuse(self, name: str, problem: str, instead: _T) -> _T:
        self.problems.append(f"{self._name(name)}: {problem}. {'Correct' if name in self._given else 'Add'} it.")
        return instead

    def _name(self, name: object) -> str:
        return f"{self._where}'{printable(str(name))}'"
