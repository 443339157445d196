"""Where a job runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from airflow_config_providers.spark.named_arguments import ENVIRONMENT_ON_KUBERNETES


def shows_environment(prefix: str, is_remote: Callable[[], bool]) -> bool:
    """
    Return whether other people can read the driver's environment: on YARN, always; on Kubernetes, in its pod.

    :param prefix: the prefix under which environment variables are keys of Spark
    :param is_remote: returns whether the driver runs on another machine; called only if that matters
    """
    return prefix != ENVIRONMENT_ON_KUBERNETES or is_remote()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Destination:
    """
    Where a job runs, as far as its connection says.

    :param prefixes: the prefixes under which environment variables are keys of Spark
    :param is_remote: returns whether its driver runs on another machine, given the settled configuration
    :param absent: returns the id of a connection that was not found, for which a stock hook assumes YARN; otherwise an
        empty string. Asking takes time
    """

    prefixes: Collection[str] = ()
    is_remote: Callable[[Mapping[str, str]], bool] = lambda _: False
    absent: Callable[[], str] = lambda: ""
