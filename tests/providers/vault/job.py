"""
A process that reads Vault and then ends in some way: ``python -m tests.providers.vault.job <how>``.

On its standard input is ``{"params": ..., "paths": [...]}``. It prints a line for each thing that it did.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from airflow_config_providers.core import ProviderRegistry
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.providers.vault.session import SESSIONS
from tests.limits import LONGEST


def say(*words: object) -> None:
    """Write a line at one go and without a lock: a child that was forked meanwhile writes too."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def read(provider: ConfigProvider, paths: list[str]) -> None:
    for path in paths:
        say("read", *sorted(provider.get(path).data))


def wait(*_: object) -> None:
    say("waiting")
    time.sleep(LONGEST)


def wait_for_a_job_that_goes_on(provider: ConfigProvider, paths: list[str]) -> None:
    provider.keep_leases(is_left=True)
    wait()


def wait_after_such_a_job(provider: ConfigProvider, paths: list[str]) -> None:
    provider.keep_leases(is_left=True)
    provider.keep_leases(is_left=False)
    wait()


def exit_at_once(*_: object) -> None:
    os._exit(3)


def exit_without_close(*_: object) -> None:
    sys.exit(0)


def fail(*_: object) -> None:
    raise RuntimeError("the job has failed")


def wait_with_a_forked_child(*_: object) -> None:
    if os.fork() == 0:
        say("child", os.getpid())
        time.sleep(LONGEST)
        os._exit(0)
    wait()


def in_child(call: Callable[[], None]) -> int:
    """Run ``call`` in a forked child, for as long as it may take, and give how it ended; 0 for well."""
    pid = os.fork()
    if pid == 0:
        faulthandler.register(signal.SIGALRM, chain=True)
        signal.alarm(int(LONGEST))
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - it is said, and is how the child ends
            say("error", type(error).__name__, error)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def read_in_a_child(provider: ConfigProvider, paths: list[str]) -> None:
    def child() -> None:
        read(provider, paths)
        provider.close()

    say("child ended with", in_child(child))
    time.sleep(0.01)
    read(provider, paths)


def fork_in_the_middle(provider: ConfigProvider, paths: list[str]) -> None:
    done = threading.Event()

    def keep_reading() -> None:
        while not done.is_set():
            provider.get(paths[0])

    threads = [threading.Thread(target=keep_reading) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        time.sleep(0.02)
        say("child ended with", in_child(lambda: read(provider, paths)))
    done.set()
    for thread in threads:
        thread.join()
    read(provider, paths)


def fork_before_a_login(provider: ConfigProvider, paths: list[str]) -> None:
    thread = threading.Thread(target=read, args=(provider, paths))
    thread.start()
    time.sleep(0.1)
    say("child ended with", in_child(lambda: read(provider, paths)))
    thread.join()


def fork_from_threads(provider: ConfigProvider, paths: list[str], *, depth: int = 2) -> None:
    """Read in threads, of which some fork a child that does the same, and end when all have ended."""
    say("process", os.getpid())
    done = threading.Event()

    def keep_reading() -> None:
        while not done.is_set():
            for path in paths:
                provider.get(path)

    def child() -> None:
        fork_from_threads(provider, paths, depth=depth - 1)
        provider.close()

    readers = [threading.Thread(target=keep_reading) for _ in range(4)]
    forking = [threading.Thread(target=lambda: say("ended with", in_child(child))) for _ in range([0, 1, 4][depth])]
    for thread in readers + forking:
        thread.start()
    for thread in forking:
        thread.join()
    provider.get(paths[0])
    done.set()
    for thread in readers:
        thread.join()


class Imports:
    """Notes what is imported while a fork may happen."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def find_spec(self, name: str, *_: object) -> None:
        if not SESSIONS._no_fork.locked():
            self.found.append(name)


def say_what_it_imports(provider: ConfigProvider, paths: list[str]) -> None:
    imports = Imports()
    sys.meta_path.insert(0, imports)
    read(provider, paths)
    provider.close()
    sys.meta_path.remove(imports)
    say("imported", *imports.found)


HOW = {
    "close": lambda *_: None,
    "wait": wait,
    "wait for a job that goes on": wait_for_a_job_that_goes_on,
    "wait after such a job": wait_after_such_a_job,
    "exit at once": exit_at_once,
    "exit without close": exit_without_close,
    "fail": fail,
    "wait with a forked child": wait_with_a_forked_child,
    "read in a child": read_in_a_child,
    "fork in the middle": fork_in_the_middle,
    "fork before a login": fork_before_a_login,
    "fork from threads": fork_from_threads,
    "say what it imports": say_what_it_imports,
}
READ_BEFORE = {"close", "fail", "read in a child", "fork in the middle"}
READ_THEMSELVES = {"fork before a login", "fork from threads", "say what it imports"}


def main(how: str) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored here too
    signal.signal(signal.SIGINT, signal.default_int_handler)  # and in the background of a script this
    given = json.loads(sys.stdin.readline())
    params = {f"config.providers.vault.param.{name}": value for name, value in given["params"].items()}
    providers = ProviderRegistry().open(
        {"config.providers": "vault", "config.providers.vault.class": "vault", **params}
    )
    if how in READ_BEFORE | READ_THEMSELVES:
        with providers:
            if how in READ_BEFORE:
                read(providers["vault"], given["paths"])
            HOW[how](providers["vault"], given["paths"])
    else:
        read(providers["vault"], given["paths"])
        HOW[how](providers["vault"], given["paths"])


if __name__ == "__main__":
    main(sys.argv[1])
