"""A real deployment, migrated once: its database, its DAGs as Airflow stores them, and its command line."""

from __future__ import annotations

import atexit
import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from tests.limits import LONGEST, PATIENT_AIRFLOW
from tests.servers import quick_python

if TYPE_CHECKING:
    from tests.cli.recorded import Records

pytest.importorskip("airflow")

DAGS = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, BaseOperator, TaskGroup, task
from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.spark_jdbc import ConfiguredSparkJDBCOperator
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

class OtherOperator(BaseOperator):
    template_fields = ("payload",)
    payload = "${{vault:apps/db:url}}"

@configured
class OwnOperator(SparkSqlOperator):
    pass

with DAG("flights", schedule=None):
    done = EmptyOperator(task_id="done")
    ConfiguredSparkSubmitOperator(
        task_id="report",
        application="report.py",
        conf={{
            "spark.app.tags": "[bold]a[/bold]",
            "spark.app.db.password": "${{vault:apps/db:password}}",
            "spark.app.old.password": "literal-of-the-dag",
        }},
        config_files=["{home}/base.properties"],
        executor_memory="3g",
        num_executors=2,
        total_executor_cores=8,
        driver_memory="2g",
        yarn_queue="night",
        repositories="http://repo",
        archives="a.zip",
        principal="flights@REALM",
        name="report",
    )
    sql = {{"sql": "select '${{vault:apps/db:table}}'", "config_files": ["{home}/base.properties"]}}
    conf = {{"spark.app.url": "${{vault:apps/db:url}}", "spark.app.password": "literal-of-the-dag"}}
    configured(SparkSqlOperator)(task_id="query", conf=conf, **sql)
    configured(SparkSqlOperator).partial(task_id="queries", conf=conf, **sql).expand(name=["a", "b"])
    configured(SparkSqlOperator).partial(task_id="confs", **sql).expand(conf=[conf])
    configured(SparkSqlOperator).partial(task_id="pairs", conf="spark.a=1, spark.b=2").expand(sql=["select 1"])
    configured(SparkSqlOperator).partial(task_id="filled", sql="select 1", conf={{"spark.a": done.output}}).expand(
        name=["a"]
    )
    configured(SparkSqlOperator).partial(task_id="given", conf=conf, sql="select 1").expand_kwargs(done.output)
    OwnOperator.partial(task_id="own", conf=conf).expand(sql=["select 1"])
    jdbc = {{
        "spark_conf": {{**conf, "spark.executor.memory": "1g"}},
        "spark_jars": "a.jar",
        "num_executors": 3,
        "executor_memory": "2g",
        "principal": "flights@REALM",
        "config_files": ["{home}/base.properties"],
        "env_vars": {{"TOKEN": "${{vault:apps/db:token}}"}},
    }}
    stock = {{name: value for name, value in jdbc.items() if name != "config_files"}}
    configured(SparkJDBCOperator)(task_id="copy", **jdbc)
    SparkJDBCOperator(task_id="stock_copy", **stock)
    SparkJDBCOperator.partial(task_id="stock_copies", **stock).expand(jdbc_table=["a", "b"])
    SparkSqlOperator.partial(task_id="stock_queries", conf=conf, sql="select 1").expand(name=["a", "b"])
    SparkSubmitOperator.partial(task_id="stock_jobs", conf=conf, application="x.py").expand(application_args=[["a"]])

    @task.pyspark(config_kwargs=conf)
    def count(day, spark):
        return day

    count.override(task_id="counts").expand(day=["a", "b"])
    configured(OtherOperator)(task_id="other")
    ConfiguredSparkJDBCOperator(task_id="named", spark_app_name="copies")
    configured(SparkJDBCOperator).partial(task_id="copies", **jdbc).expand(jdbc_table=["a", "b"])
    configured(SparkJDBCOperator).partial(task_id="tuned", spark_conf=conf).expand(executor_memory=["1g", "2g"])
    with TaskGroup("nightly"):
        ConfiguredSparkSubmitOperator(task_id="ingest", application="ingest.py", driver_memory="2g")
    ConfiguredSparkSubmitOperator.partial(
        task_id="each", application="each.py", conf={{"spark.app.a": "1"}}, executor_memory="5g"
    ).expand(application_args=[["1"], ["2"]])
    ConfiguredSparkSubmitOperator.partial(task_id="differing", application="each.py", executor_memory="5g").expand(
        conf=[{{"spark.app.a": "1"}}, {{"spark.app.a": "2"}}]
    )
    ConfiguredSparkSubmitOperator.partial(task_id="kwargs", application="each.py", driver_memory="5g").expand_kwargs(
        [{{"conf": {{"spark.app.a": "1"}}}}, {{"executor_memory": "2g"}}]
    )
    ConfiguredSparkSubmitOperator(
        task_id="long", application="long.py", conf={{f"spark.app.key{{n}}": "x" * 200 for n in range(60)}}
    )
    ConfiguredSparkSubmitOperator(
        task_id="files", application="x.py", config_files=["/data/{{{{ ds }}}}.properties", "/nowhere/x.properties"]
    )
    ConfiguredSparkSubmitOperator(
        task_id="texts",
        application="x.py",
        conf={{"spark.app.frozen": "dag"}},
        env_vars={{"TOKEN": "${{vault:apps/db:token}}", "PLAIN": "1"}},
        application_args=["--plain", "${{env:ARG}}"],
        properties_file="${{vault:apps/files:path}}",
    )
    ConfiguredSparkSubmitOperator(task_id="cut", application="x.py", application_args=["${{env:ARG}}" * 900])

defaults = {{
    "conf": {{"spark.app.of": "default_args"}},
    "config_files": "{home}/base.properties",
    "driver_memory": "7g",
    "env_vars": {{"TOKEN": "${{vault:apps/db:token}}"}},
    "sparc_conf": "of no operator",
    "_conf": {{"spark.app.of": "an attribute"}},
}}
with DAG("defaults", schedule=None, default_args=defaults):
    each = ConfiguredSparkSubmitOperator.partial
    args = [["1"], ["2"]]
    each(task_id="submissions", application="x.py").expand(application_args=args)
    each(task_id="own", application="x.py", conf={{"spark.a": "1"}}).expand(application_args=args)
    each(task_id="confs", application="x.py").expand(conf=[{{"spark.a": "1"}}])
    each(task_id="default_of_task", application="x.py", default_args={{"executor_memory": "1g"}}).expand(
        application_args=args
    )
    configured(SparkSqlOperator).partial(task_id="queries", sql="select 1").expand(name=["a", "b"])
    with TaskGroup("nightly", default_args={{"executor_memory": "9g"}}):
        each(task_id="ingests", application="x.py").expand(application_args=args)
        ConfiguredSparkSubmitOperator(task_id="ingest", application="x.py")
"""

OTHERS = ("billing", "a.b")
OTHER = """
from airflow.sdk import DAG
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

with DAG("{name}", schedule=None):
    ConfiguredSparkSubmitOperator(task_id="invoices", application="x.py", conf={{"spark.app.of": "{name}"}})
"""


OWN = """
from airflow.sdk import DAG
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

with DAG("own", schedule=None):
    ConfiguredSparkSubmitOperator(task_id="usual", application="x.py")
    ConfiguredSparkSubmitOperator(
        task_id="own", application="x.py", config_conn_id="of_its_own", allow_exposed_arguments=True
    )
    ConfiguredSparkSubmitOperator(task_id="keeping", application="x.py", unresolved="keep")
    ConfiguredSparkSubmitOperator.partial(task_id="each", application="x.py", unresolved="keep").expand(
        application_args=[["a"]]
    )
    ConfiguredSparkSubmitOperator(task_id="failing", application="x.py", unresolved="fail")
"""


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> Any:
        return json.loads(self.out)

    @property
    def errors(self) -> list[str]:
        """What is neither a note nor, as on a busy machine, how far an audit is."""
        lines = [line for line in self.err.splitlines() if not line.startswith(("note: ", "progress: "))]
        return [line.removeprefix("error: ") for line in lines]

    @property
    def notes(self) -> list[str]:
        return [line.removeprefix("note: ") for line in self.err.splitlines() if line.startswith("note: ")]


class Deployment:
    """A folder with Airflow's database and DAGs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "dags").mkdir(parents=True)
        (home / "dags" / "flights.py").write_text(DAGS.format(home=home))
        for name in OTHERS:
            (home / "dags" / f"{name}.py").write_text(OTHER.format(name=name))
        (home / "dags" / "own.py").write_text(OWN)
        (home / "base.properties").write_text("# what every job starts from\nspark.app.base=yes\n")
        self.environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW_")},
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "AIRFLOW__CORE__FERNET_KEY": "c2VjcmV0LW9mLXRoaXMtdGVzdC0wMTIzNDU2Nzg5MDE=",
            "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET": "the-first-encoder-secret",
            "NO_COLOR": "1",
            **PATIENT_AIRFLOW,
        }

    def airflow(self, *words: str, input: str = "", **environ: str) -> Ended:  # noqa: A002 - as subprocess has it
        """Run a command in a process of its own."""
        done = quick_python.run("-m", "airflow", *words, env={**self.environ, **environ}, cwd=self.home, given=input)
        return Ended(done.returncode, done.stdout, done.stderr)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.home / "airflow.db", timeout=LONGEST)) as database:
            return database.execute(sql).fetchall()


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Deployment:
    return made(tmp_path_factory.getbasetemp())


@cache
def made(folder: Path) -> Deployment:
    """Make the deployment, once for a run of the tests, even if several folders need it."""
    deployment = Deployment(folder / "deployment" / "home")
    for words in (("db", "migrate"), ("dags", "reserialize")):
        done = driver_of(deployment).airflow(*words, environ={"AIRFLOW__CONFIG_PROVIDERS__APPLY_TO": "spark"})
        assert done.code == 0, done.err
    return deployment


class Driver:
    """
    The process that runs commands in a row.

    :param log: where it writes what no command prints, such as what Airflow logs; among the output of the test if None
    """

    def __init__(self, deployment: Deployment, log: IO[str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("driver.py"))],
            env={**deployment.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            cwd=deployment.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def ask(self, job: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def airflow(self, *words: str, input: str = "", environ: dict[str, str] | None = None) -> Ended:  # noqa: A002
        return Ended(**self.ask({"words": words, "input": input, "environ": environ or {}}))

    @contextmanager
    def session(self, configs: Mapping[str, str]) -> Iterator[None]:
        """Have audits share a session of Spark, as those of a process do that has one: starting it takes seconds."""
        self.ask({"session": dict(configs)})
        try:
            yield
        finally:
            self.ask({"session": {}})

    def end(self) -> None:
        self._process.communicate(timeout=LONGEST)


@cache
def driver_of(deployment: Deployment) -> Driver:
    """Start the driver that all tests of a deployment share."""
    driver = Driver(deployment)
    atexit.register(driver.end)
    return driver


@pytest.fixture(scope="session")
def driver(deployment: Deployment) -> Driver:
    return driver_of(deployment)


@dataclass(frozen=True)
class Cli:
    """``cli("describe --default")`` runs ``airflow config-providers describe --default``; nothing is stored before."""

    driver: Driver
    deployment: Deployment

    def __call__(self, words: str, *more: str, input: str = "", **settings: str) -> Ended:  # noqa: A002
        environ = {f"AIRFLOW__CONFIG_PROVIDERS__{name.upper()}": value for name, value in settings.items()}
        return self.airflow("config-providers", *shlex.split(words), *more, input=input, environ=environ)

    def airflow(self, *words: str, input: str = "", environ: dict[str, str] | None = None) -> Ended:  # noqa: A002
        return self.driver.airflow(*words, input=input, environ=environ)

    def json(self, words: str, *more: str, **settings: str) -> Any:
        """Run what must succeed, and read its rows."""
        done = self(words, *more, "--output", "json", **settings)
        assert (done.code, done.errors) == (0, [])
        return done.rows


@pytest.fixture
def cli(driver: Driver, deployment: Deployment) -> Cli:
    driver.ask({"reset": True})
    return Cli(driver, deployment)


@pytest.fixture
def records(cli: Cli) -> Iterator[Records]:
    from tests.cli.recorded import records_in  # which imports this module

    with records_in(cli.deployment) as found:
        yield found
