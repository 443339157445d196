"""The flights pipeline with its password in Vault: real Airflow, real spark-submit, a database that asks."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from dags_examples.demo import database, metadata
from dags_examples.demo.java import require_java
from dags_examples.demo.metadata import Setting
from dags_examples.demo.sampler import Sampler
from dags_examples.demo.search import Finding, Search, Secret
from dags_examples.demo.workspace import STRANGE_CHARACTERS, Workspace, unpack_flights
from tests.examples.runs import places_of, run
from tests.servers.fixtures import AppRole, VaultServer

pytestmark = pytest.mark.integration

DAG_ID = "flights_vault"
DATE = "2013-12-31"
PATH = "flights/database"
REQUESTS = {"auth/approle/login": 1, f"kv2/data/{PATH}": 1, "auth/token/revoke-self": 1}
SHOWN = Setting("spark.flights.db.password", "${vault:flights/database:password}", "DAG_CONFIG", "conf", ())
EVERY = 100
"""The pipeline has one flight of so many, of all months: what it is asked for here is not their number."""

PROVIDERS = {
    "config.providers": "vault",
    "config.providers.vault.class": "vault",
    "config.providers.vault.param.conn_id": "vault_default",
}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """
    The example, with a Vault that knows the password of a database.

    :param home: where the data, the tables and the database are
    """

    workspace: Workspace
    home: Workspace
    vault: VaultServer
    role: AppRole
    password: str = field(repr=False)

    def run(self) -> tuple[int, str]:
        """Run the DAG."""
        return run(self.workspace, ["dags", "test", DAG_ID, DATE], **self._environment())

    def run_report(self) -> None:
        """Run the task ``report`` alone."""
        words = ["dags", "test", DAG_ID, DATE, "--mark-success-pattern", "ingest|join"]
        run(self.workspace, words, **self._environment())

    def states(self) -> dict[str, str | None]:
        """Task -> what became of it."""
        return metadata.states(self.workspace.metadata, dag_id=DAG_ID)[DATE]

    def asked(self) -> Counter[str]:
        """Count what Vault was asked for."""
        return Counter(request.path.replace(self.vault.kv2, "kv2") for request in self.vault.requests())

    def places(self, value: str) -> list[str]:
        """Where a value was left behind."""
        return places_of(value, self.workspace)

    def _environment(self) -> dict[str, str]:
        at = urlsplit(self.vault.address)
        connection = {
            "conn_type": "vault",
            "host": at.hostname,
            "port": at.port,
            "schema": self.vault.kv2,
            "login": self.role.role_id,
            "password": self.role.secret_id,
            "extra": {"auth_type": "approle", "kv_engine_version": 2},
        }
        return {
            "AIRFLOW_VAR_FLIGHTS_HOME": str(self.home.root),
            "AIRFLOW_CONN_VAULT_DEFAULT": json.dumps(connection),
            "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": PROVIDERS}),
        }


@dataclass(frozen=True, slots=True)
class Ran:
    """
    What a run of the whole pipeline has done.

    :param live_tokens: of Vault, after the run
    :param seen: where the password was seen during the run
    """

    code: int
    output: str
    states: dict[str, str | None]
    settings: Sequence[Setting]
    asked: Counter[str]
    live_tokens: frozenset[str]
    seen: Sequence[Finding]


@pytest.fixture(scope="module")
def pipeline(workspace: Workspace, shared_vault: VaultServer) -> Pipeline:
    home = Workspace(workspace.root / f"flights-{secrets.token_hex(4)}")
    home.create()
    unpack_flights(home.root / "raw", every=EVERY)
    password = secrets.token_hex(16) + STRANGE_CHARACTERS
    database.create(home.derby, java=require_java(), password=password)
    shared_vault.put(PATH, {"user": database.USER, "password": password})
    return Pipeline(workspace, home, shared_vault, shared_vault.approle(f"{shared_vault.kv2}/data/{PATH}"), password)


@pytest.fixture(scope="module")
def ran(pipeline: Pipeline) -> Ran:
    """The whole pipeline, run once for all tests."""
    with Sampler(Search([Secret.of("password", pipeline.password)])) as sampler:
        code, output = pipeline.run()
    return Ran(
        code,
        output,
        pipeline.states(),
        metadata.effective_configs(pipeline.workspace.metadata, dag_id=DAG_ID, tasks=["report"])["report"],
        pipeline.asked(),
        pipeline.vault.live_tokens(),
        sampler.search.found,
    )


@pytest.mark.slow
def test_the_password_goes_from_vault_to_the_job_and_nowhere_else(ran: Ran, pipeline: Pipeline) -> None:
    assert (ran.code, ran.states["report"]) == (0, "success")
    assert "logged in to jdbc:derby:flights as ${vault:flights/database:user}" in ran.output
    assert SHOWN in ran.settings
    assert ran.seen == []
    assert pipeline.places(pipeline.password) == pipeline.places(pipeline.role.secret_id) == []


@pytest.mark.slow
def test_the_whole_pipeline_asks_vault_once(ran: Ran) -> None:
    assert (ran.code, set(ran.states.values())) == (0, {"success"})
    assert ran.asked == REQUESTS
    assert ran.live_tokens == frozenset()


@pytest.mark.slow
@pytest.mark.usefixtures("ran")
def test_a_job_that_the_database_refuses_gives_its_login_back_too(pipeline: Pipeline) -> None:
    before, wrong = database.refusals(pipeline.home.derby), secrets.token_hex(16)
    pipeline.vault.put(PATH, {"user": database.USER, "password": wrong})
    pipeline.vault.reset()

    pipeline.run_report()

    assert pipeline.states()["report"] == "failed"
    assert database.refusals(pipeline.home.derby) > before
    assert pipeline.asked() == REQUESTS
    assert pipeline.vault.live_tokens() == frozenset()
    assert pipeline.places(wrong) == []
