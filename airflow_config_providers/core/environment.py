"""Environment variables that override configuration keys (FLIP-161)."""

from __future__ import annotations

from collections.abc import Mapping


class EnvironmentOverrides:
    """
    Finds the environment variable that overrides a configuration key.

    The first lookup of a key is remembered: later changes of the environment are not seen.

    :param environ: name -> value, such as ``os.environ``
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._found: dict[str, tuple[str, str] | tuple[None, None]] = {}

    @staticmethod
    def names(key: str) -> list[str]:
        """
        Return the eight names of ``key``, in the order in which they are tried.

        Unchanged, dots as underscores, hyphens as underscores, both; then the same four in upper case.
        """
        spellings = [key, key.replace(".", "_"), key.replace("-", "_"), key.replace(".", "_").replace("-", "_")]
        return spellings + [spelling.upper() for spelling in spellings]

    def lookup(self, key: str) -> str | None:
        """Return the value of the first of the eight names that is set, even if it is empty; None if none is set."""
        return self._find(key)[1]

    def origin(self, key: str) -> str | None:
        """Return the name that ``lookup`` found; None if none is set."""
        return self._find(key)[0]

    def _find(self, key: str) -> tuple[str, str] | tuple[None, None]:
        if key not in self._found:
            hits = ((name, self._environ[name]) for name in self.names(key) if name in self._environ)
            self._found[key] = next(hits, (None, None))
        return self._found[key]

    def ambiguous(self, key: str) -> list[str]:
        """Return the names of ``key`` that are set if their values differ, otherwise an empty list."""
        present = [name for name in dict.fromkeys(self.names(key)) if name in self._environ]
        return present if len({self._environ[name] for name in present}) > 1 else []
