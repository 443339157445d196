"""What the subscriptions of a thousand jobs ask of Vault in an hour."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.measure import Aim, Effort, Report, number
from tests.providers.vault.opened import ManualSessions, opened
from tests.servers.fixtures import VaultServer
from tests.servers.vault_process import VaultAddress
from tests.servers.vault_stand_in import VaultStandIn
from tests.servers.web import WebServer

JOBS: Final = 1000
HOURS: Final = 4
SECONDS: Final = HOURS * 3600
POLL: Final = 60
FLOOR: Final = "floor: one request for each poll.interval"


def path_of_kv(vault: VaultServer) -> str:
    """Return the path of a secret in KV version 2."""
    vault.put("app", {"user": "writer", "password": "one"})
    return f"{vault.kv2}/app"


def path_of_credentials(vault: VaultServer) -> str:
    """Return the path of credentials with a lease of an hour, which can be renewed for a day."""
    return vault.creds(ttl=3600, max_ttl=86400)


CASES: Final[dict[str, tuple[Callable[[VaultServer], str], tuple[str, ...]]]] = {
    "ours: KV version 2, metadata may be read": (path_of_kv, ("*",)),
    "ours: KV version 2, metadata may not be read": (path_of_kv, ("+/data/*",)),
    "ours: database credentials with a lease of an hour": (path_of_credentials, ("*",)),
}


def requests_of_a_job(path_of: Callable[[VaultServer], str], rights: tuple[str, ...]) -> tuple[float, float]:
    """Return how many requests a job that subscribes to a path makes in an hour, and how many of them return values."""
    application = VaultStandIn(root := secrets.token_hex(8))
    sessions = ManualSessions()
    with tempfile.TemporaryDirectory() as folder, WebServer(application) as web:
        vault = VaultServer("stand-in", application, VaultAddress(web.address, root), Path(folder))
        path = path_of(vault)
        with opened(vault, sessions=sessions, role=vault.approle(*rights)) as provider:
            provider.subscribe(path, None, lambda path, data: None)
            subscriptions = provider._subscriptions
            assert subscriptions is not None
            for _ in range(SECONDS):
                sessions.pass_time(1, vault)
                subscriptions._timetable.run_due()
            asked = vault.requests()
        vault.close()
    values = [request for request in asked if "/data/" in request.path or "/creds/" in request.path]
    return len(asked) / HOURS, len(values) / HOURS


def run(effort: Effort) -> list[Report]:
    found = {name: requests_of_a_job(*case) for name, case in CASES.items()}
    floor = 3600 / POLL
    most = max(asked for asked, _ in found.values())
    return [
        Report(
            "Requests against Vault for a thousand jobs with a subscription each",
            f"One job is counted for {HOURS} hours, by a clock that the benchmark moves, with a poll.interval of "
            f"{POLL} seconds, the default. Login and renewals are included, and nothing changes meanwhile. Each job is "
            "a process of its own, so a thousand jobs make a thousand times as many requests.",
            ("", "requests an hour", "a second", "requests an hour that return values"),
            [
                *(
                    [name, *(number(JOBS * count) for count in (asked, asked / 3600, values))]
                    for name, (asked, values) in found.items()
                ),
                [FLOOR, *(number(JOBS * count) for count in (floor, floor / 3600, 0))],
            ],
            [Aim("requests of a job, by those of the floor", 1.1, most / floor, unit="x")],
        )
    ]
