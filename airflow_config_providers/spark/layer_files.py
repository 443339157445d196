"""Layers of Spark configuration from files in Java properties or YAML, from mappings, and from the environment."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import PurePath
from typing import Any, Final

from airflow_config_providers.core import properties
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.java_text import written
from airflow_config_providers.core.keys import is_reserved
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.named_file import LARGEST_CONFIG_FILE, read_named
from airflow_config_providers.core.text import grouped, printable
from airflow_config_providers.exceptions import ConfigException, refuse, system_reason
from airflow_config_providers.providers.real_path import Steps, is_inside, open_real, steps
from airflow_config_providers.spark.driver_providers import is_driver_definition

_OF_THE_SYSTEM: Final = (("proc",), ("sys",))
_LIVE: Final = "the operating system generates its content, which is not configuration"

YAML_SUFFIXES: Final = (".yaml", ".yml")
_SUFFIXES: Final = {".json": "JSON", **dict.fromkeys(YAML_SUFFIXES, "YAML")}

_OPENS: Final = re.compile(r"[\w.\"'-]+:\s*(#.*)?")
"""A name with nothing after its colon."""

_BELOW: Final = re.compile(r"\s+(- |[\w.\"'-]+:(\s|$)).*")
"""An indented line below such a name: an item of a list, or another name."""


@dataclass(frozen=True, slots=True)
class AllowedDirectories:
    """
    The directories in which a file must be, after following all symbolic links.

    :param directories: the file must be inside one of these
    :param problem: what is wrong with a file elsewhere, and what to do
    """

    directories: tuple[str, ...] = field(repr=False)
    problem: str

    def holds(self, real: Steps) -> bool:
        """Return whether the real path ``real`` is inside one of the directories."""
        return is_inside(real, [steps(os.path.realpath(directory)) for directory in self.directories])


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """
    A file of Java properties, or of YAML if its name ends with ``.yaml`` or ``.yml``, that becomes a layer.

    :param name: its name in messages: the path as written, with references
    :param path: the path of the file
    :param is_template: whether its values are Jinja templates; in Spark's own files, ``{{APP_ID}}`` belongs to Spark
    :param is_lenient: whether the file is Spark's own, which the author of the job cannot correct: always properties,
        and a key can appear twice
    :param bounds: where the file must be
    :param label: the argument of the task that names the file; empty if none does
    """

    name: str
    path: str = field(repr=False)
    is_template: bool = False
    is_lenient: bool = False
    bounds: tuple[AllowedDirectories, ...] = ()
    label: str = ""

    def bounds_in(self, located: Callable[[str], str]) -> tuple[AllowedDirectories, ...]:
        """Return the bounds with each directory replaced by what ``located`` returns for it."""
        return tuple(replace(bound, directories=tuple(map(located, bound.directories))) for bound in self.bounds)


def file_layer(file: ConfigFile) -> ConfigLayer:
    """
    Return a layer for a file. The origin of each key is its file and line.

    :raises ConfigException: the file cannot be read, is outside its bounds, is malformed, or sets a key twice
    """
    entries = _whole(file_parts(file))
    lines = grouped((entry.key, entry.line) for entry in entries)
    if not file.is_lenient:
        _refuse_repeated(lines, name=file.name)
    return ConfigLayer(
        ConfigSource.STATIC_FILE_CONFIG,
        file.name,
        {entry.key: entry.value for entry in entries},
        {key: f"{file.name}:{found[-1]}" for key, found in lines.items()},
    )


def file_parts(file: ConfigFile) -> tuple[list[properties.Property], list[str]]:
    """
    Return the entries of a layer file in order, and the problems with the keys that are left out.

    :raises ConfigException: the file cannot be read, is outside its bounds, or is malformed as a whole
    """
    content = read_layer_file(file.path, name=file.name, bounds=file.bounds)
    text = _decoded(content, name=file.name)
    if file.is_lenient:
        return properties.parse(text, name=file.name), []
    return _parts(text, name=file.name, path=file.path)


def is_yaml(path: str) -> bool:
    """Return whether the file at ``path`` is YAML, by its name."""
    return PurePath(path).suffix.lower() in YAML_SUFFIXES


def parse(text: str, *, name: str, path: str) -> list[properties.Property]:
    """
    Return the entries of ``text`` in order, read as the name of its file says.

    :param name: the name of the file in messages
    :param path: the path of the file; one that ends with ``.yaml`` or ``.yml`` is YAML, any other Java properties
    :raises ConfigException: the text is malformed, or in another format
    """
    return _whole(_parts(text, name=name, path=path))


def _whole(parts: tuple[list[properties.Property], list[str]]) -> list[properties.Property]:
    entries, problems = parts
    refuse(ConfigException, problems)
    return entries


def _parts(text: str, *, name: str, path: str) -> tuple[list[properties.Property], list[str]]:
    if is_yaml(path):
        from airflow_config_providers.core import yaml_properties  # noqa: PLC0415 - most files are properties

        return yaml_properties.parts(text, name=name)
    refuse_other_format(text, name=name)
    return properties.parse(text, name=name), []


def _refuse_repeated(lines: Mapping[str, Sequence[int]], *, name: str) -> None:
    problems = (
        f"{printable(name)}: '{printable(key)}' is set in lines {', '.join(map(str, found))}. Keep one."
        for key, found in lines.items()
        if len(found) > 1
    )
    refuse(ConfigException, problems)


def read_text(path: str, *, name: str, kind: str = "") -> str:
    """
    Return the text of a configuration file or pipe of at most 1 MiB, with its line ends unchanged.

    :param name: its name in messages
    :param kind: what messages call the file; by default that of a layer file
    :raises ConfigException: the file cannot be read, is too large, is a pipe without a writer, or is not UTF-8
    """
    try:
        content = read_named(path)
    except OSError as error:
        problem = system_reason(error)
    else:
        return _decoded(content, name=name, kind=kind)
    raise _unreadable(name, problem, kind)


def _decoded(content: bytes, *, name: str, kind: str = "") -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8"
    raise _unreadable(name, problem, kind)


def _unreadable(name: str, problem: str, kind: str = "") -> ConfigException:
    kind = kind or ("YAML file" if is_yaml(name) else "properties file")
    return ConfigException(f"The {kind} '{printable(name)}' cannot be read: {problem}. Correct the path or the file.")


def read_layer_file(path: str, *, name: str, bounds: Iterable[AllowedDirectories] = ()) -> bytes:
    """
    Return the content of a regular file of at most 1 MiB. Opening it never blocks.

    A file outside a bound is not opened, and the error does not reveal whether it exists.

    :param name: its name in messages
    :raises ConfigException: the file cannot be read, is not a regular file, is too large, or is outside a bound
    """
    try:
        real = steps(os.path.realpath(path))
        outside = (bound.problem for bound in bounds if not bound.holds(real))
        refuse(ConfigException, (f"The file '{printable(name)}' {problem}" for problem in outside))
        return _read(real)
    except OSError as error:
        problem = system_reason(error)
    except ValueError:  # a NUL, or a lone surrogate
        problem = "the name is invalid"
    raise _unreadable(name, problem)


def _read(real: Steps) -> bytes:
    if is_inside(real, _OF_THE_SYSTEM):
        raise OSError(errno.EINVAL, _LIVE)
    with open_real(real, is_kind=stat.S_ISREG) as descriptor:
        if descriptor is None:
            raise OSError(errno.EINVAL, "it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST_CONFIG_FILE + 1)
        size = os.fstat(descriptor).st_size
    if content and not size:  # in a /proc that is mounted elsewhere
        raise OSError(errno.EINVAL, _LIVE)
    if len(content) > LARGEST_CONFIG_FILE:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_CONFIG_FILE} bytes")
    return content


def refuse_other_format(text: str, *, name: str) -> None:
    """
    Refuse ``text`` that is not meant as Java properties.

    :param name: the name of the file
    :raises ConfigException: the text looks like YAML or JSON
    """
    if found := _format_of(text.replace("\r\n", "\n"), name):
        raise ConfigException(
            f"{printable(name)} looks like {found}, but is read as a Java properties file. Write one key and its value "
            f"on each line, such as spark.executor.memory=4g, and name the file .properties; or write YAML, and name "
            f"the file .yaml."
        )


def _format_of(text: str, name: str) -> str:
    if by_name := _SUFFIXES.get(PurePath(name).suffix.lower()):
        return by_name
    if text.lstrip("\ufeff \t\n").startswith(("{", "[")) and _is_json(text):
        return "JSON"
    return "YAML" if _looks_like_yaml(text) else ""


def _looks_like_yaml(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#")]
    is_nested = any(_OPENS.fullmatch(one) and _BELOW.fullmatch(below) for one, below in pairwise(lines))
    return bool(lines) and (lines[0].split() == ["---"] or is_nested)


def _is_json(text: str) -> bool:
    try:
        json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


_SERVICE_LINK: Final = re.compile(r"(tcp|udp|sctp)://(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]{1,5}", re.ASCII)
"""The values that Kubernetes sets for ``<SERVICE>_PORT`` and ``<SERVICE>_PORT_<number>_TCP``."""


def mapping_layer(source: ConfigSource, name: str, configs: Any) -> ConfigLayer:
    """
    Return a layer for a mapping. Numbers and booleans are converted to strings as Spark writes them.

    :raises ConfigException: it is not a mapping, or has values other than strings, numbers and booleans
    """
    if not isinstance(configs, Mapping):
        raise ConfigException(
            f"{name}: expected a mapping of key to value, found {type(configs).__name__}. Write a dict. If a template "
            f"returns it, set render_template_as_native_obj=True in the DAG."
        )
    texts = {key: written(value) if isinstance(value, str | float | int) else None for key, value in configs.items()}
    problems = [
        f"{name}: '{printable(str(key))}' has a value of type {type(configs[key]).__name__}. "
        f"Write a string, a number or a boolean."
        for key, text in texts.items()
        if text is None
    ]
    problems += [
        f"{name}: the key '{printable(str(key))}' is not a string." for key in configs if not isinstance(key, str)
    ]
    refuse(ConfigException, problems)
    return ConfigLayer(source, name, {key: text for key, text in texts.items() if text is not None})


def pairs(conf: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Return a configuration as a mapping; spark-sql's form ``key=value,key=value`` is parsed."""
    if not isinstance(conf, str):
        return conf
    return {key.strip(): value for key, _, value in (part.partition("=") for part in conf.split(","))}


def environment_layer(
    environ: Mapping[str, str], keys: Iterable[str], definition: ConfigDef | None = None
) -> tuple[ConfigLayer, list[str]]:
    """
    Return a layer for the environment variables that override one of ``keys``.

    Kubernetes sets variables for services in each pod, such as ``SPARK_UI_PORT=tcp://10.0.0.1:4040``. They are not
    meant as configuration, so one that does not fit the type of its key is ignored.

    :param definition: the types of the keys
    :return: the layer, and a sentence for each ignored variable and for each key that several variables set to
        different values
    """
    from airflow_config_providers.core.environment import EnvironmentOverrides  # noqa: PLC0415 - few deployments allow it

    overrides, definition = EnvironmentOverrides(environ), definition or ConfigDef()
    found = {key: name for key in keys if not _is_of_deployment(key) and (name := overrides.origin(key)) is not None}
    origins = {key: name for key, name in found.items() if not _is_service_link(key, environ[name], definition)}
    doubts = [_left_out(key, name) for key, name in found.items() if key not in origins]
    doubts += [
        f"{key} is set by {' and '.join(names)} to different values; {origins[key]} wins."
        for key in origins
        if (names := overrides.ambiguous(key))
    ]
    configs = {key: overrides.lookup(key) or "" for key in origins}
    described = {key: f"environment variable {name}" for key, name in origins.items()}
    return ConfigLayer(ConfigSource.ENVIRONMENT_CONFIG, "environment", configs, described), doubts


def _is_of_deployment(key: str) -> bool:
    """Return whether ``key`` defines providers, for the worker or for a driver."""
    return is_reserved(key) or is_driver_definition(key)


def _is_service_link(key: str, text: str, definition: ConfigDef) -> bool:
    is_typed = key in definition.names()
    return is_typed and _SERVICE_LINK.fullmatch(text) is not None and bool(definition.misfits(key, text))


def _left_out(key: str, name: str) -> str:
    return (
        f"The environment variable {name} is ignored: it looks like a service link of Kubernetes, and does not fit "
        f"{key}. Set enableServiceLinks: false for the pod, or rename the service."
    )
