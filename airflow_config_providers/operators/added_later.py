"""What code has added to the strings of an operator, or changed there, since its fields were rendered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.nested_texts import NestedString, field_of
from airflow_config_providers.spark.catalogue import FOLLOWED

if TYPE_CHECKING:
    from airflow_config_providers.operators.job_operator import JobOperator


def check_added(operator: JobOperator, conf: Mapping[str, Any], *names: str) -> None:
    """
    Check what code has added since the fields were rendered, and log its keys.

    :param names: fields that are read when the job is submitted
    :raises ConfigException: code has added references to these fields
    :raises ExposedValueError: code has put a value under a key where others can read it
    """
    refuse_late(operator, operator._job_fields().texts(*names) if names else ())
    handover = operator._try_state.handover
    added = handover.added(conf)
    if _execute_can_read_values(operator):
        handover.refuse_exposed(added)
    _log_added(operator, added)


def check_environment(operator: JobOperator, prefix: str | None) -> None:
    """
    Check what code has put into environment variables since the fields were rendered.

    :param prefix: the prefix of their keys if Spark takes them as configuration; otherwise None
    :raises ExposedValueError: code has put a value there, and others can read it
    """
    if prefix is None or not _execute_can_read_values(operator):
        return
    rendered = operator._try_state.environment
    changed = {name: text for name, text in operator._job_fields().environment().items() if rendered.get(name) != text}
    operator._try_state.handover.refuse_exposed_variables(changed, prefix, is_remote=lambda: _is_remote(operator))


def _is_remote(operator: JobOperator) -> bool:
    """Return whether the driver runs on another machine. This asks for the connection."""
    return operator._destination().is_remote(operator._job_fields().configs)


def configs_for(operator: JobOperator, conf: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the values of the configuration ``conf``, before any code had one, and log the keys that were added."""
    handover = operator._try_state.handover
    _log_added(operator, handover.added(conf))
    return handover.configs_for(conf)


def refuse_late(operator: JobOperator, texts: Iterable[NestedString]) -> None:
    """
    Refuse references that were added, or moved, since the fields were rendered.

    :raises ConfigException: some of ``texts`` have such references
    """
    state = operator._try_state
    known = state.referring_texts
    if not state.followed:
        state.handover.refuse_late(one for one in texts if scan(one.text) and known.get(one.label) != one.text)


def _log_added(operator: JobOperator, added: Collection[str]) -> None:
    """Log the keys that code has added to the configuration, except those that Airflow itself adds."""
    keys = sorted(key for key in added if not key.startswith("spark.openlineage.") and key not in FOLLOWED)
    if keys:
        operator.log.info(
            "Keys that code added or changed after the configuration was settled, so that no policy has seen them "
            "and the record lacks them: %s",
            ", ".join(map(printable, keys)),
        )


def _execute_can_read_values(operator: JobOperator) -> bool:
    """Return whether a field had a reference whose value ``execute`` can read."""
    fields = operator._job_fields()
    held = {*fields.spec.held, *fields.spec.paths, *fields.named_fields}
    return any(field_of(label) not in held for label in operator._try_state.referring_texts)
