"""
The files that differ between two states, as far as a run could choose them as layer files.

Those that Airflow itself keeps in a repository, such as one that is its home, are of neither state.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, Self

from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.templates import fits, literals
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.lint.paths import dags_folder
from airflow_config_providers.planning.dag_folder import Checkout, ignored, is_temporary

_NOT_OF_REVISION: Final = (".git", "__pycache__")
"""What Git and Python keep beside the files: to import the DAGs of two states compiles the same code twice."""

_NO_CODE: Final = (".conf", ".md", ".properties")
"""How the names of files end that code of DAGs does not read: others can have what it makes DAGs of."""

_TO_LAST_STEP: Final = re.compile(r".*/(?:\.{1,2}(?:/|$)|/)|\.{1,2}(?:/|$)", re.DOTALL)
"""All up to the last of the steps that are not in the path of a file itself, such as ``/../`` and ``//``."""

_Pattern = tuple[str, ...]
"""The literals of a path in order, with anything between them. The first one begins with a slash, or is empty."""


NotOfState = Callable[[Path, Collection[str]], Collection[str]]
"""Returns those of the paths of files in a repository that are there, but are the same for both states."""

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


class ChangedFiles:
    """
    The files that differ between two states: those that are replaced, and those of the repository with other bytes.

    The names of the files in the repository are read when they are needed, and then kept. A file is read if it is
    asked whether it differs, and only then. Not thread-safe.

    :param first: the revision of the first state; None for the files as they are
    :param second: the revision of the second state; None for the files as they are
    :param replaced: the paths of the files that the second state replaces
    :param not_of_state: says which of the files as they are do not belong to a state
    """

    def __init__(
        self,
        first: Checkout | None,
        second: Checkout | None,
        replaced: Iterable[str] = (),
        *,
        not_of_state: NotOfState = lambda repository, names: (),
    ) -> None:
        self._not_of_state = not_of_state
        self._checkouts = _with_folder(first, second)
        self._is_of_stored = first is None and second is not None
        self._replaced = {one for path in replaced for one in (_absolute(path), os.path.realpath(path))}

    def could_be(self, templates: Collection[str]) -> set[str]:
        """Return those of ``templates``, paths of layer files, that a run could make that of a file that differs."""
        patterns = {template: set(self._with_links(template)) for template in templates}
        found = {one for one, known in patterns.items() if self._lead_elsewhere(known)}
        for name in (*self._replaced, *self._names):
            could = {one for one in patterns.keys() - found if any(fits(pattern, name) for pattern in patterns[one])}
            if could and (name in self._replaced or self._differs(name)):
                found |= could
        return found

    @property
    def have_code(self) -> bool:
        """
        Whether code of DAGs, or what it can read, is among the files that differ.

        With the second revision alone, the first state is what Airflow has stored, whose code is not known.
        """
        if self._is_of_stored:
            return True
        return bool(self._moved) or any(self._differs(name) for name in self._names if not name.endswith(_NO_CODE))

    @cached_property
    def _trees(self) -> list[_Tree]:
        return [_Tree.of(one, self._not_of_state) for one in self._checkouts]

    @cached_property
    def _names(self) -> set[str]:
        return set[str]().union(*(tree.files for tree in self._trees))

    @cached_property
    def _links(self) -> set[tuple[str, str]]:
        """Return the links that lead to the same folder in both states, each with that folder."""
        return set.intersection(*({*tree.links.items()} for tree in self._trees)) if self._trees else set()

    @cached_property
    def _moved(self) -> set[str]:
        """Return the links to a folder that do not lead to the same one in the other state."""
        return {link for tree in self._trees for link, _ in tree.links.items() - self._links}

    def _differs(self, name: str) -> bool:
        """Return whether the file with a name in the repository differs. What cannot be read could."""
        first, second = (checkout.inside(name) for checkout in self._checkouts)
        if os.path.realpath(first) == os.path.realpath(second):  # through links that lead out of the repository
            return False
        try:
            are_files = Path(first).is_file(), Path(second).is_file()  # and not pipes, which would block
            return any(are_files) and not (all(are_files) and have_same_content(first, second))
        except OSError:
            return True

    def _lead_elsewhere(self, patterns: Iterable[_Pattern]) -> bool:
        """Return whether one of ``patterns`` can lead through a link to a folder that is another one now."""
        return any(_can_lead_into(pattern, link) for pattern in patterns for link in self._moved)

    def _with_links(self, template: str) -> Iterator[_Pattern]:
        """Yield the patterns of a template, also of where links to folders lead."""
        found: set[_Pattern] = set()
        new = set(_patterns(template))
        while new:
            yield from new
            found |= new
            new = {
                _through(link, folder, pattern)
                for pattern in new
                for link, folder in self._links
                if _can_lead_into(pattern, link)
            } - found


def _with_folder(first: Checkout | None, second: Checkout | None) -> list[Checkout]:
    """Return both states, of which one can be the repository itself; nothing if no revision is read."""
    if (known := first or second) is None:
        return []
    return [one or Checkout(known.repository, known.repository) for one in (first, second)]


@dataclass(frozen=True, slots=True)
class _Tree:
    """
    The names of a repository in one state, as they are in the repository.

    :param files: the paths of all files, with links to files
    :param links: the path of a link to a folder -> the path of the folder; both end with a slash
    """

    files: set[str]
    links: dict[str, str]

    @classmethod
    def of(cls, checkout: Checkout, not_of_state: NotOfState) -> Self:
        """Return the tree in a folder, without what Git, Python and plans themselves keep there."""
        tree = cls._walked(checkout)
        return tree._without(not_of_state(checkout.repository, tree._names)) if checkout.is_working_tree else tree

    @classmethod
    def _walked(cls, checkout: Checkout) -> Self:
        files, links = set[str](), {}
        for folder, folders, names in os.walk(checkout.folder):
            place = checkout.outside(folder)
            folders[:] = [name for name in folders if not (name in _NOT_OF_REVISION or is_temporary(f"{place}/{name}"))]
            files.update(f"{place}/{name}" for name in names if name not in _NOT_OF_REVISION)
            for name in folders:
                if (path := Path(folder, name)).is_symlink():
                    links[f"{place}/{name}/"] = f"{checkout.outside(os.path.realpath(path))}/"
        return cls(files, links)

    @property
    def _names(self) -> list[str]:
        return [*self.files, *(link.rstrip("/") for link in self.links)]

    def _without(self, names: Collection[str]) -> Self:
        links = {link: folder for link, folder in self.links.items() if link.rstrip("/") not in names}
        return replace(self, files=self.files.difference(names), links=links)


def _patterns(template: str) -> set[_Pattern]:
    """Return the patterns of a template: with the directory in which it begins as written, and with links followed."""
    first, *rest = literals(template)
    if not first:
        return {("", *_after_steps(rest))}
    directory, name = first[: first.rfind("/") + 1], first[first.rfind("/") + 1 :]
    if (after := _after_steps(rest)) != rest:
        name = ""  # a step up can take it away, but does not leave the directory
    return {(f"{one.rstrip('/')}/{name}", *after) for one in (_absolute(directory), os.path.realpath(directory))}


def _after_steps(rest: list[str]) -> list[str]:
    """Return the literals after the last step, because what is before it need not be in the path of the file."""
    for index in reversed(range(len(rest))):
        if found := _TO_LAST_STEP.match(rest[index]):
            return [rest[index][found.end() :], *rest[index + 1 :]]
    return rest


def _can_lead_into(pattern: _Pattern, folder: str) -> bool:
    """Return whether a path that fits ``pattern`` can be in ``folder``, which ends with a slash."""
    first, *rest = pattern
    return first.startswith(folder) or (bool(rest) and folder.startswith(first))


def _through(link: str, folder: str, pattern: _Pattern) -> _Pattern:
    """
    Return what a pattern becomes if a path that fits it goes through a link.

    If the pattern does not say what is below the link, only the end of the name of the file is certain.
    """
    first, *rest = pattern
    if first.startswith(link):
        return (folder + first.removeprefix(link), *rest)
    end = rest[-1].rpartition("/")[2]
    return pattern if rest == [end] and folder.startswith(first) else (folder, end)


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - links stay as they are


_POINTER: Final = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d+)\n")
"""What Git has in place of such a file. In a revision, it stays: nothing is fetched."""

_LARGEST_POINTER: Final = 1024
"""How many bytes one has at most."""


def have_same_content(first: str, second: str) -> bool:
    """
    Return whether two files have the same bytes, or one is the pointer to the other.

    :raises OSError: one cannot be read
    """
    if filecmp.cmp(first, second, shallow=False):
        return True
    return any(
        oid == _oid(path, size) for one, path in ((first, second), (second, first)) for oid, size in _pointer(one)
    )


def _pointer(path: str) -> Iterator[tuple[str, int]]:
    """Yield the hash and the size of what the pointer at a path leads to; nothing if it is another file."""
    with Path(path).open("rb") as file:
        found = _POINTER.fullmatch(file.read(_LARGEST_POINTER + 1))
    if found:
        yield found[1].decode(), int(found[2])


def _oid(path: str, size: int) -> str:
    """Return the hash of a file of that size; empty if it has another one."""
    if Path(path).stat().st_size != size:
        return ""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
