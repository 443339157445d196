"""Requests to one Vault."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core import document
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ProviderLookupError
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.breaker import Breakers
from airflow_config_providers.providers.vault.faults import Answer, AnswerTooLargeError

if TYPE_CHECKING:
    import hvac
    import requests

_log = logging.getLogger(__name__)


class Transport:
    """
    Sends requests, each with the token that it is given; connects at the first. Thread-safe.

    :param client: is never given a token
    :param where: names the Vault in errors
    :param breakers: keep requests from a server that is down, and from a mount that has too many
    :param login_namespace: in which a token is looked up, renewed and given back; None for none
    """

    def __init__(self, client: hvac.Client, *, where: str, breakers: Breakers, login_namespace: str | None) -> None:
        from hvac.adapters import RawAdapter  # noqa: PLC0415 - optional, and slow to import

        self._adapter = RawAdapter.from_adapter(client.adapter)  # responses as they came: JSON would change numbers
        self._login_adapter = RawAdapter.from_adapter(client.adapter)
        self._login_adapter.namespace = login_namespace
        self._where = where
        self._breakers = breakers

    def get(self, path: str, *, token: str = "", query: Mapping[str, str] | None = None, mount: str = "") -> Answer:
        """
        Read what Vault has at ``path``, which is quoted.

        :param mount: that is asked, for its limit on requests; empty for what the path begins with
        :raises ProviderUnavailableError: Vault cannot answer now
        :raises ProviderLookupError: it cannot be asked, or answers in a way that Vault does not
        """
        return self._ask("get", path, token, mount=mount, params=query)

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

    def _ask(self, method: str, path: str, token: str, *, mount: str = "", **kwargs: Any) -> Answer:
        response = self._response(method, path, token, mount=mount or _mount(path), **kwargs)
        if response is None:
            return Answer(0)
        faults.check_status(response.status_code, where=self._where)
        body = {} if response.status_code == 204 else _body(response.content)
        if body is None and response.ok:
            raise faults.no_json(self._where)
        answer = Answer(response.status_code, body or {})
        faults.check_readiness(answer, where=self._where)
        return answer

    def _response(self, method: str, path: str, token: str, *, mount: str, **kwargs: Any) -> requests.Response | None:
        """
        Send a request, unless it would not be answered.

        :return: None for an answer that is too large
        """
        headers = {**kwargs.pop("headers", {}), **({"X-Vault-Token": token} if token else {})}
        adapter = self._login_adapter if path.startswith("auth/") else self._adapter
        answers: list[requests.Response] = []

        def send() -> None:
            with suppress(AnswerTooLargeError):
                answers.append(adapter.request(method, f"/v1/{path}", headers=headers, raise_exception=False, **kwargs))

        with self._breakers.watching(mount, ProviderLookupError, is_limit=lambda: any(map(is_limit, answers))):
            faults.translated(send, where=self._where)
            for response in answers:
                _log.debug("%s %s %s: %d", self._where, method.upper(), printable(path), response.status_code)
                faults.check_server(response.status_code, where=self._where, retry_after=retry_after(response))
        return answers[0] if answers else None


def is_limit(response: requests.Response) -> bool:
    """Return whether there are too many requests for what was asked."""
    return response.status_code == faults.TOO_MANY_REQUESTS


def retry_after(response: requests.Response) -> float | None:
    """Return the seconds of the header; None for a date, which Vault does not send."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 7 else None


def _mount(path: str) -> str:
    """Return the mount of a path of Vault's own; for any other the first name, which may be less than its mount."""
    names = path.split("/", 2)
    return "/".join(names[: 2 if names[0] in {"auth", "sys"} else 1])


def _body(content: bytes) -> Mapping[str, Any] | None:
    """Read a JSON object with its numbers as they are written; None where it is none."""
    try:
        found = document.parse(content.decode("utf-8"))
    except (ConfigException, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None
