"""What a task keeps of its tries: records, and the configuration of the job that a later try follows."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

import airflow

from airflow_config_providers import __version__, settings
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.text import one_line
from airflow_config_providers.exceptions import ConfigProvidersError, errno_meaning
from airflow_config_providers.foreign import has_supervisor
from airflow_config_providers.job.records.entries import job_key, packed, record_in, record_key
from airflow_config_providers.job.records.record import TaskTry, TryRecord, recorded, references_of
from airflow_config_providers.masker import masked

if TYPE_CHECKING:
    from airflow_config_providers.job.run import JobRun

Write = Callable[[str, Any], object]
"""Stores an entry under its key."""

Read = Callable[[str], Any]
"""Returns the entry under a key; None if there is none."""


@dataclass(slots=True)
class RecordKeeper:
    """
    Keeps the record of one try. Whatever fails, it only warns, once: the job is more important.

    :param store: the task's state store of Airflow 3.3
    :param push: pushes an XCom, where there is no such store
    :param log: the log of the task
    :param pull: pulls an XCom of the same task instance
    """

    store: Any = field(repr=False)
    push: Write | None = field(repr=False)
    log: Any = field(repr=False)
    record: TryRecord | None = field(default=None, repr=False)
    pull: Read | None = field(default=None, repr=False)
    _has_failed: bool = False

    @classmethod
    def of(cls, context: Any, log: Any) -> Self:
        """Return the keeper for the try that ``context`` belongs to; one that keeps nothing outside of Airflow."""
        if not has_supervisor():
            return cls(None, None, log)
        ti = context.get("ti")
        push = getattr(ti, "xcom_push", None)
        return cls(context.get("task_state_store"), push, log, pull=lambda key: _own_xcom(ti, key))

    def keep(self, make: Callable[[], TryRecord], reverser: ReverseTransformer) -> None:
        """Keep a record, with references in place of the values that ``reverser`` knows and stars for other secrets."""
        self._guarded(lambda: self._keep(without_values(make(), reverser)))

    def keep_refused(self, make: Callable[[], TryRecord], *, is_late: bool = False) -> None:
        """
        Keep the record of a try that was refused, unless the same try submitted a job before it was deferred.

        If it ``is_late``, the try has begun and goes on before a job: it has submitted one only if it kept its id.
        """
        self._guarded(lambda: self._keep_new(without_values(make(), _NOTHING), job_key if is_late else record_key))

    def keep_first(self, make: Callable[[], TryRecord], reverser: ReverseTransformer) -> None:
        """Do as ``keep``, unless the same try has left a record before."""
        self._guarded(lambda: self._keep_new(without_values(make(), reverser), record_key))

    def changed_keys(self, ti: Any, layered: LayeredConfig, reverser: ReverseTransformer) -> list[str] | None:
        """
        Return the keys whose values differ from those in the record that an earlier process of this try left.

        :return: in order; None if there is no such record
        """
        found: list[TryRecord | None] = []
        self._guarded(lambda: found.append(record_in(self._stored, TaskTry.of(ti))))
        if not found or found[0] is None:
            return None
        now = without_values(TryRecord(found[0].task, "", recorded(layered)), reverser)
        before, after = _winners(found[0]), _winners(now)
        return sorted(key for key in before.keys() | after.keys() if before.get(key, _NONE) != after.get(key, _NONE))

    def keep_job(self, job: object, reverser: ReverseTransformer) -> None:
        """Add the external id of the submitted job to the record."""
        if job is not None:
            self._guarded(lambda: self._keep_job(masked(reverser.reverse_text(str(job)))))

    def _keep(self, record: TryRecord) -> None:
        if self.record is not None:  # the job is restarted in the same try
            record = replace(record, at=self.record.at, restarts=self.record.restarts + 1)
        self.record = record
        self._write(packed(record))
        self._write_file(record)

    def _keep_new(self, record: TryRecord, key: Callable[[int], str]) -> None:
        if self._stored(key(record.task.try_number)) is None:
            self._keep(record)

    def _stored(self, key: str) -> Any:
        read = self.store.get if self.store is not None else self.pull
        return None if read is None else read(key)

    def _keep_job(self, job: str) -> None:
        if self.record is None:  # records are turned off, or this one could not be made
            return
        self.record = record = replace(self.record, job=job)
        self._write({job_key(record.task.try_number): job})
        self._write_file(record)

    def _write(self, entries: Mapping[str, Any]) -> None:
        write = self.store.set if self.store is not None else self.push
        if write is not None:
            for key, entry in entries.items():
                write(key, entry)

    def _write_file(self, record: TryRecord) -> None:
        if path := settings.records_path():
            from airflow_config_providers.job.records.files import RecordFiles

            RecordFiles(path).write(record)

    def _guarded(self, keep: Callable[[], object]) -> None:
        try:
            if settings.records_enabled():
                keep()
        except Exception as error:  # noqa: BLE001 - the job is more important
            if not self._has_failed:
                self.log.warning("The record of this try could not be kept: %s", _problem(error))
            self._has_failed = True


def _problem(error: Exception) -> str:
    """Return what an error says, if it is of this package or the system's; the text of any other can have a value."""
    if isinstance(error, ConfigProvidersError):
        return " ".join(error.problems)
    return errno_meaning(error) or type(error).__name__


def _own_xcom(ti: Any, key: str) -> Any:
    """Return an XCom of the task instance; without ``map_indexes``, it would be those of all mapped ones."""
    pull = getattr(ti, "xcom_pull", None)
    return None if pull is None else pull(key=key, map_indexes=ti.map_index)


def _winners(record: TryRecord) -> dict[str, str | None]:
    return {key: values[0].value for key, values in record.configs.items()}


_NONE: Final = "\0"
"""What no key has as its value, unlike None, which a plaintext secret has."""

_NOTHING = ReverseTransformer({}, {})


def without_values(record: TryRecord, reverser: ReverseTransformer) -> TryRecord:
    """Return ``record`` with references in place of values, and with stars for other secrets that Airflow knows."""

    def reversed_text(text: str) -> str:
        return reverser.reverse_text(text) if reverser else text

    return record.clean(reversed_text, lambda text: masked(reversed_text(text)))


def submitted_try(ti: Any, run: JobRun, *, spark: str | None) -> TryRecord:
    """Return the record of a try that submits a job; parameters as for ``versions``."""
    from airflow_config_providers.job.sealed_values import ValueHashes

    hashes, record = ValueHashes.of_deployment(), _begun(ti, run.resolved.layered, spark)
    known = hashes.of(run.reverser, record.unversioned)
    return replace(
        record,
        references={**record.references, **known},
        key_id=hashes.key_id,
        policies=run.verdict.allowed_by,
        notes=(*run.verdict.warnings, *([hashes.reason] if known and hashes.reason else [])),
    )


def refused_try(ti: Any, layered: LayeredConfig | None, problems: Sequence[str], *, spark: str | None) -> TryRecord:
    """Return the record of a try that is refused before its job is submitted."""
    return replace(_begun(ti, layered or LayeredConfig([]), spark), problems=tuple(problems))


def _begun(ti: Any, layered: LayeredConfig, spark: str | None) -> TryRecord:
    installed = versions(ti, spark)
    return TryRecord(
        TaskTry.of(ti),
        datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        recorded(layered),
        references_of(layered),
        versions=installed,
        dag_file=_dag_file(ti) if "bundle_version" in installed else "",
    )


def _dag_file(ti: Any) -> str:
    dag = getattr(getattr(ti, "task", None), "dag", None)
    return str(getattr(dag, "fileloc", None) or "")


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


STATE_KEY: Final = "config_providers_submitted"
"""The key in the task's state store that holds the configuration of its job, with references."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SubmittedConfig:
    """
    The configuration with which a job was submitted.

    :param conf: key -> string with references
    :param lines: the ``effective_config`` at that time
    :param sealed: its values, sealed with ``ValueSeal``; None if they are not kept
    :param try_number: the try that submitted it; None if an earlier version of this package did
    """

    conf: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    sealed: str | None = None
    try_number: int | None = None

    @classmethod
    def read(cls, state: Any, job: Any) -> Self | None:
        """Return the configuration in ``state``, which others can write; None if it does not belong to ``job``."""
        if not isinstance(state, dict) or state.get("job") != job:
            return None
        conf, lines = state.get("conf"), state.get("lines")
        if not isinstance(conf, dict) or not isinstance(lines, list):
            return None
        shown = {key: str(text) for key, text in conf.items()}
        number = state.get("try")
        by = number if type(number) is int else None
        return cls(shown, [one_line(str(line)) for line in lines], state.get("sealed"), by)

    def state(self, job: Any) -> dict[str, Any]:
        """Return the entry for the task's state store, which Airflow does not mask."""
        conf = {key: masked(text) for key, text in self.conf.items()}
        sealed = {} if self.sealed is None else {"sealed": self.sealed}
        by = {} if self.try_number is None else {"try": self.try_number}
        return {"job": job, "conf": conf, "lines": list(map(masked, self.lines)), **sealed, **by}

    @property
    def layered(self) -> LayeredConfig:
        """The configuration, already settled."""
        return LayeredConfig([ConfigLayer(ConfigSource.DAG_CONFIG, "the job", self.conf)])
