"""Libraries that only some logins need."""

from __future__ import annotations

import importlib
from typing import Any

from airflow_config_providers.exceptions import ProviderDefinitionError


def library(module: str, *, package: str, auth_type: str) -> Any:
    """
    Import ``module``.

    :param package: what to install for it
    :raises ProviderDefinitionError: it is not installed
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        pass
    raise ProviderDefinitionError(
        f"auth_type {auth_type} needs a library that is not installed. Install it: pip install {package}"
    )
