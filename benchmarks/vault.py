"""The requests and the time that it takes to read values from Vault."""

from __future__ import annotations

import http.client
import json
import logging
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import hvac

from airflow_config_providers.core import ConfigProvider, ConfigTransformer, ProviderRegistry
from airflow_config_providers.core.lookup import FetchOptions
from airflow_config_providers.providers.vault import VaultConfigProvider
from benchmarks import vault_server
from benchmarks.measure import Aim, Effort, Report, number
from benchmarks.vault_server import Vault

OURS = "**ours**"
LOOP = "hvac, a read for each value"
BY_HAND = "hvac by hand, a read for each path"
BACKEND = "Airflow's VaultBackend, a variable for each value"
FLOOR = "floor: one login, then bare requests, all paths at once"

PATHS, KEYS = 5, 20
THREADS, KEYS_OF_A_THREAD = 64, 4
SIDE_BY_SIDE = 32
SLOW_PATHS = 20
DELAYS = (0, 5, 20)
SLOW_DELAY = 50

# It knows the class, so this does not measure the search for installed providers; "Before spark-submit starts" does.
REGISTRY = ProviderRegistry({"vault": VaultConfigProvider})

Close = Callable[[], object]
Peer = Callable[[], Close]
"""Gets the values with a new login, and returns what to call afterwards."""


def values(keys: int = KEYS) -> dict[tuple[str, str], str]:
    """Return (path, key) -> value: 100 values on 5 paths."""
    return {(f"apps/{p}", f"k{k}"): f"value {p} {k}" for p in range(PATHS) for k in range(keys)}


def slow_values() -> dict[tuple[str, str], str]:
    """Return 20 values on 20 paths."""
    return {(f"side/{p}", "k"): f"value {p}" for p in range(SLOW_PATHS)}


def documents() -> dict[str, dict[str, str]]:
    """Return path -> document: the values, and each again where VaultBackend looks for a variable."""
    made: dict[str, dict[str, str]] = {}
    for (path, key), value in {**values(), **slow_values()}.items():
        made.setdefault(path, {})[key] = value
        made[f"variables/{variable(path, key)}"] = {"value": value}
    return made


def paths_of(wanted: Mapping[tuple[str, str], str]) -> list[str]:
    return list(dict.fromkeys(path for path, _ in wanted))


def variable(path: str, key: str) -> str:
    return f"{path}-{key}".replace("/", "-")


def nothing() -> None:
    """Do nothing: some peers do not revoke their login."""


class Ours:
    """A provider like that of a deployment, and the transformer that uses it."""

    def __init__(self, vault: Vault, wanted: Mapping[tuple[str, str], str]) -> None:
        params = {
            "url": vault.address,
            "auth_type": "approle",
            "role_id": vault.role_id,
            "secret_id": vault.secret_id,
            "mount_point": "secret",
            "kv_engine_version": "2",
        }
        self.wanted = {f"spark.app.{path}.{key}": value for (path, key), value in wanted.items()}
        self.configs = {f"spark.app.{path}.{key}": f"${{vault:{path}:{key}}}" for path, key in wanted}
        self.definitions = {
            "config.providers": "vault",
            "config.providers.vault.class": "vault",
            **{f"config.providers.vault.param.{name}": value for name, value in params.items()},
        }

    def __call__(self) -> Close:
        providers = REGISTRY.open(self.definitions)
        self.resolve(providers)
        return providers.close

    def herd(self) -> Close:
        """Make 64 threads ask the same providers for everything at the same time."""
        providers = REGISTRY.open(self.definitions)
        at_once(lambda: self.resolve(providers))
        return providers.close

    def resolve(self, providers: Mapping[str, ConfigProvider]) -> None:
        transformer = ConfigTransformer(providers, options=FetchOptions(max_workers=SIDE_BY_SIDE))
        assert transformer.transform(self.configs).data == self.wanted


def client(vault: Vault) -> hvac.Client:
    made = hvac.Client(vault.address)
    made.auth.approle.login(vault.role_id, vault.secret_id)
    return made


def read(client: hvac.Client, path: str) -> Mapping[str, str]:
    found: Mapping[str, str] = client.secrets.kv.v2.read_secret_version(path, raise_on_deleted_version=True)["data"][
        "data"
    ]
    return found


def loop(vault: Vault, wanted: Mapping[tuple[str, str], str]) -> Close:
    signed_in = client(vault)
    assert [read(signed_in, path)[key] for path, key in wanted] == list(wanted.values())
    return nothing


def by_hand(vault: Vault, wanted: Mapping[tuple[str, str], str]) -> Close:
    signed_in = client(vault)
    found = {path: read(signed_in, path) for path in paths_of(wanted)}
    assert [found[path][key] for path, key in wanted] == list(wanted.values())
    return nothing


def backend(vault: Vault) -> Callable[[str], str | None]:
    """Return Airflow's backend, which signs in on the first request."""
    from airflow.providers.hashicorp.secrets.vault import VaultBackend

    made = VaultBackend(url=vault.address, auth_type="approle", role_id=vault.role_id, secret_id=vault.secret_id)
    get: Callable[[str], str | None] = made.get_variable
    return get


def ask(get: Callable[[str], str | None], wanted: Mapping[tuple[str, str], str]) -> None:
    assert [get(variable(path, key)) for path, key in wanted] == list(wanted.values())


def variables(vault: Vault, wanted: Mapping[tuple[str, str], str]) -> Close:
    ask(backend(vault), wanted)
    return nothing


def variables_herd(vault: Vault, wanted: Mapping[tuple[str, str], str]) -> Close:
    get = backend(vault)
    at_once(lambda: ask(get, wanted))
    return nothing


def floor(vault: Vault, wanted: Mapping[tuple[str, str], str]) -> Close:
    """Do the minimum: sign in, then request all paths at once, each on its own connection."""
    login = json.dumps({"role_id": vault.role_id, "secret_id": vault.secret_id})
    token = answer(asked_for(vault, "POST", "auth/approle/login", login))["auth"]["client_token"]
    waiting = {
        path: asked_for(vault, "GET", f"secret/data/{path}", headers={"X-Vault-Token": token})
        for path in paths_of(wanted)
    }
    found = {path: answer(connection)["data"]["data"] for path, connection in waiting.items()}
    assert [found[path][key] for path, key in wanted] == list(wanted.values())
    return nothing


def asked_for(
    vault: Vault, method: str, path: str, body: str | None = None, headers: Mapping[str, str] = {}
) -> http.client.HTTPConnection:
    """Send a request on a new connection, without waiting for the answer."""
    server = urlsplit(vault.address)
    connection = http.client.HTTPConnection(server.hostname or "", server.port)
    connection.request(method, f"/v1/{path}", body, dict(headers))
    return connection


def answer(connection: http.client.HTTPConnection) -> dict[str, Any]:
    with closing(connection):
        found: dict[str, Any] = json.loads(connection.getresponse().read())
    return found


def at_once(work: Callable[[], object]) -> None:
    """Make 64 threads do the same work at the same moment."""
    logging.getLogger("urllib3.connectionpool").setLevel(
        logging.ERROR
    )  # the pool of VaultBackend is too small for them
    barrier, failures = threading.Barrier(THREADS), []

    def run() -> None:
        barrier.wait()
        try:
            work()
        except Exception as error:  # noqa: BLE001 - raised again below, in the measuring thread
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure


def milliseconds(effort: Effort, peer: Peer) -> float:
    """
    Return the median time until the values are available, without what is done afterwards.

    The first round is measured, too, since counting the requests was a warm-up.
    """
    times: list[float] = []
    end = time.perf_counter() + effort.seconds
    while len(times) < effort.fewest or time.perf_counter() < end:
        times.append(once(peer))
    return statistics.median(times)


def once(peer: Peer) -> float:
    start = time.perf_counter()
    close = peer()
    taken = time.perf_counter() - start
    close()
    return taken * 1000


def counted(vault: Vault, peer: Peer) -> Counter[str]:
    """Return the requests of one run, including what is done afterwards."""
    vault.counted()
    peer()()
    return vault.counted()


def requests(kinds: Mapping[str, int]) -> str:
    logins, reads = number(kinds.get("login", 0)), number(kinds.get("read", 0))
    other = kinds.get("other", 0)
    return f"{logins} + {reads}" + (f" + {other}" if other else "")


def peers_of(vault: Vault, wanted: Mapping[tuple[str, str], str]) -> dict[str, Peer]:
    return {
        OURS: Ours(vault, wanted),
        BY_HAND: partial(by_hand, vault, wanted),
        LOOP: partial(loop, vault, wanted),
        BACKEND: partial(variables, vault, wanted),
        FLOOR: partial(floor, vault, wanted),
    }


def delays(effort: Effort, vault: Vault) -> Report:
    peers = peers_of(vault, values())
    kinds = {name: counted(vault, peer) for name, peer in peers.items()}
    times: dict[int, dict[str, float]] = {}
    for delay in DELAYS:
        vault.delay(delay)
        times[delay] = {name: milliseconds(effort, peer) for name, peer in peers.items()}
    vault.delay(0)
    slowest = times[DELAYS[-1]]
    return Report(
        "Vault: 100 references to 5 paths",
        "KV version 2 and AppRole; each round signs in again. The stand-in of the tests delays each answer by 0, 5 or "
        "20 ms. It is another Python process, so without a delay the server takes most of the time. Requests are "
        "logins + reads + others: ours revokes its login, which is not timed; the peers let theirs expire. "
        "VaultBackend reads each variable from its own path, because it cannot read a key of a document."
        + "".join(loss(at, f" at a delay of {delay} ms") for delay, at in times.items()),
        ("", "requests", *(f"{delay} ms later" for delay in DELAYS), f"times the floor, {DELAYS[-1]} ms"),
        [
            [name, requests(kinds[name]), *(number(at[name]) for at in times.values()), ratio(slowest, name)]
            for name in peers
        ],
        [
            Aim("logins and reads for 100 references to 5 paths", 6, asked(kinds[OURS]), "requests"),
            Aim(f"the same against the floor, {DELAYS[-1]} ms a request", 1.5, slowest[OURS] / slowest[FLOOR], "x"),
        ],
    )


def loss(times: Mapping[str, float], where: str) -> str:
    """Return a sentence about how much faster the simplest program is, if it is."""
    if times[BY_HAND] >= times[OURS]:
        return ""
    return f" hvac by hand is {number(times[OURS] - times[BY_HAND])} ms faster than ours{where}."


def ratio(times: Mapping[str, float], name: str) -> str:
    return f"{number(times[name] / times[FLOOR])} x"


def asked(kinds: Mapping[str, int]) -> int:
    return kinds.get("login", 0) + kinds.get("read", 0)


def side_by_side(effort: Effort, vault: Vault) -> Report:
    vault.delay(SLOW_DELAY)
    times = {
        name: milliseconds(effort, peer) for name, peer in peers_of(vault, slow_values()).items() if name != BY_HAND
    }
    vault.delay(0)
    return Report(
        f"Vault: {SLOW_PATHS} paths at {SLOW_DELAY} ms",
        "One login, then one value on each path. The setting `max_workers` limits how many paths are read at the same "
        f"time; its default is {SIDE_BY_SIDE}.",
        ("", "ms", "times the floor"),
        against_the_floor(times),
        [Aim(f"{SLOW_PATHS} paths at {SLOW_DELAY} ms, against the floor", 1.5, times[OURS] / times[FLOOR], "x")],
    )


def against_the_floor(times: Mapping[str, float]) -> list[list[str]]:
    return [[name, number(taken), ratio(times, name)] for name, taken in times.items()]


def herd(vault: Vault, live: Vault | None) -> Report:
    wanted = values(KEYS_OF_A_THREAD)  # more would take the backend minutes
    servers = {"stand-in": vault, **({"real server": live} if live else {})}
    makers: dict[str, Callable[[Vault], Peer]] = {
        OURS: lambda at: Ours(at, wanted).herd,
        BACKEND: lambda at: partial(variables_herd, at, wanted),
    }
    kinds, times = {}, {}
    for name, make in makers.items():
        vault.counted()
        times[name] = [once(make(at)) for at in servers.values()]
        kinds[name] = vault.counted()
    return Report(
        f"Vault: {THREADS} threads at once",
        f"All threads read the same {len(wanted)} values on {PATHS} paths, from one provider or one backend; measured "
        f"once. The stand-in serves {THREADS} threads in one Python process, so its column says more about the server "
        "than about its clients." + (" The real server is the one that the tests build." if live else ""),
        ("", "requests", *(f"{name}, ms" for name in servers)),
        [[name, requests(kinds[name]), *map(number, times[name])] for name in makers],
        [Aim(f"logins and reads of {THREADS} threads, each with all values", 6, asked(kinds[OURS]), "requests")],
    )


def live_server(effort: Effort, vault: Vault) -> Report:
    times = {name: milliseconds(effort, peer) for name, peer in peers_of(vault, values()).items()}
    return Report(
        "Vault: a real server beside it",
        "The same 100 references, from the real server of the tests on this machine. It answers fast, so the times "
        "show the work of each client. Ours also starts a process that revokes the login even if a task is killed."
        + loss(times, ""),
        ("", "ms", "times the floor"),
        against_the_floor(times),
    )


def run(effort: Effort) -> list[Report]:
    with vault_server.stand_in(documents()) as vault, vault_server.real(documents()) as live:
        if live is None:
            print("\nskipped: a real Vault, as none is built; `make vault-server` does it", file=sys.stderr)
        reports = [delays(effort, vault), side_by_side(effort, vault), herd(vault, live if effort.seconds else None)]
        return [*reports, *([live_server(effort, live)] if live else [])]
