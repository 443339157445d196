"""Passwords are rotated while a stream writes: real scheduler, real spark-submit, real PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import psycopg2
import pytest

from dags_examples.demo.sampler import Sampler
from dags_examples.demo.search import Finding, Search, Secret
from tests.integration.conftest import Airflow, WithoutTriggerer
from tests.limits import eventually
from tests.servers.fixtures import AppRole, VaultServer
from tests.servers.postgresql import postgresql, required_postgresql

pytestmark = [pytest.mark.integration, pytest.mark.slow]

EXAMPLES = Path(__file__).resolve().parents[2] / "dags_examples"
GENERATIONS = 4


@dataclass(frozen=True, slots=True)
class Database:
    """
    Where the counts go.

    :param folder: of its socket
    """

    folder: str

    @property
    def dsn(self) -> str:
        """How the job connects, except for the password."""
        return f"host={self.folder} dbname=postgres user=writer"

    def ask(self, statement: str) -> list[tuple[object, ...]]:
        """Execute a statement as the superuser, and return its rows."""
        dsn = f"host={self.folder} dbname=postgres user=postgres"
        with closing(psycopg2.connect(dsn)) as connection, connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def accept(self, password: str) -> None:
        """Rotate the password of the user who writes."""
        self.ask(f"ALTER USER writer PASSWORD '{password}'")

    def empty(self) -> None:
        """Forget what was written."""
        self.ask("TRUNCATE counts, batches")

    def counts(self) -> list[int]:
        """Return all numbers that were written, in order."""
        return [row[0] for row in self.ask("SELECT flights FROM counts ORDER BY flights")]  # type: ignore[misc]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """A PostgreSQL with the tables of the example and a user who may write there."""
    programs = required_postgresql()
    with postgresql(programs) as url:
        made = Database(url.rpartition("host=")[2])
        made.ask("CREATE TABLE counts (airport text, flights int)")
        made.ask("CREATE TABLE batches (query text, number bigint, PRIMARY KEY (query, number))")
        made.ask("CREATE USER writer")
        made.ask("GRANT SELECT, INSERT ON counts, batches TO writer")
        yield made


@dataclass
class Mounted:
    """A secret as Kubernetes mounts it: its file leads through ``..data``, which is switched as a whole."""

    folder: Path
    generation: int = 0

    @property
    def path(self) -> str:
        """Where the references find it."""
        return str(self.folder)

    @property
    def provider(self) -> dict[str, str]:
        """The definition of its provider."""
        return {"class": "directory", "param.allowed.paths": str(self.folder.parent)}

    def switch(self, password: str) -> None:
        """Replace the secret."""
        self.generation += 1
        new = self.folder / f"..{self.generation}"
        new.mkdir(parents=True)
        (new / "writer-password").write_text(password)
        (self.folder / "..new").symlink_to(new.name)
        (self.folder / "..new").rename(self.folder / "..data")
        if self.generation == 1:
            (self.folder / "writer-password").symlink_to("..data/writer-password")
        else:
            shutil.rmtree(self.folder / f"..{self.generation - 1}")


@dataclass(frozen=True, slots=True)
class InVault:
    """A secret in Vault, of which a new version is noticed within a second."""

    vault: VaultServer
    role: AppRole

    @property
    def path(self) -> str:
        """Where the references find it."""
        return f"{self.vault.kv2}/apps/writer"

    @property
    def provider(self) -> dict[str, str]:
        """The definition of its provider."""
        login = {"auth_type": "approle", "role_id": self.role.role_id, "secret_id": self.role.secret_id}
        params = {"url": self.vault.address, "poll.interval": "1000", **login}
        return {"class": "vault", **{f"param.{name}": value for name, value in params.items()}}

    def switch(self, password: str) -> None:
        """Replace the secret."""
        self.vault.put("apps/writer", {"writer-password": password})


@dataclass
class Stream:
    """
    A run of the example in a deployment, and what arrives for it.

    :param home: where the counts arrive
    :param earlier: the event logs of earlier runs
    :param run: its id, as soon as it is triggered
    """

    airflow: Airflow
    database: Database
    kept: Mounted | InVault
    home: Path
    passwords: list[str] = field(repr=False)
    earlier: set[Path]
    run: str = ""
    arrived: int = 0

    def start(self, dag_id: str) -> None:
        """Trigger the DAG."""
        self.run = self.airflow.trigger(dag_id)
        self.airflow.unpause(dag_id)

    def arrive(self, files: int = 3) -> None:
        """Let files arrive, and wait until their counts are in the database."""
        for _ in range(files):
            lines = [json.dumps({"airport": "EWR", "flights": self.arrived + number}) for number in range(5)]
            self.arrived += len(lines)
            new = self.home / f"{self.arrived}.new"
            new.write_text("\n".join(lines))
            new.rename(self.home / f"arriving/{self.arrived}.json")
        assert eventually(lambda: len(self.database.counts()) >= self.arrived, every=0.2), self.log()

    def log(self) -> str:
        """Return what the task has logged."""
        logs = self.airflow.logs.glob(f"dag_id=*/run_id={self.run}/**/attempt=*.log")
        return "\n".join(path.read_text() for path in logs)

    def rotate(self, generation: int, *, file_first: bool = False) -> None:
        """Rotate the password, and wait until the new one is in use."""
        steps = [
            lambda: self.database.accept(self.passwords[generation]),
            lambda: self.kept.switch(self.passwords[generation]),
        ]
        for step in reversed(steps) if file_first else steps:
            step()
            time.sleep(2)  # in which the password and the file differ
        self.arrive()

    def search(self) -> Search:
        """Look for every password in all that the run has left."""
        search = Search([Secret.of(f"generation {n}", password) for n, password in enumerate(self.passwords)])
        search.tree(self.airflow.home, leave_out={self.airflow.home / "sealed"})
        search.tree(Path(self.database.folder), leave_out={Path(self.database.folder) / "data"})
        search.database(self.airflow.home / "airflow.db")
        return search

    def applications(self) -> list[str]:
        """Return the ids of the applications that the jobs have printed."""
        return re.findall(r"application (local-\d+)", self.log())

    def events(self) -> set[Path]:
        """Return the event logs of the applications."""
        return set(self.airflow.events.iterdir()) - self.earlier


@pytest.fixture(scope="module")
def airflow(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    """Run a deployment with the example, which writes to ``database``."""
    home = tmp_path_factory.mktemp("stream") / "airflow"
    deployment = WithoutTriggerer(
        home,
        AIRFLOW__CONFIG_PROVIDERS__RELOAD_SETTLING="1",
        AIRFLOW_VAR_COUNTS_DSN=database.dsn,
        SPARK_SUBMIT_OPTS=f"{os.environ['SPARK_SUBMIT_OPTS']} {spark_options(home / 'spark-events')}",
    )
    del deployment.environ["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"]  # each test has another
    shutil.copytree(EXAMPLES / "jobs", deployment.dags / "jobs")
    shutil.copy(EXAMPLES / "stream_counts.py", deployment.dags)
    with deployment:
        yield deployment


def spark_options(events: Path) -> str:
    """Return the configuration of all jobs for their JVMs, which would start slowly with another ``SPARK_CONF_DIR``."""
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{events}",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than the few rows
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.streaming.pollingDelay": "200ms",  # the default looks for new files a hundred times a second
    }
    return " ".join(f"-D{key}={value}" for key, value in conf.items())


@pytest.fixture
def start(airflow: Airflow, database: Database, tmp_path: Path) -> Iterator[Callable[[Mounted | InVault], Stream]]:
    """Prepare a run of the example, whose password is kept somewhere."""
    with ExitStack() as stack:
        yield lambda kept: stack.enter_context(prepared(airflow, database, kept, home=airflow.home / tmp_path.name))


@contextmanager
def prepared(airflow: Airflow, database: Database, kept: Mounted | InVault, *, home: Path) -> Iterator[Stream]:
    """Set up the deployment for one run of the example, and stop that run in the end."""
    (home / "arriving").mkdir(parents=True)
    passwords = [f"c4nary-{n}-{token_hex(8)}/+&=%" for n in range(GENERATIONS)]
    database.empty()
    database.accept(passwords[0])
    kept.switch(passwords[0])
    connection = {"connection_id": "config_providers_default", "conn_type": "config_providers"}
    define(airflow, "connections", {**connection, "extra": json.dumps(providers(kept))})
    define(airflow, "variables", {"key": "counts_home", "value": str(home)})
    define(airflow, "variables", {"key": "counts_credentials", "value": kept.path})
    try:
        yield Stream(airflow, database, kept, home, passwords, set(airflow.events.iterdir()))
    finally:
        (home / "stop").touch()  # so that what is left of a run that failed does not write into the next


def define(airflow: Airflow, kind: str, entity: dict[str, str]) -> None:
    """Create a variable or a connection, or overwrite it."""
    action = {"action": "create", "entities": [entity], "action_on_existence": "overwrite"}
    answer = airflow.wait(f"one of the {kind}", lambda: airflow.post(f"/api/v2/{kind}", {"actions": [action]}, "PATCH"))
    assert answer["create"]["success"], answer


def providers(kept: Mounted | InVault) -> dict[str, str]:
    """Return the provider of the example, for the worker and for the driver."""
    defined = {f"config.providers.mounted.{key}": value for key, value in kept.provider.items()}
    ours = {"config.providers": "mounted", **defined}
    return {**ours, **{f"driver.{key}": value for key, value in ours.items()}}


@pytest.mark.parametrize(
    ("dag_id", "restarts"),
    [
        pytest.param("stream_counts", 3, id="restarted by the worker"),
        pytest.param("stream_counts_driver", 0, id="read anew by the driver"),
    ],
)
def test_three_rotations_of_a_mounted_password_lose_no_row_and_show_no_value(
    start: Callable[[Mounted | InVault], Stream], airflow: Airflow, dag_id: str, restarts: int
) -> None:
    stream = start(Mounted(airflow.secrets / dag_id))
    shown = rotated_three_times(stream, dag_id)

    require_exactly_once(stream, restarts)
    assert shown == ([], [], [])


def test_three_rotations_of_a_password_in_vault_lose_no_row_and_show_no_value(
    start: Callable[[Mounted | InVault], Stream], vault: VaultServer
) -> None:
    role = vault.approle(f"{vault.kv2}/data/apps/*", f"{vault.kv2}/metadata/apps/*")
    stream = start(InVault(vault, role))
    shown = rotated_three_times(stream, "stream_counts")

    require_exactly_once(stream, 3)
    assert shown == ([], [], [])
    assert eventually(lambda: not vault.live_tokens(), every=0.5)


def rotated_three_times(stream: Stream, dag_id: str) -> tuple[list[Finding], list[Finding], list[str]]:
    """Run the DAG; return where a password was seen meanwhile and afterwards, and what could not be searched."""
    secrets = [Secret.of(f"generation {n}", password) for n, password in enumerate(stream.passwords)]
    with Sampler(Search(secrets)) as sampler:
        stream.start(dag_id)
        stream.arrive()
        stream.rotate(1)
        stream.rotate(2, file_first=True)
        stream.rotate(3)
        (stream.home / "stop").touch()
        assert stream.airflow.end(dag_id, stream.run) == "success"
    search = stream.search()
    return sampler.search.found, search.found, search.unread


def require_exactly_once(stream: Stream, restarts: int) -> None:
    """Check that no count is missing or there twice, and that one try has started as many applications as it should."""
    assert stream.airflow.query("select try_number from task_instance where run_id = ?", stream.run) == [(1,)]
    assert stream.database.counts() == list(range(stream.arrived))
    assert len(set(stream.applications())) == len(stream.events()) == 1 + restarts
    assert stream.log().count("Restart: ${mounted:") == restarts
    assert "${mounted:" in str([row for row in stream.airflow.rendered() if stream.run in row])
