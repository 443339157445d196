"""Reads the files, and applies the rules to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from airflow_config_providers import settings
from airflow_config_providers.lint import entry_rules, other_files, overrides
from airflow_config_providers.lint.dag_files import DagImports, read_all
from airflow_config_providers.lint.entry import LayerFile, WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import Finding, RuleSelection, sorted_findings
from airflow_config_providers.lint.known_providers import KnownProviders, in_environment
from airflow_config_providers.lint.paths import LintedPaths
from airflow_config_providers.spark.installation import version_at_hand


def _nothing() -> None:
    """Do nothing after a file."""


@dataclass(frozen=True, slots=True)
class Linter:
    """
    Finds mistakes.

    :param selection: the rules that apply
    :param providers: the providers of every connection; None to look for connections in the environment
    :param seconds: the longest time for importing a DAG file
    :param tick: is called after each DAG file
    """

    selection: RuleSelection = field(default_factory=RuleSelection)
    providers: KnownProviders | None = None
    seconds: float = 60.0
    tick: Callable[[], object] = _nothing

    def lint(self, paths: LintedPaths) -> list[Finding]:
        """
        Return the mistakes in the files at ``paths``, by place.

        :raises ConfigProvidersError: Airflow does not start, or a connection in the environment cannot be read
        """
        source = DagImports(paths.roots, self.seconds)
        dags = list(read_all(paths.dags, source=source, tick=self.tick))
        read = [other_files.read_layer_file(path) for path in paths.layers]
        files = [one for one in read if isinstance(one, LayerFile)]
        found = [
            *chain.from_iterable(dag.findings for dag in dags),
            *chain.from_iterable(one for one in read if not isinstance(one, LayerFile)),
            *chain.from_iterable(map(other_files.check_policy_file, paths.policies)),
            *_Rules([job for dag in dags for job in dag.jobs], files, self.providers).findings(),
        ]
        return sorted_findings(one for one in found if self.selection.has(one.rule))


class _Rules:
    """The rules for what was read."""

    def __init__(
        self, jobs: Sequence[WrittenJob], files: Sequence[LayerFile], providers: KnownProviders | None
    ) -> None:
        self._jobs = jobs
        self._files = files
        self._known = cache(lambda conn_id: providers or in_environment(conn_id))
        self._misspelt = settings.unknown_keys()
        self._spark_version = version_at_hand(os.environ)

    def findings(self) -> Iterator[Finding]:
        yield from chain.from_iterable(map(self._of_job, self._jobs))
        yield from chain.from_iterable(map(self._of_file, self._files))
        yield from overrides.dead(self._jobs, self._files, settings.config_files(), spark_version=self._spark_version)

    def _of_job(self, job: WrittenJob) -> Iterator[Finding]:
        version = None if job.is_remote else self._spark_version
        yield from self._of_entries(job.entries(), takes_any_key=job.takes_any_key, spark_version=version)
        yield from entry_rules.of_unconfigured(job)
        known = None if job.keeps_unresolved or not job.is_configured else self._known(job.conn_id)
        for entry in (*job.entries(), *job.texts):
            yield from entry_rules.reference_findings(entry, known)

    def _of_file(self, file: LayerFile) -> Iterator[Finding]:
        yield from overrides.repeated(file)
        are_remote = bool(self._jobs) and all(job.is_remote for job in self._jobs)
        yield from self._of_entries(
            file.entries,
            takes_any_key=overrides.is_read_by_other_jobs(file, self._jobs),
            spark_version=None if are_remote else self._spark_version,
        )
        known = self._known(settings.config_conn_id())
        for entry in file.entries:
            yield from entry_rules.reference_findings(entry, known)

    def _of_entries(
        self, entries: Iterable[WrittenEntry], *, takes_any_key: bool, spark_version: str | None
    ) -> Iterator[Finding]:
        for entry in entries:
            yield from entry_rules.literal_findings(entry)
            yield from entry_rules.key_findings(
                entry, self._misspelt, takes_any_key=takes_any_key, spark_version=spark_version
            )
