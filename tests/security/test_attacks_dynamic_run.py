"""Rows of the list of attacks that concern dynamic configuration and policies when a task runs."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.dynamic.document import Document, Sealed, StoredConfig, write
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    PolicyViolation,
    ReservedKeyError,
)
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.catalogue import spark_definition
from tests.dynamic.written import put

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "job")
RESOURCES = pytest.mark.parametrize("resource", [DEFAULT, DAG, TASK], ids=lambda one: one.type.name)
RESERVED = pytest.mark.parametrize(
    "key",
    [
        "config.providers",
        "config.providers.dir.class",
        "config.providers.dir.param.allowed.paths",
        "config.providers.mine.class",
    ],
)

pytestmark = pytest.mark.usefixtures("spark_submit", "connections")


def operator(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **kwargs)


def keep(store, resource, values):
    """Store what the commands refuse, as somebody does who can write Airflow's variables."""
    config = StoredConfig(values, 1)
    document = Document(1, tasks={resource.task_id: config}) if resource.task_id else Document(1, config)
    put(store, resource, write(document))


# --- 7: who changes configuration defines or re-points a provider ---------------------------------------


@RESOURCES
@RESERVED
def test_attack_07_no_change_reaches_the_definition_of_a_provider(store, resource, key):
    admin = ConfigAdmin(store, spark_definition())

    with pytest.raises(ReservedKeyError):
        admin.incremental_alter_configs({resource: [AlterConfigOp(key, "/")]})
    with pytest.raises(ReservedKeyError):
        admin.alter_configs({resource: {key: "/"}})
    assert store.texts == {}


@RESOURCES
@RESERVED
def test_attack_07_what_was_stored_in_another_way_defines_no_provider(
    dag, run_task, store, spark_submit, resource, key
):
    keep(store, resource, {key: "/", "spark.app.x": "${dir:/etc:hostname}"})
    run = run_task(operator(dag))

    assert isinstance(run.error, ReservedKeyError)
    assert spark_submit() == []


def test_attack_07_a_dynamic_reference_goes_to_the_deployment_s_provider_within_its_bounds(dag, run_task, store):
    keep(store, TASK, {"spark.app.x": "${dir:/etc:hostname}"})

    assert isinstance(run_task(operator(dag)).error, AccessDeniedError)


# --- 35: the environment of a worker --------------------------------------------------------------------


@pytest.fixture
def environment(monkeypatch):
    """Set variables on a worker whose environment is used as configuration."""
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__ENVIRONMENT_ENABLED", "True")
    return lambda **names: [monkeypatch.setenv(name, text) for name, text in names.items()]


def test_attack_35_the_environment_does_not_beat_what_operations_changed(
    dag, run_task, store, environment, spark_submit
):
    environment(SPARK_EXECUTOR_MEMORY="64g")
    keep(store, DEFAULT, {"spark.executor.memory": "2g"})
    run_task(operator(dag))

    assert spark_submit.only.conf == {"spark.executor.memory": "2g"}


def test_attack_35_the_environment_defines_no_provider(dag, run_task, environment, spark_submit):
    environment(CONFIG_PROVIDERS="evil", CONFIG_PROVIDERS_EVIL_CLASS="file")
    run = run_task(operator(dag))

    assert run.state == "success"
    assert spark_submit.only.conf == {}


def test_attack_35_the_environment_passes_no_policy_by(dag, run_task, environment, policies, spark_submit):
    policies("{name: memory, class: bounds, params: {spark.executor.memory: {max: 8g}}}")
    environment(SPARK_EXECUTOR_MEMORY="64g")

    assert isinstance(run_task(operator(dag)).error, PolicyViolation)
    assert spark_submit() == []


def test_attack_35_the_environment_makes_no_change_look_like_none(dag, run_task, store, environment, policies):
    """Only by the dynamic layer is the key known at all: without it the variable would not count."""
    policies("{name: frozen, class: immutable_keys, params: {keys: [spark.app.frozen]}}")
    environment(SPARK_APP_FROZEN="evil")
    keep(store, TASK, {"spark.app.frozen": "evil"})

    assert isinstance(run_task(operator(dag)).error, PolicyViolation)


# --- 39: a DAG that reads what belongs to another team --------------------------------------------------


@pytest.fixture
def policies(tmp_path, monkeypatch):
    """Write the deployment's policies, one in YAML's short form each."""

    def write_policies(*lines):
        text = "policies:\n" + "".join(f"- {line}\n" for line in lines)
        (tmp_path / "policies.yaml").write_text(text)
        monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE", str(tmp_path / "policies.yaml"))

    return write_policies


@pytest.fixture
def teams(policies, secrets_dir):
    """Two teams with a folder of secrets each; the DAG ``flights`` is of the first. Gives a maker of references."""
    for team in ("flights", "hotels"):
        (secrets_dir / team).mkdir()
        (secrets_dir / team / "token").write_text(f"{team}-c4nary-token")
    policies(
        f"{{name: teams, class: allowed_references, params: {{allow: ["
        f"{{providers: [dir], paths: ['{secrets_dir}/flights'], dags: [flights]}}, "
        f"{{providers: [dir], paths: ['{secrets_dir}/hotels'], dags: ['hotels*']}}]}}}}"
    )
    return lambda path: f"${{dir:{secrets_dir}/{path}:token}}"


def test_attack_39_a_dag_reads_what_is_its_own(dag, run_task, teams, spark_submit):
    run_task(operator(dag, conf={"spark.app.x": teams("flights")}, env_vars={"TOKEN": teams("flights")}))

    assert spark_submit.spark_conf["spark.app.x"] == "flights-c4nary-token"
    assert spark_submit.only.environ["TOKEN"] == "flights-c4nary-token"


@pytest.mark.parametrize(
    "path",
    ["hotels", "flights/../hotels", "flights//../hotels", "./hotels", "%68otels"],
    ids=["plain", "up", "//", ".", "%"],
)
def test_attack_39_a_dag_does_not_read_what_belongs_to_another_team(dag, run_task, teams, spark_submit, path):
    run = run_task(operator(dag, conf={"spark.app.x": teams(path)}))

    assert isinstance(run.error, PolicyViolation)
    assert "Policy 'teams' denies" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("beside", ["{} token=x", "jdbc:x://user:password@host/{}"])
def test_attack_39_a_secret_beside_the_reference_is_no_way_round(dag, run_task, teams, spark_submit, beside):
    run = run_task(operator(dag, conf={"spark.app.x": beside.replace("{}", teams("hotels"))}))

    assert isinstance(run.error, PolicyViolation)
    assert spark_submit() == []


@pytest.mark.parametrize(
    "field",
    [
        pytest.param({"env_vars": {"TOKEN": "{}"}}, id="env_vars"),
        pytest.param({"application_args": ["{}"]}, id="application_args"),
        pytest.param({"proxy_user": "{}"}, id="proxy_user"),
        pytest.param({"post_submit_commands": ["echo {}"]}, id="post_submit_commands"),
        pytest.param({"name": "{}"}, id="name"),
        pytest.param({"properties_file": "{}"}, id="properties_file"),
        pytest.param({"config_files": ["{}"]}, id="config_files"),
    ],
)
def test_attack_39_no_other_field_is_a_way_round(dag, run_task, teams, spark_submit, secrets_dir, field):
    (secrets_dir / "hotels" / "token").write_text(str(secrets_dir / "empty"))
    (secrets_dir / "empty").write_text("")
    run = run_task(operator(dag, allow_exposed_arguments=True, **filled(field, teams("hotels"))))

    assert isinstance(run.error, PolicyViolation)
    assert spark_submit() == []


def filled(field, text):
    if isinstance(field, dict):
        return {key: filled(value, text) for key, value in field.items()}
    return [filled(item, text) for item in field] if isinstance(field, list) else field.replace("{}", text)


@RESOURCES
def test_attack_39_a_dynamic_layer_is_no_way_round(dag, run_task, teams, store, spark_submit, resource):
    keep(store, resource, {"spark.app.x": teams("hotels")})
    run = run_task(operator(dag))

    assert isinstance(run.error, PolicyViolation)
    assert spark_submit() == []


def test_attack_39_run_configuration_is_no_way_round(dag, run_task, teams, spark_submit, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_REFERENCES", "True")
    run = run_task(operator(dag), conf={"spark_conf": {"spark.app.x": teams("hotels")}})

    assert isinstance(run.error, PolicyViolation)
    assert spark_submit() == []


# --- 45: half old, half new -----------------------------------------------------------------------------


class ChangingStore(dict):
    """Texts that change just before one of the reads."""

    def __init__(self, versions, before_read):
        super().__init__(versions[0])
        self._next, self._before, self.reads = versions[1], before_read, 0

    def get(self, name, default=None):
        self.reads += 1
        if self.reads == self._before:
            self.update(self._next)
        return super().get(name, default)


@pytest.mark.parametrize("before_read", [1, 2, 3], ids=["before", "between the reads", "after"])
def test_attack_45_a_run_has_one_state_of_all_layers(dag, run_task, store, spark_submit, before_read):
    versions = []
    for value in ("old", "new"):
        ConfigAdmin(store).alter_configs(
            {DEFAULT: {"spark.app.default": value}, DAG: {"spark.app.dag": value}, TASK: {"spark.app.task": value}}
        )
        versions.append(dict(store.texts))
    store.texts = ChangingStore(versions, before_read)
    run_task(operator(dag))

    conf = spark_submit.only.conf
    assert conf.keys() == {"spark.app.default", "spark.app.dag", "spark.app.task"}
    assert set(conf.values()) in ({"old"}, {"new"})


def test_attack_45_what_is_shown_judged_and_submitted_is_one_state(dag, run_task, store, spark_submit, tmp_path):
    """A change while the job is submitted is seen by the next run."""
    ConfigAdmin(store).alter_configs({TASK: {"spark.app.x": "old"}})
    task = operator(dag)

    class Changing(ConfiguredSparkSubmitOperator):
        def _get_hook(self):
            ConfigAdmin(store).alter_configs({TASK: {"spark.app.x": "new"}})
            return super()._get_hook()

    task.__class__ = Changing
    run = run_task(task)
    task.__class__ = ConfiguredSparkSubmitOperator
    run_task(task)

    assert [submission.conf["spark.app.x"] for submission in spark_submit()] == ["old", "new"]
    assert run.rendered["effective_config"][0].startswith("spark.app.x = old ")
    assert len(run.supervisor.sent("GetVariable")) == 2


# --- 46: the text of a sealed secret that was tampered with ------------------------------------------


@pytest.mark.parametrize("text", ["", "x", "cipherAlgorithm:NULL,password:hunter2", "a" * 10_000])
def test_attack_46_a_sealed_text_that_is_none_is_not_handed_over(dag, run_task, store, spark_submit, monkeypatch, text):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__PASSWORD_ENCODER_SECRET", "an-encoder-secret")
    keep(store, DAG, {"spark.app.password": Sealed(text)})
    run = run_task(operator(dag))

    assert isinstance(run.error, ConfigException)
    assert "hunter2" not in str(run.error)
    assert spark_submit() == []
