"""What is odd about a value itself: it is empty, or one line with its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.core.wording import first_of

_MOST_NAMED: Final = 10
"""How many references a doubt names."""


def value_doubts(values: Mapping[ConfigVariable, str]) -> Iterator[str]:
    """Yield a sentence about empty values, and one about single lines with a line end, which name no value."""
    empty = [variable for variable, value in values.items() if not value]
    ended = [variable for variable, value in values.items() if _is_line_with_end(value)]
    if empty:
        yield f"{_values_of(empty, 'is', 'are')} empty. Correct the reference, or what is stored there."
    if ended:
        yield (
            f"{_values_of(ended, 'ends', 'end')} with a line end, which is part of the value. If it was not meant, "
            f"store the value without it: printf writes none, and echo does."
        )


def _is_line_with_end(value: str) -> bool:
    """Return whether ``value`` is one line and its end; text of several lines, such as a PEM, has one rightly."""
    line = value.removesuffix("\n").removesuffix("\r")
    return line != value and not {"\n", "\r"} & set(line)


def _values_of(variables: list[ConfigVariable], of_one: str, of_several: str) -> str:
    names = first_of(sorted(map(str, variables)), most=_MOST_NAMED)
    return f"The value of {names} {of_one}" if len(variables) == 1 else f"The values of {names} {of_several}"
