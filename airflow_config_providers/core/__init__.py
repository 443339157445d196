"""
The engine: references, layers, resolution and its reversal. No Airflow, no Spark, no network.

- References and their values: ``variable``, ``transformer``, ``templates``.
- Providers: ``provider``, ``provider_definition``, ``registry``, ``entry_points``, ``on_demand``; asking
  them: ``lookup``, ``diagnosis``.
- Layers of precedence: ``layers``, ``environment``, ``keys`` with their ``older_names``; ``resolver`` combines them
  with the above into a ``resolved_config``, or says why not.
- What a configuration can be: ``definition``, ``invalid_value``. From values back to references: ``reversal``.
- Changes: ``resource``, ``alter``, ``policy``, ``reconfigurable``; of values: ``subscriptions``, ``polled_provider``,
  ``reload``.
- Threads and processes: ``concurrency``, ``process_environment``, ``closed_on_exit``, ``closing``, ``ending``.
- Strings, lists and formats: ``text``, ``nested``, ``properties``, ``document``, ``java_text``, ``yaml_properties``,
  ``named_file``, ``storage_url``.
- What must not be shown: ``sensitive``, ``errors``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.core.alter import AlterConfigOp as AlterConfigOp
    from airflow_config_providers.core.alter import OpType as OpType
    from airflow_config_providers.core.definition.abstract_config import AbstractConfig as AbstractConfig
    from airflow_config_providers.core.definition.config_def import NO_DEFAULT_VALUE as NO_DEFAULT_VALUE
    from airflow_config_providers.core.definition.config_def import ConfigDef as ConfigDef
    from airflow_config_providers.core.definition.config_def import ConfigKey as ConfigKey
    from airflow_config_providers.core.definition.config_def import ConfigValue as ConfigValue
    from airflow_config_providers.core.definition.config_def import Importance as Importance
    from airflow_config_providers.core.definition.config_type import ConfigType as ConfigType
    from airflow_config_providers.core.definition.validators import (
        CaseInsensitiveValidString as CaseInsensitiveValidString,
    )
    from airflow_config_providers.core.definition.validators import CompositeValidator as CompositeValidator
    from airflow_config_providers.core.definition.validators import LambdaValidator as LambdaValidator
    from airflow_config_providers.core.definition.validators import ListSize as ListSize
    from airflow_config_providers.core.definition.validators import NonEmptyString as NonEmptyString
    from airflow_config_providers.core.definition.validators import (
        NonEmptyStringWithoutControlChars as NonEmptyStringWithoutControlChars,
    )
    from airflow_config_providers.core.definition.validators import NonNullValidator as NonNullValidator
    from airflow_config_providers.core.definition.validators import Range as Range
    from airflow_config_providers.core.definition.validators import Validator as Validator
    from airflow_config_providers.core.definition.validators import ValidList as ValidList
    from airflow_config_providers.core.definition.validators import ValidString as ValidString
    from airflow_config_providers.core.environment import EnvironmentOverrides as EnvironmentOverrides
    from airflow_config_providers.core.layers import ConfigEntry as ConfigEntry
    from airflow_config_providers.core.layers import ConfigLayer as ConfigLayer
    from airflow_config_providers.core.layers import ConfigSource as ConfigSource
    from airflow_config_providers.core.layers import ConfigSynonym as ConfigSynonym
    from airflow_config_providers.core.layers import LayeredConfig as LayeredConfig
    from airflow_config_providers.core.policy import AlterConfigPolicy as AlterConfigPolicy
    from airflow_config_providers.core.policy import Enforcement as Enforcement
    from airflow_config_providers.core.policy import Judged as Judged
    from airflow_config_providers.core.policy import Moment as Moment
    from airflow_config_providers.core.policy import NamedPolicy as NamedPolicy
    from airflow_config_providers.core.policy import PolicyViolation as PolicyViolation
    from airflow_config_providers.core.policy import RequestMetadata as RequestMetadata
    from airflow_config_providers.core.policy import judged as judged
    from airflow_config_providers.core.polled_provider import PolledConfigProvider as PolledConfigProvider
    from airflow_config_providers.core.provider import BatchConfigProvider as BatchConfigProvider
    from airflow_config_providers.core.provider import ConfigChangeCallback as ConfigChangeCallback
    from airflow_config_providers.core.provider import ConfigData as ConfigData
    from airflow_config_providers.core.provider import ConfigProvider as ConfigProvider
    from airflow_config_providers.core.provider import SecretIdProvider as SecretIdProvider
    from airflow_config_providers.core.reconfigurable import Reconfigurable as Reconfigurable
    from airflow_config_providers.core.reconfigurable import Reconfigurables as Reconfigurables
    from airflow_config_providers.core.registry import ConfiguredProviders as ConfiguredProviders
    from airflow_config_providers.core.registry import ProviderRegistry as ProviderRegistry
    from airflow_config_providers.core.reload import ReloadAction as ReloadAction
    from airflow_config_providers.core.reload import ReloadScheduler as ReloadScheduler
    from airflow_config_providers.core.resolved_config import ResolvedConfig as ResolvedConfig
    from airflow_config_providers.core.resolver import ConfigResolver as ConfigResolver
    from airflow_config_providers.core.resolver import Unresolved as Unresolved
    from airflow_config_providers.core.resource import ConfigResource as ConfigResource
    from airflow_config_providers.core.resource import ResourceType as ResourceType
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer as ReverseTransformer
    from airflow_config_providers.core.sensitive import Password as Password
    from airflow_config_providers.core.transformer import ConfigTransformer as ConfigTransformer
    from airflow_config_providers.core.transformer import ConfigTransformerResult as ConfigTransformerResult
    from airflow_config_providers.core.transformer import Limits as Limits
    from airflow_config_providers.core.variable import ConfigVariable as ConfigVariable

__getattr__, __dir__, __all__ = lazy.names(
    __name__,
    {
        "alter": "AlterConfigOp OpType",
        "definition.abstract_config": "AbstractConfig",
        "definition.config_def": "NO_DEFAULT_VALUE ConfigDef ConfigKey ConfigValue Importance",
        "definition.config_type": "ConfigType",
        "definition.validators": (
            "CaseInsensitiveValidString CompositeValidator LambdaValidator ListSize NonEmptyString "
            "NonEmptyStringWithoutControlChars NonNullValidator Range ValidList ValidString Validator"
        ),
        "environment": "EnvironmentOverrides",
        "layers": "ConfigEntry ConfigLayer ConfigSource ConfigSynonym LayeredConfig",
        "policy": "AlterConfigPolicy Enforcement Judged Moment NamedPolicy PolicyViolation RequestMetadata judged",
        "polled_provider": "PolledConfigProvider",
        "provider": "BatchConfigProvider ConfigChangeCallback ConfigData ConfigProvider SecretIdProvider",
        "reconfigurable": "Reconfigurable Reconfigurables",
        "reload": "ReloadAction ReloadScheduler",
        "registry": "ConfiguredProviders ProviderRegistry",
        "resolved_config": "ResolvedConfig",
        "resolver": "ConfigResolver Unresolved",
        "resource": "ConfigResource ResourceType",
        "reversal.reverse": "ReverseTransformer",
        "sensitive": "Password",
        "transformer": "ConfigTransformer ConfigTransformerResult Limits",
        "variable": "ConfigVariable",
    },
)
