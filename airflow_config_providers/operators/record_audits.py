"""The operators that audit the records of past runs on Spark. They need no right to read Airflow's database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import BaseOperator
from airflow_config_providers.core.text import counted, one_line, printable, several
from airflow_config_providers.deployment.audits import (
    RecordsChoice,
    problems_of,
    record_reader,
    require_no_connection,
    scope_of_records,
)
from airflow_config_providers.exceptions import ConfigException, PolicyViolation
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.spark.audit.html_page import AuditScope
from airflow_config_providers.spark.audit.records import history_audit, policy_audit, reference_audit
from airflow_config_providers.spark.audit.records.history_audit import (
    KINDS,
    UNKNOWN,
    WITHOUT_DATABASE,
    KnownElsewhere,
    drift_of,
    history_of,
)
from airflow_config_providers.spark.audit.records.past_records import PastRecords, RecordFilter
from airflow_config_providers.spark.audit.records.policy_audit import PastPolicies, StoppedRuns, stopped_runs
from airflow_config_providers.spark.audit.records.reference_audit import reference_rows, reference_uses
from airflow_config_providers.spark.audit.report_file import (
    HISTORY,
    POLICY,
    REFERENCE,
    require_places,
    write_findings,
    write_page,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_MOST_LOGGED: Final = 100
"""The most findings in the log of the task; the others are only counted there."""


@dataclass(frozen=True, slots=True)
class _Read:
    """The records that a task is about, on Spark, and those that they are compared with."""

    session: SparkSession
    records: PastRecords
    there: PastRecords | None
    scope: AuditScope

    @property
    def unread_count(self) -> int:
        """How many files have no record."""
        return self.records.unread_count + (self.there.unread_count if self.there else 0)


class _RecordsAuditOperator(BaseOperator):
    """
    Reads the records of past runs, on Spark.

    :param records: the folder of the records, in any place that Spark can read (templated); None for
        ``[config_providers] records_path``
    :param parquet: a folder that keeps what was read, so that the next audit reads only what is new (templated)
    :param since: the first day, such as ``2026-11-01`` (templated); None for all
    :param only_dag: the id of the only DAG that the audit is about (templated); None for all
    :param report: an HTML file to write (templated)
    :param output_parquet: a Parquet file to write, with the findings (templated)
    :param master: Spark's master; None for the one of ``spark-defaults.conf``, or else this machine
    :param spark_conf: configuration of the Spark job
    :raises ConfigException: a parameter is wrong, or Spark does not start
    :raises ProviderUnavailableError: Spark cannot read the records
    """

    template_fields: Sequence[str] = ("records", "parquet", "since", "only_dag", "report", "output_parquet")

    def __init__(  # noqa: PLR0913 - the parameters of an operator
        self,
        *,
        records: str | None = None,
        parquet: str | None = None,
        since: str | None = None,
        only_dag: str | None = None,
        report: str | None = None,
        output_parquet: str | None = None,
        master: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.records = records
        self.parquet = parquet
        self.since = since
        self.only_dag = only_dag
        self.report = report
        self.output_parquet = output_parquet
        self.master = master
        self.spark_conf = dict(spark_conf or {})

    @contextmanager
    def _read(self, against: str | None = None) -> Iterator[_Read]:
        """Yield the records, and those ``against`` which they are compared, and log what could not be read."""
        require_places(self.report, self.output_parquet)
        path = self.records or settings.records_path()
        if not path:
            raise ConfigException(
                "No records are known. Name their folder in records=..., or set [config_providers] records_path."
            )
        for one in (path, against or ""):
            require_no_connection(one)
        with record_reader(self.parquet or "", self.master, self.spark_conf) as reader:
            records = reader.of_files(path, self._filter)
            there = reader.of_files(against, self._filter) if against else None
            problems = [*problems_of(records), *(problems_of(there, against or "") if there else ())]
            for problem in problems:
                self.log.warning("%s", problem)
            choice = RecordsChoice(path, self.parquet, self.since, self.only_dag)
            scope = scope_of_records(choice, records, self._chosen(), there=there, notes=problems)
            yield _Read(reader.session, records, there, scope)

    def _chosen(self) -> list[tuple[str, object]]:
        """Return what else was chosen, for the page."""
        return []

    @property
    def _filter(self) -> RecordFilter:
        try:
            return RecordFilter.of(self.since, self.only_dag)
        except ValueError:
            problem = printable(str(self.since))
        raise ConfigException(f"since='{problem}' is not a day. Write it as 2026-11-01.")

    def _write(self, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], page: Callable[[], str]) -> None:
        for row in rows[:_MOST_LOGGED]:
            self.log.info("%s", one_line("; ".join(f"{name}: {row[name]}" for name in columns if row[name])))
        if len(rows) > _MOST_LOGGED:
            self.log.info("and %s more", len(rows) - _MOST_LOGGED)
        if self.output_parquet:
            write_findings(self.output_parquet, rows, columns)
        if self.report:
            write_page(self.report, page())


class ConfigHistoryAuditOperator(_RecordsAuditOperator):
    """
    Finds what differs between runs, DAGs and environments, what has no effect, and what failures have in common.

    The task returns numbers: ``findings``, ``runs``, ``changes`` and ``unread``. The log has the first findings. A task
    does not know which runs Airflow says have failed, nor dynamic configuration that no run had: the command does.

    :param against: the folder of the records of another environment (templated); None to compare none
    :param kinds: the kinds of findings; None for all
    :raises ConfigException: one of them does not exist
    """

    template_fields: Sequence[str] = (*_RecordsAuditOperator.template_fields, "against")

    def __init__(self, *, against: str | None = None, kinds: Sequence[str] | str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.against = against
        self.kinds = several(kinds or KINDS)
        if unknown := sorted(set(self.kinds).difference(KINDS)):
            raise ConfigException(f"There are no findings of the kinds {unknown}. The kinds are {', '.join(KINDS)}.")

    @failing_at_once
    def execute(self, context: Any) -> dict[str, int]:
        """
        Audit, and return the numbers.

        :raises ConfigException: a parameter is wrong, or Spark does not start
        :raises ProviderUnavailableError: Spark cannot read the records
        """
        with self._read(self.against) as read:
            there = read.there.frame if read.there else None
            with history_of(read.session, read.records.frame, KnownElsewhere(), there) as history:
                rows = history.findings(self.kinds)
                drift = drift_of(history.runs, history.changes)
        self.log.info("%s", WITHOUT_DATABASE)
        scope = replace(read.scope, unknown=UNKNOWN)
        self._write(rows, HISTORY, partial(history_audit.page, rows, drift, scope))
        return {
            "findings": len(rows),
            "runs": drift.runs,
            "changes": drift.changes,
            "unread": read.unread_count,
        }

    def _chosen(self) -> list[tuple[str, object]]:
        kinds = None if self.kinds == list(KINDS) else self.kinds
        return [("compared with", self.against), ("kinds of findings", kinds)]


class ConfigPolicyAuditOperator(_RecordsAuditOperator):
    """
    Finds the past runs that policies would have stopped.

    The task returns numbers: ``stopped``, ``warned``, ``runs``, ``unjudged`` and ``unread``. The log has the first
    findings.

    :param policies: the file of policies; not templated, so that a run cannot choose it
    :param fail_on_stopped: whether the task fails if a run would have been stopped, or could not be judged. By default
        not, unlike the command, which ends with 1, and ``ConfigAuditOperator``: the policies are not in force yet, so
        that what they would stop is news and no failure
    """

    def __init__(self, *, policies: str, fail_on_stopped: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.policies = policies
        self.fail_on_stopped = fail_on_stopped

    @failing_at_once
    def execute(self, context: Any) -> dict[str, int]:
        """
        Audit, and return the numbers.

        :raises PolicyViolation: a run would have been stopped, and ``fail_on_stopped`` is set
        :raises ConfigException: a parameter or a policy is wrong, or Spark does not start
        :raises ProviderUnavailableError: Spark cannot read the records
        """
        asked = PastPolicies.read(self.policies, settings.allowed_policy_classes())
        with self._read() as read:
            stopped = stopped_runs(read.session, read.records.frame, asked.verdicts)
        for file, problem in stopped.unjudged.items():
            self.log.warning("%s was not judged: %s", one_line(file), problem)
        self._write(stopped.rows_with({}), POLICY, partial(policy_audit.page, stopped, {}, read.scope))
        self.log.info("%s", policy_audit.summary(stopped))
        self._judge(stopped, read.unread_count)
        return {
            "stopped": stopped.runs,
            "warned": stopped.warned,
            "runs": stopped.all_runs,
            "unjudged": len(stopped.unjudged),
            "unread": read.unread_count,
        }

    def _chosen(self) -> list[tuple[str, object]]:
        return [("policies", self.policies)]

    def _judge(self, stopped: StoppedRuns, unread: int) -> None:
        if self.fail_on_stopped and (stopped.runs or stopped.unjudged or unread):
            raise PolicyViolation(
                f"{policy_audit.summary(stopped)} {counted(len(stopped.unjudged) + unread, 'record')} could not be "
                f"judged. The log of the task says which policies would have stopped what, and why."
            )


class ConfigReferenceAuditOperator(_RecordsAuditOperator):
    """
    Finds who uses which reference, and who still has an older value.

    The task returns numbers: ``references``, ``older``, ``shared``, ``unused`` and ``unread``. The log has the first
    references.

    :param known: references that are listed even if no record has them
    """

    def __init__(self, *, known: Sequence[str] | str = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.known = several(known)

    @failing_at_once
    def execute(self, context: Any) -> dict[str, int]:
        """
        Audit, and return the numbers.

        :raises ConfigException: a parameter is wrong, or Spark does not start
        :raises ProviderUnavailableError: Spark cannot read the records
        """
        with self._read() as read:
            rows = reference_rows(reference_uses(read.session, read.records.frame), self.known)
        self._write(rows, REFERENCE, partial(reference_audit.page, rows, read.scope))
        return {
            "references": len(rows),
            "older": sum(bool(row["older"]) for row in rows),
            "shared": sum(len(row["dags"]) > 1 for row in rows),
            "unused": sum(not row["runs"] for row in rows),
            "unread": read.unread_count,
        }
