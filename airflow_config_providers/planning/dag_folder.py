"""The jobs of the DAG files in a folder: that of the deployment, or a revision of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.lint.dag_files import DagFile, DagImports, read_all
from airflow_config_providers.lint.finding import Finding
from airflow_config_providers.lint.paths import LintedPaths, dags_folder
from airflow_config_providers.planning.git_revision import Checkout
from airflow_config_providers.planning.stored_dags import Jobs

Progress = Callable[[int], AbstractContextManager[Callable[[], None]]]
"""Shows how many of so many files are read."""

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
        return {
            ConfigResource.of_task(job.dag_id, job.task_id): AuthoredJob.read(self._as_deployed(job.text))
            for job in stored
        }

    def _as_deployed(self, text: str) -> str:
        """Return the text of a job in which paths that a DAG file makes of its own are those of the deployment."""
        if self.checkout is None:
            return text
        inside, outside = (json.dumps(str(one))[1:-1] for one in (self.checkout.folder, self.checkout.repository))
        return text.replace(inside, outside)

    def _read(self, progress: Progress) -> list[DagFile]:
        folder = self._inside(dags_folder())
        if not Path(folder).is_dir():
            raise ConfigException(f"There is no folder '{printable(dags_folder())}' in that revision.")
        paths = LintedPaths.of([folder]).dags
        source = DagImports([folder], self.seconds, self._environ(), is_stored=True)
        with progress(len(paths)) as tick:
            return list(read_all(paths, source=source, tick=tick))

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
        path = os.environ.get("PYTHONPATH", "")
        return {**folders, "PYTHONPATH": os.pathsep.join(self._inside(one) for one in _entries(path))}

    def _inside(self, path: str) -> str:
        return path if self.checkout is None else self.checkout.inside(path)


def _entries(path: str) -> Iterator[str]:
    yield from (one for one in path.split(os.pathsep) if one)
