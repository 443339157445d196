"""
Files of connections, variables and settings, as Airflow's local filesystem backend reads them.

They are read again after they change.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Final

from airflow_config_providers.core.named_file import read_named, state_of
from airflow_config_providers.core.sensitive import HIDDEN, shows_secret
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, system_reason
from airflow_config_providers.secrets.answering import importing

TEAM: Final = "{team_name}"
"""The placeholder in a path for the name of the team that asks."""
_TEAM_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_UNREADABLE: Final = (OSError, ValueError, RecursionError)
_HARMLESS: Final = ("The file is empty.", "The file should contain the object.")

_SETTLED_AFTER: Final = 2.0
"""Seconds after which another change gets a different modification time, on any file system."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """
    The definition of one name in a file.

    :param definition: what was read: a string, or a value of YAML or JSON
    :param is_teams_own: whether it is only for the team that asks
    """

    file: str
    definition: Any = field(repr=False)
    is_teams_own: bool


def paths(value: object) -> tuple[str, ...]:
    """
    Return the paths in a setting that holds one path or a list of paths.

    :raises ConfigException: the setting holds something else
    """
    found = [value] if isinstance(value, str | os.PathLike) else value
    if found is None or found == [""]:
        return ()
    if not isinstance(found, Sequence) or not all(isinstance(path, str | os.PathLike) for path in found):
        raise ConfigException(f"Expected a path or a list of paths, not {type(value).__name__}.")
    return tuple(os.fspath(path) for path in found)


@dataclass(frozen=True, slots=True)
class EntryFiles:
    """
    Files that define names of one kind.

    A path with ``{team_name}`` is the path of each team's own file, which need not exist.

    :param load: reads a file: path -> name -> definition
    :param owner: returns the team that a definition names; None if it names none
    """

    paths: tuple[str, ...]
    load: Callable[[str], Mapping[str, Any]]
    owner: Callable[[Any], str | None] = lambda definition: None

    def find(self, name: str, team: str | None, *, files: ChangingFiles) -> FileEntry | None:
        """
        Return the entry of ``name``; None if there is none. The team's own entry wins over one for all teams.

        :param team: the team that asks; None for no team, which gets only definitions for all teams
        :param files: reads the files
        :raises ConfigException: a file cannot be read, or two files define the name
        """
        found = list(self._entries(name, team, files))
        best = [entry for entry in found if entry.is_teams_own] or found
        if len(best) > 1:
            places = " and in ".join(printable(entry.file) for entry in best)
            raise ConfigException(f"It is defined in {places}. Remove it from all but one.")
        return best[0] if best else None

    def entries(self, path: str, files: ChangingFiles) -> Mapping[str, Any]:
        """
        Return what one of the ``paths`` defines: name -> definition.

        :raises ConfigException: the file cannot be read
        """
        return self._read(path, files, is_optional=False)

    def _entries(self, name: str, team: str | None, files: ChangingFiles) -> Iterator[FileEntry]:
        for path in self.paths:
            real = _of_team(path, team)
            definition = None if real is None else self._read(real, files, is_optional=real != path).get(name)
            if real is None or definition is None:
                continue
            owner = self.owner(definition)
            if owner is None or owner == team:
                yield FileEntry(real, definition, is_teams_own=owner is not None or real != path)

    def _read(self, path: str, files: ChangingFiles, *, is_optional: bool) -> Mapping[str, Any]:
        try:
            return files.read(path, self.load)  # type: ignore[no-any-return]  # what load gives
        except FileNotFoundError:
            if is_optional:
                return {}
            problem = "there is no such file"
        except OSError as error:
            problem = system_reason(error)
        except ValueError:
            problem = "no file can have such a name"
        shown = HIDDEN if shows_secret(path) else printable(path)  # perhaps an entry is in the place of its file
        raise ConfigException(f"{shown} cannot be read: {problem}. Correct the path or the file.")


def load_definitions(path: str) -> Mapping[str, Any]:
    """
    Return the content of a file of connections or settings: name -> string or mapping.

    :raises ConfigException: the file is wrong; the message says where, and quotes nothing
    """
    with importing():
        from airflow.secrets.local_filesystem import load_configs_dict  # noqa: PLC0415 - only if there is a file

    return _loaded(path, load_configs_dict)


def load_variables(path: str) -> Mapping[str, Any]:
    """
    Return the content of a file of variables: name -> string, or a value of YAML or JSON.

    :raises ConfigException: the file is wrong; the message says where, and quotes nothing
    """
    with importing():
        from airflow.secrets.local_filesystem import load_variables as load  # noqa: PLC0415 - as above

    return _loaded(path, load)


def _of_team(path: str, team: str | None) -> str | None:
    if TEAM not in path:
        return path
    return path.replace(TEAM, team) if team and _TEAM_NAME.fullmatch(team) else None


def _loaded(path: str, load: Callable[[str], Mapping[str, Any]]) -> Mapping[str, Any]:
    try:
        return load(path)
    except (OSError, ConfigProvidersError):
        raise
    except Exception as error:  # noqa: BLE001 - parsers raise much; their messages can quote the file
        problem = _problem(path, error)
    raise ConfigException(f"{printable(path)} cannot be read: {problem}. Correct the file.")


def _problem(path: str, error: Exception) -> str:
    from airflow.exceptions import AirflowUnsupportedFileTypeException, VariableNotUnique  # noqa: PLC0415 - only if a file is wrong

    if isinstance(error, AirflowUnsupportedFileTypeException | VariableNotUnique):
        return printable(str(error)).rstrip(".")
    mistakes = getattr(error, "parse_errors", None)
    if not mistakes:
        return type(error).__name__
    first = 1 if PurePath(path).suffix.lower() in {".yaml", ".yml"} else 0
    return ", ".join(
        mistake.message.rstrip(".") if mistake.message in _HARMLESS else f"line {mistake.line_no + first} is wrong"
        for mistake in mistakes
    )


class ChangingFiles:
    """
    Keeps what was read from files until they change. Safe to use from several threads.

    :param clock: returns the seconds since the epoch
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: dict[Hashable, tuple[Hashable, Any]] = {}

    def read(self, path: str, load: Callable[[str], Any]) -> Any:
        """
        Return ``load(path)``, or its previous result if the file has not changed since.

        :raises OSError: the file is not accessible
        :raises Exception: what ``load`` raises
        """
        state = state_of(path)
        kept = self._kept.get((path, load))
        if kept is not None and kept[0] == state:
            return kept[1]
        content = load(path)
        if self._clock() - Path(path).stat().st_mtime > _SETTLED_AFTER:
            self._kept[path, load] = (state, content)
        return content


def lines_of(path: str) -> Mapping[str, int]:
    """
    Return name -> the line of the entry that counts, the last one with this name.

    Empty if they cannot be found, also in a file of more than 1 MiB: looking for them takes as long as reading it.
    Airflow's parsers do not keep them.
    """
    found = _env_lines if PurePath(path).suffix.lower() == ".env" else _yaml_lines
    try:
        return dict(found(read_named(path).decode()))
    except _UNREADABLE:
        return {}


def place_of(path: str, name: str, lines: Mapping[str, int]) -> str:
    """
    Return the path of an entry and, if it is known, its line.

    :param lines: what ``lines_of`` returns for the file
    """
    return f"{printable(path)}:{lines[name]}" if name in lines else printable(path)


def _env_lines(text: str) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield line.partition("=")[0], number


def _yaml_lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield the names in a mapping of YAML, or of JSON, which is YAML, too."""
    with importing():
        import yaml  # noqa: PLC0415 - only if an entry is wrong

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return
    if isinstance(root, yaml.MappingNode):
        yield from ((str(key.value), key.start_mark.line + 1) for key, _ in root.value)
