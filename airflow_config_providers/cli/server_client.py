"""An HTTP client of an Airflow server."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import SplitResult, urlsplit

from airflow_config_providers.cli.failing import WrongArgumentsError
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError

if TYPE_CHECKING:
    import httpx

_SECONDS: Final = 60.0
"""The time limit for an answer. A change takes a few seconds if policies check it and others change the same."""

_SECONDS_TO_CONNECT: Final = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """
    The answer of a server.

    :param content: the parsed JSON; None if it was not JSON
    """

    status: int
    content: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class ServerClient:
    """
    A client of one server. It follows no redirect, so that the token goes nowhere else. Thread-safe.

    :param address: the address at which people open Airflow, without a trailing slash
    :param token: the user's token; empty for an anonymous request
    :param seconds: the time limit for an answer
    """

    address: str
    token: str = field(default="", repr=False)
    seconds: float = _SECONDS

    @classmethod
    def of(cls, address: str, *, plain_http: bool = False) -> Self:
        """
        Return a client for an address that a user wrote.

        :param plain_http: allow the token to travel unencrypted to another machine
        :raises WrongArgumentsError: the address is invalid, or it is not safe to send a token to it
        """
        parts = _split(address)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise WrongArgumentsError("The server must be an address such as https://airflow.example.com. Correct it.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise WrongArgumentsError("The address of the server must not contain a user, '?' or '#'. Remove them.")
        if parts.scheme == "http" and not plain_http and not _is_loopback(parts.hostname):
            raise WrongArgumentsError(
                f"{printable(address)}: anyone on the network path could read the token. Use https, or "
                f"--allow-plain-http."
            )
        return cls(address.rstrip("/"))

    def signed_in(self, token: str) -> Self:
        """Return a client that sends ``token``."""
        return replace(self, token=token)

    def ask(self, method: str, path: str, *, query: Sequence[tuple[str, str]] = (), body: Any = None) -> Answer:
        """
        Send one request, without retries: after a failure it is unknown whether a change was made.

        :param body: what to send as JSON; None for nothing
        :raises ProviderUnavailableError: the server did not answer
        :raises ConfigException: the server redirected, or its certificate is not trusted
        :raises WrongArgumentsError: HTTP cannot express the request
        """
        import httpx  # noqa: PLC0415 - slow to import

        try:
            answer = self._send(method, path, query=query, body=body)
        except httpx.HTTPError as error:
            failure = _failure(self.address, error, is_change=method != "GET")
        except (ValueError, httpx.InvalidURL) as error:  # a name is too long, or not valid in HTTP
            failure = WrongArgumentsError(f"{printable(self.address)}: invalid request ({type(error).__name__}).")
        else:
            if not answer.is_redirect:
                return Answer(answer.status_code, _content(answer))
            failure = ConfigException(
                f"{printable(self.address)} redirects, and the token is not sent to another address. Use the address "
                f"that it redirects to."
            )
        raise failure

    def _send(self, method: str, path: str, *, query: Sequence[tuple[str, str]], body: Any) -> httpx.Response:
        import httpx  # noqa: PLC0415 - slow to import

        is_encrypted = self.address.startswith("https:")
        with httpx.Client(
            follow_redirects=False,
            timeout=httpx.Timeout(self.seconds, connect=min(self.seconds, _SECONDS_TO_CONNECT)),
            trust_env=is_encrypted,  # a proxy could read unencrypted requests
        ) as client:
            return client.request(
                method, f"{self.address}{path}", params=list(query), json=body, headers=self._headers()
            )

    def _headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        return parts if parts.port != 0 and address.isprintable() and " " not in address else None
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _content(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except (ValueError, RecursionError):
        return None


def _failure(address: str, error: Exception, *, is_change: bool) -> ConfigProvidersError:
    """Return the error for a failed request. It quotes the type of ``error``, never its message."""
    import httpx  # noqa: PLC0415 - slow to import

    where, kind = printable(address), type(error).__name__
    if "CERTIFICATE" in str(error):
        return ConfigException(
            f"The certificate of {where} is not trusted. If your own certificate authority issued it, set the "
            f"environment variable SSL_CERT_FILE to the authority's file."
        )
    if is_change and not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        return ProviderUnavailableError(
            f"{where} did not answer ({kind}), but might have made the change. Check the history before you try again."
        )
    return ProviderUnavailableError(f"{where} cannot be reached ({kind}). Check the address, or try again later.")
