"""The files that ``lint`` reads, by what they are; and a copy of a folder, whose links lead to files of the copy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf, dag_files
from airflow_config_providers.core.named_file import LARGEST_CONFIG_FILE, open_named
from airflow_config_providers.core.templates import is_known_only_in_run
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.spark.layer_files import YAML_SUFFIXES

_LOCAL_BUNDLE: Final = "airflow.dag_processing.bundles.local.LocalDagBundle"
_DAGS: Final = (".py", ".zip")
_PROPERTIES: Final = (".conf", ".properties")

_LINE: Final = rb"(?:\A\xef\xbb\xbf|^|\r)"
"""The beginning of a line, which a carriage return ends, too; a byte order mark can be before the first."""

_SPARK_KEY: Final = re.compile(_LINE + rb"[ \t\f]*spark\.", re.MULTILINE)

_YAML_KEY: Final = re.compile(_LINE + rb"""["']?spark["']?(\.[^:\r\n]*)?:(\s|$)""", re.MULTILINE)
"""A key of Spark, or a map of them, that is not below another: manifests of Kubernetes have such keys farther in."""

_POLICY_LIST: Final = re.compile(_LINE + rb"""["']?policies["']?\s*:""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LintedPaths:
    """
    Paths of files.

    :param roots: the folders from which DAG files import modules
    """

    dags: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()

    @classmethod
    def of_deployment(cls) -> Self:
        """
        Return the files of this deployment: its DAGs, and the layers and policies that its settings name.

        :raises ConfigException: the deployment has no folder of DAG files
        """
        folder = existing_dags_folder()
        layers = (path for path in settings.config_files() if not is_known_only_in_run(path))
        policies = settings.policies_file()
        return cls(tuple(_dag_files(folder)), tuple(layers), (policies,) if policies else (), (folder,))

    @classmethod
    def of(cls, paths: Iterable[str], *, skips_other_yaml: bool = False) -> Self:
        """
        Return ``paths`` sorted by kind; for a folder, the DAG files and layer files in it.

        :param skips_other_yaml: whether YAML files that are neither layer files nor policies are left out; otherwise
            they are read as policies
        :raises ConfigException: a path does not exist, or is a file of another kind; names each
        """
        found = list(dict.fromkeys(paths))
        refuse(ConfigException, [problem for path in found if (problem := _problem(path))])
        folders = [path for path in found if Path(path).is_dir()]
        found_layers = (sorted(str(one) for one in Path(folder).rglob("*.*") if _is_layer(one)) for folder in folders)
        layers = [path for some in found_layers for path in some]
        dags = [path for folder in folders for path in _dag_files(folder)]
        yaml = list(_ending(found, YAML_SUFFIXES, but=folders))
        yaml_layers = [path for path in yaml if _is_yaml_layer(Path(path))]
        policies = [path for path in yaml if path not in yaml_layers]
        if skips_other_yaml:
            policies = [path for path in policies if has_policies(path)]
        return cls(
            _unique([*dags, *_ending(found, _DAGS, but=folders)]),
            _unique([*layers, *_ending(found, _PROPERTIES, but=folders), *yaml_layers]),
            tuple(policies),
            _unique([*(str(Path(folder).resolve()) for folder in folders), dags_folder()]),
        )


def has_policies(path: str) -> bool:
    """Return whether a YAML file has a list of policies, or begins one."""
    return _POLICY_LIST.search(_start_of(Path(path), unread=b"")) is not None


def dags_folder() -> str:
    """Return the folder in which this deployment has its DAG files."""
    return str(conf.get("core", "dags_folder"))


def existing_dags_folder() -> str:
    """
    Return the folder in which this deployment has its DAG files.

    :raises ConfigException: there is no such folder, or the deployment has DAG files elsewhere, too
    """
    folder = dags_folder()
    if bundles := bundles_elsewhere(folder):
        raise ConfigException(
            f"[dag_processor] dag_bundle_config_list has DAG files elsewhere than in [core] dags_folder: in "
            f"{', '.join(map(printable, bundles))}. Name the folders of all DAG files."
        )
    if not Path(folder).exists():  # Airflow takes a single DAG file, too
        raise ConfigException(
            f"There is no folder '{printable(folder)}'. Correct [core] dags_folder, or name the DAG files."
        )
    return folder


def bundles_elsewhere(folder: str) -> list[str]:
    """Return the names of the bundles of this deployment that are not just ``folder``."""
    found = conf.getjson("dag_processor", "dag_bundle_config_list", fallback=[])
    bundles = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [str(one.get("name", "")) for one in bundles if not _is_local_at(folder, one)]


def _is_local_at(folder: str, bundle: Mapping[str, Any]) -> bool:
    arguments = bundle.get("kwargs") or {}
    path = arguments.get("path") or folder if isinstance(arguments, dict) else ""
    return bundle.get("classpath") == _LOCAL_BUNDLE and os.path.realpath(str(path)) == os.path.realpath(folder)


def _problem(path: str) -> str:
    shown = printable(path)
    if not os.path.exists(path):  # noqa: PTH110 - a Path raises an error for a name that is too long
        return f"There is no file or folder '{shown}'. Correct the path."
    if Path(path).is_dir() or Path(path).suffix.lower() in (*_DAGS, *_PROPERTIES, *YAML_SUFFIXES):
        return ""
    layers, policies = ", ".join((*_PROPERTIES, *YAML_SUFFIXES)), ", ".join(YAML_SUFFIXES)
    kinds = f"DAG files ({', '.join(_DAGS)}), layer files ({layers}) and policies ({policies})"
    return f"'{shown}' is none of the files that can be checked: {kinds}. Rename it, or leave it out."


def _dag_files(folder: str) -> list[str]:
    """
    Return the files in which Airflow would look for DAGs.

    :raises ConfigException: a link in the folder leads to a folder above it, so that Airflow refuses to look, or a
        file with patterns to ignore cannot be read
    """
    try:
        return sorted(dag_files(folder, safe_mode=conf.getboolean("core", "dag_discovery_safe_mode")))
    except RuntimeError:
        why = "a link in it leads to a folder above the link. Remove the link, or name it in .airflowignore."
    except ValueError:
        why = "an .airflowignore in it is not UTF-8 or has an invalid pattern. Correct it."
    raise ConfigException(f"Airflow finds no DAG files in '{printable(folder)}', because {why}")


def _is_layer(path: Path) -> bool:
    """Return whether a file sets a key of Spark; those of log4j and others are not layers."""
    if path.suffix.lower() in YAML_SUFFIXES:
        return _is_yaml_layer(path)
    if path.suffix != ".properties" or not path.is_file():
        return False
    return _SPARK_KEY.search(_start_of(path, unread=b"spark.")) is not None


def _is_yaml_layer(path: Path) -> bool:
    """Return whether a YAML file sets a key of Spark; any other has policies, or should have."""
    content = _start_of(path, unread=b"") if path.is_file() else b""
    return _YAML_KEY.search(content) is not None and not _POLICY_LIST.search(content)


def _start_of(path: Path, *, unread: bytes) -> bytes:
    """Return as much of a file as a layer file can have; ``unread`` if it cannot be read."""
    try:
        with os.fdopen(open_named(str(path)), "rb") as file:
            return file.read(LARGEST_CONFIG_FILE)
    except OSError:
        return unread  # and reading it as what it seems to be says what is wrong


def _ending(paths: Iterable[str], suffixes: tuple[str, ...], *, but: Iterable[str]) -> Iterator[str]:
    yield from (path for path in paths if path not in but and Path(path).suffix.lower() in suffixes)


def _unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))


def moved(path: str, before: Path, after: Path) -> str:
    """Return ``path`` below ``after`` if it is below ``before``, also if it goes there through links."""
    for one in (os.path.abspath(path), os.path.realpath(path)):  # noqa: PTH100 - links stay as they are
        if Path(one).is_relative_to(before):
            return str(after / Path(one).relative_to(before))
    return path


def lead_as_before(before: Path, copy: Path) -> None:
    """Let links in ``copy`` lead to files of the copy, if they lead into ``before``, or to the same files outside."""
    for link in _links(copy):
        led_to = str(Path(before, link.relative_to(copy).parent, link.readlink()))
        leads_to = moved(led_to, before, copy)
        if os.path.lexists(leads_to) or not os.path.lexists(led_to):  # what was not copied stays where it is
            with suppress(OSError):  # a folder in which nothing can be changed
                link.unlink()
                link.symlink_to(leads_to)


def _links(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        yield from filter(Path.is_symlink, (Path(place, name) for name in (*folders, *files)))
