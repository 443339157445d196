"""The parameters of a policy, taken apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.exceptions import ConfigException

_T = TypeVar("_T")


class Params:
    """
    Reads parameters and keeps what is wrong with them, until ``finish`` tells all of it.

    :param given: name -> value, as YAML has it
    :param where: what a message calls them
    """

    def __init__(self, given: Mapping[str, Any], where: str = "") -> None:
        self._given = given
        self._asked: set[str] = set()
        self._where = where
        self.problems: list[str] = []

    def texts(self, name: str, default: Collection[str] | None = None) -> list[str]:
        """Give a list of texts that are not empty; one text stands for a list of one. Without a default it must be."""
        found = self._take(name, default)
        texts = [found] if isinstance(found, str) else found
        if not isinstance(texts, list | tuple | set | frozenset) or not all(isinstance(t, str) and t for t in texts):
            return self._refuse(name, "expected a list of texts", [])
        if not texts and default is None:
            return self._refuse(name, "the list is empty", [])
        return list(texts)

    def texts_if_given(self, name: str) -> list[str] | None:
        """Give a list of texts as ``texts`` does, or None where nothing is given."""
        self._asked.add(name)
        return self.texts(name) if name in self._given else None

    def text(self, name: str, default: str | None = None) -> str:
        """Give a text. Without a default it must be given."""
        found = self._take(name, default)
        return found if isinstance(found, str) else self._refuse(name, "expected a text", "")

    def value(self, name: str) -> Any:
        """Give whatever was given; None where nothing was."""
        return self._take(name)

    def flag(self, name: str) -> bool:
        """Give true or false; false where it is not given."""
        found = self._take(name, default=False)
        return found if isinstance(found, bool) else self._refuse(name, "expected true or false", False)

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Give a mapping with texts as keys, which must be given and not be empty."""
        found = self._take(name)
        if not isinstance(found, Mapping) or not found or not all(isinstance(key, str) for key in found):
            return self._refuse(name, "expected a mapping with texts as keys", {})
        return found

    def mappings(self, name: str) -> list[Mapping[str, Any]]:
        """Give a list of mappings, which must be given and not be empty; one mapping stands for a list of one."""
        found = self._take(name)
        items = [found] if isinstance(found, Mapping) else found
        is_fine = isinstance(items, list) and items and all(isinstance(item, Mapping) and item for item in items)
        return items if isinstance(items, list) and is_fine else self._refuse(name, "expected a list of mappings", [])

    def finish(self) -> None:
        """
        Raise if anything was wrong, or given and not asked for.

        :raises ConfigException: names all of it
        """
        unknown = [name for name in self._given if name not in self._asked]
        for name in unknown:
            self.problems.append(f"{self._name(name)} is not known{nearest(str(name), self._asked) or '. Remove it.'}")
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
