"""What is a team's own is given to that team alone."""

from __future__ import annotations

import pytest

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied

OWNED = {
    "common": "x://common",
    "fields": {"conn_type": "x", "host": "a's", "team_name": "team_a"},
    "json": '{"conn_type": "x", "host": "a\'s", "team_name": "team_a"}',
    "uri": {"uri": "x://as", "team_name": "team_a"},
}


def host(backend, name, team):
    connection = backend.get_connection(name, team_name=team)
    return None if connection is None else connection.host


@pytest.mark.parametrize(("team", "found"), [("team_a", "a's"), ("team_b", None), (None, None), ("", None)])
@pytest.mark.parametrize("name", ["fields", "json"])
def test_a_connection_with_a_team_is_for_that_team(shelf, name, team, found):
    assert host(shelf.backend(OWNED), name, team) == found


@pytest.mark.parametrize("team", ["team_a", "team_b", None])
def test_a_connection_without_a_team_is_for_all(shelf, team):
    assert host(shelf.backend(OWNED), "common", team) == "common"


@pytest.fixture
def teams(shelf):
    """Files for all, and one for each of two teams."""
    for team in ("team_a", "team_b"):
        shelf.write(f"{team}/variables.yaml", {"v": team, f"only_{team}": "own"})
        shelf.write(f"{team}/connections.yaml", {"db": f"x://{team.replace('_', '-')}"})
    own = str(shelf.folder / "{team_name}")
    return shelf.backend(
        connections_file_path=[shelf.write("c.yaml", {"db": "x://common"}), f"{own}/connections.yaml"],
        variables_file_path=[f"{own}/variables.yaml", shelf.write("v.yaml", {"v": "common", "all": "common"})],
    )


@pytest.mark.parametrize(
    ("team", "values"),
    [
        ("team_a", ["team_a", "own", None, "common"]),
        ("team_b", ["team_b", None, "own", "common"]),
        ("team_c", ["common", None, None, "common"]),
        (None, ["common", None, None, "common"]),
    ],
)
def test_a_file_may_be_a_teams_own_and_counts_first(teams, team, values):
    names = ["v", "only_team_a", "only_team_b", "all"]

    assert [teams.get_variable(name, team_name=team) for name in names] == values


@pytest.mark.parametrize(("team", "found"), [("team_a", "team-a"), ("team_b", "team-b"), (None, "common")])
def test_a_connection_of_a_teams_file_counts_first(teams, team, found):
    assert host(teams, "db", team) == found


@pytest.mark.parametrize("team", ["../team_a", "team_a/../team_a", "team_a/.", ".", "", "team_a\n", "{team_name}"])
def test_a_team_that_is_no_name_leads_into_no_file(teams, team):
    assert teams.get_variable("only_team_a", team_name=team) is None


@pytest.mark.parametrize("name", ["team_a/v", "_TEAM_A___v", "team_a___v", "../team_a/variables"])
def test_the_name_of_what_is_asked_for_leads_into_no_teams_file(teams, name):
    assert teams.get_variable(name) is None
    assert teams.get_connection(name) is None


def test_a_teams_file_that_is_broken_is_unavailable_for_that_team(teams, shelf):
    shelf.write("team_a/variables.yaml", "[")

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="variable all of team team_a is unavailable"):
        teams.get_variable("all", team_name="team_a")
    assert teams.get_variable("all", team_name="team_b") == "common"
