"""Requests to one Vault: the client that sends them, the breakers that stop them, and the answers."""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core import document
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import (
    ProviderDefinitionError,
    ProviderLookupError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.faults import AnswerTooLargeError, VaultAnswer

if TYPE_CHECKING:
    import hvac
    import requests

    from airflow_config_providers.providers.vault.settings import VaultSettings

_FAILURES: Final = 3
"""How many requests in a row fail before the next ones are not sent."""
_PAUSE: Final = 1.0
"""Seconds until one request finds out whether the server is back."""
_LONGEST_PAUSE: Final = 60.0
"""The most seconds without a request, whatever the server asks for."""

THREADS: Final = 64
"""How many connections to one server are kept for the next requests, which threads send side by side."""

_OF_A_REFUSAL: Final = ("errors", "request_id")
"""Vault's body of a refusal has one of these; the second if an engine refused."""

MakeClient = Callable[["VaultSettings"], "hvac.Client"]

_UNVERIFIED: Final = "its certificate is not verified. Name a CA with ca_cert instead of verify=false"
_PLAIN: Final = "the connection is not encrypted. Use https (in a connection: use_tls, or the type vaults)"
THIS_MACHINE: Final = re.compile(r"http://(?:localhost|127(?:\.[0-9]+){3}|\[::1\])(?:[:/]|$)")

_log = logging.getLogger(__name__)


class Breaker:
    """
    Fails requests at once while a server is known to be down, with the last error. Thread-safe.

    :param clock: seconds, monotonic
    :param failures: how many requests in a row fail before the next ones are not sent
    """

    def __init__(self, clock: Callable[[], float], *, failures: int = _FAILURES) -> None:
        self._clock = clock
        self._most = failures
        self._lock = threading.Lock()
        self._failures = 0
        self._error: ProviderLookupError | None = None
        self._until = 0.0

    @contextmanager
    def watching(self, failure: type[ProviderLookupError]) -> Iterator[None]:
        """
        Watch a request, which is made in the block.

        :param failure: the error of the block if the server is the problem, and not what was asked
        :raises ProviderLookupError: the server is down, and the request must not be sent
        """
        self.refuse()
        try:
            yield
        except failure as error:
            self.note(error)
            raise
        self.reset()

    def refuse(self) -> None:
        """
        Require that a request may be sent.

        :raises ProviderLookupError: the server is down
        """
        with self._lock:
            if self._error is None:
                return
            now = self._clock()
            if now < self._until:
                raise self._error.again()
            self._until = now + _PAUSE  # this request finds out, and the others wait for it

    def note(self, error: ProviderLookupError) -> None:
        """Count a failure; stop at once if another request cannot help, as with a wrong address or a retry time."""
        retry_after = error.retry_after if isinstance(error, ProviderUnavailableError) else 0.0
        with self._lock:
            self._failures += 1
            if self._failures >= self._most or retry_after is not None:
                pause = min(retry_after or _PAUSE, _LONGEST_PAUSE)
                self._error, self._until = error.again(), self._clock() + pause

    def reset(self) -> None:
        """Let every request pass: the server has answered."""
        with self._lock:
            self._failures, self._error = 0, None


class Breakers:
    """
    The breaker of a server, and one for each of its mounts, which have their own limits. Thread-safe.

    :param clock: seconds, monotonic
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._server = Breaker(clock)
        self._mounts: dict[str, Breaker] = {}

    @contextmanager
    def watching(
        self, mount: str, failure: type[ProviderLookupError], *, is_limit: Callable[[], bool]
    ) -> Iterator[None]:
        """
        Watch a request to ``mount``, as ``Breaker.watching`` does.

        :param is_limit: returns whether the block failed because the mount has too many requests: the server is up
        """
        limit = self._mounts.setdefault(mount, Breaker(self._clock))
        limit.refuse()
        self._server.refuse()
        try:
            yield
        except failure as error:
            if not is_limit():
                self._server.note(error)
                raise
            limit.note(error)
            self._server.reset()
            raise
        limit.reset()
        self._server.reset()


def make_client(settings: VaultSettings) -> hvac.Client:
    """
    Return a client without a token, which follows no redirects and whose pool serves 64 threads; connects to nothing.

    It takes nothing from the environment, except proxies and .netrc if ``trust_env`` is set, and never repeats a
    request. An address where others could answer or listen is logged as a warning, once in a process.
    """
    import hvac  # noqa: PLC0415 - optional, and slow to import

    _warn(settings)
    return hvac.Client(
        url=settings.url,
        token="",  # for None hvac would look in VAULT_TOKEN and in ~/.vault-token
        cert=settings.cert or (),  # for None hvac would look in VAULT_CLIENT_CERT
        verify=settings.verify,
        timeout=settings.timeout,
        proxies=dict(settings.proxies),
        allow_redirects=False,
        session=_session(settings),
        namespace=settings.namespace,
    )


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Clients:
    """
    Makes clients for one Vault. Thread-safe.

    :param no_fork: held while the libraries for requests are imported: a child that is forked halfway through an
        import could never finish it
    """

    settings: VaultSettings
    no_fork: threading.Lock
    make: MakeClient = make_client

    def new_for_login(self) -> hvac.Client:
        """Return a new client that uses the namespace of the login; otherwise as ``new``."""
        client = self.new()
        client.adapter.namespace = self.settings.login_namespace
        return client

    def new(self) -> hvac.Client:
        """
        Return a new client, which the caller must close.

        :raises ProviderDefinitionError: hvac is not installed
        """
        try:
            with self.no_fork:
                _import_what_a_request_needs()
            return self.make(self.settings)
        except ImportError:
            pass
        raise ProviderDefinitionError("hvac is not installed. Install it: pip install hvac")


class Transport:
    """
    Sends requests, each with its own token; connects at the first. Thread-safe.

    :param client: never gets a token
    :param where: the name of the Vault in errors
    :param breakers: stop requests to a server that is down, and to a mount that has too many
    :param login_namespace: namespace in which a token is looked up, renewed and given back; None for none
    """

    def __init__(self, client: hvac.Client, *, where: str, breakers: Breakers, login_namespace: str | None) -> None:
        from hvac.adapters import RawAdapter  # noqa: PLC0415 - optional, and slow to import

        self._adapter = RawAdapter.from_adapter(client.adapter)  # raw: parsed JSON would change numbers
        self._login_adapter = RawAdapter.from_adapter(client.adapter)
        self._login_adapter.namespace = login_namespace
        self._where = where
        self._breakers = breakers
        self._is_closed = False

    def get(
        self, path: str, *, token: str = "", query: Mapping[str, str] | None = None, mount: str = ""
    ) -> VaultAnswer:
        """
        Return Vault's answer for ``path``, which is quoted.

        :param mount: the mount, which has its own limit on requests; empty for the beginning of the path
        :raises ProviderUnavailableError: Vault cannot answer now
        :raises ProviderLookupError: it cannot be asked, or answers as Vault never does
        """
        return self._ask("get", path, token, mount=mount, params=query)

    def post(
        self, path: str, body: Mapping[str, Any], *, token: str, timeout: float | None = None, wrap_seconds: int = 0
    ) -> VaultAnswer:
        """
        Have Vault do something; errors as for ``get``.

        :param timeout: seconds; None for those of a read
        :param wrap_seconds: for which the wrapped answer can be unwrapped; 0 for a plain answer
        """
        more: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        if wrap_seconds:
            more["headers"] = {"X-Vault-Wrap-TTL": f"{wrap_seconds}s"}
        return self._ask("post", path, token, json=body, **more)

    def close(self) -> None:
        """Close the connections, and from now on the one of each request after it."""
        self._is_closed = True
        self._adapter.close()

    def _ask(self, method: str, path: str, token: str, *, mount: str = "", **kwargs: Any) -> VaultAnswer:
        response = self._response(method, path, token, mount=mount or _mount(path), **kwargs)
        if isinstance(response, AnswerTooLargeError):
            return VaultAnswer(0, excess=response.found)
        faults.check_status(response.status_code, where=self._where)
        body = {} if response.status_code == 204 else _body(response.content)
        if body is None and response.ok:
            raise faults.no_json(self._where)
        is_foreign = response.status_code in faults.REFUSALS and _is_foreign(response.content, body)
        answer = VaultAnswer(response.status_code, body or {}, is_foreign)
        faults.check_readiness(answer, where=self._where)
        return answer

    def _response(
        self, method: str, path: str, token: str, *, mount: str, **kwargs: Any
    ) -> requests.Response | AnswerTooLargeError:
        """Send a request, unless it could not be answered; return the response, or that it is too large."""
        headers = {**kwargs.pop("headers", {}), **({"X-Vault-Token": token} if token else {})}
        adapter = self._login_adapter if path.startswith("auth/") else self._adapter
        answers: list[requests.Response] = []
        too_large: list[AnswerTooLargeError] = []

        def send() -> None:
            try:
                with self._closing_again():
                    asked = adapter.request(method, f"/v1/{path}", headers=headers, raise_exception=False, **kwargs)
                answers.append(asked)
            except AnswerTooLargeError as error:
                too_large.append(error)

        with self._breakers.watching(mount, ProviderLookupError, is_limit=lambda: any(map(is_limit, answers))):
            faults.translated(send, where=self._where)
            for response in answers:
                _log.debug("%s %s %s: %d", self._where, method.upper(), printable(path), response.status_code)
                if response.status_code in faults.OF_THE_SERVER:
                    raise faults.unavailable(response.status_code, self._where, retry_after(response))
        return answers[0] if answers else too_large[0]

    @contextmanager
    def _closing_again(self) -> Iterator[None]:
        """Close the connection that a request opens after ``close``, such as one that gives back a late lease."""
        try:
            yield
        finally:
            if self._is_closed:
                self._adapter.close()


def is_limit(response: requests.Response) -> bool:
    """Return whether Vault refused a request because there are too many."""
    return response.status_code == faults.TOO_MANY_REQUESTS


def retry_after(response: requests.Response) -> float | None:
    """
    Return the seconds in the header ``Retry-After``. A date, which Vault does not send, counts as no header.

    :return: without the header, a second if there are too many requests, and None for other reasons
    """
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdecimal() and len(text) < 7:
        return float(text)
    return _PAUSE if is_limit(response) else None


def _mount(path: str) -> str:
    """Return the mount of one of Vault's own paths; for any other its first name, which can be less than the mount."""
    names = path.split("/", 2)
    return "/".join(names[: 2 if names[0] in {"auth", "sys"} else 1])


def _body(content: bytes) -> Mapping[str, Any] | None:
    """Return a JSON object with its numbers as they are written; None for anything else."""
    try:
        return document.parse_object(content.decode("utf-8"))
    except UnicodeDecodeError:
        return None


def _is_foreign(content: bytes, body: Mapping[str, Any] | None) -> bool:
    """Return whether a refusal has a body that is not one of Vault's, such as a page."""
    return bool(content.strip()) and (body is None or body.keys().isdisjoint(_OF_A_REFUSAL))


def _import_what_a_request_needs() -> None:
    import encodings.idna  # noqa: F401, PLC0415 - a host name needs it

    import hvac.exceptions  # noqa: F401, PLC0415 - optional, and slow to import
    import requests.exceptions  # noqa: F401, PLC0415 - a slow import that only Vault needs

    from airflow_config_providers.providers.vault import bounded  # noqa: F401, PLC0415 - as above


def _session(settings: VaultSettings) -> requests.Session:
    from http.cookiejar import DefaultCookiePolicy  # noqa: PLC0415 - only requests need it

    from airflow_config_providers.providers.vault.bounded import (  # noqa: PLC0415 - a slow import only Vault needs
        BoundedAdapter,
        BoundedSession,
    )

    session = BoundedSession()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))  # Vault has none; others' could become many
    session.trust_env = settings.trust_env
    session.verify = settings.verify
    session.cert = settings.cert
    session.proxies = dict(settings.proxies)
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter(pool_connections=1, pool_maxsize=THREADS, max_retries=0))
    return session


def _warn(settings: VaultSettings) -> None:
    if settings.url.startswith("https:"):
        if settings.verify is False:
            _warn_once(settings.url, _UNVERIFIED, process=os.getpid())
    elif not THIS_MACHINE.match(settings.url):
        _warn_once(settings.url, _PLAIN, process=os.getpid())


@cache
def _warn_once(url: str, why: str, *, process: int) -> None:
    """Log a warning; ``process`` is part of the key because a fork copies the cache."""
    _log.warning("Vault at %s gets the login of process %d, but %s.", printable(url), process, why)
