"""The forms in which the page on the connection writes it."""

from __future__ import annotations

import re

from airflow.models import Connection

from airflow_config_providers.job.providers import Definitions
from tests.docs.pages import ROOT


def test_the_uri_of_the_page_has_the_definitions_of_its_command() -> None:
    page = (ROOT / "docs" / "reference" / "connection.md").read_text()
    (uri,) = re.findall(r"='(config-providers://[^']*)'", page)
    (extra,) = re.findall(r"--conn-extra '(\{.*?\})'", page, flags=re.DOTALL)

    from_uri = Definitions("x", Connection(uri=uri)).of_tasks()
    assert from_uri == Definitions("x", Connection(conn_type="config_providers", extra=extra)).of_tasks()
    assert from_uri["config.providers.file.param.allowed.paths"] == "/etc/airflow/spark"
