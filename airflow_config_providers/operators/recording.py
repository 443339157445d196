"""The records that the tries of an operator leave."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import airflow

from airflow_config_providers import __version__
from airflow_config_providers.operators.reloading import ReloadingOperator

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import LayeredConfig
    from airflow_config_providers.job.record import TryRecord
    from airflow_config_providers.operators.record_keeper import RecordKeeper


class RecordingOperator(ReloadingOperator):
    """A base of ``ConfiguredOperator``, of which each try leaves a record of its configuration, without values."""

    _record_keeper: RecordKeeper | None = None  # while execute runs
    _kept_record: TryRecord | None = None  # afterwards

    def _reloading(self, context: Any, run: Callable[[], Any]) -> Any:
        from airflow_config_providers.operators.record_keeper import RecordKeeper

        self._record_keeper = keeper = RecordKeeper.of(context, self.log)
        self._keep_record(context)
        try:
            return super()._reloading(context, run)
        finally:
            self._kept_record, self._record_keeper = keeper.record, None

    def _job_spark(self) -> str | None:
        """Return the version of the Spark that runs the job; None if it is not known here."""
        raise NotImplementedError

    def _keep_record(self, context: Any) -> None:
        if self._record_keeper is not None:
            self._record_keeper.keep(lambda: self._try_record(context), self._job_run.reverser)

    def _keep_job(self, job: object) -> None:
        """Add the external id of the submitted job to the record of this try."""
        if self._record_keeper is not None:
            self._record_keeper.keep_job(job, self._job_run.reverser)

    def _keep_refused(self, context: Any, layered: LayeredConfig | None, problems: Sequence[str]) -> None:
        """Keep the record of a try that is refused before its job is submitted."""
        from airflow_config_providers.core.layers import LayeredConfig
        from airflow_config_providers.operators.record_keeper import RecordKeeper

        keeper = RecordKeeper.of(context, self.log)
        keeper.keep_refused(
            lambda: replace(self._begun(context, layered or LayeredConfig([])), problems=tuple(problems))
        )

    def _try_record(self, context: Any) -> TryRecord:
        from airflow_config_providers.job.sealed_values import ValueHashes

        run, hashes = self._job_run, ValueHashes.of_deployment()
        record = self._begun(context, run.layered)
        known = hashes.of(run.reverser)
        return replace(
            record,
            references={**record.references, **known},
            key_id=hashes.key_id,
            policies=run.allowed_by,
            notes=(hashes.reason,) if known and hashes.reason else (),
        )

    def _begun(self, context: Any, layered: LayeredConfig) -> TryRecord:
        from airflow_config_providers.job.record import TaskTry, TryRecord, recorded, references_of

        ti = context.get("ti")
        return TryRecord(
            TaskTry.of(ti),
            datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
            recorded(layered),
            references_of(layered),
            versions=versions(ti, self._job_spark()),
        )


def versions(ti: Any, spark: str | None) -> dict[str, str]:
    """
    Return name -> version: of this package, Airflow, Spark, and the DAG with its bundle, as far as they are known.

    :param ti: the task instance that runs
    :param spark: the version of the Spark that runs the job
    """
    bundle = getattr(ti, "bundle_instance", None)
    found = {
        "airflow-config-providers": __version__,
        "apache-airflow": getattr(airflow, "__version__", ""),  # its metadata takes 3 ms to parse
        "spark": spark,
        "dag": getattr(ti, "dag_version_id", None),
        "bundle": getattr(bundle, "name", None),
        "bundle_version": getattr(bundle, "version", None),
    }
    return {name: str(version) for name, version in found.items() if version}
