"""The spark-sql hook that delivers a resolved configuration without showing it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from airflow.providers.apache.spark.hooks.spark_sql import SparkSqlHook

from airflow_config_providers.core.properties import dump
from airflow_config_providers.spark.delivery import Delivery
from airflow_config_providers.spark.private_file import private_file


class ConfiguredSparkSqlHook(SparkSqlHook):
    """A ``SparkSqlHook`` that gets its configuration when it runs a query, and forgets it afterwards."""

    _delivery: Callable[[], Delivery]

    @classmethod
    def of(cls, hook: SparkSqlHook, *, delivery: Callable[[], Delivery]) -> Self:
        """
        Take over a hook with all that it was made with.

        :param delivery: gives the configuration; called when a query runs, so that killing one needs no secret
        """
        own = type(hook)
        kind: type[Self] = cls if issubclass(cls, own) else type(cls.__name__, (cls, own), {"__doc__": cls.__doc__})
        self = kind.__new__(kind)
        vars(self).update(vars(hook), _delivery=delivery, _conf=None)
        return self

    def run_query(self, cmd: str | list[str] = "", **kwargs: Any) -> None:
        """Run spark-sql; what nobody may see goes through a private properties file."""
        delivery = self._delivery()
        words: Any = cmd.split() if isinstance(cmd, str) else cmd  # the stock hook takes both
        self._conf = dict(delivery.plain)
        try:
            if not delivery.private:
                super().run_query(words, **kwargs)
                return
            with private_file(dump(delivery.private).encode("ascii")) as file:
                words = [*words, "--properties-file", file.path]
                super().run_query(words, pass_fds=file.pass_fds, **kwargs)
        finally:
            self._conf = None
            if self._sp is not None:
                self._sp.stdout.close()  # the stock hook leaves the pipe open
