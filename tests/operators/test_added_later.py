"""What code adds to a task after it was rendered, and classes that people derive from an operator."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_sql import SparkSqlOperator
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, task, task_group

from airflow_config_providers.airflow_compat import AirflowTaskTimeout
from airflow_config_providers.exceptions import ConfigException, ExposedValueError, SubmitError
from airflow_config_providers.job.operator_specs import ConfLocation, OperatorSpec
from airflow_config_providers.operators.configure import configure_task, configured
from airflow_config_providers.operators.configured import ConfiguredOperator
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.operators.conftest import recording
from tests.operators.stock import StockOperator, everything_shown

pytestmark = pytest.mark.usefixtures("connections", "spark_submit")

JOB = {"task_id": "job", "application": "job.py"}
LATE = "it has a reference that was added or moved after the task was rendered"
OTHER_HOOK = "its execute() has submitted no job with the hook of the operator"


@pytest.fixture
def password(secrets_dir):
    """A reference to the canary."""
    (secrets_dir / "db-password").write_text(CANARY)
    return f"${{dir:{secrets_dir}:db-password}}"


def before_execute(change):
    """Return a hook that changes a task after it was rendered."""
    return lambda context: change(context["task"])


@pytest.mark.parametrize(
    ("label", "change"),
    [
        pytest.param("spark.app.late", lambda job, text: job.conf.update({"spark.app.late": text}), id="conf"),
        pytest.param("env_vars['LATE']", lambda job, text: job.env_vars.update(LATE=text), id="env_vars"),
        pytest.param("application_args[1]", lambda job, text: job.application_args.append(text), id="application_args"),
        pytest.param("jars", lambda job, text: setattr(job, "jars", text), id="a named argument"),
    ],
)
def test_a_reference_that_pre_execute_adds_is_refused(dag, run_task, password, spark_submit, label, change):
    job = ConfiguredSparkSubmitOperator(
        **JOB,
        dag=dag,
        conf={"spark.app.x": "y"},
        env_vars={"A": "b"},
        application_args=["--a"],
        pre_execute=before_execute(lambda job: change(job, password)),
    )

    error = run_task(job).error

    assert isinstance(error, ConfigException)
    assert str(error).startswith(f"{label}: {LATE}")
    assert spark_submit() == []


def test_a_reference_that_a_hook_gets_later_is_refused(dag, run_task, password, spark_submit):
    class LateOperator(ConfiguredSparkSubmitOperator):
        def _get_hook(self):
            hook = super()._get_hook()
            hook._conf["spark.app.late"] = password
            return hook

    error = run_task(LateOperator(**JOB, dag=dag)).error

    assert str(error).startswith(f"spark.app.late: {LATE}")
    assert spark_submit() == []


@pytest.mark.parametrize(
    ("text", "options"),
    [
        pytest.param("${env:HOME}", {}, id="which Spark replaces"),
        pytest.param("${HOME:-x}", {}, id="of no provider"),
        pytest.param("${dir:/none:x}", {"unresolved": "keep"}, id="which are kept"),
    ],
)
def test_other_strings_like_references_are_passed_on(dag, run_task, spark_submit, text, options):
    change = before_execute(lambda job: job.conf.update({"spark.app.late": text}))
    run_task(ConfiguredSparkSubmitOperator(**JOB, **options, dag=dag, conf={"spark.app.x": "y"}, pre_execute=change))

    assert spark_submit.spark_conf == {"spark.app.x": "y", "spark.app.late": text}


@pytest.mark.parametrize(
    ("added", "is_told"),
    [
        pytest.param({"spark.app.b": "1", "spark.app.a": "1"}, True, id="code"),
        pytest.param({"spark.openlineage.x": "1"}, False, id="openlineage"),
        pytest.param({"spark.yarn.submit.waitAppCompletion": "false"}, False, id="operator-that-follows-a-job"),
    ],
)
def test_the_log_names_keys_that_no_policy_has_seen(dag, run_task, spark_submit, capfd, added, is_told):
    change = before_execute(lambda job: job.conf.update(added))
    run_task(ConfiguredSparkSubmitOperator(**JOB, dag=dag, conf={"spark.app.x": "y"}, pre_execute=change))

    assert spark_submit.spark_conf == {"spark.app.x": "y", **added}
    assert ("the record lacks them: spark.app.a, spark.app.b" in "".join(capfd.readouterr())) is is_told


def test_a_string_that_replaces_one_with_a_reference_wins(dag, run_task, password, spark_submit):
    def change(job):
        job.conf["spark.app.x"] = "new"
        job.env_vars["A"] = "new"
        job.application_args[0] = "new"

    run_task(
        ConfiguredSparkSubmitOperator(
            **JOB,
            dag=dag,
            conf={"spark.app.x": password},
            env_vars={"A": password},
            application_args=[password],
            allow_exposed_arguments=True,
            pre_execute=before_execute(change),
        )
    )

    assert spark_submit.spark_conf["spark.app.x"] == "new"
    assert spark_submit.only.environ["A"] == "new"
    assert spark_submit.only.arguments[-1] == "new"


class ConfOperator(ConfiguredOperator, StockOperator):
    """An operator with Spark configuration in a field, which has the values while it runs."""

    template_fields = (*StockOperator.template_fields, "config_files", "effective_config")
    spec = OperatorSpec(conf=(ConfLocation("payload", ("conf",)),))


def test_a_key_that_pre_execute_adds_reaches_any_operator(dag, run_task, password):
    seen = []
    run_task(
        ConfOperator(
            task_id="job",
            dag=dag,
            payload={"conf": {"spark.app.x": password, "spark.app.y": "2"}},
            pre_execute=before_execute(
                lambda job: job.payload["conf"].update({"spark.app.y": "3", "spark.app.z": "4"})
            ),
            do=lambda job, _: seen.append(job.payload),
        )
    )

    assert seen == [{"conf": {"spark.app.x": CANARY, "spark.app.y": "3", "spark.app.z": "4"}}]


def test_a_reference_that_pre_execute_adds_to_any_operator_is_refused(dag, run_task, password):
    def change(job):
        job.payload["conf"]["spark.app.late"] = password

    job = ConfOperator(task_id="job", dag=dag, payload={"conf": {"a": "b"}}, pre_execute=before_execute(change))

    assert str(run_task(job).error).startswith(f"spark.app.late: {LATE}")


@pytest.mark.slow
def test_a_key_that_pre_execute_adds_reaches_a_session(dag, run_task, password, own_jvm):
    @task.configured_pyspark(
        task_id="job",
        dag=dag,
        config_kwargs={"spark.app.x": password, "spark.ui.enabled": "false"},
        pre_execute=before_execute(lambda job: job.config_kwargs.update({"spark.app.late": "1"})),
    )
    def job(spark):
        return [spark.conf.get("spark.app.late"), spark.conf.get("spark.app.x") == CANARY]

    run = run_task(job().operator)

    assert run.supervisor.sent("SetXCom")[0].value == ["1", True]


class AddingOperator(SparkSubmitOperator):
    """A team's class with a field of its own, which it puts into the configuration."""

    template_fields = (*SparkSubmitOperator.template_fields, "token")

    def __init__(self, token="", **kwargs):
        super().__init__(**kwargs)
        self.token = token

    def execute(self, context):
        self.conf = {**(self.conf or {}), "spark.app.text": self.token}
        return super().execute(context)


@pytest.mark.parametrize("conf", [{"spark.app.x": "y"}, None], ids=["beside other keys", "alone"])
def test_a_field_that_a_class_adds_has_the_value_while_it_runs(dag, run_task, password, spark_submit, capfd, conf):
    run = run_task(configured(AddingOperator)(**JOB, dag=dag, token=password, conf=conf))

    assert spark_submit.spark_conf["spark.app.text"] == CANARY
    assert CANARY not in str(spark_submit.only.arguments)
    assert CANARY not in everything_shown(run, capfd)


def changing(change):
    """Return a class of a team whose ``execute`` makes a change before it submits."""

    @configured
    class ChangingOperator(AddingOperator):
        def execute(self, context):
            change(self)
            return SparkSubmitOperator.execute(self, context)

    return ChangingOperator


@pytest.mark.parametrize(
    ("label", "change"),
    [
        ("env_vars['LATE']", lambda job, text: setattr(job, "env_vars", {"LATE": text})),
        ("application_args[0]", lambda job, text: setattr(job, "application_args", [text])),
    ],
    ids=["env_vars", "application_args"],
)
def test_a_reference_that_execute_adds_is_refused(dag, run_task, password, spark_submit, label, change):
    run = run_task(changing(lambda job: change(job, password))(**JOB, dag=dag, token=password))

    assert str(run.error).startswith(f"{label}: {LATE}")
    assert spark_submit() == []


@pytest.mark.parametrize("value", ["s3cret-token", "abc", "postgres"], ids=["usual", "short", "a common word"])
def test_a_value_that_execute_adds_to_the_configuration_is_in_no_command(
    dag, run_task, secrets_dir, spark_submit, value
):
    (secrets_dir / "token").write_text(value)
    kind = changing(lambda job: job.conf.update({"spark.app.late": job.token}))
    run_task(kind(**JOB, dag=dag, conf={"spark.app.x": "y"}, token=f"${{dir:{secrets_dir}:token}}"))

    assert spark_submit.spark_conf["spark.app.late"] == value
    assert spark_submit.only.conf == {"spark.app.x": "y"}


def test_a_value_that_execute_adds_where_others_can_read_it_is_refused(dag, run_task, password, spark_submit):
    kind = changing(lambda job: job.conf.update({"spark.driver.extraJavaOptions": f"-Dtoken={job.token}"}))
    run = run_task(kind(**JOB, dag=dag, conf={"spark.app.x": "y"}, token=password))

    assert isinstance(run.error, ExposedValueError)
    assert str(run.error).startswith("spark.driver.extraJavaOptions: the value that the code of the operator has put")
    assert spark_submit() == []


def test_a_hook_keeps_no_value_that_execute_has_given_it(dag, run_task, password):
    def change(job):
        job.conf["spark.app.late"] = job.token
        job.env_vars = {"LATE": job.token}

    seen = []
    run_task(
        changing(change)(
            **JOB,
            dag=dag,
            conf={"spark.app.x": "y"},
            token=password,
            post_execute=lambda context, result: seen.append(repr(vars(context["task"]._hook))),
        )
    )

    assert CANARY not in seen[0]
    assert password in seen[0]


def test_a_hook_keeps_what_a_kill_needs_even_if_a_value_is_like_it(dag, run_task, secrets_dir, monkeypatch):
    cluster = {"conn_type": "spark", "host": "spark://spark-master.prod", "port": 7077}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({**cluster, "extra": {"deploy-mode": "cluster"}}))
    (secrets_dir / "host").write_text("spark-master.prod")
    hooks = []

    class TimedOutOperator(ConfiguredSparkSubmitOperator):
        def _get_hook(self):
            hook = super()._get_hook()
            hook._driver_id = "driver-of-spark-master.prod"
            hook._submission = lambda *_: (_ for _ in ()).throw(AirflowTaskTimeout("too long"))
            hooks.append(hook)
            return hook

    run = run_task(TimedOutOperator(**JOB, dag=dag, conf={"spark.app.host": f"${{dir:{secrets_dir}:host}}"}))

    assert run.state == "failed"
    assert hooks[-1]._connection["master"] == "spark://spark-master.prod:7077"
    assert hooks[-1]._driver_id == "driver-of-spark-master.prod"


def test_a_value_that_execute_adds_as_a_queue_is_refused(dag, run_task, password, spark_submit):
    kind = changing(lambda job: job.conf.update({"spark.yarn.queue": job.token}))
    run = run_task(kind(**JOB, dag=dag, conf={"spark.app.x": "y"}, token=password))

    assert str(run.error).startswith("spark.yarn.queue: the value that the code of the operator has put there")
    assert spark_submit() == []


@pytest.mark.parametrize(
    ("master", "mode", "readers"),
    [
        pytest.param("yarn", "client", "the logs of the application on YARN", id="yarn"),
        pytest.param("k8s://h", "cluster", "the pod of the driver", id="k8s, cluster mode"),
        pytest.param("k8s://h", "client", "", id="k8s, where it stays on the worker"),
        pytest.param("local[1]", "client", "", id="local"),
    ],
)
def test_a_value_that_execute_puts_into_a_variable_is_refused_where_others_can_read_it(
    dag, run_task, password, spark_submit, run_on, master, mode, readers
):
    run_on(master, mode)
    kind = changing(lambda job: setattr(job, "env_vars", {"LOGIN": job.token}))

    run = run_task(kind(**JOB, dag=dag, token=password, conf={"spark.kubernetes.namespace": "n"}))

    told = "env_vars['LOGIN']: the value that the code of the operator has put there would be readable by everyone"
    assert str(run.error).startswith(told) is bool(readers)
    assert readers in str(run.error)
    assert bool(spark_submit()) is not bool(readers)


@pytest.mark.parametrize(
    ("allowed", "authored"), [(True, {}), (None, {"LOGIN": "s3cret-token"})], ids=["allowed", "written by the author"]
)
def test_a_variable_with_a_value_is_not_refused_if_it_is_allowed_or_was_there_before(
    dag, run_task, secrets_dir, spark_submit, monkeypatch, allowed, authored
):
    (secrets_dir / "token").write_text("s3cret-token")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "yarn"}))
    kind = changing(lambda job: setattr(job, "env_vars", {"LOGIN": job.token}))

    run = run_task(
        kind(
            **JOB,
            dag=dag,
            token=f"${{dir:{secrets_dir}:token}}",
            allow_exposed_arguments=allowed,
            env_vars=authored,
            conf={"spark.app.x": "y"},
        )
    )

    assert run.error is None
    assert spark_submit() != []


def test_a_string_that_only_looks_like_a_value_is_no_value(dag, run_task, secrets_dir, spark_submit):
    (secrets_dir / "memory").write_text("4g")
    change = before_execute(lambda job: job.conf.update({"spark.driver.memory": "4g", "spark.app.name": "a 4g job"}))
    conf = {"spark.executor.memory": f"${{dir:{secrets_dir}:memory}}"}
    run = run_task(ConfiguredSparkSubmitOperator(**JOB, dag=dag, conf=conf, pre_execute=change))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.driver.memory"] == "4g"


class OwnHookOperator(SparkSubmitOperator):
    """A team's class that submits in its own way."""

    def execute(self, context):
        SparkSubmitHook(conf=self.conf, conn_id=self._conn_id).submit(self.application)


class IdleOperator(SparkSubmitOperator):
    """A team's class that calls the base."""

    def execute(self, context):
        return super().execute(context)


@pytest.mark.parametrize(("kind", "is_told"), [(OwnHookOperator, True), (IdleOperator, False)])
def test_the_log_tells_of_a_job_that_another_hook_submitted(dag, run_task, password, capfd, kind, is_told):
    job = kind(**JOB, dag=dag, conf={"spark.app.x": password})
    configure_task(job)

    assert run_task(job).state == "success"
    assert (OTHER_HOOK in "".join(capfd.readouterr())) is is_told


@pytest.mark.parametrize("text", ["y", "${env:HOME}"], ids=["no reference", "a reference that Spark replaces"])
def test_nothing_is_said_of_a_hook_without_references(dag, run_task, capfd, text):
    job = OwnHookOperator(**JOB, dag=dag, conf={"spark.app.x": text})
    configure_task(job)
    run_task(job)

    assert OTHER_HOOK not in "".join(capfd.readouterr())


class OwnExecute(ConfiguredSparkSubmitOperator):
    """A class below ours that does not call its base."""

    def execute(self, context):
        self._get_hook().submit(self.application)
        raise ValueError(context["ti"].task.job_values())

    def job_values(self):
        return self._try_state.handover.configs_for(self.conf)["spark.app.x"]


def test_values_end_with_an_execute_that_does_not_call_its_base(dag, run_task, password, spark_submit, capfd):
    run = run_task(OwnExecute(**JOB, dag=dag, conf={"spark.app.x": password}))

    assert spark_submit.spark_conf["spark.app.x"] == CANARY
    assert str(run.error) == password
    assert CANARY not in everything_shown(run, capfd)
    with pytest.raises(ConfigException, match="was cleared"):
        run.task.job_values()


def test_what_an_execute_that_does_not_call_its_base_stores_has_references(dag, run_task, password):
    told = {}

    class Telling(OwnExecute):
        def execute(self, context):
            context["ti"].xcom_push("x", [self.job_values()])
            context["told"] = [self.job_values()]
            told["context"] = context

    run = run_task(Telling(**JOB, dag=dag, conf={"spark.app.x": password}))

    assert run.supervisor.sent("SetXCom")[0].value == [password]
    assert told["context"]["told"] == [password]


def test_values_end_with_an_execute_that_a_mixin_brings(dag, run_task, password):
    class Mixin:
        def execute(self, context):
            return self._get_hook().submit(self.application)

    class MixedOperator(Mixin, ConfiguredSparkSubmitOperator):
        job_values = OwnExecute.job_values

    run = run_task(MixedOperator(**JOB, dag=dag, conf={"spark.app.x": password}))

    assert run.state == "success"
    with pytest.raises(ConfigException, match="was cleared"):
        run.task.job_values()


def test_an_execute_below_another_one_can_submit_twice(dag, run_task, password, spark_submit):
    class Base(ConfiguredSparkSubmitOperator):
        def execute(self, context):
            return self._get_hook().submit(self.application)

    class TwiceOperator(Base):
        def execute(self, context):
            super().execute(context)
            return super().execute(context)

    run = run_task(TwiceOperator(**JOB, dag=dag, conf={"spark.app.x": password}))

    assert run.state == "success", run.error
    assert len(spark_submit()) == 2


def test_the_log_tells_that_fields_had_no_values(dag, run_task, password, capfd):
    class OwnOperator(ConfiguredOperator, StockOperator):
        def execute(self, context):
            return self.payload

    run = run_task(OwnOperator(task_id="job", dag=dag, payload=password))

    assert run.supervisor.sent("SetXCom")[0].value == password
    assert "has not called super().execute()" in "".join(capfd.readouterr())


def test_the_log_tells_that_fields_had_no_values_when_a_query_was_submitted(
    dag, run_task, password, tmp_path, monkeypatch, capfd
):
    (tmp_path / "sql").mkdir()
    queries = recording("spark-sql", tmp_path / "sql", monkeypatch)

    class OwnQuery(configured(SparkSqlOperator)):
        def execute(self, context):
            return SparkSqlOperator.execute(self, context)

    sql = f"select '{password}'"
    run = run_task(OwnQuery(task_id="job", dag=dag, sql=sql, allow_exposed_arguments=True))

    assert run.state == "success", run.error
    assert sql in queries.only.arguments
    assert "has not called super().execute()" in "".join(capfd.readouterr())


def test_the_log_tells_nothing_of_fields_if_the_job_could_not_begin(dag, run_task, password, capfd):
    class OwnOperator(ConfiguredOperator, StockOperator):
        def execute(self, context):
            self.on_kill()
            with pytest.raises(SubmitError):
                super().execute(context)

    run = run_task(OwnOperator(task_id="job", dag=dag, payload=password))

    assert run.state == "success", run.error
    assert "has not called super().execute()" not in "".join(capfd.readouterr())


def test_an_execute_that_is_called_twice_gets_values_twice(dag, connections, password):
    seen = []

    class OwnOperator(ConfiguredOperator, StockOperator):
        def execute(self, context):
            return super().execute(context)

    job = OwnOperator(task_id="job", dag=dag, payload=password, do=lambda it, _: seen.append(it.payload))
    job = job.prepare_for_execution()
    job.render_template_fields({})
    for _ in range(2):
        job.execute({})
        job._try_state.run.close()

    assert seen == [CANARY, CANARY]


def test_a_second_execute_that_does_not_call_its_base_returns_references_too(dag, connections, password):
    kept = []

    class OwnOperator(ConfiguredOperator, StockOperator):
        def execute(self, context):
            kept[:] = kept or [self._try_state.run.resolved.text("payload")]
            return list(kept)

    job = OwnOperator(task_id="job", dag=dag, payload=password).prepare_for_execution()
    job.render_template_fields({})
    results = [job.execute({}), job.execute({})]
    job._try_state.run.close()

    assert (kept, results) == ([CANARY], [[password], [password]])


class LateAttribute(StockOperator):
    """A team's class that only sets an attribute of a name of ours when it is made."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.config_files = ["a.ini"]


def test_a_class_that_sets_an_attribute_of_ours_is_refused_when_it_is_made(dag):
    with pytest.raises(ConfigException, match="LateAttribute has its own config_files"):
        configured(LateAttribute)(task_id="job", dag=dag)


class WithArgument(SparkSubmitOperator):
    """A team's class with an argument of a name that is ours, too."""

    def __init__(self, *, streaming=None, **kwargs):
        super().__init__(**kwargs)
        self.is_streaming = streaming


class WithClassAttribute(SparkSubmitOperator):
    """A team's class with an attribute of a name that is ours, too."""

    config_files = ("a.ini",)


class WithAttribute(SparkSubmitOperator):
    """A team's class whose objects have an attribute of a name that is ours, too."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.config_files = ["a.ini"]


@pytest.mark.parametrize("kind", [WithClassAttribute, WithAttribute])
def test_a_class_with_a_name_of_ours_is_refused_and_left_as_it_is(dag, kind):
    job = kind(**JOB, dag=dag)

    with pytest.raises(ConfigException, match=f"Class {__name__}.{kind.__name__} has its own config_files. .*Rename"):
        configure_task(job)
    assert type(job) is kind


def test_a_class_with_an_argument_of_ours_loses_it_only_if_it_is_made_anew(dag):
    job = WithArgument(**JOB, dag=dag, streaming="mine")
    configure_task(job)

    assert job.is_streaming == "mine"
    with pytest.raises(ConfigException, match="WithArgument has its own streaming"):
        configured(WithArgument)


def test_a_mapped_task_of_a_class_with_a_name_of_ours_is_refused(dag):
    with dag:
        job = WithArgument.partial(**JOB).expand(conf=[{"a": "b"}])

    with pytest.raises(ConfigException, match="has its own streaming"):
        configure_task(job)
    assert job.operator_class is WithArgument


@pytest.fixture
def group():
    """Return a function that maps a group with a job over passwords; returns the job."""

    def mapped(passwords):
        with DAG("m", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)) as dag:

            @task_group
            def group(password):
                ConfiguredSparkSubmitOperator(**JOB, conf={"spark.app.x": password})

            @task
            def passwords_from_data():
                return []

            group.expand(password=passwords_from_data() if passwords is None else passwords)
        return dag.task_dict["group.job"]

    return mapped


def test_a_literal_that_a_group_is_mapped_over_is_the_authors(run_task, group, password, spark_submit):
    job = group([password, "plain"])

    assert [run_task(job, map_index=index).state for index in range(2)] == ["success", "success"]
    assert [CANARY in str(one.properties) for one in spark_submit()] == [True, False]


def test_data_that_a_group_is_mapped_over_brings_no_reference(run_task, group, password, spark_submit):
    run = run_task(group(None), map_index=0, results={"passwords_from_data": [password]})

    assert str(run.error).startswith(
        "conf['spark.app.x']: a reference came from the result of a template in a file, or"
    )
    assert spark_submit() == []
