"""Row 68 of the list of attacks: keys that a command would split, by every way in; and what a command cannot carry."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest

from airflow_config_providers.cli import arguments
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, OpType, ResourceType
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.dynamic.document import Document, StoredConfig, name_of, write
from airflow_config_providers.dynamic.policies import ForbiddenKeys
from airflow_config_providers.exceptions import ConfigException, SubmitError, UndeliverableValueError
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark import driver
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.testing import InMemoryConfigStore
from tests.dynamic.written import put
from tests.operators.stock import NOT_DURABLE
from tests.operators.test_services import databricks, livy, service, spark_sql, sql  # noqa: F401 - fixtures

DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "flights")
TASK = ConfigResource.of_task("flights", "job")

SPLIT = "spark.redaction.regex=zzz"
KEYS = [
    pytest.param(SPLIT, "an equals sign", id="equals sign"),
    pytest.param("spark.driver.extraJavaOptions=-Dx=1 -Dz", "an equals sign", id="option of Java"),
    pytest.param("spark.redaction.regex ", "a blank", id="blank at the end"),
    pytest.param("spark.redaction.regex\u200b", "U+200B", id="zero-width space"),
    pytest.param("spark.redaction.regex\u00a0", "U+00A0", id="no-break space"),
    pytest.param("spark.a\nspark.redaction.regex", "U+000A", id="line end"),
]
VALUE = "1 "

pytestmark = pytest.mark.usefixtures("connections")


def submit(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **NOT_DURABLE, **kwargs)


def escaped(text):
    """Write a key or a value as a properties file has it."""
    return "".join(c if c.isalnum() or c == "." else f"\\u{ord(c):04x}" for c in text)


@pytest.mark.parametrize(("key", "told"), KEYS)
@pytest.mark.parametrize("way", ["conf", "config_files", "properties_file", "spark-defaults.conf", "run", "dynamic"])
def test_attack_68_a_key_that_a_command_would_split_comes_in_by_no_layer(
    dag, run_task, spark_submit, store, tmp_path, monkeypatch, way, key, told
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    folder = tmp_path / "spark-conf"
    folder.mkdir()
    file = (folder / "spark-defaults.conf") if way == "spark-defaults.conf" else (tmp_path / "base.properties")
    file.write_text(f"# first line\n{escaped(key)}={escaped(VALUE)}\n")
    if way == "dynamic":  # as an older version took it
        put(store, DAG, write(Document(1, StoredConfig({key: VALUE}, 1))))
    fields = {
        "conf": {"conf": {key: VALUE}},
        "config_files": {"config_files": [str(file)]},
        "properties_file": {"properties_file": str(file)},
    }
    run = run_task(submit(dag, **fields.get(way, {})), conf={"spark_conf": {key: VALUE}} if way == "run" else None)

    places = {"conf": "in conf: ", "run": "in dag_run.conf['spark_conf']: ", "dynamic": "in dynamic configuration of"}
    assert isinstance(run.error, ConfigException)
    assert places.get(way, f"in {file}:2: ") in str(run.error)
    assert f"of the key is {told}. " in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize(
    "conf",
    [
        *(pytest.param({param.values[0]: VALUE}, id=param.id) for param in KEYS),
        pytest.param("spark.redaction regex=1,spark.b=2", id="text, a blank"),
        pytest.param("spark.b=2,spark.a\nspark.b=1", id="text, a line end"),
    ],
)
def test_attack_68_nor_by_spark_sql(sql, spark_sql, run_task, conf):  # noqa: F811 - fixtures
    run = run_task(sql(sql="select 1", conf=conf))

    assert isinstance(run.error, ConfigException)
    assert "of the key is " in str(run.error)
    assert spark_sql() == []


def test_attack_68_nor_by_livy(livy, service, run_task):  # noqa: F811 - fixtures
    recorder, port = service({})
    run = run_task(livy(port, conf={SPLIT: VALUE}))

    assert f"'{SPLIT}' in spark_params['conf']: " in str(run.error)
    assert recorder.requests() == []


@pytest.mark.parametrize("several", [False, True], ids=["one cluster", "several clusters"])
def test_attack_68_nor_by_a_cluster_of_databricks(databricks, run_task, several):  # noqa: F811 - the fixture
    confs = [{"spark.a": "1"}, {SPLIT: VALUE}] if several else [{SPLIT: VALUE}]
    tasks = [{"task_key": f"t{n}", "new_cluster": {"spark_conf": conf}} for n, conf in enumerate(confs)]
    task, recorder = databricks(tasks=tasks)
    run = run_task(task)

    where = f"tasks[{len(confs) - 1}]['new_cluster']['spark_conf']"
    assert f"'{SPLIT}' in {where}: character 22 of the key is an equals sign" in str(run.error)
    assert [request for request in recorder.requests() if "submit" in request.path] == []


def test_attack_68_nor_by_a_variable_of_the_driver_on_kubernetes(dag, run_task, spark_submit, monkeypatch):
    pytest.importorskip("kubernetes", reason="pip install apache-airflow-providers-cncf-kubernetes")
    connection = {"conn_type": "spark", "host": "k8s://https://k8s", "extra": {"namespace": "x"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    run = run_task(submit(dag, env_vars={"A=B": "1", "GOOD": "1"}))

    assert "'spark.kubernetes.driverEnv.A=B' of env_vars: " in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize(("key", "told"), KEYS)
def test_attack_68_nor_in_the_driver(key, told):
    with pytest.raises(ConfigException, match="of the key is ") as error:
        driver.resolved({key: VALUE}, {}, has_begun=True)

    assert told in str(error.value)


def change(admin, operations):
    admin.incremental_alter_configs({DAG: operations})


@pytest.mark.parametrize(("key", "told"), KEYS)
@pytest.mark.parametrize(
    "alter",
    [
        pytest.param(lambda admin, key: change(admin, [AlterConfigOp(key, VALUE)]), id="set"),
        pytest.param(lambda admin, key: admin.alter_configs({DAG: {key: VALUE}}), id="replace"),
    ],
)
def test_attack_68_nor_by_a_change(alter, key, told):
    forbidden = ForbiddenKeys()
    forbidden.configure({"keys": ["spark.redaction.regex", "spark.driver.extraJavaOptions"]})
    store = InMemoryConfigStore()

    with pytest.raises(ConfigException, match="of the key is ") as error:
        alter(ConfigAdmin(store, spark_definition(), [forbidden]), key)

    assert told in str(error.value)
    assert store.texts == {}


def test_attack_68_nor_by_a_file_of_changes(tmp_path):
    file = tmp_path / "changes.properties"
    file.write_text("spark.driver.extraJavaOptions\\=-Dx\\=1\\ -Dz=1\\u0020\n")
    args = Namespace(add_config=None, add_config_file=str(file), delete_config=None, append=None, subtract=None)
    store = InMemoryConfigStore()

    with pytest.raises(ConfigException, match="of the key is an equals sign"):
        change(ConfigAdmin(store, spark_definition()), arguments.operations(args))
    assert store.texts == {}


def test_attack_68_what_an_older_version_stored_can_be_deleted_and_does_not_come_back():
    store = InMemoryConfigStore()
    store.texts[name_of(DAG)] = write(Document(1, StoredConfig({SPLIT: VALUE, "spark.app.x": "1"}, 1)))
    admin = ConfigAdmin(store, spark_definition())
    change(admin, [AlterConfigOp("spark.app.x", "2")])
    change(admin, [AlterConfigOp(SPLIT, None, OpType.DELETE)])

    assert SPLIT not in admin.describe_configs([DAG])[DAG]
    with pytest.raises(ConfigException, match="of the key is an equals sign"):
        admin.rollback(DAG)


# --- what no way is faithful to, and what a command cannot carry --------------------------------------


@pytest.mark.parametrize("value", ["\u00e9 ", "a\0 ", "x" * 200_000 + " "])
@pytest.mark.parametrize("kind", ["spark-submit", "spark-sql"])
def test_attack_68_what_no_way_is_faithful_to_stands_in_no_command(
    dag,
    run_task,
    spark_submit,
    sql,  # noqa: F811 - the fixture
    tmp_path,
    monkeypatch,
    kind,
    value,
):
    if kind == "spark-sql":
        (tmp_path / "bin" / "spark-submit").rename(tmp_path / "bin" / "spark-sql")
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_SQL_DEFAULT", json.dumps({"conn_type": "spark_sql", "host": "local"}))
        run = run_task(sql(sql="select 1", conf={"spark.app.x": value}))
    else:
        run = run_task(submit(dag, conf={"spark.app.x": value}))

    assert isinstance(run.error, UndeliverableValueError)
    assert "spark.app.x: neither a command nor a properties file delivers this key" in str(run.error)
    assert spark_submit() == []


def test_a_plain_value_with_a_blank_at_its_end_goes_by_the_command(dag, run_task, spark_submit):
    run_task(submit(dag, conf={"spark.app.x": "1 "}))

    assert spark_submit.only.conf == {"spark.app.x": "1 "}


@pytest.mark.slow
def test_thirty_thousand_plain_keys_reach_spark(dag, run_task, spark_submit, tmp_path, monkeypatch):
    """
    No command has room for them.

    They come with the run, where Airflow fills in no templates: that takes seconds for so many.
    """
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    folder = tmp_path / "spark-conf"
    folder.mkdir()
    (folder / "spark-defaults.conf").write_text("spark.app.default=yes\nspark.app.key000001=weaker\n")
    many = {f"spark.app.key{n:06}": str(n) for n in range(30_000)}
    conf = {**many, "spark.app.end": "1 ", "spark.app.name": "mine"}
    run = run_task(submit(dag), conf={"spark_conf": conf})

    assert run.state == "success", run.error
    assert spark_submit.only.conf == {"spark.app.end": "1 ", "spark.app.name": "mine"}
    assert spark_submit.spark_conf == {**conf, "spark.app.default": "yes"}


@pytest.mark.parametrize("arguments", [["x " * 100_000], ["x " * 60_000] * 30], ids=["a long one", "many"])
def test_arguments_that_are_too_much_for_a_command_are_told(dag, run_task, spark_submit, arguments):
    run = run_task(submit(dag, application_args=arguments))

    assert isinstance(run.error, SubmitError)
    assert "The command is too long for this machine" in str(run.error)


def test_an_environment_variable_that_is_too_much_for_a_command_is_told(dag, run_task, spark_submit):
    run = run_task(submit(dag, env_vars={"APP_DATA": "x" * 200_000}))

    assert isinstance(run.error, SubmitError)
    assert "an environment variable is longer than 128 KiB" in str(run.error)


def test_a_query_that_is_too_long_for_a_command_is_told(sql, spark_sql, run_task):  # noqa: F811 - fixtures
    run = run_task(sql(sql=f"select '{'x' * 200_000}'"))

    assert isinstance(run.error, SubmitError)


SURROGATE = "a\ud800b"


@pytest.mark.parametrize("way", ["conf", "config_files", "run"])
def test_half_of_a_surrogate_pair_is_refused_and_named_by_its_key(
    dag, run_task, spark_submit, tmp_path, monkeypatch, way
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    file = tmp_path / "base.properties"
    file.write_text("spark.app.x=a\\ud800b\n")
    fields = {"conf": {"conf": {"spark.app.x": SURROGATE}}, "config_files": {"config_files": [str(file)]}}
    conf = {"spark_conf": {"spark.app.x": SURROGATE}} if way == "run" else None
    run = run_task(submit(dag, **fields.get(way, {})), conf=conf)

    assert isinstance(run.error, ConfigException)
    assert "'spark.app.x' in " in str(run.error)
    assert "character 2 of its value is half of a surrogate pair" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("name", ["spark.app.x", "spark.\ud800"])
def test_half_of_a_surrogate_pair_is_stored_by_no_change(name):
    store = InMemoryConfigStore()

    with pytest.raises(ConfigException) as error:
        change(ConfigAdmin(store, spark_definition()), [AlterConfigOp(name, SURROGATE)])

    assert ascii(name)[1:-1] in str(error.value)
    assert str(error.value).isprintable()
    assert store.texts == {}


# --- collections without end --------------------------------------------------------------------------


def nested(depth):
    value = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [60, 600, 50_000])
@pytest.mark.parametrize("is_native", [False, True], ids=["text", "native"])
@pytest.mark.parametrize("way", ["conf", "one key", "application_args", "config_files", "env_vars"])
def test_a_deep_list_that_a_template_brings_is_no_bare_recursion_error(
    dag, run_task, spark_submit, tmp_path, way, is_native, depth
):
    dag.user_defined_macros = {"deep": nested(depth)}
    dag.render_template_as_native_obj = is_native
    (tmp_path / "base.properties").write_text("spark.app.x={{ deep }}\n")
    fields = {
        "conf": {"conf": "{{ {'spark.app.x': deep} }}" if is_native else {"spark.app.x": "{{ deep }}"}},
        "one key": {"conf": {"spark.app.x": "{{ deep }}"}},
        "application_args": {"application_args": ["{{ deep }}"]},
        "config_files": {"config_files": [str(tmp_path / "base.properties")]},
        "env_vars": {"env_vars": {"X": "{{ deep }}"}},
    }
    run = run_task(submit(dag, **fields[way]))

    if depth < 1000 and (not is_native or way == "config_files"):  # a text like any other
        assert run.state == "success", run.error
    else:
        assert isinstance(run.error, ConfigException)
        assert "nested too deep" in str(run.error)
        assert spark_submit() == []


@pytest.mark.parametrize("depth", [60, 900])
def test_a_deep_list_in_the_configuration_of_a_run_is_refused_by_its_key(
    dag, run_task, spark_submit, monkeypatch, depth
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_ENABLED", "True")
    run = run_task(submit(dag), conf={"spark_conf": {"spark.app.x": nested(depth)}})

    assert "'spark.app.x' has a value of type list" in str(run.error)
    assert spark_submit() == []
