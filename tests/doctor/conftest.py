"""Settings and connections of a deployment that needs no database."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.doctor.examination import Site

PREFIX = "AIRFLOW__CONFIG_PROVIDERS__"


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    return lambda name, text: monkeypatch.setenv(f"{PREFIX}{name.upper()}", text)


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Site]:
    def made(conn_type: str = "config_providers", **extra: Any) -> Site:
        written = {"conn_type": conn_type, "password": "c4nary-password", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_OF_DOCTOR", json.dumps(written))
        return Site("of_doctor", is_named=True)

    return made


def said(found: Any) -> list[str]:
    return [f"{one.severity.value}: {one.what}" for one in found]
