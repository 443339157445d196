"""A state of a deployment: the jobs of its tasks, and the layers that they get."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.templates import can_become, is_known_only_in_run, without_templates
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import beside_references
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.inheritance import dynamic_layer, inherited, task_configs
from airflow_config_providers.dynamic.planner import DynamicLayers
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.deployed_task import Warn
from airflow_config_providers.job.job_layers import NOT_SHOWN, ReadFile, deployed_layers, file_as_deployed
from airflow_config_providers.job.nested_texts import field_of, label_below
from airflow_config_providers.job.template_paths import bounds_of_deployment
from airflow_config_providers.planning.dag_folder import Checkout, Jobs
from airflow_config_providers.spark.layer_files import AllowedDirectories, ConfigFile, file_layer, is_yaml


def read_environment(text: str, *, name: str) -> Mapping[str, str]:
    """
    Return name -> value for the lines ``NAME=VALUE`` of ``text``.

    As in the files of ``docker run --env-file``, only a line feed ends a line, with or without a carriage return,
    empty lines and those that begin with ``#`` are left out, and quotes and backslashes are parts of the value.

    :param name: the name of the file in messages
    :raises ConfigException: other lines are wrong; lists each with its number, and no value
    """
    written = (line.removesuffix("\r") for line in text.split("\n"))
    meant = ((number, line) for number, line in enumerate(written, 1) if line.strip() and line.lstrip()[0] != "#")
    lines = [(number, *line.partition("=")) for number, line in meant]
    wrong = [number for number, variable, sign, _ in lines if not (variable.strip() and sign)]
    refuse(
        ConfigException, (f"{printable(name)}:{number}: this line is not NAME=VALUE. Correct it." for number in wrong)
    )
    return {variable.strip(): value for _, variable, _, value in lines}


@dataclass(frozen=True, slots=True)
class State:
    """
    A state of a deployment, in which the layers of each task are computed once.

    :param dynamic: returns the dynamic layers of a task, weakest last, without empty ones
    :param read_file: reads a layer file
    :param environ: the environment variables of the jobs
    """

    jobs: Jobs = field(repr=False)
    dynamic: DynamicLayers
    read_file: ReadFile
    environ: Mapping[str, str] = field(repr=False)
    _found: dict[ConfigResource, Sequence[ConfigLayer]] = field(default_factory=dict, init=False, repr=False)

    def layers(self, task: ConfigResource, *, warn: Warn) -> Sequence[ConfigLayer]:
        """
        Return all layers of a task; none if it does not exist in this state.

        :param warn: is called with each note for the reader, the first time
        """
        if task not in self.jobs:
            return ()
        if task not in self._found:
            below = deployed_layers(self.jobs[task], self.environ, warn=warn, read_file=self.read_file)
            self._found[task] = [*self.dynamic(task), *below]
        return self._found[task]

    def chosen_files(self, task: ConfigResource) -> list[str]:
        """Return the paths, with templates and references, of the layer files of a task that only a run knows."""
        return list(filter(is_known_only_in_run, self.files(task)))

    def tasks_that_can_choose(self, path: str) -> list[ConfigResource]:
        """Return the tasks with a layer file whose path is ``path`` in some run, as far as its literals say."""
        return sorted(task for task in self.jobs if any(_can_be_at(file, path) for file in self.files(task)))

    def files(self, task: ConfigResource) -> tuple[str, ...]:
        """Return the paths of the layer files of a task, strongest last; those of the deployment for any other task."""
        named = self.jobs[task].files.values() if task in self.jobs else ()
        return (*settings.config_files(), *named)

    def arguments(self, task: ConfigResource) -> ConfigLayer:
        """Return label -> string for what a task has outside its layers: references, and environment variables."""
        job = self.jobs.get(task, AuthoredJob())
        variables = {label_below("env_vars", name): text for name, text in job.environment.items()}
        shown = {label.removeprefix("_"): text for label, text in {**variables, **job.texts}.items()}
        origins = {label: f"argument {field_of(label)}" for label in shown}
        return ConfigLayer(ConfigSource.DAG_CONFIG, "arguments", shown, origins)


def stored_dynamic_layers(changed: Mapping[ConfigResource, ConfigLayer]) -> DynamicLayers:
    """
    Return a reader of the dynamic layers of tasks, which reads each document once, as the tasks do.

    :param changed: resource -> its layer in place of the stored one
    """
    if not settings.dynamic_enabled():
        return lambda task: ()
    store = VariableStore()
    read = cache(lambda name: store.read([name])[name].text)

    def layers(task: ConfigResource) -> list[ConfigLayer]:
        configs = task_configs(task, read)
        found = [changed.get(one) or dynamic_layer(one, configs[one]) for one in inherited(task)]
        return [layer for layer in found if layer.configs]

    return layers


def file_reader(checkout: Checkout | None, replaced: Mapping[str, str]) -> ReadFile:
    """
    Return what reads the layer files of a state, each once.

    :param checkout: the revision whose files are read in place of those of the deployment
    :param replaced: path of a layer file -> the file that is read in place of it, wherever that is
    :raises ConfigException: a file that is to be read in place of another cannot be, or has another format
    """
    _require_readable(replaced)
    by_real = {os.path.realpath(path): other for path, other in replaced.items()}

    @cache
    def read(path: str, warn: Warn) -> ConfigLayer | None:
        if other := by_real.get(os.path.realpath(path)):
            return file_layer(ConfigFile(path, other))
        if checkout is None:
            return file_as_deployed(path, warn)
        return file_as_deployed(path, warn, read_from=checkout.inside(path), bounds=_bounds_in(checkout))

    return read


def unread(replaced: Iterable[str], jobs: Jobs) -> list[str]:
    """Return those of the paths in ``replaced`` that none of ``jobs`` reads."""
    read = {os.path.realpath(path) for path in _paths(jobs)}
    return [path for path in replaced if os.path.realpath(path) not in read]


def _can_be_at(file: str, path: str) -> bool:
    """Return whether the literals in ``file``, a layer file that a run chooses, say that it could choose ``path``."""
    if not is_known_only_in_run(file) or not beside_references(without_templates(file)):
        return False
    written, real = (file, os.path.realpath(file)), (path, os.path.realpath(path))
    return any(can_become(template, text) for template in written for text in real)


def refuse_broken_files(state: State, before: Checkout | None, after: Checkout | None) -> None:
    """
    Make sure that the layer files of the repository can be read in the second of two states.

    What neither state has could be made where tasks run, so it is not refused.

    :param state: the second state
    :param before: the revision of the first state; None for the files as they are
    :param after: the revision of the second state; None for the files as they are
    :raises ConfigException: a file is malformed, or it is no longer there; lists all problems
    """
    problems: list[str] = []
    for path in sorted(_paths(state.jobs)):
        places = {path if checkout is None else checkout.inside(path) for checkout in (before, after)}
        if places != {path} and any(map(os.path.exists, places)):
            state.read_file(path, problems.append)
    refuse(ConfigException, (problem.removeprefix(NOT_SHOWN) for problem in problems))


def _paths(jobs: Jobs) -> set[str]:
    return {*settings.config_files(), *(path for job in jobs.values() for path in job.files.values())}


def _require_readable(replaced: Mapping[str, str]) -> None:
    for path, other in replaced.items():
        if is_yaml(path) != is_yaml(other):
            raise ConfigException(
                f"'{printable(other)}' cannot take the place of '{printable(path)}': one is YAML, by its name, and the "
                f"other is not. Give it a name with the same ending."
            )
        file_layer(ConfigFile(other, other))


def _bounds_in(checkout: Checkout) -> Iterator[AllowedDirectories]:
    """Yield the bounds of the deployment, such that a link in the revision cannot lead out of them either."""
    for bound in bounds_of_deployment(settings.config_paths()):
        yield replace(bound, directories=tuple(map(checkout.inside, bound.directories)))
