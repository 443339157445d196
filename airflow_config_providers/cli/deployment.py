"""The deployment that a command runs in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_config_providers import settings
from airflow_config_providers.cli.deployed_task import deployed_task
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.policy import AlterConfigPolicy, NamedPolicy
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.writing import Author
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError
from airflow_config_providers.operators.job_layers import deployed_layers
from airflow_config_providers.operators.job_policies import deployment_policies
from airflow_config_providers.spark.catalogue import spark_definition

Warn = Callable[[str], None]


def user() -> str:
    """Give who runs this command, as Airflow's own commands do: the user of the operating system."""
    from airflow.utils.platform import getuser  # noqa: PLC0415 - heavy

    return str(getuser())


def admin(warn: Warn, policies: Sequence[AlterConfigPolicy | NamedPolicy] = ()) -> ConfigAdmin:
    """
    Give what describes and alters, with this deployment's database and secret.

    :param policies: are asked about every change
    """
    who = user()
    return ConfigAdmin(
        VariableStore(who),
        spark_definition(),
        policies,
        layers=DeployedLayers(warn),
        seal=settings.seal(),
        author=Author(who),
    )


@contextmanager
def altering(warn: Warn) -> Iterator[ConfigAdmin]:
    """Give ``admin`` with the policies of the deployment; where these cannot be loaded it denies every change."""
    with deployment_policies() as policies:
        yield admin(warn, policies)


class DeployedLayers:
    """
    Gives the layers of a resource that are not dynamic, of DAGs as they are deployed, without running them.

    Each DAG is read once, and each warning told once. Not thread-safe.

    :param warn: is told what a reader should know
    """

    def __init__(self, warn: Warn) -> None:
        self._warn = warn
        self._known: dict[ConfigResource, Sequence[ConfigLayer]] = {}

    def __call__(self, resource: ConfigResource) -> Sequence[ConfigLayer]:
        """
        Give the layers.

        :raises ConfigException: there is no such DAG or task
        :raises ProviderUnavailableError: the database cannot be asked
        """
        if resource not in self._known:
            operator = _operator(resource, self._warn) if resource.dag_id else None
            self._known[resource] = deployed_layers(operator, os.environ, warn=self._warn)
        return self._known[resource]


def _operator(resource: ConfigResource, warn: Warn) -> Any | None:
    dag = _dag(resource.dag_id)
    if not resource.task_id:
        return None
    if resource.task_id not in dag.task_ids:
        raise ConfigException(_no_task(resource, dag.task_ids))
    return deployed_task(dag.get_task(resource.task_id), str(resource), warn)


def _no_task(resource: ConfigResource, known: Sequence[str]) -> str:
    what = f"DAG '{printable(resource.dag_id)}' has no task '{printable(resource.task_id)}'"
    if inside := [task for task in known if task.startswith(f"{resource.task_id}.")]:
        return f"{what}: that is a group. Name one of its tasks, such as '{printable(inside[0])}'."
    return f"{what}{nearest(resource.task_id, known) or '.'} Correct the name."


def _dag(dag_id: str) -> Any:
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415 - slow to import

    try:
        dag, known = _read(dag_id)
    except SQLAlchemyError as error:
        unavailable = ProviderUnavailableError(
            f"Airflow's database cannot be asked ({type(error).__name__}). Try again later."
        )
    except Exception as error:  # noqa: BLE001 - whatever reading a stored DAG of another version raises
        unavailable = ProviderUnavailableError(
            f"DAG '{printable(dag_id)}' cannot be read as Airflow has stored it ({type(error).__name__}). Have it "
            f"stored anew: airflow dags reserialize"
        )
    else:
        if dag is not None:
            return dag
        raise ConfigException(f"There is no DAG '{printable(dag_id)}'{nearest(dag_id, known) or '.'} Correct the name.")
    raise unavailable


def _read(dag_id: str) -> tuple[Any | None, Sequence[str]]:
    """Give the DAG as it is stored or, where there is none, the ids of those that there are."""
    from airflow.models.serialized_dag import SerializedDagModel  # noqa: PLC0415 - heavy
    from airflow.utils.session import create_session  # noqa: PLC0415 - heavy
    from sqlalchemy import select  # noqa: PLC0415 - slow to import

    with create_session() as session:
        dag = SerializedDagModel.get_dag(dag_id, session=session)
        return dag, () if dag is not None else session.scalars(select(SerializedDagModel.dag_id).distinct()).all()
