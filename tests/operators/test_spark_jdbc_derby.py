"""``SparkJDBCOperator`` copies between a real database and Spark's tables; then everybody's view is searched."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
from pathlib import Path
from secrets import token_hex

import pytest
from airflow.providers.apache.spark.operators.spark_jdbc import SparkJDBCOperator

from airflow_config_providers.operators.configure import configure_task, configured
from airflow_config_providers.spark.applications import jdbc
from dags_examples.demo import database
from dags_examples.demo.java import require_java
from tests.servers.ports import free_port
from tests.servers.quick_java import QUICK_JAVA
from tests.servers.spark_cluster import Watcher, read_url

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CANARY = f"c4nary-{token_hex(8)}"
URL_CANARY = f"db-{token_hex(8)}"
SECRETS = (CANARY, URL_CANARY, database.USER)

SHOW_ALL = "-Dspark.redaction.regex=zzz -Dspark.sql.redaction.options.regex=zzz"
"""What Spark would hide nothing for, if it counted."""

OPTIONS = {
    "task_id": "copy",
    "spark_conn_id": "spark_default",
    "jdbc_conn_id": "db",
    "jdbc_driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    "metastore_table": "numbers",
    "verbose": True,
}
READ = {
    "cmd_type": "jdbc_to_spark",
    "jdbc_table": "numbers",
    "save_mode": "overwrite",
    "save_format": "parquet",
    "fetch_size": 2,
    "num_partitions": 2,
    "partition_column": "n",
    "lower_bound": "1",
    "upper_bound": "4",
}
WRITE = {
    "cmd_type": "spark_to_jdbc",
    "jdbc_table": "copied",
    "save_mode": "overwrite",
    "jdbc_truncate": True,
    "batch_size": 2,
    "num_partitions": 1,
    "create_table_column_types": "word VARCHAR(9)",
}


class Derby:
    """An embedded database below ``root`` with a table of numbers, which one user may read after signing in."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._home = root / URL_CANARY
        self._home.mkdir()
        database.create(self._home, java=require_java(), password=CANARY)
        rows = "(1, 'one'), (2, 'two'), (3, 'three'), (4, 'four')"
        self.ask(f"create table numbers (n int, word varchar(9));\ninsert into numbers values {rows};")

    def ask(self, order: str) -> str:
        """Return the answer to an order from Derby's own client."""
        java = [require_java(), f"-Dderby.system.home={self._root}", "-cp", database._classpath()]
        url = f"jdbc:derby:{URL_CANARY}/flights;user={database.USER};password={CANARY}"
        orders = f"connect '{url}';\n{order}\nexit;\n"
        command = [*java, "org.apache.derby.tools.ij"]
        ran = subprocess.run(command, input=orders, capture_output=True, text=True, check=False)
        assert "ERROR" not in ran.stdout, ran.stdout
        return ran.stdout

    def connection(self) -> str:
        """Return the connection for Airflow."""
        login = {"login": database.USER, "password": CANARY}
        place = {"host": URL_CANARY, "schema": "flights", "extra": {"conn_prefix": "jdbc:derby:"}}
        return json.dumps({"conn_type": "jdbc", **login, **place})


class Page(threading.Thread):
    """Reads Spark's pages and what its JVM says of itself, as long as they are there."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._api = f"http://127.0.0.1:{port}/api/v1/applications"
        self._done = threading.Event()
        self.texts: dict[str, str] = {}

    def run(self) -> None:
        while not self._done.wait(0.1):  # the job takes few seconds, and its pages are there for a part of them
            with contextlib.suppress(OSError, ValueError):
                for file in Path("/tmp").glob("hsperfdata_*/*"):
                    self.texts[str(file)] = file.read_bytes().decode(errors="replace")
            with contextlib.suppress(OSError, ValueError, LookupError):
                application = f"{self._api}/{json.loads(read_url(self._api))[0]['id']}"
                for page in ("environment", "sql?details=true&planDescription=true", "jobs"):
                    self.texts[page] = self.texts.get(page, "") + read_url(f"{application}/{page}")

    def close(self) -> None:
        self._done.set()
        self.join()


@pytest.fixture
def derby(tmp_path, monkeypatch, connections):
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_JAVA)  # also for Derby's own programs
    derby = Derby(tmp_path)
    monkeypatch.setenv("AIRFLOW_CONN_DB", derby.connection())
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    return derby


@pytest.fixture
def conf(tmp_path):
    """How Spark runs here, as every job of this test needs it."""
    (tmp_path / "events").mkdir()
    return {
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path} {SHOW_ALL}",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{tmp_path}/events",
        "spark.hadoop.javax.jdo.option.ConnectionURL": "jdbc:derby:metastore;create=true",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # compiling takes longer than four rows do
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }


def seen(run_task, task, port, tmp_path, capfd):
    """Run a task, and give its run and what could be seen of it, by place."""
    watcher, page = Watcher([os.getpid()]), Page(port)
    page.start()
    try:
        run = run_task(task)
    finally:
        watcher.close()
        page.close()
    processes = [part for part in re.split("[\0\n]", watcher.text()) if not part.startswith("AIRFLOW_CONN_DB=")]
    messages = "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")
    events = [path.read_text(errors="replace") for path in (tmp_path / "events").rglob("*") if path.is_file()]
    places = {
        "processes": "\n".join(processes),
        "log": "".join(capfd.readouterr()),
        "messages": messages,
        "task": repr(vars(run.task)) + repr(vars(run.task._hook)) + repr(run.error),
        "events": "\n".join(events),
        **page.texts,
    }
    return run, places


def leaks(places, secrets):
    return {(place, secret) for place, text in places.items() for secret in secrets if secret in text}


def test_attack_27_both_directions_show_neither_user_nor_password_nor_url(
    dag, derby, conf, run_task, tmp_path, secrets_dir, capfd, monkeypatch, connections
):
    """There by the connection of a stock task, and back with references that the driver resolves."""
    port = free_port()
    conf["spark.ui.port"] = str(port)
    stock = SparkJDBCOperator(**OPTIONS, **READ, dag=dag, spark_conf=conf)
    configure_task(stock)
    run, places = seen(run_task, stock, port, tmp_path, capfd)

    assert run.state == "success", places["log"][-3000:]
    assert {"environment", "sql?details=true&planDescription=true"} <= places.keys()
    assert "org.apache.spark.deploy.SparkSubmit" in str([v for k, v in places.items() if "hsperfdata" in k])
    # A user is no secret to the log of the task: databases name it when they refuse it.
    assert leaks(places, SECRETS) <= {("log", database.USER), ("messages", database.USER)}

    (secrets_dir / "password").write_text(CANARY)
    (secrets_dir / "user").write_text(database.USER)
    own = {key: text for key, text in connections.items() if "files" not in key} | {"config.providers": "dir"}
    extra = {**connections, **{f"driver.{key}": text for key, text in own.items()}}
    provider = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", provider)
    monkeypatch.setenv("AIRFLOW_CONN_DB", json.dumps({"conn_type": "jdbc"}))
    references = {
        jdbc.KEYS["url"]: f"jdbc:derby:{URL_CANARY}/flights",
        jdbc.KEYS["user"]: f"${{dir:{secrets_dir}:user}}",
        jdbc.KEYS["password"]: f"${{dir:{secrets_dir}:password}}",
    }
    back = configured(SparkJDBCOperator)(
        **{**OPTIONS, "task_id": "back"}, **WRITE, dag=dag, spark_conf={**conf, **references}, resolve_in="driver"
    )
    run, places = seen(run_task, back, port, tmp_path, capfd)

    assert run.state == "success", places["log"][-3000:]
    assert leaks(places, (CANARY, database.USER)) <= {("log", database.USER), ("messages", database.USER)}
    of_spark = ("events", "environment", "sql?details=true&planDescription=true")
    assert leaks({place: places[place] for place in of_spark}, [URL_CANARY]) == set()
    assert re.findall(r"(\d) +\|(\w+)", derby.ask("select n, word from copied order by n;")) == [
        ("1", "one"),
        ("2", "two"),
        ("3", "three"),
        ("4", "four"),
    ]
