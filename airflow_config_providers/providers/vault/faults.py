"""
Our errors for what goes wrong with Vault.

They contain the status, and the ID that Vault gave the request; never what a server wrote, nor a library's message.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
)

_T = TypeVar("_T")

MEBIBYTES: Final = 32
"""The largest answer, decompressed; also Vault's own default limit for requests."""

REFUSALS: Final = frozenset({401, 403})
TOO_MANY_REQUESTS: Final = 429
"""Vault counts requests by mount or by path: others may be answered."""
_UNFIT: Final = frozenset({400, 404, 405})

_PROXY_WANTS_LOGIN: Final = 407
"""The status with which a proxy, and not Vault, asks for credentials."""

_PROXY: Final = "proxies in the definition or, with trust_env, HTTPS_PROXY and HTTP_PROXY of this process"
"""The places where a proxy is named."""

_UNAVAILABLE: Final[Mapping[int, str]] = {
    412: "has not caught up with the latest write",
    429: "is a standby, or received too many requests",
    472: "is a standby for disaster recovery",
    473: "is a performance standby",
    501: "is not initialised",
    503: "is sealed, or down for maintenance",
}
_WAYS_OUT: Final[Mapping[int, str]] = {501: "Initialise it.", 503: "Unseal it, or try again later."}
OF_THE_SERVER: Final = frozenset({429, 472, 473, 501, 502, 503, 504})
"""Statuses that mean that the server is the problem, and not what was asked."""
_ENDED: Final = re.compile(r"\binvalid token\b")
"""Vault's message, since 1.15, about a token that has ended or never existed."""
_POLICY: Final = re.compile(r"1 error occurred:\s+\* permission denied\s*")
"""Vault's message about a valid token that may not do what was asked; others get a shorter or longer one."""
_LEASE_ENDED: Final = re.compile(r"(?:invalid lease|lease not found|lease expired)\b")
"""Vault's messages, with status 400, about a lease that it no longer has."""
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UPGRADES: Final = re.compile(r"Upgrading from non-versioned to versioned data\b")
"""Beginning of the message, with status 400, of a key-value engine of version 2 that is not ready yet."""

_DEEPEST_CHAIN: Final = 20
"""The most errors that are looked at of those that wrap each other."""

_UNTRUSTED: Final = "is not trusted. Name the CA that signed it with ca_cert"
_FOR_ANOTHER_HOST: Final = "is for another host. Correct the address, or have a certificate made for it"
_CERTIFICATES: Final[Mapping[int, str]] = {
    9: "is not valid yet. Check the clock of this machine",
    10: "has expired. Renew it where Vault runs, or correct the clock of this machine",
    18: "is self-signed and not trusted. Name it with ca_cert, or have a CA sign it",
    23: "was revoked. Replace it where Vault runs",
    62: _FOR_ANOTHER_HOST,
    64: _FOR_ANOTHER_HOST,
}
"""OpenSSL's code -> what is wrong with a certificate, and what to do."""


class AnswerTooLargeError(Exception):
    """
    An answer is larger than we read; this error never leaves this folder.

    :param found: how large it is, such as ``more than 32 MiB``
    """

    def __init__(self, found: str = f"more than {MEBIBYTES} MiB") -> None:
        super().__init__(found)
        self.found = found


class UnreadableAnswerError(Exception):
    """A part of an answer, the argument, is not HTTP; this error never leaves this folder."""


@dataclass(frozen=True, slots=True)
class VaultAnswer:
    """
    An answer of Vault: success, or a refusal that the caller can interpret.

    :param status: 0 if the answer is too large
    :param body: the JSON object; empty if there is none
    :param is_foreign: whether something in front of Vault refused: it has a body, which is not one of Vault's
    :param excess: how large the answer is, if it is too large
    """

    status: int
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    is_foreign: bool = False
    excess: str = ""

    @property
    def is_good(self) -> bool:
        """Whether Vault did what was asked."""
        return 200 <= self.status < 300

    @property
    def is_too_large(self) -> bool:
        """Whether it is larger than we read; then nothing else is known."""
        return bool(self.excess)

    @property
    def is_denied(self) -> bool:
        """Whether Vault refused, or something in front of it."""
        return self.status in REFUSALS

    @property
    def is_denied_by_policy(self) -> bool:
        """Whether Vault knows the token and refused the request."""
        return self.is_denied and any(_POLICY.fullmatch(error) for error in self.errors)

    @property
    def says_token_has_ended(self) -> bool:
        """Whether Vault says that it does not know the token; not every version says so when a token has ended."""
        return self.is_denied and any(map(_ENDED.search, self.errors))

    @property
    def says_lease_has_ended(self) -> bool:
        """Whether Vault says that it does not have the lease."""
        return self.status == 400 and any(map(_LEASE_ENDED.match, self.errors))

    @property
    def knows_token(self) -> bool:
        """Whether Vault knows the token, whatever the token may do."""
        return self.is_good or self.is_denied_by_policy

    @property
    def may_know_token(self) -> bool:
        """Whether Vault knows the token, or something in front of Vault answered instead."""
        return self.knows_token or not self.is_denied

    @property
    def data(self) -> object:
        """What Vault returned; None if it did not do what was asked."""
        return self.body.get("data") if self.is_good else None

    @property
    def errors(self) -> tuple[str, ...]:
        """Vault's messages. They are compared with known ones, and never shown."""
        errors = self.body.get("errors")
        return tuple(map(str, errors)) if isinstance(errors, list) else ()

    @property
    def shown(self) -> str:
        """The status, and the ID of the request if Vault gave one."""
        if self.is_too_large:
            return self.excess
        request_id = self.body.get("request_id")
        has_id = isinstance(request_id, str) and _ID.fullmatch(request_id)
        return f"status {self.status}, request {request_id}" if has_id else f"status {self.status}"


def check_proxy(status: int, *, where: str) -> None:
    """
    Require an answer to a request that a proxy let through.

    :raises ProviderLookupError: a proxy wants a login
    """
    if status == _PROXY_WANTS_LOGIN:
        raise ProviderLookupError(
            f"{where} cannot be reached: its proxy wants a login (status {status}). Check the user and the password in "
            f"{_PROXY}."
        )


def check_status(status: int, *, where: str) -> None:
    """
    Require a success, or a refusal that depends on what was asked.

    :raises ProviderUnavailableError: Vault cannot answer now
    :raises ProviderLookupError: a redirect, or any other status
    """
    check_proxy(status, where=where)
    if 300 <= status < 400:
        raise ProviderLookupError(
            f"{where} answers with a redirect (status {status}), which is not followed. Name the active node."
        )
    if 200 <= status < 300 or status in REFUSALS | _UNFIT:
        return
    if status in _UNAVAILABLE or status >= 500:
        raise unavailable(status, where)
    raise ProviderLookupError(f"{where} answered with status {status}. Check that the address is Vault's.")


def unavailable(status: int, where: str, retry_after: float | None = None) -> ProviderUnavailableError:
    """Return the error for a status that means that Vault cannot answer now."""
    state, way_out = _UNAVAILABLE.get(status, "has an internal error"), _WAYS_OUT.get(status, "Try again later.")
    return ProviderUnavailableError(f"{where} {state} (status {status}). {way_out}", retry_after=retry_after)


def check_readiness(answer: VaultAnswer, *, where: str) -> None:
    """
    Require the answer of a mount that is ready.

    :raises ProviderUnavailableError: it was just created, mounted or unsealed
    """
    if answer.status == 400 and any(_UPGRADES.match(error) for error in answer.errors):
        raise ProviderUnavailableError(f"{where} is still preparing the mount ({answer.shown}). Try again later.")


TIMEOUT: Final = "config.providers.NAME.param.timeout"
"""The parameter that says how long Vault may take, for messages."""


def unknown_token(where: str) -> AccessDeniedError:
    """Return the error for a token that cannot be used."""
    return AccessDeniedError(
        f"{where} does not know the token. It has ended, was revoked, or belongs to another Vault or namespace: use "
        f"another one. It is in param.token_path or param.token of the provider, in the password of its connection, or "
        f"in VAULT_TOKEN."
    )


def token_of_elsewhere(where: str) -> AccessDeniedError:
    """Return the error for a valid token that is unknown where the secret is."""
    return AccessDeniedError(
        f"{where} knows the token, but it is not valid in the namespace of the secret. Set namespace to that of the "
        f"secret, and auth_namespace to that of the login or the token."
    )


def check_origin(answer: VaultAnswer, *, where: str) -> None:
    """
    Require an answer of Vault itself.

    :raises ProviderUnavailableError: something in front of it refused
    """
    if answer.is_foreign:
        raise ProviderUnavailableError(
            f"{where} did not answer: something in front of it refused ({answer.shown}). Try again later, or check "
            f"what is in front of it."
        )


def no_json(where: str) -> ProviderUnavailableError:
    """Return the error for an answer that is not JSON."""
    return ProviderUnavailableError(f"{where} answered with something that is not JSON. Check what is in front of it.")


def is_answer_lost(error: Exception) -> bool:
    """Return whether a request might have reached Vault, without an answer that we could read."""
    import requests.exceptions as of_requests  # noqa: PLC0415 - slow to import
    from urllib3.exceptions import ConnectTimeoutError, NewConnectionError  # noqa: PLC0415 - as above

    torn = of_requests.ChunkedEncodingError, of_requests.ContentDecodingError
    broken = of_requests.ConnectionError, of_requests.Timeout, UnreadableAnswerError, *torn
    never_made = of_requests.ConnectTimeout, of_requests.ProxyError, of_requests.SSLError
    never_sent = (*never_made, ConnectTimeoutError, NewConnectionError)
    return isinstance(error, broken) and not any(isinstance(link, never_sent) for link in _chain(error))


def of_library(error: Exception, where: str) -> ConfigProvidersError:
    """Return our error for what requests, urllib3 or ssl raised."""
    import requests.exceptions as of_requests  # noqa: PLC0415 - slow to import
    from urllib3.exceptions import ReadTimeoutError  # noqa: PLC0415 - as above

    if isinstance(error, AnswerTooLargeError):
        return ProviderLookupError(
            f"{where} answered with {error.found}, which Vault does not do. Check what is in front of it."
        )
    if isinstance(error, UnreadableAnswerError):
        return ProviderUnavailableError(
            f"{where} answered with {error} that cannot be parsed. Check what is in front of it."
        )
    if isinstance(error, of_requests.SSLError):
        return _of_tls(error, where)
    if isinstance(error, of_requests.Timeout) or any(isinstance(link, ReadTimeoutError) for link in _chain(error)):
        return ProviderUnavailableError(f"{where} did not answer in time. Try again later, or raise {TIMEOUT}.")
    if isinstance(error, of_requests.ProxyError):
        return ProviderUnavailableError(f"{where} cannot be reached through its proxy. Check {_PROXY}.")
    if isinstance(error, of_requests.JSONDecodeError):
        return no_json(where)
    passing = (of_requests.ConnectionError, of_requests.ChunkedEncodingError, of_requests.ContentDecodingError)
    if isinstance(error, passing):
        return ProviderUnavailableError(f"{where} {_unreached(error)}")
    if _is_of_proxy(error):
        return ProviderLookupError(f"{where} cannot be contacted: its proxy cannot be used. Check {_PROXY}.")
    if isinstance(error, OSError) and not isinstance(error, of_requests.RequestException):
        return ProviderLookupError(
            f"{where} cannot be contacted: a certificate or key file cannot be read. Check these files."
        )
    return ProviderLookupError(
        f"{where} cannot be contacted ({type(error).__name__}). Check the provider's definition."
    )


def _unreached(error: Exception) -> str:
    """Return why no answer came, and what to check."""
    links = list(_chain(error))
    if any(isinstance(link, socket.gaierror) for link in links):
        return "cannot be reached: DNS has no address for its name, or does not answer. Check the address and DNS here."
    if any(isinstance(link, ConnectionRefusedError) for link in links):
        return "cannot be reached: its port refuses connections. Start Vault, or check the address and firewalls."
    return "cannot be reached, or dropped the connection. Check the address and the network."


def translated(
    call: Callable[[], _T], *, where: str, of: Callable[[Exception, str], ConfigProvidersError] = of_library
) -> _T:
    """
    Return the result of ``call``.

    :param of: returns our error for any other one; it gets that one, and ``where``
    :raises ConfigProvidersError: in place of any exception, without cause and context
    """
    try:
        return call()
    except ConfigProvidersError as error:
        problem = error
    except Exception as error:  # noqa: BLE001 - requests, urllib3, ssl: their messages contain URLs and bodies
        problem = of(error, where)
    raise problem.alone()


def _is_of_proxy(error: Exception) -> bool:
    """Return whether the address of a proxy is wrong; that of Vault is checked before there is a request."""
    import requests.exceptions as of_requests  # noqa: PLC0415 - slow to import

    if isinstance(error, of_requests.InvalidURL):
        return isinstance(error, of_requests.InvalidProxyURL) or error.request is not None
    return isinstance(error, of_requests.InvalidSchema)


def _of_tls(error: Exception, where: str) -> ConfigProvidersError:
    links = list(_chain(error))
    if (trouble := _certificate_trouble(links)) is not None:
        return ProviderLookupError(f"The TLS certificate of {where} {trouble}.")
    if any(isinstance(link, ssl.SSLEOFError | ssl.SSLZeroReturnError | ssl.SSLSyscallError) for link in links):
        return ProviderUnavailableError(f"{where} dropped the connection during the TLS handshake. Try again later.")
    return ProviderLookupError(
        f"The TLS handshake with {where} failed. Check the client certificate, and whether the address is http or "
        f"https."
    )


def _certificate_trouble(links: Sequence[BaseException]) -> str | None:
    """Return what is wrong with a certificate, and what to do; None if nothing is."""
    from urllib3.util.ssl_match_hostname import CertificateError  # noqa: PLC0415 - slow to import

    if any(isinstance(link, CertificateError) for link in links):
        return _FOR_ANOTHER_HOST
    codes = [getattr(link, "verify_code", 0) for link in links if isinstance(link, ssl.SSLCertVerificationError)]
    found = (_CERTIFICATES[code] for code in codes if code in _CERTIFICATES)
    return next(found, _UNTRUSTED) if codes else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield ``error`` and the errors it wraps, in all the ways of requests and urllib3."""
    links: list[BaseException | None] = [error]
    for _ in range(_DEEPEST_CHAIN):
        link = links.pop() if links else None
        if link is None:
            continue
        yield link
        wrapped = [link.__cause__, link.__context__, getattr(link, "reason", None), *link.args]
        links.extend(one for one in wrapped if isinstance(one, BaseException))
