"""The definitions of providers for a driver: where to ask and how to sign in, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from airflow_config_providers.core.keys import CONFIG_PROVIDERS
from airflow_config_providers.core.provider_definition import ProviderDefinition, read_definitions
from airflow_config_providers.core.sensitive import reveals
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ProviderDefinitionError, refuse

PREFIX: Final = "spark."
"""The prefix of each key of KIP-297, since Spark passes on no others."""

FILE_KEY: Final = "spark.config.providers_file"
"""The key for the path of a properties file on the cluster that replaces the other keys."""

WRAPPING_ROLE: Final = "wrapping.role"
WRAPPING_TTL: Final = "wrapping.ttl"
WRAPPING_LOGIN_TTL: Final = "wrapping.login_ttl"
"""The parameters with which the worker makes a wrapped secret ID for a driver, which does not get them."""

WRAPPED: Final = "wrapped_secret_id"
"""The one secret that these definitions may hold, since it can be unwrapped only once and for a short time."""

OF_DEPLOYMENT: Final = "the providers of a driver belong to the deployment. Remove the key."
"""The reason to refuse a key that defines providers for a driver."""

_OPTION: Final = f"-D{PREFIX}{CONFIG_PROVIDERS}"
"""How an option of the driver's JVM begins that sets such a key: Spark takes its own keys from system properties."""

_NAMED_BY_OTHERS: Final = r"(?:^|\s)(?:\$\{[^\s}]*\}|\$\([^\s)]*\))*-D[^\s=]*\$[({]"
"""
An option whose name Spark, or Kubernetes, puts together from other values.

It begins a word, perhaps after other substitutions, which can be empty. A ``-D`` inside a word is no option.
"""

_OF_EXECUTORS: Final = "spark.executor"
"""How the keys begin that set options and variables of executors, which have no providers."""

_QUOTING: Final = str.maketrans("", "", "\\\"'")

_OF_AIRFLOW: Final = frozenset({"airflow_connection", "airflow_variable", "secrets_backend"})
_HOLDERS: Final = re.compile(r"(?:_dict|_kwargs)$")
_PLACES: Final = re.compile(r"(?:_path|\.paths?|\.pattern)$")


def is_driver_definition(key: str) -> bool:
    """Return whether ``key`` of Spark's configuration defines providers for a driver."""
    own = key.removeprefix(PREFIX)
    return key == FILE_KEY or (own != key and (own == CONFIG_PROVIDERS or own.startswith(f"{CONFIG_PROVIDERS}.")))


def refusal(key: str, text: str) -> str:
    """Return why only the deployment may write ``text`` under ``key``; an empty string if others may."""
    return OF_DEPLOYMENT if is_driver_definition(key) else refusal_of_options(key, text)


def refusal_of_options(key: str, text: str) -> str:
    """
    Return why only the deployment may write ``text`` under ``key`` because of options in it; empty if others may.

    Options reach the driver's JVM under several keys, some of which name environment variables, and by substitution.
    """
    options = text.translate(_QUOTING) if "-" in text and "D" in text else ""
    if "-D" not in options:
        return ""
    if _OPTION in options:
        return f"{_OPTION} defines providers of the driver, which belong to the deployment. Remove the option."
    if not key.startswith(_OF_EXECUTORS) and re.search(_NAMED_BY_OTHERS, options):
        return (
            "the name of a -D option has a '$', so that it could define providers of the driver, which belong to the "
            "deployment. Write the name out."
        )
    return ""


def to_spark_keys(definitions: Mapping[str, str]) -> dict[str, str]:
    """Return ``config.providers`` and the keys below it as keys of Spark's configuration."""
    return {PREFIX + key: value for key, value in definitions.items()}


def from_spark_keys(configs: Mapping[str, str]) -> dict[str, str]:
    """Return ``config.providers`` and the keys below it from Spark's configuration."""
    return {
        key.removeprefix(PREFIX): value
        for key, value in configs.items()
        if is_driver_definition(key) and key != FILE_KEY
    }


def without_wrapping(definitions: Mapping[str, str]) -> dict[str, str]:
    """Return the definitions without the parameters that only the worker reads."""
    ours = {
        f"{CONFIG_PROVIDERS}.{definition.name}.param.{name}"
        for definition in read_definitions(definitions)[0]
        for name in (WRAPPING_ROLE, WRAPPING_TTL, WRAPPING_LOGIN_TTL)
    }
    return {key: text for key, text in definitions.items() if key not in ours}


def names(definitions: Mapping[str, str]) -> set[str]:
    """Return the names of the defined providers."""
    return {definition.name for definition in read_definitions(definitions)[0]}


def require_without_secrets(definitions: Mapping[str, str]) -> None:
    """
    Make sure that ``definitions`` contain no secret, and that a driver can use them.

    :raises ProviderDefinitionError: a definition contains a secret, or needs Airflow
    """
    found, problems = read_definitions(definitions)
    problems += [problem for definition in found for problem in _problems(definition)]
    refuse(ProviderDefinitionError, problems)


def _problems(definition: ProviderDefinition) -> Iterator[str]:
    if definition.class_name in _OF_AIRFLOW or definition.params.get("conn_id"):
        yield (
            f"{definition.key('class')}: a driver has no Airflow in which to look up connections and variables. "
            f"Define the provider without Airflow, or resolve on the worker."
        )
    for name in _secrets(definition.params.items()):
        yield (
            f"{definition.key('param.' + name)} would be a secret that every user of the cluster can read. Let the "
            f"driver sign in with its identity (auth_type kubernetes or jwt), with a mounted file (such as "
            f"token_path), or with a wrapped secret ID."
        )


def _secrets(params: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for name, value in params:
        is_place = name == WRAPPED or _PLACES.search(name)
        is_secret = not is_place and (_HOLDERS.search(name) or reveals(name, ""))
        if is_secret or reveals("", str(value)):
            yield printable(name)
