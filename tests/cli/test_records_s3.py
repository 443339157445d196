"""Records in S3, read by commands with the credentials of an Airflow connection."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
pytest.importorskip("moto.server", reason="install the extra moto")

from airflow_config_providers.job.records.files import place_of
from airflow_config_providers.job.records.record import RecordedValue, TaskTry, TryRecord, written
from tests.cli.conftest import Cli
from tests.cli.recorded import RUN
from tests.servers.aws import serve_aws

pytestmark = pytest.mark.integration

TASK = TaskTry("flights", "report", RUN, -1, 1)
RECORD = TryRecord(
    TASK, "2026-11-23T17:00:00.000+00:00", {"spark.app.a": [RecordedValue("DAG_CONFIG", "conf", "of the bucket")]}
)
DESCRIBE = ("config-providers", "describe", "--dag", "flights", "--task", "report", "--run", RUN, "--output", "json")
PATH = "AIRFLOW__CONFIG_PROVIDERS__RECORDS_PATH"


@pytest.fixture
def stored(cli: Cli) -> Iterator[str]:
    """The id of a connection that only Airflow's database has, and that alone knows where the bucket is."""
    name = "aws_of_records"
    with serve_aws() as aws:
        s3 = aws.client("s3")
        s3.create_bucket(Bucket="bucket", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        key = f"records/day={RECORD.at[:10]}/{place_of(TASK)}"
        s3.put_object(Bucket="bucket", Key=key, Body=written(RECORD) + b"\n")
        at = json.dumps({"endpoint_url": aws.address, "region_name": "eu-west-1"})
        given = ("--conn-login", "AKIA-c4nary", "--conn-password", "c4nary-secret-key", "--conn-extra", at)
        assert cli.airflow("connections", "add", name, "--conn-type", "aws", *given).code == 0
        yield name
        cli.airflow("connections", "delete", name)


def test_a_connection_in_the_database_reads_records(cli: Cli, stored: str) -> None:
    pytest.importorskip("s3fs")

    done = cli.deployment.airflow(*DESCRIBE, **{PATH: f"s3://{stored}@bucket/records"})

    assert done.code == 0
    assert '"of the bucket"' in done.out  # among what Airflow logs


def test_a_connection_that_does_not_exist_is_named(cli: Cli) -> None:
    done = cli.airflow(*DESCRIBE, environ={PATH: "s3://gone@bucket/records"})

    assert done.code == 5
    assert done.errors == [
        "The records in [config_providers] records_path cannot be read: There is no connection 'gone'. Add it, or "
        "correct its id in the path."
    ]
