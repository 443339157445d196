"""An audit that is killed in the middle loses what it was doing, and nothing that it kept."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psutil
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("airflow")

from tests.integration.audit_command import VALUE, AuditCommand, ended, places
from tests.limits import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.xdist_group("audit-cluster")]

MANY = 70_000
"""More files than one core searches before what was found is kept."""


def plant(audit: AuditCommand) -> list[tuple[str, int]]:
    """Write many small logs, of which some have a value, and return where it is."""
    found = []
    for number in range(MANY):
        path = audit.logs / f"{number:05}.log"
        has_value = number % 1000 == 7
        path.write_text(f"x{VALUE}" if has_value else "nothing")
        found += [(str(path), 1)] if has_value else []
    return found


def kept_files(state: Path) -> set[str]:
    return {json.loads(line)[0][0] for part in state.glob("seen-*.jsonl") for line in part.read_text().splitlines()}


def test_an_audit_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    audit, state = AuditCommand(tmp_path), tmp_path / "state"
    planted, words = plant(audit), ("--master", "local[1]", "--state", str(state))

    running = audit.start(*words)
    assert eventually(lambda: running.poll() is not None or any(state.glob("seen-*.jsonl")))
    below = psutil.Process(running.pid).children(recursive=True)
    running.kill()
    assert ended(running)[0] == -9
    assert eventually(lambda: not any(map(psutil.Process.is_running, below)), every=0.5)
    kept = kept_files(state)
    code, rows, err = audit.run(*words)

    assert 0 < len(kept) < MANY
    assert (code, places(rows)) == (1, planted)
    assert re.search(rf"\(({MANY - len(kept):,}) read now\)", err), err
    assert not [path for path in state.iterdir() if path.name.startswith(".") and path.name != ".lock"]
