"""What the author of a DAG wrote about one Spark job: its configuration, and the options of its references."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.reload import ReloadAction
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.nested_texts import NestedString, by_label
from airflow_config_providers.job.operator_specs import spec_of_path
from airflow_config_providers.settings import ResolveIn, parse_choice

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import ConfigLayer
    from airflow_config_providers.core.resolver import Unresolved


@dataclass(frozen=True, slots=True)
class JobOptions:
    """
    What the author of a DAG chose about the references of a job; None for the default of the deployment.

    :param config_conn_id: the connection that defines the providers
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :param allow_exposed_arguments: whether resolved values may be where others than the job can read them
    :param resolve_in: where to resolve: ``worker``, ``driver`` or ``auto``
    :param reload_action: what happens to the running job when its secrets change: ``none`` or ``restart``
    :param streaming: whether the job is meant to run for ever; it is then restarted by default
    :raises ConfigException: an option has an unknown value; raised when the DAG is parsed
    """

    config_conn_id: str | None = None
    unresolved: str | None = None
    allow_exposed_arguments: bool | None = None
    resolve_in: str | None = None
    reload_action: str | None = None
    streaming: bool | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the options that are among ``arguments``."""
        return cls(**{name: arguments[name] for name in cls.__dataclass_fields__ if name in arguments})

    def __post_init__(self) -> None:
        if self.unresolved is not None:
            _parse_unresolved(self.unresolved)
        if self.resolve_in is not None:
            parse_choice(ResolveIn, self.resolve_in, where="argument resolve_in")
        if self.reload_action is not None:
            ReloadAction.of({"reload_action": self.reload_action}, names=("reload_action",))

    @property
    def conn_id(self) -> str:
        """The connection that defines the providers."""
        return settings.config_conn_id(self.config_conn_id)

    @property
    def resolves_in(self) -> ResolveIn:
        """Where to resolve."""
        return settings.resolve_in() if self.resolve_in is None else ResolveIn(self.resolve_in)

    @property
    def allows_exposed(self) -> bool:
        """Whether resolved values may be where others than the job can read them."""
        chosen = self.allow_exposed_arguments
        return settings.allow_exposed_arguments() if chosen is None else chosen

    @property
    def when_unresolved(self) -> Unresolved:
        """What to do with a reference that no provider answers."""
        return settings.unresolved() if self.unresolved is None else _parse_unresolved(self.unresolved)

    @property
    def keeps_unresolved(self) -> bool:
        """Whether a reference that no provider answers is left as it is."""
        from airflow_config_providers.core.resolver import Unresolved  # noqa: PLC0415 - not while a DAG is parsed

        return self.when_unresolved is Unresolved.KEEP

    def when_secrets_change(
        self, in_layers: ReloadAction | None, *, in_connection: Callable[[], ReloadAction | None]
    ) -> ReloadAction:
        """
        Return what happens to the running job when its secrets change.

        :param in_layers: what its configuration says, which beats the argument
        :param in_connection: returns what the connection says, which beats only the default
        """
        argument = None if self.reload_action is None else ReloadAction.parse(self.reload_action)
        default = ReloadAction.RESTART if self.streaming else ReloadAction.NONE
        return in_layers or argument or in_connection() or default


NO_OPTIONS: Final = JobOptions()
"""The options of a job whose author chose none."""


def _parse_unresolved(text: str) -> Unresolved:
    from airflow_config_providers.core.resolver import Unresolved  # noqa: PLC0415 - few DAGs set it

    return parse_choice(Unresolved, text, where="argument unresolved")


STORED: Final = "_authored_job"
"""The attribute of an operator that Airflow stores with the DAG, so that ``describe`` needs no run."""


@dataclass(frozen=True, slots=True)
class AuthoredJob:
    """
    A job as its author described it: with references and, before a run, with templates.

    :param layers: the author's layers; those of another author, the deployment or a run are not among them
    :param texts: label -> string for references outside the layers
    :param files: label -> path of each properties file that the author named, strongest last
    :param clusters: the own configuration of each of several clusters; empty for a job with one configuration
    :param environment: name -> string of the environment variables for Spark, of which policies see what they set
    :param is_known: whether the layers are known: without a run, they can depend on the results of other tasks
    :param unknown: the labels of what only a run knows and the layers do not have, such as ``conf['spark.a']``
    """

    layers: tuple[ConfigLayer, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    clusters: tuple[ConfigLayer, ...] = ()
    options: JobOptions = NO_OPTIONS
    is_known: bool = True
    unknown: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, fields: JobFields, options: JobOptions, *, is_written: Callable[[NestedString], bool]) -> Self:
        """
        Return the job in the fields of an operator that is run.

        :param is_written: returns whether the references in a string are the author's; others are no references
        :raises ConfigException: something in a field is not a configuration
        """
        texts = by_label(filter(is_written, fields.other_texts()))
        environment = fields.environment()
        return cls(
            fields.layers(), texts, by_label(fields.files()), fields.clusters(), options, environment=environment
        )

    @classmethod
    def of_unrendered(cls, fields: JobFields, options: JobOptions = NO_OPTIONS) -> Self:
        """Return the job in the fields of an operator before a run, which can fill in what is unknown until then."""
        unrendered = fields.unrendered()
        rest: dict[str, Any] = {"options": options, "environment": unrendered.environment()}
        with suppress(ConfigException):
            return cls(unrendered.layers(), by_label(unrendered.other_texts()), by_label(unrendered.files()), **rest)
        with suppress(ConfigException, RecursionError):
            known, unknown = fields.known()
            job = cls(
                known.layers(),
                by_label(known.other_texts()),
                by_label(unrendered.files()),
                unknown=tuple(unknown),
                **rest,
            )
            if unknown and any(layer.configs for layer in job.layers):
                return job
        return cls(files=by_label(unrendered.files()), is_known=False, **rest)

    @classmethod
    def read(cls, text: Any) -> Self:
        """Return the job in ``text``; if the method ``text`` has not written it, one with ``is_known`` False."""
        try:
            found = json.loads(text)
            return cls(
                tuple(_read_layer(*layer) for layer in found.get("layers", ())),
                _strings(found.get("texts", {})),
                _strings(found.get("files", {})),
                options=_read_options(found.get("options", {})),
                is_known="layers" in found,
                unknown=tuple(map(str, found.get("unknown", ()))),
                environment=_strings(found.get("environment", {})),
            )
        except (ConfigException, ValueError, TypeError, AttributeError, RecursionError):
            return cls(is_known=False)

    def text(self) -> str:
        """Return the job as Airflow stores it, without empty parts, and with its layers as policies see them."""
        options = {name: value for name, value in asdict(self.options).items() if value is not None}
        parts: dict[str, Any] = {"texts": dict(self.texts), "files": dict(self.files), "options": options}
        parts |= {"unknown": self.unknown, "environment": _stored_environment(self.environment)}
        layers = {"layers": list(map(_stored, self.layers))} if self.is_known else {}
        return json.dumps({**layers, **{name: part for name, part in parts.items() if part}}, separators=(",", ":"))


def stored_text(operator: Any, fields: JobFields, options: JobOptions) -> str | None:
    """
    Return what Airflow stores of an operator's job; None if the template fields, which it stores anyway, contain it.

    The job can only be read from them if the class of the operator says where it is.
    """
    kind = type(operator)
    is_readable = spec_of_path(f"{kind.__module__}.{kind.__name__}") is fields.spec
    if is_readable and options == NO_OPTIONS and _are_stored(fields, operator.template_fields):
        return None
    return AuthoredJob.of_unrendered(fields, options).text()


def _are_stored(fields: JobFields, template_fields: Collection[str]) -> bool:
    """Return whether each field of the job is empty, or is stored unchanged."""
    longest = settings.longest_field()
    held = ((name, value) for name in (*fields.names, *fields.spec.paths) if (value := fields.read(name)))
    return all(name in template_fields and _is_json(value) and len(str(value)) <= longest for name, value in held)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _stored(layer: ConfigLayer) -> tuple[Any, ...]:
    shown = _shown(layer)
    origins = {key: text for key, text in layer.origins.items() if key in shown}
    return (layer.name, shown, origins) if origins else (layer.name, shown)


def _stored_environment(environment: Mapping[str, str]) -> Mapping[str, str]:
    from airflow_config_providers.core.layers import ConfigLayer, ConfigSource  # noqa: PLC0415 - not needed to store

    return _shown(ConfigLayer(ConfigSource.DAG_CONFIG, "env_vars", environment)) if environment else {}


def _shown(layer: ConfigLayer) -> dict[str, str]:
    """Return key -> string as policies see it, so that commands which test them find what a run will find."""
    from airflow_config_providers.core.layers import LayeredConfig  # noqa: PLC0415 - not needed to store most DAGs
    from airflow_config_providers.spark.catalogue import spark_definition  # noqa: PLC0415 - as above
    from airflow_config_providers.spark.policy_request import seen_by_policies  # noqa: PLC0415 - as above

    return seen_by_policies(LayeredConfig([layer], spark_definition()))


def _read_layer(
    name: str, configs: Mapping[str, Any], origins: Mapping[str, Any] = MappingProxyType({})
) -> ConfigLayer:
    from airflow_config_providers.core.layers import ConfigLayer, ConfigSource  # noqa: PLC0415 - not needed to store

    return ConfigLayer(ConfigSource.DAG_CONFIG, _strings({"": name})[""], _strings(configs), _strings(origins))


def _read_options(options: Mapping[str, Any]) -> JobOptions:
    found = JobOptions.of(options)
    is_valid = isinstance(found.config_conn_id, str | None) and isinstance(found.allow_exposed_arguments, bool | None)
    return found if is_valid else NO_OPTIONS


def _strings(found: Mapping[str, Any]) -> Mapping[str, str]:
    """
    Return ``found``.

    :raises TypeError: it has something other than strings
    """
    if all(isinstance(text, str) for item in found.items() for text in item):
        return found
    raise TypeError


def referring_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return label -> path for paths of properties files that have references."""
    return {f"The path of file {path}": path for path in paths if scan(path)}
