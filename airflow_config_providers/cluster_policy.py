"""What Airflow asks for every task of every DAG: ``[config_providers] apply_to`` makes stock operators ours."""

from __future__ import annotations

from typing import Any, Final

import pluggy

from airflow_config_providers.operators.supported import FAMILIES, OperatorSpec, spec_of

hookimpl: Final = pluggy.HookimplMarker("airflow.policy")
"""As ``airflow.policies`` has it; importing that would have Airflow load this module before it is complete."""

OPT_OUT: Final = "config_providers:off"
"""The tag of a DAG that keeps its stock operators."""

ALL: Final = "spark"
"""Every family, in ``apply_to``."""


@hookimpl
def task_policy(task: Any) -> None:
    """
    Give a stock Spark operator references, layers and reversal, if the deployment says so.

    Only tasks of operators that this package knows cost more than a look at their class.

    :raises ConfigException: the setting names no family; this makes an import error of a DAG with such an operator
    """
    spec = spec_of(task.operator_class if task.is_mapped else type(task))
    if spec is not None and _is_wanted(task, spec):
        from airflow_config_providers.operators.configure import configure_task  # noqa: PLC0415 - few DAGs need it

        configure_task(task)


def _is_wanted(task: Any, spec: OperatorSpec) -> bool:
    from airflow_config_providers import settings  # noqa: PLC0415 - as above

    names = settings.apply_to()
    _require_known(names)
    if spec.family not in names and ALL not in names:
        return False
    return OPT_OUT not in task.dag.tags or not settings.opt_out_enabled()


def _require_known(names: list[str]) -> None:
    from airflow_config_providers.core.text import nearest, printable  # noqa: PLC0415 - as above
    from airflow_config_providers.exceptions import ConfigException  # noqa: PLC0415 - as above

    known = (ALL, *FAMILIES)
    problems = [
        f"[config_providers] apply_to: '{printable(name)}' is none of {', '.join(known)}{nearest(name, known) or '.'} "
        f"Correct it in airflow.cfg."
        for name in names
        if name not in known
    ]
    if problems:
        raise ConfigException(*problems)
