"""The Spark session of the audit."""

from __future__ import annotations

import logging

import pytest

pytest.importorskip("pyspark.sql.session")

from airflow_config_providers.spark.audit.session import audit_session

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("jvm")]


def test_messages_of_py4j_are_not_logged_until_the_session_ends(caplog: pytest.LogCaptureFixture):
    def said_by(module: str) -> list[str]:
        caplog.clear()
        logging.getLogger().handle(logging.LogRecord("root", logging.ERROR, f"{module}.py", 1, module, None, None))
        return [record.message for record in caplog.records]

    with audit_session("local[1]"):
        assert (said_by("java_gateway"), said_by("another")) == ([], ["another"])

    assert said_by("java_gateway") == ["java_gateway"]
