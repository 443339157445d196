"""
The jobs of the DAG files in a folder: that of the deployment, or a revision of its Git repository.

Nothing is fetched, no hook and no file system monitor runs, and the repository is only read: the files are checked out
through an index of their own, so that ``export-ignore`` leaves none of them out, as it would with ``git archive``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
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
from airflow_config_providers.lint.paths import LintedPaths, dags_folder, lead_as_before, moved

_LOCAL: Final = {
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""What keeps Git from asking a server or the user, and from writing into the repository."""

_NO_COMMANDS: Final = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""What keeps Git from running the commands that watch a repository; filters run, since they make the files."""

_OF_CALLER: Final = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_WORK_TREE")
"""What Git sets for its hooks, so that a plan in one of them would read another repository."""

_PREFIX: Final = "config-providers-plan-"
"""How the names of temporary folders begin."""

Jobs = dict[ConfigResource, AuthoredJob]
"""Task -> its job, for each task that this package configures."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """
    The files of a revision.

    :param repository: the folder of the repository
    :param folder: the folder that has its files as they are in the revision
    """

    repository: Path
    folder: Path

    @property
    def is_working_tree(self) -> bool:
        """Whether it is no revision, but the files as they are."""
        return self.folder == self.repository

    def inside(self, path: str) -> str:
        """Return where the file at ``path`` is in the revision; ``path`` itself if it is not in the repository."""
        return moved(path, self.repository, self.folder)

    def outside(self, path: str) -> str:
        """Return where a file of the revision is in the repository; ``path`` itself if it is none of its files."""
        return moved(path, self.folder, self.repository)


@contextmanager
def checked_out(revision: str, *, folder: str) -> Iterator[Checkout]:
    """
    Yield the files of a revision, until the block ends.

    :param revision: a commit, a branch, a tag, or anything else that ``git rev-parse`` understands
    :param folder: a folder in the repository
    :raises ConfigException: there is no Git, no repository, or no such revision
    """
    repository = _repository(folder)
    commit = _commit(repository, revision)
    with TemporaryDirectory(prefix=_PREFIX) as temporary:
        files = Path(temporary).resolve() / "files"
        files.mkdir()
        filler = _Filler(revision, Path(folder).resolve(), {"GIT_INDEX_FILE": str(Path(temporary) / "index")})
        found = Checkout(repository, files)
        filler.fill(found, commit)
        lead_as_before(repository, files)
        yield found


def is_temporary(path: str) -> bool:
    """Return whether a path is in a folder that ``checked_out`` has made, here or in another process."""
    return _PREFIX in path and os.path.realpath(path).startswith(f"{os.path.realpath(gettempdir())}/{_PREFIX}")


def ignored(repository: Path, paths: Collection[str]) -> set[str]:
    """Return those of the files at ``paths``, in a repository, that Git ignores and does not track."""
    if not paths:
        return set()
    done = _git(repository, "check-ignore", "-z", "--stdin", stdin="\0".join(paths))
    return {*done.stdout.split("\0")}.intersection(paths)


@dataclass(frozen=True, slots=True)
class _Filler:
    """
    Writes the files of commits.

    :param revision: the revision, for messages
    :param needed: the folder in which no submodule may be missing
    :param index: the environment variable that names the index to use
    """

    revision: str
    needed: Path
    index: Mapping[str, str]

    def fill(self, checkout: Checkout, commit: str) -> None:
        """
        Write the files of a commit, with those of its submodules that are here.

        :raises ConfigException: files cannot be read, or a submodule that is needed is missing
        """
        self._git(checkout.repository, "read-tree", commit)
        self._git(checkout.repository, "checkout-index", "--all", "--quiet", f"--prefix={checkout.folder}/")
        for path, inner in _submodules(checkout.repository, commit):
            below = Checkout(checkout.repository / path, checkout.folder / path)
            if _has_commit(below.repository, inner):
                self.fill(below, inner)
            else:
                self._refuse_needed(below.repository)

    def _git(self, repository: Path, *words: str) -> None:
        done = _git(repository, *words, environ=self.index)
        if done.returncode:
            raise ConfigException(
                f"The files of revision '{printable(self.revision)}' cannot be read: git ended with {done.returncode}. "
                f"If the repository is a partial or a damaged copy, fetch the revision."
            )

    def _refuse_needed(self, submodule: Path) -> None:
        if submodule.is_relative_to(self.needed) or self.needed.is_relative_to(submodule):
            raise ConfigException(
                f"The submodule '{printable(str(submodule))}' does not have the commit that revision "
                f"'{printable(self.revision)}' needs. Run 'git submodule update --init --recursive', or fetch it: "
                f"nothing is downloaded here."
            )


def _submodules(repository: Path, commit: str) -> list[tuple[str, str]]:
    listed = _git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).stdout.split("\0")
    rows = (row.partition("\t") for row in listed if row.startswith(_OF_SUBMODULE))
    return [(path, about.split()[-1]) for about, _, path in rows]


_OF_SUBMODULE: Final = "160000 "
"""The beginning of the row of a submodule in a list of files."""


def _has_commit(repository: Path, commit: str) -> bool:
    """Return whether a folder is a repository itself, and not only a folder of another one, with that commit."""
    is_own = (repository / ".git").exists()
    return is_own and not _git(repository, "cat-file", "-e", f"{commit}^{{commit}}").returncode


def _repository(folder: str) -> Path:
    if shutil.which("git") is None:
        raise ConfigException("Revisions are read with git, which is not installed. Install it.")
    done = _git(Path(folder), "rev-parse", "--show-toplevel")
    if done.returncode:
        why = " (its owner is another user: see safe.directory in 'git help config')" * ("dubious" in done.stderr)
        raise ConfigException(
            f"The folder '{printable(folder)}' is not in a Git repository that can be read{why}. Set dags_folder in "
            f"[core] to the folder of the DAG files in a clone."
        )
    return Path(done.stdout.removesuffix("\n")).resolve()


def _commit(repository: Path, revision: str) -> str:
    done = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.returncode or done.stdout.startswith("^"):  # what is excluded, as by ^main
        raise ConfigException(
            f"The repository '{printable(str(repository))}' has no revision '{printable(revision)}'. Correct it, or "
            f"fetch it: nothing is downloaded here."
        )
    return done.stdout.strip()


def _git(
    folder: Path, *words: str, environ: Mapping[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name not in _OF_CALLER}
    return subprocess.run(  # noqa: S603 - no shell, and a revision cannot be an option
        ["git", *_NO_COMMANDS, "-C", str(folder), *words],  # noqa: S607 - the git of the user
        env={**own, **_LOCAL, **(environ or {})},
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


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
