"""DAG files, imported by Airflow in another process that has no database."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_config_providers.lint.dag_files import DagFile, DagImports, DagReader, read_all
from airflow_config_providers.lint.dag_process import AirflowProcess
from airflow_config_providers.lint.entry import WrittenEntry, WrittenJob
from tests.limits import LONGEST, eventually
from tests.lint.making import is_alive

pytest.importorskip("airflow")
pytestmark = pytest.mark.integration

CANARY = "c4nary-of-a-dag"
HEAD = """\
from airflow.sdk import DAG, task
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
"""
JOBS = f"""\
{HEAD}
import modules_of_dags
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow_config_providers.sensors.config_change import ConfigChangeSensor
print("printed by a DAG file")
with DAG("flights", schedule=None):
    output = SparkSubmitOperator(task_id="stock", application="x.py", conf={{"spark.app.x": "${{vault:a:b}}"}}).output
    ConfiguredSparkSubmitOperator(
        task_id="ours",
        application="x.py",
        application_args=["${{vault:apps/db:url}}", "password={CANARY}"],
        env_vars={{"DB_PASSWORD": "{CANARY}"}},
        conf={{
            "spark.executor.memory": "4g",
            "spark.app.filled": output,
            "spark.app.number": 3,
        }},
        executor_memory="2g",
        config_conn_id="own_providers",
        config_files=["/etc/base.properties", "/etc/{{{{ ds }}}}.properties"],
        unresolved="keep",
        allow_exposed_arguments=1,  # DAG files give such values for true
    )
    ConfiguredSparkSubmitOperator.partial(task_id="mapped", application="x.py", conf={{"spark.app.m": "1"}}).expand(
        name=["a", "b"]
    )

    ConfiguredSparkSubmitOperator(
        task_id="listed",
        application="x.py",
        conf={{"spark.app.list": ["x"], "spark.app.none": None, "spark.app.map": {{"a": 1}}, "spark.app.right": "1"}},
    )

    ConfiguredSparkSubmitOperator(task_id="list", application="x.py", conf=["spark.app.list_of_pairs=1"])
    ConfiguredSparkSubmitOperator(
        task_id="class",
        application="x.jar",
        java_class="${{vault:apps:class}}",
        spark_binary="spark-submit",
        doc_md="reads ${{vault:apps:class}}",
    )

    ConfiguredSparkSubmitOperator(
        task_id="nul", application="x.py", conf={{"spark.app.nul": "a\\0"}}, application_args=["\\ud800"]
    )

    ConfiguredSparkSubmitOperator(
        task_id="set", application="x.py", application_args=frozenset(["${{vault:apps/db:url}}", "--url", "a\\0"])
    )

    class Report(ConfiguredSparkSubmitOperator):
        template_fields = (*ConfiguredSparkSubmitOperator.template_fields, "token")

        def __init__(self, *, token, **kwargs):
            super().__init__(**kwargs)
            self.token = token

        def execute(self, context):
            super().execute(context)

    Report(task_id="report", application="x.py", token="${{vault:apps/chat:token}}")
    Report.partial(task_id="reports", application="x.py", token="${{vault:apps/chats:token}}").expand(name=["a"])
    Report(task_id="without", application="x.py", token="plain", conf={{"spark.app.x": "${{vault:a:b}}"}})

    for name in ("looped",):
        ConfiguredSparkSubmitOperator(task_id=name, application="x.py")

    @task
    def other(password): ...

    other("${{vault:a:b}}")
    ConfigChangeSensor(task_id="watches", references=["${{vault:a:b}}"])
    TriggerDagRunOperator(task_id="passes_on", trigger_dag_id="x", conf={{"spark.app.x": "${{vault:a:b}}"}})
"""
OF_REPORT = ("report", "reports", "without")
OFF = f"""\
{HEAD}
with DAG("off", schedule=None, tags=["config_providers:off"]):
    SparkSubmitOperator(task_id="off", application="x.py")
"""
WRONG = {
    "raises.py": f"{HEAD}\nraise ValueError('{CANARY}')",
    "exits.py": f"{HEAD}\nimport sys\nsys.exit(1)",
    "ends.py": f"{HEAD}\nimport os\nos._exit(0)",
    "cycle.py": f"{HEAD}\nwith DAG('c', schedule=None):\n    @task\n    def a(): ...\n    x = a()\n    x >> x",
}


@dataclass(frozen=True)
class Read:
    folder: Path
    found: dict[str, DagFile]
    ticks: int

    def job(self, name: str) -> WrittenJob:
        (job,) = (one for one in self.found["jobs.py"].jobs if one.place.task == f"flights.{name}")
        return job

    def line(self, text: str) -> int:
        return next(n for n, line in enumerate((self.folder / "jobs.py").read_text().splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def origin() -> Iterator[AirflowProcess]:
    with pytest.MonkeyPatch.context() as environ, AirflowProcess({}) as found:
        environ.setenv("AIRFLOW__CONFIG_PROVIDERS__APPLY_TO", "spark_submit")
        environ.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "sqlite:////no/such/folder/airflow.db")
        yield found


@pytest.fixture(scope="module")
def read(origin: AirflowProcess, tmp_path_factory: pytest.TempPathFactory) -> Read:
    folder = tmp_path_factory.mktemp("dags")
    for name, text in {"jobs.py": JOBS, "off.py": OFF, "plain.py": "x = 1\n", **WRONG}.items():
        (folder / name).write_text(textwrap.dedent(text))
    (folder / "modules_of_dags.py").write_text("")
    names = ["jobs.py", "off.py", "plain.py", "raises.py", "exits.py", "cycle.py", "ends.py"]
    ticks: list[None] = []
    found = read_all(
        [str(folder / name) for name in names],
        source=DagImports([str(folder)], LONGEST),
        origin=origin,
        tick=lambda: ticks.append(None),
        files_per_process=4,
    )
    return Read(folder, dict(zip(names, found, strict=True)), len(ticks))


def shown(entries: tuple[WrittenEntry, ...]) -> list[tuple[str, str, int | None, str]]:
    return [(one.key, one.text, one.place.line, one.origin) for one in entries]


def test_a_job_has_the_layers_of_its_dag_with_their_lines(read: Read):
    conf, arguments = read.job("ours").layers

    assert shown(conf) == [
        ("spark.executor.memory", "4g", read.line('"spark.executor.memory"'), "conf"),
        ("spark.app.number", "3", read.line('"spark.app.number"'), "conf"),
    ]
    assert shown(arguments) == [
        ("spark.executor.memory", "2g", read.line('executor_memory="2g"'), "argument executor_memory")
    ]


def test_a_job_of_a_loop_has_the_line_of_the_call(read: Read):
    assert read.job("looped").place.line == read.line("task_id=name")


def test_a_value_that_no_layer_can_have_leaves_the_others(read: Read):
    job = read.job("listed")
    (conf,) = (layer for layer in job.layers if layer)

    assert [one.key for one in conf] == ["spark.app.right"]
    assert shown(job.refused) == [
        (key, f"conf: '{key}' has a value of type {kind}. Write a string, a number or a boolean.", line, "")
        for line in [read.line("spark.app.list")]
        for key, kind in (("spark.app.list", "list"), ("spark.app.none", "NoneType"), ("spark.app.map", "dict"))
    ]


def test_a_configuration_that_is_no_mapping_is_refused_with_its_line(read: Read):
    ((key, why, line, _),) = shown(read.job("list").refused)

    assert (key, line) == ("", read.line("list_of_pairs"))
    assert why.startswith("conf: expected a mapping of key to value, found list. Write a dict.")


def test_a_reference_in_an_argument_that_is_not_resolved_is_found(read: Read):
    assert shown(read.job("class").unresolved) == [
        (
            "java_class",
            "java_class: a reference is not resolved here. Write the value itself if it is no secret; otherwise move "
            "it to a template field, or to the connection.",
            read.line("java_class"),
            "",
        )
    ]


@pytest.mark.parametrize(("name", "text"), [("report", "apps/chat:"), ("reports", "apps/chats:")])
def test_a_reference_that_a_class_below_ours_would_use_as_its_value_is_found(read: Read, name: str, text: str):
    ((argument, why, line, _),) = shown(read.job(name).taken_for_values)

    assert (argument, line) == ("token", read.line(text))
    assert why.startswith("token: execute of Report has the references there, and the values only inside of super()")


def test_a_class_below_ours_without_a_reference_in_its_own_field_is_not_found(read: Read):
    assert read.job("without").taken_for_values == ()


def test_strings_that_the_database_cannot_store_are_found(read: Read):
    line = read.line("spark.app.nul")

    assert {(name, at) for name, _, at, _ in shown(read.job("nul").unstorable)} == {
        ("application_args", line),
        ("conf", line),
    }


def test_strings_in_a_set_are_found(read: Read):
    job = read.job("set")

    assert [(name, text) for name, text, *_ in shown(job.texts)] == [("application_args[0]", "${vault:apps/db:url}")]
    assert [name for name, *_ in shown(job.unstorable)] == ["application_args"]


def test_a_job_has_its_other_references_files_and_options(read: Read):
    job = read.job("ours")

    assert shown(job.texts) == [
        ("application_args[0]", "${vault:apps/db:url}", read.line("application_args"), ""),
    ]
    assert job.files == ("/etc/base.properties",)
    assert (job.conn_id, job.keeps_unresolved, job.is_configured) == ("own_providers", True, True)


def test_a_job_has_the_strings_of_its_environment_and_arguments_without_references(read: Read):
    assert shown(read.job("ours").literals) == [
        ("env_vars['DB_PASSWORD']", CANARY, read.line("env_vars"), ""),
        ("application_args[1]", f"password={CANARY}", read.line("application_args"), ""),
    ]


def test_a_job_has_whether_its_author_allows_exposed_values(read: Read):
    assert (read.job("ours").allows_exposed, read.job("listed").allows_exposed) == (True, False)


def test_a_stock_operator_is_configured_by_the_cluster_policy(read: Read):
    assert read.job("stock").is_configured
    assert not read.found["off.py"].jobs[0].is_configured


def test_a_mapped_task_has_what_its_instances_share(read: Read):
    assert shown(read.job("mapped").layers[0]) == [("spark.app.m", "1", read.line('task_id="mapped"'), "conf")]


def test_tasks_of_other_operators_are_no_jobs(read: Read):
    tasks = {job.place.task for job in read.found["jobs.py"].jobs}

    names = ("stock", "ours", "mapped", "listed", "list", "class", "nul", "set", "looped", *OF_REPORT)
    assert tasks == {f"flights.{name}" for name in names}


def test_a_reference_of_another_operator_is_read_unless_it_watches_references_or_passes_them_on(read: Read):
    (found,) = read.found["jobs.py"].others

    assert (found.key, found.text, found.origin) == ("op_args[0]", "${vault:a:b}", "_PythonDecoratedOperator")
    assert (found.place.task, found.place.line) == ("flights.other", read.line("@task") + 1)


def test_a_file_without_dags_has_nothing(read: Read):
    assert read.found["plain.py"] == DagFile()


def test_each_file_is_counted(read: Read):
    assert read.ticks == len(read.found)


@pytest.mark.parametrize(
    ("name", "line", "problem"),
    [
        pytest.param("raises.py", 5, "ValueError", id="raises"),
        pytest.param("exits.py", 6, "cannot be imported", id="exits"),
        pytest.param("cycle.py", None, "Cycle", id="cycle"),
        pytest.param("ends.py", None, "ended the process", id="ends"),
    ],
)
def test_a_file_that_cannot_be_imported_is_a_finding(read: Read, name: str, line: int | None, problem: str):
    (found,) = read.found[name].findings

    assert (found.rule.code, found.place.path, found.place.line) == ("CP001", str(read.folder / name), line)
    assert problem in found.message
    assert CANARY not in found.message


ODD = f"""\
{HEAD}
from dataclasses import replace
from airflow_config_providers.lint import task_jobs
read = task_jobs.parts
def odd(*given):
    jobs, others = read(*given)
    return [replace(job, conn_id=7, files=("{CANARY}",)) for job in jobs], others
task_jobs.parts = odd
with DAG("odd", schedule=None):
    ConfiguredSparkSubmitOperator(task_id="odd", application="x.py")
"""


def test_a_value_of_an_unexpected_type_is_a_finding_and_the_next_file_is_read(origin: AirflowProcess, tmp_path: Path):
    for name, text in {"odd.py": ODD, "plain.py": "x = 1\n"}.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / "odd.py"), str(tmp_path / "plain.py")]

    odd, plain = read_all(paths, source=DagImports([], LONGEST), origin=origin, tick=lambda: None)

    (found,) = odd.findings
    assert (found.rule.code, found.place.path) == ("CP001", paths[0])
    assert (
        "Expected `str`, got `int` - at `$.jobs[0].conn_id`. This is a defect of airflow-config-prov" in found.message
    )
    assert CANARY not in found.message
    assert plain == DagFile()


HANGS = """\
# a DAG file for Airflow
import signal, subprocess, time
with open({pid!r}, "w") as file:
    file.write(str(subprocess.Popen(["sleep", "600"]).pid))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    time.sleep(9)
"""


@pytest.mark.slow
def test_a_file_that_hangs_is_ended_with_what_it_started(origin: AirflowProcess, tmp_path: Path):
    path, pid = tmp_path / "hangs.py", tmp_path / "pid"
    path.write_text(HANGS.format(pid=str(pid)))

    with DagReader(DagImports([], seconds=2), origin) as reader:
        read = reader.read(str(path))

    assert [(one.rule.code, one.place.path) for one in read.findings] == [("CP002", str(path))]
    assert eventually(lambda: not pid.exists() or not is_alive(int(pid.read_text() or 0)))
