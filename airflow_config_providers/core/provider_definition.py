"""Definitions of providers in ``config.providers.*`` (KIP-297, KIP-421), and the message about an unknown one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from airflow_config_providers.core.keys import CONFIG_PROVIDERS, is_reserved
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.core.variable import ConfigVariable, no_default

_PREFIX: Final = f"{CONFIG_PROVIDERS}."
_PARAM: Final = "param."


class KeyProblem(NamedTuple):
    """What is wrong with a key, which is fit to print."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class ProviderDefinition:
    """
    The definition of one provider: a name, a class and parameters.

    :param class_name: as written, without surrounding whitespace; empty if it is missing
    :param problems: what is wrong with the definition, regardless of its class
    :param unread: suffix -> a key with this name and suffix that nothing reads, because its beginning is misspelt
    """

    name: str
    class_name: str = ""
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)
    problems: tuple[KeyProblem, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict, repr=False)

    def key(self, suffix: str) -> str:
        """Return the key of ``suffix`` of this provider, fit to print."""
        return printable(f"{_PREFIX}{self.name}.{suffix}")

    def way_out(self, suffix: str, add: str) -> str:
        """Return what to do if the key of ``suffix`` is missing; ``add`` says what to add."""
        if found := self.unread.get(suffix):
            return f"Rename '{printable(found)}', which is not read, or add {add}"
        return f"Add {add}"

    @property
    def shown_class(self) -> str:
        """The key of the class and the class, fit to print."""
        return f"{self.key('class')}: {printable(self.class_name)}"


def read_definitions(props: Mapping[str, Any]) -> tuple[list[ProviderDefinition], list[str]]:
    """
    Return the definition of each provider that ``config.providers`` lists, and what is wrong with them.

    The items of the list are stripped, and empty ones are ignored, as are definitions of providers not in the list.
    """
    listed = props.get(CONFIG_PROVIDERS, "")
    if not isinstance(listed, str):
        return [], [f"{CONFIG_PROVIDERS} is not a string. Write the providers' names, separated by commas."]
    names = [name for item in listed.split(",") if (name := item.strip())]
    written: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in props.items():
        owner = _owner(key, written)
        if owner is not None:
            written[owner][key.removeprefix(f"{_PREFIX}{owner}.")] = value
    others = [key for key in props if not is_reserved(key)]
    definitions = [
        ProviderDefinition(
            name,
            class_name=str(settings.get("class", "")).strip(),
            params={key.removeprefix(_PARAM): value for key, value in settings.items() if key.startswith(_PARAM)},
            problems=tuple(_problems(name, settings, times=names.count(name))),
            unread=_unread(name, others),
        )
        for name, settings in written.items()
    ]
    return definitions, [problem.text for definition in definitions for problem in definition.problems]


def unlisted_names(props: Mapping[str, Any], listed: Collection[str]) -> frozenset[str]:
    """Return the names of the providers that have a class, but are not among those that are ``listed``."""
    classes = [key for key in props if key.startswith(_PREFIX) and key.endswith(".class")]
    own = [key.removeprefix(_PREFIX) for key in classes if _owner(key, listed) is None]
    return frozenset(key.removesuffix(".class") for key in own if key != "class")


def _unread(name: str, others: Iterable[str]) -> dict[str, str]:
    """Return suffix -> key, for the ``others`` that would be of provider ``name`` with another beginning."""
    inner = f".{name}."
    return {key.partition(inner)[2]: key for key in others if inner in key}


def _owner(key: str, names: Iterable[str]) -> str | None:
    """Return the provider that ``key`` belongs to; of the names ``a`` and ``a.b``, the longer one wins."""
    owners = [name for name in names if key.startswith(f"{_PREFIX}{name}.")]
    return max(owners, key=len, default=None)


def _problems(name: str, settings: Iterable[str], *, times: int) -> Iterator[KeyProblem]:
    if times > 1:
        yield KeyProblem(CONFIG_PROVIDERS, f"{CONFIG_PROVIDERS} lists {printable(name)} {times} times. List it once.")
    if ":" in name or "}" in name:
        yield KeyProblem(
            CONFIG_PROVIDERS,
            f"{CONFIG_PROVIDERS} lists {printable(name)}, but no reference can name it. Rename it, without ':' and "
            f"'}}'.",
        )
    for setting in settings:
        if setting != "class" and not setting.startswith(_PARAM):
            key = ProviderDefinition(name).key
            yield KeyProblem(key(setting), _ignored(setting, key))


def _ignored(setting: str, key: Callable[[str], str]) -> str:
    """Return the message for a key that is neither the class nor a parameter, which can be misspelt."""
    word, _, param = setting.partition(".")
    meant = [name for name in ("class", "param") if nearest(word, [name]) and bool(param) == (name == "param")]
    if meant:
        return f"{key(setting)} would be ignored, did you mean '{key('.'.join(filter(None, (meant[0], param))))}'?"
    return (
        f"{key(setting)} would be ignored. Write {key(_PARAM + setting)} for a parameter; "
        f"the only other key is {key('class')}."
    )


def unknown_provider(
    variable: ConfigVariable,
    known: Collection[str],
    *,
    unlisted: Collection[str] = (),
    home: str = CONFIG_PROVIDERS,
) -> str:
    """
    Return the message for a reference to a provider that does not exist.

    :param known: the names of the providers that exist
    :param unlisted: the names of providers that have a class, but are not in the list
    :param home: what people call the place where providers are defined
    """
    if variable.provider in unlisted:
        return (
            f"{printable(str(variable))} names provider '{printable(variable.provider)}', which is defined but not "
            f"listed in {home}. Add it to that list."
        )
    listed = ", ".join(printable(name) for name in sorted(known)) or "none"
    hint = nearest(variable.provider, known)
    way = (
        no_default(variable)
        or _colon_hint(variable.provider, known)
        or f"Correct the name, or add the provider to {home}."
    )
    return (
        f"{printable(str(variable))} names the unknown provider '{printable(variable.provider)}'{hint or '.'} "
        f"Known providers: {listed}. {way}"
    )


def _colon_hint(written: str, known: Iterable[str]) -> str:
    """Return the hint that the colon after a provider's name is missing; empty if ``written`` begins with none."""
    names = [name for name in known if written.startswith(f"{name}/")]
    return f"A colon is missing after '{printable(max(names, key=len))}'. Add it." if names else ""
