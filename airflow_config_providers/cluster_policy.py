"""The policy that Airflow calls for every task. It applies ``[config_providers] apply_to`` to stock operators."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final
from weakref import ref

import pluggy

from airflow_config_providers.job.operator_specs import ALL, FAMILIES, class_of, require_known, spec_of

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
    spec = spec_of(class_of(task))
    if spec is not None and spec.family in _LATEST.families(task.get_dag()):
        from airflow_config_providers.operators.configure import configure_task  # noqa: PLC0415 - few DAGs need it

        configure_task(task)


class _LatestDag:
    """Remembers the families of one DAG: Airflow asks for each of its tasks in turn, and reading settings is slow."""

    def __init__(self) -> None:
        self._known: tuple[Callable[[], Any], frozenset[str]] = (lambda: None, frozenset())

    def families(self, dag: Any) -> frozenset[str]:
        """Return the families of stock operators that are to be configured in ``dag``; None is a task without one."""
        latest, families = self._known
        if dag is None or latest() is not dag:
            families = _families(() if dag is None else dag.tags)
            self._known = (lambda: None) if dag is None else ref(dag), families
        return families


_LATEST: Final = _LatestDag()


def _families(tags: Collection[str]) -> frozenset[str]:
    from airflow_config_providers import settings  # noqa: PLC0415 - as above

    names = settings.apply_to()
    require_known(names)
    if not names or (OPT_OUT in tags and settings.opt_out_enabled()):
        return frozenset()
    return frozenset(FAMILIES if ALL in names else names)
