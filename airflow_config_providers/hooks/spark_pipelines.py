"""A spark-pipelines hook that delivers a resolved configuration without showing it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from airflow.providers.apache.spark.hooks.spark_pipelines import SparkPipelinesHook

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.hooks.spark_connect import WRITTEN_BY_SERVER, ConfiguredSparkConnectHook
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
from airflow_config_providers.job.handover import Handover
from airflow_config_providers.spark.applications import pipelines
from airflow_config_providers.spark.delivery import Delivery, Submission, private_properties
from airflow_config_providers.spark.installation import SparkInstallation

_REMOTE: Final = "spark.remote"

_OVERRIDDEN: Final = (
    f"{_REMOTE} of the configuration has no effect: SPARK_REMOTE in env_vars, or else the connection to Spark Connect, "
    f"names the server of a pipeline."
)


class ConfiguredSparkPipelinesHook(ConfiguredSparkSubmitHook, SparkPipelinesHook):  # type: ignore[misc]  # submit() returns a driver's id or None
    """
    A ``SparkPipelinesHook`` that holds references until it runs a pipeline, and forgets the values afterwards.

    Secrets go through a private properties file. With Spark Connect, that file has the whole configuration, and the
    address of the server with its token.

    :ivar config_conn_id: the connection that defines the providers for references in the Spark Connect connection
    """

    config_conn_id: str | None = None
    _connect: ConfiguredSparkConnectHook | None = None

    def submit_pipeline(self, **kwargs: Any) -> None:
        """
        Run spark-pipelines with the resolved configuration.

        :raises SubmitError: there is no spark-pipelines or no Java on this machine, or the command is too long for it
        """
        if self._streams is not None:  # the stock hook's submit() calls this, too
            super().submit_pipeline(**kwargs)
        elif not self._is_connected:
            self.submit(**kwargs)
        else:
            with self._connecting():
                self.submit(**kwargs)

    @property
    def _is_connected(self) -> bool:
        return bool(self._connection.get("spark_remote"))

    def _warn_of_copies(self, delivery: Delivery, spark: SparkInstallation) -> None:
        if not self._is_connected:
            super()._warn_of_copies(delivery, spark)
        elif delivery.has_secrets:
            self.log.warning(WRITTEN_BY_SERVER)

    @contextmanager
    def _connecting(self) -> Iterator[None]:
        """Resolve the connection to the server while the pipeline runs."""
        connection = self._connection
        with ConfiguredSparkConnectHook(self._conn_id, self.config_conn_id) as connect:
            self._connect = connect
            try:
                yield
            finally:
                self._connect, self._connection = None, connection

    def _get_spark_binary_path(self) -> list[str]:
        if not self._is_connected:
            found: list[str] = super()._get_spark_binary_path()
            return found
        return [sys.executable, "-P", "-m", pipelines.__name__, str(self._properties_file)]

    def _require_spark(self) -> SparkInstallation:
        if not self._is_connected:
            return super()._require_spark()
        return SparkInstallation(sys.executable, Path(sys.executable), os.environ)

    @contextmanager
    def _properties(self, submission: Submission) -> Iterator[tuple[int, ...]]:
        if self._connect is None:
            with super()._properties(submission) as pass_fds:
                yield pass_fds
            return
        configs = Handover(self._job_run()).session_configs(submission.delivery)
        if configs.pop(_REMOTE, ""):
            self.log.warning(_OVERRIDDEN)
        if "SPARK_REMOTE" not in (self._env_vars or {}):  # it overrides the connection, as in the stock hook
            configs[_REMOTE] = self._connect.get_connection_url()
        with private_properties(configs) as file:
            self._properties_file = file.path
            yield file.pass_fds

    def _build_spark_pipelines_command(self) -> list[str]:
        command: list[str] = super()._build_spark_pipelines_command()
        self._add_authors_environment()
        if self._is_connected:  # the stock hook would put the address of the server into the environment
            self._connection = {**self._connection, "spark_remote": None}
        return self._streams.command(command) if self._streams else command

    def _add_authors_environment(self) -> None:
        self._env = self._env or self._env_vars
        self._env_vars = None
        super()._add_authors_environment()

    def _reversers(self) -> Sequence[ReverseTransformer]:
        return (*super()._reversers(), *(self._connect.reversers if self._connect else ()))
