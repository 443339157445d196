"""Checks the settings of ``[config_providers]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.diagnosis import Diagnosis, fault, fine, of_problem
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.doctor.check import Site
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.get_provider_info import OPTIONS
from airflow_config_providers.job import families

_PREFIX: Final = "AIRFLOW__CONFIG_PROVIDERS__"
_INDIRECT: Final = ("_cmd", "_secret")
"""The endings with which Airflow takes a sensitive option from a command or from a secrets backend."""

_BOOLEANS: Final = frozenset({"t", "true", "1", "f", "false", "0"})

_READERS: Final[tuple[Callable[[], object], ...]] = (
    lambda: families.require_known(settings.apply_to()),
    settings.follow_interval,
    settings.max_workers,
    settings.reload_settling,
    settings.reloads_per_hour,
    settings.resolve_in,
    settings.resolve_timeout,
    settings.unknown_keys,
    settings.unresolved,
)


def check(site: Site) -> Iterator[Diagnosis]:
    """Yield the settings that are unknown or wrong."""
    written = {*_in_file(), *_in_environment(site.environ)}
    found = [*_unknown(written), *_booleans(), *_unreadable()]
    yield from found or [fine("All settings of [config_providers] are known and valid.")]


def _in_file() -> list[str]:
    return list(conf.options(settings.SECTION)) if conf.has_section(settings.SECTION) else []


def _in_environment(environ: Mapping[str, str]) -> list[str]:
    return [name.removeprefix(_PREFIX).lower() for name in environ if name.startswith(_PREFIX)]


def _unknown(written: set[str]) -> Iterator[Diagnosis]:
    for name in sorted(written):
        if name not in OPTIONS and not _is_indirect(name):
            hint = nearest(name, OPTIONS) or "."
            yield fault(
                f"[config_providers] has no setting '{printable(name)}'{hint}", "Correct its name, or remove it."
            )


def _is_indirect(name: str) -> bool:
    known = (name.removesuffix(ending) for ending in _INDIRECT if name.endswith(ending))
    return any(one in OPTIONS and OPTIONS[one].sensitive for one in known)


def _booleans() -> Iterator[Diagnosis]:
    for name, option in OPTIONS.items():
        text = str(conf.get(settings.SECTION, name, fallback=option.default)) if option.type == "boolean" else "true"
        if text.partition("#")[0].strip().lower() not in _BOOLEANS:
            yield fault(f"[config_providers] {name} is neither True nor False.", "Correct it in airflow.cfg.")


def _unreadable() -> Iterator[Diagnosis]:
    for read in _READERS:
        try:
            read()
        except ConfigException as error:
            yield from map(of_problem, error.problems)
