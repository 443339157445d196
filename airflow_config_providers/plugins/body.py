"""What the body of a request asks for. No error shows a value from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypedDict

from airflow_config_providers.core.alter import AlterConfigOp, OpType
from airflow_config_providers.core.text import is_unicode, nearest, printable, there_are
from airflow_config_providers.dynamic.planner import LONGEST_VALUE, refuse_many
from airflow_config_providers.exceptions import MalformedRequestError

LONGEST_NAME: Final = 2000
"""The most characters of a key, a path or a layer that is asked about: it is compared with all names that are known."""

_NAMED: Final = 10
"""The number of unknown fields or parameters that an error names."""

_REQUIRED: Final = object()
_WORDS: Final = {bool: "true or false", int: "a number", list: "a list", str: "a string"}


class Checks(TypedDict):
    """The arguments that every change takes."""

    validate_only: bool
    if_version: int | None


class Alteration(Checks):
    """The arguments of ``DeployedConfigurations.alter`` that a body has."""

    operations: Sequence[AlterConfigOp]


class Rollback(Checks):
    """The arguments of ``DeployedConfigurations.rollback`` that a body has."""

    to_version: int | None


def alteration(body: Mapping[str, Any]) -> Alteration:
    """
    Return the arguments of ``alter`` that ``body`` has.

    :raises MalformedRequestError: lists all problems, as all functions for bodies do
    :raises LimitExceededError: there are too many operations
    """
    fields = _Fields(body)
    given = fields.take("operations", list, [])
    refuse_many(len(given))
    read = [_operation(fields, number, one) for number, one in enumerate(given)]
    if not given and not fields.problems:
        fields.problems.append("'operations' is missing or empty. Add a list of objects with op, name and value.")
    checks = _checks(fields)
    return {"operations": [one for one in read if one is not None], **checks}


def rolled_back(body: Mapping[str, Any]) -> Rollback:
    """Return the arguments of ``rollback`` that ``body`` has; without a version, the last change is undone."""
    fields = _Fields(body)
    return {"to_version": fields.take("to_version", int, None), **_checks(fields)}


def _checks(fields: _Fields) -> Checks:
    """Take what every change has, and end: what is not taken yet is an unknown field."""
    found: Checks = {
        "validate_only": fields.take("validate_only", bool, False),
        "if_version": fields.take("if_version", int, None),
    }
    fields.end()
    return found


def setting_of(body: Mapping[str, Any]) -> str:
    """
    Return the setting that ``body`` asks about: ``KEY=VALUE``, a key, a path of a file, or the name of a layer.

    :raises MalformedRequestError: lists all problems, and quotes no setting, because that can hold a value
    """
    fields = _Fields(body)
    setting = fields.take("setting", str)
    if isinstance(setting, str):
        fields.problems.extend(_of_setting(setting))
    fields.end()
    return str(setting)


def _of_setting(setting: str) -> Iterator[str]:
    name = setting.partition("=")[0].strip()
    if not name:
        yield "'setting' has no key and no layer. Write KEY=VALUE, a path of a file, or the name of a layer."
    if len(name) > LONGEST_NAME:
        yield f"'setting': the name is longer than {LONGEST_NAME} characters. Correct it."
    if len(setting) > len(name) + LONGEST_VALUE + 1:
        yield f"'setting': the value is longer than {LONGEST_VALUE} characters. Ask about the key alone."
    if not is_unicode(setting):
        yield "'setting' contains half of a surrogate pair, which is not a character. Correct it."


def refuse_fields(body: Mapping[str, Any]) -> None:
    """
    Refuse a body that is not ``{}``.

    :raises MalformedRequestError: names its fields
    """
    _Fields(body).end()


def unknown_names(names: Iterable[str], known: Collection[str], what: str, where: str = "") -> Iterator[str]:
    """Yield a problem for each of the first ``names`` that are not known, and one for all others."""
    others = sorted(set(names) - set(known))
    for name in others[:_NAMED]:
        hint = nearest(name, known) or "."
        yield f"'{where}{printable(name)}' is an unknown {what}{hint} Remove or correct it."
    if (more := len(others) - _NAMED) > 0:
        yield f"{there_are(more, f'more unknown {what}')}. Remove {'it' if more == 1 else 'them'}."


class _Fields:
    """
    Reads the fields of an object one by one, and collects problems.

    :param where: the prefix of the fields' names in messages
    """

    def __init__(self, content: Mapping[str, Any], where: str = "", problems: list[str] | None = None) -> None:
        self._content = content
        self._where = where
        self._taken: list[str] = []
        self.problems = [] if problems is None else problems

    def take(self, name: str, kind: type, default: Any = _REQUIRED) -> Any:
        """Return the value of a field of type ``kind``; ``default``, if given, when it is missing or null."""
        self._taken.append(name)
        value = self._content.get(name)
        if type(value) is kind:  # not isinstance: a boolean is not a number here
            return value
        if value is not None or default is _REQUIRED:
            self.problems.append(f"'{self._where}{name}': expected {_WORDS[kind]}.")
        return default

    def end(self) -> None:
        """
        Raise the problems, if there are any.

        :raises MalformedRequestError: lists all problems, including fields that were not read
        """
        self.refuse_others()
        if self.problems:
            raise MalformedRequestError(*self.problems)

    def refuse_others(self) -> None:
        """Collect the fields that were not read: the names of the first ones, and the number of the others."""
        self.problems.extend(unknown_names(self._content, self._taken, "field", self._where))


def _operation(fields: _Fields, number: int, content: Any) -> AlterConfigOp | None:
    where = f"operations.{number}"
    if not isinstance(content, dict):
        fields.problems.append(f"'{where}': expected an object.")
        return None
    inner = _Fields(content, f"{where}.", fields.problems)
    op, name, value = inner.take("op", str, "SET"), inner.take("name", str), inner.take("value", str, None)
    for part, text in (("name", name), ("value", value)):
        if isinstance(text, str) and not is_unicode(text):
            of = f" of the key '{printable(name)}'" if isinstance(name, str) else ""
            fields.problems.append(
                f"'{where}.{part}'{of} contains half of a surrogate pair, which is not a character. Correct it."
            )
    if op not in OpType.__members__:
        fields.problems.append(f"'{where}.op' is not one of {', '.join(OpType.__members__)}.")
    inner.refuse_others()
    return AlterConfigOp(name, value, OpType[op]) if not fields.problems else None
