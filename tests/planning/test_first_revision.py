"""Which states are compared if only one revision is given."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

pytest.importorskip("airflow")

from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.planning.plan import Policies
from airflow_config_providers.planning.planner import PlanMaker, PlanRequest

ELSEWHERE = [{"name": "team_b", "classpath": "airflow.providers.git.bundles.git.GitDagBundle", "kwargs": {}}]


def test_stored_dags_of_other_bundles_are_not_compared_with_a_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST", json.dumps(ELSEWHERE))
    maker = PlanMaker(Policies((), ()), print, lambda count, name: nullcontext(lambda: None))

    with pytest.raises(ConfigException, match=r"those of team_b are not in .* Name the first revision with --from"):
        maker.plan(PlanRequest(after="HEAD"))
