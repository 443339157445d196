"""Dynamic configuration in a task, run by Airflow's real task runner."""

from __future__ import annotations

import json
import textwrap

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.core.reconfigurable import Reconfigurables
from airflow_config_providers.core.sensitive import Password
from airflow_config_providers.deployment.following import follow
from airflow_config_providers.dynamic import ConfigAdmin, PasswordEncoder
from airflow_config_providers.dynamic.document import Document, Sealed, StoredConfig, name_of, write
from airflow_config_providers.exceptions import (
    ConfigException,
    ExposedValueError,
    PolicyViolation,
    ProviderUnavailableError,
    ReservedKeyError,
)
from airflow_config_providers.job.authored_job import AuthoredJob, JobOptions
from airflow_config_providers.job.configuration import JobConfiguration
from airflow_config_providers.job.job_layers import JobLayers
from airflow_config_providers.job.resolver import Driver
from airflow_config_providers.job.steered_layers import refresh_mark
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.catalogue import OF_AUTHOR, READ_ONLY, spark_definition
from airflow_config_providers.spark.driver_providers import FILE_KEY
from tests.dynamic.written import put
from tests.limits import eventually
from tests.operators.conftest import Supervisor
from tests.operators.stock import SHOWS_OUTPUT

SECRET = "an-encoder-secret-of-the-tests"
CANARY = "c4nary/s3aled+value"
PASSWORD = "spark.app.db.password"
DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "job")

pytestmark = pytest.mark.usefixtures("spark_submit", "connections")


@pytest.fixture
def encoder_secret(monkeypatch):
    """Workers that can open what was sealed."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", SECRET)


@pytest.fixture
def in_task(store, monkeypatch):
    """The supervisor of a task that this process is."""
    from airflow.sdk.execution_time import task_runner

    supervisor = Supervisor(store, {}, None)
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)
    return supervisor


@pytest.fixture
def alter(store):
    """Change a resource as the command line does: ``alter(TASK, {key: value})``."""

    def change(resource, configs):
        admin = ConfigAdmin(store, spark_definition(), seal=PasswordEncoder(SECRET, iterations=1000).encode)
        admin.incremental_alter_configs({resource: [AlterConfigOp(key, text) for key, text in configs.items()]})

    return change


@pytest.fixture
def policies(tmp_path, monkeypatch):
    """Write the deployment's file of policies."""

    def write_policies(text):
        (tmp_path / "policies.yaml").write_text(textwrap.dedent(text))
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))

    return write_policies


@pytest.fixture
def recorded(policies, tmp_path, monkeypatch):
    """What a policy is shown."""
    name = "tests.operators.recording.RecordingPolicy"
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ALLOWED_POLICY_CLASSES", name)
    record = tmp_path / "requests.jsonl"
    policies(f"policies:\n- name: recorder\n  class: {name}\n  params: {{file: {record}}}\n")
    return lambda: [json.loads(line) for line in record.read_text().splitlines()]


def operator(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **kwargs)


def stored(store, resource, values, **more):
    """Store what no command would."""
    put(store, resource, write(Document(1, StoredConfig(values, 1), **more)))


def requests(run):
    return [message.key for message in run.supervisor.sent("GetVariable")]


def everything_sent(run):
    return "".join(repr(m) for m in run.supervisor.messages if type(m).__name__ != "MaskSecret")


# --- layers ---------------------------------------------------------------------------------------------


def test_dynamic_layers_beat_the_dag_and_say_where_they_come_from(dag, run_task, alter, spark_submit):
    alter(DEFAULT, {"spark.app.a": "default", "spark.app.b": "default", "spark.app.c": "default"})
    alter(DAG, {"spark.app.b": "dag", "spark.app.c": "dag"})
    alter(TASK, {"spark.app.c": "task"})
    run = run_task(operator(dag, conf={"spark.app.a": "deployed"}))

    assert spark_submit.spark_conf == {"spark.app.a": "default", "spark.app.b": "dag", "spark.app.c": "task"}
    assert run.rendered["effective_config"] == [
        "spark.app.a = default   # DYNAMIC_DEFAULT_CONFIG, dynamic configuration of the deployment default, version 1; "
        "beats DAG_CONFIG conf = deployed",
        "spark.app.b = dag   # DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version 1; beats "
        "DYNAMIC_DEFAULT_CONFIG dynamic configuration of the deployment default, version 1 = default",
        "spark.app.c = task   # DYNAMIC_TASK_CONFIG, dynamic configuration of task 'job' of DAG 'flights', version 2; "
        "beats DYNAMIC_DAG_CONFIG dynamic configuration of DAG 'flights', version 1 = dag; beats "
        "DYNAMIC_DEFAULT_CONFIG dynamic configuration of the deployment default, version 1 = default",
    ]


def test_a_named_argument_of_the_dag_is_overridden(dag, run_task, alter, spark_submit):
    alter(DAG, {"spark.executor.memory": "8g"})
    run_task(operator(dag, executor_memory="4g"))

    assert spark_submit.only.conf == {"spark.executor.memory": "8g"}
    assert "--executor-memory" not in spark_submit.only.arguments


def test_run_configuration_and_environment_keep_their_ranks(dag, run_task, alter, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED", "True")
    monkeypatch.setenv("SPARK_APP_A", "environment")
    monkeypatch.setenv("SPARK_APP_B", "environment")
    alter(TASK, {"spark.app.b": "dynamic", "spark.app.c": "dynamic"})
    task = operator(dag, conf={"spark.app.a": "dag", "spark.app.b": "dag"})
    run_task(task, conf={"spark_conf": {"spark.app.c": "run"}})

    assert spark_submit.only.conf == {"spark.app.a": "environment", "spark.app.b": "dynamic", "spark.app.c": "run"}


@pytest.mark.parametrize(
    ("authored", "altered"),
    [
        pytest.param({}, {"spark.eventLog.dir": f"/x/${{{PASSWORD}}}"}, id="under a key that Spark shows"),
        pytest.param(
            {"spark.eventLog.dir": "/x/${spark.app.user}"},
            {"spark.app.user": f"${{{PASSWORD}}}"},
            id="under a part of it",
        ),
    ],
)
def test_spark_is_not_made_to_show_a_secret_that_the_author_wrote_out(
    dag, run_task, alter, spark_submit, authored, altered
):
    alter(TASK, altered)
    run = run_task(operator(dag, conf={PASSWORD: CANARY, **authored}))

    assert isinstance(run.error, ExposedValueError)
    assert f"Spark replaces {PASSWORD} in it" in str(run.error)
    assert spark_submit() == []


def test_the_author_may_show_it(dag, run_task, alter, spark_submit):
    alter(TASK, {"spark.app.x": f"${{{PASSWORD}}}"})
    run_task(operator(dag, conf={PASSWORD: CANARY, "spark.eventLog.dir": f"/x/${{{PASSWORD}}}"}))

    assert spark_submit.spark_conf["spark.eventLog.dir"] == f"/x/${{{PASSWORD}}}"


def test_references_in_dynamic_values_are_resolved(dag, run_task, alter, spark_submit, secrets_dir):
    (secrets_dir / "db-password").write_text(CANARY)
    reference = f"${{dir:{secrets_dir}:db-password}}"
    alter(DEFAULT, {PASSWORD: reference})
    run = run_task(operator(dag))

    assert spark_submit.spark_conf[PASSWORD] == CANARY
    assert CANARY not in str(spark_submit.only.arguments) + everything_sent(run)
    assert run.rendered["effective_config"][0].startswith(f"{PASSWORD} = {reference}   # DYNAMIC_DEFAULT_CONFIG, ")


def test_another_value_of_a_secret_counts_from_the_next_try_on(dag, run_task, alter, spark_submit, secrets_dir):
    alter(DEFAULT, {PASSWORD: f"${{dir:{secrets_dir}:db-password}}"})
    task = operator(dag)
    for value in ("first-secret", "second-secret"):
        (secrets_dir / "db-password").write_text(value)
        run_task(task)

    first, second = (submission.properties for submission in spark_submit())
    assert ("first-secret" in first, "second-secret" in first) == (True, False)
    assert ("first-secret" in second, "second-secret" in second) == (False, True)


def test_a_dynamic_value_is_never_a_template(dag, run_task, alter, spark_submit):
    alter(TASK, {"spark.app.x": "{{ 7 * 6 }}"})
    run_task(operator(dag))

    assert spark_submit.spark_conf == {"spark.app.x": "{{ 7 * 6 }}"}


def test_a_change_counts_from_the_next_try_on(dag, run_task, alter, spark_submit):
    task = operator(dag, conf={"spark.app.x": "deployed"})
    run_task(task)
    alter(TASK, {"spark.app.x": "changed"})
    run_task(task)

    assert [submission.conf["spark.app.x"] for submission in spark_submit()] == ["deployed", "changed"]


def test_a_try_reads_two_variables_however_much_is_configured(dag, run_task, alter):
    alter(TASK, {f"spark.app.k{n}": "x" for n in range(500)})

    assert requests(run_task(operator(dag))) == [name_of(DEFAULT), name_of(TASK)]


def test_nothing_is_read_where_the_deployment_says_so(dag, run_task, alter, spark_submit, monkeypatch):
    alter(TASK, {"spark.app.x": "changed"})
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")
    run = run_task(operator(dag))

    assert requests(run) == []
    assert spark_submit.only.conf == {}


def test_the_mark_of_a_task_differs_after_a_change_and_after_a_refresh(store, in_task, alter):
    marks = [refresh_mark(TASK)]
    alter(DEFAULT, {"spark.app.a": "1"})
    marks.append(refresh_mark(TASK))
    for resource in (TASK, DAG, DEFAULT):
        ConfigAdmin(store).refresh([resource])
        marks.append(refresh_mark(TASK))

    assert len(set(marks)) == len(marks)
    alter(ConfigResource.of_task("flights", "other"), {"spark.app.a": "1"})
    assert refresh_mark(TASK) == marks[-1]


def test_a_change_while_a_job_resolves_differs_from_the_mark_of_its_run(connections, in_task, alter):
    alter(TASK, {"spark.app.rate": "10"})
    authored = AuthoredJob(options=JobOptions(reload_action="restart"))
    configuration = JobConfiguration(TASK, authored, [], Driver(False), None, JobLayers(str, print))
    with configuration.settled() as settled:
        alter(TASK, {"spark.app.rate": "20"})
        run = configuration.run_of(settled, configuration.verdict(settled))

    assert run.shown == {"spark.app.rate": "10"}
    assert run.dynamic_mark != refresh_mark(TASK)
    run.close()


def test_the_mark_of_a_task_is_one_request_until_its_dag_is_changed_and_then_two(store, in_task, alter):
    alter(DEFAULT, {"spark.app.a": "1"})
    refresh_mark(TASK)
    assert len(in_task.messages) == 1

    ConfigAdmin(store).refresh([TASK])
    in_task.messages.clear()
    refresh_mark(TASK)
    assert len(in_task.messages) == 2


def test_without_dynamic_configuration_a_mark_reads_nothing(in_task, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__DYNAMIC_ENABLED", "False")

    assert refresh_mark(TASK) == refresh_mark(TASK)
    assert in_task.messages == []


def test_objects_in_a_task_follow_over_the_execution_api(store, in_task, alter, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__FOLLOW_INTERVAL", "1")
    members = Reconfigurables({})
    with follow({TASK: members}):
        alter(DAG, {"spark.app.a": "1"})

        assert eventually(lambda: members.current == {"spark.app.a": "1"})


def test_a_plain_process_reads_nothing(dag, monkeypatch):
    from airflow.sdk.execution_time import task_runner

    monkeypatch.delattr(task_runner, "SUPERVISOR_COMMS", raising=False)
    task = operator(dag, conf={"spark.app.x": "1"}).prepare_for_execution()
    task.render_template_fields({})
    try:
        assert task.effective_config == ["spark.app.x = 1   # DAG_CONFIG, conf"]
    finally:
        task._try_state.run.close()


def test_mapped_tasks_have_the_dynamic_configuration_of_their_task(run_task, alter, spark_submit):
    from airflow import sdk

    alter(TASK, {"spark.app.x": "changed"})
    with sdk.DAG("flights", schedule=None):
        mapped = ConfiguredSparkSubmitOperator.partial(task_id="job", application="job.py").expand(
            conf=[{"spark.app.x": "0"}, {"spark.app.x": "1"}]
        )
    for index in range(2):
        run_task(mapped, map_index=index)

    assert [submission.conf for submission in spark_submit()] == [{"spark.app.x": "changed"}] * 2


@pytest.mark.parametrize("resource", [DEFAULT, DAG], ids=["deployment", "DAG"])
def test_an_outage_fails_the_task_and_is_not_taken_for_nothing(dag, run_task, store, spark_submit, resource):
    put(store, resource, OSError())
    run = run_task(operator(dag))

    assert isinstance(run.error, ProviderUnavailableError)
    assert name_of(resource) in str(run.error)
    assert spark_submit() == []


def test_a_document_that_cannot_be_read_fails_the_task(dag, run_task, store, spark_submit):
    put(store, DAG, "{odd")
    run = run_task(operator(dag))

    assert isinstance(run.error, ConfigException)
    assert name_of(DAG) in str(run.error)
    assert spark_submit() == []


def test_a_wrong_type_that_was_stored_is_found_before_spark_starts(dag, run_task, store, spark_submit):
    stored(store, DAG, {"spark.executor.instances": "two"})
    run = run_task(operator(dag))

    assert "dynamic configuration of DAG 'flights', version 1" in str(run.error)
    assert spark_submit() == []


# --- sealed secrets -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("encoder_secret")
def test_a_sealed_secret_reaches_spark_and_nobody_else(dag, run_task, alter, spark_submit, store, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_SPARK_PRINTS", f"connecting with {CANARY}")
    alter(TASK, {PASSWORD: CANARY})
    run = run_task(operator(dag, do_xcom_push=True))

    assert run.state == "success"
    assert spark_submit.spark_conf[PASSWORD] == CANARY
    assert CANARY not in str(spark_submit.only.arguments)
    assert CANARY not in everything_sent(run)
    assert CANARY not in repr([vars(run.task), vars(run.task._hook)])
    assert CANARY not in str(store.texts)
    output = "".join(capfd.readouterr())
    assert "connecting with [hidden]" in output
    assert CANARY not in output
    assert run.rendered["effective_config"][0].startswith(f"{PASSWORD} = [hidden]   # DYNAMIC_TASK_CONFIG, ")


@pytest.mark.usefixtures("encoder_secret")
def test_the_error_of_a_failed_job_hides_a_sealed_secret(dag, run_task, alter, monkeypatch, capfd):
    monkeypatch.setenv("FAKE_SPARK_EXIT", "1")
    monkeypatch.setenv("FAKE_SPARK_PRINTS", f"Exception: bad {CANARY}")
    alter(TASK, {PASSWORD: CANARY})
    run = run_task(operator(dag))

    assert run.state == "failed"
    assert "bad [hidden]" in str(run.error) or not SHOWS_OUTPUT
    assert CANARY not in "".join(capfd.readouterr()) + everything_sent(run)


@pytest.mark.usefixtures("encoder_secret")
@pytest.mark.parametrize(
    "text", ["${dir:/x:y}", "{{ 7 * 6 }}", "${env:HOME}"], ids=["reference", "template", "spark's"]
)
def test_a_sealed_secret_is_never_looked_into(dag, run_task, store, spark_submit, text):
    stored(store, DAG, {PASSWORD: Sealed(PasswordEncoder(SECRET, iterations=1000).encode(Password(text)))})
    run_task(operator(dag))

    assert spark_submit.spark_conf[PASSWORD] == text


@pytest.mark.usefixtures("encoder_secret")
def test_a_sealed_secret_that_is_beaten_is_not_opened(dag, run_task, store, spark_submit):
    task = StoredConfig({PASSWORD: "plain"}, 1)
    stored(store, DAG, {PASSWORD: Sealed("encrypted by someone else")}, tasks={"job": task})
    run = run_task(operator(dag))

    assert run.state == "success"
    assert spark_submit.spark_conf[PASSWORD] == "plain"
    assert run.rendered["effective_config"][0].count("[hidden]") == 2


@pytest.mark.parametrize("secret", [None, "another-secret"], ids=["no secret", "another secret"])
def test_a_sealed_secret_that_cannot_be_opened_fails_the_task_before_a_provider_is_asked(
    dag, run_task, alter, spark_submit, secrets_dir, monkeypatch, secret
):
    if secret:
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", secret)
    alter(TASK, {PASSWORD: CANARY})
    run = run_task(operator(dag, conf={"spark.app.x": f"${{dir:{secrets_dir}:nope}}"}))

    assert isinstance(run.error, ConfigException)
    assert len(run.error.problems) == 1
    assert str(run.error).startswith(f"{PASSWORD} (dynamic configuration of task 'job' of DAG 'flights', version 1): ")
    assert "password_encoder_secret" in str(run.error)
    assert run.rendered is None
    assert spark_submit() == []


def test_workers_read_with_the_old_secret_while_secrets_rotate(dag, run_task, alter, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", "the next secret")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_OLD_SECRET", SECRET)
    alter(TASK, {PASSWORD: CANARY})
    run_task(operator(dag))

    assert spark_submit.spark_conf[PASSWORD] == CANARY


def test_the_encoder_s_secret_can_be_given_by_a_command(dag, run_task, alter, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET_CMD", f"printf %s {SECRET}")
    alter(TASK, {PASSWORD: CANARY})
    run_task(operator(dag))

    assert spark_submit.spark_conf[PASSWORD] == CANARY


@pytest.mark.usefixtures("encoder_secret")
def test_a_sealed_secret_that_would_be_exposed_is_refused(dag, run_task, store, spark_submit):
    stored(
        store, DAG, {"spark.ssl.x.secret": Sealed(PasswordEncoder(SECRET, iterations=1000).encode(Password(CANARY)))}
    )
    run = run_task(operator(dag))

    assert isinstance(run.error, ExposedValueError)
    assert spark_submit() == []


# --- policies -------------------------------------------------------------------------------------------

AT_MOST_8G = """
    policies:
    - name: memory
      class: bounds
      params: {spark.executor.memory: {max: 8g}}
    - name: frozen
      class: immutable_keys
      params: {keys: [spark.jars]}
"""

ALTERED = "DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version 1"


def test_a_policy_denies_at_render_with_all_reasons_and_before_a_provider_is_asked(
    dag, run_task, store, policies, spark_submit, secrets_dir
):
    policies(AT_MOST_8G)
    stored(store, DAG, {"spark.executor.memory": "16g", "spark.jars": "evil.jar"})
    secrets_dir.rmdir()  # whoever opens the provider now fails
    run = run_task(operator(dag, conf={"spark.app.x": f"${{dir:{secrets_dir}:x}}"}))

    assert isinstance(run.error, PolicyViolation)
    assert run.error.problems == (
        "Policy 'memory' denies the configuration of task 'job' of DAG 'flights': 'spark.executor.memory' is more than "
        f"8g. Lower it. 'spark.executor.memory' is set in {ALTERED}.",
        "Policy 'frozen' denies the configuration of task 'job' of DAG 'flights': 'spark.jars' must stay as it is. "
        f"Remove it. 'spark.jars' is set in {ALTERED}.",
    )
    assert run.rendered is None
    assert spark_submit() == []


def test_what_policies_allow_is_submitted(dag, run_task, alter, policies, spark_submit):
    policies(AT_MOST_8G)
    alter(TASK, {"spark.executor.memory": "6g"})
    run_task(operator(dag, jars="mine.jar"))

    assert spark_submit.only.conf == {"spark.executor.memory": "6g", "spark.jars": "mine.jar"}


def test_policies_count_for_what_the_author_wrote_too(dag, run_task, policies):
    policies(AT_MOST_8G)

    assert isinstance(run_task(operator(dag, executor_memory="16g")).error, PolicyViolation)


ONLY_WARNING = AT_MOST_8G.replace("class:", "enforcement: warn\n      class:")
WARNED = (
    "Policy 'memory' only warns, and would deny the configuration of task 'job' of DAG 'flights': "
    f"'spark.executor.memory' is more than 8g. Lower it. 'spark.executor.memory' is set in {ALTERED}."
)


def test_a_policy_that_only_warns_stops_no_run_and_warns_in_its_log_once(
    dag, run_task, store, policies, spark_submit, capfd
):
    policies(ONLY_WARNING)
    stored(store, DAG, {"spark.executor.memory": "16g"})
    run = run_task(operator(dag))

    assert run.state == "success"
    assert spark_submit.only.conf == {"spark.executor.memory": "16g"}
    (line,) = [line for line in "".join(capfd.readouterr()).splitlines() if "only warns" in line]
    assert WARNED in line
    assert "warning" in line.lower()


def test_a_policy_that_only_warns_and_cannot_be_evaluated_stops_no_run(dag, run_task, policies, spark_submit, capfd):
    pytest.importorskip("cel_expr_python")
    policies("policies:\n- {name: odd, enforcement: warn, expression: \"after['no'] == 'x'\"}\n")

    assert run_task(operator(dag)).state == "success"
    assert "Policy 'odd' only warns" in "".join(capfd.readouterr())


def test_a_run_that_another_policy_denies_is_warned_of_too(dag, run_task, store, policies, capfd):
    policies(AT_MOST_8G.replace("class: bounds", "enforcement: warn\n      class: bounds"))
    stored(store, DAG, {"spark.executor.memory": "16g", "spark.jars": "evil.jar"})
    run = run_task(operator(dag))

    assert [problem.partition(" denies")[0] for problem in run.error.problems] == ["Policy 'frozen'"]
    assert WARNED in "".join(capfd.readouterr())


@pytest.mark.usefixtures("encoder_secret")
def test_a_policy_sees_before_and_after_with_references(
    dag, run_task, alter, recorded, secrets_dir, monkeypatch, tmp_path
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED", "True")
    monkeypatch.setenv("SPARK_APP_DYNAMIC", "counts for no key that the deployed DAG has")
    (secrets_dir / "token").write_text(CANARY)
    reference = f"${{dir:{secrets_dir}:token}}"
    alter(DEFAULT, {PASSWORD: CANARY, "spark.app.dynamic": "1"})
    task = operator(dag, conf={PASSWORD: "written-out", "spark.app.x": "dag"}, env_vars={"TOKEN": reference})
    run_task(task, conf={"spark_conf": {"spark.app.x": "run"}})

    shown, closed = recorded()
    assert shown == {
        "resource": "task 'job' of DAG 'flights'",
        "before": {PASSWORD: "[hidden]", "spark.app.x": "dag"},
        "after": {PASSWORD: "[hidden]", "spark.app.x": "run", "spark.app.dynamic": "1"},
        "at": "render",
        "hidden_changes": [PASSWORD],
        "texts": {"env_vars['TOKEN']": reference},
    }
    assert closed == "closed"


def test_a_secret_that_is_the_same_before_and_after_is_no_change(dag, run_task, recorded):
    run_task(operator(dag, conf={PASSWORD: "written-out"}))

    assert recorded()[0]["hidden_changes"] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(None, "cannot be read", id="no file"),
        pytest.param("policies: 7", "expected 'policies:'", id="another form"),
        pytest.param("policies:\n- {name: x, class: os.system}", "os.system", id="class that is not allowed"),
        pytest.param("policies:\n- {name: x, class: bounds, params: {}}", "no bound", id="parameters"),
        pytest.param(
            "policies:\n- {name: x, enforcement: warn, class: bounds, params: {}}",
            "no bound",
            id="of one that only warns",
        ),
    ],
)
def test_policies_that_cannot_be_loaded_deny(dag, run_task, policies, spark_submit, monkeypatch, tmp_path, text, said):
    if text is None:
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "nowhere.yaml"))
    else:
        policies(text)
    run = run_task(operator(dag))

    assert isinstance(run.error, PolicyViolation)
    assert said in str(run.error)
    assert run.rendered is None
    assert spark_submit() == []


def test_the_error_of_a_policy_has_no_cause_that_could_hold_a_value(dag, run_task, policies):
    policies("policies: 7")
    error = run_task(operator(dag)).error

    assert (error.__cause__, error.__context__) == (None, None)


# --- previews -------------------------------------------------------------------------------------------


def test_templates_in_the_dynamic_configuration_stay_as_they_are(dag, run_task, store):
    stored(store, DAG, {"spark.app.day": "{{ ds }}"})

    run = run_task(operator(dag))

    assert run.rendered["effective_config"][0].startswith("spark.app.day = {{ ds }}   # DYNAMIC_DAG_CONFIG")


def test_a_preview_without_a_properties_file_fails(preview):
    with pytest.raises(ConfigException, match=r"'/nowhere/x.properties' cannot be read"):
        preview(config_files=["/nowhere/x.properties"])


@pytest.fixture
def preview(dag, store, monkeypatch):
    """Render as ``airflow tasks render`` does; gives the lines of ``effective_config``."""

    def render(**kwargs):
        for name in (name_of(DEFAULT), name_of(DAG)):
            monkeypatch.setenv(f"AIRFLOW_VAR_{name.upper()}", store.texts.get(name, write(Document())))
        task = operator(dag, **kwargs)
        task.render_template_fields({"ti": object(), "run_id": "r"})
        return task.effective_config

    return render


def test_a_preview_shows_dynamic_layers_and_opens_no_secret(preview, store):
    stored(store, DAG, {"spark.app.x": "changed", PASSWORD: Sealed("encrypted by someone else")})
    lines = preview(conf={"spark.app.x": "deployed"})

    assert lines == [
        f"{PASSWORD} = [hidden]   # DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version 1",
        "spark.app.x = changed   # DYNAMIC_DAG_CONFIG, dynamic configuration of DAG 'flights', version 1; "
        "beats DAG_CONFIG conf = deployed",
    ]


def test_a_preview_says_first_what_it_cannot_read(preview, store):
    put(store, DAG, "{odd")
    lines = preview(conf={"spark.app.x": "deployed"})

    assert lines[0].startswith(
        f"! Dynamic configuration is not shown: The dynamic configuration in the variable '{name_of(DAG)}'"
    )
    assert lines[1:] == ["spark.app.x = deployed   # DAG_CONFIG, conf"]


def test_a_preview_says_first_what_a_policy_would_deny(preview, store, policies):
    policies(AT_MOST_8G)
    stored(store, DAG, {"spark.executor.memory": "16g"})
    lines = preview()

    assert lines[0] == (
        "! Policy 'memory' denies the configuration of task 'job' of DAG 'flights': 'spark.executor.memory' is more "
        f"than 8g. Lower it. 'spark.executor.memory' is set in {ALTERED}."
    )
    assert lines[1].startswith("spark.executor.memory = 16g   # DYNAMIC_DAG_CONFIG, ")


def test_a_preview_says_first_of_what_a_policy_only_warns(preview, store, policies):
    policies(ONLY_WARNING)
    stored(store, DAG, {"spark.executor.memory": "16g"})

    assert preview()[0] == f"! {WARNED}"


def test_a_preview_says_first_which_reference_looks_like_another(preview):
    lines = preview(conf={"spark.app.x": "${dir:/x:p\u0430ss}"}, env_vars={"X": "${dir:/x:p\u0430ss}"})

    assert "! spark.app.x (conf): character 11 of the text, '\\u0430', is inside a reference" in lines[0]
    assert lines[1].startswith("! env_vars['X']: character 11 of the text, ")


def test_a_preview_says_first_which_files_it_does_not_read(preview):
    lines = preview(config_files=["${dir:/x:y}"])

    assert lines == ["! The path of file ${dir:/x:y} contains a reference, so the file is not shown."]


# --- keys that do not change ----------------------------------------------------------------------------


@pytest.mark.parametrize("key", READ_ONLY)
def test_a_read_only_key_is_described_as_such_and_not_altered(store, key):
    admin = ConfigAdmin(store, spark_definition())
    with pytest.raises(ConfigException) as caught:
        admin.incremental_alter_configs({TASK: [AlterConfigOp(key, "x")]})

    assert f"task 'job' of DAG 'flights': '{key}' is read-only: {READ_ONLY[key]}" in caught.value.problems
    assert store.texts == {}


@pytest.mark.parametrize("key", ["spark.config.providers", "spark.config.providers.v.class", FILE_KEY])
def test_the_providers_of_a_driver_are_not_altered_and_those_stored_can_be_deleted(store, key):
    ConfigAdmin(store).incremental_alter_configs({TASK: [AlterConfigOp(key, "x")]})  # as before they were refused
    admin = ConfigAdmin(store, spark_definition())
    with pytest.raises(ConfigException, match="belong to the deployment"):
        admin.incremental_alter_configs({TASK: [AlterConfigOp(key, "y")]})

    admin.incremental_alter_configs({TASK: [AlterConfigOp(key, op=OpType.DELETE)]})

    assert key not in admin.describe_configs([TASK])[TASK]


def test_describe_tells_a_read_only_key(store):
    stored(store, DAG, {"spark.master": "local[3]", "spark.app.x": "1"})
    entries = ConfigAdmin(store, spark_definition()).describe_configs([DAG])[DAG]

    assert entries["spark.master"].is_read_only
    assert not entries["spark.app.x"].is_read_only


def test_a_read_only_key_that_was_stored_can_be_deleted(store):
    stored(store, DAG, {"spark.master": "local[3]"})
    admin = ConfigAdmin(store, spark_definition())
    admin.incremental_alter_configs({DAG: [AlterConfigOp("spark.master", op=OpType.DELETE)]})

    assert "spark.master" not in admin.describe_configs([DAG])[DAG]


def test_a_master_of_the_dag_does_not_beat_that_of_the_connection(dag, run_task, spark_submit):
    run_task(operator(dag, conf={"spark.master": "local[3]"}))

    arguments = spark_submit.only.arguments
    assert arguments[arguments.index("--master") + 1] == "local[1]"


@pytest.mark.parametrize("key", OF_AUTHOR)
def test_a_stored_key_that_would_change_where_the_job_runs_or_how_it_is_followed_is_refused(dag, run_task, store, key):
    """Also a master, which has no effect on spark-submit: a function's session would go where it says."""
    stored(store, DAG, {key: "x"})

    (problem,) = run_task(operator(dag)).error.problems
    assert problem.startswith(f"'{key}' in dynamic configuration of DAG 'flights', version ")
    assert problem.endswith(f" is read-only: {READ_ONLY[key]}")


def test_a_key_of_the_deployment_that_was_stored_is_refused(dag, run_task, store):
    stored(store, DAG, {"config.providers.mine.class": "file"})

    assert isinstance(run_task(operator(dag)).error, ReservedKeyError)
