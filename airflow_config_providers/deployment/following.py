"""Followers of the deployment's dynamic configuration, in any process of Airflow (KIP-226)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_config_providers import settings
from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.reconfigurable import Reconfigurables
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.deployment.admin import DeployedLayers
from airflow_config_providers.dynamic.admin import ConfigAdmin, no_layers, no_notes
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.followers import ConfigFollower
from airflow_config_providers.dynamic.store import ReadOnlyStore
from airflow_config_providers.foreign import has_supervisor
from airflow_config_providers.job.providers import JobProviders
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.spark.catalogue import spark_definition


def follow(followers: Mapping[ConfigResource, Reconfigurables]) -> ConfigFollower:
    """
    Reconfigure ``followers`` with the configuration of the deployment, now and after each change, until this is closed.

    In a task it is read over the Execution API, and consists of dynamic configuration alone: the layers beneath are
    those of the DAG, which the task has. Other processes need access to Airflow's database.

    :raises ConfigException: a setting or a resource is invalid, or a follower has keys that are read-only
    """
    in_task = has_supervisor()
    store = ReadOnlyStore(airflow_secrets.variable) if in_task else VariableStore()
    layers = no_layers if in_task else _deployed_layers
    admin = ConfigAdmin(store, spark_definition(), layers=layers, followers=followers)
    return admin.follow(interval=settings.follow_interval(), fetch=fetched)


def fetched(texts: Mapping[str, str]) -> dict[str, str]:
    """
    Return the values of ``texts``, with references that the deployment's providers answer replaced.

    :raises ConfigProvidersError: a provider cannot answer now, or is not defined correctly
    """
    with JobProviders(settings.config_conn_id()) as providers:
        data = ConfigTransformer(providers.needed_by(texts.values())).transform(texts).data
    return {key: value for key, value in data.items() if value is not None}


def _deployed_layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
    """Return the layers of ``resource`` as it is deployed now; ``DeployedLayers`` reads a DAG only once."""
    return DeployedLayers(no_notes)(resource)
