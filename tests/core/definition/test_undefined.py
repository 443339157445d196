from __future__ import annotations

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.undefined import UNDEFINED


def test_no_definition_answers_like_one_without_keys() -> None:
    empty = ConfigDef()

    assert UNDEFINED.config_keys == empty.config_keys == {}
    assert UNDEFINED.older_names == empty.older_names == {}
    assert UNDEFINED.default_texts() == empty.default_texts() == {}
    assert UNDEFINED.is_sensitive("password") is empty.is_sensitive("password") is False
    assert UNDEFINED.is_secret("password", "x") is empty.is_secret("password", "x") is False
    assert UNDEFINED.alterable_at("k") == empty.alterable_at("k")
