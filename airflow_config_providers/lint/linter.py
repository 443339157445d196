"""Reads DAG files, layer files and policy files, and applies the rules to them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import PurePath
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.core.properties import Property
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError
from airflow_config_providers.job.policies import open_policies
from airflow_config_providers.lint import rules
from airflow_config_providers.lint.dag_files import DagImports, read_all
from airflow_config_providers.lint.dag_process import AirflowProcess
from airflow_config_providers.lint.entry import LayerFile, WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import (
    LAYER_FILE,
    POLICY_FILE,
    UNCONFIGURED,
    UNKNOWN,
    Finding,
    Rule,
    RuleSelection,
    SourcePlace,
    sorted_findings,
)
from airflow_config_providers.lint.known_providers import KnownProviders, in_environment
from airflow_config_providers.lint.paths import LintedPaths, has_policies
from airflow_config_providers.spark.installation import version_at_hand
from airflow_config_providers.spark.layer_files import ConfigFile, file_parts

_OF_BACKEND: Final = (
    " If it is a file of the secrets backend, check it with 'airflow config-providers doctor --only backend'."
)


def located(problem: str, path: str) -> tuple[SourcePlace, str]:
    """Return the place in the file at ``path`` that ``problem`` names, and the rest of the sentence."""
    names = "|".join(map(re.escape, (path, PurePath(path).name)))
    match = re.match(rf"(?:{names})(?::(\d+))?: ", problem)
    if match is None:
        return SourcePlace(path), problem
    return SourcePlace(path, int(match[1]) if match[1] else None), problem[match.end() :]


def read_layer_file(path: str) -> LayerFile:
    """Return what can be read of the layer file at ``path``, and why the rest cannot."""
    entries: list[Property] = []
    try:
        entries, problems = file_parts(ConfigFile(path, path))
    except ConfigException as error:
        problems = list(error.problems)
    return LayerFile(
        path,
        tuple(WrittenEntry(one.key, one.value, SourcePlace(path, one.line)) for one in entries),
        tuple(Finding(LAYER_FILE, *located(problem, path)) for problem in problems),
    )


def check_policy_file(path: str) -> Iterator[Finding]:
    """Yield the problems with the policies at ``path``, with the classes that this deployment allows."""
    try:
        with open_policies(path):
            return
    except ConfigProvidersError as error:
        problems = error.problems
    hint = "" if has_policies(path) else _OF_BACKEND
    yield from (Finding(POLICY_FILE, *located(f"{problem}{hint}", path)) for problem in problems)


@dataclass(frozen=True, slots=True)
class LintOutcome:
    """
    What ``lint`` found.

    :param findings: the mistakes, by place
    :param unchecked: the connections that define the providers of references, and are not known; by id
    """

    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]


def lint_files(
    paths: LintedPaths,
    selection: RuleSelection,
    providers: KnownProviders | None,
    *,
    seconds: float,
    tick: Callable[[], object],
) -> LintOutcome:
    """
    Return the mistakes in the files at ``paths``, and what was not checked.

    :param selection: the rules that apply
    :param providers: the providers of every connection; None to look for connections in the environment
    :param seconds: the longest time for importing a DAG file
    :param tick: is called after each DAG file
    :raises ConfigProvidersError: Airflow does not start, or a connection in the environment cannot be read
    """
    source = DagImports(paths.roots, seconds)
    with AirflowProcess({}) as origin:
        dags = list(read_all(paths.dags, source=source, origin=origin, tick=tick))
    files = [read_layer_file(path) for path in paths.layers]
    rules_of_all = _Rules([job for dag in dags for job in dag.jobs], files, providers)
    others = chain.from_iterable(dag.others for dag in dags)
    found = [
        *chain.from_iterable(dag.findings for dag in dags),
        *chain.from_iterable(file.findings for file in files),
        *chain.from_iterable(map(check_policy_file, paths.policies)),
        *rules_of_all.findings(),
        *chain.from_iterable(map(rules_of_all.of_other, others)),
        *rules_of_all.of_definitions(),
    ]
    kept = sorted_findings(one for one in found if selection.has(one.rule))
    unchecked = {conn_id for rule, conn_id in rules_of_all.unchecked if selection.has(rule)}
    return LintOutcome(tuple(kept), tuple(sorted(unchecked)))


class _Rules:
    """
    The rules for what was read.

    After ``findings`` and ``of_other``, ``of_definitions`` yields the mistakes in the providers of what was read, and
    ``unchecked`` has the rules that were not applied because a connection is not
    known, each with the id of the connection.
    """

    def __init__(
        self, jobs: Sequence[WrittenJob], files: Sequence[LayerFile], providers: KnownProviders | None
    ) -> None:
        self._jobs = jobs
        self._files = files
        self._of_all = providers
        self._of_connection = cache(in_environment)
        self._conn_ids: dict[str, None] = {}
        self.unchecked: set[tuple[Rule, str]] = set()
        self._misspelt = settings.unknown_keys()
        self._spark_version = version_at_hand(os.environ)

    def findings(self) -> Iterator[Finding]:
        yield from chain.from_iterable(map(self._of_job, self._jobs))
        yield from chain.from_iterable(map(self._of_file, self._files))
        yield from rules.dead_findings(
            self._jobs, self._files, settings.config_files(), spark_version=self._spark_version
        )

    def of_other(self, text: WrittenEntry) -> Iterator[Finding]:
        """Yield whether a string of a task that is no job refers to a provider."""
        conn_id = settings.config_conn_id()
        known = self._known(conn_id)
        if known is None and rules.could_refer(text):
            self.unchecked.add((UNCONFIGURED, conn_id))
        return rules.unknown_operator_findings(text, known)

    def of_definitions(self) -> Iterator[Finding]:
        """Yield the mistakes in the definitions of the providers."""
        known = [self._of_all] if self._of_all else map(self._of_connection, self._conn_ids)
        yield from chain.from_iterable(one.findings for one in known if one)

    def _known(self, conn_id: str) -> KnownProviders | None:
        self._conn_ids[conn_id] = None
        return self._of_all or self._of_connection(conn_id)

    def _of_job(self, job: WrittenJob) -> Iterator[Finding]:
        version = None if job.is_remote else self._spark_version
        yield from self._of_entries(job.entries(), takes_any_key=job.takes_any_key, spark_version=version)
        yield from rules.refused_findings(job)
        yield from rules.unconfigured_findings(job)
        referring = [*job.entries(), *job.texts]
        is_resolved = job.is_configured and not job.keeps_unresolved
        known = self._providers(job.conn_id, referring) if is_resolved else None
        for entry in referring:
            yield from rules.reference_findings(entry, known, is_resolved=is_resolved)
        for entry in (*job.texts, *job.literals):
            yield from rules.literal_findings(entry)
        yield from rules.exposed_findings(job, known)

    def _of_file(self, file: LayerFile) -> Iterator[Finding]:
        yield from rules.repeated_findings(file)
        are_remote = bool(self._jobs) and all(job.is_remote for job in self._jobs)
        yield from self._of_entries(
            file.entries,
            takes_any_key=rules.is_read_by_other_jobs(file, self._jobs),
            spark_version=None if are_remote else self._spark_version,
        )
        known = self._providers(settings.config_conn_id(), file.entries)
        for entry in file.entries:
            yield from rules.reference_findings(entry, known)

    def _providers(self, conn_id: str, entries: Iterable[WrittenEntry]) -> KnownProviders | None:
        known = self._known(conn_id)
        if known is None and any(map(rules.names_provider, entries)):
            self.unchecked.add((UNKNOWN, conn_id))
        return known

    def _of_entries(
        self, entries: Iterable[WrittenEntry], *, takes_any_key: bool, spark_version: str | None
    ) -> Iterator[Finding]:
        for entry in entries:
            yield from rules.literal_findings(entry)
            yield from rules.key_findings(
                entry, self._misspelt, takes_any_key=takes_any_key, spark_version=spark_version
            )
