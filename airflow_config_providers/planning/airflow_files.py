"""The files that Airflow itself keeps in a repository, such as one that is its home."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.lint.paths import dags_folder
from airflow_config_providers.planning.git_revision import ignored

_AT_HOME: Final = (
    *("airflow.cfg", "*.db", "webserver_config.py"),
    *("airflow-*.err", "airflow-*.log", "airflow-*.out", "airflow-*.pid"),
    *("simple_auth_manager_passwords.json.generated", "standalone_admin_password.txt"),
)
"""The names of the files that Airflow writes into its home."""

_LOGS: Final = (("logging", "base_log_folder"), ("logging", "dag_processor_child_process_log_directory"))
_SQLITE: Final = "sqlite:///"
_BESIDE_SQLITE: Final = re.compile(r"-(?:journal|shm|wal)\Z")
"""The end of the name of a file that SQLite keeps beside its database as long as somebody uses it."""


def kept_by_airflow(repository: Path, names: Collection[str]) -> set[str]:
    """
    Return those of ``names`` that Git ignores, and that Airflow writes or this Python is installed in.

    They are the same for the DAG files of both states: both are imported by this Python, with these settings.

    :param names: the paths of files in ``repository``
    """
    has = _airflow_has(repository)
    by_name = {name: _BESIDE_SQLITE.sub("", name) for name in names}
    found = ignored(repository, {one for one in by_name.values() if has(one)})
    return {name for name, one in by_name.items() if one in found}


def _airflow_has(repository: Path) -> Callable[[str], bool]:
    """Return a function that says whether the file at a path is one of Airflow's, or in a folder with nothing else."""
    from airflow.configuration import AIRFLOW_CONFIG, AIRFLOW_HOME  # noqa: PLC0415 - heavy

    dags, home = Path(dags_folder()).resolve(), str(Path(AIRFLOW_HOME).resolve())
    found = (Path(path).resolve() for path in _folders())
    folders = tuple(f"{one}/" for one in found if repository in one.parents and not dags.is_relative_to(one))
    files = {str(Path(path).resolve()) for path in (AIRFLOW_CONFIG, _database()) if path}

    def has(name: str) -> bool:
        folder, _, last = name.rpartition("/")
        is_at_home = folder == home and any(fnmatchcase(last, pattern) for pattern in _AT_HOME)
        return is_at_home or name in files or name.startswith(folders)

    return has


def _folders() -> Iterator[str]:
    """Yield the folders of logs, and that of this Python."""
    yield from filter(None, (str(conf.get(*option, fallback="")) for option in _LOGS))
    yield sys.prefix


def _database() -> str:
    """Return the path of a SQLite database; empty if another one is used."""
    url = str(conf.get("database", "sql_alchemy_conn", fallback=""))
    return url.removeprefix(_SQLITE).partition("?")[0] if url.startswith(_SQLITE) else ""
