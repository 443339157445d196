"""The families of stock operators, as ``[config_providers] apply_to`` names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from airflow_config_providers.job.operator_specs import FAMILIES

ALL: Final = "spark"
"""The word for all families in ``apply_to``."""


def require_known(names: Sequence[str]) -> None:
    """
    Require that ``names`` are families.

    :raises ConfigException: one is not; names each
    """
    from airflow_config_providers.core.text import not_one_of  # noqa: PLC0415 - few DAGs need it
    from airflow_config_providers.exceptions import ConfigException  # noqa: PLC0415 - as above

    known = (ALL, *FAMILIES)
    problems = [
        f"[config_providers] apply_to: {not_one_of(name, known)} Correct it in airflow.cfg."
        for name in names
        if name not in known
    ]
    if problems:
        raise ConfigException(*problems)
