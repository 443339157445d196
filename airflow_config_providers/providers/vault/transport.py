"""Requests to one Vault."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core import document
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.faults import Answer

if TYPE_CHECKING:
    import hvac
    import requests

_log = logging.getLogger(__name__)


class Transport:
    """
    Sends requests, each with the token that it is given; connects at the first. Thread-safe.

    :param client: is never given a token
    :param where: names the Vault in errors
    """

    def __init__(self, client: hvac.Client, *, where: str) -> None:
        from hvac.adapters import RawAdapter  # noqa: PLC0415 - optional, and slow to import

        self._adapter = RawAdapter.from_adapter(client.adapter)  # responses as they came: JSON would change numbers
        self._where = where

    def get(self, path: str, *, token: str = "", query: Mapping[str, str] | None = None) -> Answer:
        """
        Read what Vault has at ``path``, which is quoted.

        :raises ProviderUnavailableError: Vault cannot answer now
        :raises ProviderLookupError: it cannot be asked, or answers in a way that Vault does not
        """
        return self._ask("get", path, token, params=query)

    def post(
        self, path: str, body: Mapping[str, Any], *, token: str, timeout: float | None = None, wrap_seconds: int = 0
    ) -> Answer:
        """
        Have Vault do something; errors as for ``get``.

        :param timeout: seconds; None for as long as a read may take
        :param wrap_seconds: for which the answer can be taken out of its wrapping; 0 for an answer as it is
        """
        more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        if wrap_seconds:
            more["headers"] = {"X-Vault-Wrap-TTL": f"{wrap_seconds}s"}
        return self._ask("post", path, token, json=body, **more)

    def close(self) -> None:
        """Close what connections there are."""
        self._adapter.close()

    def _ask(self, method: str, path: str, token: str, **kwargs: Any) -> Answer:
        headers = {**kwargs.pop("headers", {}), **({"X-Vault-Token": token} if token else {})}
        response: requests.Response = faults.translated(
            lambda: self._adapter.request(method, f"/v1/{path}", headers=headers, raise_exception=False, **kwargs),
            where=self._where,
        )
        _log.debug("%s %s %s: %d", self._where, method.upper(), printable(path), response.status_code)
        faults.check_status(response.status_code, where=self._where)
        body = {} if response.status_code == 204 else _body(response.content)
        if body is None and response.ok:
            raise faults.no_json(self._where)
        answer = Answer(response.status_code, body or {})
        faults.check_readiness(answer, where=self._where)
        return answer


def _body(content: bytes) -> Mapping[str, Any] | None:
    """Read a JSON object with its numbers as they are written; None where it is none."""
    try:
        found = document.parse(content.decode("utf-8"))
    except (ConfigException, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None
