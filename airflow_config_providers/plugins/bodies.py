"""What stands in the body of a request. No error tells a value: one may be a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Self

from fastapi import Depends, HTTPException
from starlette.requests import Request

from airflow_config_providers.core.alter import AlterConfigOp, OpType
from airflow_config_providers.core.text import is_unicode, nearest, printable
from airflow_config_providers.dynamic.change import refuse_many
from airflow_config_providers.exceptions import MalformedRequestError

LONGEST: Final = 4 * 1024 * 1024
"""Bytes of a body: a change of the largest configuration that is kept, however it is escaped."""

_TOLD: Final = 10
"""Unknown fields that are told by name."""

_REQUIRED: Final = object()


@dataclass(frozen=True, slots=True)
class Alteration:
    """A change of some keys."""

    operations: tuple[AlterConfigOp, ...] = field(repr=False)
    validate_only: bool
    if_version: int | None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """
        Read it.

        :raises MalformedRequestError: names all that is wrong
        :raises LimitExceededError: there are too many operations
        """
        fields = _Fields(body)
        given = fields.take("operations", list, [])
        refuse_many(len(given))
        operations = [_operation(fields, number, one) for number, one in enumerate(given)]
        validate_only, if_version = fields.take("validate_only", bool, False), fields.take("if_version", int, None)
        if not operations:
            fields.problems.append("'operations': nothing is to change. Give a list of op, name and value.")
        fields.end()
        return cls(tuple(one for one in operations if one), validate_only, if_version)


@dataclass(frozen=True, slots=True)
class Return:
    """A way back to a version; None for the one before the last change."""

    to_version: int | None
    validate_only: bool

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Read it. Errors as with ``Alteration``."""
        fields = _Fields(body)
        found = cls(fields.take("to_version", int, None), fields.take("validate_only", bool, False))
        fields.end()
        return found


class _Fields:
    """
    Takes the fields of an object one by one, and collects what is wrong with them.

    :param where: what stands before their names in messages
    """

    def __init__(self, content: Mapping[str, Any], where: str = "", problems: list[str] | None = None) -> None:
        self._content = content
        self._where = where
        self._taken: list[str] = []
        self.problems = [] if problems is None else problems

    def take(self, name: str, kind: type, default: Any = _REQUIRED) -> Any:
        """Give a field, which is of ``kind``; ``default`` where it is missing or null, if there is one."""
        self._taken.append(name)
        value = self._content.get(name)
        if type(value) is kind:  # a boolean is no number here
            return value
        if value is not None or default is _REQUIRED:
            self.problems.append(f"'{self._where}{name}': {_WORDS[kind]} is expected.")
        return default

    def end(self) -> None:
        """
        Refuse what is wrong.

        :raises MalformedRequestError: names all of it, and the fields that nobody has taken
        """
        self.refuse_others()
        if self.problems:
            raise MalformedRequestError(*self.problems)

    def refuse_others(self) -> None:
        """Collect the fields that nobody has taken; of many, the first ones and how many others there are."""
        others = sorted(self._content.keys() - set(self._taken))
        for name in others[:_TOLD]:
            hint = nearest(name, self._taken) or "."
            self.problems.append(f"'{self._where}{printable(name)}' is no field{hint} Remove or correct it.")
        if len(others) > _TOLD:
            self.problems.append(f"{len(others) - _TOLD} others are no fields either. Remove them.")


_WORDS: Final = {bool: "true or false", int: "a number", list: "a list", str: "a text"}


def _operation(fields: _Fields, number: int, content: Any) -> AlterConfigOp | None:
    where = f"operations.{number}"
    if not isinstance(content, dict):
        fields.problems.append(f"'{where}': an object is expected.")
        return None
    inner = _Fields(content, f"{where}.", fields.problems)
    op, name, value = inner.take("op", str, "SET"), inner.take("name", str), inner.take("value", str, None)
    inner.refuse_others()
    for part, text in (("name", name), ("value", value)):
        if isinstance(text, str) and not is_unicode(text):
            fields.problems.append(
                f"'{where}.{part}', of the key '{printable(str(name))}', holds half of a surrogate pair, which is no "
                f"character. Correct it."
            )
    if op not in OpType.__members__:
        fields.problems.append(f"'{where}.op' is none of {', '.join(OpType.__members__)}.")
    return AlterConfigOp(name, value, OpType[op]) if not fields.problems else None


async def _json_object(request: Request) -> Mapping[str, Any]:
    """
    Read the body, of somebody whose rights are known by now.

    :raises HTTPException: it is too long, no JSON, or comes from a page of another site
    :raises MalformedRequestError: it is no JSON object
    """
    _refuse_other_sites(request)
    content = _parsed(await _read(request))
    if not isinstance(content, dict):
        raise MalformedRequestError("The body is no JSON object, or has a name twice. Correct it.")
    return content


BodyDep = Annotated[Mapping[str, Any], Depends(_json_object)]


def _refuse_other_sites(request: Request) -> None:
    """Refuse what a page of another site can have a browser send, along with the cookie of its user."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body has to be application/json, and to say so in Content-Type")
    if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        raise MalformedRequestError("A change is not taken from a page of another site.")


async def _read(request: Request) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LONGEST:
            raise HTTPException(413, f"The body is longer than {LONGEST} bytes. Make several changes of it")
    return bytes(content)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):  # the error quotes the body
        return None


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found
