"""The layers that someone other than the author of a DAG controls: the dynamic configuration, and that of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, refuse
from airflow_config_providers.foreign import has_supervisor
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.spark.catalogue import AUTHENTICATE_KEY, OF_AUTHOR, READ_ONLY, closes_ports
from airflow_config_providers.spark.layer_files import mapping_layer
from airflow_config_providers.spark.redaction import (
    DEFAULT_OPTIONS,
    DEFAULT_PATTERN,
    OPTIONS_KEY,
    REDACTION_KEY,
    STRINGS_KEY,
)
from airflow_config_providers.spark.substitutions import is_substituted

if TYPE_CHECKING:
    from airflow_config_providers.dynamic.document import Sealed, StoredConfig
    from airflow_config_providers.dynamic.password_encoder import PasswordEncoder
    from airflow_config_providers.dynamic.store import ChangeMark

_STRINGS: Final = "spark.redaction.string.regex"

_FORMER: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    REDACTION_KEY: ((REDACTION_KEY,), DEFAULT_PATTERN),
    OPTIONS_KEY: ((OPTIONS_KEY,), DEFAULT_OPTIONS),
    _STRINGS: ((_STRINGS,), ""),
    STRINGS_KEY: ((STRINGS_KEY, _STRINGS), ""),
}
"""Key of a pattern -> the keys of which the first that is set has the pattern otherwise, and Spark's default."""

_ESCAPED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
"""A quotation in a pattern of Java's, or a backslash with the character that it quotes."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class TaskDynamic:
    """
    The dynamic configuration of a task at one moment.

    :param layers: its layers, strongest first
    :param configs: what is stored for the task and what it inherits from, strongest first; empty if nothing was read
    """

    layers: Sequence[ConfigLayer] = ()
    configs: Collection[StoredConfig] = field(default=(), repr=False)

    @property
    def mark(self) -> ChangeMark:
        """What differs as soon as one of them is changed, or its references are to be resolved again."""
        from airflow_config_providers.dynamic.store import ChangeMark  # noqa: PLC0415 - only to reload

        return ChangeMark.of(self.configs) if self.configs else ChangeMark((), ())


def dynamic_config(task: ConfigResource) -> TaskDynamic:
    """
    Return the dynamic configuration of a task that is about to run, with one or two requests.

    Its secrets are decrypted only when the job gets them.

    A plain Python process, such as a unit test of a DAG, reads nothing.

    :raises ProviderUnavailableError: the layers cannot be read now
    :raises AccessDeniedError: a secrets backend of the worker refuses
    :raises ConfigException: stored configuration is unreadable
    """
    if not settings.dynamic_enabled() or not has_supervisor():
        return TaskDynamic()
    return _read(task, Opener())


def refresh_mark(task: ConfigResource) -> ChangeMark:
    """
    Return the mark of a running task, with the requests and errors of ``dynamic_config``.

    It differs as soon as someone changes the dynamic configuration of the task, or asks for its references to be
    resolved again (``airflow config-providers refresh``).
    """
    return dynamic_config(task).mark


def previewed_layers(task: ConfigResource, *, warn: Callable[[str], None]) -> Sequence[ConfigLayer]:
    """Return the layers of a previewed task, without decrypting secrets. Warn about layers that cannot be read."""
    if not settings.dynamic_enabled():
        return ()
    try:
        return _read(task).layers
    except ConfigProvidersError as error:
        problems = error.problems
    for problem in problems:
        warn(f"Dynamic configuration is not shown: {problem}")
    return ()


def _read(task: ConfigResource, opener: Opener | None = None) -> TaskDynamic:
    from airflow_config_providers.dynamic.inheritance import hidden, layers_of, task_configs  # noqa: PLC0415 - a deployment can turn it off
    from airflow_config_providers.providers import airflow_secrets  # noqa: PLC0415 - as above

    configs = task_configs(task, airflow_secrets.stored_variable)
    return TaskDynamic(layers_of(configs, opener or hidden), configs.values())


class Opener:
    """Decrypts the sealed secrets of one run, and derives their key only once."""

    def __call__(self, sealed: Sealed) -> str:
        """
        Return the plain text of a secret.

        :raises ConfigException: this process cannot decrypt it
        """
        return self._encoder.decode(sealed.text).value

    @cached_property
    def _encoder(self) -> PasswordEncoder:
        encoder = settings.password_encoder()
        if encoder is None:
            raise ConfigException(
                "this secret is encrypted, but this process cannot decrypt it. Set password_encoder_secret in "
                "[config_providers] for workers too, and restart what runs tasks."
            )
        return encoder


def run_layers(run_conf: Mapping[str, Any], *, warn: Callable[[str], None]) -> Iterator[ConfigLayer]:
    """
    Yield the layer of the run configuration, if there is one that the deployment allows.

    :param run_conf: ``dag_run.conf``
    :param warn: is called with a note if it is ignored
    :raises ConfigException: it has references, or strings that Spark would replace, and the deployment forbids them
    """
    key = settings.run_config_key()
    if key not in run_conf:
        return
    name = f"dag_run.conf[{key!r}]"
    if not settings.run_config_enabled():
        warn(
            f"{name} is ignored: this deployment does not allow it. To allow it, set [config_providers] "
            f"run_config_enabled, and restart what runs tasks."
        )
        return
    layer = mapping_layer(ConfigSource.RUN_CONFIG, name, run_conf[key])
    if not settings.run_config_references():
        _refuse_references(layer)
    yield layer


def _refuse_references(layer: ConfigLayer) -> None:
    problems = [
        f"{printable(key)} in {layer.name} holds a reference. Permission to trigger a run does not grant permission to "
        f"read secrets. Write the reference in the DAG, in a file, or in the dynamic configuration, or set "
        f"[config_providers] run_config_references. Do not pass the secret itself: Airflow stores and shows the "
        f"configuration of a run."
        for key, text in layer.configs.items()
        if scan(text)
    ]
    problems += [
        f"{printable(key)} in {layer.name} holds a string that Spark, Hadoop or Databricks would replace by another "
        f"key, an environment variable, a system property or a secret. Permission to trigger a run does not grant "
        f"permission to read them. Write the value itself, or set [config_providers] run_config_references."
        for key, text in layer.configs.items()
        if is_substituted(key, text) and not scan(text)
    ]
    refuse(ConfigException, problems)


def refuse_keys_of_author(layers: Iterable[ConfigLayer]) -> None:
    """
    Refuse the keys that only the author of a DAG and the owner of the deployment may set.

    Permission to set the master or the deploy mode would be permission to have the values sent elsewhere.

    :raises ConfigException: a layer has one; names all of them
    """
    problems = (
        f"'{key}' in {printable(layer.origin(key))} is read-only: {READ_ONLY[key]}"
        for layer in layers
        if layer.source.is_steered
        for key in sorted(OF_AUTHOR.keys() & layer.configs.keys())
    )
    refuse(ConfigException, problems)


def with_kept_authentication(layers: Iterable[ConfigLayer], *, warn: Callable[[str], None]) -> list[ConfigLayer]:
    """
    Return ``layers``, without what opens the ports of a driver in dynamic and run configuration.

    Otherwise, permission to change a configuration would be permission to let others ask the driver for its values.

    :param warn: is called with a note for each layer that would open them
    """
    return [_unopening(layer, warn) if layer.source.is_steered else layer for layer in layers]


def _unopening(layer: ConfigLayer, warn: Callable[[str], None]) -> ConfigLayer:
    if closes_ports(layer.configs.get(AUTHENTICATE_KEY, "true")):
        return layer
    warn(
        f"{AUTHENTICATE_KEY} in {printable(layer.origin(AUTHENTICATE_KEY))} has no effect: only the author of the DAG "
        f"and the owner of the deployment may let others ask a driver for its values. Remove it there."
    )
    configs, secrets = dict(layer.configs), dict(layer.secrets)
    del configs[AUTHENTICATE_KEY]
    secrets.pop(AUTHENTICATE_KEY, None)
    return replace(layer, configs=configs, secrets=secrets)


def with_kept_redaction(layers: Sequence[ConfigLayer]) -> list[ConfigLayer]:
    """
    Return ``layers``, in which the patterns of dynamic and run configuration extend those of the others.

    If they replaced them, permission to set a pattern would be permission to read what the DAG, the files and Spark's
    default hide, such as passwords among the options of the JVM and in Hadoop's own files.
    """
    if not any(layer.source.is_steered for layer in layers):
        return list(layers)
    kept: dict[str, str] = {}
    for layer in sorted(layers, key=attrgetter("source")):
        if not layer.source.is_steered:
            kept |= {key: layer.configs[key] for key in _FORMER.keys() & layer.configs.keys()}
    return [_extended(layer, kept) for layer in layers]


def _extended(layer: ConfigLayer, kept: Mapping[str, str]) -> ConfigLayer:
    keys = (_FORMER.keys() & layer.configs.keys()) - layer.secrets.keys()
    if not keys or not layer.source.is_steered:
        return layer
    return replace(layer, configs={**layer.configs, **{key: _joined(key, layer.configs[key], kept) for key in keys}})


def _joined(key: str, pattern: str, kept: Mapping[str, str]) -> str:
    names, default = _FORMER[key]
    former = next((kept[name] for name in names if name in kept), default)
    return f"{_closed(former)}|{pattern}" if former and former != pattern else pattern


def _closed(pattern: str) -> str:
    """Return a pattern of Java's whose last quotation is closed; what comes after an open one would become its part."""
    ends = [part for part in _ESCAPED.findall(pattern) if part.startswith(r"\Q") and not part.endswith(r"\E")]
    return rf"{pattern}\E" if ends else pattern
