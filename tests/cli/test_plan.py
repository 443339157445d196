"""``airflow config-providers plan`` in a real deployment: nothing is changed, and everything is shown."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, Deployment, Driver, Ended
from tests.cli.recorded import RUN, Records, records_in

CANARY = "c4nary-of-a-plan"
POLICIES = """
policies:
  - name: frozen
    class: immutable_keys
    params: {keys: spark.app.frozen}
  - name: small
    class: bounds
    params:
      spark.executor.memory: {max: 4g}
"""
REQUIRED = "policies: [{name: owned, class: required_keys, params: {keys: spark.app.owner}}]"
SMALLER = POLICIES.replace("4g", "2g")
CHOSEN = """
from pathlib import Path
from airflow.sdk import DAG
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator

with DAG("gates", schedule=None):
    for name in ("var.value.env", "params.env"):
        ConfiguredSparkSubmitOperator(
            task_id=name.partition(".")[0],
            application="x.py",
            config_files=[f"{Path(__file__).parent}/conf/{{{{ {name} }}}}.yaml"],
        )
"""
BEFORE = """
from airflow.sdk import DAG
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from memory import MEMORY

with DAG("trains", schedule=None):
    ConfiguredSparkSubmitOperator(
        task_id="report",
        application=__file__,
        conf={"spark.app.own": __file__, "spark.app.password": "%(secret)s"},
        config_files=[__file__.replace("trains.py", "base.properties")],
        executor_memory=MEMORY,
        env_vars={"TOKEN": "${vault:apps/%(tag)s:token}"},
    )
"""


def keys(rows: Any, task: str) -> dict[str, str]:
    (found,) = (one for one in rows["tasks"] if one["task"] == task)
    return {one["key"]: one["change"] for one in found["keys"]}


def test_it_shows_what_an_alter_changes_in_each_task(cli: Cli):
    plan = cli.json("plan --dag flights --add-config spark.executor.memory=8g")

    by_task = {one["task"]: one["keys"] for one in plan["tasks"]}
    assert by_task["report"] == [
        {
            "key": "spark.executor.memory",
            "change": "changed",
            "before": "3g",
            "before_source": "DAG_CONFIG",
            "before_origin": "argument executor_memory",
            "after": "8g",
            "after_source": "DYNAMIC_DAG_CONFIG",
            "after_origin": "dynamic configuration of DAG 'flights', version 1",
        }
    ]
    assert keys(plan, "texts") == {"spark.executor.memory": "added"}
    assert plan["summary"]["tasks"] == len(by_task)
    assert {one["dag"] for one in plan["tasks"]} == {"flights"}


def test_a_plan_changes_nothing(cli: Cli):
    cli.json("plan --dag flights --add-config spark.executor.memory=8g")

    assert cli.json("history --dag flights") == []


def test_a_deletion_brings_back_what_was_below(cli: Cli):
    cli.json("alter --dag flights --task report --add-config spark.executor.memory=8g,spark.app.new=1")

    plan = cli.json("plan --dag flights --task report --delete-config spark.executor.memory,spark.app.new")

    assert keys(plan, "report") == {"spark.executor.memory": "changed", "spark.app.new": "removed"}
    assert plan["summary"] == {
        "tasks": 1,
        "keys_added": 0,
        "keys_changed": 1,
        "keys_removed": 1,
        "restarts": 0,
        "denied": False,
        "warned": False,
    }


def test_it_is_only_known_in_a_run_whether_a_key_changes_below_a_file_that_the_run_chooses(cli: Cli, tmp_path: Path):
    (base := tmp_path / "base.properties").write_text("spark.app.x=1\n")

    done = cli("plan --dag flights --task files --add-config spark.app.x=1", config_files=str(base))

    assert done.out == (
        "Only a run knows what changes in flights.files, because it chooses a layer file.\n"
        "Plan: nothing is known to change.\n"
    )
    assert not [note for note in done.notes if "does not change" in note]


@pytest.mark.parametrize(
    ("task", "options", "expected"),
    [
        pytest.param("files", "--add-config spark.app.x=1", ["flights.files"], id="chosen"),
        pytest.param("report", "--add-config spark.app.x=1", [], id="no file is chosen"),
        pytest.param("files", "--delete-config spark.app.x", [], id="nothing to delete"),
    ],
)
def test_a_plan_names_the_tasks_of_which_only_a_run_knows_what_changes(
    cli: Cli, task: str, options: str, expected: list[str]
):
    assert cli.json(f"plan --dag flights --task {task} {options}")["undecided"] == expected


def test_a_change_of_a_key_that_beats_each_file_is_known(cli: Cli):
    cli.json("alter --dag flights --task files --add-config spark.app.x=1")

    plan = cli.json("plan --dag flights --task files --add-config spark.app.x=2")

    assert (keys(plan, "files"), plan["undecided"]) == ({"spark.app.x": "changed"}, [])


def test_only_a_run_knows_whether_a_policy_allows_a_task_with_a_file_that_the_run_chooses(cli: Cli, tmp_path: Path):
    (policies := tmp_path / "policies.yaml").write_text(POLICIES)

    plan = cli.json(f"plan --dag flights --task files --add-config spark.app.x=1 --policies-file {policies}")

    of_run = [one["verdict"] for one in plan["tasks"][0]["policies"] if one["at"] == "render"]
    assert of_run == ["only a run knows", "only a run knows"]


def test_a_value_that_loses_changes_nothing(cli: Cli):
    cli.json("alter --dag flights --task report --add-config spark.executor.memory=8g")

    plan = cli.json("plan --dag flights --add-config spark.executor.memory=1g")

    assert "report" not in {one["task"] for one in plan["tasks"]}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param("--add-config spark.executor.memory=3g", "DAG_CONFIG, argument executor_memory,", id="the same"),
        pytest.param("--delete-config spark.app.new", "does not set it", id="nothing to delete"),
    ],
)
def test_a_plan_without_changes_says_why(cli: Cli, options: str, reason: str):
    done = cli(f"plan --dag flights --task report {options}")

    (note,) = [note for note in done.notes if "does not change" in note]
    assert reason in note
    assert done.out.splitlines()[-1] == "Plan: nothing changes."


def test_a_plan_that_changes_something_has_no_reasons(cli: Cli):
    done = cli("plan --dag flights --task report --add-config spark.executor.memory=8g")

    assert not [note for note in done.notes if "does not change" in note]


def test_people_see_one_row_for_the_same_change_of_many_tasks(cli: Cli):
    done = cli("plan --default --add-config spark.app.new=1 --output plain")

    (row,) = (line for line in done.out.splitlines() if "spark.app.new" in line)
    assert row.startswith("added")
    assert "more" in row
    assert done.out.splitlines()[-1].endswith("1 key added, 0 keys changed, 0 keys removed.")


def test_another_layer_file_is_read_in_place_of_one(cli: Cli, tmp_path: Path):
    (tmp_path / "next.properties").write_text("\nspark.app.base=no\nspark.app.next=1\n")

    base = cli.deployment.home / "base.properties"
    plan = cli.json("plan --replace-file", f"{base}={tmp_path / 'next.properties'}")

    assert keys(plan, "report") == {"spark.app.base": "changed", "spark.app.next": "added"}
    (changed, _) = next(one["keys"] for one in plan["tasks"] if one["task"] == "report")
    assert (changed["before_origin"], changed["after_origin"]) == (f"{base}:2", f"{base}:2")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        pytest.param("none.properties", None, "none.properties' cannot be read", id="missing"),
        pytest.param(
            "next.properties", "spark.app.a=1\nspark.app.a=2\n", "next.properties: 'spark.app.a' is set", id="twice"
        ),
        pytest.param("next.yaml", "spark.app.a: 1\n", "next.yaml' cannot take the place of", id="other-format"),
    ],
)
def test_a_file_that_cannot_take_the_place_of_another_is_refused(
    cli: Cli, tmp_path: Path, name: str, text: str | None, reason: str
):
    if text is not None:
        (tmp_path / name).write_text(text)

    done = cli("plan --output json --replace-file", f"{cli.deployment.home / 'base.properties'}={tmp_path / name}")

    assert (done.code, done.out) == (3, "")
    assert reason in done.err


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        pytest.param("", "next.properties' sets the same keys to the same values as", id="same"),
        pytest.param(
            "spark.app.over=2\n", "whose layers are known: for each key that differs, another layer", id="beaten"
        ),
    ],
)
def test_a_note_says_why_a_replaced_file_changes_nothing(cli: Cli, tmp_path: Path, more: str, reason: str):
    base = tmp_path / "base.properties"
    base.write_text("spark.app.mine=1\n")
    (tmp_path / "next.properties").write_text(f"spark.app.mine=1\n{more}")
    cli.json("alter --default --add-config", "spark.app.over=1")

    done = cli("plan --replace-file", f"{base}={tmp_path / 'next.properties'}", config_files=str(base))

    assert done.code == 0
    assert reason in done.err


def test_a_note_says_that_no_job_names_a_replaced_file(cli: Cli, tmp_path: Path):
    (tmp_path / "next.properties").write_text("spark.app.a=1\n")

    done = cli("plan --output json --replace-file", f"/no/base.properties={tmp_path / 'next.properties'}")

    assert (done.code, done.rows["tasks"]) == (0, [])
    assert "note: No job names the layer file '/no/base.properties'." in done.err


def test_a_note_names_the_tasks_that_can_have_a_replaced_file_through_a_template(cli: Cli, tmp_path: Path):
    (tmp_path / "next.properties").write_text("spark.app.a=1\n")

    done = cli(f"plan --dag flights --replace-file /data/2026-01-01.properties={tmp_path / 'next.properties'}")

    assert (
        "No job names the layer file '/data/2026-01-01.properties'; 1 task can have it through a template: "
        "flights.files."
    ) in done.notes


def test_another_secret_in_a_file_is_a_change_that_shows_neither(cli: Cli, tmp_path: Path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.properties").write_text(f"spark.app.password={CANARY}-{name}\n")

    done = cli(
        "plan --default --output json --replace-file",
        f"{tmp_path / 'a.properties'}={tmp_path / 'b.properties'}",
        config_files=str(tmp_path / "a.properties"),
    )

    assert keys(done.rows, "texts") == {"spark.app.password": "changed"}
    assert CANARY not in done.out + done.err


def test_a_new_secret_over_an_old_one_is_a_change(cli: Cli, tmp_path: Path):
    (tmp_path / "x.properties").write_text(f"spark.app.token={CANARY}\n")
    cli.json("alter --dag flights --add-config-file", str(tmp_path / "x.properties"))
    (tmp_path / "x.properties").write_text(f"spark.app.token={CANARY}-2\n")

    done = cli("plan --dag flights --output json --add-config-file", str(tmp_path / "x.properties"))

    assert keys(done.rows, "texts") == {"spark.app.token": "changed"}
    assert CANARY not in done.out + done.err


def test_another_environment_is_compared_with_that_of_this_process(cli: Cli, tmp_path: Path):
    (tmp_path / "other.env").write_text("# comment\nSPARK_EXECUTOR_MEMORY=9g\n")

    plan = cli.json("plan --environment", str(tmp_path / "other.env"), environment_enabled="True")

    assert keys(plan, "report") == {"spark.executor.memory": "changed"}


def test_policies_are_asked_and_denials_come_first(cli: Cli, tmp_path: Path):
    policies = tmp_path / "policies.yaml"
    policies.write_text(POLICIES)

    done = cli(
        "plan --dag flights --task report --add-config spark.executor.memory=8g --output json --policies-file",
        str(policies),
    )

    assert done.code == 4, done.err
    assert [(one["policy"], one["verdict"]) for one in done.rows["policies"]] == [
        ("small", "denies"),
        ("frozen", "allows"),
    ]
    assert done.rows["tasks"][0]["policies"][0]["verdict"] == "denies"
    assert done.rows["summary"]["denied"]


@pytest.mark.parametrize("words", ["--dag flights --task report", "--dag flights", "--default"])
def test_a_denial_that_is_the_same_for_the_change_and_its_tasks_is_shown_once(cli: Cli, tmp_path: Path, words: str):
    (policies := tmp_path / "policies.yaml").write_text(POLICIES)

    done = cli(f"plan {words} --add-config spark.executor.memory=8g --output plain --policies-file {policies}")

    (row,) = (line.split() for line in done.out.splitlines() if line.startswith("small"))
    assert (row[1], row[2]) == ("alter", "denies")
    (error,) = done.errors
    assert error.startswith("Policy 'small' denies the change of ")


def test_a_policies_file_alone_is_a_change_that_is_denied_if_it_denies_tasks(cli: Cli, tmp_path: Path):
    (policies := tmp_path / "policies.yaml").write_text(SMALLER)

    done = cli(f"plan --dag flights --policies-file {policies} --output json")

    assert (done.code, done.rows["tasks"], done.rows["summary"]["denied"]) == (4, [], True)
    denied = {one["task"] for one in done.rows["unchanged"] if one["policies"][0]["verdict"] == "denies"}
    assert denied == {"report", "each", "differing"}
    assert len(done.errors) == len(denied)
    assert cli(f"plan --dag flights --policies-file {policies} --detailed-exit-code").code == 1


def test_the_table_names_each_task_that_a_new_policy_denies(cli: Cli, tmp_path: Path):
    (policies := tmp_path / "policies.yaml").write_text(REQUIRED)

    done = cli(f"plan --dag flights --policies-file {policies} --output plain")

    (row,) = (line for line in done.out.splitlines() if line.startswith("owned"))
    names = [error.partition("task '")[2].partition("'")[0] for error in done.errors if "denies" in error]
    assert len(names) > 3
    assert all(f"flights.{name}" in row for name in names)
    assert done.out.splitlines()[-1] == "Plan: no configuration changes. Denied by 1 policy."


def test_what_a_deployed_policy_denies_now_is_not_denied_because_of_the_change(cli: Cli, tmp_path: Path):
    (deployed := tmp_path / "deployed.yaml").write_text(SMALLER)
    (policies := tmp_path / "policies.yaml").write_text(SMALLER)
    words = f"plan --dag flights --task report --policies-file {policies} --detailed-exit-code --output json"

    done = cli(words, policies_file=str(deployed))

    assert done.code == 0, done.err
    assert [one["policies"][0]["verdict"] for one in done.rows["unchanged"]] == ["denies, also without this change"]


def test_a_new_policy_is_compared_with_those_of_the_deployment_and_not_with_itself(cli: Cli, tmp_path: Path):
    (policies := tmp_path / "policies.yaml").write_text(SMALLER)
    words = f"plan --dag flights --task report --add-config spark.app.new=1 --policies-file {policies} --output json"

    done = cli(words)

    assert done.code == 4
    (verdict,) = (one for one in done.rows["tasks"][0]["policies"] if one["verdict"] != "allows")
    assert (verdict["policy"], verdict["at"], verdict["verdict"]) == ("small", "render", "denies")


@pytest.mark.parametrize(
    ("task", "deployed", "verdict"),
    [
        pytest.param("report", SMALLER, "no longer denies", id="looser"),
        pytest.param("files", POLICIES, "only a run knows", id="a file that a run chooses"),
    ],
)
def test_other_policies_can_change_what_happens_without_a_denial(
    cli: Cli, tmp_path: Path, task: str, deployed: str, verdict: str
):
    (tmp_path / "deployed.yaml").write_text(deployed)
    (policies := tmp_path / "policies.yaml").write_text(POLICIES)
    words = f"plan --dag flights --task {task} --policies-file {policies} --detailed-exit-code --output json"

    done = cli(words, policies_file=str(tmp_path / "deployed.yaml"))

    assert done.code == 2, done.err
    assert verdict in {one["verdict"] for one in done.rows["unchanged"][0]["policies"]}


WARNING = SMALLER.replace("class: bounds", "class: bounds\n    enforcement: warn")


def test_a_plan_shows_what_a_policy_only_warns_of_and_is_not_denied(cli: Cli, tmp_path: Path):
    (policies := tmp_path / "policies.yaml").write_text(WARNING)
    words = f"plan --dag flights --task report --add-config spark.executor.memory=8g --policies-file {policies}"

    done = cli(words, "--output", "plain")

    assert (done.code, done.errors) == (0, [])
    (row,) = (line for line in done.out.splitlines() if line.startswith("small"))
    assert " warns " in row
    assert "'spark.executor.memory' is more than 2g" in row
    assert done.out.splitlines()[-1].endswith(" Warned of by 1 policy.")
    summary = cli.json(words)["summary"]
    assert (summary["denied"], summary["warned"]) == (False, True)


@pytest.mark.parametrize(
    ("deployed", "then", "code", "verdicts"),
    [
        pytest.param(POLICIES, WARNING, 2, {"warns"}, id="begins to warn"),
        pytest.param(WARNING, WARNING, 0, {"warns, also without this change"}, id="warns as before"),
        pytest.param(SMALLER, WARNING, 2, {"warns", "no longer denies"}, id="denied before"),
        pytest.param(WARNING, POLICIES, 2, {"no longer warns"}, id="warned before"),
        pytest.param(WARNING, SMALLER, 1, {"denies"}, id="denies what it warned of"),
    ],
)
def test_what_policies_only_warn_of_is_a_change_of_their_verdict(
    cli: Cli, tmp_path: Path, deployed: str, then: str, code: int, verdicts: set[str]
):
    (tmp_path / "deployed.yaml").write_text(deployed)
    (policies := tmp_path / "policies.yaml").write_text(then)
    words = f"plan --dag flights --task report --policies-file {policies} --detailed-exit-code --output json"

    done = cli(words, policies_file=str(tmp_path / "deployed.yaml"))

    assert done.code == code, done.err
    assert {one["verdict"] for one in done.rows["unchanged"][0]["policies"]} == verdicts


def test_a_denial_of_a_task_alone_is_shown(cli: Cli, tmp_path: Path):
    (policies := tmp_path / "policies.yaml").write_text(POLICIES)
    (tmp_path / "next.properties").write_text("spark.executor.memory=8g\n")
    replaced = f"{cli.deployment.home / 'base.properties'}={tmp_path / 'next.properties'}"

    done = cli(f"plan --dag flights --task query --replace-file {replaced} --policies-file {policies}")

    (error,) = done.errors
    assert error.startswith("Policy 'small' denies the configuration of task 'query' of DAG 'flights'")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param("--dag flights --add-config spark.app.new=1", 2, id="changes"),
        pytest.param("--dag flights --delete-config spark.app.new", 0, id="nothing"),
        pytest.param("--dag flihgts --add-config spark.app.new=1", 1, id="error"),
        pytest.param("--add-config spark.app.new=1", 1, id="wrong-arguments"),
    ],
)
def test_detailed_exit_codes_are_those_of_terraform(cli: Cli, words: str, code: int):
    assert cli(f"plan {words} --detailed-exit-code").code == code


def test_a_detailed_exit_code_does_not_say_that_nothing_changes_if_only_a_run_knows(cli: Cli, tmp_path: Path):
    (base := tmp_path / "base.properties").write_text("spark.app.x=1\n")
    words = "plan --dag flights --task files --add-config spark.app.x=1 --detailed-exit-code"

    done = cli(words, config_files=str(base))

    assert (done.out.splitlines()[-1], done.code) == ("Plan: nothing is known to change.", 2)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        pytest.param("/data/2026-01-01.properties", 2, id="could be chosen"),
        pytest.param("/elsewhere/2026-01-01.properties", 0, id="cannot be chosen"),
    ],
)
def test_a_replaced_file_that_no_run_chooses_changes_nothing(cli: Cli, tmp_path: Path, path: str, code: int):
    (tmp_path / "next.properties").write_text("spark.app.a=1\n")

    done = cli(
        f"plan --dag flights --task files --detailed-exit-code --replace-file {path}={tmp_path / 'next.properties'}"
    )

    assert done.code == code, done.out


def test_without_detailed_exit_codes_a_change_ends_with_0(cli: Cli):
    assert cli("plan --dag flights --add-config spark.app.new=1").code == 0


def test_a_task_that_this_package_does_not_configure_has_no_plan_and_the_error_names_apply_to(cli: Cli):
    done = cli("plan --dag flights --task done --add-config spark.app.a=1")

    assert done.code == 3
    assert "There is no configured job in task 'done' of DAG 'flights'" in done.errors[0]
    assert "let this package configure its operators: [config_providers] apply_to" in done.errors[0]


def test_no_change_given_is_a_wrong_argument(cli: Cli):
    done = cli("plan --dag flights")

    assert done.code == 2
    assert done.errors[0].startswith("No changes given.")


def test_a_file_of_environment_variables_that_cannot_be_read_is_called_so(cli: Cli):
    done = cli("plan --environment nowhere.env")

    assert done.code == 3
    assert done.errors[0].startswith("The file of environment variables 'nowhere.env' cannot be read: ")


@pytest.fixture
def records(cli: Cli) -> Iterator[Records]:
    pytest.importorskip("airflow.models.task_state_store", reason="the state of tasks came with Airflow 3.3")
    with records_in(cli.deployment) as found:
        yield found


@pytest.mark.parametrize(
    ("action", "state", "row"),
    [
        pytest.param({}, "running", {"restarts": False, "waiting": ["spark.executor.memory"]}, id="waits"),
        pytest.param(
            {"config.reload.action": "restart"}, "running", {"restarts": False, "waiting": []}, id="action-taken-back"
        ),
        pytest.param(
            {"config.reload.action": "restart"}, "deferred", {"restarts": False, "waiting": []}, id="deferred"
        ),
    ],
)
def test_a_running_job_waits(cli: Cli, records: Records, action: dict[str, str], state: str, row: dict[str, Any]):
    had = "3g" if not action else "8g"
    records({"spark.executor.memory": had, **action})
    records.running("report", state=state)

    plan = cli.json("plan --dag flights --task report --add-config spark.executor.memory=8g")

    ((running,),) = [one["running"] for one in plan["tasks"]]
    assert (running["run"], running["try"], running["state"]) == (RUN, 1, state)
    assert {name: running[name] for name in row} == row


def test_a_running_job_with_the_reload_action_restarts(cli: Cli, records: Records):
    cli.json("alter --dag flights --task report --add-config config.reload.action=restart")
    records({"spark.executor.memory": "3g", "config.reload.action": "restart"})
    records.running("report")

    plan = cli.json("plan --dag flights --task report --add-config spark.executor.memory=8g")

    assert [(one["restarts"], one["waiting"]) for one in plan["tasks"][0]["running"]] == [(True, [])]
    assert plan["summary"]["restarts"] == 1


def test_a_running_job_that_restarts_gets_another_reload_action_at_once(cli: Cli, records: Records):
    records({"config.reload.action": "restart"})
    records.running("report")

    plan = cli.json("plan --dag flights --task report --add-config config.reload.action=none")

    assert [(one["restarts"], one["waiting"]) for one in plan["tasks"][0]["running"]] == [(False, [])]


def test_a_running_job_that_does_not_restart_waits_for_another_reload_action(cli: Cli, records: Records):
    records({"config.reload.action": "none"})
    records.running("report")

    plan = cli.json("plan --dag flights --task report --add-config config.reload.action=restart")

    assert plan["tasks"][0]["running"][0]["waiting"] == ["config.reload.action"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose DAGs folder has the revisions ``v1``, ``v2``, ``broken``, ``malformed`` and ``gone``."""
    folder = tmp_path_factory.mktemp("revisions") / "repository"
    (folder / "dags").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for tag, memory, base in (("v1", "1g", "old"), ("v2", "2g", "new")):
        (folder / "dags" / "trains.py").write_text(BEFORE % {"secret": f"{CANARY}-{tag}", "tag": tag})
        (folder / "dags" / "memory.py").write_text(f"MEMORY = '{memory}'\n")
        (folder / "dags" / "base.properties").write_text(f"spark.app.base={base}\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", tag)
        git(folder, "tag", tag)
    (folder / "dags" / "memory.py").write_text(f"raise ValueError('{CANARY}')\n")
    git(folder, "commit", "--quiet", "--all", "--message", "broken")
    git(folder, "tag", "broken")
    git(folder, "checkout", "--quiet", "v2")
    (folder / "dags" / "base.properties").write_text("spark.app.base\\u=1\n")
    git(folder, "commit", "--quiet", "--all", "--message", "malformed")
    git(folder, "tag", "malformed")
    git(folder, "rm", "--quiet", "dags/base.properties")
    git(folder, "commit", "--quiet", "--all", "--message", "gone")
    git(folder, "tag", "gone")
    git(folder, "checkout", "--quiet", "v2")
    return folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def of_repository(cli: Cli, folder: Path, *words: str) -> Ended:
    environ = {"AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags")}
    return cli.airflow("config-providers", "plan", *words, "--output", "json", environ=environ)


@pytest.fixture(scope="module")
def compared(driver: Driver, deployment: Deployment, repository: Path) -> Ended:
    """The plan from ``v1`` to ``v2``, made once."""
    return of_repository(Cli(driver, deployment), repository, "--from", "v1", "--to", "v2")


@pytest.mark.slow
def test_two_revisions_are_imported_and_compared(compared: Ended):
    assert compared.code == 0, compared.err
    (task,) = compared.rows["tasks"]
    by_key = {one["key"]: (one["before"], one["after"]) for one in task["keys"]}
    assert by_key == {
        "spark.executor.memory": ("1g", "2g"),
        "spark.app.base": ("old", "new"),
        "env_vars['TOKEN']": ("${vault:apps/v1:token}", "${vault:apps/v2:token}"),
    }


@pytest.mark.slow
def test_files_of_a_revision_are_shown_where_they_are_deployed(compared: Ended, repository: Path):
    (task,) = compared.rows["tasks"]

    assert {one["after_origin"] for one in task["keys"]} >= {f"{repository}/dags/base.properties:1"}


@pytest.mark.slow
def test_no_secret_of_a_revision_is_shown(compared: Ended):
    assert CANARY not in compared.out + compared.err


@pytest.mark.slow
def test_reading_a_revision_leaves_the_repository_as_it_was(compared: Ended, repository: Path):
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "worktree", "list").count("\n") == 1


@pytest.mark.slow
def test_a_revision_is_compared_with_the_files_as_they_are(cli: Cli, repository: Path):
    done = of_repository(cli, repository, "--from", "v1")

    assert {one["after"] for one in done.rows["tasks"][0]["keys"]} == {"2g", "new", "${vault:apps/v2:token}"}


@pytest.mark.slow
def test_a_dag_that_only_the_last_revision_has_is_new(cli: Cli, repository: Path):
    done = of_repository(cli, repository, "--dag", "trains", "--to", "v2")

    assert [(one["dag"], one["change"]) for one in done.rows["tasks"]] == [("trains", "added")], done.err


@pytest.mark.slow
def test_a_dag_that_no_state_has_is_an_error(cli: Cli, repository: Path):
    done = of_repository(cli, repository, "--dag", "trians", "--to", "v2")

    assert done.code == 3
    assert "There is no configured job in DAG 'trians', did you mean 'trains'?" in done.errors[0]


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose tasks choose a file in a run, with the revisions ``v1``, ``readme``, ``conf`` and ``code``."""
    folder = tmp_path_factory.mktemp("gated") / "repository"
    (folder / "dags" / "conf").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for tag, name, text in (
        ("v1", "gates.py", CHOSEN),
        ("readme", "readme.md", "new"),
        ("conf", "conf/prod.yaml", "spark.app.x: 1"),
        ("code", "other.py", "x = 1"),
    ):
        (folder / "dags" / name).write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", tag)
        git(folder, "tag", tag)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "expected", "code"),
    [
        pytest.param("v1", "readme", [], 0, id="another file"),
        pytest.param("readme", "conf", ["gates.params", "gates.var"], 2, id="a file that a run can choose"),
        pytest.param("conf", "code", ["gates.params"], 2, id="code that has a part in a path"),
    ],
)
def test_a_pull_request_is_undecided_if_it_can_concern_a_file_that_a_run_chooses(
    cli: Cli, gated: Path, first: str, second: str, expected: list[str], code: int
):
    done = of_repository(cli, gated, "--from", first, "--to", second, "--detailed-exit-code")

    assert (done.rows["undecided"], done.code) == (expected, code), done.err


@pytest.mark.slow
def test_a_file_that_the_last_revision_cannot_import_is_an_error(cli: Cli, repository: Path):
    done = of_repository(cli, repository, "--to", "broken")

    assert done.code == 3
    assert done.errors[0].startswith(f"{repository}/dags/trains.py: The DAG file cannot be imported")
    assert CANARY not in done.out + done.err


@pytest.mark.slow
def test_a_file_that_only_the_first_revision_cannot_import_has_new_tasks(cli: Cli, repository: Path):
    done = of_repository(cli, repository, "--from", "broken", "--to", "v2")

    assert [one["change"] for one in done.rows["tasks"]] == ["added"]
    assert "Its tasks are missing in this state." in done.err


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["malformed", "gone"])
def test_a_layer_file_that_the_last_revision_cannot_read_is_an_error(cli: Cli, repository: Path, revision: str):
    done = of_repository(cli, repository, "--from", "v1", "--to", revision)

    assert (done.code, done.out) == (3, "")
    assert "base.properties" in done.errors[0]
    assert of_repository(cli, repository, "--to", revision, "--detailed-exit-code").code == 1


@pytest.mark.slow
def test_a_layer_file_that_only_the_first_revision_cannot_read_is_a_note(cli: Cli, repository: Path):
    done = of_repository(cli, repository, "--from", "malformed", "--to", "v2")

    assert done.code == 0
    assert "note: Not shown: " in done.err


def test_a_revision_is_no_option_of_git(cli: Cli, repository: Path):
    done = of_repository(cli, repository, "--from=--output=elsewhere")

    assert done.code == 3
    assert "has no revision '--output=elsewhere'" in done.errors[0]
