"""What an operator holds of one try belongs to that operator alone."""

import copy
import pickle
from operator import methodcaller

import pytest
from airflow.sdk import BaseOperator

from airflow_config_providers.exceptions import SubmitError
from airflow_config_providers.operators.configure import configure_task, configured
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.operators.stock import OurOperator, StockOperator, everything_shown

COPIES = [
    pytest.param(copy.copy, id="shallow"),
    pytest.param(copy.deepcopy, id="deep"),
    pytest.param(lambda job: pickle.loads(pickle.dumps(job)), id="pickled"),
]


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_of_an_operator_has_nothing_of_its_try(dag, connections, password, copied):
    job = ConfiguredSparkSubmitOperator(task_id="job", dag=dag, conf={"spark.app.x": password}).prepare_for_execution()
    job.render_template_fields({})
    state = copied(job)._try_state

    assert (state.has_run, state.referring_texts, state.record_keeper) == (False, {}, None)
    job._try_state.run.close()


@pytest.mark.parametrize("copied", [pytest.param(methodcaller("prepare_for_execution"), id="to run"), *COPIES])
def test_a_copy_of_an_operator_that_was_killed_begins_no_job(dag, copied):
    job = ConfiguredSparkSubmitOperator(task_id="job", dag=dag)
    job.on_kill()  # Airflow listens for a kill before it makes the copy that it runs

    with pytest.raises(SubmitError, match="was killed before its job began"):
        copied(job)._try_state.refuse_after_kill()


@pytest.mark.parametrize("copied", [pytest.param(copy.copy, id="shallow"), pytest.param(copy.deepcopy, id="deep")])
def test_a_copy_that_runs_while_the_fields_have_values_takes_them_for_no_text_of_an_author(
    dag, connections, run_task, password, capfd, copied
):
    seen = []

    def do(task, context):
        other = copied(task)
        other.do = lambda inner, _: seen.append(inner.payload)
        other.execute(context)
        seen.append(other.effective_config)

    run = run_task(OurOperator(task_id="job", dag=dag, do=do, payload=password))

    assert seen == [CANARY, run.task.effective_config]
    assert everything_shown(run, capfd).count("Resolved references") == 1


class KeptInATuple(StockOperator):
    """An operator that says in its own way what a copy of it has."""

    def __getstate__(self):
        return vars(self), None

    def __setstate__(self, state):
        vars(self).update(state[0])


def test_an_operator_can_say_in_its_own_way_what_a_copy_of_it_has(dag, connections, run_task, password):
    seen = []
    job = configured(KeptInATuple)(task_id="job", dag=dag, payload=password, do=lambda it, _: seen.append(it.payload))
    run_task(job)

    assert seen == [CANARY]


class Trying(BaseOperator):
    """An operator that has methods for a try and its state."""

    def _try(self):
        return "done"

    def execute(self, context):
        return self._try()


def test_an_operator_can_have_a_method_for_a_try(dag, connections, run_task):
    job = Trying(task_id="job", dag=dag)
    configure_task(job)

    assert run_task(job).supervisor.sent("SetXCom")[0].value == "done"
