"""The directories that the author of a template wrote into the path of a file."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from airflow.sdk.definitions._internal.templater import SandboxedEnvironment
from jinja2 import DictLoader, pass_context

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.job_layers import JobLayers, deployed_layers
from airflow_config_providers.job.mapped_task import AuthorsChoices
from airflow_config_providers.job.template_paths import PathTemplate, bounds_of_deployment
from airflow_config_providers.job.template_references import FilledIn
from airflow_config_providers.spark.layer_files import ConfigFile

CONTEXT = {
    "var": {"value": {"dir": "/srv/conf", "environment": "prod", "root": "/"}},
    "params": {"p": "x", "dir": "/srv/other", "mine": "/srv/author", "there": "/some", "me": "me"},
    "ds": "2026-11-22",
    "dag": SimpleNamespace(dag_id="d", folder="/srv"),
    "task": SimpleNamespace(task_id="t"),
    "dag_run": SimpleNamespace(conf={}),
}

OF_SOME = AuthorsChoices({"mine"})
"""The run gave other parameters."""


def directories(template, path="/some/file", config_paths=(), author=OF_SOME):
    """Return the directories that a path is bound to, one item for each bound."""
    environment = SandboxedEnvironment()
    environment.globals["mine"] = lambda: "/srv/mine"

    def fill_in(text):
        return environment.from_string(text).render(CONTEXT)

    bounds = PathTemplate(template, environment, fill_in, author).bounds(path, config_paths)
    return [bound.directories for bound in bounds]


NOWHERE = [()]
BOUNDS = [
    pytest.param("/etc/spark/base.properties", [], id="literal"),
    pytest.param("/etc/spark/{{ params.p }}.properties", [("/etc/spark/",)], id="name"),
    pytest.param("/etc/spark/job-{{ params.p }}/x.properties", [("/etc/spark/",)], id="part of a directory"),
    pytest.param("/etc/spark/{{ var.value.environment }}.properties", [("/etc/spark/",)], id="variable in a name"),
    pytest.param("/etc/{{ ds }}/{{ params.p }}", [("/etc/",), ("/etc/2026-11-22/",)], id="date and name"),
    pytest.param("jobs/{{ params.p }}", [("jobs/",)], id="relative"),
    pytest.param("job-{{ params.p }}", [(".",)], id="in the working directory"),
    pytest.param("/etc/{% if params.p %}a{% endif %}", [("/etc/",)], id="block"),
    pytest.param("/etc/{# #}{{ params.p }}", [("/etc/",)], id="comment"),
    pytest.param("/etc/${env:REGION}/{{ params.p }}", [("/etc/${env:REGION}/",)], id="reference"),
    pytest.param("/etc/${env:REGION}/job-{{ params.p }}", [("/etc/${env:REGION}/",)], id="reference before a name"),
    pytest.param("/etc/{% raw %}{{ params.p }}/{% endraw %}{{ params.p }}", [("/etc/",)], id="raw block"),
    pytest.param("{% set day = ds %}/etc/{{ day }}", [], id="name that the template sets"),
    pytest.param("{{ dag.params.mine }}/a", [], id="parameter that no run changed, of the DAG"),
    pytest.param("{{ dag.params.dir }}/a", NOWHERE, id="parameter of the DAG"),
    pytest.param("${env:CONF}/{{ params.p }}", [("${env:CONF}/",)], id="begins with a reference"),
    pytest.param("/etc/${file:/x/y:{{ params.p }}}/a", [("/etc/",)], id="inside of a reference"),
    pytest.param("{{ var.value.dir }}/base.properties", [], id="begins with a variable"),
    pytest.param("{{ mine() }}/base.properties", [], id="begins with a macro of the author"),
    pytest.param("{{ var.value.dir }}/{{ params.p }}.properties", [("/srv/conf/",)], id="variable and name"),
    pytest.param("{{ '/etc/a' if params.p else '/etc/b' }}", NOWHERE, id="another than the author's"),
    pytest.param("{{ '/some/file' if params.p else '/etc/b' }}", [], id="one of the author's paths"),
    pytest.param("{% if params.p %}/some/file{% else %}/etc/b{% endif %}", [], id="one of the author's texts"),
    pytest.param("{{ params.dir }}/base.properties", NOWHERE, id="begins with a parameter"),
    pytest.param("{{ params.mine }}/base.properties", [], id="begins with a parameter that no run changed"),
    pytest.param("{{ params['mine'] }}/{{ params.p }}", [("/srv/author/",)], id="such a directory"),
    pytest.param("{{ params.get('dir', params.mine) }}/a", NOWHERE, id="any of the parameters"),
    pytest.param("{{ params[params.mine] }}/a", NOWHERE, id="a parameter by a name that is no constant"),
    pytest.param("{{ var.value.dir or params.dir }}/base.properties", NOWHERE, id="either"),
    pytest.param("{{ dag_run.conf.p }}", NOWHERE, id="run"),
    pytest.param("{{ ti.xcom_pull('a') }}", NOWHERE, id="result"),
    pytest.param("{{ run_id }}.properties", NOWHERE, id="name of the run"),
    pytest.param("/{{ params.p }}", NOWHERE, id="the root is no directory"),
    pytest.param("/etc/../{{ params.p }}", NOWHERE, id="nor on a detour"),
    pytest.param("{{ var.value.root }}{{ params.p }}", NOWHERE, id="nor from a variable"),
    pytest.param("{% include params.p %}", NOWHERE, id="another template"),
    pytest.param(None, NOWHERE, id="data"),
]


@pytest.mark.parametrize(("template", "expected"), BOUNDS)
def test_attack_57_a_template_is_bound_to_the_directory_that_its_author_wrote(template, expected):
    assert directories(template) == expected


LITERALS = [
    pytest.param("{% if params.p == 'x' %}/some{% else %}/etc{% endif %}/file", "/some/", id="block"),
    pytest.param("{{ {'x': '/some', 'y': '/etc'}[params.p] }}/file", "/some/", id="mapping"),
    pytest.param("{% set name = params.p %}/some/{{ name[:0] }}file", "/some/", id="set"),
    pytest.param("{# base #}/some/{{ params.p[:0] }}file", "/some/", id="comment"),
    pytest.param("{{ '/some/' ~ params.p[:0] ~ 'file' }}", "/some/", id="joined"),
    pytest.param("{{ '/some/%sfile' | format(params.p[:0]) }}", "/some/", id="formatted"),
    pytest.param("{{ dag_run.conf.get('dir', '/some') }}/file", "/some/", id="default"),
]


@pytest.mark.parametrize(("template", "expected"), LITERALS)
def test_a_directory_that_the_author_wrote_anywhere_in_a_template_is_the_authors(template, expected):
    assert directories(template) == [(expected,)]


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("{{ params.get('there') or '/some' }}/file", id="not taken"),
        pytest.param("{{ params.there | replace('/tmp', '/etc') }}/file", id="looked for"),
        pytest.param("{{ '/etc/file' | replace('etc', 'so' ~ params.me) }}", id="changed"),
        pytest.param("{{ '/%s/file' | format('so' ~ params.me) }}", id="directory filled in"),
        pytest.param("{% if params.there == '/some' %}/some{% else %}/etc{% endif %}/file", id="compared"),
        pytest.param("{{ '/so' ~ params.me }}/file", id="part of a name"),
    ],
)
def test_attack_57_a_literal_that_the_path_does_not_begin_with_is_no_directory(template):
    assert directories(template) == NOWHERE


ALONE = AuthorsChoices({"p", "dir", "mine"}, is_alone=True)
"""The run gave nothing."""


@pytest.mark.parametrize(
    ("template", "is_authors"),
    [
        ("{{ params.get('dir') }}/a", True),
        ("{{ task.params.dir }}/a", True),
        ("{{ dag.params['dir'] }}/a", True),
        ("{{ dag.get_task('t').params.dir }}/a", True),
        ("{{ dag_run.conf.get('dir', params.dir) }}", True),
        ("{{ dag_run.run_id }}", False),
        ("{{ task.conf }}", False),
        ("{{ ti.xcom_pull('a') }}", False),
    ],
)
def test_what_is_given_by_a_run_that_gave_nothing_is_the_authors(template, is_authors):
    assert directories(template, author=ALONE) == ([] if is_authors else NOWHERE)


@pytest.mark.parametrize(
    "template",
    [
        "{{ dag.get_task('t').params.dir }}/a",
        "{{ dag['get_task']('t').params.dir }}/a",
        "{{ (dag).params.dir }}/a",
        "{{ task.params.dir }}/a",
        "{{ task['params']['dir'] }}/a",
        "{% set all = dag %}{{ all.params.dir }}/a",
        "{% for task in [task] %}{{ task.params.dir }}{% endfor %}/a",
    ],
)
def test_attack_57_a_dag_is_no_way_to_what_the_run_gave(template):
    assert directories(template) == NOWHERE


class OfContext:
    @pass_context
    def __call__(self, context):
        return context["params"]["dir"]

    @pass_context
    def method(self, context):
        return context["params"]["dir"]


@pass_context
def of_context(context, *_):
    return context["params"]["dir"]


@pytest.mark.parametrize(
    "template",
    [
        "{{ chosen() }}/a",
        "{{ chosen }}/a",
        "{% set choose = chosen %}{{ choose() }}/a",
        "{{ instance() }}/a",
        "{{ instance.method() }}/a",
        "{{ instance['method']() }}/a",
        "{{ 'x' | chosen }}/a",
        "{{ ['x'] | map('chosen') | first }}/a",
    ],
)
def test_attack_57_a_macro_that_reads_the_context_is_not_the_authors_alone(template):
    environment = SandboxedEnvironment()
    environment.globals.update(chosen=of_context, instance=OfContext())
    environment.filters["chosen"] = of_context
    path = PathTemplate(template, environment, lambda text: environment.from_string(text).render(CONTEXT), OF_SOME)

    assert [bound.directories for bound in path.bounds("/srv/other/a", ())] == NOWHERE


def _directories_in(environment, template):
    path = PathTemplate(template, environment, lambda text: environment.from_string(text).render(CONTEXT), OF_SOME)
    return [bound.directories for bound in path.bounds("/srv/other/a", ())]


def test_attack_57_a_test_that_reads_the_context_is_not_the_authors_alone():
    environment = SandboxedEnvironment()
    environment.tests["chosen"] = of_context

    assert _directories_in(environment, "{{ var.value.dir if 'x' is chosen else ds }}/a") == NOWHERE


def test_attack_57_another_template_that_reads_what_the_run_gave_is_not_the_authors_alone():
    environment = SandboxedEnvironment(loader=DictLoader({"dir": "{{ params.dir }}"}))

    assert _directories_in(environment, "{% include 'dir' %}/a") == NOWHERE


def test_a_filter_that_does_not_read_the_context_is_the_authors():
    assert _directories_in(SandboxedEnvironment(), "{{ var.value.dir | trim }}/a") == []


def test_a_template_without_a_filter_is_the_authors_also_if_one_could_read_the_context():
    environment = SandboxedEnvironment()
    environment.filters["chosen"] = of_context

    assert _directories_in(environment, "{{ var.value.dir }}/a") == []


@pytest.mark.parametrize("template", ["{{ '/etc' if task.task_id == 't' }}/a", "{{ dag.folder }}/{{ dag.dag_id }}"])
def test_names_of_the_dag_and_the_task_are_the_authors(template):
    assert directories(template) == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("/etc/spark/base.properties", [], id="literal"),
        pytest.param("/etc/{{ params.p }}", [("/etc/",)], id="template"),
        pytest.param("{{ params.dir }}/base.properties", [], id="begins with a parameter"),
        pytest.param(None, [], id="data"),
    ],
)
def test_the_paths_of_the_deployment_bound_every_path(template, expected):
    assert directories(template, config_paths=("/etc", "/srv")) == [("/etc", "/srv"), *expected]


@pytest.mark.parametrize(
    ("path", "config_paths", "told"),
    [
        pytest.param("base.properties", "", None, id="anywhere"),
        pytest.param("base.properties", "{files}", None, id="inside"),
        pytest.param("base.properties", "/etc/none", "is not inside a directory of [config_providers]", id="outside"),
        pytest.param("fifo", "", "it is not a regular file", id="FIFO"),
        pytest.param("{{% if x %}}a{{% endif %}}", "", "its path is known only when the task runs", id="template"),
    ],
)
def test_attack_57_describing_a_task_reads_files_as_a_run_does(tmp_path, monkeypatch, path, config_paths, told):
    (tmp_path / "base.properties").write_text("spark.a=1\n")
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_PATHS", config_paths.format(files=tmp_path))
    job = AuthoredJob(files={"config_files[0]": f"{tmp_path}/{path.format()}"})
    warnings = []
    layers = deployed_layers(job, {}, warn=warnings.append)

    assert [layer.configs for layer in layers] == ([{"spark.a": "1"}] if told is None else [])
    assert [told in warning for warning in warnings] == ([] if told is None else [True])


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        pytest.param("relative/x", "'relative/x' (relative: write the whole path)", id="relative"),
        pytest.param("/no/such", "'/no/such' (not a directory)", id="missing"),
        pytest.param("${env:CONF}/x", "'${env:CONF}/x'. Move", id="reference"),
        pytest.param("/no/\0such", "(not a directory)", id="NUL"),
    ],
)
def test_the_message_lists_the_entries_of_the_setting_and_what_is_wrong_with_them(tmp_path, entry, told):
    (bound,) = bounds_of_deployment((str(tmp_path), entry))

    assert f"'{tmp_path}', " in bound.problem
    assert told in bound.problem


@pytest.mark.parametrize("text", [None, "a=1\na=2\n"], ids=["missing", "set twice"])
@pytest.mark.parametrize("is_of_setting", [True, False], ids=["setting", "author"])
def test_a_bad_file_of_the_deployment_says_who_named_it(tmp_path, monkeypatch, text, is_of_setting):
    path = tmp_path / "base.properties"
    if text:
        path.write_text(text)
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__CONFIG_FILES", str(path) if is_of_setting else "")
    files = [ConfigFile(str(path), str(path))]

    with pytest.raises(ConfigException) as raised:
        JobLayers(FilledIn, print).collect(files, [], None)
    assert ("The file is from [config_providers] config_files." in str(raised.value)) is is_of_setting
