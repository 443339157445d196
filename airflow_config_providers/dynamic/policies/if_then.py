"""Ready policies on keys that require other keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from airflow_config_providers.core.java_text import BLANKS, SIZES, TIMES, parse_integer, read_quantity
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.text import grouped, printable
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.spark_keys import (
    all_settings,
    canonical_name,
    newest_name,
    twice_named,
    unreadable,
)
from airflow_config_providers.exceptions import ConfigException, PolicyViolation, refuse

_Condition = Mapping[str, str | None]
"""Key -> the value that it must have in any spelling, or None if the key must be absent. All must be true."""

_Texts = Mapping[str, Sequence[str]]
"""Key -> its values; more than one if it appears under several names."""

_NO_LOST_SHUFFLE_FILES: Final[Mapping[str, Any]] = {
    "if": {"spark.dynamicAllocation.enabled": "true"},
    "then": [
        {"spark.dynamicAllocation.shuffleTracking.enabled": "true"},
        {"spark.shuffle.service.enabled": "true"},
        {"spark.decommission.enabled": "true", "spark.storage.decommission.shuffleBlocks.enabled": "true"},
    ],
}


class IfThen(AlterConfigPolicy):
    """
    Denies a configuration in which ``if`` is or could be true, and no choice of ``then`` is certainly true.

    A change of one resource is checked against the resource's own configuration. To check only what a task really
    gets, let the policy match ``at: render``.

    Parameters: ``if``, a mapping of key to value, which must all match; ``then``, such a mapping, or a list of which
    one must match. Comparison ignores case and surrounding spaces, and compares numbers and sizes by their meaning;
    ``null`` means that the key is absent. A value that a reference or Spark completes later cannot be compared.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``if`` and ``then``."""
        params = Params(configs)
        conditions = params.mappings("if")
        choices = params.mappings("then")
        if len(conditions) > 1:
            params.problems.append("'if' is a list. Write a single mapping.")
        params.finish()
        self._if, *self._then = (_condition(given) for given in [*conditions, *choices])

    def validate(self, request: RequestMetadata) -> None:
        """Refuse a configuration in which ``if`` applies and every choice of ``then`` is missing."""
        refuse(PolicyViolation, unreadable(request.configs_after).values())
        configs = grouped((canonical_name(key), text) for key, text in all_settings(request.configs_after))
        if _holds(self._if, configs) is False or any(_holds(choice, configs) for choice in self._then):
            return
        choices = " or ".join(_said(choice) for choice in self._then)
        conditions = [item for each in (self._if, *self._then) for item in each.items()]
        unknown = sorted({name for name, value in conditions if _is(name, value, configs) is None})
        raise PolicyViolation(
            f"With {_said(self._if)} there must be {choices}.",
            *(f"'{printable(name)}' cannot be compared. Write the value itself." for name in unknown),
        )


class DynamicAllocation(IfThen):
    """
    Denies dynamic allocation that would lose shuffle files together with executors.

    Dynamic allocation needs shuffle tracking, a shuffle service, or executors that migrate their blocks. Tracking is on
    by default since Spark 3.4; the policy requires it explicitly, so that it applies to every version. There are no
    parameters.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Refuse parameters."""
        Params(configs).finish()
        super().configure(_NO_LOST_SHUFFLE_FILES)


def _condition(given: Mapping[str, Any]) -> _Condition:
    if not all(isinstance(key, str) and isinstance(value, str | bool | int | None) for key, value in given.items()):
        raise ConfigException("The values in 'if' and 'then' must be strings, numbers, true, false or null.")
    refuse(ConfigException, twice_named(given))
    return {newest_name(key): None if value is None else _plain(str(value)) for key, value in given.items()}


def _holds(condition: _Condition, configs: _Texts) -> bool | None:
    """Return whether all of ``condition`` is true; None if that is unknown."""
    found = [_is(key, value, configs) for key, value in condition.items()]
    return False if False in found else None if None in found else True


def _is(key: str, wanted: str | None, configs: _Texts) -> bool | None:
    texts = configs.get(canonical_name(key), ())
    if not texts or wanted is None:
        return not texts and wanted is None
    found = {None if _is_completed_later(text) else _equal(_plain(text), wanted) for text in texts}
    return found.pop() if len(found) == 1 else None


def _is_completed_later(text: str) -> bool:
    """Return whether a part of ``text`` is hidden, or completed by our references, by Spark or by Hadoop."""
    return "${" in text or text == HIDDEN


def _equal(text: str, wanted: str) -> bool | None:
    """Return whether values are equal; None if only one of two numbers has a unit: the key decides the other unit."""
    one, other = parse_integer(text), parse_integer(wanted)
    if text == wanted or (one is not None and other is not None):
        return one == other
    if one is None and other is None:
        read = [(read_quantity(text, units), read_quantity(wanted, units)) for units in (SIZES, TIMES)]
        return any(mine is not None and mine == theirs for mine, theirs in read)
    number, with_unit = (other, text) if one is None else (one, wanted)
    found = re.fullmatch(r"(-?[0-9]{1,19})[a-z]{1,3}", with_unit)
    if found is None or not (number and int(found[1])):
        return found is not None and number == int(found[1])
    return None


def _plain(text: str) -> str:
    return text.strip(BLANKS).lower()


def _said(condition: _Condition) -> str:
    """Return the condition as the policy has it, without values of the configuration."""
    shown = (
        f"no {printable(key)}" if value is None else printable(f"{key}={value}") for key, value in condition.items()
    )
    return " and ".join(shown)
