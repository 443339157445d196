"""What the author of a DAG wrote about the configuration of one Spark job."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.job_options import NO_OPTIONS, JobOptions
from airflow_config_providers.job.nested_texts import NestedString, by_label
from airflow_config_providers.job.operator_specs import spec_of_path

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import ConfigLayer

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

    definition = spark_definition()
    return seen_by_policies(LayeredConfig([layer], definition), definition)


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
