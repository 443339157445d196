"""The names of the same configuration: a current one, and older ones that are still read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def spellings(used: Iterable[str], older: Mapping[str, str]) -> Mapping[str, tuple[str, ...]]:
    """
    Return name -> all names of its configuration that matter: the current one first, then the older ones in ``used``.

    Configurations of which no older name is used are left out.

    :param older: older name -> the name that took its place, which can be an older name itself
    """
    groups: dict[str, list[str]] = {}
    for name in sorted(older.keys() & set(used)):
        groups.setdefault(current_name(name, older), []).append(name)
    names = {current: (current, *others) for current, others in groups.items()}
    return {name: group for group in names.values() for name in group}


def current_name(name: str, older: Mapping[str, str]) -> str:
    """Return the name that is current for ``name``, also if it was renamed several times."""
    seen = set()
    while name in older and name not in seen:
        seen.add(name)
        name = older[name]
    return name
