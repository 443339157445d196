"""Hooks of this package in place of stock hooks that were already made."""

from __future__ import annotations

from typing import Any, TypeVar

from airflow_config_providers.foreign import require_bases

_Hook = TypeVar("_Hook")


def taken_over(cls: type[_Hook], hook: Any, **attributes: Any) -> _Hook:
    """
    Return a hook of ``cls`` with all the attributes of ``hook``, and with ``attributes``.

    If ``hook`` has a custom class, the result keeps what that class adds.

    :raises UnsupportedVersionError: an installed package lacks something that the class leans on
    """
    own = type(hook)
    kind: type[_Hook] = cls if issubclass(cls, own) else type(cls.__name__, (cls, own), {"__doc__": cls.__doc__})
    require_bases(kind)
    taken = kind.__new__(kind)
    vars(taken).update(vars(hook), **attributes)
    return taken
