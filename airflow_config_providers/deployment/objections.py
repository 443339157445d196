"""Reasons not to store a string: no run could use it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig
from airflow_config_providers.core.reload import ReloadAction
from airflow_config_providers.core.resolver import Unresolved
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable, odd_references, scan, variables
from airflow_config_providers.dynamic.planner import DynamicLayers
from airflow_config_providers.exceptions import ConfigProvidersError, problems_of
from airflow_config_providers.job.deployed_task import Warn, deployed_options, stored_spec
from airflow_config_providers.job.exposed_values import PlacedText, put_in_problem, put_in_secrets, refuse_exposed
from airflow_config_providers.job.providers import Definitions, deployment_registry
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.spark import driver_providers
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.known_keys import SPARK, UnknownKeys, absent, find_in
from airflow_config_providers.spark.substitutions import SUBSTITUTED_BY_SPARK


@dataclass(frozen=True, slots=True)
class JobRules:
    """
    What decides which references and which keys a job can have.

    :param conn_id: the connection that defines its providers
    :param allows_exposed: whether values may go where users other than the job can read them
    :param takes_any_key: whether it also receives keys that do not begin with ``spark.``; None if that is not known
    :param unresolved: what it does with references that no provider answers; None for the default of the deployment
    :param is_remote: whether another Spark runs it than that of this machine
    :param passes_master: whether the master of its connection beats ``spark.master``
    """

    conn_id: str
    allows_exposed: bool
    takes_any_key: bool | None = False
    unresolved: Unresolved | None = None
    is_remote: bool = False
    passes_master: bool = False

    @classmethod
    def of(cls, task: Any) -> JobRules:
        """Return the job of a stored task; what is not stored has the default of the deployment."""
        options, spec = deployed_options(task), stored_spec(task)
        unresolved = None if options.unresolved is None else options.when_unresolved
        takes_any_key = None if spec is None else spec.takes_any_key
        is_remote, passes_master = (spec.is_remote, spec.passes_master) if spec else (False, False)
        return cls(options.conn_id, options.allows_exposed, takes_any_key, unresolved, is_remote, passes_master)

    @classmethod
    def usual(cls) -> JobRules:
        """Return the defaults of the deployment."""
        return cls(settings.config_conn_id(), settings.allow_exposed_arguments())


JobsOfResource = Callable[[ConfigResource], Iterable[JobRules]]
"""Returns the jobs that a resource configures; none if they are unknown."""

LayersOfJobs = Callable[[ConfigResource], Mapping[ConfigResource, Sequence[ConfigLayer]]]
"""Returns task -> its layers that are not dynamic, for the jobs that a resource configures."""


def have_other_keys(keys: Iterable[str]) -> bool:
    """Return whether one of ``keys`` does not begin with ``spark.``, so that it depends on the jobs if it is valid."""
    return not all(key.startswith(SPARK) for key in keys)


def take_any_key(jobs: Collection[JobRules]) -> bool:
    """Return whether it is certain that all of ``jobs`` take keys that do not begin with ``spark.``."""
    return bool(jobs) and all(job.takes_any_key for job in jobs)


def refuse_keys(jobs: Collection[JobRules]) -> bool:
    """Return whether it is certain that ``jobs`` refuse what ``find_in`` calls a problem."""
    return bool(jobs) and all(job.takes_any_key is not None for job in jobs)


def pass_master(jobs: Collection[JobRules]) -> bool:
    """Return whether it is certain that all of ``jobs`` get the master of their connection."""
    return bool(jobs) and all(job.passes_master for job in jobs)


class DeployedObjections:
    """
    Finds reasons to refuse new strings: those with which the runs of a job of the resource would fail.

    :param jobs: returns the jobs of a resource
    :param layers: returns the layers of these jobs
    :param warn: is called with each doubt that is no reason to refuse
    :param spark_version: the version of the Spark of this machine; None if it has none, or runs no jobs
    """

    def __init__(
        self, jobs: JobsOfResource, layers: LayersOfJobs, warn: Warn, *, spark_version: str | None = None
    ) -> None:
        self._jobs = jobs
        self._layers = layers
        self._warn = warn
        self._spark_version = spark_version
        self._definitions = cache(self._read)

    def __call__(
        self, resource: ConfigResource, texts: Mapping[str, str], before: DynamicLayers, after: DynamicLayers
    ) -> Mapping[str, Sequence[str]]:
        """Return key -> the reasons to refuse it."""
        used = {key: text for key, text in texts.items() if scan(text) or spark_definition().is_secret(key, text)}
        depends_on_jobs = used or have_other_keys(texts)
        jobs = (list(dict.fromkeys(self._jobs(resource))) or [JobRules.usual()]) if depends_on_jobs else []
        self._warn_of_absent(resource, texts)
        misnamed = {key: self._of_name(key, takes_any_key=take_any_key(jobs)) for key in texts}
        of_texts = {key: self._of_text(key, text, jobs) for key, text in used.items()}
        put_in = self._put_in(resource, texts, before, after) if used or "${" in "".join(texts.values()) else {}
        return {
            key: [*found, *of_texts.get(key, ()), *put_in.get(key, ()), *_of_own_text(key, texts[key])]
            for key, found in misnamed.items()
        }

    def _put_in(
        self, resource: ConfigResource, texts: Mapping[str, str], before: DynamicLayers, after: DynamicLayers
    ) -> Mapping[str, Sequence[str]]:
        """Return key -> the secrets that Spark would show since the change, because it puts them into a string."""
        found: dict[str, dict[str, None]] = {}
        for task, static in self._layers(resource).items():
            for job in self._jobs(task) or [JobRules.usual()]:
                now, then = (self._put_in_secrets([*dynamic(task), *static], job) for dynamic in (before, after))
                for key, secret in sorted(then - now):
                    changed = next((one for one in (key, secret) if one in texts), next(iter(texts)))
                    found.setdefault(changed, {})[put_in_problem(key, secret)] = None
        return {key: list(problems) for key, problems in found.items()}

    def _put_in_secrets(self, layers: Sequence[ConfigLayer], job: JobRules) -> set[tuple[str, str]]:
        if job.allows_exposed:
            return set()
        known = self._definitions(job.conn_id)
        return put_in_secrets(LayeredConfig(layers, spark_definition()), () if known is None else known.names)

    def _warn_of_absent(self, resource: ConfigResource, keys: Iterable[str]) -> None:
        """Warn of keys that the Spark of this machine does not have, unless all jobs of ``resource`` run elsewhere."""
        if settings.unknown_keys() is UnknownKeys.IGNORE:
            return
        doubts = absent(dict.fromkeys(keys, ""), self._spark_version)
        jobs = list(self._jobs(resource)) if doubts else []
        if not (jobs and all(job.is_remote for job in jobs)):
            for doubt in doubts:
                self._warn(doubt)

    def _of_name(self, key: str, *, takes_any_key: bool) -> list[str]:
        found = find_in({key: ""}, settings.unknown_keys(), takes_any_key=takes_any_key)
        for doubt in found.doubts:
            self._warn(doubt)
        return list(found.problems)

    def _of_text(self, key: str, text: str, jobs: Iterable[JobRules]) -> list[str]:
        odd = [f"'{printable(key)}': {problem}" for problem in odd_references(text)]
        return [*odd, *dict.fromkeys(problem for job in jobs for problem in self._of_job(key, text, job))]

    def _of_job(self, key: str, text: str, job: JobRules) -> Iterator[str]:
        known = self._definitions(job.conn_id)
        if known is not None:
            yield from (f"'{printable(key)}': {problem}" for problem in known.refusals(text, job.unresolved))
        if not job.allows_exposed:
            yield from _exposed(key, text, () if known is None else known.names)

    def _read(self, conn_id: str) -> ProvidersOfConnection | None:
        try:
            connection = airflow_secrets.connection(conn_id)
            if connection is not None:
                definitions = Definitions(conn_id, connection)
                return ProvidersOfConnection(definitions.of_tasks(), definitions.of_driver())
            problems: Sequence[str] = (f"This process finds no connection '{printable(conn_id)}'.",)
        except ConfigProvidersError as error:
            problems = error.problems
        for problem in problems:
            self._warn(f"References are stored without checking them against their providers. {problem}")
        return None


class ProvidersOfConnection:
    """
    The definitions of the providers of a connection.

    :param worker: the definitions for workers
    :param driver: the definitions for a driver
    """

    def __init__(self, worker: Mapping[str, str], driver: Mapping[str, str]) -> None:
        self._worker = worker
        self._of_worker = driver_providers.names(worker)
        self._of_driver = driver_providers.names(driver)
        self._registry = deployment_registry()

    @property
    def names(self) -> frozenset[str]:
        """The names of all these providers."""
        return frozenset(self._of_worker | self._of_driver)

    def refusals(self, text: str, unresolved: Unresolved | None) -> list[str]:
        """
        Return the reasons why no provider can ever answer references in ``text``.

        :param unresolved: what the job does with references that no provider answers; None for the default
        """
        asked = [variable for variable in variables(text) if self._is_asked(variable, unresolved)]
        return list(self._registry.refusals(self._worker, asked).values())

    def _is_asked(self, variable: ConfigVariable, unresolved: Unresolved | None) -> bool:
        """Return whether a provider of the worker must answer ``variable``."""
        if variable.provider in self._of_driver:
            return False
        if variable.provider in self._of_worker:
            return True
        if variable.provider in SUBSTITUTED_BY_SPARK:
            return False
        return (unresolved or settings.unresolved()) is Unresolved.FAIL


def _of_own_text(key: str, text: str) -> Iterator[str]:
    """Yield what is wrong with a text in every job."""
    yield from problems_of(lambda: ReloadAction.of({key: text}))
    if refusal := driver_providers.refusal_of_options(key, text):
        yield f"'{printable(key)}': {refusal}"


def _exposed(key: str, text: str, providers: Iterable[str]) -> tuple[str, ...]:
    secrets = () if scan(text) else [key]
    return problems_of(lambda: refuse_exposed([PlacedText(key, key, text)], frozenset(providers), secrets))
