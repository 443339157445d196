"""What Spark gets of the values of a run."""

from __future__ import annotations

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.job.handover import Handover
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.testing import InMemoryConfigProvider

PASSWORD = "${vault:db:password}"

PATTERNS = ("spark.redaction.regex", "spark.sql.redaction.options.regex", "spark.sql.redaction.string.regex")


@pytest.mark.parametrize(
    ("source", "left"),
    [
        (ConfigSource.RUN_CONFIG, set()),
        (ConfigSource.DYNAMIC_TASK_CONFIG, set()),
        (ConfigSource.ENVIRONMENT_CONFIG, set(PATTERNS[1:])),
        (ConfigSource.DAG_CONFIG, set(PATTERNS[1:])),
        (ConfigSource.STATIC_FILE_CONFIG, set(PATTERNS[1:])),
    ],
)
def test_only_the_author_and_the_owner_replace_what_a_server_of_spark_connect_hides(source, left):
    layers = [
        ConfigLayer(source, source.name, dict.fromkeys(PATTERNS, "x")),
        ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": PASSWORD}),
    ]
    vault = InMemoryConfigProvider({"db": {"password": "c4nary/h4nded+over"}})
    run = JobRun(ConfigResolver({"vault": vault}, definition=spark_definition()).resolve(layers))
    handover = Handover(run)

    assert handover.session_configs(handover.delivery()).keys() == {"spark.app.password", *left}
    run.close()


class SecretIds:
    """A resolver that makes a secret ID for the driver whenever it is asked what the driver needs."""

    leaves_to_driver = True
    made = 0

    def carried(self):
        self.made += 1
        return {"spark.config.providers.vault.param.wrapped_secret_id": "w"}

    def withheld(self):
        return frozenset()

    def comes_too_late(self, text):
        return False


def test_a_check_of_what_can_be_delivered_makes_no_secret_id():
    resolver = SecretIds()
    layers = [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.x": "y"})]
    handover = Handover(JobRun(ConfigResolver({}).resolve(layers), resolver))
    handover.require_deliverable({}.get, None)

    assert resolver.made == 0
    delivery = handover.submission({}.get, handover.run.shown, None).delivery
    assert "spark.config.providers.vault.param.wrapped_secret_id" in delivery.configs
