"""Spark's own configuration, as a definition: types, defaults, and what is secret."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from airflow_config_providers.core.definition import ConfigDef, ConfigKey, ConfigType, Importance, Validator
from airflow_config_providers.spark.expansion import is_substituted_by_spark
from airflow_config_providers.spark.redaction import reveals, sounds_sensitive
from airflow_config_providers.spark.units import SIZE, TIME

_CATALOGUE: Final = Path(__file__).with_name("catalogue.json")

_QUANTITIES: Final[dict[str, Validator]] = {"SIZE": SIZE, "TIME": TIME}


class SparkDefinition(ConfigDef):
    """
    The configuration that Spark knows. Other keys may be set as well: Spark hands them to the job.

    Their types are the same from Spark 3.5 on; defaults are those of the Spark that ``version`` names.

    :param version: of the Spark that the catalogue was taken from
    """

    def __init__(self, version: str, keys: Iterator[ConfigKey]) -> None:
        super().__init__(keys)
        self.version = version

    def is_sensitive(self, name: str) -> bool:
        """Tell whether Spark would hide ``name``, whether it knows it or not."""
        return sounds_sensitive(name)

    def is_secret(self, name: str, text: str) -> bool:
        """Tell whether ``text`` must not be shown. What stood in a file was not shown before, so this is generous."""
        return self.is_sensitive(name) or (name not in self.config_keys and reveals(name, text))

    def misfits(self, name: str, value: object) -> Sequence[str]:
        """Give the problems with ``value``; none with a text that Spark has yet to complete."""
        if isinstance(value, str) and is_substituted_by_spark(value):
            return ()
        return super().misfits(name, value)


@cache
def spark_definition() -> SparkDefinition:
    """Give the catalogue. It is read once, from a file that ``tools/generate_spark_catalogue.py`` writes."""
    catalogue = json.loads(_CATALOGUE.read_bytes())
    parts = ((catalogue["public"], False), (catalogue["internal"], True))
    keys = (_key(name, *row, internal=internal) for rows, internal in parts for name, row in rows.items())
    return SparkDefinition(catalogue["spark"], keys)


def _key(name: str, type_: str, default: str | None, since: str | None, *, internal: bool) -> ConfigKey:
    return ConfigKey(
        name=name,
        type=ConfigType.STRING if type_ in _QUANTITIES else ConfigType[type_],
        default=default,
        validator=_QUANTITIES.get(type_),
        importance=Importance.LOW if internal else Importance.MEDIUM,
        doc=f"Since Spark {since}." if since else "",
        internal=internal,
    )
