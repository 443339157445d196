"""What an operator holds of one try belongs to that operator alone."""

import copy
import pickle

import pytest
from airflow.sdk import BaseOperator

from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda job: pickle.loads(pickle.dumps(job))])
def test_a_copy_of_an_operator_has_nothing_of_its_try(dag, connections, password, copied):
    job = ConfiguredSparkSubmitOperator(task_id="job", dag=dag, conf={"spark.app.x": password}).prepare_for_execution()
    job.render_template_fields({})
    job._try_state.kill()
    state = copied(job)._try_state

    assert (state.has_run, state.referring_texts, state.is_killed) == (False, {}, False)
    job._try_state.run.close()


def test_a_kill_of_the_original_does_not_reach_its_copy_for_a_run(dag):
    original = ConfiguredSparkSubmitOperator(task_id="job", dag=dag)
    original._try_state.kill()
    run = original.prepare_for_execution()

    run._try_state.refuse_after_kill()


class Trying(BaseOperator):
    """An operator that has a method for a try."""

    def _try(self):
        return "done"

    def execute(self, context):
        return self._try()


def test_an_operator_can_have_a_method_for_a_try(dag, connections, run_task):
    job = Trying(task_id="job", dag=dag)
    configure_task(job)

    assert run_task(job).supervisor.sent("SetXCom")[0].value == "done"
