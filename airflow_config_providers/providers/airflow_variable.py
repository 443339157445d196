"""A provider that reads Airflow's variables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from airflow_config_providers.core.concurrency.workers import side_by_side
from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.airflow_provider import AirflowConfigProvider, read_json
from airflow_config_providers.providers.allowed_names import ALLOWLIST_PATTERN, AllowedNames


class AirflowVariableConfigProvider(AirflowConfigProvider):
    """
    ``${variable:spark_db_password}``: the key is the name of an Airflow variable, and its string the value.

    With a path, as in ``${variable:spark_db:credentials.password}``, the path is the name of a variable that holds a
    JSON object, and the key a key in it, at any depth.
    """

    required_params: ClassVar[Mapping[str, str]] = {ALLOWLIST_PATTERN: "spark_.*"}

    def __init__(
        self,
        read: Callable[[str], str | None] = airflow_secrets.variable,
        has_teams: Callable[[], bool] = airflow_secrets.has_teams,
        *,
        max_workers: Callable[[], int] = airflow_secrets.max_workers,
    ) -> None:
        super().__init__(has_teams)
        self._read = read
        self._max_workers = max_workers

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Read the variables called ``keys``, side by side, or keys of the one called ``path``.

        :raises AccessDeniedError: the pattern does not allow a name, whether it exists or not; or Airflow refuses
        :raises ProviderUnavailableError: Airflow cannot answer now
        :raises ConfigException: the variable ``path`` does not hold a JSON object; or ``path`` is empty and
            ``keys`` is None, and variables cannot be listed
        """
        names = [path] if path else keys
        if names is None:
            raise ConfigException("Airflow's variables cannot be listed. Name the ones that are wanted.")
        texts = self._texts(sorted(names))
        return ConfigData(read_json(texts.get(path), keys, what=f"variable '{path}'") if path else texts)

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse the name of a variable that the pattern does not allow.

        :raises AccessDeniedError: it is not allowed
        :raises ProviderDefinitionError: the parameters cannot be used
        """
        _require([path] if path else keys, self._allowed_by(configs))

    def _texts(self, names: Sequence[str]) -> dict[str, str]:
        _require(names, self.allowed)
        texts = side_by_side(self._read, names, at_once=self._max_workers())
        return {name: text for name, text in zip(names, texts, strict=True) if text is not None}


def _require(names: Iterable[str], allowed: AllowedNames) -> None:
    for name in names:
        allowed.require("variable", name)
