"""If one thing is set, another one must be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_config_providers.core.java_text import BLANKS
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.older_names import current_name
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.exceptions import ConfigException, PolicyViolation

_Condition = Mapping[str, str | None]
"""Key -> value it must have, in any case and with any blanks around it; None: the key must be absent. All must hold."""


class IfThen(AlterConfigPolicy):
    """
    Denies a configuration in which ``if`` holds and nothing of ``then`` does.

    A change of one resource is judged by what the resource itself has. To judge what a task really gets, and that
    alone, have the policy match ``at: render``.

    Parameters: ``if``, a mapping of key to value, of which all must hold; ``then``, such a mapping, or a list of which
    one must hold. Values are compared without regard to case and to blanks around them; ``null`` means that the key
    is absent.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take ``if`` and ``then``."""
        params = Params(configs)
        conditions = params.mappings("if")
        choices = params.mappings("then")
        if len(conditions) > 1:
            params.problems.append("'if' is a list. Write one mapping.")
        params.finish()
        self._if, *self._then = (_condition(given) for given in [*conditions, *choices])

    def validate(self, request: RequestMetadata) -> None:
        """Refuse what lacks every choice of ``then``."""
        configs = {current_name(key): text for key, text in request.configs_after.items()}
        if _holds(self._if, configs) and not any(_holds(choice, configs) for choice in self._then):
            choices = " or ".join(_said(choice) for choice in self._then)
            raise PolicyViolation(f"With {_said(self._if)} there must be {choices}.")


def _condition(given: Mapping[str, Any]) -> _Condition:
    if not all(isinstance(key, str) and isinstance(value, str | bool | int | None) for key, value in given.items()):
        raise ConfigException("'if' and 'then' have texts, numbers, true, false or null as values. Correct them.")
    return {current_name(key): None if value is None else _plain(str(value)) for key, value in given.items()}


def _holds(condition: _Condition, configs: Mapping[str, str]) -> bool:
    return all(
        key not in configs if value is None else key in configs and _plain(configs[key]) == value
        for key, value in condition.items()
    )


def _plain(text: str) -> str:
    return text.strip(BLANKS).lower()


def _said(condition: _Condition) -> str:
    """Give the condition as the policy has it; what the configuration has is not told."""
    shown = (
        f"no {printable(key)}" if value is None else f"{printable(f'{key}={value}')}"
        for key, value in condition.items()
    )
    return " and ".join(shown)
