"""
From what went wrong with Vault to an error of ours.

Told are the status and the id that Vault gave the request. What a server wrote is never told, nor what a library says.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.login import Login

_T = TypeVar("_T")

REFUSALS: Final = frozenset({401, 403})
_UNFIT: Final = frozenset({400, 404, 405})

_UNAVAILABLE: Final[Mapping[int, str]] = {
    412: "has not caught up with what was written",
    429: "is a standby, or has too many requests",
    472: "is a standby for disaster recovery",
    473: "is a performance standby",
    501: "is not initialised",
    503: "is sealed, or down for maintenance",
}
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UPGRADES: Final = re.compile(r"Upgrading from non-versioned to versioned data\b")
"""Begins what a key-value engine of version 2 says, with status 400, while it gets ready."""

_DEEPEST_CHAIN: Final = 20


@dataclass(frozen=True, slots=True)
class Answer:
    """
    What Vault answered: success, or a refusal that the asker can make sense of.

    :param body: the JSON object; empty where there is none
    """

    status: int
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def is_good(self) -> bool:
        """Whether Vault did what was asked."""
        return self.status < 300

    @property
    def is_denied(self) -> bool:
        """Whether Vault refused."""
        return self.status in REFUSALS

    @property
    def shown(self) -> str:
        """The status, and the id of the request where Vault gave one."""
        request_id = self.body.get("request_id")
        has_id = isinstance(request_id, str) and _ID.fullmatch(request_id)
        return f"status {self.status}, request {request_id}" if has_id else f"status {self.status}"


def check_status(status: int, *, where: str) -> None:
    """
    Let pass what is a success, or a refusal that depends on what was asked.

    :raises ProviderUnavailableError: Vault cannot answer now, or answered with a redirect
    :raises ProviderLookupError: any other status
    """
    if 200 <= status < 300 or status in REFUSALS | _UNFIT:
        return
    if status < 400:
        raise ProviderUnavailableError(
            f"{where} answers with a redirect (status {status}), which is not followed. Name the active node."
        )
    if status in _UNAVAILABLE or status >= 500:
        state = _UNAVAILABLE.get(status, "has an error of its own")
        raise ProviderUnavailableError(f"{where} {state} (status {status}). Try again later.")
    raise ProviderLookupError(f"{where} answered with status {status}. Check that the address is Vault's.")


def check_readiness(answer: Answer, *, where: str) -> None:
    """
    Let pass what a mount answers that is ready.

    :raises ProviderUnavailableError: it was made, mounted or unsealed just now
    """
    errors = answer.body.get("errors")
    if answer.status == 400 and isinstance(errors, list) and any(_UPGRADES.match(str(error)) for error in errors):
        raise ProviderUnavailableError(f"{where} is still making the mount ready ({answer.shown}). Try again later.")


def no_json(where: str) -> ProviderUnavailableError:
    """Make the error for an answer that cannot be Vault's."""
    return ProviderUnavailableError(f"{where} answered with something that is not JSON. Check what stands before it.")


def refused_read(answer: Answer, *, path: str, address: str, where: str) -> ProviderLookupError:
    """
    Make the error for a read that did not succeed.

    :param path: of the reference
    :param address: where Vault was asked for it, not quoted
    """
    asked = f"{where} refused to read '{printable(path)}' ({answer.shown})."
    if answer.is_denied:
        return AccessDeniedError(f"{asked} Let a policy of the login read '{printable(address)}', or correct the path.")
    return ProviderLookupError(f"{asked} What stands there cannot be read like that. Correct the path.")


def translated(call: Callable[[], _T], *, where: str) -> _T:
    """
    Give the result of ``call``.

    :raises ConfigProvidersError: in place of any exception, without cause and context
    """
    try:
        return call()
    except ConfigProvidersError as error:
        problem = error
    except Exception as error:  # noqa: BLE001 - requests, urllib3, ssl: their texts hold URLs and bodies
        problem = _of_library(error, where)
    problem.__cause__ = problem.__context__ = None
    raise problem


def translated_login(call: Callable[[], _T], *, login: Login, where: str) -> _T:
    """
    Give the result of ``call``, a login.

    :raises AccessDeniedError: it was refused
    :raises ConfigProvidersError: in place of any other exception, without cause and context
    """
    try:
        return call()
    except ConfigProvidersError as error:
        problem = error
    except Exception as error:  # noqa: BLE001 - as above, and what the libraries of clouds raise
        problem = _of_login(error, login, where) or _of_library(error, where)
    problem.__cause__ = problem.__context__ = None
    raise problem


def _of_login(error: Exception, login: Login, where: str) -> ConfigProvidersError | None:
    import hvac.exceptions as of_hvac  # noqa: PLC0415 - optional, and slow to import

    statuses: dict[type[Exception], int] = {
        of_hvac.InvalidRequest: 400,
        of_hvac.Unauthorized: 401,
        of_hvac.Forbidden: 403,
        of_hvac.InvalidPath: 404,
        of_hvac.RateLimitExceeded: 429,
        of_hvac.InternalServerError: 500,
        of_hvac.VaultNotInitialized: 501,
        of_hvac.BadGateway: 502,
        of_hvac.VaultDown: 503,
    }
    status = statuses.get(type(error))
    if status in {400, 401, 403}:
        return AccessDeniedError(
            f"{where} refused the login {_named(login)} (status {status}). Check the role, and what it signs in with."
        )
    if status == 404:
        return ProviderLookupError(
            f"{where} knows no login {_named(login)} (status 404). Check auth_mount_point, and the namespace."
        )
    if status is not None:
        return _of_status(status, where)
    is_odd = isinstance(error, of_hvac.VaultError)  # of a status that hvac does not know it does not tell the number
    return ProviderUnavailableError(f"{where} did not answer the login. Try again later.") if is_odd else None


def _of_status(status: int, where: str) -> ConfigProvidersError:
    try:
        check_status(status, where=where)
    except ProviderLookupError as error:
        return error
    return ProviderLookupError(f"{where} answered with status {status}.")


def _named(login: Login) -> str:
    method = getattr(login, "method", "") or type(login).__name__.removesuffix("Login").lower()
    mount = getattr(login, "mount_point", "")
    return f"by {method} at '{printable(mount)}'" if mount else f"by {method}"


def _of_library(error: Exception, where: str) -> ConfigProvidersError:
    import requests.exceptions as of_requests  # noqa: PLC0415 - slow to import

    if isinstance(error, of_requests.SSLError):
        return _of_tls(error, where)
    if isinstance(error, of_requests.Timeout):
        return ProviderUnavailableError(f"{where} did not answer in time. Try again later, or raise the timeout.")
    if isinstance(error, of_requests.ProxyError):
        return ProviderUnavailableError(f"{where} is not reached through the proxy. Check the proxy.")
    if isinstance(error, of_requests.JSONDecodeError):
        return no_json(where)
    passing = (of_requests.ConnectionError, of_requests.ChunkedEncodingError, of_requests.ContentDecodingError)
    if isinstance(error, passing):
        return ProviderUnavailableError(
            f"{where} is not reached, or dropped the connection. Check address and network."
        )
    if isinstance(error, OSError) and not isinstance(error, of_requests.RequestException):
        return ProviderLookupError(
            f"{where} cannot be asked: a file of a certificate or key cannot be read. Check them."
        )
    return ProviderLookupError(f"{where} cannot be asked ({type(error).__name__}). Check the provider's definition.")


def _of_tls(error: Exception, where: str) -> ConfigProvidersError:
    found = [link for link in _chain(error) if isinstance(link, ssl.SSLError)]
    if any(isinstance(link, ssl.SSLCertVerificationError) for link in found):
        return ProviderLookupError(
            f"{where} has a certificate that is not trusted. Name its CA with ca_cert, and check the host name."
        )
    if any(isinstance(link, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError) for link in found):
        return ProviderUnavailableError(f"{where} dropped the connection while TLS began. Try again later.")
    return ProviderLookupError(
        f"{where} and we agree on no TLS. Check whether the address is http or https, and the client certificate."
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Give ``error`` and what it wraps, in any of the ways in which requests and urllib3 wrap."""
    links: list[BaseException | None] = [error]
    for _ in range(_DEEPEST_CHAIN):
        link = links.pop() if links else None
        if link is None:
            continue
        yield link
        wrapped = [link.__cause__, link.__context__, getattr(link, "reason", None), *link.args]
        links.extend(one for one in wrapped if isinstance(one, BaseException))
