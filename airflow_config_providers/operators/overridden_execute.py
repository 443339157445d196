"""Notes about a class that overrides ``execute`` of one of ours, in which its own fields still have references."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.job.nested_texts import field_of
from airflow_config_providers.operators.reversal.author_hooks import defines

if TYPE_CHECKING:
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.operators.job_operator import JobOperator

_PACKAGE: Final = f"{__name__.partition('.')[0]}."

_TAKEN: Final = (
    "{}: execute of {} has the references there, and the values only inside of super().execute(). Derive the class "
    "from the stock operator, and decorate it with @configured."
)


def own_execute_problems(kind: type, fields: JobFields) -> Iterator[tuple[str, str]]:
    """Yield each field of a class that has a reference, which ``execute`` would take for the value, and a sentence."""
    order = kind.__mro__
    derived = list(takewhile(lambda one: not one.__module__.startswith(_PACKAGE), order))
    if not any(defines(one, "execute") for one in derived):
        return
    inherited = _template_fields(*order[len(derived) :])
    referring = {field_of(text.label) for text in fields.texts() if scan(text.text)}
    for name in sorted((_template_fields(*derived) - inherited) & referring):
        yield name, _TAKEN.format(printable(name), printable(kind.__name__))


def own_execute_notes(operator: JobOperator, fields: JobFields) -> list[str]:
    """Return the sentences of ``own_execute_problems``."""
    return [note for _, note in own_execute_problems(type(operator), fields)]


def _template_fields(*kinds: Any) -> set[str]:
    return {name for kind in kinds for name in vars(kind).get("template_fields", ())}
