"""A provider that reads environment variables (KIP-887)."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

from airflow_config_providers.core.process_environment import all_variables
from airflow_config_providers.core.provider import ConfigChangeCallback, ConfigData, ConfigProvider, require_configured
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.core.variable import ConfigVariable, no_default
from airflow_config_providers.exceptions import AccessDeniedError, ConfigException, refuse
from airflow_config_providers.providers.allowed_names import ALLOWLIST_PATTERN, AllowedNames, way_out

SENSITIVE_PREFIXES: Final = (
    "AIRFLOW__",
    "AIRFLOW_CONN_",
    "AIRFLOW_VAR_",
    "AIRFLOW_CLI_TOKEN",
    "_AIRFLOW_",
    "ALIBABA_CLOUD_",
    "ARM_",
    "AWS_",
    "AZURE_",
    "CLOUDSDK_",
    "DATABRICKS_",
    "GOOGLE_",
    "HADOOP_CREDSTORE_PASSWORD",
    "HADOOP_KEYSTORE_PASSWORD",
    "IDENTITY_",
    "MSI_",
    "OSS_",
    "PYSPARK_GATEWAY_",
    "SPARK_CONNECT_AUTHENTICATE_TOKEN",
    "SPARK_REMOTE",
    "VAULT_",
    "_SPARK_",
)
"""Prefixes of the names under which Airflow, Spark, Hadoop, Vault and the clouds keep their credentials."""


class EnvVarConfigProvider(ConfigProvider):
    """
    ``${env:DB_PASSWORD}``: the key is the name of an environment variable; there is no path.

    The parameter ``allowlist.pattern`` is a regular expression of Python that the whole name must match; without it,
    all names are allowed. A name that begins with one of ``SENSITIVE_PREFIXES`` must also be one of the pattern's
    alternatives, letter by letter, as ``AWS_REGION`` is in ``SPARK_.*|AWS_REGION``. Any other variable is denied.

    :param environ: the environment, copied in ``configure``; None for the process's own
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWLIST_PATTERN: "SPARK_APP_.*"}
    params: ClassVar[Collection[str]] = (ALLOWLIST_PATTERN,)

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = environ
        self._allowed: AllowedNames | None = None
        self._found: Mapping[str, str] = {}

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take ``allowlist.pattern`` and copy the variables that it allows.

        :raises ProviderDefinitionError: the pattern is not a regular expression
        """
        self._allowed = AllowedNames.of(configs)
        self._found = self._allowed_by(self._allowed)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Return variables as they were at ``configure``; a name that is not allowed gets a denial, set or not.

        :raises ConfigException: ``path`` is not empty
        """
        allowed = require_configured(self._allowed)
        _refuse_path(path, keys)
        found = {name: value for name, value in self._found.items() if keys is None or name in keys}
        denials = {name: _denial(name) for name in keys or () if not _allows(allowed, name)}
        is_complete = {*(keys or ())} <= found.keys() | denials.keys()
        return ConfigData(found, absence="" if is_complete else _absence(), denials=denials)

    def subscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """
        Accept a subscription, and never call: the environment of a process does not change.

        :raises ConfigException: ``path`` is not empty
        """
        _refuse_path(path, keys)

    def unsubscribe(self, path: str, keys: Collection[str] | None, callback: ConfigChangeCallback) -> None:
        """Do nothing."""

    def unsubscribe_all(self) -> None:
        """Do nothing."""

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse a name that the pattern does not allow, and a path.

        :raises AccessDeniedError: it is not allowed
        :raises ConfigException: ``path`` is not empty
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        _refuse_path(path, keys)
        allowed = AllowedNames.of(configs)
        refuse(AccessDeniedError, [_denial(name) for name in keys if not _allows(allowed, name)])

    def environment_names(self, configs: Mapping[str, Any]) -> Collection[str]:
        """
        Return the names of the variables that ``allowlist.pattern`` allows and that are set.

        :raises ProviderDefinitionError: the pattern is not a regular expression
        """
        return frozenset(self._allowed_by(AllowedNames.of(configs)))

    def check(self) -> str:
        """Return how many variables can be read."""
        require_configured(self._allowed)
        return counted(len(self._found), "variable")

    def _allowed_by(self, allowed: AllowedNames) -> dict[str, str]:
        environ = os.environ if self._environ is None else self._environ
        return {name: value for name, value in all_variables(environ).items() if _allows(allowed, name)}


def _allows(allowed: AllowedNames, name: str) -> bool:
    return allowed.match(name, to_the_letter=name.startswith(SENSITIVE_PREFIXES))


def _absence() -> str:
    """Say where the variable is missing: often it is on one worker only."""
    return (
        f"The process that reads it, on {printable(os.uname().nodename)}, has no such environment variable. Set it "
        f"there and restart what starts that process, or correct the reference."
    )


def _denial(name: str) -> str:
    return (
        f"{ALLOWLIST_PATTERN} of the provider does not allow the environment variable {printable(name)}. "
        f"{way_out(to_the_letter=name.startswith(SENSITIVE_PREFIXES))}"
    )


def _refuse_path(path: str, keys: Collection[str] | None) -> None:
    if not path:
        return
    hints = [hint for key in keys or () if (hint := no_default(ConfigVariable("env", path, key)))]
    raise ConfigException(
        f"Environment variables have no path, but the reference has {printable(path)}. "
        f"{hints[0] if hints else 'Write only the provider and the name, as in ${env:DB_PASSWORD}.'}"
    )
