"""The definition of Spark's own configuration: types, defaults, and which keys are sensitive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.definition.config_def import ConfigDef, ConfigKey, Importance
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.invalid_value import invalid_value
from airflow_config_providers.core.java_text import SIZES, TIMES, read_quantity
from airflow_config_providers.core.keys import HADOOP_PREFIX, older_names
from airflow_config_providers.core.resource import EVERYWHERE, ResourceType
from airflow_config_providers.core.sensitive import HIDDEN, shows_secret, sounds_secret
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.spark.catalogue_file import Rows, catalogued, rows
from airflow_config_providers.spark.driver_providers import OF_DEPLOYMENT, is_driver_definition
from airflow_config_providers.spark.redaction import is_hidden_by_spark
from airflow_config_providers.spark.substitutions import has_signs, is_substituted_by_spark, signs_in

if TYPE_CHECKING:
    from airflow_config_providers.core.definition.validators import Validator

MASTER: Final = "spark.master"

AUTHENTICATE_KEY: Final = "spark.authenticate"

SECRET_KEY: Final = "spark.authenticate.secret"  # noqa: S105 - the name of a key
"""The key of what the processes of a cluster know of each other."""


_PATTERNS_OF_STRINGS: Final = ("spark.redaction.string.regex", "spark.sql.redaction.string.regex")
"""Keys that say what Spark hides in strings: their values look like secrets, and have none."""

_CONNECTION: Final = "the operator takes it from its Spark connection. Change it there."
_MODE: Final = "it decides who resolves the references, and how the operator follows the job. Change it in the DAG."
_SERVER: Final = "it decides which server gets the job with its values. Change it in the DAG."
_FOLLOWED: Final = "the operator sets it when it follows a job that runs elsewhere. Change durable in the DAG."
_SPARK: Final = "Spark itself sets it when a job starts. Remove it."

READ_ONLY: Final[Mapping[str, str]] = {
    "spark.app.id": _SPARK,
    "spark.app.startTime": _SPARK,
    "spark.executor.id": _SPARK,
    "spark.kubernetes.submission.waitAppCompletion": _FOLLOWED,
    "spark.master": _CONNECTION,
    "spark.remote": _SERVER,
    "spark.submit.deployMode": _MODE,
    "spark.yarn.submit.waitAppCompletion": _FOLLOWED,
}
"""
Key -> why the configuration cannot change it.

``spark-submit`` gets the master as an option, which overrides every key. A function's session gets it from its keys
first, so that a key can send the values to another master. A key can change the deploy mode, but the stock operator
follows a job according to the mode of its argument or connection only. If it polls a cluster for the end of a job, it
makes spark-submit return at once, and fails a job on YARN whose configuration says otherwise.
"""

FOLLOWED: Final = frozenset(key for key, why in READ_ONLY.items() if why == _FOLLOWED)
"""Keys that the stock operator sets when it follows a job."""

_ELSEWHERE: Final = "the operator follows a job that runs elsewhere"

OF_AUTHOR: Final[Mapping[str, str]] = {
    "spark.kubernetes.submission.waitAppCompletion": _ELSEWHERE,
    "spark.master": (
        "the operator passes the master of its connection to Spark, or the service that runs the job sets it"
    ),
    "spark.remote": "the connection of the operator is one to Spark Connect",
    "spark.submit.deployMode": (
        "deploy_mode of the operator, deploy-mode of its connection, or the service that runs the job sets it"
    ),
    "spark.yarn.submit.waitAppCompletion": _ELSEWHERE,
}
"""Read-only key that takes effect, so that only the author and the owner may set it -> when it takes none."""


def closes_ports(value: object) -> bool:
    """Return whether a value of ``spark.authenticate`` closes the ports of a driver."""
    return str(value).strip().lower() == "true"


@dataclass(frozen=True, slots=True)
class ValidQuantity:
    """
    A validator of whole numbers with or without a unit, in upper or lower case. None is valid.

    :param units: unit -> its size
    :param example: an example for messages
    """

    units: Mapping[str, int]
    example: str

    def ensure_valid(self, name: str, value: Any) -> None:
        """Refuse a value that Spark could not read."""
        if value is not None and read_quantity(value, self.units, default_unit=next(iter(self.units))) is None:
            units = ", ".join(self.units)
            raise invalid_value(name, f"Expected a whole number with a unit ({units}) or none, such as {self.example}")

    def __str__(self) -> str:
        return f"whole number with or without one of {', '.join(self.units)}"


SIZE: Final = ValidQuantity(SIZES, "512m")
TIME: Final = ValidQuantity(TIMES, "10s")

_QUANTITIES: Final[dict[str, Validator]] = {"SIZE": SIZE, "TIME": TIME}
_TYPE_NAMES: Final = {"SIZE": "SIZE", "TIME": "DURATION"}


class _Catalogue(Mapping[str, ConfigKey]):
    """The keys of a version of Spark, each made on first use: a task needs few of the 1,500."""

    def __init__(self, of: Rows) -> None:
        self._public = of.public
        older = {name: f"{row.partition(' ')[0]} -" for name, row in of.older.items()}
        self.rows = {**of.public, **of.internal, **older}
        self._made: dict[str, ConfigKey] = {}

    def __getitem__(self, name: str) -> ConfigKey:
        if name not in self._made:
            self._made[name] = _key(name, self.rows[name], internal=name not in self._public)
        return self._made[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a key, without an exception for each of a job's own keys, which Spark does not know."""
        return self[name] if name in self.rows else default

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


class SparkDefinition(ConfigDef):
    """
    The keys that a version of Spark knows. Other keys can be set as well: Spark passes them to the job.

    :param of: what this version has
    """

    def __init__(self, of: Rows) -> None:
        super().__init__()
        self._of = of
        self._catalogue = _Catalogue(of)

    @property
    def config_keys(self) -> Mapping[str, ConfigKey]:
        """Name -> key."""
        return self._catalogue

    def names(self) -> Set[str]:
        """Return the names of all keys."""
        return self._catalogue.rows.keys()

    def default_texts(self) -> Mapping[str, str]:
        """Return name -> default, as Spark writes it."""
        return self._default_texts

    @cached_property
    def _default_texts(self) -> Mapping[str, str]:
        return MappingProxyType(super().default_texts())

    def default_text(self, name: str) -> str | None:
        """Return the default of ``name``, as Spark writes it; None if it has none."""
        parts = self._catalogue.rows.get(name, "").split(" ", 2)
        return parts[2] if parts[2:] else None

    @cached_property
    def older_names(self) -> Mapping[str, str]:
        """Older name that this version of Spark, or its Hadoop, still reads -> the name that took its place."""
        of_hadoop = {name: new for name, new in older_names().items() if name.startswith(HADOOP_PREFIX)}
        return MappingProxyType(of_hadoop | self._of.renamed())

    def is_sensitive(self, name: str) -> bool:
        """Return whether Spark would hide ``name``, even if it does not know the key."""
        return is_hidden_by_spark(name)

    def is_secret(self, name: str, text: str) -> bool:
        """Return whether ``text`` must not be shown. This is strict, since a file did not show its values before."""
        if self.is_sensitive(name) or (shows_secret(text) and name not in _PATTERNS_OF_STRINGS):
            return True
        return name not in self.config_keys and sounds_secret(name)

    def read_only_reason(self, name: str) -> str | None:
        """Return why dynamic configuration cannot change ``name``; None if it can."""
        return OF_DEPLOYMENT if is_driver_definition(name) else READ_ONLY.get(name)

    def alterable_at(self, name: str) -> tuple[ResourceType, ...]:
        """Return the kinds of resource whose dynamic configuration can set ``name``: all, unless it is read-only."""
        return () if self.read_only_reason(name) else EVERYWHERE

    def unalterable_value(self, name: str, text: str) -> str | None:
        """Return why dynamic configuration cannot set ``name`` to ``text``; None if it can."""
        if name == AUTHENTICATE_KEY and not closes_ports(text):
            return (
                "only the author of the DAG and the owner of the deployment may let others ask a driver for its "
                "values. Write true, or delete the key."
            )
        return None

    def shown_to_policies(self, name: str, secret: str) -> str:
        """Return what policies see of a plaintext secret: with what Spark or Hadoop replaces, as before a run."""
        return signs_in(secret) if has_signs(name, secret) else HIDDEN

    def refusal(self, name: str, value: object) -> ConfigException | None:
        """Return why ``value`` is invalid; None for a string in which Spark will still replace something."""
        if isinstance(value, str) and is_substituted_by_spark(value):
            return None
        return super().refusal(name, value)


def spark_definition(version: str | None = None) -> SparkDefinition:
    """
    Return the definition of Spark ``version``, or of the nearest one in the catalogue. Each is made once.

    :param version: such as ``3.5.8``; None for the newest in the catalogue
    """
    return _definition(catalogued(version))


@cache
def _definition(minor: str) -> SparkDefinition:
    return SparkDefinition(rows(minor))


def _key(name: str, row: str, *, internal: bool) -> ConfigKey:
    kind, since, *default = row.split(" ", 2)
    return ConfigKey(
        name=name,
        type=ConfigType.STRING if kind in _QUANTITIES else ConfigType[kind],
        default=default[0] if default else None,
        validator=_QUANTITIES.get(kind),
        type_name=_TYPE_NAMES.get(kind, ""),
        importance=Importance.LOW if internal else Importance.MEDIUM,
        doc="" if since == "-" else f"Since Spark {since}.",
        internal=internal,
    )
