"""Lets a Spark Connect session read back the configuration that it has set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from airflow_config_providers.foreign import CONNECT_CONF, CONNECT_SESSION, require


@contextmanager
def giving_back_what_was_set() -> Iterator[None]:
    """
    Make ``spark.conf.get`` return what this process has set in the same session.

    Since Spark 4.2.1, a server answers that a key is not set if the key or its value matches the server's
    ``spark.redaction.regex``. The answer then comes from this process, which knows it. What the server itself shows,
    with ``SET`` or ``getAll``, stays hidden. The values are forgotten when the block ends. Not thread-safe.
    """
    session: Any = import_module("pyspark.sql.connect.session")  # slow, and not installed where DAGs are read
    require(CONNECT_SESSION)
    require(CONNECT_CONF)
    stock = session.RuntimeConf
    known: dict[Any, dict[str, str]] = {}
    session.RuntimeConf = _remembering(stock, known)
    try:
        yield
    finally:
        session.RuntimeConf = stock
        for configs in known.values():
            configs.clear()
        known.clear()


def _remembering(stock: Any, known: dict[Any, dict[str, str]]) -> Any:
    """
    Return a subclass of ``stock`` that remembers what was set.

    :param known: client of a session -> what was set; a client is equal only to itself
    """

    class RememberingConf(stock):  # type: ignore[misc]  # PySpark is not installed where types are checked
        def set(self, key: str, value: Any) -> None:
            super().set(key, value)
            self._remember({key: value})

        def _set_all(self, configs: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            super()._set_all(configs, *args, **kwargs)
            self._remember(configs)

        def get(self, key: str, *default: Any, **named: Any) -> Any:
            own = known.get(self._client, {}).get(key) if isinstance(key, str) else None
            if own is None:
                return super().get(key, *default, **named)
            found = super().get(key, None)
            return own if found is None else found

        def unset(self, key: str) -> None:
            super().unset(key)
            known.get(self._client, {}).pop(key, None)

        def _remember(self, configs: dict[str, Any]) -> None:
            known.setdefault(self._client, {}).update({key: _text(value) for key, value in configs.items()})

    return RememberingConf


def _text(value: Any) -> str:
    """Return a value as the string that Spark Connect sends."""
    return str(value).lower() if isinstance(value, bool) else str(value)
