"""A Spark Connect hook whose connection can hold references."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Final, Self

from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import BaseHook, Connection
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import is_unicode, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, UndeliverableValueError, refuse
from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from airflow_config_providers.log.exceptions import reverse_exception
from airflow_config_providers.log.installation import reversing
from airflow_config_providers.masker import mask_secrets

WRITTEN_BY_SERVER: Final = (
    "The server of Spark Connect writes what a session sets into its event log, whatever its redaction hides. "
    "See 'Spark Connect' in the documentation."
)
"""What the task log warns of if the configuration of a session has secrets."""

_FIELDS: Final = ("host", "login", "password")


class ConfiguredSparkConnectHook(SparkConnectHook):
    """
    A ``SparkConnectHook`` that resolves references in host, user, token and extra of its connection.

    Inside its ``with`` block, logs and exceptions show references in place of values, and leases of providers stay
    valid. Without a ``with`` block, it ends leases as soon as it has read the values.

    :param conn_id: a connection of type ``spark_connect``
    :param config_conn_id: the connection that defines the providers; None for the default of the deployment
    """

    def __init__(self, conn_id: str = SparkConnectHook.default_conn_name, config_conn_id: str | None = None) -> None:
        super().__init__(conn_id)
        self._config_conn_id = config_conn_id
        self._stack: ExitStack | None = None
        self._reversers: list[ReverseTransformer] = []
        self._given: dict[str, Connection] = {}

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            for reverser in self._reversers:
                reverse_exception(error, reverser)
        self.close()

    def close(self) -> None:
        """End leases, and stop reversing."""
        self._reversers.clear()
        self._given.clear()
        if self._stack is not None:
            self._stack.close()
            self._stack = None

    @property
    def reversers(self) -> Sequence[ReverseTransformer]:
        """The reversers for the values that were resolved in this ``with`` block."""
        return tuple(self._reversers)

    @clearing_frames
    def get_connection_url(self) -> str:
        """Return the URL for ``SparkSession.builder.remote``, in which a value may not contain a slash."""
        address, mark, parameters = super().get_connection_url().partition("/;")
        return address + mark + parameters.replace("/", "%2F")

    @clearing_frames
    def get_connection(self, conn_id: str) -> Connection:  # type: ignore[override]  # uses the providers of this object
        """
        Return the connection with values in place of references. In a ``with`` block, they are resolved only once.

        :raises ConfigProvidersError: a reference cannot be resolved
        """
        connection = self._given.get(conn_id) or self._resolved(conn_id)
        if self._stack is not None:
            self._given[conn_id] = connection
        return connection

    def _resolved(self, conn_id: str) -> Connection:
        connection = BaseHook.get_connection(conn_id)
        extra = _extra(connection)
        texts = {name: getattr(connection, name) for name in _FIELDS} | {f"extra[{k!r}]": v for k, v in extra.items()}
        texts = {name: text for name, text in texts.items() if isinstance(text, str)}
        _refuse_halves(texts)
        texts = {name: text for name, text in texts.items() if scan(text)}
        if not texts:
            return connection
        values = self._values(texts)
        resolved = {name: values.get(name, getattr(connection, name)) for name in _FIELDS}
        extra = {key: values.get(f"extra[{key!r}]", value) for key, value in extra.items()}
        kept: dict[str, Any] = {"conn_type": connection.conn_type, "schema": connection.schema, "port": connection.port}
        return Connection(conn_id=conn_id, extra=json.dumps(extra), **resolved, **kept)

    def _values(self, texts: dict[str, str]) -> dict[str, str]:
        with ExitStack() as own:
            stack = own if self._stack is None else self._stack
            conn_id = settings.config_conn_id(self._config_conn_id)
            providers = stack.enter_context(ConfigProvidersHook(conn_id).on_demand())
            resolved = ConfigResolver(providers, options=settings.fetch_options()).resolve([], texts)
            stack.callback(resolved.clear)
            if stack is self._stack:
                self._reversers.append(resolved.reverser)
            stack.enter_context(reversing(resolved.reverser))
            mask_secrets(resolved.values())
            values = {name: resolved.text(name) for name in texts}
            _refuse_halves(values)
            return values


def _extra(connection: Connection) -> dict[str, Any]:
    with suppress(RecursionError):
        extra: dict[str, Any] = connection.extra_dejson
        return extra
    raise ConfigException(
        f"The extra of connection '{printable(str(connection.conn_id))}' is nested too deeply. Flatten it."
    )


def _refuse_halves(values: Mapping[str, str]) -> None:
    """Refuse strings that cannot be in a URL: the error of the code that builds it would contain the value."""
    problems = [
        f"{printable(name)}: its value contains half of a surrogate pair, which is not a character. Correct the stored "
        f"value."
        for name, value in values.items()
        if not is_unicode(value)
    ]
    refuse(UndeliverableValueError, problems)
