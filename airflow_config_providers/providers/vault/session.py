"""The login of a process to one Vault, and the token it holds."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.concurrency.per_process import Forgetting, forget_in_children, hold_forks
from airflow_config_providers.core.concurrency.shared_calls import SingleFlight
from airflow_config_providers.core.concurrency.timetable import Call, Clock, Start, Timetable
from airflow_config_providers.exceptions import ProviderLookupError
from airflow_config_providers.providers.vault import faults
from airflow_config_providers.providers.vault.faults import VaultAnswer
from airflow_config_providers.providers.vault.logins.login import seconds
from airflow_config_providers.providers.vault.logins.signing_in import LoginAttempts, LoginRefusal, SigningIn
from airflow_config_providers.providers.vault.paths import Mounts
from airflow_config_providers.providers.vault.renewal_rules import Renewal, when_to_renew
from airflow_config_providers.providers.vault.revocation import Revocations, RevokeRequest
from airflow_config_providers.providers.vault.transport import Breakers, Clients, MakeClient, Transport, make_client

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.logins.login import VaultToken
    from airflow_config_providers.providers.vault.settings import VaultSettings

_log = logging.getLogger(__name__)

_LOOKUP: Final = "auth/token/lookup-self"
_RENEW: Final = "auth/token/renew-self"

_SECONDS_WITHOUT_LOGIN: Final = 60.0

_BATCH: Final = ("hvb.", "b.")
"""Prefixes of tokens that cannot be given back."""

_LONGEST_MARGIN_SECONDS: Final = 30.0

_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def seconds_since_boot() -> float:
    """Return seconds that never go back; on Linux, they go on while the machine is suspended, as a server's do."""
    return time.clock_gettime(_CLOCK)


@dataclass(frozen=True, slots=True)
class HeldToken:
    """
    A token, and what is known of its lifetime.

    :param since: when it was issued, by the session's clock
    :param ttl: seconds from then; None if it has no end or the end is unknown
    :param mark: version of the file that it was read from
    :param key: its key in the helper that gives it back after a kill
    """

    text: str = field(repr=False)
    is_ours: bool
    since: float
    ttl: float | None
    mark: object | None = field(default=None, repr=False)
    key: int | None = None

    @property
    def expires(self) -> float | None:
        """When it ends, by the session's clock."""
        return None if self.ttl is None else self.since + self.ttl

    @property
    def can_be_given_back(self) -> bool:
        """Whether we can and should end it, with everything that was leased with it."""
        return self.is_ours and not self.text.startswith(_BATCH)

    def left(self, now: float) -> float | None:
        """Return the seconds until it ends; None if it has no end or the end is unknown."""
        return None if self.expires is None else max(0.0, self.expires - now)

    @property
    def good_until(self) -> float:
        """When it no longer lasts long enough for a read, by the session's clock."""
        return math.inf if self.ttl is None else self.since + self.ttl - min(self.ttl / 10, _LONGEST_MARGIN_SECONDS)


class Session:
    """
    Signs in when first needed, stays signed in, and gives back what it has. Thread-safe; a forked child starts afresh.

    :param clock: seconds that never go back, and go on while this machine is suspended: in Vault, leases end meanwhile
    :param sleep: waits for a number of seconds
    :param start: runs the function that makes the calls of a timetable, in its own thread
    :param no_fork: held while a fork would do harm
    :param attempts: what the sessions of the process know about refused logins
    """

    def __init__(  # noqa: PLR0913 - callers give the first; the others are seams
        self,
        settings: VaultSettings,
        *,
        clock: Clock = seconds_since_boot,
        sleep: Callable[[float], None] = time.sleep,
        make_client: MakeClient = make_client,
        start: Start | None = None,
        no_fork: threading.Lock | None = None,
        attempts: LoginAttempts | None = None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.mounts = Mounts()
        self.where = settings.where
        self._start = start
        no_fork = no_fork or threading.Lock()
        self._clients = Clients(settings, no_fork, make_client)
        self.revocations = Revocations(settings, no_fork, clock=clock, sleep=sleep)
        self._attempts = attempts or LoginAttempts()
        self._left_behind: list[object] = []  # kept alive, so that a child finalizes nothing of its parent
        self._begin()

    def _begin(self) -> None:
        self.flights = SingleFlight(patience=None, asks_again=True)
        self.renewals = self.timetable("vault-renewal")
        self._lock = threading.Lock()
        self._transport: Transport | None = None
        self._held: HeldToken | None = None
        self._is_closed = False
        self._no_login_before = self.clock()
        self._breakers = Breakers(self.clock)
        self._signing_in = SigningIn(self.settings, self.clock, self._clients, self._breakers, self._attempts)
        self._ended: LoginRefusal | None = None

    def forget(self) -> None:
        """In a forked child: leave login, connections and threads to the parent, untouched."""
        self._left_behind += [self._transport, self.flights, self.renewals]
        self.revocations.forget()
        self._begin()

    def token(self) -> HeldToken:
        """
        Return a token to read with. Threads that need one at the same time share one login.

        :raises AccessDeniedError: the login was refused
        :raises ProviderUnavailableError: Vault cannot answer now
        """
        held = self._held
        if held is None or not self._is_good(held):
            return self.flights.run("login", lambda: self._sign_in(None))
        if self._ended is not None:
            self._ended.raise_at(self.clock(), of=held.text)
        return held

    def replaces(self, refused: HeldToken, answer: VaultAnswer) -> bool:
        """
        Return whether there is a token other than the refused one, after a new login if necessary.

        A refused token is looked up, once for all threads: if it is still valid, the policy refused, unless ``answer``
        says that the token is unknown where the secret is.

        :raises AccessDeniedError: the token has ended and there is no other one; or it belongs to another namespace
        :raises ProviderUnavailableError: Vault cannot say now whether it has ended
        """
        current = self._held
        if current is not None and current.text != refused.text:
            return True
        if self.clock() < self._no_login_before:
            return False
        found = self.flights.run(("alive", refused.text), lambda: self.transport.get(_LOOKUP, token=refused.text))
        if found.knows_token and answer.says_token_has_ended:
            raise faults.token_of_elsewhere(self.where)
        if found.may_know_token and not answer.says_token_has_ended:
            return False
        if self._signed_in_anew(refused).text != refused.text:
            return True
        if found.is_foreign and not answer.says_token_has_ended:
            return False
        error = faults.unknown_token(self.where)
        self._ended = LoginRefusal(error, of=refused.text, until=self.clock() + _SECONDS_WITHOUT_LOGIN)
        raise error.again()

    def login_was_no_help(self, refused: HeldToken) -> None:
        """For a while, assume that a policy refuses: ``refused`` may be valid and not allowed to look itself up."""
        self._no_login_before = self.clock() + _SECONDS_WITHOUT_LOGIN
        self._give_back(refused, self.transport)

    def check(self) -> None:
        """
        Find out whether Vault answers and whether we can sign in; reads no secret.

        :raises AccessDeniedError: the login or the token is refused
        :raises ProviderUnavailableError: Vault cannot answer now
        """
        self.transport.get("sys/health", query={"standbyok": "true", "perfstandbyok": "true"})
        self._ended = None  # the caller asks for the current state
        self._signing_in.forgive()
        held = self.token()
        found = self.transport.get(_LOOKUP, token=held.text)
        if found.may_know_token:
            return
        if self._signed_in_anew(held).text == held.text:
            faults.check_origin(found, where=self.where)
            raise faults.unknown_token(self.where)
        self._give_back(held, self.transport)

    def give_back_lease(self, lease_id: str, *, token: str, key: int | None, until: float = -math.inf) -> bool:
        """
        Have Vault end a lease, even after ``close``, and return whether Vault could be asked; raises nothing.

        :param until: how long to try while Vault has too many requests, by the session's clock
        """
        with self._lock:
            transport = self._transport
        owed = RevokeRequest.of_lease(lease_id, token=token)
        return transport is not None and self.revocations.give_back(owed, transport, key=key, until=until)

    def used_until(self, token: str) -> float:
        """Return when ``token`` is no longer used, unless it is renewed. Its leases end with it."""
        held = self._held
        if held is None or held.text != token:
            return -math.inf
        if held.is_ours or held.expires is None:
            return held.good_until
        return held.expires

    def timetable(self, name: str) -> Timetable:
        """Return a timetable for calls by this session's clock, in a thread called ``name``."""
        return Timetable(name, self.clock, self._start)

    def plan_renewal(self, key: Hashable, at: float, renew: Call) -> None:
        """
        Have ``renew`` called at ``at``, unless the session is closed; raises nothing.

        If no thread can be started, the call waits until another one is planned: what was read is good without it.
        """
        try:
            self.renewals.add(key, at, renew)
        except RuntimeError:
            _log.info("%s: nothing is renewed until a thread can be started again", self.where)
        if self._is_closed:  # perhaps after ``close`` has cleared the timetable
            self.renewals.drop(key)

    def seconds_left_of(self, token: str) -> float | None:
        """Return the seconds that ``token`` lasts unless it is renewed; None if it has no known end."""
        held = self._held
        return held.left(self.clock()) if held is not None and held.text == token else 0.0

    def learn_end_of(self, token: HeldToken) -> None:
        """Find out when a given token ends, and with it what was leased with it; raises nothing."""
        if not token.is_ours and not token.left(self.clock()):
            self.flights.run(("end", token.text), lambda: self._learn_end_of(token))

    def has_given_back(self, token: HeldToken) -> bool:
        """Return whether ``token`` ended, with what was leased with it, when this session was closed."""
        return self._is_closed and token.can_be_given_back

    def ends_leases_of(self, token: str) -> bool:
        """Return whether closing this session ends what was leased with ``token``, or it has already ended."""
        held = self._held
        if held is None or held.text != token:
            return held is None or held.is_ours
        return held.can_be_given_back

    def close(self, *, until: float = -math.inf) -> None:
        """
        Give back the login, and with it the leases; raises nothing. A closed session no longer signs in.

        :param until: how long to try while Vault has too many requests, by the session's clock
        """
        with self._lock:
            held, self._held = self._held, None
            transport, self._is_closed = self._transport, True
        self.renewals.clear()
        if transport is not None:
            self._give_back(held, transport, until=until)
            transport.close()
        self.revocations.close()
        self.settings.login.forget()

    @property
    def transport(self) -> Transport:
        """
        The transport, which sends requests.

        :raises ProviderLookupError: the session is closed
        :raises ProviderDefinitionError: hvac is not installed
        """
        with self._lock:
            if self._is_closed:
                raise ProviderLookupError(f"The session with {self.where} is closed. Open the provider again.")
            if self._transport is None:
                self._transport = Transport(
                    self._clients.new(),
                    where=self.where,
                    breakers=self._breakers,
                    login_namespace=self.settings.login_namespace,
                )
            return self._transport

    def _is_good(self, held: HeldToken) -> bool:
        mark = self.settings.login.version()
        return self.clock() < held.good_until and (mark is None or mark == held.mark)

    def _learn_end_of(self, token: HeldToken) -> None:
        now = self.clock()
        try:
            answer = self.transport.get(_LOOKUP, token=token.text)
        except ProviderLookupError:
            return
        ttl = seconds(answer.data.get("ttl")) if isinstance(answer.data, Mapping) else 0.0
        with self._lock:
            if ttl and self._held is not None and self._held.text == token.text:
                self._held = replace(self._held, since=now, ttl=ttl)

    def _signed_in_anew(self, refused: HeldToken) -> HeldToken:
        return self.flights.run("login", lambda: self._sign_in(refused))

    def _sign_in(self, refused: HeldToken | None) -> HeldToken:
        held = self._held
        if held is not None and self._is_good(held) and (refused is None or refused.text != held.text):
            return held
        mark, since, transport = self.settings.login.version(), self.clock(), self.transport
        given = self._new_token()
        new = HeldToken(given.token, given.is_ours, since, given.ttl, mark)
        if held is not None and held.text == new.text:
            new = replace(held, mark=mark)  # the same token again: what we know of its end stays true
        if new.can_be_given_back:
            new = replace(new, key=self.revocations.hold(RevokeRequest.of_login(new.text)))
        self._take(new, transport)
        if given.is_ours and given.is_renewable and given.ttl is not None:
            renewal = Renewal(self.where, "the login")
            self.plan_renewal("token", when_to_renew(since, given.ttl), lambda: self._renew(new.text, renewal))
        return new

    def _new_token(self) -> VaultToken:
        """Sign in. If the session is closed meanwhile, the login forgets what it unwrapped."""
        try:
            return self._signing_in.token()
        finally:
            if self._is_closed:
                self.settings.login.forget()

    def _take(self, new: HeldToken, transport: Transport) -> None:
        with self._lock:
            old, is_closed = self._held, self._is_closed
            self._held = None if is_closed else new
        self.revocations.drop(None if old is None else old.key)
        if is_closed:
            self._give_back(new, transport)
            raise ProviderLookupError(f"The session with {self.where} was closed while it signed in.")

    def _renew(self, text: str, renewal: Renewal) -> float | None:
        held, now = self._held, self.clock()
        if held is None or held.text != text or held.expires is None:
            return None
        answer = renewal.ask(lambda: self.transport.post(_RENEW, {}, token=text))
        ttl = 0.0 if answer is None else _ttl(answer)
        if ttl == 0:
            return renewal.failed(answer, now=self.clock(), expires=held.expires)
        with self._lock:
            if self._held is held:
                self._held = replace(held, since=now, ttl=ttl)
        return renewal.done(now=now, ttl=ttl, former_end=held.expires)

    def _give_back(self, held: HeldToken | None, transport: Transport, *, until: float = -math.inf) -> None:
        if held is not None and held.can_be_given_back and held.left(self.clock()) != 0:
            self.revocations.give_back(RevokeRequest.of_login(held.text), transport, key=held.key, until=until)


def _ttl(answer: VaultAnswer) -> float:
    auth = answer.body.get("auth") if answer.is_good else None
    return seconds(auth.get("lease_duration")) if isinstance(auth, Mapping) else 0.0


MakeSession = Callable[["VaultSettings", threading.Lock], Session]


class Sessions:
    """
    Returns the same session for equal settings while anyone uses it. Thread-safe; a forked child starts afresh.

    :param make: returns a new session; its second argument is held while a fork would do harm
    :ivar attempts: what all sessions know about refused logins; outlives them, and a forked child keeps it
    """

    def __init__(self, make: MakeSession | None = None) -> None:
        self.attempts = LoginAttempts()
        self._make = make or self._session
        self._lock = threading.Lock()
        self._no_fork = threading.Lock()
        self._open: dict[VaultSettings, tuple[Session, list[Forgetting]]] = {}
        self._watches_forks = False

    def join(self, settings: VaultSettings, member: Forgetting) -> Session:
        """Return the session for ``settings``, which ``member`` uses from now on; connects to nothing."""
        with self._lock:
            if not self._watches_forks:
                self._watches_forks = True
                hold_forks(self._no_fork)
                forget_in_children(self)
            if settings not in self._open:
                self._open[settings] = (self._make(settings, self._no_fork), [])
            session, members = self._open[settings]
            members.append(member)
            return session

    def leave(self, session: Session, member: Forgetting) -> bool:
        """Have ``member`` no longer use it; return True for the last one, which must close it."""
        with self._lock:
            _, members = self._open.get(session.settings, (session, [member]))
            members.remove(member)
            if not members:
                self._open.pop(session.settings, None)
            return not members

    def forget(self) -> None:
        """In a forked child: start afresh, with new locks: threads that do not exist here might hold the old ones."""
        self._lock = threading.Lock()
        self.attempts.forget_threads()
        for session, members in list(self._open.values()):
            session.forget()
            for member in list(members):
                member.forget()

    def _session(self, settings: VaultSettings, no_fork: threading.Lock) -> Session:
        return Session(settings, no_fork=no_fork, attempts=self.attempts)


SESSIONS: Final = Sessions()
"""The sessions of this process. One exists from its first provider's ``configure`` to its last one's ``close``."""
