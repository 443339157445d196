"""What the author of a DAG can choose about the references of a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from airflow_config_providers import settings
from airflow_config_providers.core.reload import ReloadAction
from airflow_config_providers.settings import ResolveIn, parse_choice

if TYPE_CHECKING:
    from airflow_config_providers.core.resolver import Unresolved


@dataclass(frozen=True, slots=True)
class JobOptions:
    """
    What the author of a DAG chose about the references of a job; None for the default of the deployment.

    :param config_conn_id: the connection that defines the providers
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :param allow_exposed_arguments: whether resolved values may be where others than the job can read them
    :param resolve_in: where to resolve: ``worker``, ``driver`` or ``auto``
    :param reload_action: what happens to the running job when its secrets change: ``none`` or ``restart``
    :param streaming: whether the job is meant to run for ever; it is then restarted by default
    :raises ConfigException: an option has an unknown value; raised when the DAG is parsed
    """

    config_conn_id: str | None = None
    unresolved: str | None = None
    allow_exposed_arguments: bool | None = None
    resolve_in: str | None = None
    reload_action: str | None = None
    streaming: bool | None = None

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Self:
        """Return the options that are among ``arguments``."""
        return cls(**{name: arguments[name] for name in cls.__dataclass_fields__ if name in arguments})

    def __post_init__(self) -> None:
        if self.unresolved is not None:
            _parse_unresolved(self.unresolved)
        if self.resolve_in is not None:
            parse_choice(ResolveIn, self.resolve_in, where="argument resolve_in")
        if self.reload_action is not None:
            ReloadAction.of({"reload_action": self.reload_action}, names=("reload_action",))

    @property
    def conn_id(self) -> str:
        """The connection that defines the providers."""
        return settings.config_conn_id(self.config_conn_id)

    @property
    def resolves_in(self) -> ResolveIn:
        """Where to resolve."""
        return settings.resolve_in() if self.resolve_in is None else ResolveIn(self.resolve_in)

    @property
    def allows_exposed(self) -> bool:
        """Whether resolved values may be where others than the job can read them."""
        chosen = self.allow_exposed_arguments
        return settings.allow_exposed_arguments() if chosen is None else chosen

    @property
    def when_unresolved(self) -> Unresolved:
        """What to do with a reference that no provider answers."""
        return settings.unresolved() if self.unresolved is None else _parse_unresolved(self.unresolved)

    @property
    def keeps_unresolved(self) -> bool:
        """Whether a reference that no provider answers is left as it is."""
        from airflow_config_providers.core.resolver import Unresolved  # noqa: PLC0415 - not while a DAG is parsed

        return self.when_unresolved is Unresolved.KEEP

    def when_secrets_change(
        self, in_layers: ReloadAction | None, *, in_connection: Callable[[], ReloadAction | None]
    ) -> ReloadAction:
        """
        Return what happens to the running job when its secrets change.

        :param in_layers: what its configuration says, which beats the argument
        :param in_connection: returns what the connection says, which beats only the default
        """
        argument = None if self.reload_action is None else ReloadAction.parse(self.reload_action)
        default = ReloadAction.RESTART if self.streaming else ReloadAction.NONE
        return in_layers or argument or in_connection() or default


NO_OPTIONS: Final = JobOptions()
"""The options of a job whose author chose none."""


def _parse_unresolved(text: str) -> Unresolved:
    from airflow_config_providers.core.resolver import Unresolved  # noqa: PLC0415 - few DAGs set it

    return parse_choice(Unresolved, text, where="argument unresolved")
