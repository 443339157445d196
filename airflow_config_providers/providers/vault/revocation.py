"""Revokes logins and leases when this process ends; if it is killed, a helper process runs ``give_back`` instead."""

from __future__ import annotations

import itertools
import json
import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self

from airflow_config_providers.core.closing import end_of_waiting
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.transport import Breaker

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.faults import VaultAnswer
    from airflow_config_providers.providers.vault.settings import VaultSettings
    from airflow_config_providers.providers.vault.transport import Transport

_log = logging.getLogger(__name__)

_KEPT_ENVIRON: Final = ("LD_LIBRARY_PATH",)
"""Variables that an interpreter can need to start."""

_WAIT: Final = """
ulimit -c 0
PATH=
count=0
while IFS= read -r line; do
    lines="$lines$line
"
    count=$((count + 1))
    if [ "$count" = 100 ]; then
        all="$all$lines"
        lines=
        count=0
    fi
done
printf %s "$all$lines" | "$@"
"""
"""
The script that waits: a shell costs the task less time and memory than Python, which runs only after a kill.

A shell copies a string that it appends to, so 100 lines are appended at a time. No core dump may contain the token.
Without a PATH, a shell that lacks ``printf`` cannot pass the token to a program as an argument, where others see it.
"""

_BLOCKED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_SECONDS_TO_END: Final = 2.0
_LONGEST: Final = 5.0
"""The most seconds for one request at the end."""
_SHORTEST_WAIT_SECONDS: Final = 1.0
_LONGEST_WAIT: Final = 5.0
"""The most seconds that a job's end waits because Vault has too many requests: a killed task has five by default."""


@dataclass(frozen=True, slots=True)
class Server:
    """
    Where the helper posts.

    :param verify: as in ``VaultSettings``
    :param proxy: URL; empty for none
    :param login_namespace: in which the login is given back; None for none
    """

    url: str
    namespace: str | None
    verify: bool | str
    cert: tuple[str, str] | None
    proxy: str = field(repr=False)
    login_namespace: str | None = None


class Helper:
    """
    Our end of the helper: starts it with the first thing to give back, and sends it everything. Thread-safe.

    After ``close`` it holds nothing any longer, as nothing would end the process then.

    A message that cannot be sent is logged and otherwise ignored: the helper is for the worst case only.

    :param server: returns where it posts; called when the process is started
    :param no_fork: held while the process is started: a fork would share the pipe to it
    """

    def __init__(self, server: Callable[[], Server] | None, no_fork: threading.Lock | None = None) -> None:
        self._server = server
        self._no_fork = no_fork or threading.Lock()
        self._lock = threading.RLock()  # a task that is killed calls ``leave`` in a signal handler
        self._keys = itertools.count(1)
        self._held: dict[int, Mapping[str, Any]] = {}
        self._is_left = False
        self._is_closed = False
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The ID of the process; None if there is none."""
        return None if self._process is None else self._process.pid

    def hold(self, path: str, *, token: str, body: Mapping[str, Any]) -> int | None:
        """Have ``body`` posted to ``path`` when this process ends; return a key for ``drop``; None if it cannot be."""
        key = next(self._keys)
        with self._lock:
            if self._is_closed or self._server is None:
                return None
            self._held[key] = {"hold": key, "path": path, "token": token, "body": body}
            self._send([self._held[key]] if self._process is not None else self._begin(self._server()))
        return key

    def drop(self, key: int) -> None:
        """Let it no longer be posted."""
        with self._lock:
            self._held.pop(key, None)
            self._send([{"drop": key}])

    def leave(self, *, is_left: bool) -> None:
        """Stop posting what is held when this process ends, or start again."""
        with self._lock:
            self._is_left = is_left
            self._send([{"leave": is_left}])

    def close(self) -> None:
        """End the process: at once if it has nothing to post, otherwise after it did, half a minute at most."""
        with self._lock:
            self._is_closed = True
            process, self._process = self._process, None
            end = _finish if self._held and not self._is_left else _end
            self._held.clear()
        if process is not None:
            end(process)

    def forget(self) -> None:
        """In a forked child: leave the process to the parent; it waits for the end of that alone."""
        process, self._process = self._process, None
        self._lock = threading.RLock()
        self._held = {}
        self._is_left = self._is_closed = False
        if process is not None:
            _let_go(process)

    def _begin(self, server: Server) -> list[Mapping[str, Any]]:
        """Start the process, and return all it must know."""
        with self._no_fork:
            self._process = _start()
        return [{"server": asdict(server)}, {"leave": self._is_left}, *self._held.values()]

    def _send(self, messages: Iterable[Mapping[str, Any]]) -> None:
        if self._process is None or _written(self._process, messages):
            return
        process, self._process = self._process, None
        _end(process)


@dataclass(frozen=True, slots=True)
class RevokeRequest:
    """
    A request that ends something.

    :param what: its name in logs
    """

    what: str
    path: str
    token: str = field(repr=False)
    body: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of_login(cls, token: str) -> Self:
        """Return the request that ends ``token`` and what was leased with it."""
        return cls("login", "auth/token/revoke-self", token)

    @classmethod
    def of_lease(cls, lease_id: str, *, token: str) -> Self:
        """Return the request that ends a lease."""
        return cls("lease", "sys/leases/revoke", token, {"lease_id": lease_id})


class Revocations:
    """
    Revokes logins and leases, or lets a process that outlives this one do it. Thread-safe.

    If Vault could not be asked to end a lease, it is not asked for others for a while; the same applies to logins. So
    if Vault hangs, the end of a job waits only once for each kind.

    :param no_fork: held while the process is started: a fork would share the pipe to it
    :param clock: seconds, monotonic
    :param sleep: waits for a number of seconds
    """

    def __init__(
        self,
        settings: VaultSettings,
        no_fork: threading.Lock | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._sleep = sleep
        self._helper = Helper(partial(_server, settings) if settings.gives_back_after_kill else None, no_fork)
        self._breakers: dict[str, Breaker] = {}
        self._is_left = False

    def hold(self, owed: RevokeRequest) -> int | None:
        """Have the helper send ``owed`` if this process ends first; return its key, or None without a helper."""
        return self._helper.hold(owed.path, token=owed.token, body=owed.body)

    def leave(self, *, is_left: bool) -> None:
        """Start or stop letting everything expire by itself, even if this process is killed."""
        self._is_left = is_left
        self._helper.leave(is_left=is_left)

    def drop(self, key: int | None) -> None:
        """Have the helper forget the request under ``key``, which was sent."""
        if key is not None:
            self._helper.drop(key)

    def end_of_waiting(self) -> float:
        """Return until when someone who closes now waits if Vault has too many requests, by the clock."""
        return end_of_waiting(self._clock, _LONGEST_WAIT)

    def give_back(
        self, owed: RevokeRequest, transport: Transport, *, key: int | None, until: float = -math.inf
    ) -> bool:
        """
        Send ``owed``, and return whether Vault could be asked; raises nothing.

        If not, the helper keeps what it holds under ``key``, and tries once when this session or this process ends.
        After ``leave`` nothing is sent.

        :param until: while Vault has too many requests, ``owed`` is sent again, but not later than this
        """
        if self._is_left:
            _log.info("A %s of Vault is left to a job that may still run, and ends by itself", owed.what)
            return True
        breaker = self._breakers.setdefault(owed.path, Breaker(self._clock, failures=1))
        try:
            with breaker.watching(ProviderLookupError):
                answer = self._answer(owed, transport, until=until)
        except ConfigProvidersError as error:
            hope = "ends by itself" if key is None else "is left to the helper"
            _log.warning("A %s of Vault was not given back and %s: %s", owed.what, hope, error)
            return False
        self.drop(key)
        if not answer.is_good:
            _log.warning("Vault did not take a %s back (%s); it ends by itself", owed.what, answer.shown)
        return True

    def _answer(self, owed: RevokeRequest, transport: Transport, *, until: float) -> VaultAnswer:
        timeout = min(self._settings.timeout, _LONGEST)
        while True:
            try:
                return transport.post(owed.path, owed.body, token=owed.token, timeout=timeout)
            except ProviderUnavailableError as error:
                pause = math.inf if error.retry_after is None else max(error.retry_after, _SHORTEST_WAIT_SECONDS)
                if self._clock() + pause > until:
                    raise
            self._sleep(pause)

    def forget(self) -> None:
        """In a forked child: leave everything to the parent."""
        self._breakers = {}
        self._is_left = False
        self._helper.forget()

    def close(self) -> None:
        """End the helper for good, which first tries once to give back what could not be given back."""
        self._helper.close()


def _server(settings: VaultSettings) -> Server:
    """Return what the helper must know: settings that requests takes from the environment, and no relative paths."""
    import requests  # noqa: PLC0415 - slow to import, and there already

    session = requests.Session()
    session.trust_env = settings.trust_env
    found = session.merge_environment_settings(
        settings.url, dict(settings.proxies), None, settings.verify, settings.cert
    )
    verify = requests.utils.DEFAULT_CA_BUNDLE_PATH if found["verify"] is True else found["verify"]
    verify = _absolute(verify) if isinstance(verify, str) else verify
    cert = None if settings.cert is None else (_absolute(settings.cert[0]), _absolute(settings.cert[1]))
    proxy = requests.utils.select_proxy(settings.url, found["proxies"]) or ""
    return Server(
        settings.url,
        settings.namespace,
        verify=verify,
        cert=cert,
        proxy=proxy,
        login_namespace=settings.login_namespace,
    )


def _absolute(path: str) -> str:
    """Return ``path`` for the helper, which runs in another directory."""
    return str(Path(path).absolute())


@contextmanager
def _blocking_signals() -> Iterator[None]:
    """Have a process that is started in the block never see the signals that end the others, not even at its start."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@_blocking_signals()
def _start() -> subprocess.Popen[bytes] | None:
    interpreter = sys.executable or ""
    if "python" not in Path(interpreter).name:
        return None
    try:
        return subprocess.Popen(  # noqa: S603 - our script, our interpreter and our file
            ["/bin/sh", "-c", _WAIT, "sh", interpreter, "-I", "-S", *_program()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={name: os.environ[name] for name in _KEPT_ENVIRON if name in os.environ},
            start_new_session=True,
        )
    except OSError as error:
        _log.warning("A login of Vault would outlive a kill: the helper cannot start (%s)", type(error).__name__)
        return None


def _program() -> list[str]:
    """Return Python's arguments for ``give_back``: its file, or its content if the package is in a zip."""
    path = Path(__file__).with_name("give_back.py")
    if path.is_file():
        return [str(path)]
    return ["-c", files(__package__).joinpath(path.name).read_text("utf-8")]


def _written(process: subprocess.Popen[bytes], messages: Iterable[Mapping[str, Any]]) -> bool:
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    left = memoryview(lines)
    try:
        while left:
            left = left[_pipe(process).write(left) or 0 :]
    except OSError:
        _log.warning("A login of Vault would outlive a kill: the helper has ended")
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process, which has nothing to do: its own end would take longer than a job's last request."""
    process.kill()
    process.wait()
    _pipe(process).close()


def _finish(process: subprocess.Popen[bytes]) -> None:
    """Let the process end by itself, without waiting long for a server that hangs."""
    _pipe(process).close()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        with suppress(RuntimeError):  # a process that is about to end starts no threads, and leaves no zombies either
            threading.Thread(target=process.wait, name="vault-helper", daemon=True).start()


def _let_go(process: subprocess.Popen[bytes]) -> None:
    _pipe(process).close()  # unbuffered, so there is no lock that another thread might have held
    process.returncode = 0  # not our child: must not be waited for


def _pipe(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101 - Popen was asked for it
    return process.stdin
