"""What an operator holds of one try belongs to that operator alone."""

import copy
import pickle

import pytest

from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda job: pickle.loads(pickle.dumps(job))])
def test_a_copy_of_an_operator_has_nothing_of_its_try(dag, connections, password, copied):
    job = ConfiguredSparkSubmitOperator(task_id="job", dag=dag, conf={"spark.app.x": password}).prepare_for_execution()
    job.render_template_fields({})
    job._try.kill()
    state = copied(job)._try

    assert (state.has_run, state.referring_texts, state.is_killed) == (False, {}, False)
    job._try.run.close()


def test_a_kill_of_the_original_does_not_reach_its_copy_for_a_run(dag):
    original = ConfiguredSparkSubmitOperator(task_id="job", dag=dag)
    original._try.kill()
    run = original.prepare_for_execution()

    run._try.refuse_after_kill()
