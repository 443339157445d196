"""What code of DAGs has a part in."""

from __future__ import annotations

import time

import pytest

from airflow_config_providers.planning.undecided import depends_on_code


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("/conf/{{ var.value.env }}.yaml", False, id="a variable"),
        pytest.param("/conf/{{ conn.prod.host }}.yaml", False, id="a connection"),
        pytest.param("/conf/{{ ds }}-{{ ts_nodash }}-{{ logical_date }}.yaml", False, id="dates"),
        pytest.param("/conf/{{ data_interval_start | ds }}.yaml", False, id="a filter of Airflow"),
        pytest.param("/conf/{{ run_id }}-{{ dag_run.conf['env'] | lower }}.yaml", False, id="the run"),
        pytest.param("/conf/{{ macros.ds_add(ds, 1) }}.yaml", False, id="a macro of Airflow"),
        pytest.param("${env:DIR}/prod.yaml", False, id="a reference"),
        pytest.param("/conf/{{ range(3) | first }}.yaml", False, id="a function of Jinja"),
        pytest.param("/conf/{% set day = ds %}{{ day }}.yaml", False, id="a name of the template"),
        pytest.param("/conf/{{ params.env }}.yaml", True, id="params"),
        pytest.param("/conf/{{ dag.dag_id }}.yaml", True, id="the DAG"),
        pytest.param("/conf/{{ task.owner }}.yaml", True, id="the task"),
        pytest.param("/conf/{{ ti.xcom_pull('x') }}.yaml", True, id="the result of a task"),
        pytest.param("/conf/{{ env }}.yaml", True, id="a macro of the DAG"),
        pytest.param("/conf/{{ macros.ours.env() }}.yaml", True, id="a macro of a plugin"),
        pytest.param("/conf/{% set m = macros %}{{ m.ours.env() }}.yaml", True, id="a macro under another name"),
        pytest.param("/conf/{{ ds | ours }}.yaml", True, id="a filter of the DAG"),
        pytest.param("/conf/{{ ds if ds is ours else ts }}.yaml", True, id="a test of the DAG"),
        pytest.param("/conf/{{ (ds | ours) if ds else ts }}.yaml", True, id="a filter in a branch"),
        pytest.param("/conf/{% include 'name' %}.yaml", True, id="another template"),
        pytest.param("/conf/{{ ds.yaml", True, id="malformed"),
        pytest.param("{{ " + "(" * 5_000 + "ds" + ")" * 5_000 + " }}", True, id="too deep"),
    ],
)
def test_code_has_a_part_in_what_it_can_change(template: str, expected: bool):
    assert depends_on_code(template) is expected


@pytest.mark.parametrize("part", [".b", "['b']", "[0]", "|lower", "~a"])
def test_a_long_chain_takes_time_linear_in_its_length(part: str):
    def seconds(length: int) -> float:
        begin = time.process_time()
        depends_on_code("{{ a" + part * length + " }}")
        return time.process_time() - begin

    seconds(1)
    assert seconds(200) < 0.2 + 30 * min(seconds(20) for _ in range(3))
