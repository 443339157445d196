"""The operator that audits a deployment on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import BaseOperator
from airflow_config_providers.core.errors import clearing_frames
from airflow_config_providers.core.text import one_line, several
from airflow_config_providers.core.variable import ConfigVariable, variables
from airflow_config_providers.deployment.audits import scope_of_leaks
from airflow_config_providers.deployment.database_tables import database_of_connection
from airflow_config_providers.deployment.known_secrets import (
    KnownSecrets,
    references_in_files,
    resolved_secrets,
    search_for,
    without_excepted,
)
from airflow_config_providers.exceptions import ConfigException, LeakError
from airflow_config_providers.job.providers import ProvidersConnection
from airflow_config_providers.masker import mask_secrets
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakRequest
from airflow_config_providers.spark.audit.leaks.leak_report import LeakReport, page, summary
from airflow_config_providers.spark.audit.report_file import LEAK, require_places, write_findings, write_page


class ConfigAuditOperator(BaseOperator):
    """
    Searches files, and Airflow's own database, for the values of references, on Spark, and fails if it finds one.

    The task returns a summary: ``files``, ``octets``, ``leaks``, ``accepted``, ``unread``, with ``reversed_copy``
    also ``uncopied`` and, of a database, ``rows``, which are numbers. The log names each leak by file, line and
    reference, and never shows a value.

    :param paths: the files and folders to search, also in object storage, such as ``s3://conn_id@bucket/logs``
        (templated)
    :param references: the references to search for; not templated, so that a run cannot choose them. Those in the
        records below ``[config_providers] records_path`` are added
    :param except_references: patterns of references that are no secrets and are left out, such as
        ``${vault:apps/*:user}``; ``*`` is any text (not templated either)
    :param config_conn_id: the connection that defines the providers; None for the default of the deployment
    :param baseline: a file with accepted leaks (templated)
    :param state: a folder that keeps what was searched, so that the next audit reads only what is new (templated)
    :param reversed_copy: a folder for copies with references in place of the values (templated)
    :param report: an HTML file to write (templated)
    :param output_parquet: a Parquet file to write, with the leaks (templated)
    :param fail_on_leaks: whether the task fails if there are leaks, or if something could not be read
    :param fingerprints: files with fingerprints of values, as ``audit leaks --write-fingerprints`` writes (templated)
    :param tokens: whether tokens of well-known formats are found, too
    :param master: Spark's master; None for the one of ``spark-defaults.conf``, or else this machine
    :param spark_conf: configuration of the Spark job
    :param database_conn_id: a connection to Airflow's own database, whose text is searched, too; None to leave it
        out. A task has no other access to it, and the user of this connection need only read. PostgreSQL, MySQL or,
        with the path of the file as its host, SQLite
    """

    template_fields: Sequence[str] = (
        "paths",
        "baseline",
        "state",
        "reversed_copy",
        "report",
        "output_parquet",
        "fingerprints",
    )

    def __init__(  # noqa: PLR0913 - the parameters of an operator
        self,
        *,
        paths: Sequence[str] | str,
        references: Sequence[str] | str = (),
        except_references: Sequence[str] | str = (),
        config_conn_id: str | None = None,
        baseline: str | None = None,
        state: str | None = None,
        reversed_copy: str | None = None,
        report: str | None = None,
        output_parquet: str | None = None,
        fingerprints: Sequence[str] | str = (),
        tokens: bool = False,
        fail_on_leaks: bool = True,
        master: str | None = None,
        spark_conf: Mapping[str, str] | None = None,
        database_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.paths = paths
        self.references = several(references)
        self.except_references = several(except_references)
        self.config_conn_id = config_conn_id
        self.baseline = baseline
        self.state = state
        self.reversed_copy = reversed_copy
        self.report = report
        self.output_parquet = output_parquet
        self.fingerprints = fingerprints
        self.tokens = tokens
        self.fail_on_leaks = fail_on_leaks
        self.master = master
        self.spark_conf = dict(spark_conf or {})
        self.database_conn_id = database_conn_id

    @failing_at_once
    @clearing_frames
    def execute(self, context: Any) -> dict[str, int]:
        """
        Search, and return the summary.

        :raises LeakError: there are leaks, or not everything could be read
        :raises ConfigException: no reference is known, or none has a value
        """
        require_places(self.report, self.output_parquet)
        notes: list[str] = []
        known, request = self._known(), self._request()
        found = self._searched(known, request, notes)
        self._log_found(found)
        if self.report:
            references_in = ["the operator"] * bool(self.references) + ["records below records_path"]
            scope = scope_of_leaks(request, known, references_in, notes=notes)
            write_page(self.report, page(found, scope))
        if self.output_parquet:
            write_findings(self.output_parquet, [leak.row() for leak in found.leaks], LEAK)
        if self.fail_on_leaks and (found.leaks or not found.is_complete):
            raise LeakError(f"{summary(found)} The task log names each, and what could not be read or resolved.")
        return {
            "files": found.files,
            "octets": found.octets,
            "leaks": len(found.leaks),
            "accepted": found.accepted,
            "unread": len(found.unread),
            **({} if self.reversed_copy is None else {"uncopied": len(found.uncopied)}),
            **({} if self.database_conn_id is None else {"rows": found.rows}),
        }

    def _searched(self, known: KnownSecrets, request: LeakRequest, notes: list[str]) -> LeakReport:
        """Search, and add to ``notes`` what is not searched for, which the log has, too."""
        mask_secrets([one.value for one in known.secrets])

        def tell(note: str) -> None:
            self.log.warning("%s", note)
            notes.append(note)

        return search_for(known, request, tell)

    def _log_found(self, found: LeakReport) -> None:
        for leak in found.leaks:
            details = ", ".join(filter(None, (one_line(leak.column), leak.encoding, leak.id)))
            self.log.error("%s:%s: %s (%s)", one_line(leak.file), leak.line, leak.reference, details)
        for path, reason in found.unread.items():
            self.log.error("%s was not searched, or not all of it: %s", one_line(path), reason)
        for path, reason in found.uncopied.items():
            self.log.error("%s has no copy: %s", one_line(path), reason)
        self.log.info("%s", summary(found))

    def _request(self) -> LeakRequest:
        return LeakRequest(
            several(self.paths),
            self.baseline,
            state=self.state,
            reversed_copy=self.reversed_copy,
            master=self.master,
            configs=self.spark_conf,
            database=None if self.database_conn_id is None else database_of_connection(self.database_conn_id),
            fingerprints=several(self.fingerprints),
            tokens=self.tokens,
            excepted=self.except_references,
        )

    def _known(self) -> KnownSecrets:
        references = self._all_references()
        if not references:
            return KnownSecrets(())
        if not without_excepted(references, self.except_references):
            raise ConfigException("except_references leaves no reference to search for. Name fewer references there.")
        conn_id = settings.config_conn_id(self.config_conn_id)
        return resolved_secrets(references, ProvidersConnection(conn_id).definitions(), excepted=self.except_references)

    def _all_references(self) -> list[ConfigVariable]:
        found = [one for text in self.references for one in variables(text)]
        found += references_in_files()
        if not found and not self.fingerprints and not self.tokens:
            raise ConfigException(
                "No reference is known. Name some in references=[...], or set [config_providers] records_path, so that "
                "those of the records are known. Without references, fingerprints or tokens can be searched for."
            )
        return found
