"""The deployment in which the attempts are made: real task runs, and a real API server with users."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.dynamic import ConfigAdmin
from airflow_config_providers.exceptions import ConfigProvidersError
from airflow_config_providers.job.policies import deployment_policies
from airflow_config_providers.operators.spark_submit import ConfiguredSparkSubmitOperator
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.testing import InMemoryConfigStore
from tests.operators.conftest import Submissions
from tests.plugins.serving import Server
from tests.trust.attempt import Outcome

OPEN = "0pen-canary-of-the-job"
SECRET = "s3cret-canary-of-others"
TASK = ConfigResource.of_task("flights", "job")


@dataclass(frozen=True, slots=True)
class World:
    """
    A deployment with two secrets: one that the DAG refers to, and one that it does not.

    :param home: a folder
    :param secrets: the folder that the provider ``dir`` may read
    """

    home: Path
    secrets: Path
    dag: Any
    run_task: Callable[..., Any]
    submissions: Submissions
    store: InMemoryConfigStore
    patch: pytest.MonkeyPatch
    serve: Callable[[], Server]
    ended: list[Any] = field(default_factory=list)

    def setting(self, name: str, value: str) -> None:
        """Set an option of the deployment."""
        self.patch.setenv(f"AIRFLOW__CONFIG_PROVIDERS__{name.upper()}", value)

    def policies(self, *lines: str) -> None:
        """Set the policies of the deployment, each a line of YAML."""
        file = self.home / "policies.yaml"
        file.write_text("policies:\n" + "".join(f"- {line}\n" for line in lines))
        self.setting("policies_file", str(file))

    def file(self, name: str, *lines: str) -> str:
        """Write a properties file, and return its path."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
        return str(path)

    def reference(self, key: str) -> str:
        """Return a reference to a secret."""
        return f"${{dir:{self.secrets}:{key}}}"

    @property
    def open(self) -> str:
        """Return the reference that the DAG's author writes."""
        return self.reference("open")

    @property
    def secret(self) -> str:
        """Return the reference that others want in."""
        return self.reference("secret")

    def submit(
        self, conf: Mapping[str, str] | str | None = None, *, run: Mapping[str, Any] | None = None, **more: Any
    ) -> Outcome:
        """
        Run a task to its end.

        :param conf: a mapping, or a template for all of it

        :param run: ``dag_run.conf``
        :param more: arguments of the operator
        """
        self.dag.render_template_as_native_obj = isinstance(conf, str)
        given: Any = conf if isinstance(conf, str) else dict(conf or {})
        operator = ConfiguredSparkSubmitOperator(
            task_id="job", application=more.pop("application", "job.py"), conf=given, dag=self.dag, **more
        )
        ended = self.run_task(operator, conf=dict(run or {}))
        self.ended.append(ended)
        if isinstance(ended.error, ConfigProvidersError):
            return Outcome.REFUSED
        if ended.error is not None:
            raise ended.error
        return Outcome.JOB_HAS_IT if SECRET in repr(self.submissions()) else Outcome.LEFT_OUT

    def sent(self) -> list[object]:
        """Return what the last task sent to Airflow, except secrets for the masker."""
        return [sent for sent in self.ended[-1].supervisor.messages if type(sent).__name__ != "MaskSecret"]

    def effect(self, key: str, value: str, outcome: Outcome) -> Outcome:
        """Return ``outcome``, unless the task was run and Spark got ``value`` under ``key``."""
        if outcome is Outcome.REFUSED:
            return outcome
        return Outcome.TAKES_EFFECT if self.submissions.spark_conf.get(key) == value else Outcome.LEFT_OUT

    def alter(self, *operations: AlterConfigOp) -> Outcome:
        """Change the dynamic configuration of the task, and return whether that was refused."""
        try:
            with deployment_policies() as policies:
                ConfigAdmin(self.store, spark_definition(), policies).incremental_alter_configs({TASK: operations})
        except ConfigProvidersError:
            return Outcome.REFUSED
        return Outcome.TAKES_EFFECT

    def steer(self, key: str, value: str) -> Outcome:
        """Set ``key`` in the dynamic configuration and run the task."""
        if self.alter(AlterConfigOp(key, value)) is Outcome.REFUSED:
            return Outcome.REFUSED
        return self.effect(key, value, self.submit())

    def asked(self, user: str, method: str, path: str, **more: Any) -> Outcome:
        """Ask the API server for something that changes, and return what came of it."""
        answer = self.serve().ask(user, method, path, **more)
        return Outcome.TAKES_EFFECT if answer.status_code == 200 else Outcome.REFUSED

    def provider(self, **definition: str) -> None:
        """Make the connection define one provider, ``own``."""
        extra = {"config.providers": "own", **{f"config.providers.own.{k}": v for k, v in definition.items()}}
        self.patch.setenv(
            "AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps({"conn_type": "config_providers", "extra": extra})
        )

    def show(self, user: str, paths: Sequence[str], *, secret: str) -> Outcome:
        """Ask the API server, and return whether ``secret`` is in what it answers."""
        answers = [self.serve().ask(user, "GET", path) for path in paths]
        if any(answer.status_code != 200 for answer in answers):
            return Outcome.REFUSED
        return Outcome.JOB_HAS_IT if secret in "".join(answer.text for answer in answers) else Outcome.REFERENCES
