"""Tasks of which only a run knows what changes, and what code of DAGs has a part in."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

pytest.importorskip("airflow")

import time

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.planning import changes
from airflow_config_providers.planning.changed_files import ChangedFiles
from airflow_config_providers.planning.changes import depends_on_code, undecided_tasks
from airflow_config_providers.planning.state import State

TASK = ConfigResource.of_task("flights", "report")
BY_VARIABLE = "/conf/{{ var.value.env }}.yaml"
BY_PARAM = "/conf/{{ params.env }}.yaml"
FILE = ConfigSource.STATIC_FILE_CONFIG
DAG = ConfigSource.DAG_CONFIG
DYNAMIC = ConfigSource.DYNAMIC_DAG_CONFIG


def state(
    *layers: ConfigLayer, files: Sequence[str] = (BY_VARIABLE,), environ: Mapping[str, str] | None = None
) -> State:
    named = {f"config_files[{number}]": path for number, path in enumerate(files)}
    job = AuthoredJob(layers=layers, files=named)
    return State({TASK: job}, lambda task: (), lambda path, warn: None, environ or {})


def layer(source: ConfigSource, value: str = "1", *, name: str = "here", line: int = 1) -> ConfigLayer:
    return ConfigLayer(source, name, {"spark.app.k": value}, {"spark.app.k": f"{name}:{line}"})


class Files(ChangedFiles):
    """What is said to differ."""

    def __init__(self, templates: Collection[str] = (), *, code: bool = False) -> None:
        super().__init__(None, None)
        self._templates, self._code = templates, code

    def could_be(self, templates: Collection[str]) -> set[str]:
        return {*templates} & {*self._templates}

    @property
    def have_code(self) -> bool:
        return self._code


def is_undecided(before: State, after: State, files: ChangedFiles | None = None) -> bool:
    return undecided_tasks([TASK], before, after, files or Files()) == [TASK]


def test_a_task_with_a_chosen_file_is_decided_if_nothing_differs():
    assert not is_undecided(state(layer(DAG)), state(layer(DAG)))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([BY_VARIABLE], [BY_PARAM], True, id="another template"),
        pytest.param([BY_VARIABLE, "/a.yaml"], ["/a.yaml", BY_VARIABLE], True, id="another order"),
        pytest.param([BY_VARIABLE], [BY_VARIABLE, "/a.yaml"], True, id="one more"),
        pytest.param([BY_VARIABLE], [], True, id="no longer chosen"),
        pytest.param(["/a.yaml"], ["/b.yaml"], False, id="none is chosen"),
        pytest.param([BY_VARIABLE, "/a.yaml"], [BY_VARIABLE, "/a.yaml"], False, id="the same"),
    ],
)
def test_other_files(before: list[str], after: list[str], expected: bool):
    assert is_undecided(state(files=before), state(files=after)) is expected


@pytest.mark.parametrize(("files", "expected"), [([BY_VARIABLE], True), (["/a.yaml"], False)])
def test_another_environment_can_choose_another_file(files: list[str], expected: bool):
    after = state(files=files, environ={"AIRFLOW_VAR_ENV": "prod"})

    assert is_undecided(state(files=files, environ={"AIRFLOW_VAR_ENV": "dev"}), after) is expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(Files([BY_VARIABLE]), True, id="the chosen one could differ"),
        pytest.param(Files([BY_PARAM]), False, id="that of another task could"),
        pytest.param(Files(code=True), False, id="code that has no part in the path"),
    ],
)
def test_a_file_that_differs(files: Files, expected: bool):
    assert is_undecided(state(), state(), files) is expected


@pytest.mark.parametrize(("template", "expected"), [(BY_PARAM, True), (BY_VARIABLE, False)])
def test_other_code_can_choose_another_file(template: str, expected: bool):
    assert is_undecided(state(files=[template]), state(files=[template]), Files(code=True)) is expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param([layer(DYNAMIC), layer(FILE)], [layer(FILE)], True, id="the same value, but weaker than the file"),
        pytest.param([layer(DYNAMIC), layer(DAG)], [layer(DAG)], False, id="the same value, still stronger"),
        pytest.param([layer(DYNAMIC, "1")], [layer(DYNAMIC, "2")], False, id="stronger in both"),
        pytest.param([layer(DAG, "1")], [layer(DYNAMIC, "2")], False, id="of a stronger layer"),
        pytest.param([], [layer(DYNAMIC)], True, id="a new key"),
        pytest.param([layer(DAG)], [], True, id="no key any longer"),
        pytest.param([layer(FILE, "1")], [layer(FILE, "2")], True, id="another value in a file"),
        pytest.param([layer(FILE, name="a")], [layer(FILE, name="b")], True, id="another file"),
        pytest.param([layer(FILE, line=1)], [layer(FILE, line=2)], False, id="another line of the same file"),
        pytest.param([layer(DAG), layer(FILE, "1")], [layer(DAG), layer(FILE, "2")], False, id="beaten in both"),
    ],
)
def test_another_winner_if_the_chosen_file_could_come_between(
    before: list[ConfigLayer], after: list[ConfigLayer], expected: bool
):
    assert is_undecided(state(*before), state(*after)) is expected


def test_a_winner_does_not_matter_without_a_chosen_file():
    assert not is_undecided(state(files=["/a.yaml"]), state(layer(DYNAMIC), files=["/a.yaml"]))


def test_a_new_task_with_a_chosen_file_is_undecided():
    nothing = State({}, lambda task: (), lambda path, warn: None, {})

    assert is_undecided(nothing, state())


def test_without_a_chosen_file_nothing_of_the_repository_is_asked():
    assert undecided_tasks([TASK], state(files=["/a.yaml"]), state(files=["/a.yaml"]), None) == []  # type: ignore[arg-type]


def test_tasks_with_equal_layers_are_settled_once(monkeypatch: pytest.MonkeyPatch):
    settled: list[object] = []

    class Counting(changes.LayeredConfig):
        def __init__(self, *args: Any) -> None:
            settled.append(args)
            super().__init__(*args)

    monkeypatch.setattr(changes, "LayeredConfig", Counting)
    tasks = [ConfigResource.of_task("flights", f"report{number}") for number in range(100)]
    before, after = (
        State(dict.fromkeys(tasks, one.jobs[TASK]), lambda task: (), lambda path, warn: None, {})
        for one in (state(), state(layer(DYNAMIC)))
    )

    assert undecided_tasks(reversed(tasks), before, after, Files()) == sorted(tasks)
    assert len(settled) == 2


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param("/conf/{{ var.value.env }}.yaml", False, id="a variable"),
        pytest.param("/conf/{{ conn.prod.host }}.yaml", False, id="a connection"),
        pytest.param("/conf/{{ ds }}-{{ ts_nodash }}-{{ logical_date }}.yaml", False, id="dates"),
        pytest.param("/conf/{{ data_interval_start | ds }}.yaml", False, id="a filter of Airflow"),
        pytest.param("/conf/{{ run_id }}-{{ dag_run.conf['env'] | lower }}.yaml", False, id="the run"),
        pytest.param("/conf/{{ macros.ds_add(ds, 1) }}.yaml", False, id="a macro of Airflow"),
        pytest.param("${env:DIR}/prod.yaml", False, id="a reference"),
        pytest.param("/conf/{{ range(3) | first }}.yaml", False, id="a function of Jinja"),
        pytest.param("/conf/{% set day = ds %}{{ day }}.yaml", False, id="a name of the template"),
        pytest.param("/conf/{{ params.env }}.yaml", True, id="params"),
        pytest.param("/conf/{{ dag.dag_id }}.yaml", True, id="the DAG"),
        pytest.param("/conf/{{ task.owner }}.yaml", True, id="the task"),
        pytest.param("/conf/{{ ti.xcom_pull('x') }}.yaml", True, id="the result of a task"),
        pytest.param("/conf/{{ env }}.yaml", True, id="a macro of the DAG"),
        pytest.param("/conf/{{ macros.ours.env() }}.yaml", True, id="a macro of a plugin"),
        pytest.param("/conf/{% set m = macros %}{{ m.ours.env() }}.yaml", True, id="a macro under another name"),
        pytest.param("/conf/{{ ds | ours }}.yaml", True, id="a filter of the DAG"),
        pytest.param("/conf/{{ ds if ds is ours else ts }}.yaml", True, id="a test of the DAG"),
        pytest.param("/conf/{{ (ds | ours) if ds else ts }}.yaml", True, id="a filter in a branch"),
        pytest.param("/conf/{% include 'name' %}.yaml", True, id="another template"),
        pytest.param("/conf/{{ ds.yaml", True, id="malformed"),
        pytest.param("{{ " + "(" * 5_000 + "ds" + ")" * 5_000 + " }}", True, id="too deep"),
    ],
)
def test_code_has_a_part_in_what_it_can_change(template: str, expected: bool):
    assert depends_on_code(template) is expected


@pytest.mark.parametrize("part", [".b", "['b']", "[0]", "|lower", "~a"])
def test_a_long_chain_takes_time_linear_in_its_length(part: str):
    def seconds(length: int) -> float:
        begin = time.process_time()
        depends_on_code("{{ a" + part * length + " }}")
        return time.process_time() - begin

    seconds(1)
    assert seconds(200) < 0.2 + 30 * min(seconds(20) for _ in range(3))
