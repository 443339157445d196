"""A check of the deployment, and what it may look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from airflow_config_providers.core.diagnosis import Diagnosis


@dataclass(frozen=True, slots=True)
class Site:
    """
    The place where checks run.

    :param conn_id: the connection that defines the providers
    :param is_named: whether someone named that connection, so that it must exist
    :param environ: the environment of this process
    :param patience: the seconds that one check may take
    """

    conn_id: str
    is_named: bool = False
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    patience: float = 30.0


class Check(Protocol):
    """Looks at one part of the deployment."""

    def __call__(self, site: Site) -> Iterable[Diagnosis]:
        """
        Return what is found, without any resolved value.

        :raises ConfigProvidersError: the part cannot be looked at
        """


@dataclass(frozen=True, slots=True)
class PatientCheck:
    """
    A check that limits its own time, so that it can name what is late: it is not stopped from outside.

    :param check: waits for nothing longer than the patience of the site
    """

    check: Check

    def __call__(self, site: Site) -> Iterable[Diagnosis]:
        """Return what is found."""
        return self.check(site)
