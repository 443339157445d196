"""
A real spark-submit gets a configuration full of canaries; then everybody else's view of it is searched for them.

One run of spark-submit serves all tests of a way of delivery.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from airflow_config_providers.core.properties import dump
from airflow_config_providers.spark.delivery import plan
from airflow_config_providers.spark.installation import SparkInstallation
from airflow_config_providers.spark.private_file import private_file
from airflow_config_providers.spark.processes.child_process import room, size
from tests.limits import LONGEST
from tests.servers import quick_java
from tests.servers.spark_cluster import Watcher

pytestmark = pytest.mark.integration

SPARK35 = os.environ.get("SPARK35_HOME", "")
GET_SPARK35 = "no Spark 3.5: pip install --target DIR pyspark==3.5.8 and set SPARK35_HOME=DIR/pyspark"

JOB = """
import json, os, pathlib, sys, time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext
hadoop = context._jsc.hadoopConfiguration()
conf = dict(context.getConf().getAll())
entry = context._jvm.org.apache.spark.internal.config.ConfigEntry.findEntry("spark.authenticate.secret")
found = {
    "version": spark.version,
    "conf": conf,
    "hadoop": {key: hadoop.get(key[13:]) for key in conf if key.startswith("spark.hadoop.t.")},
    "secret": context._jsc.sc().conf().get(entry).get(),
    "set": str(spark.sql("SET").collect()),
    "ui": f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}",
    "pages": context.uiWebUrl,
    "open files": [os.readlink(fd) for fd in pathlib.Path("/proc/self/fd").iterdir() if fd.is_symlink()],
}
out = pathlib.Path(sys.argv[1])
out.with_suffix(".new").write_text(json.dumps(found))
out.with_suffix(".new").rename(out)
while out.exists():
    time.sleep(0.05)
spark.stop()
"""

NASTY = {
    "newline": "{}\nspark.t.injected=1",
    "carriage return": "{}\rspark.t.injected 1",
    "line ends at the ends": "\r\n{}\n",
    "NUL inside": "{}\0x",
    "control characters inside": "{}\x01\x1b[31m\x7f\x85x",
    "tab inside": "a\t{}",
    "backslashes": "\\{}\\u0041\\n\\",
    "quotes": "'{}\"`",
    "equals": "={}=x",
    "colon": ":{}:x",
    "hash": "#{}#",
    "bang": "!{}!",
    "umlauts": "p\u00e4ss{}w\u00f6rd \u20ac",
    "emoji": "\U0001f600{}",
    "wide blanks at the ends": "\u00a0{}\u2003",
    "shell": "$HOME $(id) `id` {} && ;",
    "references": "${{vault:a:b}} ${{env:HOME}} ${{spark.master}} {}",
    "templates": "{{{{ var.value.x }}}} %s {}",
    "64 KiB": "{}" + "x" * 65_536,
}
"""Name -> a value around a canary."""

OPEN = "canary-open-"
HIDDEN = "canary-hidden-"


def nasty_configs() -> dict[str, str]:
    values = {name: text.format(f"{HIDDEN}{i}-") for i, (name, text) in enumerate(NASTY.items())}
    ours = {f"spark.t.{name}": value for name, value in values.items()}
    hadoops = {f"spark.hadoop.t.{name}": v for name, v in values.items() if name not in ("references", "shell")}
    return {**ours, **hadoops, "spark.t.empty": ""}


SECRETS = {
    **nasty_configs(),
    "spark.t.key with blanks, = : # and \\": f"{HIDDEN}key",
    "spark.hadoop.fs.azure.account.key.x": f"{HIDDEN}azure",
    "spark.hive.t.zone": f"{HIDDEN}hive",
    "spark.sql.t.url": f"{HIDDEN}sql",
    "spark.authenticate.secret": f"{HIDDEN}authenticate ${{vault:a:b}} ${{x}} $HOME",
}

PLAIN = {
    "spark.master": "local[1]",
    "spark.driver.memory": "600m",
    "spark.ui.port": "0",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.t.open": f"{OPEN}command",
    "spark.t.newline.open": f"{OPEN}\nx",
    "spark.t.cr.open": f"{OPEN}\rx",
    "spark.t.unicode.open": f"{OPEN}\u00e9",
    "spark.t.blanks.open": f" {OPEN} ",
}


@dataclass
class Observed:
    """What could be seen of one run."""

    conf: Mapping[str, str]
    hadoop: Mapping[str, str]
    secret: str
    version: str
    open_files: list[str]
    places: dict[str, str] = field(repr=False)
    """Place -> everything that could be read there."""

    def holding(self, text: str) -> set[str]:
        return {place for place, content in self.places.items() if text in content}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(("", True), id="memory"),
        pytest.param(("", False), id="named", marks=pytest.mark.slow),
        pytest.param(
            (SPARK35, True),
            id="spark35",
            marks=[pytest.mark.slow, pytest.mark.skipif(not SPARK35, reason=GET_SPARK35)],
        ),
    ],
)
def observed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Observed:
    home, anonymous = request.param
    return submit(tmp_path_factory.mktemp("run"), home, anonymous=anonymous)


def submit(folder: Path, home: str, *, anonymous: bool) -> Observed:
    for name in ("temp", "events"):
        (folder / name).mkdir()
    (folder / "job.py").write_text(JOB)
    environ = environment(folder, home)
    binary = SparkInstallation.of("spark-submit", environ).require_command()
    plain = {**PLAIN, "spark.eventLog.dir": f"file://{folder}/events", "spark.local.dir": str(folder / "temp")}
    delivery = plan({**plain, **SECRETS}, sensitive=SECRETS)
    confs = [word for key, value in delivery.plain.items() for word in ("--conf", f"{key}={value}")]
    with private_file(dump(delivery.private).encode("ascii"), anonymous=anonymous) as file:
        command = [binary, "--verbose", "--properties-file", file.path, *confs, "job.py", "found.json"]
        with (folder / "output").open("wb") as output, Watcher([os.getpid()]) as watcher:
            process = subprocess.Popen(
                command, env=environ, cwd=folder, pass_fds=file.pass_fds, stdout=output, stderr=subprocess.STDOUT
            )
            places = look_around(folder, process)
    places |= {"arguments": "\n".join(watcher.arguments), "environment": "\n".join(watcher.environments)}
    places["output"] = (folder / "output").read_text(errors="replace")
    (folder / "output").unlink()
    left = [*read_all(folder, leaving_out="events"), *([] if anonymous else read_all(Path(file.path).parent))]
    places["files"] = "\n".join(left)
    places["event log"] = "\n".join(read_all(folder / "events"))
    found = json.loads(places.pop("found"))
    names = ("conf", "hadoop", "secret", "version", "open files")
    return Observed(*(found[name] for name in names), places)


def environment(folder: Path, home: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
    environ = {**inherited, **quick_java.ENVIRONMENT}
    scripts = Path(home, "bin") if home else Path(sys.executable).parent
    environ |= {"PATH": f"{scripts}:{environ['PATH']}", "PYSPARK_PYTHON": sys.executable, "LC_ALL": "C"}
    environ |= {"TMPDIR": str(folder / "temp"), "SPARK_LOCAL_IP": "127.0.0.1"}
    return environ | ({"SPARK_HOME": home} if home else {})


def look_around(folder: Path, process: subprocess.Popen[bytes]) -> dict[str, str]:
    """Wait for the job, read what it shows while it runs, let it end."""
    out = folder / "found.json"
    deadline = time.monotonic() + LONGEST
    while not out.exists():
        assert process.poll() is None, (folder / "output").read_text(errors="replace")[-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    text = out.read_text()
    found = json.loads(text)
    places = {
        "REST API": read_url(f"{found['ui']}/environment"),
        "UI": read_url(f"{found['pages']}/environment/"),
        "SET": found["set"],
        "JVM's performance data": "\n".join(read_performance_data()),
        "found": text,
    }
    out.unlink()
    assert process.wait(LONGEST) == 0
    return places


def read_url(url: str) -> str:
    with urllib.request.urlopen(url, timeout=LONGEST) as answer:
        return str(answer.read().decode())


def read_all(folder: Path, leaving_out: str = "") -> Iterator[str]:
    for path in folder.rglob("*"):
        if path.is_file() and leaving_out not in path.relative_to(folder).parts:
            yield path.read_text(errors="replace")


def read_performance_data() -> Iterator[str]:
    """A JVM writes its command line into a file of the temporary directory."""
    for process in psutil.Process().children(recursive=True):
        for path in Path("/tmp").glob(f"hsperfdata_*/{process.pid}"):
            yield path.read_text(errors="replace")


@pytest.mark.parametrize("key", [*SECRETS, *PLAIN])
def test_attack_12_a_value_arrives_as_it_is(key: str, observed: Observed) -> None:
    assert observed.conf[key] == {**SECRETS, **PLAIN}[key]


@pytest.mark.parametrize("key", [key for key in SECRETS if key.startswith("spark.hadoop.t.")])
def test_attack_12_a_value_arrives_in_hadoop_as_it_is(key: str, observed: Observed) -> None:
    assert observed.hadoop[key] == SECRETS[key]


def test_attack_12_spark_reads_its_own_key_as_it_is(observed: Observed) -> None:
    assert observed.secret == SECRETS["spark.authenticate.secret"]


def test_attack_38_no_value_made_a_key(observed: Observed) -> None:
    assert {key for key in observed.conf if key.startswith("spark.t.")} == {
        key for key in (*SECRETS, *PLAIN) if key.startswith("spark.t.")
    }


def test_attack_27_no_value_is_in_arguments_or_environments(observed: Observed) -> None:
    assert observed.holding(HIDDEN) & {"arguments", "environment", "JVM's performance data"} == set()


def test_attack_31_spark_shows_no_value(observed: Observed) -> None:
    assert observed.holding(HIDDEN) & {"REST API", "UI", "SET", "event log", "output"} == set()


def test_attack_28_no_value_is_left_in_a_file(observed: Observed) -> None:
    assert "files" not in observed.holding(HIDDEN)


def test_attack_31_spark_shows_every_key_redacted(observed: Observed) -> None:
    shown = json.loads(observed.places["REST API"])

    redacted = {key for part in ("sparkProperties", "hadoopProperties") for key, v in shown[part] if "redacted" in v}
    assert set(SECRETS) <= redacted
    assert {"fs.azure.account.key.x", "hive.t.zone"} <= redacted
    assert not redacted & set(PLAIN)


def test_attack_27_the_jobs_own_process_does_not_inherit_the_file(observed: Observed) -> None:
    assert observed.open_files
    assert [name for name in observed.open_files if "spark.properties" in name] == []


@pytest.mark.slow
@pytest.mark.parametrize("options", ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"])
def test_attack_31_a_system_property_does_not_have_spark_show_what_it_hides_by_default(
    tmp_path: Path, options: str
) -> None:
    (tmp_path / "job.py").write_text("from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate().stop()")
    for name in ("temp", "events"):
        (tmp_path / name).mkdir()
    environ = environment(tmp_path, "")
    plain = {**PLAIN, "spark.eventLog.dir": f"file://{tmp_path}/events", options: "-Dspark.redaction.regex=zzz"}
    delivery = plan({**plain, "spark.t.password": f"{HIDDEN}default"}, sensitive={"spark.t.password"})
    confs = [word for key, value in delivery.plain.items() for word in ("--conf", f"{key}={value}")]
    with private_file(dump(delivery.private).encode("ascii")) as file:
        command = [
            SparkInstallation.of("spark-submit", environ).require_command(),
            "--properties-file",
            file.path,
            *confs,
            "job.py",
        ]
        subprocess.run(command, env=environ, cwd=tmp_path, pass_fds=file.pass_fds, capture_output=True, check=True)
    events = "\n".join(read_all(tmp_path / "events"))

    assert "spark.t.password" in events
    assert HIDDEN not in events


WORKER = """
import json, subprocess, sys
from airflow_config_providers.core.properties import dump
from airflow_config_providers.spark.private_file import private_file

command, private = json.loads(sys.stdin.read())
with private_file(dump(private).encode("ascii")) as file:
    command[1:1] = ["--properties-file", file.path]
    subprocess.run(command, pass_fds=file.pass_fds, check=True)
"""


@pytest.mark.slow
def test_attack_28_nothing_is_left_when_the_worker_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    (tmp_path / "job.py").write_text(JOB)
    environ = environment(tmp_path, "")
    conf = {**PLAIN, "spark.eventLog.enabled": "false", "spark.local.dir": str(tmp_path / "temp")}
    delivery = plan({**conf, **SECRETS}, sensitive=SECRETS)
    confs = [word for key, value in delivery.plain.items() for word in ("--conf", f"{key}={value}")]
    command = [str(SparkInstallation.of("spark-submit", environ).require_command()), *confs, "job.py", "found.json"]
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER], env=environ, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert worker.stdin is not None
    worker.stdin.write(json.dumps([command, dict(delivery.private)]).encode())
    worker.stdin.close()

    tree = kill_when_there(tmp_path / "found.json", worker)

    names = {process.name() for process in tree if process.is_running()}
    assert names == set()
    assert HIDDEN in (tmp_path / "found.json").read_text()
    (tmp_path / "found.json").unlink()
    assert [text for text in read_all(tmp_path) if HIDDEN in text] == []
    left = [path for process in tree for path in Path("/tmp").glob(f"hsperfdata_*/{process.pid}")]
    assert [path for path in left if HIDDEN in path.read_text(errors="replace")] == []


def kill_when_there(file: Path, worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Wait for ``file``, and kill the worker and everything below it at once."""
    try:
        deadline = time.monotonic() + LONGEST
        while not file.exists():
            assert worker.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        tree = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)]
        for process in tree:
            process.kill()
        worker.wait()
        psutil.wait_procs(tree, timeout=LONGEST)
    assert len(tree) >= 3
    return tree


def test_the_search_would_have_found_them(observed: Observed) -> None:
    # The page of Spark 4 fetches what it shows from the REST API.
    shown = {"arguments", "JVM's performance data", "REST API", "SET", "event log", "output"}
    assert observed.holding(OPEN) >= shown
    assert "TMPDIR=" in observed.places["environment"]
    assert JOB in observed.places["files"]


def test_the_run_was_that_of_the_spark_asked_for(observed: Observed, request: pytest.FixtureRequest) -> None:
    is_old = "spark35" in request.node.name

    assert observed.version.startswith("3.5." if is_old else "4.")


@pytest.mark.slow
def test_spark_reads_the_defaults_that_we_find(tmp_path: Path) -> None:
    environ = {**environment(tmp_path, ""), "SPARK_CONF_DIR": str(tmp_path)}
    (tmp_path / "spark-defaults.conf").write_text("spark.t.found true\n")
    binary = SparkInstallation.of("spark-submit", environ).require_command()

    run = subprocess.run(
        [binary, "--verbose", "--version"], env=environ, capture_output=True, text=True, check=True, timeout=LONGEST
    )

    found = SparkInstallation.of("spark-submit", environ).defaults
    assert found
    assert found.path == str(tmp_path / "spark-defaults.conf")
    assert shutil.which("spark-submit", path=environ["PATH"]) == str(binary)
    assert str(tmp_path / "spark-defaults.conf") in run.stderr


COUNT = """
import json, sys
from pyspark.sql import SparkSession
conf = dict(SparkSession.builder.getOrCreate().sparkContext.getConf().getAll())
with open(sys.argv[1], "w") as file:
    json.dump({key: value for key, value in conf.items() if key.startswith("spark.many.")}, file)
"""


@pytest.mark.slow
def test_plain_keys_that_are_too_many_for_a_command_reach_the_job(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    (tmp_path / "job.py").write_text(COUNT)
    environ = environment(tmp_path, "")
    many = {f"spark.many.key{n:06}": f"{n} " + "x" * 1000 for n in range(2500)} | {"spark.many.end": "1 "}
    conf = {**many, "spark.master": "local[1]", "spark.ui.enabled": "false", "spark.driver.memory": "600m"}
    assert size(conf) > os.sysconf("SC_ARG_MAX")

    delivery = plan(conf, sensitive=(), room=room(environ))
    confs = [word for key, value in delivery.plain.items() for word in ("--conf", f"{key}={value}")]
    with private_file(dump(delivery.private).encode("ascii")) as file:
        command = [
            SparkInstallation.of("spark-submit", environ).require_command(),
            "--properties-file",
            file.path,
            *confs,
        ]
        subprocess.run(
            [*command, "job.py", "found.json"], env=environ, cwd=tmp_path, pass_fds=file.pass_fds, check=True
        )

    assert json.loads((tmp_path / "found.json").read_text()) == many
