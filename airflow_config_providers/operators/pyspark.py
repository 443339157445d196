"""``PySparkOperator`` and ``@task.pyspark`` with layers and references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.airflow_compat import BaseHook
from airflow_config_providers.operators.configured import ConfiguredOperator
from airflow_config_providers.spark.redaction import REDACTION_KEY

if TYPE_CHECKING:
    from airflow_config_providers.spark.delivery import Delivery

_CONNECT: Final = "spark_connect"
"""The type of a connection to a Spark Connect server, which gets its configuration and starts no JVM here."""

_REMOTE: Final = "spark.remote"
_SERVER: Final = "sc://"


class PySparkMixin(ConfiguredOperator):
    """
    A mixin for ``PySparkOperator``. The function gets values, and so does Spark, through a private file.

    A connection to Spark Connect can hold references too; its server gets the values with the session, and
    ``spark.conf.get`` returns them even if the server hides them.

    What the function returns shows references.
    """

    conn_id: str | None
    config_kwargs: Mapping[str, Any]

    def execute_callable(self) -> Any:
        """Call the function with a session whose secrets are in no command."""
        from airflow_config_providers.log.descriptors import guarded_descriptors
        from airflow_config_providers.operators.execution import check_added
        from airflow_config_providers.spark import jvm
        from airflow_config_providers.spark.driver_ports import LOCAL_MASTER

        check_added(self, self.config_kwargs)
        delivery = self._try_state.handover.delivery(self.config_kwargs, in_process=True)
        with guarded_descriptors(self._try_state.run.reverser):
            connection = BaseHook.get_connection(self.conn_id) if self.conn_id else None
            if connection and connection.conn_type == _CONNECT:
                return self._call_connected(str(self.conn_id), delivery)
            settings = _settings(connection, delivery.configs)
            if (url := str(settings.get(_REMOTE) or "")).startswith(_SERVER):  # no JVM would read the private file
                return self._call_on_server(url, connection.extra_dejson if connection else {}, delivery)
            has_jvm = jvm.has_started()
            seen = settings if has_jvm else _settings(connection, delivery.plain)
            master = _master(connection, seen) or LOCAL_MASTER
            delivery, of_ports = _with_closed_ports(delivery, master, settings)
            for doubt in filter(None, (delivery.doubt_of_yarn(master), of_ports)):
                self.log.warning(doubt)
            if has_jvm:
                return self._call(delivery.configs)
            with jvm.launching_without(self._try_state.run.withheld), jvm.submitting(delivery):
                return self._call(dict(delivery.plain))

    def _call_connected(self, conn_id: str, delivery: Delivery) -> Any:
        from airflow_config_providers.hooks.spark_connect import ConfiguredSparkConnectHook

        with ConfiguredSparkConnectHook(conn_id, self.config_conn_id) as hook:
            url, extra = hook.get_connection_url(), hook.get_connection(conn_id).extra_dejson
            return self._call_on_server(url, extra, delivery)

    def _call_on_server(self, url: str, extra: Mapping[str, Any], delivery: Delivery) -> Any:
        """Call the function with a session of the server at ``url``; ``extra`` has what the connection sets."""
        from airflow_config_providers.hooks.spark_connect import WRITTEN_BY_SERVER
        from airflow_config_providers.spark.connect_conf import giving_back_what_was_set

        if delivery.has_secrets:
            self.log.warning(WRITTEN_BY_SERVER)
        of_connection = {key: value for key, value in extra.items() if key != REDACTION_KEY}
        configs = {**of_connection, **self._try_state.handover.session_configs(delivery), _REMOTE: url}
        conn_id, self.conn_id = self.conn_id, None  # configs has everything from the connection
        try:
            with giving_back_what_was_set():
                return self._call(configs)
        finally:
            self.conn_id = conn_id

    def _call(self, configs: Mapping[str, Any]) -> Any:
        self.config_kwargs = configs
        return super().execute_callable()  # type: ignore[misc]  # of the operator


def _settings(connection: Any, configs: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what the stock operator sets, in its order: the extra of a connection, its server, and the task's keys."""
    if connection is None:
        return configs
    host = str(connection.host or "")
    url = f"{host}:{connection.port}" if connection.port else host
    return {**connection.extra_dejson, **({_REMOTE: url} if host.startswith(_SERVER) else {}), **configs}


def _with_closed_ports(delivery: Delivery, master: str, settings: Mapping[str, Any]) -> tuple[Delivery, str]:
    """Return ``delivery`` with what closes the ports of its driver, and the warning if they stay open."""
    from airflow_config_providers.spark import driver_ports, jvm

    if (running := jvm.of_context()) is not None:
        return delivery, driver_ports.doubt_of_context(delivery, settings, running)
    delivery = driver_ports.authenticated(delivery, master, settings)
    return delivery, driver_ports.doubt_of_ports(delivery, settings)


def _master(connection: Any, settings: Mapping[str, Any]) -> str:
    """
    Return the master, by the order of the stock operator; empty for its default.

    With ``spark.remote``, that is a master on this machine.

    :param settings: what the operator sees: it names a master for a JVM that is yet to read the private file
    """
    from airflow_config_providers.spark.catalogue import MASTER

    found = settings.get(_REMOTE) or settings.get(MASTER) or (connection and connection.host)
    return str(found or "")
