"""If one thing is set, another one must be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

from airflow_config_providers.core.java_text import BLANKS, parse_integer
from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.core.quantity import SIZES, TIMES, read_quantity
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.policies.driver_options import all_settings, unreadable
from airflow_config_providers.dynamic.policies.key_names import canonical_name, current_name
from airflow_config_providers.dynamic.policies.params import Params
from airflow_config_providers.dynamic.policies.substitution import is_known
from airflow_config_providers.exceptions import ConfigException, PolicyViolation

_Condition = Mapping[str, str | None]
"""Key -> value it must have, however that is spelled; None: the key must be absent. All must hold."""

_Texts = Mapping[str, Set[str]]
"""Key -> its value; more than one where it stands under several names."""


class IfThen(AlterConfigPolicy):
    """
    Denies a configuration in which ``if`` holds or cannot be ruled out, and nothing of ``then`` surely holds.

    A change of one resource is judged by what the resource itself has. To judge what a task really gets, and that
    alone, have the policy match ``at: render``.

    Parameters: ``if``, a mapping of key to value, of which all must hold; ``then``, such a mapping, or a list of which
    one must hold. Values are compared without regard to case and to blanks around them, numbers and sizes by what
    they mean; ``null`` means that the key is absent. A value that is completed later, by a reference or by Spark,
    cannot be compared.
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
        configs = _by_name(request.configs_after)
        if problems := unreadable(request.configs_after):
            raise PolicyViolation(*problems.values())
        if _holds(self._if, configs) is False or any(_holds(choice, configs) for choice in self._then):
            return
        choices = " or ".join(_said(choice) for choice in self._then)
        unknown = sorted({name for each in (self._if, *self._then) for name in _incomparable(each, configs)})
        raise PolicyViolation(
            f"With {_said(self._if)} there must be {choices}.",
            *(f"'{printable(name)}' cannot be compared. Write its value out." for name in unknown),
        )


def _by_name(configs: Mapping[str, str]) -> _Texts:
    found: dict[str, set[str]] = {}
    for key, text in all_settings(configs):
        found.setdefault(canonical_name(key), set()).add(text)
    return found


def _condition(given: Mapping[str, Any]) -> _Condition:
    if not all(isinstance(key, str) and isinstance(value, str | bool | int | None) for key, value in given.items()):
        raise ConfigException("'if' and 'then' have texts, numbers, true, false or null as values. Correct them.")
    return {current_name(key): None if value is None else _plain(str(value)) for key, value in given.items()}


def _holds(condition: _Condition, configs: _Texts) -> bool | None:
    """Return whether all holds; None where that cannot be told."""
    found = [_is(key, value, configs) for key, value in condition.items()]
    return False if False in found else None if None in found else True


def _is(key: str, wanted: str | None, configs: _Texts) -> bool | None:
    texts = configs.get(canonical_name(key), set())
    if not texts or wanted is None:
        return not texts and wanted is None
    found = {_equal(_plain(text), wanted) if is_known(text) else None for text in texts}
    return found.pop() if len(found) == 1 else None


def _equal(text: str, wanted: str) -> bool | None:
    """Compare; None where only one of two numbers has a unit: then the key decides what the other means."""
    one, other = parse_integer(text), parse_integer(wanted)
    if text == wanted or (one is not None and other is not None):
        return text == wanted or one == other
    if one is None and other is None:
        return any(_equal_quantities(text, wanted, units) for units in (SIZES, TIMES))
    number, with_unit = (other, text) if one is None else (one, wanted)
    found = re.fullmatch(r"(-?[0-9]{1,19})[a-z]{1,3}", with_unit)
    if found is None or not (number and int(found[1])):
        return found is not None and number == int(found[1])
    return None


def _equal_quantities(text: str, wanted: str, units: Mapping[str, int]) -> bool:
    found = read_quantity(text, units)
    return found is not None and found == read_quantity(wanted, units)


def _incomparable(condition: _Condition, configs: _Texts) -> list[str]:
    return [key for key, value in condition.items() if _is(key, value, configs) is None]


def _plain(text: str) -> str:
    return text.strip(BLANKS).lower()


def _said(condition: _Condition) -> str:
    """Give the condition as the policy has it; what the configuration has is not told."""
    shown = (
        f"no {printable(key)}" if value is None else f"{printable(f'{key}={value}')}"
        for key, value in condition.items()
    )
    return " and ".join(shown)
