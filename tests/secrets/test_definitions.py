"""Where the providers of the backend are defined."""

from __future__ import annotations

from airflow_config_providers.secrets.definitions import chosen

CANARY = "c4nary-token"


def test_the_parameters_of_providers_in_backend_kwargs_are_not_shown() -> None:
    definitions = chosen(None, {"config.providers.vault.param.token": CANARY}, None)

    assert CANARY not in f"{definitions!r} {definitions}"
    assert definitions.read() == {"config.providers.vault.param.token": CANARY}


def test_booleans_in_backend_kwargs_are_written_as_in_a_properties_file() -> None:
    definitions = chosen(None, {"config.providers.vault.param.verify": True}, None)

    assert definitions.read() == {"config.providers.vault.param.verify": "true"}
