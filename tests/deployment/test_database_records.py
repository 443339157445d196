"""Records are read from Airflow's database some at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")

from tests.cli.conftest import Deployment
from tests.cli.recorded import Records, records_in
from tests.servers import quick_python

pytestmark = pytest.mark.integration

READ = """
import json, sys
from airflow_config_providers.deployment.database_records import DatabaseRecords

records = DatabaseRecords(largest=int(sys.argv[1]))
found = [[len(one.content) for one in batch] for batch in records.batches(sorted(records.known))]
print(json.dumps(found))
"""


@pytest.fixture
def records(deployment: Deployment) -> Iterator[Records]:
    with records_in(deployment) as found:
        yield found


def batches(deployment: Deployment, largest: int) -> list[list[int]]:
    """Return the bytes of the records in each batch."""
    done = quick_python.run("-c", READ, str(largest), env=deployment.environ, cwd=deployment.home)
    assert done.returncode == 0, done.stderr
    found: list[list[int]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_batch_ends_with_the_record_that_makes_it_large_enough_and_none_is_lost(
    deployment: Deployment, records: Records
) -> None:
    for number in range(1, 8):
        records({"spark.app.text": "x" * 1_000}, number=number)

    found = batches(deployment, 2_500)

    assert len(found) > 1
    assert sum(map(len, found)) == 7
    assert all(sum(batch[:-1]) < 2_500 <= sum(batch) for batch in found[:-1])


def test_a_record_larger_than_a_batch_is_a_batch_of_its_own(deployment: Deployment, records: Records) -> None:
    for number in (1, 2, 3):
        records({"spark.app.text": "x" * 5_000}, number=number)

    assert [len(batch) for batch in batches(deployment, 1_000)] == [1, 1, 1]


def test_records_of_the_usual_size_are_one_batch(deployment: Deployment, records: Records) -> None:
    for number in (1, 2, 3):
        records({"spark.app.text": "x"}, number=number)

    assert [len(batch) for batch in batches(deployment, 64 * 1024 * 1024)] == [3]
