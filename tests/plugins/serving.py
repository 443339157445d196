"""Airflow's API server in a process of its own, and who may ask it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.cli.conftest import Deployment
from tests.limits import LONGEST
from tests.plugins.auth import BOUND

ROOT = Path(__file__).parents[2]
ROLES = {**{role: role for role in ("viewer", "user", "op", "admin")}, **dict.fromkeys(BOUND, "user")}
"""Who there is: user -> role. ``tests.plugins.auth`` binds some of them to DAGs."""

JWT_SECRET = "secret-of-this-test-0123456789012345678901234567890123456789"


@dataclass(frozen=True)
class Server:
    """An API server that runs."""

    address: str
    deployment: Deployment
    log: Path
    client: httpx.Client
    tokens: dict[str, str] = field(default_factory=dict)

    def token(self, user: str) -> str:
        """Return the token that Airflow issues for a password."""
        if user not in self.tokens:
            body = {"username": user, "password": password(user)}
            answer = self.client.post(f"{self.address}/auth/token", json=body)
            self.tokens[user] = answer.json()["access_token"]
        return self.tokens[user]

    def ask(self, user: str | None, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request as ``user``; None means anonymous."""
        headers = {"Authorization": f"Bearer {self.token(user)}"} if user else {}
        given: Mapping[str, str] = more.pop("headers", {})
        url = f"{self.address}/config-providers/v1{path}"
        return self.client.request(method, url, headers={**headers, **given}, **more)

    def alter(self, user: str | None, path: str, *operations: Mapping[str, Any], **more: Any) -> httpx.Response:
        return self.ask(user, "PATCH", path, json={"operations": list(operations), **more})

    def environ(self, user: str) -> dict[str, str]:
        """Return the environment that directs a command to this server."""
        return {"AIRFLOW_CONFIG_PROVIDERS_SERVER": self.address, "AIRFLOW_CLI_TOKEN": self.token(user)}

    @property
    def policies(self) -> Path:
        """The file of its policies."""
        return policies(self.deployment)

    def forget(self) -> None:
        """Delete what is stored, and the policies."""
        self.policies.write_text("policies: []\n")
        with closing(sqlite3.connect(self.deployment.home / "airflow.db", timeout=LONGEST)) as database, database:
            for table in ("variable", "log"):
                database.execute(f"delete from {table}")


def policies(deployment: Deployment) -> Path:
    return deployment.home / "server-policies.yaml"


def password(user: str) -> str:
    return f"p4ssword-of-{user}"


def set_(name: str, value: str) -> dict[str, str]:
    return {"op": "SET", "name": name, "value": value}


def environ(deployment: Deployment, **more: str) -> dict[str, str]:
    """Return the environment of an API server of ``deployment`` with users of all roles."""
    passwords = deployment.home / "passwords.json"
    passwords.write_text(json.dumps({user: password(user) for user in ROLES}))
    return {
        **deployment.environ,
        "AIRFLOW__CORE__AUTH_MANAGER": "tests.plugins.auth.PerDagAuthManager",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in ROLES.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
        "AIRFLOW__API__BASE_URL": "https://airflow.example:443/",
        "AIRFLOW__API_AUTH__JWT_SECRET": JWT_SECRET,
        "AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE": str(policies(deployment)),
        "PYTHONPATH": str(ROOT),
        **more,
    }


@contextmanager
def serving(deployment: Deployment, name: str, **more: str) -> Iterator[Server]:
    """
    Run a server.

    :param name: of its log
    :param more: its environment
    """
    log = deployment.home / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.plugins.serve"],
            env=environ(deployment, **more),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port, log.read_text()
            with httpx.Client(timeout=LONGEST) as client:
                yield Server(f"http://127.0.0.1:{port}", deployment, log, client)
        finally:
            process.terminate()
            process.communicate(timeout=LONGEST)
