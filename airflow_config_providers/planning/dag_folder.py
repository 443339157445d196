"""The jobs of the DAG files in a folder: that of the deployment, or a revision of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.admin import Caller, stored_dag
from airflow_config_providers.deployment.records import reading
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.deployed_task import Warn, deployed_job, is_configured
from airflow_config_providers.lazy import sa
from airflow_config_providers.lint.dag_files import DagFile, DagImports, Progress, read_all
from airflow_config_providers.lint.dag_process import AirflowProcess
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.paths import LintedPaths, dags_folder
from airflow_config_providers.planning.git_revision import Checkout, is_temporary

Jobs = dict[ConfigResource, AuthoredJob]
"""Task -> its job, for each task that this package configures."""


def stored_dag_ids() -> Sequence[str]:
    """
    Return the ids of the DAGs whose files are still there, in order.

    :raises ProviderUnavailableError: the database is unavailable
    """
    from airflow.models.dag import DagModel  # noqa: PLC0415 - heavy
    from airflow.models.serialized_dag import SerializedDagModel  # noqa: PLC0415 - heavy

    stored = sa.select(SerializedDagModel.dag_id)
    query = sa.select(DagModel.dag_id).where(DagModel.is_stale.is_(False), DagModel.dag_id.in_(stored))
    return reading(lambda session: session.scalars(query.order_by(DagModel.dag_id)).all())


def stored_jobs(dag_ids: Iterable[str], *, warn: Warn, tick: Callable[[], object]) -> Jobs:
    """
    Return the jobs of DAGs.

    :param warn: is called with what a job does not show
    :param tick: is called after each DAG
    :raises UnknownResourceError: there is no such DAG
    :raises ProviderUnavailableError: the database is unavailable, or another version has stored the DAG
    """
    jobs: Jobs = {}
    for dag_id in dag_ids:
        jobs.update(_jobs(dag_id, warn))
        tick()
    return jobs


def _jobs(dag_id: str, warn: Warn) -> Jobs:
    tasks = {
        ConfigResource.of_task(dag_id, task.task_id): task
        for task in stored_dag(dag_id, Caller()).tasks
        if is_configured(task)
    }
    found = {resource: deployed_job(task, str(resource), warn) for resource, task in tasks.items()}
    return {resource: job for resource, job in found.items() if job is not None}


_SETTINGS: Final = {
    "AIRFLOW__CORE__DAGS_FOLDER": ("core", "dags_folder"),
    "AIRFLOW__CORE__PLUGINS_FOLDER": ("core", "plugins_folder"),
}
"""The folders from which Airflow lets DAG files import modules."""


@dataclass(frozen=True, slots=True)
class DagFolder:
    """
    Reads the DAG files of the deployment.

    :param checkout: the revision to read; None for the files as they are
    :param seconds: the longest time for one file
    :param is_lenient: whether a file that cannot be imported only causes a note
    """

    checkout: Checkout | None
    seconds: float
    is_lenient: bool = False

    def jobs(self, *, warn: Warn, progress: Progress) -> Jobs:
        """
        Return the jobs of all DAGs in the folder, with the paths of the deployment.

        :param warn: is called with what a job does not show
        :raises ConfigException: a DAG file cannot be imported; lists each
        """
        read = self._read(progress)
        self._report([finding for file in read for finding in file.findings], warn)
        stored = list(chain.from_iterable(file.stored for file in read))
        for note in chain.from_iterable(job.notes for job in stored):
            warn(note)
        return {ConfigResource.of_task(job.dag_id, job.task_id): AuthoredJob.read(job.text) for job in stored}

    def _read(self, progress: Progress) -> list[DagFile]:
        folder = self._inside(dags_folder())
        if not Path(folder).is_dir():
            raise ConfigException(f"There is no folder '{printable(dags_folder())}' in that revision.")
        paths = [path for path in LintedPaths.of([folder]).dags if self.checkout or not is_temporary(path)]
        source = DagImports([folder], self.seconds, is_stored=True)
        with progress(len(paths)) as tick, AirflowProcess(self._environ()) as origin:
            read = list(read_all(paths, source=source, origin=origin, tick=tick))
        return [one.moved(self.checkout.folder, self.checkout.repository) for one in read] if self.checkout else read

    def _report(self, findings: Sequence[Finding], warn: Warn) -> None:
        problems = [self._outside(finding) for finding in findings]
        if problems and not self.is_lenient:
            raise ConfigException(*problems)
        for problem in problems:
            warn(f"{problem} Its tasks are missing in this state.")

    def _outside(self, finding: Finding) -> str:
        path = finding.place.path if self.checkout is None else self.checkout.outside(finding.place.path)
        return f"{printable(path)}: {finding.text}"

    def _environ(self) -> dict[str, str]:
        """Return the environment in which modules are imported from the revision too."""
        if self.checkout is None:
            return {}
        folders = {name: self._inside(str(conf.get(*option))) for name, option in _SETTINGS.items()}
        paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
        return {**folders, "PYTHONPATH": os.pathsep.join(map(self._inside, paths))}

    def _inside(self, path: str) -> str:
        return path if self.checkout is None else self.checkout.inside(path)
