"""Changes to the configuration of a resource: before, operations, after (KIP-339)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, Generic, TypeVar

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.keys import key_type_problem, type_problems, value_type_problem
from airflow_config_providers.core.resource import ConfigResource, ResourceType, member_of
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException

__all__ = [
    "AlterConfigOp",
    "Altered",
    "ConfigResource",
    "OpType",
    "ResourceType",
    "absent_elements",
    "altered",
    "whole",
]

_Text = TypeVar("_Text")


class OpType(IntEnum):
    """Operation on a key, with the numbers that Kafka uses."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class AlterConfigOp:
    """
    A change to one key.

    :param value: a string that can contain references; ignored for ``DELETE``
    :raises ConfigException: the name or the value is not a string, or the operation does not exist
    """

    name: str
    value: str | None = field(default=None, repr=False)
    op: OpType = OpType.SET

    def __post_init__(self) -> None:
        object.__setattr__(self, "op", member_of(OpType, self.op))
        problem = key_type_problem(self.name)
        if self.op is not OpType.DELETE:
            problem = problem or value_type_problem(self.name, self.value)
        if problem:
            raise ConfigException(problem)


@dataclass(frozen=True, slots=True)
class Altered(Generic[_Text]):
    """
    The result of applying a request to a configuration.

    :param after: the configuration after the well-formed operations
    :param problems: what is wrong with the other operations, one sentence each, without values
    :param asked: key -> the string that the other operations ask for; the first, if they ask for several
    """

    after: Mapping[str, _Text] = field(repr=False)
    problems: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict, repr=False)


def altered(
    before: Mapping[str, str],
    operations: Sequence[AlterConfigOp],
    definition: ConfigDef,
    *,
    longest: int | None = None,
) -> Altered[str]:
    """
    Return what ``operations`` make of ``before``.

    ``APPEND`` and ``SUBTRACT`` need a key of type LIST. They start from the resource's own value or, if it has none,
    from the default of the key, never from the value of another layer.

    :param before: the resource's own configuration
    :param longest: most characters that one operation can append or subtract; None for no limit
    """
    found = [*_repeated(operations)]
    for operation in operations:
        found += [(operation.name, problem) for problem in _problems(operation, before, definition, longest)]
    wrong = {name for name, _ in found}
    after = dict(before)
    for operation in operations:
        if operation.name not in wrong:
            _carry_out(operation, after, definition)
    rest = [operation for operation in operations if operation.name in wrong and operation.op is not OpType.DELETE]
    asked = {operation.name: operation.value or "" for operation in reversed(rest)}
    return Altered(after, tuple(problem for _, problem in found), asked)


def absent_elements(
    before: Mapping[str, str], operations: Sequence[AlterConfigOp], definition: ConfigDef
) -> dict[str, int]:
    """
    Return key -> how many of the elements that are to be subtracted are not in the list, if there are any.

    :param before: the resource's own configuration
    """
    subtracted = [operation for operation in operations if operation.op is OpType.SUBTRACT]
    absent = {one.name: Counter(_parts(one)) - Counter(_present(one.name, before, definition)) for one in subtracted}
    return {name: elements.total() for name, elements in absent.items() if elements}


def whole(configs: Mapping[str, str | None]) -> Altered[str]:
    """Return ``configs`` as the whole configuration of a resource; other keys are deleted. Each key needs a value."""
    empty = [name for name, value in configs.items() if value is None and isinstance(name, str)]
    after = {name: value for name, value in configs.items() if isinstance(name, str) and isinstance(value, str)}
    return Altered(after, (*map(_null, empty), *type_problems(configs)), dict.fromkeys(empty, ""))


def _carry_out(operation: AlterConfigOp, configs: dict[str, str], definition: ConfigDef) -> None:
    name = operation.name
    if operation.op is OpType.DELETE:
        configs.pop(name, None)
    elif operation.op is OpType.SET:
        configs[name] = operation.value or ""
    else:
        change = _joined if operation.op is OpType.APPEND else _without
        configs[name] = ",".join(change(_present(name, configs, definition), _parts(operation)))


def _null(name: str) -> str:
    return f"'{printable(name)}': there is no value. Set one, which can be empty, or delete the key."


def _repeated(operations: Sequence[AlterConfigOp]) -> Iterator[tuple[str, str]]:
    for name, times in Counter(operation.name for operation in operations).items():
        if times > 1:
            yield name, f"'{printable(name)}' is changed {times} times in one request. Keep one of them."


def _problems(
    operation: AlterConfigOp, before: Mapping[str, str], definition: ConfigDef, longest: int | None
) -> Iterator[str]:
    name, shown, size = operation.name, printable(operation.name), len(operation.value or "")
    if operation.op is not OpType.DELETE and operation.value is None:
        yield _null(name)
    if operation.op not in _OF_LISTS:
        return
    if not _is_list(definition, name):
        yield f"'{shown}': {operation.op.name} needs a list, and this key is not one. Set the whole value."
    if before.get(name) == HIDDEN:
        yield f"'{shown}' holds a secret that is not shown. Set the whole value."
    if longest is not None and size > longest:
        yield f"'{shown}' has {size} characters, and {longest} are allowed."


_OF_LISTS: Final = (OpType.APPEND, OpType.SUBTRACT)


def _is_list(definition: ConfigDef, name: str) -> bool:
    key = definition.config_keys.get(name)
    return key is not None and key.type is ConfigType.LIST


def _present(name: str, configs: Mapping[str, str], definition: ConfigDef) -> list[str]:
    """Return the elements of a list that the resource itself has, or else of the default."""
    return _elements(configs.get(name, definition.default_texts().get(name, "")))


def _elements(text: str) -> list[str]:
    """Split at the commas outside of references; empty elements are left out."""
    held = {place for start, end, *_ in scan(text) for place in range(start, end)}
    commas = [place for place, character in enumerate(text) if character == "," and place not in held]
    spans = zip([-1, *commas], [*commas, len(text)], strict=True)
    return [text[before + 1 : after] for before, after in spans if before + 1 < after]


def _parts(operation: AlterConfigOp) -> list[str]:
    return _elements(operation.value or "")


def _joined(elements: list[str], more: list[str]) -> list[str]:
    present = set(elements)
    return [*elements, *(element for element in dict.fromkeys(more) if element not in present)]


def _without(elements: list[str], less: list[str]) -> list[str]:
    """Remove, for each element of ``less``, the first element that equals it."""
    to_remove, left = Counter(less), []
    for element in elements:
        if to_remove[element]:
            to_remove[element] -= 1
        else:
            left.append(element)
    return left
