"""The layers of one run of a Spark job, also that of its run configuration (``dag_run.conf``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.process_environment import all_variables
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS, ReloadAction, without_reload_action
from airflow_config_providers.core.templates import is_known_only_in_run
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ReservedKeyError, refuse
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.exposed_values import PlacedText
from airflow_config_providers.job.steered_layers import (
    refuse_keys_of_author,
    run_layers,
    with_kept_authentication,
    with_kept_redaction,
)
from airflow_config_providers.job.template_references import FilledIn, brought_problem, inserted_problem
from airflow_config_providers.spark.catalogue import MASTER, spark_definition
from airflow_config_providers.spark.driver_providers import refusal
from airflow_config_providers.spark.known_keys import find_in_layers
from airflow_config_providers.spark.layer_files import AllowedDirectories, ConfigFile, environment_layer, file_layer
from airflow_config_providers.spark.substitutions import has_inserted, is_substituted

ReadFile = Callable[[str, Callable[[str], None]], ConfigLayer | None]
"""Returns the layer of the file at a path; if it cannot, it calls the function with the reason and returns None."""

NOT_SHOWN: Final = "Not shown: "
"""How the reason begins if a file cannot be read."""

FAILS_ALIKE: Final = "A run fails, too, unless the file is another one where tasks run."
"""How the reason ends."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class JobLayers:
    """
    Collects the layers of an operator's job.

    :param render: renders Jinja templates that the author and the deployment wrote, never what came from a run or from
        the environment
    :param warn: is called with each note for the reader of the task log
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param passes_master: whether the operator passes another master to Spark than ``spark.master``
    :param spark_version: the version of the Spark that runs the job; None if it is not known
    """

    render: Callable[[str], FilledIn]
    warn: Callable[[str], None]
    takes_any_key: bool = False
    passes_master: bool = False
    spark_version: str | None = None

    def collect(
        self, files: Sequence[ConfigFile], others: Iterable[ConfigLayer], run_conf: Mapping[str, Any] | None
    ) -> list[ConfigLayer]:
        """
        Return the layers of a job that is run with ``dag_run.conf`` = ``run_conf``.

        :param files: properties files, strongest last
        :param others: the layers that the author of the DAG wrote, and the dynamic ones
        :raises ConfigException: files cannot be read, or keys are not allowed; names all files, or else all keys
        """
        layers = with_reload_action([*self._of_files(files), *others, *run_layers(run_conf or {}, warn=self.warn)])
        environment = _environment(layers, os.environ, self.warn)
        of_spark = {file.name for file in files if file.is_lenient}
        require_unreserved(_placed([*layers, *environment], but={*of_spark, *settings.config_files()}))
        refuse_keys_of_author(layers)
        self._check_keys(layers, of_spark)
        return with_kept_redaction(with_kept_authentication([*layers, *environment], warn=self.warn))

    def _check_keys(self, layers: Sequence[ConfigLayer], of_spark: Collection[str]) -> None:
        """Refuse keys that Spark would ignore, and warn about doubtful ones, but not those in Spark's own file."""
        found = find_in_layers(
            layers,
            settings.unknown_keys(),
            but=of_spark,
            takes_any_key=self.takes_any_key,
            spark_version=self.spark_version,
        )
        for doubt in (*found.doubts, *self._unread_masters(layers, of_spark)):
            self.warn(doubt)
        refuse(ConfigException, found.problems)

    def _unread_masters(self, layers: Sequence[ConfigLayer], of_spark: Collection[str]) -> Iterator[str]:
        if not self.passes_master:
            return
        for layer in layers:
            if MASTER in layer.configs and layer.name not in of_spark:
                yield without_effect(layer.origin(MASTER))

    def _of_files(self, files: Iterable[ConfigFile]) -> list[ConfigLayer]:
        found: list[ConfigLayer] = []
        problems: list[str] = []
        for file in files:
            try:
                layer = _file_layer(file)
                found.append(self._filled_in(layer) if file.is_template else layer)
            except ConfigException as error:
                problems += error.problems
        refuse(ConfigException, problems)
        return found

    def _filled_in(self, layer: ConfigLayer) -> ConfigLayer:
        configs = {key: self.render(text) for key, text in layer.configs.items()}
        brought = [key for key, text in configs.items() if not text.is_written()]
        problems = [
            brought_problem(
                f"{key} in {layer.name}", template=layer.configs[key], is_redirected=configs[key].is_redirected
            )
            for key in brought
        ]
        problems += [
            inserted_problem(f"{key} in {layer.name}")
            for key, text in configs.items()
            if is_substituted(key, text.value) and has_inserted(text.value, template=layer.configs[key])
            if key not in brought
        ]
        if not settings.run_config_references():
            refuse(ConfigException, problems)
        return replace(layer, configs={key: text.value for key, text in configs.items()})


def without_effect(origin: str) -> str:
    """Return the warning about a ``spark.master`` from ``origin`` if the operator passes another one."""
    return (
        f"'{MASTER}' in {printable(origin)} has no effect: the operator passes the master of its Spark connection. "
        f"Set it there."
    )


def require_unreserved(texts: Iterable[PlacedText]) -> None:
    """
    Refuse ``texts`` that define providers for a driver: they could send its login to any server.

    :raises ReservedKeyError: one does; names all of them
    """
    problems = (f"{printable(item.name)}: {why}" for item in texts if (why := refusal(item.key, item.text)))
    refuse(ReservedKeyError, problems)


def _placed(layers: Iterable[ConfigLayer], *, but: Collection[str]) -> Iterator[PlacedText]:
    """Yield each string of ``layers`` with its place, without the layers named in ``but``."""
    for layer in (layer for layer in layers if layer.name not in but):
        for key, text in layer.configs.items():
            yield PlacedText(f"'{key}' in {layer.origin(key)}", key, text)


def with_reload_action(layers: Sequence[ConfigLayer]) -> list[ConfigLayer]:
    """
    Return ``layers`` in which the reload action has one name, so that they can be settled.

    :raises ConfigException: an action is wrong, even if another layer overrides it; names all of them
    """
    found: list[ConfigLayer] = []
    problems: list[str] = []
    for layer in layers:
        if layer.configs.keys().isdisjoint(RELOAD_ACTION_KEYS):
            found.append(layer)
            continue
        try:
            action = ReloadAction.of(layer.configs)
        except ConfigException as error:
            problems += [f"{problem} It is in {printable(layer.name)}." for problem in error.problems]
        else:
            found.append(_with_one_name(layer, action.value if action else ""))
    refuse(ConfigException, problems)
    return found


def _with_one_name(layer: ConfigLayer, action: str) -> ConfigLayer:
    """Return a layer whose reload action is ``action``, written where one of its names was."""
    name = RELOAD_ACTION_KEYS[0]
    written = next(filter(layer.configs.__contains__, RELOAD_ACTION_KEYS))
    configs = {**without_reload_action(layer.configs), name: action}
    return replace(layer, configs=configs, origins={**layer.origins, name: layer.origin(written)})


def deployed_layers(
    job: AuthoredJob | None,
    environ: Mapping[str, str],
    *,
    warn: Callable[[str], None],
    read_file: ReadFile | None = None,
) -> list[ConfigLayer]:
    """
    Return the layers of a job as deployed, with templates unrendered; for None, those of the deployment.

    :param warn: is called for each file that is not shown, because its path is rendered only in a run or because it
        cannot be read here, and for each environment variable that is ignored or doubtful
    :param read_file: reads each file; None for ``file_as_deployed``
    """
    job, read_file = job or AuthoredJob(), read_file or file_as_deployed
    paths = (*settings.config_files(), *job.files.values())
    layers = [layer for path in paths if (layer := read_file(path, warn))]
    layers += job.layers
    return [*layers, *_environment(layers, environ, warn)]


def _environment(
    layers: Iterable[ConfigLayer], environ: Mapping[str, str], warn: Callable[[str], None]
) -> list[ConfigLayer]:
    """Return the layer of the variables that override a key of another layer or of Spark, if it is allowed."""
    if not settings.environment_enabled():
        return []
    definition = spark_definition()
    keys = dict.fromkeys([*(key for layer in layers for key in layer.configs), *definition.config_keys])
    layer, doubts = environment_layer(all_variables(environ), keys, definition)
    for doubt in doubts:
        warn(doubt)
    return [layer]


def _file_layer(file: ConfigFile) -> ConfigLayer:
    """Return the layer of a file. An error says who names the file: the deployment or an argument of the task."""
    try:
        return file_layer(file)
    except ConfigException as error:
        problems, label = error.problems, "from [config_providers] config_files"
    if file.name not in settings.config_files():
        label = f"{printable(file.label)} of the task" if file.label else ""
    raise ConfigException(*(f"{problem} The file is {label}." if label else problem for problem in problems))


def file_as_deployed(
    path: str, warn: Callable[[str], None], *, read_from: str = "", bounds: Iterable[AllowedDirectories] | None = None
) -> ConfigLayer | None:
    """
    Return the layer of a properties file; None, with a warning, if its path is known only in a run or cannot be read.

    :param read_from: the file to read in place of it; empty for ``path`` itself
    :param bounds: where that file must be; None for the bounds of the deployment
    """
    if is_known_only_in_run(path):
        warn(f"The properties file '{printable(path)}' is not shown: its path is known only when the task runs.")
        return None
    if bounds is None:
        from airflow_config_providers.job.template_paths import bounds_of_deployment  # noqa: PLC0415 - no run needs it

        bounds = bounds_of_deployment(settings.config_paths())
    try:
        return _file_layer(ConfigFile(path, read_from or path, bounds=tuple(bounds)))
    except ConfigException as error:
        problems = error.problems
    for problem in problems:
        warn(f"{NOT_SHOWN}{problem} {FAILS_ALIKE}")
    return None
