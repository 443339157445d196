from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.job.records.record import written
from airflow_config_providers.spark import bundle
from airflow_config_providers.spark.audit.records.policy_audit import PastPolicies
from airflow_config_providers.spark.audit.records.record_tables import Content
from tests.spark.audit.records.past import record_of

WITHOUT_SITE = """
import importlib.metadata, importlib.util, sys
from airflow_config_providers import spark
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.spark.catalogue import spark_definition
import airflow_config_providers.spark.driver

sealed = sys.argv[1]
definitions = {
    "config.providers": "dir,vault",
    "config.providers.dir.class": "directory",
    "config.providers.dir.param.allowed.paths": sealed,
    "config.providers.vault.class": "vault",
    "config.providers.vault.param.url": "http://127.0.0.1:1",
    "config.providers.vault.param.token_path": "/nowhere",
}
with ProviderRegistry(deployment=True).open(definitions) as providers:
    value = providers["dir"].get(sealed, {"password"}).data["password"]
import hvac, javaproperties, tenacity
assert importlib.util.find_spec("airflow") is None
assert importlib.util.find_spec("ahocorasick_rs") is None
assert len(spark_definition().config_keys) > 1000
reverser = ReverseTransformer({}, {ConfigVariable("dir", sealed, "password"): value})
print(reverser.reverse_text(f"the password is {value}"), len(value))
"""


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hvac")
    path = tmp_path_factory.mktemp("bundle") / "driver.zip"
    assert bundle.main([str(path)]) == 0
    return path


def test_the_zip_alone_resolves_and_reverses_without_airflow(zipped: Path, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("canary-7f3a")
    command = [sys._base_executable, "-s", "-S", "-c", WITHOUT_SITE, str(tmp_path)]  # type: ignore[attr-defined]

    run = subprocess.run(
        command, env={"PYTHONPATH": str(zipped)}, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert run.stdout == f"the password is ${{dir:{tmp_path}:password}} 11\n", run.stderr


OF_AN_EXECUTOR = """
import importlib.util, pickle, sys
asked, contents = pickle.load(sys.stdin.buffer)
from airflow_config_providers.job.records.table import contents_of, rows_of, times_of
for verdict in asked(rows_of(contents)):
    print(verdict.policy, verdict.reason or verdict.problem)
assert not [name for name in ("airflow", "yaml", "pyspark") if importlib.util.find_spec(name)]
"""


def test_the_zip_alone_reads_records_and_asks_policies_about_them(zipped: Path, tmp_path: Path) -> None:
    (tmp_path / "policies.yaml").write_text(
        "policies: [{name: no-jars, class: forbidden_keys, params: {keys: spark.jars}, match: {dags: flights}}]"
    )
    record = written(record_of([ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.jars": "a.jar"})]))
    policies = PastPolicies.read(str(tmp_path / "policies.yaml"), ())
    sent = pickle.dumps((policies.verdicts, [Content("records.jsonl", 1, len(record), record)]))
    command = [sys._base_executable, "-s", "-S", "-c", OF_AN_EXECUTOR]  # type: ignore[attr-defined]

    run = subprocess.run(
        command, env={"PYTHONPATH": str(zipped)}, cwd=tmp_path, input=sent, capture_output=True, check=False
    )

    assert run.stdout.decode().startswith("no-jars Policy 'no-jars' denies"), run.stderr.decode()


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10"])
def test_an_older_python_says_first_that_it_is_too_old(zipped: Path, tmp_path: Path, version: str) -> None:
    python = next(iter(sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))), None)
    if python is None:
        pytest.skip(f"no Python {version} below ~/.pyenv/versions")
    job = "from airflow_config_providers.spark import session; session()"

    run = subprocess.run(
        [str(python), "-s", "-S", "-c", job],
        env={"PYTHONPATH": str(zipped)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith("ImportError: airflow_config_providers needs Python 3.11 or newer, but ")
    assert f" is Python {version}. Set another for the driver in spark.pyspark.driver.python" in last


def test_the_zip_holds_nothing_of_airflow_and_nothing_compiled(zipped: Path) -> None:
    names = zipfile.ZipFile(zipped).namelist()

    assert len(names) == len(set(names))
    assert not [name for name in names if name.endswith((".so", ".pyd", ".pyc"))]
    assert not [name for name in names if "airflow/" in name]
    parts = {name.split("/")[1] for name in names if name.startswith("airflow_config_providers/")}
    assert parts == {
        "__init__.py",
        "exceptions.py",
        "foreign.py",
        "lazy.py",
        "py.typed",
        "core",
        "dynamic",
        "job",
        "log",
        "providers",
        "spark",
    }


@pytest.mark.parametrize("arguments", [[], ["a", "b"], ["--help"]])
def test_another_command_says_how_it_is_used(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert bundle.main(arguments) == 2
    assert capsys.readouterr().err.startswith("usage: ")


@pytest.fixture
def damaged_library(tmp_path: Path) -> Iterator[None]:
    """Have Python find a library first one of whose files cannot be read."""
    metadata = tmp_path / "site" / "certifi-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: certifi\nVersion: 1.0\n")
    (metadata.parent / "certifi" / "__init__.py").mkdir(parents=True)
    (metadata / "RECORD").write_text("certifi/__init__.py,,\n")
    sys.path.insert(0, str(metadata.parent))
    yield
    sys.path.remove(str(metadata.parent))


@pytest.mark.usefixtures("damaged_library")
def test_a_failure_leaves_the_earlier_zip(tmp_path: Path) -> None:
    path = tmp_path / "driver.zip"
    path.write_bytes(b"complete")

    with pytest.raises(IsADirectoryError):
        bundle.write_bundle(path)

    assert path.read_bytes() == b"complete"
    assert {one.name for one in tmp_path.iterdir()} == {"driver.zip", "site"}


def test_a_zip_keeps_its_rights_and_no_link_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "driver.zip"
    path.touch(0o600)
    (tmp_path / f".driver.zip.{os.getpid()}").symlink_to(tmp_path / "victim")

    bundle.write_bundle(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.is_symlink()
    assert not (tmp_path / "victim").exists()
