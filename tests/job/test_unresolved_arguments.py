"""What looks like a reference in an argument in which nothing is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("airflow.providers.cncf.kubernetes")

from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from kubernetes.client import V1Container, V1EnvVar

from airflow_config_providers.job.exposed_values import unresolved_arguments

REFERENCE = "${vault:apps/db:host}"


class Opaque:
    """An object that cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError("h1dden")


def nested(depth: int) -> list[Any]:
    found: list[Any] = [REFERENCE]
    for _ in range(depth):
        found = [found]
    return found


def found_in(operator: Any, **more: Any) -> list[str]:
    return [name for name, _ in unresolved_arguments(operator, (), **more)]


def pod(**arguments: Any) -> Any:
    return KubernetesPodOperator(task_id="t", **arguments)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([{"command": ["sh", "-c", "cp ${SOURCE:-/data} /work"]}], id="default-of-a-shell"),
        pytest.param([V1Container(name="a", command=["cp ${SOURCE:-/data}"])], id="default-of-a-shell-in-a-container"),
        pytest.param([{"command": "${env:HOME}/run"}], id="of-spark"),
        pytest.param([Opaque()], id="object-that-cannot-be-shown"),
        pytest.param(nested(100_000), id="nested-deeply"),
    ],
)
def test_what_is_no_reference_is_accepted(value: Any):
    assert found_in(pod(init_containers=value)) == []


@pytest.mark.parametrize(
    "value",
    [
        pytest.param([{"image": REFERENCE}], id="value"),
        pytest.param([{REFERENCE: "x"}], id="key"),
        pytest.param([V1Container(name="a", env=[V1EnvVar(name="HOST", value=REFERENCE)])], id="of-a-container"),
        pytest.param([f"${{SOURCE:-/data}} {REFERENCE}"], id="beside-a-default-of-a-shell"),
    ],
)
def test_a_reference_is_found_however_nested(value: Any):
    assert found_in(pod(init_containers=value)) == ["init_containers"]


def test_references_may_be_kept_except_in_ids_of_connections():
    operator = pod(kubernetes_conn_id=REFERENCE, init_containers=[REFERENCE])
    operator.template_fields = ()

    assert found_in(operator, keeps_unresolved=True) == ["kubernetes_conn_id"]


def test_what_spark_replaces_is_refused_in_the_id_of_a_connection():
    operator = pod(kubernetes_conn_id="${env:CONNECTION}")
    operator.template_fields = ()

    assert found_in(operator) == ["kubernetes_conn_id"]


def test_a_property_of_a_subclass_is_not_asked():
    class Pod(KubernetesPodOperator):
        @property
        def extra(self) -> Iterator[str]:
            raise RuntimeError

    operator: Any = Pod(task_id="t")
    vars(operator)["extra"] = REFERENCE

    assert found_in(operator) == []


def test_a_copy_of_a_template_field_is_not_another_argument():
    """Airflow's Spark provider has kept one of ``post_submit_commands``."""
    operator = pod(cmds=[REFERENCE])
    operator._cmds = list(operator.cmds)

    assert found_in(operator) == []
