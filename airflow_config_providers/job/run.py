"""The values of one run of a Spark job, from rendering until the job has ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.closing import Once
from airflow_config_providers.core.ending import Ending, is_process_ending
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.provider import ConfigData, ContentHash
from airflow_config_providers.core.reload import without_reload_action
from airflow_config_providers.core.resolved_config import ResolvedConfig
from airflow_config_providers.core.reversal.reverse import KEPT, ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError
from airflow_config_providers.job.policies import NO_VERDICT, TaskVerdict
from airflow_config_providers.log.installation import Installation, install
from airflow_config_providers.masker import mask_secrets

if TYPE_CHECKING:
    from airflow_config_providers.job.resolver import JobResolver

_NO_VALUES: Final = (
    "This copy of the task has no values. Run the task that Airflow has rendered. If a policy or a DAG file has "
    "replaced the task's execute by a function that calls the method that was there before, let it call "
    'type(task).execute(task, context), with task = context["task"].'
)

_CONTENTS: Final = ContentHash()


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReloadSource:
    """
    Where the reload of a running job gets the next values from.

    :param again: settles and resolves its configuration again, given what replaces the values before
    :param read_mark: returns what differs after each change and each refresh of its dynamic configuration
    :param mark: what it would have returned when the dynamic configuration was read
    """

    again: Callable[[ReverseTransformer], JobRun]
    read_mark: Callable[[], object]
    mark: object


class JobRun:
    """
    Holds the values of one run, from rendering until spark-submit has ended.

    While it exists, and until the process or the operator ends, logs show references. A copy of its operator, pickled
    or not, gets an empty run.

    :param resolved: the configuration, with the additional strings of the job
    :param resolver: what has resolved it; None for nothing
    :param end: called when the job has ended, or if this fails; closes the providers
    :param source: where a reload gets the next values from; None if the job is not reloaded
    :param earlier: replaces the values that the job had before a restart, which can still be logged: of each reference,
        the last ``KEPT`` and the first
    """

    verdict: TaskVerdict = NO_VERDICT
    """What the policies have said about the configuration."""

    def __init__(
        self,
        resolved: ResolvedConfig | None = None,
        resolver: JobResolver | None = None,
        *,
        end: Callable[[], None] | None = None,
        source: ReloadSource | None = None,
        earlier: ReverseTransformer | None = None,
    ) -> None:
        self._resolved = resolved
        self.resolver = resolver
        self._end = Once(end)
        self._source = source
        self.reverser = ReverseTransformer({}, {})
        """Replaces values by references, also those before a restart."""
        self.withheld: frozenset[str] = frozenset()
        """The names of the environment variables that child processes of the job must not inherit."""
        try:
            self._begin(earlier)
        except BaseException:  # the caller has left the providers to this object
            self.clear()
            raise

    def _begin(self, earlier: ReverseTransformer | None) -> None:
        if self.resolver is not None:
            self.withheld = self.resolver.withheld()
        if self._resolved is not None:
            self.reverser = self._resolved.reverser
        if earlier is not None:
            self.reverser = self.reverser.knowing(earlier.recent(KEPT))
        if self._resolved is not None:
            self._install()
            mask_secrets(self._resolved.values())  # now that a log of this message shows references

    def _install(self) -> None:
        """Show references in logs until this object or the process ends."""
        self._installation = installation = install(self.reverser)
        end = self._end
        let_go = partial(_let_go, installation, self.reverser, end)
        self._ending = Ending(self, let_go, is_quick=lambda: not end and not installation.is_active)

    def __reduce__(self) -> tuple[type[JobRun], tuple[()]]:
        return JobRun, ()

    def __bool__(self) -> bool:
        return self._resolved is not None

    @property
    def is_over(self) -> bool:
        """Whether its values are forgotten, or it never had any."""
        return self._resolved is None or self._resolved.is_cleared

    @property
    def resolved(self) -> ResolvedConfig:
        """
        The configuration, with the additional strings of the job.

        :raises ConfigException: this is an empty run
        """
        if self._resolved is None:
            raise ConfigException(_NO_VALUES)
        return self._resolved

    @property
    def is_left_to_driver(self) -> bool:
        """Whether the references of the configuration stay in it, for the driver."""
        return self.resolver is not None and self.resolver.leaves_to_driver

    @property
    def shown(self) -> dict[str, str]:
        """The configuration as people see it."""
        return self._resolved.layered.shown() if self._resolved else {}

    @property
    def reloads(self) -> bool:
        """Whether the running job is reloaded when its secrets change."""
        return self.restarts and bool(self.places)

    @property
    def restarts(self) -> bool:
        """Whether the reload action is ``restart``."""
        return self._source is not None

    @property
    def places(self) -> Mapping[Place, Collection[str]]:
        """(provider, path) -> the keys that were read there."""
        return self.resolved.places

    @property
    def ttls(self) -> Mapping[Place, int]:
        """(provider, path) -> milliseconds for which its values are valid."""
        return self.resolved.ttls

    @property
    def content(self) -> bytes:
        """A hash of all values, to compare with those of another run in this process."""
        resolved = self.resolved
        texts = {f"text {label}": resolved.text(label) for label in resolved.texts}
        return _CONTENTS.of({**without_reload_action(resolved.configs()), **texts})

    def subscribe(self, place: Place, callback: Callable[[], object]) -> None:
        """
        Call ``callback`` when values at ``place`` are no longer those of this run.

        :raises NotImplementedError: the provider does not support it
        :raises ProviderLookupError: the values cannot be read now
        :raises ProviderUnavailableError: as it says; nothing is subscribed to then
        """
        provider = self.resolver and self.resolver.providers.named(place[0])
        if not provider:
            return
        path, keys = place[1], self.places[place]

        def call(path: str, data: ConfigData) -> None:
            callback()

        provider.subscribe(path, keys, call)
        try:
            data = provider.get(path, keys)
        except ProviderUnavailableError:  # the caller subscribes again, and would be called once for each try
            with suppress(Exception):  # not every provider can, and its message can contain a value
                provider.unsubscribe(path, keys, call)
            raise
        if self.resolved.differs(place, data):
            callback()

    def know(self, earlier: ReverseTransformer) -> None:
        """Show references also in place of the values of ``earlier``, which the job had in an earlier process."""
        before, ending = self._installation, self._ending
        self.reverser = self.reverser.knowing(earlier)
        self._install()
        ending.give_up()
        before.uninstall()
        mask_secrets([*(value for _, value in earlier.pairs), *earlier.hidden])

    def differs_from(self, submitted: ReverseTransformer, *, besides: Collection[ConfigVariable] = ()) -> bool:
        """
        Return whether a value is another one than in ``submitted``, which knows the values of an earlier run.

        :param besides: references whose values do not matter
        """
        return not self.reverser.changed_from(submitted) <= {*besides} or not self.reverser.hidden <= submitted.hidden

    def again(self) -> JobRun:
        """
        Settle and resolve the configuration again, with the same rules.

        :raises ConfigProvidersError: as for the first time
        """
        if self._source is None:
            raise ConfigException("This run cannot be resolved again.")
        return self._source.again(self.reverser)

    @property
    def dynamic_mark(self) -> object:
        """What ``read_dynamic_mark`` would have returned when the dynamic configuration of this was read."""
        return None if self._source is None else self._source.mark

    def read_dynamic_mark(self) -> object:
        """
        Return what differs after each change and each refresh of the job's dynamic configuration.

        :raises ConfigProvidersError: it cannot be read now
        """
        return None if self._source is None else self._source.read_mark()

    def keep_leases(self, *, is_left: bool) -> None:
        """Let leases outlive this process, or not; see ``ConfigProvider.keep_leases``."""
        if self.resolver is not None:
            self.resolver.providers.keep_leases(is_left=is_left)

    def clear(self) -> None:
        """Forget the values for spark-submit, and end the run. Logs still show references."""
        if self._resolved:
            self._resolved.clear()
        self._end()

    def close(self) -> None:
        """Forget all values, in a process that continues."""
        if self._resolved:
            self.clear()
            self._ending()


def _let_go(installation: Installation, reverser: ReverseTransformer, end: Once) -> None:
    end()
    if is_process_ending():  # other threads, and what was registered earlier for that end, can still print
        installation.release()
        return
    installation.uninstall()
    reverser.forget()
