"""What is known of a deployed job without a run."""

from __future__ import annotations

import json

import pytest
from airflow.sdk import DAG, task
from airflow.serialization.serialized_objects import DagSerialization

from airflow_config_providers.job.deployed_task import deployed_job
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator


class CustomOperator(ConfiguredSparkSubmitOperator):
    """Its job is stored on its own, because Airflow does not store that it submits jobs."""


@task
def result():
    """Return what is known only in a run."""


KINDS = pytest.mark.parametrize("kind", [ConfiguredSparkSubmitOperator, CustomOperator])
KNOWN_IN_RUN = ["job: what the DAG sets is known only in a run, which fills in the configuration."]


def deployed(kind, **kwargs):
    """Return the job of a stored task, and the warnings."""
    with DAG("flights", schedule=None) as dag:
        filled = {name: value() if callable(value) else value for name, value in kwargs.items()}
        kind(task_id="job", application="job.py", **filled)
    stored = DagSerialization.from_dict(json.loads(json.dumps(DagSerialization.to_dict(dag))))
    warnings = []
    return deployed_job(stored.get_task("job"), "job", warnings.append), warnings


@KINDS
@pytest.mark.parametrize("conf", ["{{ params.conf }}", result, ("spark.a",)], ids=["template", "result", "tuple"])
def test_a_configuration_that_is_no_mapping_is_known_only_in_a_run(kind, conf):
    job, warnings = deployed(kind, conf=conf)

    assert (job.layers, warnings) == ((), KNOWN_IN_RUN)


@KINDS
@pytest.mark.parametrize("files", [result, lambda: [result()]], ids=["all", "one"])
def test_a_file_that_another_task_names_is_among_the_files(kind, files):
    job, _ = deployed(kind, config_files=files)

    (path,) = job.files.values()
    assert "{{" in path


@KINDS
def test_files_that_no_run_would_read_do_not_keep_a_dag_from_being_stored(kind):
    job, _ = deployed(kind, config_files={"${vault:apps/db:password}": "a"})

    assert job.is_known
