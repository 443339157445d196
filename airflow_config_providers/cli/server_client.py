"""Speaks HTTP with an Airflow server."""

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
"""For an answer; a change that policies judge and others contend for takes a few."""

_SECONDS_TO_CONNECT: Final = 10.0


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What a server said.

    :param content: the JSON; None where it was something else
    """

    status: int
    content: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class ServerClient:
    """
    Asks one server. It follows no redirect, so that the token goes nowhere else. Thread-safe.

    :param address: of Airflow, as people open it, without a slash at its end
    :param token: of the user; empty for nobody
    :param seconds: how long an answer may take
    """

    address: str
    token: str = field(default="", repr=False)
    seconds: float = _SECONDS

    @classmethod
    def of(cls, address: str, *, plain_http: bool = False) -> Self:
        """
        Make one for an address that people wrote.

        :param plain_http: let the token travel unencrypted to another machine
        :raises WrongArgumentsError: it is no address, or not one to send a token to
        """
        parts = _split(address)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise WrongArgumentsError("The server is an address such as https://airflow.example.com. Correct it.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise WrongArgumentsError("The address of the server has no user, no ? and no #. Remove them.")
        if parts.scheme == "http" and not plain_http and not _is_loopback(parts.hostname):
            raise WrongArgumentsError(
                f"{printable(address)}: anybody on the way could read the token. Use https, or --allow-plain-http."
            )
        return cls(address.rstrip("/"))

    def signed_in(self, token: str) -> Self:
        """Give one that asks with ``token``."""
        return replace(self, token=token)

    def ask(self, method: str, path: str, *, query: Sequence[tuple[str, str]] = (), body: Any = None) -> Answer:
        """
        Ask once; a change is not tried again, since nobody knows whether it was made.

        :param body: what to send as JSON; None for nothing
        :raises ProviderUnavailableError: there was no answer
        :raises ConfigException: the answer was a redirect
        """
        import httpx  # noqa: PLC0415 - slow to import

        try:
            answer = self._send(method, path, query=query, body=body)
        except httpx.HTTPError as error:
            failure = _failure(self.address, error, is_change=method != "GET")
        except (ValueError, httpx.InvalidURL) as error:  # a name is too long, or has what HTTP has no characters for
            failure = WrongArgumentsError(f"{printable(self.address)} cannot be asked so ({type(error).__name__}).")
        else:
            if not answer.is_redirect:
                return Answer(answer.status_code, _content(answer))
            failure = ConfigException(
                f"{printable(self.address)} redirects, and a token is not sent elsewhere. Name the server as it is in "
                f"the end."
            )
        raise failure

    def _send(self, method: str, path: str, *, query: Sequence[tuple[str, str]], body: Any) -> httpx.Response:
        import httpx  # noqa: PLC0415 - slow to import

        is_encrypted = self.address.startswith("https:")
        with httpx.Client(
            follow_redirects=False,
            timeout=httpx.Timeout(self.seconds, connect=min(self.seconds, _SECONDS_TO_CONNECT)),
            trust_env=is_encrypted,  # a proxy would read what is not encrypted
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
    """Say why there was no answer; of the error itself only its kind, and whether it is about certificates."""
    import httpx  # noqa: PLC0415 - slow to import

    where, kind = printable(address), type(error).__name__
    if "CERTIFICATE" in str(error):
        return ConfigException(
            f"Nobody vouches for the certificate of {where}. If an authority of your own does, name its file in the "
            f"environment variable SSL_CERT_FILE."
        )
    if is_change and not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        return ProviderUnavailableError(
            f"{where} gave no answer ({kind}), and may have made the change all the same. Look at the history first."
        )
    return ProviderUnavailableError(f"{where} cannot be asked ({kind}). Check the address, or try again later.")
