"""Keys that bring code or files into a job, as a file has them that ``tools/generate_policy_names.py`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.keys import HADOOP_PREFIX
from airflow_config_providers.dynamic.policies.key_policies import ImmutableKeys
from airflow_config_providers.dynamic.policies.params import Params

FILE: Final = "code_loading_keys.json"
"""The file in this package."""


@dataclass(frozen=True, slots=True)
class CodeLoadingNames:
    """
    The names in the file.

    :param made_of: distributions from which the names were generated, with their versions
    :param families: why -> patterns of keys with variable names, of keys of earlier versions, and of keys that bring in
        files, or choose the cluster or rights; written by hand
    :param spark: keys of Spark whose values are classes, code, commands, or options that lead to them, without families
    :param hadoop: the same of Hadoop and its file formats, without ``spark.hadoop.``
    """

    made_of: Sequence[str]
    families: Mapping[str, Sequence[str]]
    spark: Sequence[str]
    hadoop: Sequence[str]

    def patterns(self) -> list[str]:
        """Return the patterns of the families."""
        return [pattern for some in self.families.values() for pattern in some]


@cache
def code_loading_names() -> CodeLoadingNames:
    """Return the names in the file."""
    return CodeLoadingNames(**json.loads(get_data(__package__, FILE) or b""))


if TYPE_CHECKING:
    CODE_LOADING_KEYS: tuple[str, ...]
    """Patterns of keys of Spark 3.5 to 4.2 that load code from a location, run it, or name a class."""


def __getattr__(name: str) -> tuple[str, ...]:
    if name != "CODE_LOADING_KEYS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _code_loading_keys()


@cache
def _code_loading_keys() -> tuple[str, ...]:
    names = code_loading_names()
    return (*names.patterns(), *names.spark, *(f"{HADOOP_PREFIX}{key}" for key in names.hadoop))


class CodeLoadingKeys(ImmutableKeys):
    """
    Denies dynamic and run configuration that sets or changes a key that brings code or files into a job.

    Such a key can always be deleted: then the job gets the value of the DAG or of the static files.

    Parameters: ``also``, a list of additional keys or patterns; ``except``, a list of those that may change.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``also`` and ``except``."""
        params = Params(configs)
        keys, excluded = [*_code_loading_keys(), *params.texts("also", ())], params.texts("except", ())
        params.finish()
        super().configure({"keys": keys, "except": excluded, "deletable": True})
