"""A hook for ``SparkJDBCOperator`` that keeps the database's user, password and URL out of the command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from airflow.providers.apache.spark.hooks import spark_jdbc
from airflow.providers.apache.spark.hooks.spark_jdbc import SparkJDBCHook
from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY, SparkSubmitHook

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.sensitive import reveals
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ExposedValueError, refuse
from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook, has_connection
from airflow_config_providers.log.exceptions import reverse_exception
from airflow_config_providers.log.installation import reversing
from airflow_config_providers.masker import mask_secrets
from airflow_config_providers.spark.applications import jdbc
from airflow_config_providers.spark.delivery import Delivery, Submission

_PY_FILES: Final = "spark.submit.pyFiles"
_STOCK: Final = Path(spark_jdbc.__file__).with_name(f"{jdbc.STOCK}.py")

UNNAMED: Final = (SparkJDBCHook.default_conn_name, "spark-default")
"""The ``spark_conn_id`` of a hook, and of an operator, whose author has named none."""

_OF_CONNECTION: Final = frozenset(
    {
        "_connection",
        "_is_kubernetes",
        "_is_yarn",
        "_is_yarn_cluster_mode",
        "_should_track_driver_status",
        "spark_binary",
    }
)
"""What the stock hook takes from its connection."""


def at_named_connection(hook: SparkJDBCHook) -> SparkJDBCHook:
    """
    Return ``hook`` with the connection that ``spark_conn_id`` names.

    The stock hook always has that of ``spark_default``, and keeps it here if the other one does not exist. So does a
    hook of the author's own class, which could have put another one in its place.
    """
    if type(hook) is SparkJDBCHook and hook._conn_id not in UNNAMED and has_connection(hook):
        named = SparkSubmitHook(
            hook._conf,
            hook._conn_id,
            keytab=hook._keytab,
            principal=hook._principal,
            spark_binary=_own_binary(hook),
            yarn_queue=hook._yarn_queue,
            deploy_mode=hook._deploy_mode,
        )
        vars(hook).update({name: value for name, value in vars(named).items() if name in _OF_CONNECTION})
    return hook


def _own_binary(hook: SparkJDBCHook) -> str | None:
    """Return the program that the author of ``hook`` named; None for the usual one, and that of ``spark_default``."""
    own = hook.spark_binary
    return None if own == DEFAULT_SPARK_BINARY or own == SparkSubmitHook().spark_binary else own


class ConfiguredSparkJDBCHook(ConfiguredSparkSubmitHook, SparkJDBCHook):
    """
    A ``SparkJDBCHook`` whose job reads user, password and URL of the database from its Spark configuration.

    They come from the JDBC connection, unless the configuration has the keys of ``jdbc.KEYS``. If it has a URL, the job
    gets nothing from the connection. The hook forgets them when the job has ended.

    :ivar keeps_secrets: whether secrets of the JDBC connection must stay on this machine, because the driver resolves
    """

    keeps_secrets = False
    _credentials: Mapping[str, str] = {}
    _hides = ReverseTransformer({}, {})

    def submit_jdbc_job(self) -> None:
        """
        Submit the job. Logs and exceptions show neither the password nor the URL.

        :raises ExposedValueError: the driver resolves references, but a secret of the connection would be sent to it
        :raises SubmitError: there is no spark-submit or no Java on this machine
        :raises UndeliverableValueError: Spark would change a value
        """
        self._jdbc_connection = self._jdbc_connection or self._resolve_jdbc_connection()
        try:
            super().submit_jdbc_job()
        except BaseException as error:
            reverse_exception(error, self._hides)
            raise
        finally:
            self._jdbc_connection, self._credentials, self._hides = {}, {}, ReverseTransformer({}, {})

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Submit this package's application instead of the stock script."""
        with reversing(self._hides):
            return super().submit(jdbc.__file__, **kwargs)

    def _build_jdbc_application_arguments(self, jdbc_conn: dict[str, Any]) -> list[str]:
        given = super()._build_jdbc_application_arguments(jdbc_conn)
        words = dict(zip(given[::2], given[1::2], strict=True))
        found = {name: words.pop(f"-{name}") for name in jdbc.KEYS if f"-{name}" in words}
        self._credentials = {jdbc.KEYS[name]: value for name, value in found.items()}
        self._hides = ReverseTransformer({}, dict(_hidden(found, str(self._jdbc_conn_id))))
        return [word for pair in words.items() for word in pair]

    def _submitted(self) -> Submission:
        credentials = self._sent()
        if self.keeps_secrets:
            _refuse_secrets(credentials, str(self._jdbc_conn_id))
        submission = self._submission(self._conf, self.environment_prefix, credentials)
        # As in the stock operator, these fields have no effect here.
        arguments = {k: v for k, v in submission.arguments.items() if k not in {"application", "application_args"}}
        return replace(submission, delivery=_with_py_file(submission.delivery, str(_STOCK)), arguments=arguments)

    def _sent(self) -> dict[str, str]:
        """Return what the job gets from the connection: nothing for another database, which would get its password."""
        if jdbc.KEYS["url"] in self._conf:
            return {}
        return {key: value for key, value in self._credentials.items() if key not in self._conf}

    def _reversers(self) -> Sequence[ReverseTransformer]:
        return (*super()._reversers(), self._hides)


def _hidden(found: Mapping[str, str], conn_id: str) -> Iterator[tuple[ConfigVariable, str]]:
    """Yield what logs must not show. The user is not hidden, as in all of Airflow: it is often a common word."""
    for name, value in found.items():
        if name != "user":
            mask_secrets([value])
            yield ConfigVariable("", "", name, f"[hidden: {name} of connection {printable(conn_id)}]"), value


def _refuse_secrets(credentials: Mapping[str, str], conn_id: str) -> None:
    problems = [
        f"{key}: the driver resolves references, but connection {printable(conn_id)} has a secret for this key, which "
        f"would leave this machine. Set the key to a reference in spark_conf, or set resolve_in='worker'."
        for key, value in credentials.items()
        if key == jdbc.KEYS["password"] or reveals("", value)
    ]
    refuse(ExposedValueError, problems)


def _with_py_file(delivery: Delivery, path: str) -> Delivery:
    part = "private" if _PY_FILES in delivery.private else "plain"
    configs = getattr(delivery, part)
    files = ",".join(filter(None, [configs.get(_PY_FILES), path]))
    return replace(delivery, **{part: {**configs, _PY_FILES: files}})
