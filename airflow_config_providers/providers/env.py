"""A provider that reads environment variables (KIP-887)."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.provider import ConfigProvider, configured
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ProviderDefinitionError

ALLOWLIST_PATTERN: Final = "allowlist.pattern"

SENSITIVE_PREFIXES: Final = (
    "AIRFLOW__",
    "AIRFLOW_CONN_",
    "AIRFLOW_VAR_",
    "_AIRFLOW_",
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "PYSPARK_GATEWAY_",
    "VAULT_",
    "_SPARK_",
)
"""Beginnings of the names under which Airflow, Spark, Vault and the clouds keep what they sign in with."""


class EnvVarConfigProvider(ConfigProvider):
    """
    ``${env:DB_PASSWORD}``: the key is the name of an environment variable; there is no path.

    The parameter ``allowlist.pattern`` is a regular expression of Python that a name must match as a whole; without
    it all names do. A name that begins with one of ``SENSITIVE_PREFIXES`` must besides be one of the pattern's
    alternatives, letter by letter, as ``AWS_REGION`` is in ``SPARK_.*|AWS_REGION``. Any other variable is as if it
    were not set.

    :param environ: the environment, copied in ``configure``; None for the process's own
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWLIST_PATTERN: "SPARK_APP_.*"}

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ
        self._allowed: Mapping[str, str] | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take ``allowlist.pattern`` and copy the variables that it allows.

        :raises ProviderDefinitionError: the pattern is no regular expression
        """
        pattern = str(configs.get(ALLOWLIST_PATTERN, ".*"))
        is_match = _compiled(pattern).fullmatch
        literal = frozenset(pattern.split("|"))
        environ = os.environ if self._environ is None else self._environ
        self._allowed = {
            name: value
            for name, value in environ.items()
            if is_match(name) and (name in literal or not name.startswith(SENSITIVE_PREFIXES))
        }

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Give variables as they were at ``configure``.

        :raises ConfigException: ``path`` is not empty
        """
        allowed = configured(self._allowed)
        if path:
            raise ConfigException(
                f"Environment variables have no path, but the reference has {printable(path)}. "
                f"Write the provider and the name alone, as in ${{env:DB_PASSWORD}}."
            )
        return ConfigData({name: value for name, value in allowed.items() if keys is None or name in keys})

    def check(self) -> str:
        """Tell how many variables there are to give."""
        found = len(configured(self._allowed))
        return f"{found} {'variable' if found == 1 else 'variables'}"


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        problem = f"{error.msg} at position {error.pos}"
    raise ProviderDefinitionError(f"{ALLOWLIST_PATTERN} is no regular expression of Python: {problem}.")
