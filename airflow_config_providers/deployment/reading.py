"""What a deployment reads: which layers and keys reach a job, and why the others do not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.core.environment import EnvironmentOverrides
from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.dynamic.inheritance import SOURCES
from airflow_config_providers.exceptions import ConfigProvidersError, ForbiddenError, ProviderUnavailableError
from airflow_config_providers.spark.key_check import UnknownKeys

DYNAMIC: Final = tuple(source.name for source in SOURCES.values())
"""The sources of dynamic configuration."""


def nothing_refused(key: str, value: str) -> Sequence[str]:
    """Return no reasons to refuse a change."""
    return ()


@dataclass(frozen=True, slots=True)
class Reading:
    """
    What jobs get of what people write. Without arguments, nothing is known to be left out.

    :param unread: source -> why jobs do not get its layers
    :param files: the paths of the files that are layers, as they are written
    :param environ: the environment of the jobs, of which only names are shown
    :param unknown_keys: what the deployment does with keys that Spark does not know
    :param takes_any_key: whether the job also gets keys that do not begin with ``spark.``
    :param refusals: returns why dynamic configuration cannot set a key to a value
    """

    unread: Mapping[str, str] = field(default_factory=dict)
    files: Collection[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    unknown_keys: UnknownKeys = UnknownKeys.WARN
    takes_any_key: bool = False
    refusals: Callable[[str, str], Sequence[str]] = nothing_refused

    def variable(self, key: str) -> str | None:
        """Return the name of the environment variable that is meant to override ``key``; None if there is none."""
        return EnvironmentOverrides(self.environ).origin(key)


def unread_sources(no_job: str = "") -> dict[str, str]:
    """
    Return source -> why jobs do not get its layers.

    :param no_job: why there is no job that gets any layer; empty if there are jobs
    """
    if no_job:
        return dict.fromkeys((source.name for source in ConfigSource), no_job)
    return dict(_left_out_by_settings())


def _left_out_by_settings() -> Iterator[tuple[str, str]]:
    if not settings.dynamic_enabled():
        reason = "[config_providers] dynamic_enabled is False here. Tasks with this setting ignore it."
        yield from dict.fromkeys(DYNAMIC, reason).items()
    if not settings.environment_enabled():
        reason = "This deployment does not read environment variables ([config_providers] environment_enabled)."
        yield ConfigSource.ENVIRONMENT_CONFIG.name, reason
    if not settings.run_config_enabled():
        reason = "This deployment does not read run configuration ([config_providers] run_config_enabled)."
        yield ConfigSource.RUN_CONFIG.name, reason


def refusals(alter: Callable[..., Any], resource: ConfigResource, key: str, value: str) -> Sequence[str]:
    """
    Return why dynamic configuration of ``resource`` cannot set ``key`` to ``value``; nothing if it can.

    Nothing is known for a user who lacks the permission to change it.

    :param alter: changes the configuration, or only checks the change
    :raises ProviderUnavailableError: the server or the database is unavailable now
    """
    try:
        alter(resource, [AlterConfigOp(key, value)], validate_only=True)
    except ProviderUnavailableError:
        raise
    except ForbiddenError:
        return ()
    except ConfigProvidersError as error:
        return error.problems
    return ()
