"""A text that is reported once."""

from __future__ import annotations

from airflow_config_providers.core.report_once import reporting_once


def test_a_text_is_told_once() -> None:
    told: list[str] = []
    tell = reporting_once(told.append)
    for text in ("a", "b", "a"):
        tell(text)

    assert told == ["a", "b"]
