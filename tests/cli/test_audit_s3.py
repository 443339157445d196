"""``audit leaks`` with logs in S3, and the credentials of an Airflow connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
pytest.importorskip("moto.server", reason="install the extra moto")

from tests.cli.conftest import Cli, Ended
from tests.servers.aws import AwsServer, serve_aws

pytestmark = [pytest.mark.integration, pytest.mark.slow]

VALUE = "c4nary-Pa$$w0rd/of+the=audit"
ACCESS_KEY = "AKIA-c4nary-access-key"
SECRET_KEY = "c4nary/secret+key"
LOGS = "s3://aws_logs@bucket/logs"


class Audit:
    """A bucket with logs, and a connection ``aws_logs`` that can read it."""

    def __init__(self, cli: Cli, aws: AwsServer, folder: Path) -> None:
        self._cli = cli
        self.folder = folder
        self._aws = aws
        self._s3 = aws.client("s3")
        self._s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        (folder / "secrets").mkdir()
        (folder / "secrets" / "password").write_text(VALUE)
        self.reference = f"${{dir:{folder}/secrets:password}}"
        (folder / "references").write_text(self.reference)

    def put(self, key: str, text: str) -> None:
        self._s3.put_object(Bucket="bucket", Key=key, Body=text.encode())

    def add_connection(self, name: str) -> None:
        """Add a connection to Airflow's database."""
        at = json.dumps({"endpoint_url": self._aws.address, "region_name": "eu-west-1"})
        given = ("--conn-type", "aws", "--conn-login", ACCESS_KEY, "--conn-password", SECRET_KEY, "--conn-extra", at)
        assert self._cli.airflow("connections", "add", name, *given).code == 0

    def remove_connection(self, name: str) -> None:
        self._cli.airflow("connections", "delete", name)

    def __call__(self, *words: str, path: str = LOGS) -> Ended:
        extra = {
            "config.providers": "dir",
            "config.providers.dir.class": "directory",
            "config.providers.dir.param.allowed.paths": f"{self.folder}/secrets",
        }
        at = {"endpoint_url": self._aws.address, "region_name": "eu-west-1"}
        aws = {"conn_type": "aws", "login": ACCESS_KEY, "password": SECRET_KEY, "extra": at}
        given = ("--references", f"{self.folder}/references", "--no-records", "--master", "local[2]")
        return self._cli.airflow(
            *("config-providers", "audit", "leaks", path, *given, "--output", "json", *words),
            environ={
                "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": extra}),
                "AIRFLOW_CONN_AWS_LOGS": json.dumps(aws),
                "AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET": "the-secret-of-the-encoder",
            },
        )


@pytest.fixture
def audit(cli: Cli, tmp_path: Path) -> Iterator[Audit]:
    with serve_aws() as aws:
        yield Audit(cli, aws, tmp_path)


def places(done: Ended) -> list[tuple[Any, ...]]:
    return [(row["file"], row["offset"]) for row in map(json.loads, done.out.splitlines())]


def test_leaks_in_a_bucket_are_found_and_no_credentials_are_left_anywhere(audit: Audit) -> None:
    for number in range(20):
        audit.put(f"logs/dag_id=x/{number:02}.log", f"quiet\n{VALUE * (number == 7)}")
    for name in ("events", "local"):
        (audit.folder / name).mkdir()
    confs = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{audit.folder}/events",
        "spark.local.dir": f"{audit.folder}/local",
    }
    left = ("--state", f"{audit.folder}/state", "--report", f"{audit.folder}/report.html")

    done = audit(*left, *(word for key, value in confs.items() for word in ("--conf", f"{key}={value}")))

    files = [path for path in audit.folder.rglob("*") if path.is_file() and path.parent.name != "secrets"]
    assert places(done) == [(f"{LOGS}/dag_id=x/07.log", 6)]
    assert done.code == 1
    assert {path.relative_to(audit.folder).parts[0] for path in files} >= {"events", "state", "report.html"}
    for shown in (done.out.encode(), done.err.encode(), *(path.read_bytes() for path in files)):
        assert VALUE.encode() not in shown
        assert SECRET_KEY.encode() not in shown
        assert ACCESS_KEY.encode() not in shown


def test_only_new_objects_are_read_again_and_accepted_leaks_are_left_out(audit: Audit) -> None:
    audit.put("logs/a.log", VALUE)
    audit.put("logs/b.log", "quiet")
    state = ("--state", f"{audit.folder}/state")
    (audit.folder / "accepted").write_text(audit(*state).out)
    audit.put("logs/b.log", f"other {VALUE}")

    done = audit(*state, "--baseline", f"{audit.folder}/accepted")

    assert places(done) == [(f"{LOGS}/b.log", 6)]
    assert "(1 read now)" in done.err


def test_copies_of_objects_are_local_files_with_the_references(audit: Audit) -> None:
    audit.put("logs/a.log", f"pw={VALUE}\n")

    audit("--reversed-copy", f"{audit.folder}/copies")

    assert (audit.folder / "copies" / "logs" / "a.log").read_text() == f"pw={audit.reference}\n"


def test_fingerprints_and_tokens_are_found_in_objects(audit: Audit) -> None:
    token = f"ghp_{'a1B2' * 9}"
    audit.put("logs/a.log", f"{VALUE}\n{token}\n")
    prints = f"{audit.folder}/prints"
    audit("--write-fingerprints", prints)
    (audit.folder / "references").write_text("${dir:/nowhere:x}")

    done = audit("--fingerprints", prints, "--tokens")

    assert places(done) == [(f"{LOGS}/a.log", 0), (f"{LOGS}/a.log", len(VALUE) + 1)]


@pytest.fixture
def stored(audit: Audit) -> Iterator[str]:
    """The id of a connection that only Airflow's database has."""
    name = "aws_stored"
    audit.add_connection(name)
    yield name
    audit.remove_connection(name)


def test_a_connection_in_the_database_reads_objects(audit: Audit, stored: str) -> None:
    audit.put("logs/a.log", VALUE)

    done = audit(path=f"s3://{stored}@bucket/logs")

    assert places(done) == [(f"s3://{stored}@bucket/logs/a.log", 0)]


def test_a_connection_that_does_not_exist_is_named(audit: Audit) -> None:
    done = audit(path="s3://gone@bucket/logs")

    assert done.errors == ["s3://gone@bucket: There is no connection 'gone'. Add it, or correct its id in the path."]


def test_a_bucket_that_does_not_exist_is_exit_code_2(audit: Audit) -> None:
    done = audit(path="s3://aws_logs@missing/logs")

    assert done.code == 2
    assert (
        "s3://aws_logs@missing/logs was not searched, or not all of it: It cannot be listed: No such file or directory."
        in done.notes
    )


def test_credentials_in_a_path_are_refused_and_not_shown(audit: Audit) -> None:
    done = audit(path=f"s3://{ACCESS_KEY}:{SECRET_KEY}@bucket/logs")

    assert done.errors[0].startswith("A path that begins with s3:// has a colon before the bucket")
    assert SECRET_KEY not in done.out + done.err
    assert ACCESS_KEY not in done.out + done.err


def test_only_what_is_searched_can_be_in_object_storage(audit: Audit) -> None:
    done = audit("--state", f"s3://x:{SECRET_KEY}@bucket/state", "--baseline", "s3://bucket/accepted")

    assert done.errors == [
        f"{option}: only what is searched can be in object storage. Name a path in the file system."
        for option in ("--baseline", "--state")
    ]
