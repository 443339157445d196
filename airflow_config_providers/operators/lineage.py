"""A facet for the events of OpenLineage: where the configuration of a task's job came from."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.operators.try_state import TryState

if TYPE_CHECKING:
    from airflow_config_providers.job.records.record import TryRecord

_NAME: Final = "configProviders"


def record_facet(task_instance: Any, ti_state: Any) -> dict[str, Any] | None:
    """
    Return the facet of a task whose job was submitted in this process; None for any other task.

    Name this function in ``[openlineage] custom_run_facets``. The facet has no values of keys, which the facet
    ``spark_properties`` has, but the layer and the place from which each came, and the hashes of references.
    """
    state = getattr(getattr(task_instance, "task", None), "_try_state", None)
    record = state.record if isinstance(state, TryState) else None
    return {_NAME: _facet(record)} if record else None


def _facet(record: TryRecord) -> Any:
    return _facet_class()(
        keys={key: {"source": of[0].source, "origin": of[0].origin} for key, of in record.configs.items()},
        references=dict(record.references),
        key_id=record.key_id,
        policies=list(record.policies),
        versions=dict(record.versions),
        job=record.job,
    )


@cache
def _facet_class() -> Any:
    import attr  # OpenLineage brings it
    from openlineage.client.generated.base import RunFacet  # the caller has it

    @attr.define
    class ConfigProvidersRunFacet(RunFacet):  # type: ignore[misc,unused-ignore] # Any where there is no OpenLineage
        keys: dict[str, dict[str, str]]
        references: dict[str, str | None]
        key_id: str
        policies: list[str]
        versions: dict[str, str]
        job: str | None

    return ConfigProvidersRunFacet
