"""Local variables in the frames of errors, as Sentry, callbacks and `pytest --showlocals` show them."""

from __future__ import annotations

import json
import traceback
from functools import partial

import pytest
from airflow.sdk import Connection

from airflow_config_providers.core import resolver
from airflow_config_providers.core.definition.abstract_config import AbstractConfig
from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.transformer import ConfigTransformer, Limits
from airflow_config_providers.decorators.pyspark import configured_pyspark_task
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.hooks.spark_connect import ConfiguredSparkConnectHook
from airflow_config_providers.job import run as job_run
from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend
from airflow_config_providers.spark import driver, driver_configs
from airflow_config_providers.testing import InMemoryConfigProvider
from tests.canary import CANARY
from tests.operators.stock import NOT_DURABLE, OurOperator, StockOperator


def chain(error):
    """Return an error with its causes and contexts, also those that tracebacks do not show."""
    found = []
    todo = [error]
    while todo:
        each = todo.pop()
        if each is not None and not any(each is one for one in found):
            found.append(each)
            todo += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]
    return found


def texts(value, depth=8):
    """Yield what is shown of a variable, and of all that a collection has."""
    yield repr(value)
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset) and depth:
        for item in value:
            yield from texts(item, depth - 1)


def shown_by(error):
    """Return the places in the frames of an error that show the canary."""
    return [
        f"{frame.f_code.co_name}: {name}"
        for each in chain(error)
        for frame, _ in traceback.walk_tb(each.__traceback__)
        for name, value in frame.f_locals.items()
        if any(CANARY in text for text in texts(value))
    ]


def raised(call):
    """Return the error that ``call`` raises."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("nothing was raised")


# --- tasks ------------------------------------------------------------------------------------------


def submitting(dag, conf, **kwargs):
    return ConfiguredSparkSubmitOperator(
        task_id="job", application="job.py", conf=conf, dag=dag, **NOT_DURABLE, **kwargs
    )


def mapped(dag, conf):
    made = ConfiguredSparkSubmitOperator.partial(task_id="job", application="job.py", dag=dag, **NOT_DURABLE)
    return made.expand(conf=[conf])


def decorated(dag, conf):
    with dag:
        return configured_pyspark_task(lambda spark: None, task_id="job", config_kwargs=conf)().operator


def custom(dag, conf):
    return OurOperator(task_id="job", payload=conf, dag=dag, do=lambda self, _: int(self.payload["spark.app.a"]))


def of_policy(dag, conf):
    made = StockOperator(task_id="job", payload=conf, dag=dag, do=lambda self, _: int(self.payload["spark.app.a"]))
    configure_task(made)
    return made


WAYS = {
    "our operator": submitting,
    "mapped": mapped,
    "decorator": decorated,
    "configured": custom,
    "apply_to": of_policy,
}
OF_SPARK = ("our operator", "mapped", "decorator")


def no_key(reference):
    return {"spark.app.x": reference.replace("db-password", "missing")}


def no_provider(_):
    return {"spark.app.x": "${nowhere:a:b}"}


def wrong_type(reference):
    return {"spark.executor.memory": reference}


def nothing(_):
    return {}


STAGES = [
    *(pytest.param(way, no_key, id=f"{way}: no key") for way in WAYS),
    *(pytest.param(way, no_provider, id=f"{way}: no provider") for way in WAYS),
    *(pytest.param(way, wrong_type, id=f"{way}: wrong type") for way in OF_SPARK),
    *(pytest.param(way, nothing, id=f"{way}: in execute") for way in ("configured", "apply_to")),
]


@pytest.mark.usefixtures("connections", "spark_submit")
@pytest.mark.parametrize(("way", "wrong"), STAGES)
def test_the_error_of_a_task_holds_no_value(dag, run_task, password, way, wrong):
    task = WAYS[way](dag, {"spark.app.a": password, **wrong(password)})

    run = run_task(task, map_index=0 if way == "mapped" else -1)

    assert run.error is not None
    assert shown_by(run.error) == []


@pytest.mark.usefixtures("connections", "spark_submit")
def test_the_error_of_a_value_that_would_change_on_its_way_holds_none(dag, run_task, password, secrets_dir):
    (secrets_dir / "nul").write_text(f"{CANARY}\0")

    run = run_task(submitting(dag, {"spark.app.a": password}, env_vars={"A": password.replace("db-password", "nul")}))

    assert run.error is not None
    assert shown_by(run.error) == []


@pytest.mark.usefixtures("connections")
def test_the_error_of_too_many_characters_holds_no_value(dag, run_task, password, monkeypatch):
    monkeypatch.setattr(
        resolver.ConfigResolver.__init__, "__defaults__", (None, resolver.Unresolved.FAIL, (), Limits(characters=25))
    )

    run = run_task(custom(dag, {"a": password, "b": password}))

    assert "characters" in str(run.error)
    assert shown_by(run.error) == []


@pytest.mark.usefixtures("connections")
def test_the_error_of_what_masks_values_holds_none(dag, run_task, password, monkeypatch):
    def fails(values):
        raise OSError(len(list(values)))

    monkeypatch.setattr(job_run, "mask_secrets", fails)

    run = run_task(custom(dag, {"a": password}))

    assert isinstance(run.error, OSError)
    assert shown_by(run.error) == []


# --- the core ---------------------------------------------------------------------------------------


def provider():
    return InMemoryConfigProvider({"p": {"a": CANARY}})


def layer(configs):
    return ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs)


class Failing(InMemoryConfigProvider):
    """Has read a value when it fails."""

    def get(self, path, keys=None):
        found = super().get(path, keys)
        raise RuntimeError(len(found.data))


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(
            lambda: ConfigResolver({"m": provider()}).resolve([layer({"a": "${m:p:a}", "b": "${m:p:b}"})]),
            id="no key",
        ),
        pytest.param(
            lambda: ConfigResolver({"m": provider()}).resolve([layer({"a": "${m:p:a}"})], {"t": "${n:p:a}"}),
            id="no provider",
        ),
        pytest.param(
            lambda: ConfigResolver({"m": provider()}, limits=Limits(characters=3)).resolve([layer({"a": "${m:p:a}"})]),
            id="limit",
        ),
        pytest.param(
            lambda: ConfigTransformer({"m": provider()}, Limits(characters=3)).transform({"a": "${m:p:a}"}),
            id="limit of the transformer",
        ),
        pytest.param(
            lambda: ConfigTransformer({"m": provider(), "f": Failing({"p": {"a": CANARY}})}).transform(
                {"a": "${m:p:a}", "b": "${f:p:a}"}
            ),
            id="a provider's own error",
        ),
    ],
)
def test_the_error_of_the_core_holds_no_value(call):
    assert shown_by(raised(call)) == []


def test_an_error_after_a_sealed_secret_was_opened_holds_no_secret():
    sealed = layer({"a": "${m:p:b}"}).__class__(
        ConfigSource.DYNAMIC_TASK_CONFIG, "dynamic", {"a": "${m:p:b}", "s": "[hidden]"}, secrets={"s": lambda: CANARY}
    )

    assert shown_by(raised(lambda: ConfigResolver({"m": provider()}).resolve([sealed]))) == []


# --- hooks, the secrets backend, the driver ---------------------------------------------------------


@pytest.fixture
def connect(connections, monkeypatch):
    def made(**fields):
        given = {"conn_type": "spark_connect", "host": "spark", **fields}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_CONNECT_DEFAULT", json.dumps(given))
        return ConfiguredSparkConnectHook()

    return made


@pytest.mark.parametrize("ask", ["get_connection_url", "get_connection"])
def test_the_error_of_the_hook_holds_no_value(connect, password, ask):
    hook = connect(login=password, password=password.replace("db-password", "missing"))
    given = ["spark_connect_default"] if ask == "get_connection" else []

    error = raised(partial(getattr(hook, ask), *given))

    assert isinstance(error, ConfigException)
    assert shown_by(error) == []


def test_the_error_of_half_a_character_in_the_hook_holds_no_value(connect, tmp_path, password):
    (tmp_path / "p.properties").write_text(f"k={CANARY}\\ud800\n")
    hook = connect(login=password, password=f"${{files:{tmp_path}/p.properties:k}}")

    error = raised(hook.get_connection_url)

    assert "half of a surrogate pair" in str(error)
    assert shown_by(error) == []


@pytest.fixture
def backend(tmp_path):
    (tmp_path / "secret").write_text(CANARY)
    reference = f"${{dir:{tmp_path}:secret}}"
    connections, variables = tmp_path / "connections.yaml", tmp_path / "variables.yaml"
    fields = {"conn_type": "postgres", "password": reference, "login": "${nowhere:a:b}"}
    connections.write_text(json.dumps({"db": fields, "odd": {"conn_type": "x", "password": reference}}))
    variables.write_text(json.dumps({"v": [reference, "${nowhere:a:b}"]}))
    made = ConfigProvidersBackend(
        connections_file_path=str(connections),
        variables_file_path=str(variables),
        configs_file_path=str(variables),
        providers={
            "config.providers": "dir",
            "config.providers.dir.class": "directory",
            "config.providers.dir.param.allowed.paths": str(tmp_path),
        },
    )
    made._set_connection_class(Connection)
    return made


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda backend: backend.get_connection("db"), id="connection"),
        pytest.param(lambda backend: backend.get_conn_value("db"), id="text of a connection"),
        pytest.param(lambda backend: backend.get_variable("v"), id="variable"),
        pytest.param(lambda backend: backend.get_config("v"), id="setting"),
    ],
)
def test_the_error_of_the_secrets_backend_holds_no_value(backend, ask):
    assert shown_by(raised(lambda: ask(backend))) == []


def test_the_error_of_a_connection_that_airflow_cannot_make_holds_no_value(backend, monkeypatch):
    def fails(**kwargs):
        raise ValueError(len(kwargs))

    monkeypatch.setattr(backend, "deserialize_connection", fails)

    assert shown_by(raised(lambda: backend.get_connection("odd"))) == []


def test_the_error_of_a_drivers_configuration_holds_no_value(monkeypatch):
    answers = provider()
    resolve = partial(
        driver.resolved, {"spark.app.a": "${m:p:a}", "spark.app.b": "${m:p:a}"}, {"m": answers}, has_begun=True
    )
    current = driver_configs.DriverConfigs(resolve, resolve(), clock=iter(range(0, 10_000, 1_000)).__next__)
    monkeypatch.setattr(driver_configs, "_OF_SESSION", [current])
    answers.data["p"] = {"other": CANARY}

    error = raised(driver_configs.configs)

    assert isinstance(error, ConfigException)
    assert shown_by(error) == []


def test_the_error_of_a_query_that_gets_values_holds_none(monkeypatch):
    monkeypatch.setattr(driver_configs, "_OF_SESSION", [lambda: {"a": CANARY}])

    def query(values):
        raise ValueError(len(values))

    assert shown_by(raised(lambda: driver_configs.reload_on_change(query))) == []


def test_the_error_of_a_session_that_does_not_start_holds_no_value(monkeypatch, tmp_path):
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    monkeypatch.setenv("NOT_FOR_FILES", f" {CANARY} ")
    definitions = {
        "config.providers": "env",
        "config.providers.env.class": "env",
        "config.providers.env.param.allowlist.pattern": "NOT_FOR_FILES",
    }
    monkeypatch.setattr(driver, "driver_process", driver.Unsubmitted)
    builder = SparkSession.builder.config("spark.app.name", "${env:NOT_FOR_FILES}")

    try:
        error = raised(lambda: driver.session(builder, providers=definitions))
    finally:
        builder._options.clear()

    assert isinstance(error, ConfigException)
    assert shown_by(error) == []


def configured_with(conf, kind):
    return AbstractConfig(
        ConfigDef().define("i", kind),
        {**conf, "config.providers": "m", "config.providers.m.class": "m"},
        registry=ProviderRegistry({"m": lambda: InMemoryConfigProvider({"": {"k": CANARY}})}),
    )


def prefixed():
    return configured_with({"i": "1", "x.i": "${m:k}"}, ConfigType.INT)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda: configured_with({"i": "${m:k}"}, ConfigType.INT), id="of another type"),
        pytest.param(
            lambda: prefixed().values_with_prefix_override("x."),
            id="overriding value",
        ),
        pytest.param(
            lambda: configured_with({"i": "1", "x.i": "${m:k}"}, ConfigType.INT).values_with_prefix_all_or_nothing(
                "x."
            ),
            id="value with a prefix",
        ),
        pytest.param(lambda: configured_with({"i": "${m:k}"}, ConfigType.STRING).get_password("i"), id="no password"),
    ],
)
def test_the_error_of_a_configuration_with_a_definition_holds_no_value(call):
    assert shown_by(raised(call)) == []
