"""The machine: references, layers, resolution and its way back. No Airflow, no Spark, no network."""

from __future__ import annotations

from airflow_config_providers.core.abstract_config import AbstractConfig
from airflow_config_providers.core.data import ConfigData, Password
from airflow_config_providers.core.definition import (
    NO_DEFAULT_VALUE,
    CaseInsensitiveValidString,
    CompositeValidator,
    ConfigDef,
    ConfigKey,
    ConfigType,
    ConfigValue,
    Importance,
    ListSize,
    NonEmptyString,
    NonEmptyStringWithoutControlChars,
    NonNullValidator,
    Range,
    ValidList,
    ValidString,
)
from airflow_config_providers.core.environment import EnvironmentOverrides
from airflow_config_providers.core.layers import ConfigEntry, ConfigLayer, ConfigSource, ConfigSynonym, LayeredConfig
from airflow_config_providers.core.limits import Limits
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.registry import ConfiguredProviders, ProviderRegistry
from airflow_config_providers.core.resolver import ConfigResolver, ResolvedConfig, Unresolved
from airflow_config_providers.core.reverse import ReverseTransformer
from airflow_config_providers.core.transformer import ConfigTransformer, ConfigTransformerResult
from airflow_config_providers.core.variable import ConfigVariable

__all__ = [
    "NO_DEFAULT_VALUE",
    "AbstractConfig",
    "CaseInsensitiveValidString",
    "CompositeValidator",
    "ConfigData",
    "ConfigDef",
    "ConfigEntry",
    "ConfigKey",
    "ConfigLayer",
    "ConfigProvider",
    "ConfigResolver",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigTransformer",
    "ConfigTransformerResult",
    "ConfigType",
    "ConfigValue",
    "ConfigVariable",
    "ConfiguredProviders",
    "EnvironmentOverrides",
    "Importance",
    "LayeredConfig",
    "Limits",
    "ListSize",
    "NonEmptyString",
    "NonEmptyStringWithoutControlChars",
    "NonNullValidator",
    "Password",
    "ProviderRegistry",
    "Range",
    "ResolvedConfig",
    "ReverseTransformer",
    "Unresolved",
    "ValidList",
    "ValidString",
]
