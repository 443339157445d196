"""The policy that Airflow calls for every task. It applies ``[config_providers] apply_to`` to stock operators."""

from __future__ import annotations

from typing import Any, Final

import pluggy

from airflow_config_providers.job.families import ALL, require_known
from airflow_config_providers.job.operator_specs import OperatorSpec, spec_of

hookimpl: Final = pluggy.HookimplMarker("airflow.policy")
"""Like ``airflow.policies.hookimpl``. Importing that would make Airflow load this module before it is complete."""

OPT_OUT: Final = "config_providers:off"
"""The tag of a DAG that keeps its stock operators."""


@hookimpl
def task_policy(task: Any) -> None:
    """
    Add references, layers and reversal to a stock Spark operator, if the deployment wants that.

    For other tasks, this only looks at their class.

    :raises ConfigException: the setting names an unknown family; Airflow then shows an import error of the DAG
    """
    spec = spec_of(task.operator_class if task.is_mapped else type(task))
    if spec is not None and _is_wanted(task, spec):
        from airflow_config_providers.operators.configure import configure_task  # noqa: PLC0415 - few DAGs need it

        configure_task(task)


def _is_wanted(task: Any, spec: OperatorSpec) -> bool:
    from airflow_config_providers import settings  # noqa: PLC0415 - as above

    names = settings.apply_to()
    require_known(names)
    if spec.family not in names and ALL not in names:
        return False
    return OPT_OUT not in task.dag.tags or not settings.opt_out_enabled()
