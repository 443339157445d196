"""References in the template fields of any operator, which have values only while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MemberDescriptorType
from typing import Any, ClassVar, Final

from airflow_config_providers.airflow_compat import TaskDeferred
from airflow_config_providers.core import explain
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.resolver import ResolvedConfig
from airflow_config_providers.core.reversal.reverse import ReverseTransformer, reverse_object
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, ExposedValueError
from airflow_config_providers.job import nested_texts
from airflow_config_providers.job.language import not_python
from airflow_config_providers.job.nested_texts import Path
from airflow_config_providers.job.resolve_in import DriverResolver
from airflow_config_providers.job.resolver import JobResolver
from airflow_config_providers.job.stored_job import StoredJob
from airflow_config_providers.job.supported import OperatorSpec, spec_of
from airflow_config_providers.log.exceptions import reverse_exception
from airflow_config_providers.operators.configured import FIELDS, ConfiguredOperator
from airflow_config_providers.operators.deferral import reverse_deferral
from airflow_config_providers.operators.no_retry import failing_at_once
from airflow_config_providers.operators.task_context import reversing_context
from airflow_config_providers.spark.layers import mapping_layer

_SAFE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./~-")
"""Characters without special meaning in a text that is split into words, or that is a program."""


class ConfigProvidersMixin(ConfiguredOperator):
    """
    A mixin for any operator, whose template fields may hold references, however nested.

    They are resolved when the task is rendered. The fields have the values only while ``execute`` runs, or a method
    that continues after a deferral. Only references that are written in the DAG are resolved: one that comes from data
    of another task or of a run stays as it is. What is logged, raised, returned or pushed to XCom shows references.
    """

    spec: ClassVar[OperatorSpec | None] = None
    """The description of the operator; None to look it up by class."""

    _holds_values: bool = False

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that Airflow stores, including the configuration, so that ``describe`` needs no run."""
        stored = super().get_serialized_fields()
        return frozenset({*stored, "_stored_job"})

    @property
    def _stored_job(self) -> str | None:
        return StoredJob.text_of(self._own_layers, self._texts)

    def execute(self, context: Any, *args: Any, **kwargs: Any) -> Any:
        """Run the operator with values in its fields."""
        return self._with_values(context, partial(super().execute, context, *args, **kwargs))

    def resume_execution(self, next_method: str, next_kwargs: Any, context: Any) -> Any:
        """Continue after a deferral, with values in the fields."""
        return self._with_values(context, partial(super().resume_execution, next_method, next_kwargs, context))

    @failing_at_once
    def _with_values(self, context: Any, run: Callable[[], Any]) -> Any:
        if self._holds_values:
            return run()
        if not self._run:
            self._resolve(context, None)
        reverser = self._run.reverser
        try:
            with reversing_context(context, reverser), self._values_in_place(reverser):
                result = run()
        except TaskDeferred as deferred:
            reverse_deferral(deferred, reverser, carried=self._spec().carried, stop=self.on_kill)
            raise
        except BaseException as error:
            reverse_exception(error, reverser)
            raise
        finally:
            self._run.clear()
        return reverse_object(result, (reverser,))

    @contextmanager
    def _values_in_place(self, reverser: ReverseTransformer) -> Iterator[None]:
        shown = {name: getattr(self, name) for name in self._fields()}
        before = _attributes(self)
        try:
            self._holds_values = True
            for name, value in self._with_conf(self._resolved_fields()).items():
                setattr(self, name, value)
            yield
        finally:
            self._holds_values = False
            for name, value in shown.items():
                setattr(self, name, value)
            self._forget(before, reverser)

    def _forget(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        """Reverse what ``execute`` left on the operator, where listeners and links can read it."""
        for name, value in _attributes(self).items():
            is_old = before.get(name) is value and not isinstance(value, dict | list | set)
            if not is_old and (hidden := reverse_object(value, (reverser,))) is not value:
                setattr(self, name, hidden)

    def _takes_any_key(self) -> bool:
        return self._spec().takes_any_key

    def _own_texts(self) -> Iterator[nested_texts.Text]:
        yield from super()._own_texts()
        for field, way in self._places():
            yield from nested_texts.texts(nested_texts.get(getattr(self, field), way), nested_texts.label(field, way))

    def _texts(self) -> Mapping[str, str]:
        return {
            text.label: text.text
            for name, value in self._without_conf().items()
            for text in nested_texts.texts(value, name)
            if scan(text.text) and self._is_written(text)
        }

    def _resolved(self, resolver: JobResolver, layers: Sequence[ConfigLayer]) -> ResolvedConfig:
        if isinstance(resolver, DriverResolver) and (problems := list(self._closed_confs())):
            raise ConfigException(*problems)
        return super()._resolved(resolver, layers)

    def _closed_confs(self) -> Iterator[str]:
        """Yield an error for each field in which the Spark configuration's references cannot be distinguished."""
        for field in dict.fromkeys(place.field for place in self._spec().conf if place.path):
            if isinstance(value := getattr(self, field), str) and scan(value):
                yield (
                    f"{printable(field)}: it is a single string, so the references of its Spark configuration cannot "
                    f"be left to the driver. Write it as a mapping, or set resolve_in='worker'."
                )

    def _resolved_fields(self) -> dict[str, Any]:
        resolved, written = self._run.texts(), self._texts()
        for label in self._spec().words:
            if label in resolved:
                self._refuse_broken_words(label, written=written.get(label, ""), value=resolved[label])
        return {
            name: nested_texts.replace(value, name, lambda text: resolved.get(text.label, text.text))
            for name, value in self._without_conf().items()
            if any(label.startswith(name) for label in resolved)
        }

    def _refuse_broken_words(self, label: str, *, written: str, value: str) -> None:
        if value == written:
            return
        if not self.allow_exposed_arguments:
            raise ExposedValueError(
                f"{printable(label)}: the values of its references would be readable by others. Pass them through the "
                f"Spark configuration, or set allow_exposed_arguments=True."
            )
        if any(character not in _SAFE for character in _inserted(written, value)):
            raise ExposedValueError(
                f"{printable(label)}: a value has characters that would change the meaning of the surrounding text. "
                f"Pass it through the Spark configuration."
            )

    def _own_layers(self) -> Iterable[ConfigLayer]:
        if (place := self._place()) is not None:
            field, way = place
            name = nested_texts.label(field, way).removeprefix("_")
            yield mapping_layer(ConfigSource.DAG_CONFIG, name, self._conf_at(field, way))

    def _conf_at(self, field: str, way: Path) -> Mapping[str, Any]:
        return nested_texts.get(getattr(self, field), way) or {}

    def _show_conf(self, layered: LayeredConfig) -> None:
        if (place := self._place()) is not None and layered.settled:
            field, way = place
            setattr(self, field, nested_texts.put(getattr(self, field), way, explain.texts(layered)))

    def _with_conf(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return ``fields`` with the values of the Spark configuration in place."""
        configs = self._run.configs()
        if (place := self._place()) is not None and configs:
            field, way = place
            fields[field] = nested_texts.put(fields.get(field, getattr(self, field)), way, configs)
        return fields

    def _without_conf(self) -> dict[str, Any]:
        """Return the fields without the Spark configuration, which is in the layers."""
        fields = {name: getattr(self, name) for name in self._fields()}
        if (place := self._place()) is not None:
            field, way = place
            fields[field] = nested_texts.put(fields[field], way, None)
        return fields

    def _place(self) -> tuple[str, Path] | None:
        """Return the place of the Spark configuration; None if there is none, or more than one."""
        found = self._places()
        return found[0] if len(found) == 1 else None

    def _places(self) -> list[tuple[str, Path]]:
        return nested_texts.places(self._spec().conf, lambda field: getattr(self, field))

    def _may_be_remote(self) -> bool:
        return self._spec().is_remote and self._place() is not None

    def _not_python(self) -> str:
        return not_python(self._spec().jvm, self)

    def _notes(self) -> Iterable[str]:
        if self._spec().conf and self._place() is None:
            yield "No layers: this task has no Spark configuration, or several of them. Its references are resolved."
        for text in self._texts_in(*self._fields()):
            if not self._is_written(text):
                yield f"{printable(text.label)}: a reference came from data, so none in this text is resolved."

    def _fields(self) -> list[str]:
        spec = self._spec()
        names = (*self.template_fields, *spec.fields, *(place.field for place in spec.conf))
        return [name for name in dict.fromkeys(names) if name not in FIELDS]

    def _spec(self) -> OperatorSpec:
        return self.spec or spec_of(type(self)) or OperatorSpec()


def _inserted(written: str, value: str) -> str:
    """Return the part of ``value`` from the first reference of ``written`` to the last, with the text in between."""
    spans = scan(written)
    head, tail = written[: spans[0][0]], written[spans[-1][1] :]
    return value[len(head) : len(value) - len(tail)]


def _attributes(operator: object) -> dict[str, Any]:
    """Return the attributes of ``operator``, including those in slots."""
    slots = {
        name: getattr(operator, name)
        for kind in type(operator).__mro__
        for name, member in vars(kind).items()
        if isinstance(member, MemberDescriptorType) and hasattr(operator, name)
    }
    return {**slots, **vars(operator)}
