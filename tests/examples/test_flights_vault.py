"""The flights pipeline with its password in Vault: real Airflow, real spark-submit, a database that asks."""

from __future__ import annotations

import datetime
import json
import secrets
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from dags_examples.demo import database, metadata
from dags_examples.demo.java import require_java
from dags_examples.demo.sampler import Sampler
from dags_examples.demo.search import Search, Secret
from dags_examples.demo.workspace import STRANGE_CHARACTERS, Workspace, unpack_flights
from tests.examples.runs import places_of, rendered_fields, run
from tests.servers.fixtures import AppRole, VaultServer

pytestmark = pytest.mark.integration

DAG_ID = "flights_vault"
DATE = "2013-12-31"
PATH = "flights/database"
ENRICHED = (
    "flight_date DATE, status STRING, dep_delay INT, arr_delay INT, inherited_delay INT, airline STRING, "
    "airport STRING, weather STRING"
)
FLIGHT = (datetime.date(2013, 1, 1), "arrived", 10, 20, 0, "United", "Newark", "fair")
REQUESTS = {"auth/approle/login": 1, f"kv2/data/{PATH}": 1, "auth/token/revoke-self": 1}
SHOWN = "spark.flights.db.password = ${vault:flights/database:password}   # DAG_CONFIG, conf"
RUN_CONF = {"spark_conf": {"spark.flights.report.min.flights": 1}}
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

    def run(self, *arguments: str) -> tuple[int, str]:
        """Run the DAG."""
        return run(self.workspace, ["dags", "test", DAG_ID, DATE, *arguments], **self._environment())

    def run_report(self) -> tuple[int, str]:
        """Run the task ``report`` alone."""
        return self.run("--mark-success-pattern", "ingest|join", "--conf", json.dumps(RUN_CONF))

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


@pytest.fixture
def pipeline(workspace: Workspace, vault: VaultServer) -> Pipeline:
    home = Workspace(workspace.root / f"flights-{secrets.token_hex(4)}")
    home.create()
    password = secrets.token_hex(16) + STRANGE_CHARACTERS
    database.create(home.derby, java=require_java(), password=password)
    vault.put(PATH, {"user": database.USER, "password": password})
    return Pipeline(workspace, home, vault, vault.approle(f"{vault.kv2}/data/{PATH}"), password)


@pytest.fixture
def joined(pipeline: Pipeline, spark: SparkSession) -> Pipeline:
    """The example after the task ``join``, with one flight."""
    spark.createDataFrame([FLIGHT], ENRICHED).write.parquet(str(pipeline.home.lake / "enriched"))
    return pipeline


@pytest.mark.slow
def test_the_password_goes_from_vault_to_the_job_and_nowhere_else(joined: Pipeline) -> None:
    with Sampler(Search([Secret.of("password", joined.password)])) as sampler:
        code, output = joined.run_report()

    assert (code, joined.states()["report"]) == (0, "success")
    assert "logged in to jdbc:derby:flights as ${vault:flights/database:user}" in output
    assert joined.asked() == REQUESTS
    assert joined.vault.live_tokens() == frozenset()
    assert SHOWN in rendered_fields(joined.workspace, DAG_ID)[-1]["effective_config"]
    assert sampler.search.found == []
    assert joined.places(joined.password) == joined.places(joined.role.secret_id) == []


@pytest.mark.slow
def test_a_job_that_the_database_refuses_gives_its_login_back_too(joined: Pipeline) -> None:
    wrong = secrets.token_hex(16)
    joined.vault.put(PATH, {"user": database.USER, "password": wrong})

    joined.run_report()

    assert joined.states()["report"] == "failed"
    assert database.refusals(joined.home.derby) > 0
    assert joined.asked() == REQUESTS
    assert joined.vault.live_tokens() == frozenset()
    assert joined.places(wrong) == []


def unpack_every_tenth_flight(folder: Path) -> None:
    """Write the files of the pipeline, with flights of all months: what they are asked for here is not their number."""
    unpack_flights(folder)
    file = folder / "flights.csv"
    header, *flights = file.read_text().splitlines(keepends=True)
    file.write_text("".join([header, *flights[::10]]))


@pytest.mark.slow
def test_the_whole_pipeline_asks_vault_once(pipeline: Pipeline) -> None:
    unpack_every_tenth_flight(pipeline.home.root / "raw")

    code, _ = pipeline.run()

    assert (code, set(pipeline.states().values())) == (0, {"success"})
    assert pipeline.asked() == REQUESTS
    assert pipeline.vault.live_tokens() == frozenset()
    assert pipeline.places(pipeline.password) == []
