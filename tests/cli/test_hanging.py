"""Commands that describe answer while a provider or a secrets backend hangs, because they ask neither."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Deployment
from tests.cli.unanswering import ASKED

REPORT = "--dag flights --task report"

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PROVIDERS = {
    "config.providers": "vault",
    "config.providers.vault.class": "tests.cli.unanswering.HangingProvider",
}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(f"describe {REPORT}", id="task"),
        pytest.param(f"describe {REPORT} --synonyms", id="synonyms"),
        pytest.param(f"describe {REPORT} --why-not spark.executor.memory=3g", id="why-not"),
        pytest.param(f"describe {REPORT} --why-not spark.app.db.password", id="why-not-a-reference"),
        pytest.param(f"history {REPORT}", id="history"),
    ],
)
def test_a_description_asks_no_provider(deployment: Deployment, tmp_path: Path, words: str):
    asked = tmp_path / "asked"
    done = deployment.airflow(
        "config-providers",
        *words.split(),
        PYTHONPATH=str(Path(__file__).parents[2]),
        AIRFLOW__SECRETS__BACKEND="tests.cli.unanswering.HangingBackend",
        AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT=json.dumps({"conn_type": "config_providers", "extra": PROVIDERS}),
        AIRFLOW__CONFIG_PROVIDERS__ALLOWED_PROVIDER_CLASSES="tests.cli.unanswering.HangingProvider",
        **{ASKED: str(asked)},
    )

    assert done.code == 0, done.err
    assert not asked.exists()


def test_a_check_that_may_have_to_wait_says_so(cli: Cli):
    done = cli(f"describe {REPORT} --why-not", "spark.app.x=${vault:apps/db:password}")

    assert any("as long as a secrets backend needs" in note for note in done.notes)


def test_a_check_that_asks_nobody_says_nothing(cli: Cli):
    assert cli(f"describe {REPORT} --why-not spark.executor.memory=5g").notes == []
