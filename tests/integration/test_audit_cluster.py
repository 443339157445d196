"""The audit on a real standalone cluster with two workers, of which one dies."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import psutil
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow")

import airflow_config_providers
from tests.integration.audit_command import QUIET, VALUE, AuditCommand, places, reading
from tests.limits import eventually
from tests.servers.spark_cluster import Daemon, SparkCluster, spark_cluster, write_defaults
from tests.spark.audit.records.past import QUICK, Past

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.xdist_group("audit-cluster")]

SECRET = token_hex(16)
DEFAULTS = {
    "spark.authenticate": "true",
    "spark.authenticate.secret": SECRET,
    "spark.network.crypto.enabled": "true",
    "spark.driver.host": "127.0.0.1",
}
ON_ONE = {"spark.cores.max": "1"}
"""For what needs no second executor, which takes seconds to start."""

MANY = 300
MOST_AUDITS = 5
ENOUGH = 24 * 1024 * 1024
"""How many bytes a Python worker has read when it is in the middle of a task."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """A cluster of two workers. One test loses one of them; for the others, the other one is enough."""
    variables = {"PYTHONPATH": str(Path(airflow_config_providers.__file__).parents[1])}
    folder = tmp_path_factory.mktemp("cluster")
    with spark_cluster(folder, defaults=DEFAULTS, variables=variables, workers=2, cores=1) as found:
        yield found


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and what it needs, as executors can be given it."""
    found: Path = tmp_path_factory.mktemp("bundle") / "driver.zip"
    subprocess.run([sys.executable, "-m", "airflow_config_providers.spark.bundle", str(found)], check=True)
    return found


def audit_of(cluster: SparkCluster, folder: Path, **environ: str) -> AuditCommand:
    return AuditCommand(folder, **{**reading(cluster.folder / "conf"), **environ})


def octets_read(process: psutil.Process) -> int:
    """Return how many bytes a Python worker has read; 0 for another process, and for one that has ended."""
    with suppress(psutil.Error):
        if "pyspark.daemon" in process.cmdline():
            return process.io_counters().read_chars
    return 0


def is_in_the_middle(worker: Daemon) -> bool:
    return any(octets_read(process) > ENOUGH for process in worker.descendants())


def lose_one_in_the_middle(workers: Sequence[Daemon]) -> bool:
    """
    End the first worker that is in the middle of a task, and return whether there was one.

    Which one it is depends on the machine: on a busy one, the other's executor may start after all is searched.
    """
    found = next(filter(is_in_the_middle, workers), None)
    if found is not None:
        lose(found)
    return found is not None


def lose(worker: Daemon) -> None:
    """End a worker, its executor and what that has started, all at once."""
    below = worker.descendants()
    worker.kill()
    for process in below:
        process.kill()


def audited_with_a_loss(audit: AuditCommand, cluster: SparkCluster) -> tuple[int, list[Any], str] | None:
    """
    Return what an audit printed that lost a worker in the middle; None if it lost none.

    An audit is over too soon if this process is held up meanwhile.
    """
    with ThreadPoolExecutor() as pool:
        running = pool.submit(audit.run, "--master", cluster.master_url)
        assert eventually(lambda: running.done() or lose_one_in_the_middle(cluster.workers))
        return None if running.done() else running.result()


def plant(audit: AuditCommand) -> list[tuple[str, int]]:
    """Write many small logs and a large one, with values, and return where they are."""
    found = [audit.plant(f"{number:04}.log", number % 50) for number in range(MANY)]
    large, step = audit.logs / "large.log", 8_000_000 // len(QUIET)
    with large.open("wb") as file:
        for _ in range(60):
            file.write(QUIET * step)
            found.append((str(large), file.tell()))
            file.write(VALUE.encode() + b"\n")
    return sorted(found)


def test_a_lost_worker_costs_no_leak_and_doubles_none(cluster: SparkCluster, tmp_path: Path) -> None:
    audit = audit_of(cluster, tmp_path)
    planted = plant(audit)

    done = next(filter(None, (audited_with_a_loss(audit, cluster) for _ in range(MOST_AUDITS))), None)
    assert done
    code, rows, err = done

    assert code == 1, err
    assert places(rows) == planted
    assert f"{MANY + 1} files with" in err


def test_a_cluster_without_the_secret_is_refused_at_once(cluster: SparkCluster, tmp_path: Path) -> None:
    audit = audit_of(cluster, tmp_path, **reading(write_defaults(tmp_path / "none", {})))
    audit.plant("a.log", 1)

    code, rows, err = audit.run("--master", cluster.master_url)

    assert (code, rows) == (3, [])
    assert "error: This cluster needs spark.authenticate.secret, and spark-defaults.conf does not have it." in err


def test_a_cluster_with_another_secret_is_refused(cluster: SparkCluster, tmp_path: Path) -> None:
    others = write_defaults(tmp_path / "others", {**DEFAULTS, "spark.authenticate.secret": token_hex(16)})
    audit = audit_of(cluster, tmp_path, **reading(others))
    audit.plant("a.log", 1)

    code, rows, err = audit.run("--master", cluster.master_url)

    assert (code, rows) == (3, [])
    assert "must be reachable, and have the same spark.authenticate.secret." in err
    assert SECRET not in err


def test_executors_without_the_package_are_refused_before_they_get_a_value(
    cluster: SparkCluster, tmp_path: Path
) -> None:
    audit = audit_of(cluster, tmp_path)
    audit.plant("a.log", 1)

    code, rows, err = audit.run("--master", cluster.master_url, *without_the_package(tmp_path))

    assert (code, rows) == (3, [])
    assert "error: The executors have no module airflow_config_providers" in err


def test_a_bundle_brings_the_package_to_executors(cluster: SparkCluster, bundle: Path, tmp_path: Path) -> None:
    audit = audit_of(cluster, tmp_path)
    planted = audit.plant("a.log", 1)
    brought = configured({"spark.submit.pyFiles": str(bundle), **ON_ONE})

    code, rows, err = audit.run("--master", cluster.master_url, *without_the_package(tmp_path), *brought)

    assert code == 1, err
    assert places(rows) == [planted]


def test_executors_that_have_a_bundle_and_pyspark_alone_ask_policies(
    cluster: SparkCluster, bundle: Path, tmp_path: Path
) -> None:
    policies = tmp_path / "policies.yaml"
    Past(tmp_path / "records")({"spark.jars": "a.jar"})
    policies.write_text("policies: [{name: no-jars, class: forbidden_keys, params: {keys: spark.jars}}]")
    audit = audit_of(cluster, tmp_path, PYSPARK_PYTHON=sys._base_executable)  # type: ignore[attr-defined]
    words = ("policies", str(policies), "--records", str(tmp_path / "records"), "--no-database", "--output", "json")
    brought = configured({"spark.submit.pyFiles": str(bundle), **ON_ONE, **QUICK})

    hidden = without_the_package(tmp_path)
    code, rows, err = audit.run_any(*words, "--master", cluster.master_url, *hidden, *brought)

    assert code == 1, err
    assert [(row["policy"], row["runs"]) for row in rows] == [("no-jars", 1)]


def without_the_package(folder: Path) -> list[str]:
    """Return words that give executors a package of the name of ours, so that they do not find the installed one."""
    package = folder / "hiding" / "airflow_config_providers"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    return configured({"spark.executorEnv.PYTHONPATH": str(package.parent)})


def configured(conf: Mapping[str, str]) -> list[str]:
    """Return the words that set these keys."""
    return [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
