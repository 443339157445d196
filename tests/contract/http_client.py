"""The HTTP library of Airflow's client."""

from __future__ import annotations

from typing import Any

from airflow.sdk.api import client

HTTP: Any = getattr(client, "httpx2", None) or getattr(client, "httpx")  # noqa: B009 - httpx2 since Airflow 3.4
