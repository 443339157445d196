"""A spark-sql hook that delivers a resolved configuration without showing it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Self

from airflow.providers.apache.spark.hooks.spark_sql import SparkSqlHook

from airflow_config_providers.hooks.take_over import taken_over
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.spark.catalogue import MASTER
from airflow_config_providers.spark.delivery import Delivery, private_properties
from airflow_config_providers.spark.driver_ports import LOCAL_MASTER, authenticated, doubt_of_ports
from airflow_config_providers.spark.installation import SparkInstallation, doubt_of_defaults
from airflow_config_providers.spark.named_arguments import SQL
from airflow_config_providers.spark.processes import child_process
from airflow_config_providers.spark.processes.child_process import refusing_too_long
from airflow_config_providers.spark.processes.process_family import ProcessFamily
from airflow_config_providers.spark.processes.two_streams import TwoStreams


class ConfiguredSparkSqlHook(SparkSqlHook):
    """A ``SparkSqlHook`` that receives its configuration when it runs a query, and forgets it afterwards."""

    _delivery: Callable[[], Delivery]
    _job_run: Callable[[], JobRun]
    _family: ProcessFamily
    _process: Any = None
    _streams: TwoStreams | None = None

    @classmethod
    def of(
        cls,
        hook: SparkSqlHook,
        *,
        delivery: Callable[[], Delivery],
        run: Callable[[], JobRun],
    ) -> Self:
        """
        Return a hook with all the attributes of ``hook``.

        :param delivery: returns the configuration. It is called when a query runs, so killing a query needs no secret
        :param run: returns the run, whose values are not shown in the output of spark-sql, and whose ``withheld``
            variables it does not inherit
        :raises UnsupportedVersionError: the installed Spark provider lacks something that this class leans on
        """
        return taken_over(cls, hook, _delivery=delivery, _job_run=run, _family=ProcessFamily(), _conf=None)

    def run_query(self, cmd: str | list[str] = "", **kwargs: Any) -> None:
        """
        Run spark-sql; secrets go through a private properties file.

        :raises SubmitError: there is no spark-sql or no Java on this machine, or the command is too long for it
        """
        spark = SparkInstallation.of("spark-sql", os.environ)
        spark.require_command()
        environ = child_process.without(os.environ, self._job_run().withheld)
        delivery = self._delivery()
        master = self._master_with(delivery.configs, environ)
        delivery = authenticated(delivery, master)
        if delivery.private and (doubt := doubt_of_defaults(replace(spark, environ=environ))):
            self.log.warning(doubt)
        for doubt in filter(None, (delivery.doubt_of_yarn(master), doubt_of_ports(delivery))):
            self.log.warning(doubt)
        words: Any = cmd.split() if isinstance(cmd, str) else cmd  # the stock hook accepts both
        with refusing_too_long(), self._holding(delivery), ExitStack() as stack:
            self._streams = stack.enter_context(TwoStreams())
            pass_fds = self._streams.pass_fds
            if delivery.private:
                file = stack.enter_context(private_properties(delivery.private))
                words, pass_fds = [*words, "--properties-file", file.path], (*pass_fds, *file.pass_fds)
            super().run_query(words, pass_fds=pass_fds, **{"env": environ, **kwargs})

    def _master_with(self, configs: Mapping[str, str], environ: Mapping[str, str]) -> str:
        """Return the master, by the order of spark-sql: a connection without a host gives it no option."""
        return str(self._master or configs.get(MASTER) or environ.get("MASTER") or LOCAL_MASTER)

    def kill(self) -> None:
        """Kill spark-sql, and what it has started, such as the script of a ``TRANSFORM``."""
        with self._family.killed(self._sp):
            super().kill()

    @contextmanager
    def _holding(self, delivery: Delivery) -> Iterator[None]:
        """Hold the configuration while spark-sql runs; named arguments, which would beat it, are left to it."""
        given = delivery.configs
        before = {f"_{name}": getattr(self, f"_{name}") for name, key in SQL.keys.items() if key in given}
        try:
            vars(self).update(dict.fromkeys(before), _conf=dict(delivery.plain))
            yield
        finally:
            vars(self).update(before, _conf=None, _streams=None)

    def _prepare_command(self, cmd: str | list[str]) -> list[str]:
        command: list[str] = super()._prepare_command(cmd)
        return self._streams.command(command) if self._streams else command

    @property
    def _sp(self) -> Any:
        """The process. The stock hook logs its standard output."""
        return self._process

    @_sp.setter
    def _sp(self, process: Any) -> None:
        self._process = process
        if self._streams:
            process.stdout = self._streams.lines(process.stdout, (self._job_run().reverser,))
