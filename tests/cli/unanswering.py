"""Providers and a secrets backend that do not answer: they raise an error, or hang and note that they were asked."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from threading import Event
from typing import Any, NoReturn

from airflow.secrets import BaseSecretsBackend

from airflow_config_providers.core import ConfigData, ConfigProvider
from airflow_config_providers.exceptions import ProviderUnavailableError
from tests.limits import LONGEST

ASKED = "FILE_OF_THOSE_WHO_WERE_ASKED"


def hang(what: str) -> NoReturn:
    with Path(os.environ[ASKED]).open("a") as file:
        file.write(f"{what}\n")
    Event().wait(LONGEST)
    raise AssertionError(what)


class HangingProvider(ConfigProvider):
    """Hangs whatever it is asked."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        hang("configure")

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        hang("get")

    def check(self) -> str:
        hang("check")


class HangingBackend(BaseSecretsBackend):
    """Hangs whatever it is asked."""

    def get_connection(self, conn_id: str, team_name: str | None = None) -> NoReturn:
        hang(f"connection {conn_id}")

    def get_variable(self, key: str, team_name: str | None = None) -> NoReturn:
        hang(f"variable {key}")


class Silent(ConfigProvider):
    """Is asked, and cannot."""

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        raise ProviderUnavailableError("it is silent")

    def check(self) -> str:
        raise ProviderUnavailableError("it is silent")
