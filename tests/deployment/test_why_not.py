"""Why a setting does not apply, decided over the rows of a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.deployment.rows import Hidden, KeySelection, Row, described
from airflow_config_providers.deployment.why_not import Reading, refusals, why_not
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    PolicyViolation,
    ProviderUnavailableError,
)
from airflow_config_providers.spark.catalogue import spark_definition

MEMORY = "spark.executor.memory"
FILE = ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "base.properties", {MEMORY: "1g"}, {MEMORY: "base.properties:7"})
CONF = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {MEMORY: "2g", "spark.app.a": "1"})
OF_DAG = ConfigLayer(
    ConfigSource.DYNAMIC_DAG_CONFIG, "dynamic configuration of flights, version 3", {MEMORY: "4g", "spark.app.b": "1"}
)


def rows(*layers: ConfigLayer) -> list[Row]:
    layered = LayeredConfig(layers or (FILE, CONF, OF_DAG), spark_definition())
    return described(KeySelection().of(layered.entries(defaults=False)))


def conf(configs: Mapping[str, str], source: ConfigSource = ConfigSource.DAG_CONFIG, name: str = "conf") -> ConfigLayer:
    return ConfigLayer(source, name, configs)


def only(asked: str, found: list[Row], reading: Reading = Reading()) -> Any:  # noqa: B008 - a value
    (answer,) = why_not(asked, found, reading)
    return answer


def test_a_setting_that_wins_applies():
    answer = only(f"{MEMORY}=4g", rows())

    assert (answer["verdict"], answer["reason"]) == ("applies", "It wins.")
    assert answer["layer"] == "DYNAMIC_DAG_CONFIG, dynamic configuration of flights, version 3"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            "4 gigs", "It wins. A run that gets it would fail: Expected a whole number ", id="of the wrong type"
        ),
        pytest.param("${vault:apps:memory}", "It wins.", id="a reference"),
        pytest.param("{{ params.memory }}", "It wins.", id="a template"),
    ],
)
def test_a_setting_that_wins_and_lets_a_run_fail_says_so(value: str, expected: str):
    reason = only(MEMORY, rows(conf({MEMORY: value})))["reason"]

    assert reason.startswith(expected)
    assert ("fail" in reason) == ("fail" in expected)


def test_a_beaten_setting_names_the_layer_that_wins():
    answer = only(f"{MEMORY}=1g", rows())

    assert (answer["verdict"], answer["layer"]) == ("beaten", "STATIC_FILE_CONFIG, base.properties:7")
    assert answer["reason"] == "DYNAMIC_DAG_CONFIG, dynamic configuration of flights, version 3 wins."
    assert answer["winner"]["value"] == "4g"


def test_a_setting_that_is_beaten_by_the_same_value_says_so():
    found = rows(conf({MEMORY: "4g"}), OF_DAG)

    assert [(one["verdict"], "It has the same value." in one["reason"]) for one in why_not(f"{MEMORY}=4g", found)] == [
        ("applies", False),
        ("beaten", True),
    ]


def test_a_key_alone_asks_about_all_of_its_settings():
    answers = why_not(MEMORY, rows())

    assert [(one["value"], one["verdict"]) for one in answers] == [
        ("4g", "applies"),
        ("2g", "beaten"),
        ("1g", "beaten"),
    ]


@pytest.mark.parametrize(
    "layer",
    [
        pytest.param("base.properties", id="path"),
        pytest.param("base.properties:7", id="path-and-line"),
        pytest.param("./base.properties", id="another-path-of-the-file"),
        pytest.param("STATIC_FILE_CONFIG", id="source"),
        pytest.param("STATIC_FILE_CONFIG, base.properties:7", id="source-and-origin"),
    ],
)
def test_a_layer_is_found_by_each_of_its_names(layer: str):
    assert (only(layer, rows())["key"], only(layer, rows())["verdict"]) == (MEMORY, "beaten")


def test_each_key_of_a_layer_is_answered():
    answers = why_not("conf", rows())

    assert {one["key"]: one["verdict"] for one in answers} == {MEMORY: "beaten", "spark.app.a": "applies"}


def test_a_dynamic_layer_is_found_without_its_version():
    answers = why_not("dynamic configuration of flights", rows())

    assert {one["key"]: one["verdict"] for one in answers} == {MEMORY: "applies", "spark.app.b": "applies"}


def test_another_spelling_that_wins_is_named():
    found = rows(
        conf({"spark.executor.memoryOverhead": "2g"}),
        conf({"spark.yarn.executor.memoryOverhead": "1g"}, ConfigSource.STATIC_FILE_CONFIG),
    )
    answer = only("spark.yarn.executor.memoryOverhead=1g", found)

    assert answer["verdict"] == "other spelling"
    assert (
        "'spark.executor.memoryOverhead' is another name of the same configuration, and wins: DAG" in answer["reason"]
    )


def test_a_misspelt_key_is_a_typo_that_names_what_is_meant():
    answer = only("spark.executor.memroy=8g", rows(conf({"spark.executor.memroy": "8g"})))

    assert answer["verdict"] == "typo"
    assert "did you mean 'spark.executor.memory'?" in answer["reason"]


def test_the_value_is_found_under_a_misspelling_of_the_key():
    answer = only(f"{MEMORY}=8g", rows(conf({"spark.executor.memroy": "8g"})))

    assert (answer["key"], answer["verdict"]) == ("spark.executor.memroy", "typo")


def test_a_misspelling_that_no_layer_has_is_a_typo_too():
    assert only("spark.executor.memroy=8g", rows())["verdict"] == "typo"


def test_a_key_that_spark_ignores_is_not_read():
    answer = only("executor.memory=8g", rows(conf({"executor.memory": "8g"})))

    assert answer["verdict"] == "not read"
    assert "did you mean 'spark.executor.memory'?" in answer["reason"]


def test_a_key_that_spark_ignores_applies_to_a_job_that_takes_any_key():
    found = rows(conf({"executor.memory": "8g"}))

    assert only("executor.memory=8g", found, Reading(takes_any_key=True))["verdict"] == "applies"


def test_a_master_of_the_author_applies_unless_the_operator_passes_that_of_its_connection():
    """A function's session takes it from its keys first."""
    answer = only("spark.master=local", rows(conf({"spark.master": "local"})))

    assert answer["verdict"] == "applies"
    assert "no effect if the operator passes the master of its connection to Spark, or the service" in answer["reason"]


@pytest.mark.parametrize(
    ("key", "reason"),
    [("spark.master", "takes it from its Spark connection"), ("spark.remote", "decides which server gets the job")],
)
def test_a_run_may_not_choose_where_its_job_goes(key, reason):
    answer = only(f"{key}=x", rows(conf({key: "x"}, ConfigSource.RUN_CONFIG)))

    assert answer["verdict"] == "not allowed"
    assert reason in answer["reason"]


MODE = "spark.submit.deployMode"
UNLESS = (
    "It wins. It has no effect if deploy_mode of the operator, deploy-mode of its connection, or the service that runs "
    "the job sets it."
)
READ_ONLY = "A run that gets it fails. It is read-only: it decides who resolves the references"


@pytest.mark.parametrize(
    ("source", "verdict", "reason"),
    [
        pytest.param(ConfigSource.RUN_CONFIG, "not allowed", READ_ONLY, id="a run"),
        pytest.param(ConfigSource.DYNAMIC_DEFAULT_CONFIG, "not allowed", READ_ONLY, id="dynamic configuration"),
        pytest.param(ConfigSource.ENVIRONMENT_CONFIG, "applies", UNLESS, id="the environment"),
        pytest.param(ConfigSource.DAG_CONFIG, "applies", UNLESS, id="the author"),
        pytest.param(ConfigSource.STATIC_FILE_CONFIG, "applies", UNLESS, id="Spark's defaults"),
    ],
)
def test_a_deploy_mode_applies_in_the_layers_of_the_author_and_the_owner(source, verdict, reason):
    answer = only(f"{MODE}=cluster", rows(conf({MODE: "cluster"}, source)))

    assert answer["verdict"] == verdict
    assert answer["reason"].startswith(reason)


def test_a_key_that_spark_itself_sets_is_not_read_in_any_layer():
    found = rows(conf({"spark.app.id": "x"}, ConfigSource.RUN_CONFIG, "a run"), conf({"spark.executor.id": "x"}))

    assert {only(key, found)["verdict"] for key in ("spark.app.id", "spark.executor.id")} == {"not read"}


def test_a_layer_that_jobs_do_not_get_is_not_read_and_beats_nothing():
    reading = Reading(unread={"DYNAMIC_DAG_CONFIG": "It is switched off."})

    assert only(f"{MEMORY}=2g", rows(), reading)["verdict"] == "applies"
    assert only(f"{MEMORY}=4g", rows(), reading)["reason"] == "It is switched off."


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("config.providers.vault.class=x", id="reserved"),
        pytest.param("spark.app.a b=x", id="blank"),
        pytest.param("spark.app.\x1b=x", id="control-character"),
    ],
)
def test_a_key_that_no_layer_can_have_is_not_allowed(asked: str):
    assert only(asked, rows())["verdict"] == "not allowed"
    assert "\x1b" not in only(asked, rows())["reason"]


def test_a_value_that_a_policy_refuses_is_not_allowed():
    reading = Reading(refusals=lambda key, value: [f"{key} has a limit."])

    assert only(f"{MEMORY}=64g", rows(), reading)["reason"] == f"{MEMORY} has a limit."
    assert only(f"{MEMORY}=64g", rows(), reading)["verdict"] == "not allowed"


def test_a_value_that_no_layer_has_is_not_set_and_what_wins_is_named():
    answer = only(f"{MEMORY}=64g", rows())

    assert answer["verdict"] == "not set"
    assert answer["reason"].endswith("dynamic configuration of flights, version 3 wins with 4g.")


def test_a_key_without_a_layer_names_the_default():
    assert only("spark.executor.cores=2", rows())["verdict"] == "not set"
    assert only("spark.driver.memory=2g", rows())["reason"] == "No layer sets it. Spark's default is 1g."


@pytest.mark.parametrize(
    ("unread", "verdict"),
    [
        pytest.param({"ENVIRONMENT_CONFIG": "It is off."}, "not read", id="switched-off"),
        pytest.param({}, "filtered", id="service-link"),
    ],
)
def test_a_variable_without_a_layer_is_named_but_not_its_value(unread: Mapping[str, str], verdict: str):
    reading = Reading(unread, environ={"SPARK_UI_PORT": "tcp://hunter2:1"})
    answer = only("spark.ui.port=4040", rows(), reading)

    assert answer["verdict"] == verdict
    assert "SPARK_UI_PORT" in answer["reason"]
    assert "hunter2" not in str(answer)


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        pytest.param("base.propertys", "It is not among the layers, did you mean 'base.properties'?", id="near"),
        pytest.param("/etc/other.properties", "It is not among the layers", id="another-file"),
        pytest.param("/data/env=prod/x.properties", "It is not among the layers", id="path-with-an-equals-sign"),
        pytest.param("/etc/base.json", "Layer files are Java properties or YAML.", id="another-format"),
        pytest.param("/etc/empty.properties", "It is a layer, but sets no key", id="empty-or-unreadable"),
        pytest.param("RUN_CONFIG", "It is off.", id="switched-off"),
        pytest.param("DYNAMIC_TASK_CONFIG", "No key has this layer.", id="nothing-there"),
    ],
)
def test_a_layer_that_is_not_there_is_not_read(layer: str, reason: str):
    reading = Reading({"RUN_CONFIG": "It is off."}, files=["/etc/empty.properties"])
    answer = only(layer, rows(), reading)

    assert (answer["verdict"], answer["layer"]) == ("not read", layer)
    assert answer["reason"].startswith(reason)


@pytest.mark.parametrize("guess", ["hunter2", "wrong"])
def test_a_hidden_value_is_not_compared_so_that_nobody_can_guess_it(guess: str):
    found = rows(conf({"spark.app.password": "hunter2"}))
    answer = only(f"spark.app.password={guess}", found)

    assert isinstance(answer["value"], Hidden)
    assert (answer["verdict"], answer["reason"]) == ("applies", "Its value is hidden, and was not compared. It wins.")


def test_the_value_that_someone_asks_about_is_hidden_if_it_is_a_secret():
    assert isinstance(only("spark.app.password=hunter2", rows())["value"], Hidden)


def test_a_setting_that_waits_says_what_the_last_job_had():
    found = [{**row, "pending": True, "applied": None} for row in rows()]

    assert only(f"{MEMORY}=4g", found)["reason"] == "It wins, and waits for the next submit. The last job had nothing."


def test_a_reload_action_says_which_job_gets_it_at_once():
    found = [{**row, "pending": None, "applied": None} for row in rows(conf({"config.reload.action": "none"}))]

    assert only("config.reload.action=none", found)["reason"] == (
        "It wins. A running job that was submitted with restart reads it at once, any other job when it is submitted "
        "next."
    )


def test_a_layer_of_ten_thousand_keys_is_answered():
    found = rows(conf({f"spark.app.key{n}": "x" for n in range(10_000)}))

    assert len(why_not("conf", found)) == 10_000


TASK = ConfigResource.of_task("flights", "report")


def refused(error: ConfigProvidersError | None) -> list[str]:
    def alter(resource: ConfigResource, operations: Any, *, validate_only: bool) -> None:
        assert validate_only
        if error:
            raise error

    return list(refusals(alter, TASK, "spark.a", "1"))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(None, [], id="allowed"),
        pytest.param(PolicyViolation("a policy"), ["a policy"], id="policy"),
        pytest.param(ConfigException("a", "b"), ["a", "b"], id="wrong"),
        pytest.param(ForbiddenError("no permission"), [], id="unknown-without-the-permission"),
    ],
)
def test_the_reasons_are_those_of_a_change_that_is_only_checked(error, expected):
    assert refused(error) == expected


def test_an_outage_is_no_refusal():
    with pytest.raises(ProviderUnavailableError):
        refused(ProviderUnavailableError("later"))


def test_the_variable_of_a_key_is_named_in_each_spelling():
    assert Reading(environ={"SPARK_UI_PORT": "1"}).variable("spark.ui.port") == "SPARK_UI_PORT"
    assert Reading().variable("spark.ui.port") is None


CHOSEN = "/etc/{{ var.value.env }}.properties"


@pytest.mark.parametrize("asked", ["spark.sql.shuffle.partitions=77", "/etc/dev.properties"])
def test_a_file_that_a_run_chooses_is_named(asked: str):
    answer = only(asked, rows(), Reading(files=[CHOSEN]))

    assert answer["reason"].endswith(f"A run can have it from {CHOSEN}, which is not read here.")


def test_a_file_that_a_run_chooses_is_named_if_a_stronger_layer_wins():
    answer = only(f"{MEMORY}=77g", rows(), Reading(files=[CHOSEN]))

    assert answer["reason"].endswith(f"It can be in {CHOSEN}, which is not read here, but would be beaten there, too.")


@pytest.mark.parametrize(
    ("found", "files", "is_told"),
    [
        pytest.param([FILE], ["base.properties", CHOSEN], True, id="a stronger file"),
        pytest.param([FILE], [CHOSEN, "base.properties"], False, id="a weaker file"),
        pytest.param([FILE], ["base.properties"], False, id="no such file"),
        pytest.param([FILE, conf({MEMORY: "1g"})], ["base.properties", CHOSEN], False, id="a stronger layer"),
    ],
)
def test_a_winner_that_a_file_of_a_run_can_beat_says_so(found: list[ConfigLayer], files: list[str], is_told: bool):
    answers = why_not(f"{MEMORY}=1g", rows(*found), Reading(files=files))

    told = f"It wins. A run can have another value from {CHOSEN}, which is not read here and beats it."
    assert [one["reason"] == told for one in answers if one["verdict"] == "applies"] == [is_told]


def test_a_winner_that_waits_can_be_beaten_by_a_file_of_a_run_too():
    found = [{**row, "pending": True, "applied": None} for row in rows(FILE)]

    assert only(f"{MEMORY}=1g", found, Reading(files=["base.properties", CHOSEN]))["reason"] == (
        f"It wins, and waits for the next submit. The last job had nothing. A run can have another value from "
        f"{CHOSEN}, which is not read here and beats it."
    )


def test_what_a_server_says_of_the_files_of_a_run_is_told():
    found = [{**row, "or_from": [CHOSEN]} for row in rows(FILE)]

    assert only(f"{MEMORY}=1g", found)["reason"].startswith(f"It wins. A run can have another value from {CHOSEN}, ")
