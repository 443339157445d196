"""The names of providers, without a database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.lint import known_providers

EXTRA = {
    "config.providers": "vault, files",
    "config.providers.vault.class": "vault",
    "config.providers.unlisted.class": "file",
    "driver.config.providers": "mounted",
}
CANARY = "c4nary-of-a-connection"


def test_a_file_defines_providers(tmp_path: Path):
    path = tmp_path / "providers.properties"
    path.write_text("config.providers=vault\nconfig.providers.vault.class=vault\nconfig.providers.x.class=file\n")

    known = known_providers.of_file(str(path))

    assert (known.names, known.unlisted) == ({"vault"}, {"x"})


def test_an_extra_defines_providers_of_tasks_and_drivers():
    known = known_providers.of_extra(json.dumps(EXTRA))

    assert (known.names, known.unlisted) == ({"vault", "files", "mounted"}, {"unlisted"})


def test_an_extra_that_is_no_json_is_called_as_the_option_is():
    with pytest.raises(ConfigProvidersError, match=r"^The value of --conn-extra is not a JSON object: "):
        known_providers.of_extra("{bad")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps({"conn_type": "config_providers", "extra": EXTRA}), id="JSON"),
        pytest.param("config-providers://?config.providers=vault%2Cfiles&driver.config.providers=mounted", id="URI"),
    ],
)
def test_a_connection_in_the_environment_defines_providers(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("AIRFLOW_CONN_OURS", text)

    known = known_providers.in_environment("ours")

    assert known is not None
    assert known.names == {"vault", "files", "mounted"}
    assert "connection 'ours'" in known.home


def test_without_the_variable_nothing_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AIRFLOW_CONN_OURS", raising=False)

    assert known_providers.in_environment("ours") is None


@pytest.mark.parametrize("text", [f'{{"password": "{CANARY}"', f"a://b:{CANARY}@[x:y", f'{{"extra": "{CANARY}"}}'])
def test_a_connection_that_cannot_be_read_is_an_error_without_its_content(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("AIRFLOW_CONN_OURS", text)

    with pytest.raises(ConfigProvidersError) as caught:
        known_providers.in_environment("ours")

    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_connection_of_another_type_that_defines_nothing_is_doubted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local"}))

    known = known_providers.in_environment("spark_default")

    assert known is not None
    assert "Its type is 'spark' and not 'config_providers': check config_conn_id" in known.home


MISSPELT = {
    "config.providers": "f",
    "config.providers.f.class": "file",
    "config.providers.f.param.alowed.paths": CANARY,
}
PROBLEM = (
    "config.providers.f.param.alowed.paths would be ignored: file has no such parameter, did you mean 'allowed.paths'?"
)


def places(known: known_providers.KnownProviders) -> list[tuple[str, int | None, str]]:
    return [(one.place.path, one.place.line, one.text) for one in known.findings]


def test_a_misspelt_parameter_in_a_file_is_found_with_its_line(tmp_path: Path):
    path = tmp_path / "providers.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in MISSPELT.items()))

    ((file, line, text),) = places(known_providers.of_file(str(path)))

    assert (file, line) == (str(path), 3)
    assert text.startswith(PROBLEM)
    assert CANARY not in text


def test_a_misspelt_parameter_of_a_driver_is_found_under_its_own_name():
    extra = json.dumps({f"driver.{key}": value for key, value in MISSPELT.items()})

    ((place, line, text),) = places(known_providers.of_extra(extra))

    assert (place, line) == ("--conn-extra", None)
    assert text.startswith(f"driver.{PROBLEM}")


def test_a_misspelt_parameter_in_the_environment_is_found_with_the_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW_CONN_OURS", json.dumps({"conn_type": "config_providers", "extra": MISSPELT}))

    known = known_providers.in_environment("ours")

    assert known is not None
    assert [place for place, _, _ in places(known)] == ["AIRFLOW_CONN_OURS"]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({}, id="without a parameter that it requires"),
        pytest.param(
            {"config.providers.f.class": "not.installed", "config.providers.f.param.x": "y"}, id="unknown class"
        ),
        pytest.param({"config.providers.f.param.max.bytes": "x"}, id="a value that does not fit"),
    ],
)
def test_a_definition_whose_names_are_right_has_no_findings(more: dict[str, str]):
    given = {"config.providers": "f", "config.providers.f.class": "file"}

    assert known_providers.of_extra(json.dumps(given | more)).findings == ()


def test_a_driver_whose_secret_id_the_worker_wraps_has_no_findings():
    params = ["url", "auth_type", "role_id", "wrapping.role", "wrapping.ttl", "wrapping.login_ttl"]
    given = {f"driver.config.providers.v.param.{name}": "1" for name in params}

    known = known_providers.of_extra(
        json.dumps({"driver.config.providers": "v", "driver.config.providers.v.class": "vault"} | given)
    )

    assert known.findings == ()


def test_a_worker_has_no_secret_id_to_wrap_for_itself():
    given = {
        "config.providers": "v",
        "config.providers.v.class": "vault",
        "config.providers.v.param.wrapping.role": "r",
    }

    ((_, _, text),) = places(known_providers.of_extra(json.dumps(given)))
    assert "param.wrapping.role would be ignored" in text
