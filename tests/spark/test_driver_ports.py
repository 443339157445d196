"""A driver whose configuration has secrets gives it to nobody who cannot sign in, where Spark can do that by itself."""

from __future__ import annotations

import pytest

from airflow_config_providers.spark.delivery import Delivery, plan
from airflow_config_providers.spark.driver_ports import (
    AUTHENTICATE_KEY,
    authenticated,
    doubt_of_context,
    doubt_of_ports,
)

SECRET = "spark.app.password"
LOCAL = ["local", "local[2]", "local[*]", "local[4, 2]"]


def delivery(**configs: str) -> Delivery:
    given = {SECRET: "canary-7f3a", **{f"spark.{name}": value for name, value in configs.items()}}
    return plan(given, sensitive={SECRET})


@pytest.mark.parametrize("master", LOCAL)
def test_attack_27_nobody_gets_secrets_at_the_ports_of_a_driver_on_this_machine(master: str) -> None:
    closed = authenticated(delivery(), master)

    assert closed.private[AUTHENTICATE_KEY] == "true"
    assert not doubt_of_ports(closed)


@pytest.mark.parametrize(
    "master", ["spark://one:7077", "k8s://https://one", "yarn", "local-cluster[1,1,512]", "", None]
)
def test_where_a_cluster_needs_the_secret_of_spark_others_who_get_secrets_are_warned_of(master: str | None) -> None:
    found = delivery()

    assert authenticated(found, master) is found
    assert "set spark.authenticate=true" in doubt_of_ports(found)


@pytest.mark.parametrize("value", ["true", "false"])
def test_what_a_layer_says_of_authentication_stays_and_ends_the_warning(value: str) -> None:
    found = delivery(authenticate=value)

    assert authenticated(found, "local") is found
    assert not doubt_of_ports(found)


def test_the_warning_says_how_to_close_the_ports_and_how_to_accept_them() -> None:
    warning = doubt_of_ports(delivery())

    assert "spark.authenticate.secret" in warning
    assert "To accept it, set spark.authenticate=false" in warning


@pytest.mark.parametrize("value", [True, "false"])
def test_what_a_connection_says_of_authentication_stays_and_ends_the_warning(value: object) -> None:
    found, settings = delivery(), {AUTHENTICATE_KEY: value}

    assert authenticated(found, "local", settings) is found
    assert not doubt_of_ports(found, settings)


def test_a_driver_without_secrets_stays_as_it_is() -> None:
    found = plan({"spark.a": "1"}, sensitive=())

    assert authenticated(found, "local") is found
    assert not doubt_of_ports(found)


CLOSED = {AUTHENTICATE_KEY: "true"}


@pytest.mark.parametrize(
    ("settings", "running", "is_warned"),
    [
        pytest.param({}, {}, True, id="open"),
        pytest.param({}, {AUTHENTICATE_KEY: "false"}, True, id="open, as other code wrote"),
        pytest.param(CLOSED, {}, True, id="to be closed too late"),
        pytest.param({}, CLOSED, False, id="closed"),
        pytest.param({AUTHENTICATE_KEY: "false"}, {}, False, id="accepted"),
    ],
)
def test_secrets_for_a_context_whose_ports_are_open_already_are_warned_of(
    settings: dict[str, str], running: dict[str, str], is_warned: bool
) -> None:
    assert ("other code has started" in doubt_of_context(delivery(), settings, running)) is is_warned


def test_a_context_that_gets_no_secrets_is_not_warned_of() -> None:
    assert not doubt_of_context(plan({"spark.a": "1"}, sensitive=()), {}, {})
