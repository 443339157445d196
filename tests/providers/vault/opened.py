"""A provider of the tests, on a ``vault`` of the fixture."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator

from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from airflow_config_providers.providers.vault.session import Session, Sessions
from airflow_config_providers.testing import FakeClock
from tests.limits import LONGEST

Parameters = dict[str, object]


def parameters(vault, *, role=None, token: str = "", **more: object) -> Parameters:
    """Return parameters for ``vault``: to sign in as ``role``, with ``token``, or with an all-reading role."""
    shared = {"url": vault.address, "timeout": str(LONGEST), "give_back_after_kill": "false", **more}
    if token:
        return {**shared, "token": token}
    role = role or vault.approle("*")
    return {**shared, "auth_type": "approle", "role_id": role.role_id, "secret_id": role.secret_id}


def refused(vault, method: str = "userpass", **more: object) -> Parameters:
    """Return parameters of a login that Vault refuses."""
    if method == "userpass":
        how = {"username": vault.userpass("*").username, "password": "wrong"}
    elif method == "approle":
        how = {"role_id": vault.approle("*").role_id, "secret_id": "wrong"}
    else:
        role = vault.jwt("*")
        how = {"jwt_role": role.role, "jwt_token": "wrong", "auth_mount_point": role.mount}
    return {"url": vault.address, "give_back_after_kill": "false", "auth_type": method, **how, **more}


def provider_of(params: Parameters, sessions: Sessions | None = None) -> VaultConfigProvider:
    """Return an isolated provider; without ``sessions``, it does not share its login."""
    provider = VaultConfigProvider(connections=lambda _: None, environ={}, sessions=sessions or Sessions())
    provider.configure(params)
    return provider


@contextlib.contextmanager
def opened(vault, *, sessions: Sessions | None = None, **given) -> Iterator[VaultConfigProvider]:
    """Open a provider, forget the requests that the set-up made, and close it at the end."""
    params = parameters(vault, **given)
    with contextlib.closing(provider_of(params, sessions)) as provider:
        vault.reset()
        yield provider


class ManualSessions(Sessions):
    """Sessions whose clock is ``clock``, and which renew when ``renew_due`` is called."""

    def __init__(self) -> None:
        self.clock = FakeClock(1000.0)
        self.made: list[Session] = []
        super().__init__(self._made)

    def _made(self, settings, no_fork: threading.Lock) -> Session:
        session = Session(
            settings,
            clock=self.clock,
            sleep=self.clock.sleep,
            start=lambda _: None,
            no_fork=no_fork,
            attempts=self.attempts,
        )
        self.made.append(session)
        return session

    def pass_time(self, seconds: float, vault) -> None:
        """Let ``seconds`` pass, here and in ``vault``, and renew what is due then."""
        self.clock.sleep(seconds)
        vault.advance(seconds)
        for session in self.made:
            session.renewals.run_due()


def side_by_side(count: int, call: Callable[[], object]) -> list[object]:
    """Call from ``count`` threads at once; give what they gave or raised."""
    barrier, found = threading.Barrier(count), []

    def run() -> None:
        barrier.wait()
        try:
            found.append(call())
        except Exception as error:  # noqa: BLE001 - it is given to the test
            found.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def seen(vault) -> list[str]:
    """Return the requests as ``GET kv2/data/apps/db 200``, with the mounts' names without the suffix of the test."""
    suffix = f"-{vault.kv2.rpartition('-')[2]}"
    return [f"{request.method} {request.path.replace(suffix, '')} {request.status}" for request in vault.requests()]


def counted(vault) -> Counter[str]:
    """Return how often each request was made."""
    return Counter(seen(vault))
