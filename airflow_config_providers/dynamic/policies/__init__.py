"""Policies, which are rules for configuration: a file of them, CEL expressions, and ready ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow_config_providers import lazy

if TYPE_CHECKING:
    from airflow_config_providers.dynamic.policies.bounds import Bounds as Bounds
    from airflow_config_providers.dynamic.policies.cel import CelExpression as CelExpression
    from airflow_config_providers.dynamic.policies.cel import CelPolicy as CelPolicy
    from airflow_config_providers.dynamic.policies.classes import PolicyClasses as PolicyClasses
    from airflow_config_providers.dynamic.policies.code_loading_keys import CODE_LOADING_KEYS as CODE_LOADING_KEYS
    from airflow_config_providers.dynamic.policies.code_loading_keys import CodeLoadingKeys as CodeLoadingKeys
    from airflow_config_providers.dynamic.policies.if_then import DynamicAllocation as DynamicAllocation
    from airflow_config_providers.dynamic.policies.if_then import IfThen as IfThen
    from airflow_config_providers.dynamic.policies.key_policies import AllowedReferences as AllowedReferences
    from airflow_config_providers.dynamic.policies.key_policies import ForbiddenKeys as ForbiddenKeys
    from airflow_config_providers.dynamic.policies.key_policies import ImmutableKeys as ImmutableKeys
    from airflow_config_providers.dynamic.policies.key_policies import ReferencesOnly as ReferencesOnly
    from airflow_config_providers.dynamic.policies.key_policies import RequiredKeys as RequiredKeys
    from airflow_config_providers.dynamic.policies.policy_set import PolicySet as PolicySet

__getattr__, __dir__, __all__ = lazy.names(
    __name__,
    {
        "bounds": "Bounds",
        "cel": "CelExpression CelPolicy",
        "classes": "PolicyClasses",
        "code_loading_keys": "CODE_LOADING_KEYS CodeLoadingKeys",
        "if_then": "DynamicAllocation IfThen",
        "key_policies": "AllowedReferences ForbiddenKeys ImmutableKeys ReferencesOnly RequiredKeys",
        "policy_set": "PolicySet",
    },
)
