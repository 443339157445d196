"""An error that comes again with every try uses up no retries: run by Airflow's real task runner."""

from __future__ import annotations

import json
import pickle
import traceback
from functools import partial

import pytest
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator

from airflow_config_providers import exceptions
from airflow_config_providers.airflow_compat import AirflowFailException
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ExposedValueError,
    PolicyViolation,
    ProviderUnavailableError,
    UnresolvedReferenceError,
)
from airflow_config_providers.operators.configure import configured
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.spark_jdbc import ConfiguredSparkJDBCOperator
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.operators.stock import NOT_DURABLE, OurOperator

PROVIDER = "tests.operators.failing.FailingConfigProvider"
DENIED = "${failing:AccessDeniedError:key}"
UNAVAILABLE = "${failing:ProviderUnavailableError:key}"


@pytest.fixture(autouse=True)
def providers(connections, monkeypatch):
    """The deployment's providers, and one that fails as its path says."""
    extra = {**connections, "config.providers": "dir, files, failing", "config.providers.failing.class": PROVIDER}
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES", PROVIDER)
    connection = json.dumps({"conn_type": "config_providers", "extra": extra})
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", connection)


@pytest.fixture
def impatient(monkeypatch):
    """A deployment that asks an unavailable provider for a second, and not for a quarter of a minute."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RESOLVE_TIMEOUT", "1")


@pytest.fixture
def failed(run_task, spark_submit):
    """Run a task that has retries left."""
    return partial(run_task, retries=2)


def submit(dag, conf, **kwargs):
    return ConfiguredSparkSubmitOperator(
        task_id="job", dag=dag, application="job.py", conf=conf, **NOT_DURABLE, **kwargs
    )


def jdbc(dag, conf, **kwargs):
    return ConfiguredSparkJDBCOperator(task_id="job", dag=dag, spark_conf=conf, jdbc_table="t", **kwargs)


def sql(dag, conf, **kwargs):
    return configured(SparkSqlOperator)(task_id="job", dag=dag, sql="select 1", conf=conf, **kwargs)


def in_place(dag, conf, **kwargs):
    return OurOperator(task_id="job", dag=dag, payload=conf, do=lambda *_: None, **kwargs)


def livy(dag, conf, **kwargs):
    pytest.importorskip("airflow.providers.apache.livy")
    from airflow.providers.apache.livy.operators.livy import LivyOperator

    return configured(LivyOperator)(task_id="job", dag=dag, file="job.py", conf=conf, durable=False, **kwargs)


def pyspark(dag, conf, **kwargs):
    from airflow_config_providers.decorators.pyspark import configured_pyspark_task

    with dag:
        return configured_pyspark_task(lambda spark: None, task_id="job", config_kwargs=conf, **kwargs)().operator


def pipelines(dag, conf, **kwargs):
    operators = pytest.importorskip("airflow.providers.apache.spark.operators.spark_pipelines")

    operator = configured(operators.SparkPipelinesOperator)
    return operator(task_id="job", dag=dag, pipeline_spec="spec.yml", conf=conf, **kwargs)


OPERATORS = [submit, jdbc, sql, in_place, livy, pyspark, pipelines]


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_denied_reference_fails_without_a_retry(dag, failed, operator):
    run = failed(operator(dag, {"spark.app.password": DENIED}))

    assert isinstance(run.error, AccessDeniedError)
    assert run.state == "failed"


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.usefixtures("impatient")
def test_an_unavailable_provider_is_asked_again_by_a_retry(dag, failed, operator):
    run = failed(operator(dag, {"spark.app.password": UNAVAILABLE}))

    assert isinstance(run.error, ProviderUnavailableError)
    assert run.state == "up_for_retry"


@pytest.mark.parametrize(
    ("conf", "error"),
    [
        pytest.param({"spark.app.x": "${dirr:/x:y}"}, UnresolvedReferenceError, id="an unknown provider"),
        pytest.param({"spark.executor.cores": "many"}, ConfigException, id="a wrong type"),
        pytest.param({"spark.jars": "${dir:/x:y}"}, ExposedValueError, id="an exposed value"),
        pytest.param({"spark.app x": "1"}, ConfigException, id="an odd key"),
    ],
)
def test_what_somebody_has_to_correct_fails_without_a_retry(dag, failed, conf, error):
    run = failed(submit(dag, conf))

    assert type(run.error).__name__ == error.__name__
    assert run.state == "failed"


def test_a_policy_fails_a_task_without_a_retry(dag, failed, monkeypatch, tmp_path):
    (tmp_path / "policies.yaml").write_text("policies:\n- name: none\n  class: nothing-like-this\n")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))
    run = failed(submit(dag, {"spark.app.x": "1"}))

    assert isinstance(run.error, PolicyViolation)
    assert run.state == "failed"


def test_a_value_that_spark_would_change_fails_without_a_retry(dag, failed, secrets_dir):
    (secrets_dir / "home").write_text("${user.home}")
    run = failed(submit(dag, {"spark.hadoop.x.password": f"${{dir:{secrets_dir}:home}}"}))

    assert type(run.error).__name__ == "UndeliverableValueError"
    assert run.state == "failed"


def test_an_error_of_the_job_is_retried(dag, failed, monkeypatch):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")

    assert failed(submit(dag, {"spark.app.x": "1"})).state == "up_for_retry"


def test_a_mapped_task_fails_without_a_retry(dag, failed):
    partly = ConfiguredSparkSubmitOperator.partial(task_id="job", dag=dag, application="job.py", **NOT_DURABLE)
    run = failed(partly.expand(conf=[{"spark.app.password": DENIED}]), map_index=0)

    assert isinstance(run.error, AccessDeniedError)
    assert run.state == "failed"


def test_the_error_has_no_value_in_its_text_nor_in_its_chain(dag, failed, password):
    run = failed(submit(dag, {"spark.app.password": password, "spark.executor.cores": password}))

    assert run.state == "failed"
    assert CANARY not in "".join(traceback.format_exception(run.error)) + repr(run.error.args)
    assert run.error.__cause__ is None
    assert run.error.__context__ is None


# --- the error --------------------------------------------------------------------------------------------


class Task:
    """A task without a retry policy."""

    retry_policy = None

    @failing_at_once
    def run(self, error):
        raise error


def raised(error, task=None):
    with pytest.raises(type(error)) as caught:
        (task or Task()).run(error)
    return caught.value


@pytest.mark.parametrize(
    "name",
    [name for name, kind in vars(exceptions).items() if isinstance(kind, type) and issubclass(kind, Exception)],
)
def test_only_an_error_that_lasts_is_one_that_airflow_does_not_retry(name):
    kind = getattr(exceptions, name)
    lasts = kind not in {
        ConfigProvidersError,
        exceptions.ForbiddenError,
        exceptions.ProviderLookupError,
        exceptions.ProviderUnavailableError,
        exceptions.SubmitError,
    }

    assert isinstance(raised(kind("a sentence")), AirflowFailException) is lasts


def test_the_error_is_the_one_that_was_raised_and_shows_its_own_name():
    error = UnresolvedReferenceError("one", "two")
    found = raised(error)

    assert found is error
    assert repr(found) == "UnresolvedReferenceError('one', 'two')"
    assert found.problems == ("one", "two")
    assert traceback.format_exception_only(found)[0].startswith(
        "airflow_config_providers.exceptions.UnresolvedReferenceError: "
    )


def test_an_error_that_is_raised_twice_is_marked_once():
    error = raised(raised(AccessDeniedError("no")))

    assert type(error).__mro__.count(AirflowFailException) == 1


def test_a_pickled_error_is_of_its_class():
    error = pickle.loads(pickle.dumps(raised(AccessDeniedError("no"))))

    assert type(error) is AccessDeniedError
    assert error.problems == ("no",)


# --- retry policies of Airflow 3.3 and later ----------------------------------------------------------------


@pytest.fixture
def policy():
    """Make a retry policy with one rule."""
    retry_policy = pytest.importorskip("airflow.sdk.definitions.retry_policy")

    def make(exception, action):
        rule = retry_policy.RetryRule(exception=exception, action=retry_policy.RetryAction(action))
        return retry_policy.ExceptionRetryPolicy(rules=[rule])

    return make


def test_a_tasks_own_rule_for_an_error_goes_first(dag, failed, policy):
    rule = policy("airflow_config_providers.exceptions.AccessDeniedError", "retry")
    run = failed(submit(dag, {"spark.app.password": DENIED}, retry_policy=rule))

    assert isinstance(run.error, AccessDeniedError)
    assert run.state == "up_for_retry"


def test_a_retry_policy_that_has_no_rule_for_it_leaves_an_error_that_lasts_to_fail(dag, failed, policy):
    run = failed(submit(dag, {"spark.app.password": DENIED}, retry_policy=policy(TimeoutError, "retry")))

    assert isinstance(run.error, AccessDeniedError)
    assert run.state == "failed"


@pytest.mark.usefixtures("impatient")
def test_a_retry_policy_goes_on_deciding_about_other_errors(dag, failed, policy):
    rule = policy(ProviderUnavailableError, "fail")
    run = failed(submit(dag, {"spark.app.password": UNAVAILABLE}, retry_policy=rule))

    assert run.state == "failed"
