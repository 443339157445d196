"""The options that an author chose, as attributes of an operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any


class ChosenOption:
    """An attribute of an operator with the option of that name, as its author chose it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, operator: Any, owner: type | None = None) -> Any:
        return self if operator is None else getattr(operator._job_options, self._name)

    def __set__(self, operator: Any, chosen: str | None) -> None:
        operator._job_options = replace(operator._job_options, **{self._name: chosen})
