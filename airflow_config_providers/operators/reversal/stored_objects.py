"""Reverses what a task hands to Airflow to store. An object can be stored with more than its string shows."""

from __future__ import annotations

import datetime
import logging
import pickle
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from types import ModuleType
from typing import Any, Final

from airflow_config_providers.core.nested import ITEMS, is_mapping, map_leaves, slots_of
from airflow_config_providers.core.reversal.reverse import (
    UNCHECKED,
    ReverseTransformer,
    reverse_bytes,
    reverse_object,
    reverse_text,
)
from airflow_config_providers.core.text import octets, printable

_log = logging.getLogger(__name__)

_SHOWN_WHOLE: Final = (str, bytes, bytearray, memoryview, int, float, complex, type(None), datetime.date, datetime.time)
"""Types whose string form shows everything that is stored."""

_WITHOUT_OTHERS: Final = (*_SHOWN_WHOLE, type, ModuleType)
"""Types whose objects hold no others, or none that are stored with them."""

_COLLECTIONS: Final = (dict, *ITEMS)

_DEEPEST: Final = 12
"""How many levels of attributes and items of an object are searched."""


def reverse_stored(value: object, *reversers: ReverseTransformer) -> object:
    """
    Reverse ``value`` as Airflow would store it, for all ``reversers`` at once.

    This does the same as ``reverse_object``. In addition, an object that holds a value without showing it is replaced
    by its string: Airflow stores every field of a dataclass and every row of a data frame, shown or not.
    """
    shown = reverse_object(value, reversers)
    if not any(reversers):
        return shown
    try:
        return map_leaves(shown, lambda leaf: _without_values(leaf, reversers))
    except Exception:  # noqa: BLE001 - a foreign object can raise anything; it is not stored then
        return UNCHECKED


def _without_values(leaf: object, reversers: Sequence[ReverseTransformer]) -> object:
    if isinstance(leaf, _SHOWN_WHOLE) or not _holds_value(leaf, reversers):
        return leaf
    kind = printable(type(leaf).__name__)
    _log.warning("An object of type %s contains a value. Airflow gets the object's string instead.", kind)
    return reverse_text(str(leaf), reversers)


def _holds_value(leaf: object, reversers: Sequence[ReverseTransformer]) -> bool:
    """Return whether a value is in the pickle of ``leaf``, which some classes make without it, or in its attributes."""
    try:
        content = pickle.dumps(leaf)
    except Exception:  # noqa: BLE001 - many objects cannot be pickled, and say so in many ways
        content = b""
    texts = _texts_in(leaf, is_pickled=bool(content))
    return _is_value(content, reversers) or any(_is_value(text, reversers) for text in texts)


def _is_value(text: str | bytes, reversers: Sequence[ReverseTransformer]) -> bool:
    data = octets(text) if isinstance(text, str) else text
    return reverse_bytes(data, reversers) != data


def _texts_in(value: object, *, is_pickled: bool) -> Iterator[str | bytes]:
    """Yield the strings in an object, its items and its attributes, ``_DEEPEST`` levels deep."""
    seen: dict[int, object] = {}  # keeps each object alive, so that no other one gets its id
    level = [value]
    for _ in range(_DEEPEST + 1):
        yield from (each for each in level if isinstance(each, str | bytes))
        new = {id(each): each for each in level if not issubclass(type(each), _WITHOUT_OTHERS)}
        level = [held for key, each in new.items() if key not in seen for held in _held(each, is_pickled=is_pickled)]
        seen |= new


def _held(value: object, *, is_pickled: bool) -> Iterator[object]:
    """
    Yield what an object holds.

    :param is_pickled: whether its pickle is searched as well: then, no code of its class is called, which can fail, and
        which can download the items of a mapping
    """
    kind = type(value)
    of_class: Any = value  # which class that is, only ``kind`` says
    yield from next((base.__iter__(of_class) for base in _COLLECTIONS if issubclass(kind, base)), ())
    if issubclass(kind, dict):
        yield from dict.values(of_class)
    elif not is_pickled and is_mapping(value):
        yield from chain.from_iterable(value.items())
    yield from _attributes(value, is_pickled=is_pickled).values()
    for _, slot in slots_of(kind):
        with suppress(AttributeError):  # it has no content
            yield slot.__get__(value, kind)


def _attributes(value: object, *, is_pickled: bool) -> dict[str, object]:
    try:
        found = getattr(value, "__dict__", {})
    except Exception:
        if not is_pickled:
            raise
        return {}
    return found if isinstance(found, dict) else {}
