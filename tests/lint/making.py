"""Entries and jobs, as reading files makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_config_providers.lint.entry import WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import Finding, SourcePlace

DAG = SourcePlace("dags/flights.py", 7, "flights.report")


def in_conf(key: str, text: str, line: int = 7) -> WrittenEntry:
    return WrittenEntry(key, text, SourcePlace(DAG.path, line, DAG.task), "conf")


def in_file(key: str, text: str, line: int = 1, path: str = "base.properties") -> WrittenEntry:
    return WrittenEntry(key, text, SourcePlace(path, line))


def job(*layers: list[WrittenEntry], **changes: Any) -> WrittenJob:
    usual = {
        "clusters": (),
        "texts": (),
        "files": (),
        "conn_id": "config_providers_default",
        "is_configured": True,
        "takes_any_key": False,
        "keeps_unresolved": False,
    }
    return WrittenJob(DAG, tuple(map(tuple, layers)), **{**usual, **changes})


def codes(findings: Any) -> list[str]:
    return [finding.rule.code for finding in findings]


def messages(findings: Any) -> str:
    return "\n".join(finding.message for finding in findings if isinstance(finding, Finding))


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()
