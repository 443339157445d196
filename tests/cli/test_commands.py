"""The commands, by Airflow's own parser, on a real database."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Cli

REPORT = "--dag flights --task report"


def values(rows: list[dict[str, object]]) -> dict[object, tuple[object, object]]:
    return {row["key"]: (row["value"], row["source"]) for row in rows}


# describe


def test_a_task_is_described_with_all_that_its_author_wrote(cli: Cli):
    rows = cli.json(f"describe {REPORT}")

    assert {row["key"]: (row["value"], row["source"], row["origin"].rpartition("/")[2]) for row in rows} == {
        "spark.app.base": ("yes", "STATIC_FILE_CONFIG", "base.properties:2"),
        "spark.app.db.password": ("${vault:apps/db:password}", "DAG_CONFIG", "conf"),
        "spark.app.name": ("report", "DAG_CONFIG", "argument name"),
        "spark.app.old.password": (None, "DAG_CONFIG", "conf"),
        "spark.app.tags": ("[bold]a[/bold]", "DAG_CONFIG", "conf"),
        "spark.archives": ("a.zip", "DAG_CONFIG", "argument archives"),
        "spark.cores.max": ("8", "DAG_CONFIG", "argument total_executor_cores"),
        "spark.driver.memory": ("2g", "DAG_CONFIG", "argument driver_memory"),
        "spark.executor.instances": ("2", "DAG_CONFIG", "argument num_executors"),
        "spark.executor.memory": ("3g", "DAG_CONFIG", "argument executor_memory"),
        "spark.jars.repositories": ("http://repo", "DAG_CONFIG", "argument repositories"),
        "spark.kerberos.principal": ("flights@REALM", "DAG_CONFIG", "argument principal"),
        "spark.yarn.queue": ("night", "DAG_CONFIG", "argument yarn_queue"),
    }


QUERY = {"spark.app.url": "${vault:apps/db:url}", "spark.app.password": None}
COPY = {
    **QUERY,
    "spark.executor.instances": "3",
    "spark.executor.memory": "2g",
    "spark.jars": "a.jar",
    "spark.kerberos.principal": "flights@REALM",
}
TASKS = [
    pytest.param("nightly.ingest", {"spark.driver.memory": "2g"}, "", id="in a group"),
    pytest.param("each", {"spark.app.a": "1", "spark.executor.memory": "5g"}, "", id="mapped"),
    pytest.param("differing", {"spark.executor.memory": "5g"}, "its instances differ in conf,", id="mapped conf"),
    pytest.param(
        "kwargs", {"spark.driver.memory": "5g"}, "its instances differ in conf, executor_memory,", id="mapped arguments"
    ),
    pytest.param("long", {f"spark.app.key{n}": "x" * 200 for n in range(60)}, "", id="a long conf"),
    pytest.param("files", {}, "'/nowhere/x.properties' cannot be read", id="a file that is not here"),
    pytest.param("files", {}, "{{ ds }}.properties' is not shown", id="a file whose path is a template"),
    pytest.param("done", {}, "runs EmptyOperator", id="no job"),
    pytest.param(
        "query",
        {"spark.app.base": "yes", **QUERY},
        "",
        id="another operator",
    ),
    pytest.param(
        "queries", {"spark.app.base": "yes", **QUERY}, "its instances differ in name,", id="another operator, mapped"
    ),
    pytest.param(
        "confs", {"spark.app.base": "yes"}, "its instances differ in conf,", id="another operator, mapped conf"
    ),
    pytest.param("pairs", {"spark.a": "1", "spark.b": "2"}, "", id="another operator, mapped, its conf a text"),
    pytest.param("given", QUERY, "mapped over the output of another task", id="another operator, mapped over a result"),
    pytest.param("filled", {}, "what the DAG sets is known only in a run", id="another operator, mapped and filled in"),
    pytest.param("own", {}, "it is mapped and OwnOperator is a custom operator", id="a class of one's own, mapped"),
    pytest.param(
        "other",
        {},
        "configuration is in a file that a run reads, or in several places",
        id="an operator that nobody listed",
    ),
    pytest.param("copy", {"spark.app.base": "yes", **COPY}, "", id="jdbc"),
    pytest.param("stock_copy", COPY, "", id="jdbc, by the policy"),
    pytest.param("stock_copies", COPY, "", id="jdbc, mapped, by the policy"),
    pytest.param("stock_queries", QUERY, "its instances differ in name,", id="another operator, mapped, by the policy"),
    pytest.param("stock_jobs", QUERY, "", id="mapped, by the policy"),
    pytest.param("counts", QUERY, "", id="a decorated function, mapped, by the policy"),
    pytest.param("named", {"spark.app.name": "copies"}, "", id="jdbc, a name alone"),
    pytest.param("copies", {"spark.app.base": "yes", **COPY}, "", id="jdbc, mapped"),
    pytest.param("tuned", QUERY, "its instances differ in executor_memory,", id="jdbc, mapped arguments"),
]


@pytest.mark.parametrize(("task", "expected", "note"), TASKS)
def test_tasks_of_every_kind_are_described(cli: Cli, task: str, expected: dict[str, str], note: str):
    done = cli(f"describe --dag flights --task {task} --output json")

    assert (done.code, done.errors) == (0, [])
    assert {row["key"]: row["value"] for row in done.rows} == expected
    assert note in "\n".join(done.notes)
    assert bool(note) == bool(done.notes)


BASE = {"spark.app.base": "yes"}
DEFAULTS = {**BASE, "spark.app.of": "default_args"}
WITH_DEFAULTS = [
    pytest.param("submissions", {**DEFAULTS, "spark.driver.memory": "7g"}, "", id="spark-submit"),
    pytest.param("own", {**BASE, "spark.a": "1", "spark.driver.memory": "7g"}, "", id="partial beats them"),
    pytest.param(
        "confs", {**BASE, "spark.driver.memory": "7g"}, "its instances differ in conf", id="expand beats them"
    ),
    pytest.param("default_of_task", {**DEFAULTS, "spark.driver.memory": "7g"}, "", id="those of partial are unused"),
    pytest.param("queries", DEFAULTS, "its instances differ in name,", id="another operator"),
    pytest.param(
        "nightly.ingests",
        {**DEFAULTS, "spark.driver.memory": "7g"},
        "in a task group, whose default_args Airflow does not store",
        id="those of a group are not stored",
    ),
]


@pytest.mark.parametrize(("task", "expected", "note"), WITH_DEFAULTS)
def test_a_mapped_task_is_described_with_the_default_args_of_its_dag(
    cli: Cli, task: str, expected: dict[str, str], note: str
):
    done = cli(f"describe --dag defaults --task {task} --output json")

    assert (done.code, done.errors) == (0, [])
    assert {row["key"]: row["value"] for row in done.rows} == expected
    assert note in "\n".join(done.notes)
    assert bool(note) == bool(done.notes)


def test_a_task_that_is_not_mapped_is_described_with_the_default_args_of_its_group(cli: Cli):
    (row,) = cli.json("describe --dag defaults --task nightly.ingest --key spark.executor.memory")

    assert (row["value"], row["source"]) == ("9g", "DAG_CONFIG")


@pytest.mark.parametrize("task", ["copy", "copies"])
def test_the_arguments_of_a_jdbc_job_are_named(cli: Cli, task: str):
    (row,) = cli.json(f"describe --dag flights --task {task} --key spark.executor.instances")

    assert (row["origin"], row["source"]) == ("argument num_executors", "DAG_CONFIG")


def test_nulls_and_booleans_are_those_of_json_and_yaml(cli: Cli):
    row = {
        "value": None,
        "sensitive": True,
        "read_only": False,
        "type": None,
        "alterable_at": ["DEFAULT", "DAG", "TASK"],
    }
    words = f"describe {REPORT} --key spark.app.old.password --output"

    for read, output in ((json.loads, "json"), (yaml.safe_load, "yaml")):
        (found,) = read(cli(f"{words} {output}").out)
        assert row.items() <= found.items()


def test_a_value_that_a_file_of_a_run_can_override_names_that_file(cli: Cli):
    base = str(cli.deployment.home / "base.properties")
    (row,) = cli.json("describe --dag flights --task files --key spark.app.base", config_files=base)

    assert (row["value"], row["or_from"]) == ("yes", ["/data/{{ ds }}.properties"])
    shown = cli("describe --dag flights --task files --output plain", config_files=base).out
    assert "yes (or from /data/{{ ds }}.properties)" in shown


@pytest.mark.parametrize(
    ("files", "change", "expected"),
    [
        pytest.param("{base},/{{{{ ds }}}}.yaml", "", ["/{{ ds }}.yaml"], id="a stronger file"),
        pytest.param("/{{{{ ds }}}}.yaml,{base}", "", [], id="a weaker file"),
        pytest.param("{base},/{{{{ ds }}}}.yaml", "spark.app.base=1", [], id="a stronger layer"),
        pytest.param("{base}", "", [], id="no such file"),
    ],
)
def test_only_a_stronger_file_of_a_run_can_override_a_value(cli: Cli, files: str, change: str, expected: list[str]):
    if change:
        cli(f"alter --default --add-config {change}")
    written = files.format(base=cli.deployment.home / "base.properties")
    (row,) = cli.json("describe --default --key spark.app.base", config_files=written)

    assert row["or_from"] == expected


@pytest.mark.parametrize(
    ("key", "type_"),
    [
        pytest.param("spark.executor.memory", "SIZE", id="a size"),
        pytest.param("spark.network.timeout", "DURATION", id="a duration"),
        pytest.param("spark.executor.cores", "INT", id="a number"),
    ],
)
def test_a_key_is_described_with_the_type_that_people_know(cli: Cli, key: str, type_: str):
    (row,) = cli.json(f"describe --default --key {key}")

    assert row["type"] == type_


def test_it_is_told_where_a_key_may_be_altered(cli: Cli):
    (row,) = cli.json(f"describe {REPORT} --key spark.executor.cores")

    assert row["alterable_at"] == ["DEFAULT", "DAG", "TASK"]


@pytest.mark.parametrize("output", ["table", "plain"])
def test_people_see_references_and_what_is_hidden_and_nothing_is_cut(cli: Cli, output: str):
    long = "x" * 3000
    cli("alter --dag flights --add-config", f"spark.app.long={long}")

    text = cli(f"describe {REPORT} --output {output}").out

    for shown in ("${vault:apps/db:password}", "[hidden]", "[bold]a[/bold]", long):
        assert any(shown in line for line in text.splitlines())
    assert "literal-of-the-dag" not in text


@pytest.mark.parametrize("words", ["describe --default", "alter --default --add-config spark.app.a=1 --validate-only"])
def test_a_note_says_that_dynamic_configuration_is_switched_off(cli: Cli, words: str):
    done = cli(words, dynamic_enabled="False")

    assert (done.code, done.errors) == (0, [])
    assert "dynamic_enabled is False" in done.notes[0]
    assert "dynamic_enabled" not in cli(words).err


def test_synonyms_are_what_a_value_beat(cli: Cli):
    cli("alter --default --add-config spark.executor.memory=4g")
    cli("alter --dag flights --add-config spark.executor.memory=5g")
    cli(f"alter {REPORT} --add-config spark.executor.memory=6g")

    (row,) = cli.json(f"describe {REPORT} --key spark.executor.memory")
    table = cli(f"describe {REPORT} --key spark.executor.memory --synonyms --output plain").out

    found = [(synonym["value"], synonym["source"]) for synonym in row["synonyms"]]
    assert found == [
        ("6g", "DYNAMIC_TASK_CONFIG"),
        ("5g", "DYNAMIC_DAG_CONFIG"),
        ("4g", "DYNAMIC_DEFAULT_CONFIG"),
        ("3g", "DAG_CONFIG"),
        ("1g", "DEFAULT_CONFIG"),
    ]
    assert [line.split()[1:3] for line in table.splitlines()[1:]] == [list(pair) for pair in found]


def test_only_what_is_set_is_shown_unless_all_is_asked_for(cli: Cli):
    assert cli.json("describe --default") == []
    assert "Nothing is configured for the deployment default." in cli("describe --default").out
    assert "Its tasks can have keys of their own: name one with --task." in cli("describe --dag flights").out
    assert values(cli.json("describe --default --all"))["spark.executor.memory"] == ("1g", "DEFAULT_CONFIG")


def test_each_unknown_key_is_told_with_the_nearest(cli: Cli):
    done = cli(f"describe {REPORT} --key spark.executor.memori --key odd")

    assert (done.code, done.out) == (3, "")
    assert done.errors == [
        "There is no key 'spark.executor.memori', did you mean 'spark.executor.memory'? Correct the name.",
        "There is no key 'odd'. Correct the name.",
    ]


# alter


def test_altering_shows_what_counts_since(cli: Cli):
    cli(f"alter {REPORT} --add-config spark.executor.memory=8g,spark.app.list=[a,b] --add-config spark.app.c=d")

    rows = cli.json(f"alter {REPORT} --delete-config spark.executor.memory,spark.app.list --add-config spark.app.c=e")

    assert values(rows) == {
        "spark.app.c": ("e", "DYNAMIC_TASK_CONFIG"),
        "spark.app.list": (None, None),
        "spark.executor.memory": ("3g", "DAG_CONFIG"),
    }


def test_deleting_a_key_that_is_not_set_suggests_the_nearest_that_is(cli: Cli):
    cli(f"alter {REPORT} --add-config spark.executor.memory=8g,spark.app.c=d")

    done = cli(f"alter {REPORT} --delete-config spark.executor.memori,odd,spark.app.c --output json")

    assert (done.code, [row["key"] for row in done.rows]) == (0, ["spark.app.c"])
    assert done.notes == [
        "'spark.executor.memori' is not deleted, because it is not set for task 'report' of DAG 'flights', did you "
        "mean 'spark.executor.memory'?",
        "'odd' is not deleted, because it is not set for task 'report' of DAG 'flights'.",
    ]
    assert cli("alter --default --delete-config odd").notes == [
        "'odd' is not deleted, because it is not set for the deployment default."
    ]


def test_deleting_a_key_that_is_not_set_does_not_suggest_one_of_the_same_change(cli: Cli):
    done = cli(f"alter {REPORT} --delete-config spark.app.owner --add-config spark.app.owners=d")

    assert done.notes == ["'spark.app.owner' is not deleted, because it is not set for task 'report' of DAG 'flights'."]


def test_altering_tells_the_version_that_the_change_has_made(cli: Cli):
    cli("alter --dag flights --add-config spark.app.a=1")

    (row,) = cli.json(f"alter {REPORT} --add-config spark.app.a=2")

    assert row["origin"] == "dynamic configuration of task 'report' of DAG 'flights', version 2"
    assert cli.json(f"describe {REPORT} --key spark.app.a")[0]["origin"] == row["origin"]


def test_elements_are_added_to_a_list_and_taken_from_it(cli: Cli):
    cli("alter --default --add-config spark.jars.packages=[a:b:1,c:d:2]")

    cli("alter --default --append spark.jars.packages=e:f:3")
    (row,) = cli.json("alter --default --subtract spark.jars.packages=a:b:1")

    assert row["value"] == "c:d:2,e:f:3"


def test_elements_that_are_not_in_the_list_are_noted(cli: Cli):
    cli("alter --default --add-config spark.jars.packages=[a:b:1,c:d:2]")

    done = cli("alter --default --subtract spark.jars.packages=c:d:2,e:f:3 --output json")

    assert [row["value"] for row in done.rows] == ["a:b:1"]
    assert done.notes == [
        "'spark.jars.packages': 1 element to remove is not in the list that the deployment default itself has."
    ]


def test_validate_only_changes_nothing(cli: Cli):
    (row,) = cli.json("alter --default --add-config spark.app.a=b --validate-only")

    assert row["value"] == "b"
    assert cli.json("history --default") == []


def test_a_change_for_another_version_is_refused(cli: Cli):
    cli("alter --default --add-config spark.app.a=b --if-version 0")

    done = cli("alter --default --add-config spark.app.a=c --if-version 0")

    assert done.code == 3
    assert "has version 1, but the change is for version 0" in done.err


@pytest.mark.parametrize("path", ["-", "changes.properties"])
def test_a_file_or_standard_input_may_hold_the_changes(cli: Cli, path: str):
    text = "spark.app.a=b\nspark.app.c = d, e\n"
    (cli.deployment.home / "changes.properties").write_text(text)

    done = cli(f"alter --default --add-config-file {path} --output json", input=text)

    assert {row["key"]: row["value"] for row in done.rows} == {"spark.app.a": "b", "spark.app.c": "d, e"}


def test_what_changes_nothing_says_so(cli: Cli):
    cli("alter --default --add-config spark.app.a=b")

    assert cli("alter --default --add-config spark.app.a=b").out == "Nothing changes.\n"


@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        ("--add-config spark.app.token=hunter2-token", True),
        ("--add-config 'spark.app.token=${vault:a:b}'", False),
        ("--add-config spark.app.plain=hunter2", False),
        ("--add-config-file -", False),
    ],
)
def test_a_secret_on_the_command_line_is_told(cli: Cli, words: str, is_told: bool):
    done = cli(f"alter --default {words}", input="spark.app.token=hunter2-token")

    assert (done.code, "is a secret" in "".join(done.notes)) == (0, is_told)
    assert "hunter2-token" not in done.out + done.err


@pytest.mark.parametrize("command", ["alter --validate-only", "plan", "policies test"])
@pytest.mark.parametrize("key", ["spark.app.url", "spark.app.password"])
def test_an_empty_value_may_be_a_reference_that_the_shell_replaced(cli: Cli, tmp_path: Path, command: str, key: str):
    path = tmp_path / "policies.yaml"
    path.write_text("policies: [{name: a, class: forbidden_keys, params: {keys: [spark.a]}}]")
    done = cli(f"{command} --default --add-config {key}=", policies_file=str(path))

    assert [note for note in done.notes if "shell" in note] == [
        f"The value of {key} is empty. If you wrote a reference, the shell has replaced it: put the argument into "
        f"single quotes."
    ]
    assert "is a secret" not in "".join(done.notes)


def test_the_note_of_a_secret_on_the_command_line_names_the_way_out(cli: Cli):
    done = cli("alter --default --add-config spark.app.token=hunter2-token")

    assert "use --add-config-file, or write a reference." in "".join(done.notes)


WRONG = [
    pytest.param("alter --add-config a=b", 2, "Name one resource", id="no resource"),
    pytest.param("alter --default --dag flights --add-config a=b", 2, "Name one resource", id="two resources"),
    pytest.param("alter --task report --add-config a=b", 2, "Name one resource", id="a task of no DAG"),
    pytest.param("alter --default", 2, "No changes given", id="no change"),
    pytest.param("alter --default --add-config spark.app.a", 2, "is not KEY=VALUE", id="no pair"),
    pytest.param("alter --default --append spark.jars", 2, "is not KEY=VALUE", id="nothing to append"),
    pytest.param("alter --default --if-version x", 2, "invalid int value", id="argparse"),
    pytest.param("alter --dag flight --add-config a=b", 3, "did you mean 'flights'?", id="unknown DAG"),
    pytest.param("alter --dag flights --task repor --add-config a=b", 3, "did you mean 'report'?", id="unknown task"),
    pytest.param("alter --dag flights --task ingest --add-config a=b", 3, "'nightly.ingest'?", id="without its group"),
    pytest.param("alter --dag flights --task nightly --add-config a=b", 3, "it is a task group", id="a group"),
    pytest.param("alter --default --add-config a=b --delete-config a", 3, "changed 2 times", id="twice"),
    pytest.param("alter --default --append spark.app.a=b", 3, "needs a list", id="append to what is no list"),
    pytest.param("alter --default --add-config spark.executor.cores=many", 3, "Not a number", id="a wrong type"),
    pytest.param("alter --default --add-config config.providers=x", 3, "belong to the deployment", id="reserved"),
    pytest.param("alter --default --add-config spark.config.providers=x", 3, "is read-only", id="of a driver"),
    pytest.param(
        "alter --default --add-config spark.authenticate=false", 3, "only the author of the DAG", id="opens ports"
    ),
    pytest.param(
        "alter --default --add-config spark.authenticate=${vault:a:b}", 3, "Write true", id="perhaps opens ports"
    ),
    pytest.param(
        "alter --default --add-config spark.driver.extraJavaOptions=-Dspark.config.providers=x",
        3,
        "'spark.driver.extraJavaOptions': -Dspark.config.providers defines providers of the driver",
        id="of a driver, in options",
    ),
    pytest.param("alter --default --add-config-file nowhere.properties", 3, "cannot be read", id="no such file"),
    pytest.param("alter --default --add-config-file /dev/null", 2, "'/dev/null' sets no key", id="a file without keys"),
    pytest.param("alter --default --add-config-file /dev/zero", 3, "more than 1048576 bytes", id="without an end"),
    pytest.param("rollback --default", 3, "nothing to roll back", id="nothing to go back to"),
    pytest.param("history --dag flights --default", 2, "Name one resource", id="history of two"),
    pytest.param("policies test --default", 3, "has no policies", id="no policies"),
    pytest.param("policies test --policies-file p.yaml --add-config a=b", 2, "No resource given", id="whose change"),
    pytest.param("policies test --policies-file p.yaml --at render", 2, "No resource given", id="whose run"),
    pytest.param("policies test --default --at later", 2, "invalid choice", id="no moment"),
    pytest.param("policies test --policies-file nowhere.yaml", 3, "cannot be read", id="no file of policies"),
    pytest.param("providers list", 3, "no connection 'config_providers_default'", id="no connection"),
]


@pytest.mark.parametrize(("words", "code", "told"), WRONG)
def test_what_is_wrong_is_told_on_standard_error_and_nothing_changes(cli: Cli, words: str, code: int, told: str):
    done = cli(words)

    assert done.code == code
    assert told in done.err
    assert "Traceback" not in done.err
    assert "error:" not in done.out
    assert cli.deployment.query("select count(*) from variable") == [(0,)]
    assert cli.deployment.query("select count(*) from log") == [(0,)]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("alter", "--default", "--add-config", "spark.app.a=x\udcff"), id="value"),
        pytest.param(("alter", "--default", "--add-config", "spark.\udcff=x"), id="key"),
        pytest.param(("alter", "--dag", "\udcff", "--add-config", "spark.app.a=x"), id="DAG"),
        pytest.param(("describe", "--dag", "flights", "--task", "\udcff"), id="task"),
    ],
)
def test_octets_that_are_no_text_are_told_by_the_name_of_their_key(cli: Cli, words: tuple[str, ...]):
    """Python gives such octets of a command line as halves of surrogate pairs."""
    done = cli("", *words)

    assert done.code == 3
    assert "Traceback" not in done.err
    assert any(word in done.err for word in ("spark.app.a", "\\udcff"))


def test_a_file_of_very_many_changes_is_refused(cli: Cli, tmp_path: Path):
    (tmp_path / "many.properties").write_text("".join(f"spark.app.k{n}=x\n" for n in range(1001)))
    done = cli("alter --default --add-config-file", str(tmp_path / "many.properties"))

    assert done.code == 3
    assert "1001 operations in one request, but the limit is 1000" in done.err


ODD = "x\nerror: y\x1b[31m\x9b"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("describe", "--dag", ODD), id="DAG"),
        pytest.param(("describe", "--dag", "flights", "--task", ODD), id="task"),
        pytest.param(("describe", "--default", "--key", ODD), id="key"),
        pytest.param(("alter", "--default", "--add-config", f"{ODD}=1"), id="changed key"),
        pytest.param(("alter", "--default", "--add-config-file", ODD), id="file"),
        pytest.param(("providers", "list", "--conn-id", ODD), id="connection"),
        pytest.param(("policies", "test", "--policies-file", ODD), id="policies"),
    ],
)
def test_attack_22_what_is_told_is_one_line(cli: Cli, words: tuple[str, ...]):
    done = cli("", *words)

    assert done.code == 3
    assert len(done.errors) == 1
    assert done.err.replace("\n", "").isprintable()


def test_a_value_that_is_too_long_is_refused(cli: Cli):
    done = cli("alter --default --add-config", f"spark.app.a={'x' * 70_000}")

    assert done.code == 3
    assert "70000 characters" in done.err


def test_all_that_is_wrong_is_told_a_line_each(cli: Cli):
    done = cli("alter --default --add-config spark.executor.cores=x,config.providers=y,spark.executor.instances=z")

    assert done.code == 3
    assert len(done.errors) == 3
    assert all(line.startswith("the deployment default: ") for line in done.errors)


def test_reasons_of_every_kind_are_told_together(cli: Cli, policies: str):
    done = cli(
        "alter --dag flights --add-config spark.executor.cores=x,spark.executor.memory=64g,spark.app.a=1 "
        "--delete-config spark.app.a "
        "--append spark.app.b=c",
        policies_file=policies,
    )

    assert done.code == 3
    words = [
        "'spark.app.a' is changed 2 times",
        "APPEND needs a list",
        "Not a number",
        "Policy 'small'",
        "Policy 'none of these'",
    ]
    assert len(done.errors) == len(words)
    assert all(word in line for word, line in zip(words, done.errors, strict=True))
    assert cli.json("history --dag flights") == []


def test_a_document_that_cannot_be_read_is_named_and_left(cli: Cli):
    cli.airflow("variables", "set", "config_providers.dynamic.default", "odd")

    changed, described = cli("alter --default --add-config a=b"), cli("describe --dag flights")

    for done in (changed, described):
        assert done.code == 3
        assert "'config_providers.dynamic.default' cannot be read" in done.err
    assert cli.airflow("variables", "get", "config_providers.dynamic.default").out.strip() == "odd"


def test_a_database_that_cannot_be_asked_is_unavailable(cli: Cli):
    cli.deployment.query("alter table variable rename to elsewhere")
    try:
        done = cli("describe --default")
    finally:
        cli.deployment.query("alter table elsewhere rename to variable")

    (error,) = done.errors
    assert done.code == 5
    assert error.startswith("Airflow's database is unavailable: reading dynamic configuration failed (")
    assert "run airflow db check" in error


MISFIT = "spark.network.timeout ({file}:1): Expected a whole"


@pytest.mark.parametrize(
    ("resource", "beginning"),
    [
        pytest.param("--dag flights --task report", "A run of task 'report' of DAG 'flights'", id="a task"),
        pytest.param("--dag flights --task files", "A run that gets it", id="files that only a run chooses"),
        pytest.param("--dag flights --task done", "A run that gets it", id="a task that is not ours"),
        pytest.param("--default", "A run that gets it", id="the deployment"),
    ],
)
def test_a_value_of_the_wrong_type_in_a_file_is_noted(cli: Cli, tmp_path, resource: str, beginning: str):
    (file := tmp_path / "x.properties").write_text("spark.network.timeout=4 ages\n")

    done = cli(f"describe {resource} --output json", config_files=str(file))

    expected = f"{beginning} would fail: {MISFIT.format(file=file)}"
    assert done.code == 0
    assert [note for note in done.notes if note.startswith(expected)]


def test_a_value_of_the_wrong_type_that_is_beaten_is_not_noted(cli: Cli, tmp_path):
    (file := tmp_path / "x.properties").write_text("spark.executor.memory=4 gigs\n")

    assert not cli("describe --dag flights --task report", config_files=str(file)).notes


def test_of_a_file_that_cannot_be_read_a_note_says_that_a_run_fails(cli: Cli, tmp_path):
    (file := tmp_path / "x.yaml").write_text("spark: [")

    (note,) = cli("describe --dag flights --task report", config_files=str(file)).notes

    assert note.startswith("Not shown: ")
    assert note.endswith(" A run fails, too, unless the file is another one where tasks run.")


# history and rollback


def test_history_lists_changes_and_hides_secrets(cli: Cli):
    cli("alter --default --add-config spark.app.a=1,spark.app.token=hunter2-token")
    cli("alter --default --delete-config spark.app.a")

    rows = cli.json("history --default")

    assert [(row["version"], row["key"], row["was"], row["is"]) for row in rows] == [
        (1, "spark.app.a", None, "1"),
        (1, "spark.app.token", None, "[hidden]"),
        (2, "spark.app.a", "1", None),
    ]
    assert all(row["by"] and row["at"] for row in rows)


def test_a_rollback_undoes_the_last_change_or_goes_to_a_version(cli: Cli):
    for value in "123":
        cli(f"alter --default --add-config spark.app.a={value}")

    assert [row["value"] for row in cli.json("rollback --default --to-version 1 --validate-only")] == ["1"]
    assert [row["value"] for row in cli.json("rollback --default")] == ["2"]
    assert [row["value"] for row in cli.json("rollback --default --to-version 0")] == [None]
    assert len(cli.json("history --default")) == 5


def test_a_second_rollback_notes_that_it_takes_back_the_first_unless_it_names_a_version(cli: Cli):
    for value in "123":
        cli(f"alter --default --add-config spark.app.a={value}")
    first = cli("rollback --default")
    second = cli("rollback --default --validate-only")
    to_version = cli("rollback --default --to-version 1")

    assert (first.notes, to_version.notes) == ([], [])
    assert second.notes == [
        "This takes back the rollback in version 4. To go further back, use --to-version N; 0 is before the first "
        "change."
    ]


def test_history_and_airflow_s_log_tell_a_rollback_from_a_change_and_name_the_same_versions(cli: Cli):
    cli("alter --default --add-config spark.app.a=1")
    cli("alter --default --add-config spark.app.a=2")
    cli("rollback --default --to-version 1")

    rows = cli.json("history --default")
    logged = cli.deployment.query("select event, extra from log order by id")

    told = [(row["event"], row["version"], row["restored"]) for row in rows]
    assert told == [("alter", 1, None), ("alter", 2, None), ("rollback", 3, 1)]
    assert told == [
        (event.removeprefix("config_providers."), json.loads(extra)["version"], json.loads(extra).get("restored"))
        for event, extra in logged
    ]
    assert "rollback to 1" in cli("history --default --output plain").out


def test_who_made_a_change_is_in_airflow_s_log_without_values(cli: Cli):
    cli("alter --dag flights --add-config spark.app.a=v4lue", "--add-config", "spark.app.b=${vault:a:b}")

    ((event, dag_id, owner, extra),) = cli.deployment.query("select event, dag_id, owner, extra from log")

    assert (event, dag_id) == ("config_providers.alter", "flights")
    assert owner == cli.json("history --dag flights")[0]["by"]
    assert json.loads(extra)["keys"] == {"spark.app.a": [], "spark.app.b": ["${vault:a:b}"]}


# refresh


def test_a_refresh_prints_the_jobs_that_it_concerns(cli: Cli):
    assert cli.json("refresh --dag own") == [
        {"resource": f"task '{task}' of DAG 'own'", "version": 1}
        for task in ("usual", "own", "keeping", "each", "failing")
    ]
    assert cli.json("refresh --dag own --task own") == [{"resource": "task 'own' of DAG 'own'", "version": 2}]
    assert cli.json("refresh --dag flights --task done") == [{"resource": "task 'done' of DAG 'flights'", "version": 1}]
    assert [row["resource"] for row in cli.json("refresh --default")] == ["the deployment default"]


def test_a_refresh_is_in_airflow_s_log_and_changes_nothing(cli: Cli):
    cli("alter --dag flights --add-config spark.app.a=b")
    before = cli.json("describe --dag flights")

    cli("refresh --dag flights --task report")

    logged = cli.deployment.query("select event, dag_id, task_id, owner, extra from log order by id")[-1]
    owner = cli.json("history --dag flights")[0]["by"]
    assert logged[:4] == ("config_providers.refresh", "flights", "report", owner)
    assert json.loads(logged[4])["keys"] == {}
    assert cli.json("describe --dag flights") == before
    assert len(cli.json("history --dag flights")) == 1


@pytest.mark.parametrize(
    ("words", "note"),
    [
        pytest.param(["spark.app.b=${vault:a:b}"], "so their values are read again, as by refresh", id="alter"),
        pytest.param(["spark.app.b=${vault:a:b}", "--validate-only"], "so their values would be read", id="validate"),
        pytest.param(["spark.app.b=${vault:a:b},spark.app.c=d"], "", id="another key changes"),
        pytest.param(["spark.app.a=b"], "", id="no reference"),
    ],
)
def test_an_alter_that_is_a_refresh_says_so(cli: Cli, words: list[str], note: str):
    cli("alter --dag flights --add-config", "spark.app.a=b,spark.app.b=${vault:a:b}")

    done = cli("alter --dag flights --add-config", *words)

    assert note in done.err
    assert ("read again" in done.err) == bool(note)


def test_an_alter_that_sets_the_same_references_is_a_refresh(cli: Cli):
    for _ in range(2):
        done = cli("alter --dag flights --add-config", "spark.app.b=${vault:a:b}")

    assert done.out == "Nothing changes.\n"
    events = cli.deployment.query("select event from log order by id")
    assert events == [("config_providers.alter",), ("config_providers.refresh",)]


# policies

POLICIES = """
policies:
  - name: small
    expression: "!('spark.executor.memory' in after) || after['spark.executor.memory'] != '64g'"
    message: executors have less than 64g
  - name: none of these
    class: forbidden_keys
    params:
      keys: [spark.executor.*]
"""


@pytest.fixture
def policies(cli: Cli) -> str:
    pytest.importorskip("cel_expr_python")
    path = cli.deployment.home / "policies.yaml"
    path.write_text(POLICIES)
    return str(path)


def test_a_policy_denies_a_change(cli: Cli, policies: str):
    done = cli("alter --dag flights --add-config spark.executor.memory=64g", policies_file=policies)

    assert done.code == 4
    assert done.errors[0] == "Policy 'small' denies the change of DAG 'flights': executors have less than 64g"
    assert [line.partition(" denies")[0] for line in done.errors] == ["Policy 'small'", "Policy 'none of these'"]
    assert cli.json("history --dag flights") == []


WARNS = (
    "Policy 'small' only warns, and would deny the change of DAG 'flights': 'spark.executor.memory' is more than 4g."
)


@pytest.fixture
def warning(cli: Cli) -> str:
    """The file of a policy that only warns."""
    path = cli.deployment.home / "warning.yaml"
    path.write_text(
        "policies: [{name: small, enforcement: warn, class: bounds, params: {spark.executor.memory: {max: 4g}}}]"
    )
    return str(path)


def test_a_policy_that_only_warns_lets_a_change_pass_and_says_so(cli: Cli, warning: str):
    done = cli("alter --dag flights --add-config spark.executor.memory=8g --output plain", policies_file=warning)

    assert (done.code, done.notes) == (0, [f"{WARNS} Lower it."])
    assert "only warns" not in done.out
    assert [row["is"] for row in cli.json("history --dag flights")] == ["8g"]


def test_programs_get_the_warnings_of_a_change(cli: Cli, warning: str):
    (row,) = cli.json("alter --dag flights --add-config spark.executor.memory=8g", policies_file=warning)

    assert row["warnings"] == [f"{WARNS} Lower it."]


def test_each_row_of_a_change_has_the_warnings_about_its_key_and_those_about_none(cli: Cli):
    pytest.importorskip("cel_expr_python")
    (path := cli.deployment.home / "several.yaml").write_text(
        "policies:\n"
        "- {name: frozen, enforcement: warn, class: forbidden_keys, params: {keys: [spark.app.a, spark.app.b]}}\n"
        "- {name: never, enforcement: warn, expression: 'false', message: Ask first.}\n"
    )
    rows = cli.json("alter --dag flights --add-config spark.app.a=1,spark.app.b=2", policies_file=str(path))

    assert [[text.split("'")[1] for text in row["warnings"]] for row in rows] == [["frozen", "never"]] * 2


def test_a_row_has_no_warning_about_a_key_whose_name_begins_with_its_own(cli: Cli):
    (path := cli.deployment.home / "one.yaml").write_text(
        "policies: [{name: frozen, enforcement: warn, class: forbidden_keys, params: {keys: [spark.app.memoryMore]}}]"
    )
    rows = cli.json(
        "alter --dag flights --add-config spark.app.memory=1,spark.app.memoryMore=2", policies_file=str(path)
    )

    assert {row["key"]: len(row["warnings"]) for row in rows} == {"spark.app.memory": 0, "spark.app.memoryMore": 1}


def test_the_name_of_a_policy_is_no_key_that_a_warning_is_about(cli: Cli):
    (path := cli.deployment.home / "named.yaml").write_text(
        "policies: [{name: spark.app.a, enforcement: warn, class: forbidden_keys, params: {keys: [spark.app.b]}}]"
    )
    rows = cli.json("alter --dag flights --add-config spark.app.a=1,spark.app.b=2", policies_file=str(path))

    assert {row["key"]: len(row["warnings"]) for row in rows} == {"spark.app.a": 0, "spark.app.b": 1}


def test_a_rollback_passes_a_policy_that_only_warns(cli: Cli, warning: str):
    cli("alter --dag flights --add-config spark.executor.memory=8g")
    cli("alter --dag flights --delete-config spark.executor.memory")

    (row,) = cli.json("rollback --dag flights", policies_file=warning)

    assert (row["value"], row["warnings"]) == ("8g", [f"{WARNS} Lower it."])


def test_a_policy_that_only_warns_has_a_verdict_of_its_own(cli: Cli, warning: str):
    words = f"policies test --policies-file {warning} --dag flights --add-config spark.executor.memory=8g"
    done = cli(words, "--output", "json")

    assert done.code == 0, done.err
    assert [(row["verdict"], row["reasons"]) for row in done.rows] == [("warns", [f"{WARNS} Lower it."])]
    assert cli(words).notes == [f"{WARNS} Lower it."]


@pytest.mark.parametrize(
    ("where", "origin"),
    [
        pytest.param("--default", "not set here; a task can set it", id="deployment"),
        pytest.param("--dag own", "not set anywhere", id="DAG of which all tasks are known"),
        pytest.param("--dag flights", "each task decides", id="DAG"),
        pytest.param("--dag flights --task report", "not set anywhere", id="task"),
    ],
)
def test_a_key_that_no_layer_sets_any_more_says_where_it_can_be_set(cli: Cli, where: str, origin: str):
    cli(f"alter {where} --add-config spark.app.a=1")

    (row,) = cli.json(f"alter {where} --delete-config spark.app.a")

    assert (row["value"], row["origin"]) == (None, origin)


@pytest.mark.parametrize(
    ("where", "source", "origin"),
    [
        pytest.param("--default", "DEFAULT_CONFIG", "default; a task can set it", id="deployment"),
        pytest.param("--dag own", "DEFAULT_CONFIG", "default, in each task", id="DAG whose tasks have it"),
        pytest.param("--dag flights", None, "each task decides", id="DAG"),
        pytest.param("--dag flights --task report", "DAG_CONFIG", "argument executor_memory", id="task"),
    ],
)
def test_after_a_rollback_the_default_of_a_dag_is_not_taken_for_that_of_its_tasks(
    cli: Cli, where: str, source: str, origin: str
):
    cli(f"alter {where} --add-config spark.executor.memory=3g")

    (row,) = cli.json(f"rollback {where}")

    assert (row["source"], row["origin"]) == (source, origin)


@pytest.mark.parametrize("dry", ["", "--validate-only"])
def test_what_all_tasks_of_a_dag_have_is_shown_once_the_dag_does_not_set_it(cli: Cli, dry: str):
    cli("alter --dag billing --add-config spark.app.of=all")

    (row,) = cli.json(f"alter --dag billing --delete-config spark.app.of {dry}")

    assert (row["value"], row["source"], row["origin"]) == ("billing", "DAG_CONFIG", "conf, in each task")


def test_what_one_of_the_tasks_has_is_not_shown_for_its_dag(cli: Cli):
    cli("alter --dag own --task keeping --add-config spark.executor.memory=9g")
    cli("alter --dag own --add-config spark.executor.memory=3g")

    (row,) = cli.json("rollback --dag own")

    assert (row["value"], row["source"], row["origin"]) == (None, None, "each task decides")


@pytest.mark.parametrize(
    ("dag", "key", "shown"),
    [
        pytest.param("billing", "spark.app.of", "has billing (conf)", id="that the DAG lacks"),
        pytest.param("flights", "spark.executor.memory", "report has 3g (argument executor_memory)", id="of Spark"),
    ],
)
def test_the_tasks_with_a_value_of_their_own_are_named_for_a_key_of_their_dag(cli: Cli, dag: str, key: str, shown: str):
    done = cli(f"describe --dag {dag} --key {key} --output json")

    assert done.code == 0
    assert any(note.startswith(f"'{key}': tasks have values of their own. ") and shown in note for note in done.notes)


def test_a_rollback_is_a_change_that_policies_see(cli: Cli, policies: str):
    cli("alter --dag flights --add-config spark.executor.memory=64g")
    cli("alter --dag flights --delete-config spark.executor.memory")

    assert cli("rollback --dag flights", policies_file=policies).code == 4


def test_a_rollback_that_is_refused_says_how_to_restore_the_other_keys(cli: Cli, policies: str):
    cli("alter --dag flights --add-config spark.executor.memory=64g,spark.app.a=1")
    cli("alter --dag flights --delete-config spark.executor.memory,spark.app.a")

    refused = cli("rollback --dag flights", policies_file=policies)
    rows = cli.json("rollback --dag flights --leave-out spark.executor.memory", policies_file=policies)

    assert refused.code == 4
    assert "To restore the other keys, leave out each key that is refused" in refused.err
    assert [(row["key"], row["value"]) for row in rows] == [("spark.app.a", "1")]


def test_a_rollback_of_one_key_that_is_refused_names_no_others(cli: Cli, policies: str):
    cli("alter --dag flights --add-config spark.executor.memory=64g")
    cli("alter --dag flights --delete-config spark.executor.memory")

    assert "the other keys" not in cli("rollback --dag flights", policies_file=policies).err


def test_a_key_that_is_left_out_of_a_rollback_keeps_its_later_value(cli: Cli):
    cli("alter --dag flights --add-config spark.app.a=1,spark.app.b=1")
    cli("alter --dag flights --add-config spark.app.a=2,spark.app.b=2")

    rows = cli.json("rollback --dag flights --leave-out spark.app.a")

    assert [(row["key"], row["value"]) for row in rows] == [("spark.app.b", "1")]


def test_a_key_that_a_rollback_does_not_change_cannot_be_left_out(cli: Cli):
    cli("alter --dag flights --add-config spark.app.a=1")

    refused = cli("rollback --dag flights --leave-out spark.app.b")

    assert refused.code == 3
    assert (
        "'spark.app.b' is left out, but restoring this version does not change it. It changes: spark.app.a."
        in refused.err
    )


@pytest.mark.parametrize(
    ("task", "verdict"),
    [pytest.param("files", "only a run knows", id="chosen"), pytest.param("report", "allows", id="no file is chosen")],
)
def test_only_a_run_that_chooses_a_file_knows_what_a_policy_says_of_it(
    cli: Cli, policies: str, task: str, verdict: str
):
    words = f"policies test --policies-file {policies} --dag flights --task {task} --add-config spark.app.a=1"
    done = cli(words, "--output", "json")

    assert {(one["at"], one["verdict"]) for one in done.rows if one["policy"] == "small"} == {
        ("alter", "allows"),
        ("render", verdict),
    }


@pytest.mark.parametrize(
    ("task", "change", "code"),
    [
        pytest.param("files", "spark.app.a=1", 2, id="only a run knows"),
        pytest.param("files", "spark.executor.memory=64g", 4, id="denied"),
        pytest.param("nightly.ingest", "spark.app.a=1", 0, id="allowed"),
    ],
)
def test_a_detailed_exit_code_says_that_only_a_run_knows_the_verdict(
    cli: Cli, policies: str, task: str, change: str, code: int
):
    words = f"policies test --policies-file {policies} --dag flights --task {task} --add-config {change}"

    assert cli(f"{words} --detailed-exit-code").code == code


def test_people_read_the_reason_of_a_denial_once(cli: Cli, policies: str):
    done = cli(f"policies test --policies-file {policies} --dag flights --add-config spark.executor.memory=8g")

    assert len(done.errors) == 1
    assert "denies" in done.out
    assert done.errors[0] not in done.out


def test_a_policy_denies_a_run_that_chooses_a_file_all_the_same(cli: Cli, policies: str):
    options = "--add-config spark.executor.memory=64g --at render"
    done = cli(f"policies test --policies-file {policies} --dag flights --task files {options}")

    assert done.code == 4


def test_a_run_is_that_of_a_task(cli: Cli, policies: str):
    done = cli(f"policies test --policies-file {policies} --dag flights --at render")

    assert done.code == 2
    assert "Add --task TASK_ID" in done.err


def test_policies_are_listed(cli: Cli, policies: str):
    rows = cli.json("policies test", policies_file=policies)

    assert [(row["policy"], row["verdict"]) for row in rows] == [("small", "loads"), ("none of these", "loads")]
    assert "To ask them about a change, name a resource" in cli("policies test", policies_file=policies).err


def test_each_policy_gives_its_verdict(cli: Cli, policies: str):
    done = cli(
        f"policies test --policies-file {policies} --dag flights --add-config spark.executor.memory=8g --output json"
    )

    assert done.code == 4
    assert [(row["policy"], row["verdict"], len(row["reasons"])) for row in done.rows] == [
        ("small", "allows", 0),
        ("none of these", "denies", 1),
    ]
    assert len(done.errors) == 1
    assert cli.deployment.query("select count(*) from variable") == [(0,)]


def test_policies_judge_what_there_is_where_no_change_is_given(cli: Cli, policies: str):
    cli("alter --dag flights --add-config spark.app.owner=ann")

    rows = cli.json(f"policies test --policies-file {policies} --dag flights")

    assert {row["verdict"] for row in rows} == {"allows"}


def test_policies_that_cannot_be_loaded_deny_changes_and_let_describe_work(cli: Cli):
    path = cli.deployment.home / "broken.yaml"
    path.write_text("policies:\n  - name: a\n    class: nosuch\n  - name: b\n")
    settings = {"policies_file": str(path)}

    altered, tested = cli("alter --default --add-config spark.app.a=b", **settings), cli("policies test", **settings)

    assert cli("describe --default", **settings).code == 0
    assert altered.code == 4
    assert "Policy 'policies' denies" in altered.err
    assert tested.code == 3
    assert "broken.yaml:4" in tested.err


TEXTS = "--dag flights --task texts"

MOMENTS = """
policies:
  - name: references beside the configuration
    match: {at: render}
    expression: texts.all(name, name.startsWith('env_vars[') && texts[name].startsWith('${vault:apps/'))
    message: Only env_vars may refer to something, and only to vault's apps.
  - name: frozen
    class: immutable_keys
    params: {keys: [spark.app.frozen]}
  - name: sums up
    match: {at: render}
    expression: after[?'spark.app.own'].orValue('') == '' || !('spark.app.dag' in after) || 'spark.app.dag' in before
"""


@pytest.fixture
def moments(cli: Cli) -> str:
    pytest.importorskip("cel_expr_python")
    path = cli.deployment.home / "moments.yaml"
    path.write_text(MOMENTS)
    return f"policies test --policies-file {path} --output json"


def verdicts(rows: list[dict[str, object]]) -> dict[tuple[object, object], object]:
    return {(row["policy"], row["at"]): row["verdict"] for row in rows}


@pytest.mark.parametrize("task", ["submissions", "queries"])
def test_policies_deny_what_a_mapped_task_has_of_the_default_args_of_its_dag(cli: Cli, task: str):
    path = cli.deployment.home / "defaults.yaml"
    path.write_text("policies: [{name: none, class: forbidden_keys, params: {keys: [spark.app.of]}}]")

    done = cli(f"policies test --policies-file {path} --dag defaults --task {task}")

    assert done.code == 4
    assert "spark.app.of" in done.err


def test_policies_are_asked_about_what_a_mapped_task_refers_to_by_default_args(cli: Cli):
    path = cli.deployment.home / "defaults.yaml"
    path.write_text("policies: [{name: none, class: allowed_references, params: {allow: [{providers: none}]}}]")

    done = cli(f"policies test --policies-file {path} --dag defaults --task submissions --at render")

    assert done.code == 4
    assert "env_vars['TOKEN']" in done.err


def test_policies_are_asked_about_a_change_of_a_task_and_about_its_run(cli: Cli, moments: str):
    cli("alter --dag flights --add-config spark.app.dag=1")

    done = cli(f"{moments} {TEXTS} --add-config spark.app.own=1")

    assert done.code == 4
    assert verdicts(done.rows) == {
        ("references beside the configuration", "alter"): "not asked",
        ("references beside the configuration", "render"): "denies",
        ("frozen", "alter"): "allows",
        ("frozen", "render"): "only a run knows",
        ("sums up", "alter"): "not asked",
        ("sums up", "render"): "denies",
    }
    assert done.errors[0] == (
        "Policy 'references beside the configuration' denies the configuration of task 'texts' of DAG 'flights': Only "
        "env_vars may refer to something, and only to vault's apps."
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(f"{TEXTS} --add-config spark.app.frozen=dag --at alter", ["denies"], id="set to what the DAG has"),
        pytest.param(
            f"{TEXTS} --add-config spark.app.frozen=dag --at render", ["only a run knows"], id="which changes no run"
        ),
        pytest.param(f"{TEXTS} --add-config spark.app.frozen=x", ["denies", "denies"], id="changed"),
        pytest.param("--dag flights --task done --add-config spark.app.a=b", ["allows"], id="no job, so no run"),
        pytest.param("--dag flights --add-config spark.app.a=b", ["allows"], id="no task, so no run"),
    ],
)
def test_the_moment_is_that_which_is_asked_for_and_can_be(cli: Cli, moments: str, words: str, expected: list[str]):
    rows = cli(f"{moments} {words}").rows

    assert [row["verdict"] for row in rows if row["policy"] == "frozen"] == expected
    assert cli.deployment.query("select count(*) from variable") == [(0,)]


def test_what_airflow_has_not_stored_whole_is_known(cli: Cli, moments: str):
    done = cli(f"{moments} --dag flights --task cut --at render")

    assert (done.code, done.notes) == (4, [])
    assert "denies the configuration of task 'cut' of DAG 'flights'" in done.errors[0]


def test_a_task_with_nothing_stored_but_references_in_its_paths_and_arguments(cli: Cli, moments: str):
    path = cli.deployment.home / "seen.yaml"
    path.write_text("policies: [{name: none, class: allowed_references, params: {allow: [{providers: none}]}}]")

    done = cli(f"policies test --policies-file {path} {TEXTS} --at render")

    assert [line.split("': ")[1].partition(" may not")[0] for line in done.errors] == [
        "'The path of file ${vault:apps/files:path}'",
        "'application_args[1]'",
        "'env_vars['TOKEN']'",  # and not the keys that it sets where it could run
    ]


# what is gone


def forget(cli: Cli) -> None:
    """Store something for a DAG that Airflow has no more, and for a task that its DAG has no more."""
    own = {"version": 1, "values": {"spark.app.a": "1", "spark.app.b": "2"}}
    parts = {
        "default": {"own": {"version": 0, "values": {}}, "tasks": {}},
        "dag.gone": {"own": own, "tasks": {}},
        "dag.flights": {"own": own, "tasks": {"retired": own}},
    }
    for name, part in parts.items():
        text = json.dumps({"format": 1, "version": 1, "beside": 0, **part})
        cli.airflow("variables", "set", f"config_providers.dynamic.{name}", text)


GONE = ["--dag gone", "--dag flights --task retired"]


@pytest.mark.parametrize("words", GONE)
def test_what_is_stored_for_what_is_gone_is_described_and_deleted(cli: Cli, words: str):
    forget(cli)

    described = cli(f"describe {words} --output json")
    refused = cli(f"alter {words} --add-config spark.app.a=2")
    deleted = cli(f"alter {words} --delete-config spark.app.a,spark.app.b --output json")

    assert {row["key"]: row["value"] for row in described.rows}.items() >= {"spark.app.a": "1"}.items()
    assert [note.startswith("Airflow has no ") for note in described.notes] == [True]
    assert refused.code == 3
    assert "Stored values can only be deleted." in refused.err
    assert [row["key"] for row in deleted.rows] == ["spark.app.a", "spark.app.b"]
    assert {row["version"] for row in cli.json(f"history {words}")} == {2}
    assert "can only be deleted" in cli(f"rollback {words}").err


NEW = (
    "Correct the name. If you have just added it, Airflow has not read the file yet: wait, or run airflow dags "
    "reserialize."
)


@pytest.mark.parametrize("command", ["describe", "history", "rollback", "refresh", "alter --delete-config spark.app.a"])
def test_what_never_was_is_refused_by_every_command(cli: Cli, command: str):
    forget(cli)

    done = cli(f"{command} --dag flight")

    assert (done.code, done.errors) == (3, [f"There is no DAG 'flight', did you mean 'flights'? {NEW}"])


# providers


def provided(more: Mapping[str, str] = {}, /, **definition: str) -> dict[str, str]:
    extra = {
        **more,
        **{f"config.providers{'.' if name else ''}{name}": text for name, text in definition.items()},
    }
    return {"AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": json.dumps({"conn_type": "config_providers", "extra": extra})}


def files(folder: object) -> dict[str, str]:
    """Define a provider that reads ``folder`` and, for drivers, the Vault of the examples."""
    return provided(
        {"driver.config.providers": "vault", "driver.config.providers.vault.class": "vault"},
        **{"": "dir", "dir.class": "directory", "dir.param.allowed.paths": str(folder)},
    )


def test_providers_are_listed(cli: Cli):
    words = ("config-providers", "providers", "list", "--output", "json")

    done = cli.airflow(*words, environ=files(cli.deployment.home))

    assert done.rows == [
        {
            "name": "dir",
            "class": "airflow_config_providers.providers.directory.DirectoryConfigProvider",
            "distribution": "airflow-config-providers",
        }
    ]


def test_a_provider_that_is_defined_but_not_listed_is_noted(cli: Cli):
    definitions = {"dir.class": "directory", "dir.param.allowed.paths": str(cli.deployment.home)}
    environ = provided(**{"": "dir", **definitions, "vault.class": "vault"})

    done = cli.airflow("config-providers", "providers", "list", "--output", "json", environ=environ)

    assert [row["name"] for row in done.rows] == ["dir"]
    assert done.notes == ["Provider 'vault' is defined but not listed in config.providers. Add it to that list."]


def test_providers_are_asked_whether_they_answer(cli: Cli):
    environ = provided(
        **{"": "dir,silent", "dir.class": "directory", "dir.param.allowed.paths": str(cli.deployment.home)},
        **{"silent.class": "tests.cli.unanswering.Silent"},
    )
    environ["AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES"] = "tests.cli.unanswering.Silent"

    done = cli.airflow("config-providers", "providers", "list", "--check", "--output", "json", environ=environ)

    assert [(row["name"], row["distribution"], row["answers"]) for row in done.rows] == [
        ("dir", "airflow-config-providers", True),
        ("silent", None, False),
    ]
    assert (done.code, done.errors) == (5, ["silent: it is silent"])


@pytest.mark.parametrize(("output", "answers"), [("json", None), ("plain", "not checked")])
def test_a_provider_whose_class_has_no_check_is_not_said_to_answer(cli: Cli, output: str, answers: str | None):
    memory = "airflow_config_providers.testing.InMemoryConfigProvider"
    environ = provided(**{"": "memory", "memory.class": memory})
    environ["AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES"] = memory

    done = cli.airflow("config-providers", "providers", "list", "--check", "--output", output, environ=environ)

    shown = done.rows[0]["answers"] if output == "json" else answers if "  not checked  " in done.out else done.out
    assert (done.code, shown, "the class has no check()" in done.out) == (0, answers, True)


def test_providers_of_a_connection_in_the_database_are_listed(cli: Cli):
    extra = json.loads(files(cli.deployment.home)["AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT"])["extra"]
    words = ("add", "mine", "--conn-type", "config_providers", "--conn-extra", json.dumps(extra))
    assert cli.airflow("connections", *words).code == 0
    try:
        rows = cli.json("providers list --conn-id mine")
    finally:
        cli.airflow("connections", "delete", "mine")

    assert [row["name"] for row in rows] == ["dir"]


def test_all_that_is_wrong_with_definitions_is_told(cli: Cli):
    environ = provided(**{"": "a,b", "a.class": "nosuch", "b.class": "directory"})

    done = cli.airflow("config-providers", "providers", "list", environ=environ)

    assert done.code == 3
    assert len(done.errors) == 2


def test_a_wrong_definition_does_not_hide_what_the_others_say(cli: Cli):
    environ = provided(
        **{"": "a,dir,silent", "dir.class": "directory", "dir.param.allowed.paths": str(cli.deployment.home)},
        **{"a.class": "nosuch", "silent.class": "tests.cli.unanswering.Silent"},
    )
    environ["AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES"] = "tests.cli.unanswering.Silent"

    done = cli.airflow("config-providers", "providers", "list", "--check", "--output", "json", environ=environ)

    assert done.code == 3
    assert [row["name"] for row in done.rows] == ["dir", "silent"]
    assert ["config.providers.a.class" in done.errors[0], done.errors[1:]] == [True, ["silent: it is silent"]]


def test_a_connection_whose_json_is_broken_is_told_with_its_variable_and_the_place(cli: Cli):
    environ = {"AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT": '{"password": "hunter2-canary",}'}

    done = cli.airflow("config-providers", "providers", "list", environ=environ)

    assert done.code == 3
    assert "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT" in done.err
    assert "line 1, column" in done.err
    assert "hunter2" not in done.err + done.out


# encoder


def test_secrets_are_encrypted_anew_history_included(cli: Cli):
    first, second = (
        {"password_encoder_secret": "the-first-encoder-secret"},
        {"password_encoder_secret": "the-second-encoder-secret"},
    )
    both = {**second, "password_encoder_old_secret": "the-first-encoder-secret"}
    for value in ("hunter2-one", "hunter2-two"):
        cli(f"alter {REPORT} --add-config spark.app.token={value}", **first)
    cli("alter --default --add-config spark.app.token=hunter2-three", **first)

    counts = [cli.json(f"encoder rotate {more}", **both) for more in ("--validate-only", "--validate-only", "", "")]

    names = ["config_providers.dynamic.dag.flights", "config_providers.dynamic.default"]
    assert [[(row["variable"], row["secrets"], row["reencrypted"]) for row in rows] for rows in counts] == [
        *[[(names[0], 4, 4), (names[1], 2, 2)]] * 3,
        [(names[0], 4, 0), (names[1], 2, 0)],
    ]
    assert cli("encoder rotate", **second).code == 0
    lost = cli("encoder rotate", password_encoder_secret="the-third-encoder-secret")
    assert lost.code == 3
    assert "'spark.app.token'" in lost.err
    assert [row["value"] for row in cli.json("rollback --default", **second)] == [None]


def test_without_a_secret_there_is_nothing_to_rotate_to(cli: Cli):
    done = cli("encoder rotate", password_encoder_secret="")

    assert done.code == 3
    assert "set password_encoder_secret" in done.err


# help

COMMANDS = ["describe", "alter", "history", "rollback", "policies test", "providers list", "encoder rotate"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_on_lines_of_their_own_and_each_runs(cli: Cli, command: str):
    (cli.deployment.home / "changes.properties").write_text("spark.app.a=b\n")
    (cli.deployment.home / "policies.yaml").write_text("policies: []\n")
    for value in "1234":
        cli(f"alter --dag flights --add-config spark.app.a={value}")

    text = cli(f"{command} --help").out

    start = "  airflow config-providers "
    examples = [line.removeprefix(start) for line in text.splitlines() if line.startswith(start)]
    assert examples
    assert "exit codes:\n  0 done" in text
    environ = files(cli.deployment.home)
    environ["AIRFLOW__CONFIG_PROVIDERS__POLICIES_FILE"] = str(cli.deployment.home / "policies.yaml")
    for example in examples:
        assert example.startswith(command)
        done = cli.airflow("config-providers", *shlex.split(example), environ=environ)
        assert (done.code, done.errors) == (0, []), example


@pytest.mark.parametrize(
    ("command", "is_change"),
    [
        pytest.param("alter", True, id="alter"),
        pytest.param("refresh", True, id="refresh"),
        pytest.param("rollback", True, id="rollback"),
        pytest.param("describe", False, id="describe"),
        pytest.param("references", False, id="references"),
    ],
)
def test_only_the_help_of_a_change_says_what_a_nonzero_code_means_for_it(cli: Cli, command: str, is_change: bool):
    assert ("A nonzero exit code means that nothing changed" in cli(f"{command} --help").out) is is_change


def test_help_keeps_what_stands_in_brackets(cli: Cli):
    assert "k2=[a,b]" in cli("alter --help").out
