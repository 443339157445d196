"""The fields of an operator, or its arguments, in which the author of a DAG describes a job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers.core.reload import without_reload_action
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.job import nested_texts
from airflow_config_providers.job.nested_texts import NestedString, field_of, with_templates, without_results
from airflow_config_providers.job.operator_specs import PART, SUBMIT_FIELDS, ConfLocation, JvmSign, OperatorSpec

if TYPE_CHECKING:
    from airflow_config_providers.core.layers import ConfigLayer, LayeredConfig


Steps = tuple[str | int, ...]
"""The keys and indices from a field down to something in it."""


@dataclass(frozen=True, slots=True)
class FieldPath:
    """
    The way from a field down to something in it.

    :param field: the attribute
    :param steps: the keys and indices from there
    """

    field: str
    steps: Steps = ()

    @property
    def label(self) -> str:
        """The way as a Python expression, as in ``NestedString``."""
        return reduce(nested_texts.label_below, self.steps, self.field)

    @property
    def argument(self) -> str:
        """The label as the author of a DAG knows it."""
        return self.label.removeprefix("_")

    def get(self, value: Any) -> Any:
        """
        Return what is at the end of the way in ``value``, the content of the field.

        A key that a mapping lacks has None; the way must exist up to its last step.
        """
        for step in self.steps:
            value = value.get(step) if isinstance(value, Mapping) else value[step]
        return value

    def put(self, value: Any, new: Any) -> Any:
        """Return ``value`` with ``new`` at the end of the way; nothing is changed in place."""
        return put(value, self.steps, new)


def put(value: Any, steps: Steps, new: Any) -> Any:
    """Return ``value`` with ``new`` at the end of the steps; nothing is changed in place."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(value, Mapping):
        return {**value, step: put(value.get(step), rest, new)}
    return type(value)(put(item, rest, new) if index == step else item for index, item in enumerate(value))


def conf_paths(location: ConfLocation, value: Any) -> Iterator[FieldPath]:
    """Yield the ways from a field down to its mappings of Spark configuration."""
    for path, parent in ends(value, location.path[:-1], FieldPath(location.field), item=location.item):
        if not location.path:
            yield path
        elif isinstance(parent, Mapping) and isinstance(parent.get(location.path[-1], {}), Mapping | str | None):
            yield _below(path, location.path[-1])


def _below(path: FieldPath, step: str | int) -> FieldPath:
    return FieldPath(path.field, (*path.steps, step))


def ends(
    value: Any, keys: tuple[str, ...], path: FieldPath, *, item: tuple[str, str] | None = None
) -> Iterator[tuple[FieldPath, Any]]:
    """Yield what is at the ends of ``keys``, each with the way to it; ``item`` as in ``ConfLocation``."""
    if not keys:
        yield path, value
    elif keys[0] == PART and isinstance(value, list | tuple):
        for index, one in enumerate(value):
            if item is None or (isinstance(one, Mapping) and one.get(item[0]) == item[1]):
                yield from ends(one, keys[1:], _below(path, index), item=item)
    elif isinstance(value, Mapping) and keys[0] in value:
        yield from ends(value[keys[0]], keys[1:], _below(path, keys[0]), item=item)


OURS: Final = ("config_files", "effective_config")
"""The template fields that this package adds to an operator."""

PYTHON_RUNNER: Final = "org.apache.spark.deploy.PythonRunner"
"""Spark's class that runs a Python program, even where Spark would refuse one."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class JobFields:
    """
    The fields of one operator, or the arguments with which it is created.

    :param spec: the description of the operator
    :param names: the fields that can hold references
    :param read: returns the content of a field; None if there is none
    :param named: named argument -> its place
    """

    spec: OperatorSpec
    names: tuple[str, ...]
    read: Callable[[str], Any]
    named: Mapping[str, FieldPath]

    @classmethod
    def of_operator(cls, operator: Any, spec: OperatorSpec) -> Self:
        """Return the fields of an operator, or of a stored task."""
        attributes, template_fields = vars(operator), operator.template_fields

        def own_field(name: str) -> str:
            # A subclass can have an attribute of its own beside the one of the stock operator.
            is_own = name in attributes and (name in template_fields or f"_{name}" not in attributes)
            return name if is_own else f"_{name}"

        named = _places(spec, own_field)
        return cls(spec, _names(spec, template_fields, named), lambda name: getattr(operator, name, None), named)

    @classmethod
    def of_arguments(cls, spec: OperatorSpec, arguments: Mapping[str, Any], template_fields: Iterable[str]) -> Self:
        """Return the fields that an operator makes of its arguments."""
        kept: dict[str, Any] = {}
        for name, value in arguments.items():
            field, *steps = spec.arguments.get(name, (name,))
            kept[field] = put(kept.get(field, {}), tuple(steps), value)
        named = _places(spec, str)
        return cls(spec, _names(spec, template_fields, named), kept.get, named)

    def unrendered(self) -> Self:
        """Return the fields as they are before a run: with templates in place of what other tasks return."""
        return replace(self, read=lambda name: with_templates(self.read(name)))

    def known(self) -> tuple[Self, list[str]]:
        """Return the fields as they are before a run, without what only a run knows, and the labels of that."""
        unknown: list[str] = []
        read = {name: without_results(self.read(name), name.removeprefix("_"), unknown) for name in self.names}
        known = replace(self, read=read.get)
        for conf in known.confs:
            if isinstance(conf.get(read[conf.field]), str) and not self.spec.takes_pairs:  # a template for all of it
                unknown.append(conf.argument)
                read[conf.field] = conf.put(read[conf.field], None)
        return known, unknown

    def layers(self) -> tuple[ConfigLayer, ...]:
        """
        Return the layers that the author wrote.

        :raises ConfigException: they are known only in a run, or are not a configuration
        """
        conf, named = self.conf, self.spec.named
        layers = [] if conf is None else [self._layer(conf)]
        if configs := named.configs(self.argument):
            layers.append(replace(_dag_layer("arguments", configs), origins=named.origins()))
        return tuple(layers)

    def argument(self, name: str) -> Any:
        """Return the value of a named argument; None if there is none."""
        path = self.named[name]
        value = self.read(path.field)
        return path.get(value) if not path.steps or isinstance(value, Mapping) else None

    def _with_arguments(self, found: Any, configs: Mapping[str, Any]) -> Any:
        """
        Return a field whose named arguments are left to ``configs`` if that has their keys, which they would beat.

        Only the name stays, as it is settled: the service has it for the job, too.
        """
        for name, path in self.named.items():
            if path.steps and (value := self.argument(name)):
                if (key := self.spec.named.keys[name]) in configs:
                    value = configs[key] if name == "name" else None
                found = path.put(found, value)
        return found

    @property
    def named_fields(self) -> list[str]:
        """The fields that are named arguments as a whole."""
        return [path.field for path in self.named.values() if not path.steps]

    def clusters(self) -> tuple[ConfigLayer, ...]:
        """
        Return the own configuration of each of several clusters, with its place as name; empty for one configuration.

        :raises ConfigException: one is not a configuration
        """
        return tuple(self._layer(conf) for conf in self.cluster_confs)

    def _layer(self, conf: FieldPath) -> ConfigLayer:
        return _dag_layer(conf.argument, self._configs(conf))

    @property
    def configs(self) -> Mapping[str, Any]:
        """The content of the Spark configuration; empty if there is none, or more than one."""
        return {} if self.conf is None else self._configs(self.conf)

    def _configs(self, conf: FieldPath) -> Mapping[str, Any]:
        from airflow_config_providers.spark.layer_files import pairs  # noqa: PLC0415 - not needed to store a DAG

        found = conf.get(self.read(conf.field)) or {}
        return pairs(found) if self.spec.takes_pairs else found

    @property
    def conf(self) -> FieldPath | None:
        """The place of the Spark configuration; None if there is none, or more than one."""
        confs = self.confs
        return confs[0] if len(confs) == 1 else None

    @property
    def cluster_confs(self) -> list[FieldPath]:
        """The places of the configurations of several clusters; empty if there is only one, as in any operator."""
        confs = self.confs if self.spec.has_clusters else []
        return confs if len(confs) != 1 else []

    @property
    def confs(self) -> list[FieldPath]:
        """The places of all mappings of Spark configuration. A missing one is included if its parent exists."""
        return [conf for location in self.spec.conf for conf in conf_paths(location, self.read(location.field))]

    def files(self) -> list[NestedString]:
        """Return the paths of the properties files that the author named, strongest last."""
        return [text for name in self.spec.paths for text in nested_texts.texts(_paths_of(self.read(name), name), name)]

    def environment(self) -> dict[str, str]:
        """Return the environment variables for Spark; empty if they are not a mapping, as before a run."""
        found = self.read("env_vars") if "env_vars" in self.spec.held else None  # elsewhere, they are not for Spark
        if found is None or not isinstance(found, Mapping):  # to ask this of None takes a millisecond in a new process
            return {}
        return {str(name): str(text) for name, text in found.items()}

    def texts(self, *names: str, skip: Collection[int] = ()) -> Iterator[NestedString]:
        """
        Yield every string in the fields ``names``; without names, in all fields, including ``config_files``.

        :param skip: the ids of objects to ignore, with their content
        :raises ConfigException: a key contains a reference, or collections are nested too deeply
        """
        for name in names or (*self.names, "config_files"):
            if (value := self.read(name)) is not None:  # most are None
                yield from nested_texts.texts(value, name, skip=skip)

    def argument_texts(self) -> Iterator[NestedString]:
        """Yield every string in the named arguments."""
        for name, path in self.named.items():
            if (value := self.argument(name)) is not None:
                yield from nested_texts.texts(value, path.label)

    def other_texts(self) -> Iterator[NestedString]:
        """Yield every string with references outside the layers."""
        for name, value in self._fields_outside_layers().items():
            if value is not None:
                yield from [text for text in nested_texts.texts(value, name) if scan(text.text)]

    def author_texts(self) -> Iterator[NestedString]:
        """Yield the strings in which a reference that is not written in the DAG is an error."""
        if self.spec.texts:
            yield from self.texts()
            return
        yield from self.texts("config_files")
        yield from self.argument_texts()
        for conf in self.confs:
            yield from nested_texts.texts(conf.get(self.read(conf.field)), conf.label)

    def conf_texts(self) -> Iterator[tuple[str, NestedString]]:
        """Yield the keys of Spark that the author wrote, each with its string and its place."""
        for conf in self.confs:
            found = conf.get(self.read(conf.field))
            for key, text in found.items() if isinstance(found, Mapping) else ():
                if isinstance(text, str):
                    yield str(key), NestedString(nested_texts.label_below(conf.label, key), text)

    def shown(self, layered: LayeredConfig) -> dict[str, Any]:
        """Return field -> what people see there: the settled configuration, with references."""
        settled = layered.shown()
        if (conf := self.conf) is not None:
            is_needed = settled or self._configs(conf)  # a job that this task follows can have had none
            before = self._with_arguments(self.read(conf.field), settled)
            return {conf.field: conf.put(before, settled)} if is_needed else {}
        found: dict[str, Any] = {}
        if not settled:
            return found
        for conf in self.cluster_confs:
            own = {key: text for key, text in self._configs(conf).items() if cluster_wins(layered, key)}
            found[conf.field] = conf.put(found.get(conf.field, self.read(conf.field)), {**settled, **own})
        return found

    def resolved(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return field -> content with values, for fields outside the layers; ``texts`` are label -> value."""
        having_values = {*map(field_of, texts)} - {*self.spec.held}
        return {
            name: nested_texts.map_texts(value, name, lambda text: texts.get(text.label, text.text))
            for name, value in self._fields_outside_layers().items()
            if name in having_values
        }

    def with_configs(
        self,
        fields: Mapping[str, Any],
        configs: Callable[[Mapping[str, Any]], Mapping[str, str]],
        shown: Mapping[str, str],
    ) -> dict[str, Any]:
        """
        Return ``fields`` with the values of the Spark configuration in place. ``fields`` itself does not change.

        :param configs: returns key -> value, given the configuration with references. It is called for each cluster,
            because a wrapped secret ID works for one driver
        :param shown: the configuration with references, which distinguishes what a cluster has of its own
        """
        found = dict(fields)
        if (conf := self.conf) is not None and conf.field not in self.spec.held:
            values = configs(self.configs)
            before = self._with_arguments(found.get(conf.field, self.read(conf.field)), values)
            return {**found, conf.field: conf.put(before, values)} if values else found
        for conf in self.cluster_confs:
            own, values = self._configs(conf), configs(shown)
            given = {key: value for key, value in values.items() if own.get(key) == shown.get(key)}
            before = found.get(conf.field, self.read(conf.field))
            written = conf.get(before) or {}
            kept = without_reload_action(written)
            if given or len(kept) < len(written):
                found[conf.field] = conf.put(before, {**kept, **given})
        return found

    def closed_confs(self) -> Iterator[str]:
        """Yield an error for each field in which the references of the configuration cannot be left to a driver."""
        for field in dict.fromkeys(location.field for location in self.spec.conf if location.path):
            if isinstance(value := self.read(field), str) and scan(value):
                yield (
                    f"{printable(field)}: it is a single string, so the references of its Spark configuration cannot "
                    f"be left to the driver. Write it as a mapping, or set resolve_in='worker'."
                )

    def not_python(self) -> str:
        """Return the field that shows that the job is not a Python program; empty if there is none."""
        found = [
            (path.argument, value)
            for sign in self.spec.jvm
            for path, value in ends(self.read(sign.field), sign.path, FieldPath(sign.field))
            if _is_shown(value, sign)
        ]
        return "" if not found or any(value == PYTHON_RUNNER for _, value in found) else found[0][0]

    def _fields_outside_layers(self) -> dict[str, Any]:
        """Return the fields outside the layers; the place of the configuration in one of them is empty."""
        in_layers = {*self.named_fields}
        if self.spec.texts:  # of the other fields, those that a subclass has added
            in_layers |= SUBMIT_FIELDS | {f"_{name}" for name in SUBMIT_FIELDS} | {one.field for one in self.spec.conf}
        names = (*self.spec.texts, *(name for name in self.names if name not in in_layers))
        fields = {name: self.read(name) for name in names}
        if not self.spec.texts and (conf := self.conf) is not None:
            without = self._with_arguments(fields[conf.field], dict.fromkeys(self.spec.named.keys.values()))
            fields[conf.field] = conf.put(without, None)
        return fields


def path_list(paths: Any) -> Any:
    """
    Return the paths of properties files as a list of strings, also if they are one path, or objects of ``pathlib``.

    The output of another task is returned unchanged.
    """
    if isinstance(paths, str | PurePath):
        return [str(paths)]
    if paths is not None and isinstance(paths, Sequence):
        return [str(path) if isinstance(path, PurePath) else path for path in paths]
    return paths


def refuse_odd_paths(paths: Any) -> None:
    """
    Make sure that ``config_files``, the result of ``path_list``, are paths.

    :raises ConfigException: something else is among them
    """
    items = paths if isinstance(paths, list) else () if paths is None else (paths,)
    if odd := [type(item).__name__ for item in items if not isinstance(item, str)]:
        raise ConfigException(f"config_files: expected paths of files, found {', '.join(odd)}. Write strings.")


def _paths_of(value: Any, name: str) -> Any:
    """
    Return the paths in ``value``; what another task returns becomes its template.

    :param name: the field that has it
    """
    found = path_list(value) if name == "config_files" else value
    return [str(path) for path in found] if isinstance(found, list) else str(found) if found else None


def _places(spec: OperatorSpec, own_field: Callable[[str], str]) -> dict[str, FieldPath]:
    """
    Return named argument -> its place.

    :param own_field: returns the field of one that the operator keeps in a field of its own
    """
    places = {name: spec.arguments.get(name, (own_field(name),)) for name in spec.named.keys}
    return {name: FieldPath(field, tuple(steps)) for name, (field, *steps) in places.items()}


def _names(spec: OperatorSpec, template_fields: Iterable[str], named: Mapping[str, FieldPath]) -> tuple[str, ...]:
    places = [place.field for place in named.values()] + [place.field for place in spec.conf]
    found = dict.fromkeys([*template_fields, *places])
    for name in OURS:
        found.pop(name, None)
    return tuple(found)


def _dag_layer(name: str, configs: Any) -> ConfigLayer:
    from airflow_config_providers.core.layers import ConfigSource  # noqa: PLC0415 - not needed to store most DAGs
    from airflow_config_providers.spark.layer_files import mapping_layer  # noqa: PLC0415 - as above

    return mapping_layer(ConfigSource.DAG_CONFIG, name, configs)


def cluster_wins(layered: LayeredConfig, key: str) -> bool:
    """Return whether the own configuration of a cluster wins for a key: no layer overrides it."""
    from airflow_config_providers.core.layers import ConfigSource  # noqa: PLC0415 - not needed to store a DAG

    return layered.source(key) <= ConfigSource.DAG_CONFIG


def _is_shown(value: Any, sign: JvmSign) -> bool:
    if sign.shows is None:
        return bool(value)
    return isinstance(text := _text(value), str) and sign.shows(text)


def _text(value: Any) -> Any:
    """Return a path as a string, and the items of a list as lines."""
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return str(value) if isinstance(value, PurePath) else value
