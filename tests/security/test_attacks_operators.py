"""Everything that Airflow lets a task do, by an operator that got references and a canary that must not show."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import datetime
import gc
import json
import logging
import os
import pickle
import re
import sys
import threading
import time
import traceback
import warnings

import pytest
import structlog
from airflow.sdk import DAG, Asset, AssetAlias, BaseHook, BaseOperator, BaseSensorOperator, literal, task
from airflow.sdk import dag as dag_of
from airflow.sdk.execution_time import comms
from airflow.sdk.serde import serialize

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.log import installation
from airflow_config_providers.operators import configure
from airflow_config_providers.operators.configure import configure_task
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from tests.canary import CANARY
from tests.limits import LONGEST
from tests.operators.stock import NOT_DURABLE, OurOperator, StockOperator, everything_shown

pytestmark = pytest.mark.usefixtures("connections")
since_airflow_3_3 = pytest.mark.skipif(not hasattr(comms, "SetTaskStateStore"), reason="Airflow 3.3 brought it")


def ours(kind, dag, **kwargs):
    """Return a task of a stock class with references, after the deployment's policy has seen it."""
    made = kind(task_id="job", dag=dag, **kwargs)
    configure_task(made)
    return made


# What came with data


def submit(dag, **kwargs):
    return ConfiguredSparkSubmitOperator(task_id="job", application="job.py", dag=dag, **NOT_DURABLE, **kwargs)


@pytest.mark.parametrize(
    ("where", "kwargs"),
    [
        pytest.param("conf['spark.app.x']", {"conf": {"spark.app.x": "{{ dag_run.conf['x'] }}"}}, id="conf"),
        pytest.param("env_vars['X']", {"env_vars": {"X": "{{ params.x }}"}}, id="environment"),
        pytest.param("application_args[0]", {"application_args": ["{{ dag_run.conf['x'] }}"]}, id="arguments"),
        pytest.param("config_files[0]", {"config_files": ["/{{ dag_run.conf['x'] }}"]}, id="path of a file"),
        pytest.param("name", {"name": "{{ dag_run.conf['x'] }}"}, id="named argument"),
        pytest.param("conf['a']", {"conf": {"a": "${HOME} {{ dag_run.conf['x'] }}"}}, id="beside a shell's variable"),
    ],
)
def test_attack_11_who_triggers_a_run_reads_no_secret_by_a_template(
    dag, run_task, spark_submit, password, where, kwargs
):
    run = run_task(submit(dag, params={"x": password}, **kwargs), conf={"x": password})

    assert isinstance(run.error, ConfigException)
    assert str(run.error).startswith(f"{where}: a reference came from the result of a template")
    assert spark_submit() == []


def test_attack_11_nor_by_a_template_in_a_file(dag, run_task, spark_submit, password, tmp_path):
    (tmp_path / "all.properties").write_text("spark.app.x={{ dag_run.conf['x'] }}\n")
    run = run_task(submit(dag, config_files=[str(tmp_path / "all.properties")]), conf={"x": password})

    assert "spark.app.x in " in str(run.error)
    assert spark_submit() == []


def test_a_deployment_may_let_them(dag, run_task, spark_submit, password, monkeypatch):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__RUN_CONFIG_REFERENCES", "True")
    run_task(submit(dag, conf={"spark.app.x": "{{ dag_run.conf['x'] }}"}), conf={"x": password})

    assert spark_submit.spark_conf["spark.app.x"] == CANARY


def test_attack_11_macros_and_parameters_bring_no_reference(run_task, password):
    seen = []
    dag = DAG("macros", schedule=None, user_defined_macros={"mine": lambda: password}, params={"p": password})
    fields = ["{{ mine() }}", "{{ params.p }}", password]
    run_task(OurOperator(task_id="job", dag=dag, payload=fields, do=lambda self, _: seen.append(self.payload)))

    assert seen == [[password, password, CANARY]]


# What Airflow does not render


@pytest.mark.parametrize(
    "kwargs",
    [
        pytest.param(
            lambda text: {"conf": {"spark.app.x": literal(text), "spark.app.y": literal("{{ y }}")}}, id="value"
        ),
        pytest.param(lambda text: {"conf": literal({"spark.app.x": text, "spark.app.y": "{{ y }}"})}, id="field"),
        pytest.param(
            lambda text: {"conf": {"spark.app.x": text, "spark.app.y": literal("{{ y }}")}}, id="another value"
        ),
    ],
)
@pytest.mark.parametrize("is_mapped", [False, True], ids=["task", "mapped task"])
def test_a_reference_in_a_literal_is_the_authors(dag, run_task, spark_submit, password, kwargs, is_mapped):
    if is_mapped:
        partial = ConfiguredSparkSubmitOperator.partial(task_id="job", dag=dag, application="job.py", **NOT_DURABLE)
        run = run_task(partial.expand_kwargs([kwargs(password)]), map_index=0)
    else:
        run = run_task(submit(dag, **kwargs(password)))

    assert run.state == "success", run.error
    assert (spark_submit.spark_conf["spark.app.x"], spark_submit.spark_conf["spark.app.y"]) == (CANARY, "{{ y }}")


def test_what_spark_replaces_in_a_literal_is_the_authors(dag, run_task, spark_submit):
    run = run_task(submit(dag, conf={"spark.app.x": "1", "spark.app.y": literal("${spark.app.x} {{ y }}")}))

    assert run.state == "success", run.error
    assert spark_submit.spark_conf["spark.app.y"] == "${spark.app.x} {{ y }}"


def test_attack_11_nor_by_a_literal_that_another_task_returned(dag, run_task, spark_submit, password):
    with dag:
        upstream = BaseOperator(task_id="upstream")
        partial = ConfiguredSparkSubmitOperator.partial(
            task_id="job", application="job.py", application_args=[literal("mine")], **NOT_DURABLE
        )
        job = partial.expand_kwargs(upstream.output)
    returned = [serialize({"conf": {"spark.app.x": literal(password)}})]
    run = run_task(job, map_index=0, results={"upstream": returned})

    assert str(run.error).startswith(
        "conf['spark.app.x']: a reference came from the result of a template in a file, or"
    )
    assert spark_submit() == []


def test_attack_11_nor_by_a_function_in_a_field(dag, run_task, spark_submit, password):
    def conf(context, jinja_env):
        return {"spark.app.x": context["params"]["x"]}

    run = run_task(submit(dag, conf=conf, params={"x": "no"}), conf={"x": password})

    assert str(run.error).startswith("conf['spark.app.x']: a reference came from the function in this field.")
    assert spark_submit() == []


# What an author wrote is no permission to write more (attack 56)

TOKENS = [
    pytest.param("{{ dag_run.conf.get('x', 'R') }}", id="get with a default"),
    pytest.param("{{ dag_run.conf['x'] | default('R') }}", id="default"),
    pytest.param("{{ dag_run.conf['x'] or 'R' }}", id="or"),
    pytest.param("{% if dag_run.conf['x'] %}{{ dag_run.conf['x'] }}{% else %}R{% endif %}", id="unused branch"),
    pytest.param("{# R #}{{ dag_run.conf['x'] }}", id="comment"),
    pytest.param("{{ dag_run.conf['x'] | replace('R', '') }}", id="replace"),
    pytest.param("{{ ['R', dag_run.conf['x']][1] }}", id="list"),
    pytest.param("{% set r = 'R' %}{{ params.x }}", id="set"),
]
FIELDS = [
    pytest.param(lambda text: {"conf": {"spark.app.x": text}}, id="conf"),
    pytest.param(lambda text: {"env_vars": {"X": text}}, id="env_vars"),
    pytest.param(lambda text: {"application_args": ["--x", text]}, id="application_args"),
    pytest.param(lambda text: {"config_files": [text]}, id="config_files"),
    pytest.param(lambda text: {"properties_file": text}, id="properties_file"),
]


@pytest.fixture
def innocent(secrets_dir):
    """A reference that the author may use, of the same provider as the canary's."""
    (secrets_dir / "innocent").write_text("harmless")
    return f"${{dir:{secrets_dir}:innocent}}"


@pytest.mark.parametrize("native", [False, True], ids=["text", "native"])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("template", TOKENS)
def test_attack_56_a_reference_that_is_not_used_lets_no_other_in(
    run_task, spark_submit, password, innocent, template, field, native
):
    dag = DAG("unused", schedule=None, render_template_as_native_obj=native, params={"x": password})
    fields = field(template.replace("R", innocent))
    run = run_task(submit(dag, allow_exposed_arguments=True, **fields), conf={"x": password})

    assert isinstance(run.error, ConfigException)
    assert "a reference came from the result of a template" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("template", TOKENS)
def test_attack_56_nor_in_a_layer_file(dag, run_task, spark_submit, password, innocent, tmp_path, template):
    (tmp_path / "all.properties").write_text(f"spark.app.x={template.replace('R', innocent)}\n")
    operator = submit(dag, config_files=[str(tmp_path / "all.properties")], params={"x": password})
    run = run_task(operator, conf={"x": password})

    assert "spark.app.x in " in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("template", TOKENS)
def test_attack_56_nor_in_fields_that_are_no_configuration(dag, run_task, password, innocent, template):
    seen = []
    payload = {"a": [("b", template.replace("R", innocent))]}
    operator = OurOperator(
        task_id="job", dag=dag, payload=payload, do=lambda self, _: seen.append(self.payload), params={"x": password}
    )
    run_task(operator, conf={"x": password})

    assert CANARY not in repr(seen)
    assert seen == [{"a": [("b", password)]}]


@pytest.mark.parametrize("template", [token for token in TOKENS if token.id in {"get with a default", "or"}])
def test_the_authors_own_default_is_delivered(dag, run_task, spark_submit, innocent, template):
    text = template.replace("R", innocent)
    run_task(submit(dag, conf={"spark.app.x": text}), conf={"x": ""} if " or " in text else {})

    assert spark_submit.spark_conf["spark.app.x"] == "harmless"


def test_a_run_chooses_among_the_authors_references(dag, run_task, spark_submit, password, innocent, capfd):
    chosen = f"{{{{ {{'test': '{innocent}', 'prod': '{password}'}}[dag_run.conf.env] }}}}"
    run = run_task(submit(dag, conf={"spark.app.x": chosen}), conf={"env": "prod"})

    assert spark_submit.spark_conf["spark.app.x"] == CANARY
    assert run.rendered["conf"] == {"spark.app.x": password}
    assert not re.search(r"\d{20}", everything_shown(run, capfd))


def test_a_reference_in_a_template_file_is_delivered(run_task, secrets_dir, tmp_path, password):
    (tmp_path / "job.sql").write_text("-- {{ params.n }}\n{% include 'part.sql' %} {{ params.x }}")
    (tmp_path / "part.sql").write_text(f"{password.replace('db', '{{ params.n }}')}")
    dag = DAG("files", schedule=None, template_searchpath=[str(tmp_path)], params={"n": "db", "x": "x"})
    seen = []
    kind = configure.configured(type("Sql", (StockOperator,), {"template_ext": (".sql",)}))
    run_task(kind(task_id="job", dag=dag, payload="job.sql", do=lambda self, _: seen.append(self.payload)))

    assert seen == [f"-- db\n{CANARY} x"]


@pytest.mark.parametrize(
    ("mapped", "data"),
    [
        pytest.param(lambda partial, given: partial().expand_kwargs(given), [{"payload": "R"}], id="kwargs"),
        pytest.param(lambda partial, given: partial().expand_kwargs(given), [{"payload": ["R"]}], id="list in kwargs"),
        pytest.param(lambda partial, given: partial().expand_kwargs([given]), {"payload": "R"}, id="one of several"),
        pytest.param(lambda partial, given: partial().expand(payload=given), ["R"], id="expand"),
        pytest.param(lambda partial, given: partial().expand(payload=given), [{"a": ["R"]}], id="nested in expand"),
        pytest.param(lambda partial, given: partial(payload={"a": given}).expand(command=["x"]), "R", id="in partial"),
    ],
)
def test_attack_56_what_another_task_gives_a_mapped_one_stays_a_text(dag, run_task, password, mapped, data):
    seen = []

    def partial(**kwargs):
        return OurOperator.partial(task_id="job", dag=dag, do=lambda self, _: seen.append(self.payload), **kwargs)

    given = OurOperator(task_id="given", dag=dag).output
    given_data = json.loads(json.dumps(data).replace("R", password))
    run = run_task(mapped(partial, given), map_index=0, results={"given": given_data})

    assert run.error is None
    assert password in repr(seen)
    assert CANARY not in repr(seen)


def test_what_the_author_wrote_for_all_instances_is_resolved_beside_it(dag, run_task, password):
    seen = []
    given = OurOperator(task_id="given", dag=dag).output
    mapped = OurOperator.partial(
        task_id="job", dag=dag, do=lambda self, _: seen.append((self.payload, self.command)), payload=[password]
    ).expand_kwargs(given)
    run_task(mapped, map_index=0, results={"given": [{"command": password}]})

    assert seen == [([CANARY], password)]


def test_and_what_stands_in_default_arguments(run_task, password):
    seen = []
    dag = DAG("defaults", schedule=None, default_args={"payload": password})
    given = OurOperator(task_id="given", dag=dag).output
    mapped = OurOperator.partial(task_id="job", dag=dag, do=lambda self, _: seen.append(self.payload))
    run_task(mapped.expand_kwargs(given), map_index=0, results={"given": [{"command": "x"}]})

    assert seen == [CANARY]


def test_attack_56_an_operator_that_copies_what_it_is_given_is_no_way_round(dag, run_task, password):
    class Copying(StockOperator):
        def __init__(self, *, payload, **kwargs):
            super().__init__(payload={"copy": list(payload)}, **kwargs)

    seen = []
    given = OurOperator(task_id="given", dag=dag).output
    kind = configure.configured(Copying)
    mapped = kind.partial(task_id="job", dag=dag, do=lambda self, _: seen.append(self.payload)).expand(payload=given)
    run_task(mapped, map_index=0, results={"given": [[password]]})

    assert seen == [{"copy": [password]}]


def test_attack_56_a_failed_template_shows_no_mark(run_task, spark_submit, password, capfd):
    def fail(text):
        raise ValueError(text)

    dag = DAG("failing", schedule=None, user_defined_macros={"fail": fail})
    run = run_task(submit(dag, conf={"spark.app.x": f"{{{{ fail('{password}') }}}}"}))

    shown = everything_shown(run, capfd) + "".join(traceback.format_exception(run.error))
    assert str(run.error) == password
    assert not re.search(r"\d{20}", shown)


# Files that a run chooses (attack 57)


@pytest.fixture
def files(tmp_path):
    """A directory of properties files from which a run may choose, next to files that an attacker would like."""
    (tmp_path / "jobs").mkdir()
    for path in ("jobs/blue.properties", "other.properties"):
        (tmp_path / path).write_text(f"spark.app.file={path}\n")
    (tmp_path / "jobs" / "link.properties").symlink_to("../other.properties")
    os.mkfifo(tmp_path / "jobs" / "fifo.properties")
    (tmp_path / "jobs" / "zero.properties").symlink_to("/dev/zero")
    (tmp_path / "jobs" / "environ.properties").symlink_to("/proc/self/environ")
    return tmp_path


NAMED = [
    pytest.param(lambda path: {"config_files": [path]}, id="config_files"),
    pytest.param(lambda path: {"properties_file": path}, id="properties_file"),
]


@pytest.mark.parametrize("field", NAMED)
@pytest.mark.parametrize("name", ["{{ dag_run.conf.name }}", "{{ params.name }}", "{{ dag_run.conf['name'] | trim }}"])
def test_a_run_chooses_a_file_by_name(dag, run_task, spark_submit, files, field, name):
    fields = field(f"{files}/jobs/{name}.properties")
    run_task(submit(dag, params={"name": "blue"}, **fields), conf={"name": "blue"})

    assert spark_submit.spark_conf["spark.app.file"] == "jobs/blue.properties"


@pytest.mark.parametrize("field", NAMED)
@pytest.mark.parametrize("name", ["../other", "link", "fifo", "zero", "environ", "../jobs/../other"])
def test_attack_57_a_run_does_not_leave_the_directory_that_the_author_wrote(
    dag, run_task, spark_submit, files, field, name
):
    run = run_task(submit(dag, **field(f"{files}/jobs/{{{{ dag_run.conf.name }}}}.properties")), conf={"name": name})

    assert isinstance(run.error, ConfigException)
    assert "file " in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("field", NAMED)
@pytest.mark.parametrize("path", ["/proc/self/environ", "{files}/jobs/blue.properties", "{files}/missing"])
def test_attack_57_a_run_that_chooses_the_whole_path_reads_nothing(dag, run_task, spark_submit, files, field, path):
    run = run_task(submit(dag, **field("{{ dag_run.conf.path }}")), conf={"path": path.format(files=files)})

    assert "its author named no directory" in str(run.error)
    assert "config_paths" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("field", NAMED)
@pytest.mark.parametrize(
    ("path", "allowed"),
    [("{files}/jobs/blue.properties", True), ("{files}/jobs/../other.properties", False), ("{files}/jobs/link", False)],
    ids=["inside", "up", "missing"],
)
def test_attack_57_unless_the_deployment_says_where(
    dag, run_task, spark_submit, files, monkeypatch, field, path, allowed
):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_PATHS", f"/etc/none, {files}/jobs")
    run = run_task(submit(dag, **field("{{ dag_run.conf.path }}")), conf={"path": path.format(files=files)})

    assert len(spark_submit()) == allowed
    assert (run.error is None) is allowed


@pytest.mark.parametrize("field", NAMED)
def test_attack_57_that_bounds_what_an_author_writes_too(dag, run_task, spark_submit, files, monkeypatch, field):
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_PATHS", f"{files}/jobs")
    run = run_task(submit(dag, **field(f"{files}/other.properties")))

    assert "is not inside a directory of [config_providers] config_paths" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize(
    ("conf", "allowed"),
    [
        pytest.param({}, True, id="default"),
        pytest.param({"name": "blue"}, True, id="another parameter"),
        pytest.param({"name": "../other"}, False, id="another parameter that leads out"),
        pytest.param({"folder": "{files}/jobs"}, True, id="given again, as a form does"),
        pytest.param({"folder": "{files}", "name": "other"}, False, id="changed"),
    ],
)
def test_a_parameter_names_a_directory_as_long_as_no_run_changes_it(run_task, spark_submit, files, conf, allowed):
    dag = DAG("params", schedule=None, params={"folder": str(files / "jobs")})
    path = "{{ params.folder }}/{{ params.name }}.properties"
    conf = {key: text.format(files=files) for key, text in conf.items()}
    run = run_task(submit(dag, config_files=[path], params={"name": "blue"}), conf=conf)

    assert len(spark_submit()) == allowed
    assert (run.error is None) is allowed


class Made:
    def __init__(self, path):
        self.path = path

    def resolve(self, context):
        return self.path


OBJECTS = [
    pytest.param(lambda path: {"config_files": [literal(path)]}, id="literal"),
    pytest.param(lambda path: {"config_files": literal([path])}, id="literal list"),
    pytest.param(lambda path: {"properties_file": literal(path)}, id="literal file"),
    pytest.param(lambda path: {"config_files": [Made(path)]}, id="object"),
    pytest.param(lambda path: {"config_files": lambda context, jinja_env: [str(path)]}, id="function"),
    pytest.param(lambda path: {"properties_file": lambda context, jinja_env: str(path)}, id="function for a file"),
]


@pytest.mark.parametrize("field", OBJECTS)
def test_what_an_object_of_the_author_gives_is_the_authors(dag, run_task, spark_submit, files, field):
    run_task(submit(dag, **field(f"{files}/jobs/blue.properties")), conf={"x": "y"})

    assert spark_submit.spark_conf["spark.app.file"] == "jobs/blue.properties"


@pytest.mark.parametrize(("conf", "allowed"), [({}, True), ({"x": "y"}, True), ({"file": "{path}"}, False)])
def test_an_argument_of_a_dag_names_a_file_as_long_as_no_run_gives_it(run_task, spark_submit, files, conf, allowed):
    path = f"{files}/jobs/blue.properties"

    @dag_of
    def flights(file=path):
        ConfiguredSparkSubmitOperator(task_id="job", application="job.py", config_files=[file], **NOT_DURABLE)

    run = run_task(flights().task_dict["job"], conf={key: text.format(path=path) for key, text in conf.items()})

    assert (run.error is None) is allowed
    assert len(spark_submit()) == allowed


@pytest.mark.parametrize("template", ["{{ params.file }}", "{{ task.params.file }}", "{{ params.get('file') }}"])
@pytest.mark.parametrize(("conf", "allowed"), [({}, True), ({"file": "{path}"}, False)], ids=["default", "given"])
def test_so_does_a_parameter_in_a_task_that_is_mapped_over_a_result(
    run_task, spark_submit, files, template, conf, allowed
):
    path = f"{files}/jobs/blue.properties"
    dag = DAG("params", schedule=None, params={"file": path})
    given = OurOperator(task_id="given", dag=dag).output
    mapped = ConfiguredSparkSubmitOperator.partial(
        task_id="job", application="job.py", dag=dag, config_files=[template]
    ).expand(application_args=given)
    conf = {key: text.format(path=path) for key, text in conf.items()}
    run = run_task(mapped, map_index=0, results={"given": [["a"]]}, conf=conf)

    assert (run.error is None) is allowed
    assert len(spark_submit()) == allowed


def test_attack_57_but_not_a_parameter_that_is_a_result(dag, run_task, spark_submit, files):
    given = OurOperator(task_id="given", dag=dag).output
    mapped = ConfiguredSparkSubmitOperator.partial(
        task_id="job", application="job.py", dag=dag, config_files=["{{ params.file }}"]
    ).expand_kwargs(given)
    results = {"given": [{"params": {"file": f"{files}/other.properties"}}]}
    run = run_task(mapped, map_index=0, results=results)

    assert "its author named no directory" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("given_as", [lambda path: path, lambda path: [path]], ids=["one", "list"])
@pytest.mark.parametrize(("name", "allowed"), [("{{ dag_run.conf['name'] }}", False), ("blue", True)])
def test_attack_57_an_object_of_pathlib_is_a_template_like_a_string(
    dag, run_task, spark_submit, files, name, allowed, given_as
):
    given = OurOperator(task_id="given", dag=dag).output
    mapped = ConfiguredSparkSubmitOperator.partial(
        task_id="job", application="job.py", dag=dag, config_files=given_as(files / "jobs" / f"{name}.properties")
    ).expand_kwargs(given)
    conf = {"name": "../other"}
    run = run_task(mapped, map_index=0, results={"given": [{"application_args": ["a"]}]}, conf=conf)

    assert (run.error is None) is allowed
    assert len(spark_submit()) == allowed


@pytest.mark.parametrize("field", ["config_files", "properties_file"])
def test_attack_57_nor_a_result_itself(dag, run_task, spark_submit, files, field):
    given = OurOperator(task_id="given", dag=dag).output
    path = f"{files}/other.properties"
    run = run_task(submit(dag, **{field: [given] if field == "config_files" else given}), results={"given": path})

    assert "its author named no directory" in str(run.error)
    assert spark_submit() == []


@pytest.mark.parametrize("folder", ["{files}/jobs", "{files}"], ids=["same", "changed"])
def test_attack_57_a_mapped_task_has_no_parameters_of_its_author_where_the_run_gives_them(
    run_task, spark_submit, files, folder
):
    dag = DAG("params", schedule=None, params={"folder": str(files / "jobs")})
    mapped = ConfiguredSparkSubmitOperator.partial(
        task_id="job", application="job.py", dag=dag, config_files=["{{ params.folder }}/blue.properties"]
    ).expand(application_args=[["a"]])
    run = run_task(mapped, map_index=0, conf={"folder": folder.format(files=files)})

    assert "its author named no directory" in str(run.error)
    assert spark_submit() == []


def test_a_link_of_the_authors_own_may_lead_elsewhere(dag, run_task, spark_submit, files):
    run_task(submit(dag, config_files=[f"{files}/jobs/link.properties"]))

    assert spark_submit.spark_conf["spark.app.file"] == "other.properties"


@pytest.mark.parametrize("path", ["other.properties", "jobs/fifo.properties"])
def test_attack_57_what_another_task_gives_names_no_file(dag, run_task, spark_submit, files, path):
    given = OurOperator(task_id="given", dag=dag).output
    mapped = ConfiguredSparkSubmitOperator.partial(task_id="job", application="job.py", dag=dag).expand_kwargs(given)
    run = run_task(mapped, map_index=0, results={"given": [{"config_files": [f"{files}/{path}"]}]})

    assert "its author named no directory" in str(run.error)
    assert spark_submit() == []


def test_a_reference_may_name_the_directory(dag, run_task, spark_submit, files, secrets_dir):
    (secrets_dir / "folder").write_text(f"{files}/jobs")
    path = f"${{dir:{secrets_dir}:folder}}/{{{{ dag_run.conf.name }}}}.properties"
    run_task(submit(dag, config_files=[path]), conf={"name": "blue"})
    left = run_task(submit(DAG("other", schedule=None), config_files=[path]), conf={"name": "../other"})

    assert spark_submit.spark_conf["spark.app.file"] == "jobs/blue.properties"
    assert "with which the template of its path begins" in str(left.error)
    assert str(files) + "/jobs" not in str(left.error)


# Mapped tasks


@pytest.mark.parametrize("kind", [OurOperator, StockOperator], ids=["ours", "by policy"])
@pytest.mark.parametrize(
    "expand",
    [
        pytest.param(lambda partial, x: partial(payload=[x]).expand(command=["a", x]), id="expand"),
        pytest.param(lambda partial, x: partial().expand_kwargs([{}, {"payload": [x], "command": x}]), id="kwargs"),
    ],
)
def test_attack_30_a_mapped_task(dag, run_task, password, capfd, kind, expand):
    seen = []

    def partial(**kwargs):
        do = lambda self, _: seen.append((self.payload, self.command))  # noqa: E731 - short
        return kind.partial(task_id="job", dag=dag, do=do, **kwargs)

    mapped = expand(partial, password)
    configure_task(mapped)
    run = run_task(mapped, map_index=1)

    assert seen == [([CANARY], CANARY)]
    assert CANARY not in everything_shown(run, capfd)


def test_attack_30_the_name_of_a_mapped_task_shows_the_reference(dag, run_task, password):
    def do(self, context):
        context["mine"] = f"for {self.payload}"

    mapped = OurOperator.partial(task_id="job", dag=dag, do=do, map_index_template="{{ mine }}").expand(
        payload=[password]
    )
    run = run_task(mapped, map_index=0)

    assert run.ti.rendered_map_index == f"for {password}"


def test_attack_30_a_mapped_function(dag, run_task, password, capfd):
    seen = []
    with dag:
        mapped = task(lambda x, y: seen.append((x, y)), task_id="job").partial(y=password).expand(x=["a", password])
    configure_task(mapped.operator)
    run = run_task(mapped.operator, map_index=1)

    assert seen == [(CANARY, CANARY)]
    assert CANARY not in everything_shown(run, capfd)


# What runs beside execute


@pytest.mark.parametrize("state", ["success", "failed"])
def test_attack_30_callbacks_and_hooks_see_references(dag, run_task, password, capfd, state):
    seen = {}

    def note(name):
        return lambda context: seen.update({name: repr((context["task"].payload, dict(context)))})

    class HookedOperator(StockOperator):
        def pre_execute(self, context):
            seen["before"] = repr((self.payload, dict(context)))

        def post_execute(self, context, result=None):
            seen["after"] = repr((self.payload, dict(context), result))

        def execute(self, context):
            if self.command == "failed":
                raise RuntimeError(self.payload)
            return {"result": self.payload}

    callbacks = {f"on_{name}_callback": note(name) for name in ("execute", "success", "failure")}
    run = run_task(ours(HookedOperator, dag, payload=password, command=state, **callbacks))

    expected = {"before", "execute"} | ({"after", "success"} if state == "success" else {"failure"})
    assert (run.state, set(seen)) == (state, expected)
    assert all(password in text for text in seen.values())
    assert CANARY not in everything_shown(run, capfd) + repr(seen)


def test_attack_19_a_task_that_takes_too_long(dag, run_task, password, capfd):
    def do(self, context):
        local = self.payload
        time.sleep(5)
        return local

    limit = datetime.timedelta(seconds=0.3)
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do, execution_timeout=limit))
    shown = traceback.TracebackException.from_exception(run.error, capture_locals=True).format()

    assert run.state == "failed"
    assert CANARY not in everything_shown(run, capfd) + "".join(shown)


def test_a_second_try_resolves_anew(dag, run_task, secrets_dir, password):
    seen = []
    job = OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, _: seen.append(self.payload))
    run_task(job)
    (secrets_dir / "db-password").write_text("changed")
    run_task(job)

    assert seen == [CANARY, "changed"]


@pytest.mark.usefixtures("nothing_reversed")
def test_when_a_task_is_gone_so_is_all_that_hid_its_values(dag, password):
    streams = sys.stdout, sys.__stderr__
    job = OurOperator(task_id="job", dag=dag, payload=password, do=lambda *_: None).prepare_for_execution()
    job.render_template_fields({})
    assert installation._active
    assert sys.stdout is not streams[0]
    job.resume_execution("go_on", {"event": 1}, {})
    del job
    gc.collect()

    assert not installation._active
    assert (sys.stdout, sys.__stderr__) == streams


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_reversed")
def test_attack_19_tasks_side_by_side_in_one_process(dag, secrets_dir, capfd):
    problems = []

    def do(self, context):
        for _ in range(30):
            print(self.task_id, self.payload)
            logging.getLogger("side").warning("%s", self.payload)
        raise ValueError(self.payload)

    def run(job):
        job = job.prepare_for_execution()
        job.render_template_fields({})
        try:
            job.resume_execution("go_on", {"event": 1}, {})
        except ValueError as error:
            problems.append(repr(error))

    jobs = []
    for number in range(6):
        (secrets_dir / f"s{number}").write_text(f"c4nary-{number}-zq8v")
        reference = f"${{dir:{secrets_dir}:s{number}}}"
        jobs.append(OurOperator(task_id=f"job{number}", dag=dag, payload=reference, do=do))
    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()

    out = "".join(capfd.readouterr())
    assert len(problems) == 6
    assert "${dir:" in out
    assert not re.search(r"c4nary-\d-zq8v", out + "".join(problems))
    assert not installation._active


# What a task leaves


def test_attack_30_what_is_said_of_an_asset_shows_the_reference(dag, password):
    from airflow.sdk.execution_time.context import OutletEventAccessors
    from airflow.sdk.execution_time.task_runner import _serialize_outlet_events

    def do(self, context):
        context["outlet_events"][Asset("table")].extra["url"] = self.payload
        context["outlet_events"][AssetAlias("alias")].add(Asset("other"), extra={"url": self.payload})

    context = {"outlet_events": OutletEventAccessors()}
    job = OurOperator(task_id="job", dag=dag, payload=password, do=do).prepare_for_execution()
    job.render_template_fields(context)
    job.resume_execution("go_on", {"event": 1}, context)
    job._try_state.run.close()
    sent = list(_serialize_outlet_events(context["outlet_events"]))

    assert [event["extra"] for event in sent] == [{"url": password}] * 2


def said_of_assets(dag, password, do, **kwargs):
    """Run a task, and give what Airflow's server gets of the assets."""
    from airflow.sdk.execution_time.context import OutletEventAccessors
    from airflow.sdk.execution_time.task_runner import _serialize_outlet_events

    job = OurOperator(task_id="job", dag=dag, payload=password, do=do, **kwargs).prepare_for_execution()
    context = {"outlet_events": OutletEventAccessors(), "outlets": job.outlets}
    job.render_template_fields(context)
    job.resume_execution("go_on", {"event": 1}, context)
    job._try_state.run.close()
    return list(_serialize_outlet_events(context["outlet_events"]))


def test_attack_69_an_asset_of_an_alias_has_the_reference_in_its_name_its_uri_and_its_extra(dag, password):
    def do(self, context):
        asset = Asset(f"table {self.payload}", uri=f"x-db://{self.payload}", extra={"of": self.payload})
        context["outlet_events"][AssetAlias("alias")].add(asset, extra={self.payload: self.payload})

    (event,) = said_of_assets(dag, password, do)

    assert event == {
        "source_alias_name": "alias",
        "dest_asset_key": {"name": f"table {password}", "uri": f"x-db://{password}"},
        "dest_asset_extra": {"of": password},
        "extra": {password: password},
    }


def test_attack_69_so_has_an_asset_that_no_dag_declares(dag, password):
    def do(self, context):
        context["outlet_events"][Asset(f"table {self.payload}")].extra["x"] = 1
        context["outlet_events"][AssetAlias(f"alias {self.payload}")].add(Asset("other"))

    shown = repr(said_of_assets(dag, password, do))

    assert f"table {password}" in shown
    assert f"alias {password}" in shown
    assert CANARY not in shown


@since_airflow_3_3
def test_attack_69_so_have_the_partitions_of_an_asset(dag, password):
    def do(self, context):
        context["outlet_events"][Asset("table")].add_partitions(f"day {self.payload}")

    shown = repr(said_of_assets(dag, password, do))

    assert f"day {password}" in shown
    assert CANARY not in shown


def test_an_asset_that_the_dag_declares_keeps_its_name(dag, password):
    declared = Asset(f"table {CANARY}")
    (event,) = said_of_assets(
        dag,
        password,
        lambda self, context: context["outlet_events"][declared].extra.update(url=self.payload),
        outlets=[declared],
    )

    assert event["dest_asset_key"]["name"] == f"table {CANARY}"
    assert event["extra"] == {"url": password}


@pytest.mark.parametrize("is_async", [False, pytest.param(True, marks=since_airflow_3_3)])
def test_attack_69_the_key_of_an_xcom_shows_the_reference(dag, run_task, password, capfd, is_async):
    def do(self, context):
        if is_async:
            asyncio.run(context["ti"].axcom_push(key=f"of {self.payload}", value=1))
        else:
            context["ti"].xcom_push(f"of {self.payload}", 1)

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert [message.key for message in run.supervisor.sent("SetXCom")] == [f"of {password}"]
    assert CANARY not in everything_shown(run, capfd)


def set_xcom(self, context):
    from airflow.sdk.bases.xcom import BaseXCom

    ids = {"dag_id": self.dag_id, "task_id": self.task_id, "run_id": "run-1"}
    BaseXCom.set(key=f"of {self.payload}", value=self.payload, **ids)


def set_state_of_an_asset(self, context):
    from airflow.sdk.execution_time.context import AssetStateStoreAccessor

    AssetStateStoreAccessor(name="table").set(f"of {self.payload}", [self.payload])


def ask_a_human(self, context):
    from airflow.sdk.execution_time.hitl import upsert_hitl_detail

    texts = {"subject": f"of {self.payload}", "body": self.payload, "params": {"x": self.payload}}
    options = [f"use {self.payload}", "no"]
    upsert_hitl_detail(ti_id=context["ti"].id, options=options, defaults=options[:1], **texts)


def answer_for_a_human(self, context):
    from airflow.sdk.execution_time.hitl import update_hitl_detail_response

    with contextlib.suppress(Exception):  # the supervisor of this test has no answer
        update_hitl_detail_response(context["ti"].id, [f"of {self.payload}"], {"x": self.payload})


def trigger(self, context):
    from airflow.sdk.execution_time import task_runner

    run_id, texts = f"run {self.payload}", {"note": f"of {self.payload}", "partition_key": f"day {self.payload}"}
    send = task_runner.SUPERVISOR_COMMS.send
    send(msg=comms.TriggerDagRun(dag_id="other", run_id=run_id, conf={"x": self.payload}, **texts))
    send(msg=comms.GetDagRunState(dag_id="other", run_id=run_id))
    send(msg=comms.GetDRCount(dag_id="other", run_ids=["run-1", run_id]))
    send(msg=comms.GetDagRunState(dag_id="other", run_id=f"of another task {self.payload}"))


@pytest.mark.parametrize(
    ("kind", "do"),
    [
        pytest.param("SetXCom", set_xcom, id="XCom past the task"),
        pytest.param(
            "SetTaskStateStore",
            lambda self, context: context["task_state_store"].set(f"of {self.payload}", {"x": self.payload}),
            id="state of the task",
            marks=since_airflow_3_3,
        ),
        pytest.param(
            "SetAssetStateStoreByName",
            set_state_of_an_asset,
            id="state of an asset",
            marks=since_airflow_3_3,
        ),
        pytest.param("CreateHITLDetailPayload", ask_a_human, id="question to a human"),
        pytest.param("UpdateHITLDetail", answer_for_a_human, id="answer in place of a human"),
    ],
)
def test_attack_69_what_airflow_stores_of_a_message_shows_the_reference(dag, run_task, password, capfd, kind, do):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert run.state == "success", run.error
    (message,) = run.supervisor.sent(kind)
    assert f"of {password}" in repr(message)
    assert CANARY not in everything_shown(run, capfd)


def test_attack_69_the_defaults_of_a_question_are_among_its_options(dag, run_task, password):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=ask_a_human))

    (message,) = run.supervisor.sent("CreateHITLDetailPayload")
    assert message.options == [f"use {password}", "no"]
    assert message.defaults == message.options[:1]


def reasons(action, *, retries):
    """Return a test case: what the policy decides, the retries that are left, and the message with its reason."""
    kind = "RetryTask" if action == "retry" and retries else "TaskState"
    is_there = "retry_reason" in getattr(comms, kind).model_fields
    return pytest.param(
        action, retries, kind, marks=pytest.mark.skipif(not is_there, reason="a later Airflow has reasons there")
    )


@pytest.mark.parametrize(
    ("action", "retries", "kind"),
    [reasons("retry", retries=1), reasons("retry", retries=0), reasons("fail", retries=1)],
    ids=["retry", "no retry left", "fail"],
)
def test_attack_69_the_reason_that_a_retry_policy_gives_shows_the_reference(
    dag, run_task, password, action, retries, kind
):
    from airflow.sdk._shared.secrets_masker import reset_secrets_masker
    from airflow.sdk.definitions.retry_policy import RetryDecision, RetryPolicy

    seen = []

    class Telling(RetryPolicy):
        def evaluate(self, exception, *args, **kwargs):
            return getattr(RetryDecision, action)(reason=f"of {seen[0]}")

    def fail(self, context):
        seen.append(self.payload)
        reset_secrets_masker()  # which Airflow 3.4 asks first, and which does not know all values of a task
        raise ValueError

    operator = OurOperator(task_id="job", dag=dag, payload=password, do=fail, retries=1, retry_policy=Telling())
    run = run_task(operator, retries=retries)

    assert [message.retry_reason for message in run.supervisor.sent(kind)] == [f"of {password}"]


def test_attack_69_a_run_that_a_task_triggers_has_an_id_that_is_legal_and_shows_no_value(dag, run_task, password):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=trigger))

    assert run.state == "success", run.error
    (message,) = run.supervisor.sent("TriggerDagRun")
    assert CANARY not in repr(message)
    assert message.run_id == "run_" + re.sub("[^A-Za-z0-9_.~:+-]", "_", password)
    assert (message.note, message.partition_key) == (f"of {password}", f"day {password}")


def test_a_task_finds_the_run_that_it_triggered_and_those_of_others_by_their_own_ids(dag, run_task, password):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=trigger))

    (triggered,) = run.supervisor.sent("TriggerDagRun")
    (counted,) = run.supervisor.sent("GetDRCount")
    assert counted.run_ids == ["run-1", triggered.run_id]
    asked = [message.run_id for message in run.supervisor.sent("GetDagRunState")]
    assert asked == [triggered.run_id, f"of another task {CANARY}"]


@since_airflow_3_3
def test_a_key_of_its_state_is_the_same_when_a_task_asks_for_it(dag, run_task, password):
    def do(self, context):
        context["task_state_store"].set(self.payload, 1)
        context["task_state_store"].delete(self.payload)

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert [message.key for kind in ("Set", "Delete") for message in run.supervisor.sent(f"{kind}TaskStateStore")] == [
        password,
        password,
    ]


def test_a_connection_whose_name_is_a_value_is_found(dag, run_task, password):
    def do(self, context):
        with contextlib.suppress(Exception):
            BaseHook.get_connection(self.payload)

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert [message.conn_id for message in run.supervisor.sent("GetConnection")] == [CANARY]


def test_when_a_task_is_gone_what_the_process_sends_to_its_supervisor_stays_as_it_is(dag, run_task, password):
    from airflow.sdk.execution_time import task_runner

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda *_: None))
    run.task._try_state.run.close()
    message = comms.SetRenderedMapIndex(rendered_map_index=CANARY)
    task_runner.SUPERVISOR_COMMS.send(message)

    assert run.supervisor.messages[-1] is message


def test_tasks_that_restart_their_job_or_run_others_put_one_guard_before_the_supervisor(dag, run_task, password):
    from airflow.sdk.execution_time import task_runner

    def do(self, context):
        seen.append(task_runner.SUPERVISOR_COMMS)
        if len(seen) < 3:
            OurOperator(task_id=f"job{len(seen)}", payload=password, do=do).execute(context)

    seen = []
    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do, allow_nested_operators=True))

    for number in (1, 2):
        dag.get_task(f"job{number}")._try_state.run.close()

    assert seen == [seen[0]] * 3


class KeepingOperator(StockOperator):
    """Keeps what it sent, where it kept things before, and in a slot."""

    __slots__ = ("last",)

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.sent = []
        self.options = {"depth": {}}

    def execute(self, context):
        self.sent.append(self.payload)
        self.options["depth"]["x"] = self.payload
        self.last = [self.payload]


def test_attack_30_what_is_put_into_an_attribute_shows_the_reference(dag, run_task, password):
    run = run_task(ours(KeepingOperator, dag, payload=password))

    assert run.state == "success"
    assert (run.task.sent, run.task.options, run.task.last) == ([password], {"depth": {"x": password}}, [password])


@pytest.mark.parametrize("rest", ["", "{{ 'x' ~ '%s' }}"], ids=["no reference left", "with a reference"])
def test_a_template_pushes_a_reference_once_and_without_marks(dag, run_task, password, rest):
    template = "{{ ti.xcom_push('mine', '%s') or '' }}" + rest
    run = run_task(ours(KeepingOperator, dag, payload=template.replace("%s", password)))

    assert [sent.value for sent in run.supervisor.sent("SetXCom") if sent.key == "mine"] == [password]
    assert run.task.last == [rest and f"x{password}"]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda job: pickle.loads(pickle.dumps(job))])
def test_a_copy_of_a_task_is_one_of_the_same_kind(dag, password, copied):
    job = ours(KeepingOperator, dag, payload=password)
    again = copied(job)

    assert type(again) is type(job)
    assert (again.payload, again.task_id, bool(again._try_state.run)) == (password, "job", False)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda job: pickle.loads(pickle.dumps(job))])
def test_a_copy_of_a_task_that_has_run_is_filled_in_like_the_first(dag, run_task, password, copied):
    run = run_task(ours(KeepingOperator, dag, payload=password.replace("db", "{{ 'db' }}")))
    again = copied(run.task)

    assert again.payload == password
    assert not re.search(rb"\d{25}", pickle.dumps(again))


@pytest.mark.parametrize(
    ("application", "run_conf"),
    [
        pytest.param("--conf", {}, id="the author's"),
        pytest.param("{{ dag_run.conf['app'] }}", {"app": "--conf"}, id="chosen by a run"),
        pytest.param("${dir:DIR:option}", {}, id="a resolved value"),
    ],
)
def test_no_application_becomes_an_option_that_sets_a_key_unseen(
    dag, run_task, secrets_dir, spark_submit, application, run_conf
):
    (secrets_dir / "option").write_text("--conf")
    job = ConfiguredSparkSubmitOperator(
        task_id="job",
        dag=dag,
        application=application.replace("DIR", str(secrets_dir)),
        application_args=["spark.app.hidden=1", "job.py"],
        allow_exposed_arguments=True,
    )

    error = run_task(job, conf=run_conf).error

    assert str(error).startswith("application: it begins with '-'")
    assert spark_submit() == []


def test_a_class_of_somebody_s_own_below_ours(dag, run_task, password, capfd):
    seen = []

    class TeamOperator(OurOperator):
        template_fields = ("payload", "team")

        def __init__(self, team, **kwargs):
            super().__init__(**kwargs)
            self.team = team

        def execute(self, context):
            self.before = self.team
            return super().execute(context)

    job = TeamOperator(
        task_id="job",
        dag=dag,
        team=password,
        payload=password,
        do=lambda self, _: seen.append((self.before, self.team, self.payload)),
    )
    run = run_task(job)

    assert seen == [(password, CANARY, CANARY)]
    assert type(run.task) is TeamOperator
    assert CANARY not in everything_shown(run, capfd)


def test_a_class_that_is_made_in_a_way_of_its_own(dag, run_task, password):
    class Registering(type(StockOperator)):
        """A custom metaclass."""

    class TeamOperator(StockOperator, metaclass=Registering):
        pass

    seen = []
    run_task(ours(TeamOperator, dag, payload=password, do=lambda self, _: seen.append(self.payload)))

    assert seen == [CANARY]


def test_attack_30_several_results_of_a_function(dag, run_task, password, capfd):
    with dag:
        made = task(lambda x: {"a": x, "b": [x]}, task_id="job", multiple_outputs=True)(password)
    configure_task(made.operator)
    run = run_task(made.operator)

    pushed = {message.key: message.value for message in run.supervisor.sent("SetXCom")}
    assert (pushed["a"], pushed["b"]) == (password, [password])
    assert CANARY not in everything_shown(run, capfd)


def test_a_sensor_has_its_values_each_time(dag, run_task, password):
    class WaitingSensor(BaseSensorOperator):
        template_fields = ("payload",)

        def __init__(self, payload, **kwargs):
            super().__init__(**kwargs)
            self.payload = payload

        def poke(self, context):
            seen.append(self.payload)
            return len(seen) > 1

    seen = []
    run = run_task(ours(WaitingSensor, dag, payload=password, poke_interval=0.01))

    assert (run.state, seen) == ("success", [CANARY, CANARY])


def test_an_operator_that_another_one_runs(dag, run_task, password):
    seen = []

    def do(self, context):
        OurOperator(task_id="inner", payload=password, do=lambda self, _: seen.append(self.payload)).execute(context)

    run = run_task(StockOperator(task_id="job", dag=dag, do=do))
    dag.get_task("inner")._try_state.run.close()

    assert (run.state, seen) == ("success", [CANARY])


# Templates that become objects


def test_a_dag_that_makes_objects_of_its_fields(run_task, password):
    seen = []
    dag = DAG("native", schedule=None, render_template_as_native_obj=True)
    fields = [password, "{{ [1, 2] }}", f"{password}{{{{ 7 }}}}"]
    run_task(OurOperator(task_id="job", dag=dag, payload=fields, do=lambda self, _: seen.append(self.payload)))

    assert seen == [[CANARY, [1, 2], f"{CANARY}7"]]


def test_a_file_holds_texts_also_there(run_task, spark_submit, tmp_path):
    expected = {"spark.app.a": "1.10", "spark.app.b": "010", "spark.app.c": "['x']", "spark.app.d": "report.sql"}
    (tmp_path / "all.properties").write_text("".join(f"{key}={text}\n" for key, text in expected.items()))
    dag = DAG("native", schedule=None, render_template_as_native_obj=True)
    run_task(submit(dag, config_files=[str(tmp_path / "all.properties")]))

    assert spark_submit.spark_conf == expected


# What is raised and said


def test_attack_19_exceptions_of_every_shape(dag, run_task, password, capfd):
    def do(self, context):
        value = self.payload
        first, second = ValueError(value.encode(), {"k": [value]}, {value: 1}), KeyError(value)
        first.add_note(f"note {value}")
        first.__cause__, second.__cause__ = second, first
        group = ExceptionGroup(f"group {value}", [first, second, ExceptionGroup("inner", [OSError(5, value, value)])])
        group.add_note(value)
        raise group

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    shown = "".join(traceback.TracebackException.from_exception(run.error, capture_locals=True).format())

    assert f"group {password}" in shown
    assert CANARY not in everything_shown(run, capfd) + shown


def test_attack_19_octets_that_are_no_text(dag, run_task, password, capfd):
    job = OurOperator(
        task_id="job", dag=dag, payload=password, do=lambda self, _: (self.payload.encode() + b"\xff").decode()
    )
    run = run_task(job)

    assert isinstance(run.error, UnicodeDecodeError)
    assert CANARY not in everything_shown(run, capfd) + repr((run.error.args, run.error.object))


def test_attack_19_an_error_that_holds_the_request_that_failed(dag, run_task, password):
    import requests

    def do(self, context):
        headers = {"Authorization": f"Bearer {self.payload}"}
        try:
            requests.post("http://127.0.0.1:9/batches", json={"conf": self.payload}, headers=headers, timeout=5)
        except requests.ConnectionError as error:
            raise RuntimeError("no answer") from error

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    request = run.error.__cause__.request

    assert request.body == json.dumps({"conf": password}).encode()
    assert request.headers["Authorization"] == f"Bearer {password}"
    assert CANARY not in repr(vars(request))


def raise_in_thread(value):
    thread = threading.Thread(target=lambda: sys.excepthook(ValueError, ValueError(value), None))
    thread.start()
    thread.join()


def log_exception(value):
    try:
        raise ValueError(value)
    except ValueError:
        logging.getLogger("std").exception("failed", stack_info=True)
        structlog.get_logger("own").exception("failed", stack_info=True)


def warn_captured(value):
    logging.captureWarnings(True)
    warnings.warn(value, stacklevel=1)
    logging.captureWarnings(False)


SAYINGS = {
    "structlog": lambda v: structlog.get_logger("own").info("said", value=v, octets=v.encode(), nested={"k": {v: [v]}}),
    "standard library": lambda v: logging.getLogger("std").warning("said %s", v, extra={"more": v}),
    "exceptions": log_exception,
    "exception hook": lambda v: sys.excepthook(ValueError, ValueError(v), None),
    "exception hook in a thread": raise_in_thread,
    "captured warning": warn_captured,
    "long line": lambda v: print(f"{'x' * 200_000}{v}{'y' * 200_000}"),
    "pieces": lambda v: [sys.stderr.write(piece) for piece in (v[:7], v[7:], "\n")],
    "octets": lambda v: sys.stdout.buffer.write(f"{v}\n".encode()),
    "first standard output": lambda v: print(v, file=sys.__stdout__),
    "first standard error": lambda v: print(v, file=sys.__stderr__),
}


@pytest.mark.parametrize("say", SAYINGS.values(), ids=SAYINGS.keys())
def test_attack_19_however_it_is_said(dag, run_task, password, capfd, caplog, say):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, _: say(self.payload)))
    said = "".join(capfd.readouterr()) + caplog.text

    assert run.state == "success"
    assert password in said
    assert CANARY not in said


def test_attack_19_a_thread_that_outlives_its_task(dag, run_task, password, capfd):
    go, threads = threading.Event(), []

    def do(self, context):
        value = self.payload

        def later():
            go.wait(LONGEST)
            print("printed later", value)
            logging.getLogger("late").error("logged later %s", value)

        threads.append(threading.Thread(target=later))
        threads[0].start()

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))
    go.set()
    threads[0].join()
    shown = everything_shown(run, capfd)

    assert f"printed later {password}" in shown
    assert CANARY not in shown
