"""Definitions of configurations: names, types, defaults, checks (Kafka's ConfigDef)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.definition.config_type import (
    ConfigType,
    convert_to_string,
    parse_type,
)
from airflow_config_providers.core.invalid_value import InvalidValueError, invalid_value
from airflow_config_providers.core.resource import EVERYWHERE, ResourceType
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.text import grouped, printable
from airflow_config_providers.exceptions import ConfigException, refuse

if TYPE_CHECKING:
    from airflow_config_providers.core.definition.validators import Validator


class _Missing(Enum):
    NO_DEFAULT_VALUE = "required"


NO_DEFAULT_VALUE: Final = _Missing.NO_DEFAULT_VALUE
"""The configuration has no default and must be set. None is a default like any other."""


_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Importance(Enum):
    """How important a configuration is to its reader; documentation uses this order."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigKey:
    """
    One configuration. Its default is parsed and checked on creation.

    :param validator: checks the parsed value, including None
    :param group: its section of the documentation
    :param dependents: the configurations that depend on this one; each must be defined
    :param internal: whether it is left out of the documentation
    :param type_name: a more specific name of the type for descriptions; empty for the name of ``type``
    :param alterable_at: kinds of resource whose dynamic configuration can set it; none if it is read-only
    :raises ConfigException: the default does not fit, or there is no such kind of resource
    """

    name: str
    type: ConfigType
    default: Any = NO_DEFAULT_VALUE
    validator: Validator | None = None
    importance: Importance = Importance.MEDIUM
    doc: str = ""
    group: str = ""
    dependents: Sequence[str] = ()
    internal: bool = False
    type_name: str = ""
    alterable_at: Collection[ResourceType] = EVERYWHERE

    def __post_init__(self) -> None:
        if not {*EVERYWHERE}.issuperset(self.alterable_at):
            kinds = ", ".join(kind.name for kind in EVERYWHERE)
            raise ConfigException(f"{printable(self.name)} has something other than {kinds} in alterable_at.")
        if not self.has_default:
            return
        default, problems = self.check(self.default)
        refuse(ConfigException, problems)
        object.__setattr__(self, "default", default)

    @property
    def has_default(self) -> bool:
        """Whether the configuration can be left out."""
        return self.default is not NO_DEFAULT_VALUE

    def read(self, props: Mapping[str, Any]) -> tuple[Any, Sequence[str]]:
        """Return the parsed value in ``props``, or the default, and the problems with it."""
        if self.name in props:
            return self.check(props[self.name])
        if not self.has_default:
            return None, [f'Missing required configuration "{printable(self.name)}" which has no default value.']
        return list(self.default) if isinstance(self.default, list) else self.default, ()

    def check(self, value: object) -> tuple[Any, Sequence[str]]:
        """Parse and validate ``value``; return the result, None if it is invalid, and the problems."""
        parsed, refusal = self._parsed(value)
        return (parsed, ()) if refusal is None else (None, refusal.problems)

    def refusal(self, value: object) -> ConfigException | None:
        """Return why ``value`` is invalid; None if it is not."""
        return self._parsed(value)[1]

    def _parsed(self, value: object) -> tuple[Any, ConfigException | None]:
        parsed, refusal = _attempt(parse_type, self.name, value, self.type)
        if refusal is None and self.validator is not None:
            _, refusal = _attempt(self.validator.ensure_valid, self.name, parsed)
        return parsed, refusal


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """
    The result of ``ConfigDef.validate`` for one configuration.

    :param value: the parsed value; None if it is invalid
    :param error_messages: everything that is wrong with it, without values
    :param visible: whether it is defined; others depend on names that are not
    """

    name: str
    value: Any = field(default=None, repr=False)
    error_messages: tuple[str, ...] = ()
    visible: bool = True


class ConfigDef:
    """
    A set of configurations: parses and validates a mapping, and documents itself.

    ``define`` fills it, and then it is only read; reading is safe from several threads.

    :param keys: the configurations to start with, such as ``other.config_keys.values()``
    """

    def __init__(self, keys: Iterable[ConfigKey] = ()) -> None:
        self._keys: dict[str, ConfigKey] = {}
        for key in keys:
            self._add(key)

    def define(  # noqa: PLR0913, PLR0917 - the parameters and order are Kafka's; all but two are optional
        self,
        name: str,
        type: ConfigType,  # noqa: A002 - Kafka's name
        default: Any = NO_DEFAULT_VALUE,
        validator: Validator | None = None,
        importance: Importance = Importance.MEDIUM,
        doc: str = "",
        *,
        group: str = "",
        dependents: Sequence[str] = (),
        internal: bool = False,
        alterable_at: Collection[ResourceType] = EVERYWHERE,
    ) -> ConfigDef:
        """
        Add a configuration; the parameters are those of ``ConfigKey``.

        :return: this definition, so that calls can be chained
        :raises ConfigException: the name is already defined, or the default is invalid
        """
        key = ConfigKey(
            name=name,
            type=type,
            default=default,
            validator=validator,
            importance=importance,
            doc=doc,
            group=group,
            dependents=tuple(dependents),
            internal=internal,
            alterable_at=tuple(alterable_at),
        )
        self._add(key)
        return self

    @property
    def config_keys(self) -> Mapping[str, ConfigKey]:
        """Name -> configuration, in the order of definition."""
        return MappingProxyType(self._keys)

    def names(self) -> Set[str]:
        """Return the names of all configurations."""
        return self._keys.keys()

    @property
    def older_names(self) -> Mapping[str, str]:
        """Older name of a configuration -> the name that took its place. A value under either is the same setting."""
        return _NONE

    def parse(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return the parsed value of every configuration, from ``props`` or by default; other names are left out.

        :raises InvalidValueError: values are invalid; ``problems`` has all problems, in the order of definition
        :raises ConfigException: a dependent is not defined
        """
        refuse(ConfigException, self._undefined_dependents().values())
        read = {name: key.read(props) for name, key in self.config_keys.items()}
        refuse(InvalidValueError, [problem for _, found in read.values() for problem in found])
        return {name: value for name, (value, _) in read.items()}

    def validate(self, props: Mapping[str, Any]) -> list[ConfigValue]:
        """Return the value and the problems of every configuration; an invalid value raises no error."""
        read = ((name, key.read(props)) for name, key in self.config_keys.items())
        return [
            *(ConfigValue(name, value, tuple(problems)) for name, (value, problems) in read),
            *(ConfigValue(name, None, (message,), False) for name, message in self._undefined_dependents().items()),
        ]

    def misfits(self, name: str, value: object) -> Sequence[str]:
        """Return the problems with ``value`` as the value of the defined configuration ``name``."""
        refusal = self.refusal(name, value)
        return () if refusal is None else refusal.problems

    def misfit_reasons(self, name: str, value: object) -> Sequence[str]:
        """Return the same problems, in words that do not name the configuration, unless a validator of others does."""
        refusal = self.refusal(name, value)
        if isinstance(refusal, InvalidValueError) and refusal.reason:
            return (refusal.reason,)
        return () if refusal is None else refusal.problems

    def refusal(self, name: str, value: object) -> ConfigException | None:
        """Return why ``value`` is invalid as the value of the defined configuration ``name``; None if it is not."""
        return self.config_keys[name].refusal(value)

    def is_sensitive(self, name: str) -> bool:
        """Return whether ``name`` is defined as a PASSWORD."""
        key = self.config_keys.get(name)
        return key is not None and key.type is ConfigType.PASSWORD

    def is_secret(self, name: str, text: str) -> bool:
        """Return whether ``text`` must not be shown as the value of ``name``."""
        return self.is_sensitive(name)

    def shown_to_policies(self, name: str, secret: str) -> str:
        """Return what policies see of a plaintext secret under ``name`` before it is encrypted."""
        return HIDDEN

    def read_only_reason(self, name: str) -> str | None:
        """Return why dynamic configuration cannot change ``name``; None if it can."""
        key = self.config_keys.get(name)
        return None if key is None or key.alterable_at else "its definition makes it read-only."

    def unalterable_value(self, name: str, text: str) -> str | None:
        """Return why dynamic configuration cannot set ``name`` to ``text``, which others can; None if it can."""
        return None

    def alterable_at(self, name: str) -> tuple[ResourceType, ...]:
        """Return the kinds of resource whose dynamic configuration can set ``name``: all if it is not defined."""
        if self.read_only_reason(name):
            return ()
        key = self.config_keys.get(name)
        if key is None or key.alterable_at is EVERYWHERE:  # each entry asks for it
            return EVERYWHERE
        return tuple(kind for kind in EVERYWHERE if kind in key.alterable_at)

    def default_texts(self) -> Mapping[str, str]:
        """Return name -> default as a string, without defaults that are None; a PASSWORD is ``[hidden]``."""
        return {name: text for name in self.names() if (text := self.default_text(name)) is not None}

    def default_text(self, name: str) -> str | None:
        """Return the default of ``name`` as in ``default_texts``; None if it has none."""
        key = self.config_keys.get(name)
        return convert_to_string(key.default, key.type) if key is not None and key.has_default else None

    def to_markdown(self) -> str:
        """Return the reference documentation: a table for each group, without internal configurations."""
        groups = grouped((key.group, key) for key in self.config_keys.values() if not key.internal)
        return "\n".join(line for group in groups for line in _table(group, sorted(groups[group], key=_rank)))

    def _add(self, key: ConfigKey) -> None:
        if key.name in self._keys:
            raise ConfigException(f"Configuration {printable(key.name)} is defined twice. Remove one definition.")
        self._keys[key.name] = key

    def _undefined_dependents(self) -> dict[str, str]:
        """Name -> message, for names that are dependents of a configuration but not defined."""
        problem = "{} is a dependent of {}, but not defined. Define it, or remove it there."
        return {
            name: problem.format(printable(name), printable(key.name))
            for key in self.config_keys.values()
            for name in key.dependents
            if name not in self.config_keys
        }


def _attempt(function: Callable[..., Any], name: str, *args: Any) -> tuple[Any, ConfigException | None]:
    """Call ``function``, possibly user code, for the configuration ``name``; return its result, or why it refuses."""
    try:
        return function(name, *args), None
    except ConfigException as error:
        if any(error.args):
            return None, error.with_traceback(None)  # its frames have the value
        return None, invalid_value(name, "it was refused without a reason")
    except Exception as error:  # noqa: BLE001 - foreign code can raise anything, and its message can quote the value
        failed = f"{getattr(function, '__qualname__', 'its check')} failed with {type(error).__name__}"
    return None, invalid_value(name, failed)


def _rank(key: ConfigKey) -> tuple[bool, int, str]:
    return key.has_default, list(Importance).index(key.importance), key.name


def _table(title: str, keys: Iterable[ConfigKey]) -> Iterator[str]:
    if title:
        yield from (f"### {_cell(title)}", "")
    yield "| Name | Type | Default | Valid values | Importance | Description |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for key in keys:
        valid = str(key.validator) if key.validator else ""
        cells = (f"`{key.name}`", key.type.value, _default(key), valid, key.importance.value, key.doc)
        yield f"| {' | '.join(map(_cell, cells))} |"
    yield ""


def _default(key: ConfigKey) -> str:
    if not key.has_default:
        return "required"
    text = convert_to_string(key.default, key.type)
    return "none" if text is None else text or '""'


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
