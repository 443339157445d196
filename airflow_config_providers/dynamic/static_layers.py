"""The layers of a resource that are not dynamic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airflow_config_providers.core.layers import ConfigLayer
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.dynamic.document import DEPLOYMENT
from airflow_config_providers.exceptions import UnknownResourceError

Layers = Callable[[ConfigResource], Sequence[ConfigLayer]]
"""
Returns the layers of a resource that are not dynamic.

:raises UnknownResourceError: the resource does not exist, or no longer exists
"""


@dataclass(frozen=True, slots=True)
class StaticLayers:
    """
    The layers below the dynamic layers of a resource.

    :param layers: the layers; those of the deployment if the resource does not exist
    :param unknown: the error if the resource does not exist
    """

    layers: Sequence[ConfigLayer] = ()
    unknown: UnknownResourceError | None = None


def static_layers(layers: Layers, resource: ConfigResource) -> StaticLayers:
    """Return the layers of ``resource`` that are not dynamic."""
    try:
        return StaticLayers(layers(resource))
    except UnknownResourceError as error:
        unknown = error
    return StaticLayers(layers(DEPLOYMENT), unknown)
