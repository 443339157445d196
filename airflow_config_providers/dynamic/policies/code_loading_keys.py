"""Keys that bring code or files into a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.keys import HADOOP_PREFIX
from airflow_config_providers.dynamic.policies.code_loading_names import code_loading_names
from airflow_config_providers.dynamic.policies.key_policies import ImmutableKeys
from airflow_config_providers.dynamic.policies.params import Params

if TYPE_CHECKING:
    CODE_LOADING_KEYS: list[str]
    """Patterns of keys of Spark 3.5 to 4.2 that load code from a location, run it, or name a class."""


def __getattr__(name: str) -> list[str]:
    if name != "CODE_LOADING_KEYS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _code_loading_keys()


def _code_loading_keys() -> list[str]:
    names = code_loading_names()
    return [*names.patterns(), *names.spark, *(f"{HADOOP_PREFIX}{key}" for key in names.hadoop)]


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
