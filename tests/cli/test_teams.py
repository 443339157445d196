"""The commands in a deployment whose connections belong to teams."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.cli.conftest import Cli


@pytest.fixture
def of_a_team(cli: Cli) -> Iterator[dict[str, str]]:
    """A connection of team finance, and the environment in which there are teams."""
    with closing(sqlite3.connect(cli.deployment.home / "airflow.db")) as database:
        database.execute("insert into team (name) values ('finance')")
        database.execute(
            "insert into connection (conn_id, conn_type, team_name, is_encrypted, is_extra_encrypted) "
            "values ('providers_one', 'config_providers', 'finance', false, false)"
        )
        database.commit()
        yield {"AIRFLOW__CORE__MULTI_TEAM": "True", "AIRFLOW_CONN__FINANCE___PROVIDERS_TWO": "config-providers://"}
        database.execute("delete from connection")
        database.execute("delete from team")
        database.commit()


def test_a_connection_of_a_team_is_said_to_be_the_teams(cli: Cli, of_a_team: dict[str, str]) -> None:
    words = ("config-providers", "providers", "list", "--conn-id", "providers_one")

    done = cli.airflow(*words, environ=of_a_team)

    assert done.code == 3
    assert "Connection 'providers_one' belongs to team 'finance'" in done.err
    assert "did you mean" not in done.err


@pytest.mark.parametrize("conn_id", ["providers_on", "_finance___providers_tw"])
def test_a_connection_of_a_team_is_not_what_was_meant(cli: Cli, of_a_team: dict[str, str], conn_id: str) -> None:
    done = cli.airflow("config-providers", "providers", "list", "--conn-id", conn_id, environ=of_a_team)

    assert done.code == 3
    assert f"There is no connection '{conn_id}'. Correct --conn-id" in done.err
