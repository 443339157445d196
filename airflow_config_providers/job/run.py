"""The configuration of one run of a Spark job."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.content_hash import ContentHash
from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.ending import Ending
from airflow_config_providers.core.keys import key_problems
from airflow_config_providers.core.layers import ConfigSource, LayeredConfig
from airflow_config_providers.core.lookup import Place
from airflow_config_providers.core.nested import ITEMS
from airflow_config_providers.core.once import Once
from airflow_config_providers.core.reload import without_reload_action
from airflow_config_providers.core.resolver import ResolvedConfig
from airflow_config_providers.core.reversal.reverse import KEPT, ReverseTransformer
from airflow_config_providers.core.text import printable
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError, refuse
from airflow_config_providers.job.exposed_values import refuse_added
from airflow_config_providers.job.nested_texts import NestedString, in_order, label_below, map_texts
from airflow_config_providers.job.policies import NO_VERDICT, TaskVerdict
from airflow_config_providers.log.installation import Installation, install
from airflow_config_providers.masker import mask_secrets
from airflow_config_providers.spark.arguments import ENVIRONMENT_ON_KUBERNETES, IN_COMMAND
from airflow_config_providers.spark.expansion import SUBSTITUTED_BY_SPARK
from airflow_config_providers.spark.processes.child_process import refuse_unpassable, room
from airflow_config_providers.spark.redaction import OF_SESSION, REDACTION_KEY, is_hidden_by_spark

if TYPE_CHECKING:
    from airflow_config_providers.job.resolver import JobResolver
    from airflow_config_providers.spark.delivery import Delivery, Submission

_JAVA_COMMAND = "sun.java.command"
"""The property with the command that started Spark, which Spark shows."""

_NO_VALUES: Final = (
    "This copy of the task has no values. Run the task that Airflow has rendered. If a policy or a DAG file has "
    "replaced the task's execute by a function that calls the method that was there before, let it call "
    'type(task).execute(task, context), with task = context["task"].'
)

_CONTENTS: Final = ContentHash()

NO_VALUES: Final[Mapping[str, str]] = MappingProxyType({})

ReadField = Callable[[str], Any]
"""Returns the content of a field of an operator, with references; None if it has none."""


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
    :param earlier: replaces the values that the job had before a reload, which can still be logged: of each reference,
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
        self._resolver = resolver
        self._end = Once(end)
        self._source = source
        self.reverser = ReverseTransformer({}, {})
        """Replaces values by references, also those before a reload."""
        self.withheld: frozenset[str] = frozenset()
        """The names of the environment variables that child processes of the job must not inherit."""
        try:
            self._begin(earlier)
        except BaseException:  # the caller has left the providers to this object
            self.clear()
            raise

    def _begin(self, earlier: ReverseTransformer | None) -> None:
        if self._resolver is not None:
            self.withheld = self._resolver.withheld()
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
        self._let_go = Ending(self, let_go, is_quick=lambda: not end and not installation.is_active)

    def __deepcopy__(self, memo: dict[int, Any]) -> JobRun:
        return JobRun()

    def __reduce__(self) -> tuple[type[JobRun], tuple[()]]:
        return JobRun, ()

    def __bool__(self) -> bool:
        return self._resolved is not None

    @property
    def is_over(self) -> bool:
        """Whether its values are forgotten, or it never had any."""
        return self._resolved is None or self._resolved.is_cleared

    @property
    def layered(self) -> LayeredConfig:
        """The settled layers, with references."""
        return self._needed.layered

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
        return self._needed.places

    @property
    def ttls(self) -> Mapping[Place, int]:
        """(provider, path) -> milliseconds for which its values are valid."""
        return self._needed.ttls

    @property
    def content(self) -> bytes:
        """A hash of all values, to compare with those of another run in this process."""
        configs = without_reload_action(self._needed.configs())
        return _CONTENTS.of({**configs, **{f"text {label}": text for label, text in self.texts().items()}})

    def subscribe(self, place: Place, callback: Callable[[], object]) -> None:
        """
        Call ``callback`` when values at ``place`` are no longer those of this run.

        :raises NotImplementedError: the provider does not support it
        :raises ProviderLookupError: the values cannot be read now
        :raises ProviderUnavailableError: as it says; nothing is subscribed to then
        """
        provider = self._resolver and self._resolver.providers.named(place[0])
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
        if self._needed.differs(place, data):
            callback()

    def know(self, earlier: ReverseTransformer) -> None:
        """Show references also in place of the values of ``earlier``, which the job had in an earlier process."""
        before, let_go = self._installation, self._let_go
        self.reverser = self.reverser.knowing(earlier)
        self._install()
        let_go.give_up()
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

    @property
    def _is_left_to_driver(self) -> bool:
        return self._resolver is not None and self._resolver.leaves_to_driver

    @property
    def _carried(self) -> Mapping[str, str]:
        return self._resolver.carried() if self._resolver else {}

    def resolved_line(self) -> str:
        """Return the line with the resolved references, to distinguish them from strings that look like references."""
        resolved = self._needed
        found = ", ".join(map(printable, resolved.references)) or "none"
        rest = ". The driver resolves those of the configuration" if self._is_left_to_driver else _kept(resolved)
        return f"Resolved references, which this log shows in place of their values: {found}{rest}"

    def value_notes(self) -> Iterator[str]:
        """Yield a sentence about each kind of value that is probably not what was meant; no values."""
        return self._needed.value_doubts()

    def unresolved_notes(self) -> Iterator[str]:
        """Yield a sentence for each reference that is left to Spark because no connection defines providers."""
        unresolved = self._needed.unresolved
        if not unresolved or not self._resolver or self._is_left_to_driver:
            return
        providers = self._resolver.providers
        if providers.names():
            return
        conn_id = printable(providers.conn_id)
        why, way_out = f"there is no connection '{conn_id}' that defines providers", "add the connection"
        if providers.is_defined():
            why, way_out = f"connection '{conn_id}' defines no provider", "define the provider there"
        for key, missing in unresolved.items():
            for variable in missing:
                if variable.provider in SUBSTITUTED_BY_SPARK:
                    yield (
                        f"{printable(key)}: {printable(str(variable))} is left to Spark as it is, because {why}. If a "
                        f"provider should resolve it, correct config_conn_id, or {way_out}."
                    )

    def keep_leases(self, *, is_left: bool) -> None:
        """Let leases outlive this process, or not; see ``ConfigProvider.keep_leases``."""
        if self._resolver is not None:
            self._resolver.providers.keep_leases(is_left=is_left)

    def submission(
        self,
        read: ReadField,
        conf: Mapping[str, Any],
        environment_prefix: str | None,
        values: Mapping[str, str] = NO_VALUES,
    ) -> Submission:
        """
        Return what spark-submit gets.

        :param read: reads the fields of the operator
        :param conf: the hook's configuration with references, including what Airflow has added since rendering
        :param environment_prefix: the prefix of its keys if the driver's environment is configuration; otherwise None
        :param values: further keys, whose strings are values: what looks like a reference in them is none
        :raises ConfigException: a reference was added since rendering
        """
        return self._submitted(read, conf, environment_prefix, {**values, **self._carried})

    def require_deliverable(self, read: ReadField, environment_prefix: str | None) -> None:
        """
        Make sure that ``submission`` would succeed, without making a secret ID for a driver, which needs Vault.

        :raises ConfigProvidersError: a value would not arrive unchanged
        """
        self._submitted(read, self.shown, environment_prefix, NO_VALUES)

    def _submitted(
        self, read: ReadField, conf: Mapping[str, Any], environment_prefix: str | None, values: Mapping[str, str]
    ) -> Submission:
        from airflow_config_providers.spark.delivery import Submission  # noqa: PLC0415 - as in _planned

        configs, added = self._with_added(conf, values)
        written: Mapping[str, Any] = read("env_vars") or {}
        environment = self._environment(written)
        if environment_prefix:
            _refuse_odd_names(written, environment_prefix)
        variables = {f"{environment_prefix}{name}": value for name, value in environment.items() if environment_prefix}
        arguments = {name: value for name in IN_COMMAND if (value := self._field(name, read(name))) is not None}
        in_process: Mapping[Any, object] = {**written, **environment}
        if environment_prefix == ENVIRONMENT_ON_KUBERNETES:  # only there, they are just strings of the configuration
            in_process = {name: str(value) for name, value in in_process.items()}
        refuse_unpassable(in_process, _words(read, arguments))
        _refuse_option(arguments.get("application", read("application")))
        hidden = {*variables, *([_JAVA_COMMAND] if arguments else [])}
        delivery = self._planned({**configs, **variables}, added, hidden=hidden)
        return Submission(delivery, arguments, environment, properties_file=bool(read("properties_file")))

    def _planned(
        self, configs: Mapping[str, str], added: Set[str], *, hidden: Set[str] = frozenset(), in_process: bool = False
    ) -> Delivery:
        """Return ``configs``, split into what may be in a command and what may not, like the keys in ``hidden``."""
        from airflow_config_providers.spark.delivery import plan  # noqa: PLC0415 - only if Spark starts on this machine

        layered = self._needed.layered
        return plan(
            configs,
            sensitive=self._sensitive(configs, added) | hidden,
            written=layered.settled,
            filed=_filed(layered) - added,
            room=room(os.environ),
            in_process=in_process,
        )

    def commands_afterwards(self, written: Sequence[str]) -> Sequence[str]:
        """
        Return the commands that run after the job with their values, also after a kill; nothing is asked for them.

        :param written: the commands of the operator, with references
        :raises ConfigProvidersError: the values are no longer known
        """
        found: Sequence[str] | None = self._field("post_submit_commands", written)
        return written if found is None else found

    def _with_added(self, conf: Mapping[str, Any], more: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
        """Return the values of ``conf`` with ``more`` values, and the keys that were added since rendering."""
        values, added = self._needed.configs(), self.added(conf)
        if not self._is_left_to_driver:  # a driver resolves all that it gets
            self.refuse_late(NestedString(key, text) for key, text in added.items())
        found = {key: added[key] if key in added else values[key] for key in without_reload_action(conf)}
        return {**found, **more}, {*added, *more}

    def added(self, conf: Mapping[str, Any]) -> dict[str, str]:
        """Return the keys of ``conf`` that were added or changed since rendering, with their strings."""
        shown = self.shown
        return {key: str(text) for key, text in without_reload_action(conf).items() if shown.get(key) != text}

    def refuse_late(self, added: Iterable[NestedString]) -> None:
        """
        Make sure that no string that was added since rendering has a reference to a provider.

        :raises ConfigException: strings do; all of them are reported
        """
        resolver = self._resolver
        late = (one.label for one in added if resolver is not None and resolver.comes_too_late(one.text))
        refuse(ConfigException, map(_late_problem, late))

    def texts(self) -> dict[str, str]:
        """Return name -> value of the additional strings, as a new mapping on each call."""
        return {name: self._needed.text(name) for name in self._needed.texts}

    def value(self, one: NestedString) -> str:
        """Return the value of a string in a field; the string itself if it is not, or no longer, what was resolved."""
        return self._needed.text(one.label) if self._is_resolved(one) else one.text

    def _is_resolved(self, one: NestedString) -> bool:
        return self._needed.written.get(one.label) == one.text

    def refuse_exposed(self, added: Mapping[str, str]) -> None:
        """
        Make sure that other people cannot read a value that code has put under a key.

        :param added: key -> string that code has added
        :raises ExposedValueError: other people could read one
        """
        if self._resolver is not None and not self._resolver.allow_exposed:
            refuse_added({key: added[key] for key in self._having_values(added)})

    def _sensitive(self, configs: Mapping[str, str], added: Collection[str]) -> set[str]:
        """Return the keys whose strings a command must not have, also of those that were added."""
        having_values = self._having_values({key: configs[key] for key in added})
        return {*(self._needed.sensitive & configs.keys()), *filter(_is_secret_of_airflow, added), *having_values}

    def _having_values(self, texts: Mapping[str, object]) -> list[str]:
        """Return the names of strings into which code has put values, as ``execute`` can if a field has one."""
        values, reverse = self._needed.values(), self.reverser.reverse_text
        return [name for name, one in texts.items() if isinstance(one, str) and (one in values or reverse(one) != one)]

    def configs_for(self, conf: Mapping[str, Any]) -> dict[str, str]:
        """
        Return the values of the configuration, or what a driver needs to resolve it, as a new mapping.

        :param conf: the configuration with references, including what was added since rendering
        :raises ConfigException: a reference was added
        """
        return self._with_added(conf, self._carried)[0]

    def delivery(self, conf: Mapping[str, Any] | None = None, *, in_process: bool = False) -> Delivery:
        """
        Return the configuration, split into what may be in a command and what may not.

        :param conf: the configuration with references, including what was added since rendering; None for no additions
        :param in_process: see ``plan``
        :raises ConfigException: a reference was added
        :raises UndeliverableValueError: a value would not arrive unchanged
        """
        configs, added = self._with_added(self.shown if conf is None else conf, NO_VALUES)
        return self._planned(configs, added, in_process=in_process)

    def session_configs(self, delivery: Delivery) -> dict[str, str]:
        """
        Return what a session of Spark Connect sets, with values.

        The server hides what its owner has chosen, which no session can change for ``spark.redaction.regex``. It could
        replace the other patterns, but only the author and the owner of the deployment may.
        """
        configs = delivery.configs
        left_out = {REDACTION_KEY, *(key for key in OF_SESSION & configs.keys() if not self._is_authored(key))}
        return {key: value for key, value in configs.items() if key not in left_out}

    def _is_authored(self, key: str) -> bool:
        sources = {one.source for one in self.layered.describe(key).synonyms}
        return any(not source.is_steered for source in sources - {ConfigSource.DEFAULT_CONFIG})

    def clear(self) -> None:
        """Forget the values for spark-submit, and end the run. Logs still show references."""
        if self._resolved:
            self._resolved.clear()
        self._end()

    def close(self) -> None:
        """Forget all values, in a process that continues."""
        if self._resolved:
            self.clear()
            self._let_go()

    @property
    def _needed(self) -> ResolvedConfig:
        if self._resolved is None:
            raise ConfigException(_NO_VALUES)
        return self._resolved

    def _environment(self, written: Mapping[str, Any]) -> dict[str, str]:
        found = {name: NestedString(label_below("env_vars", name), text) for name, text in written.items()}
        private = {name: self.value(one) for name, one in found.items() if self._is_resolved(one)}
        others = {name: text for name, text in written.items() if name not in private}
        return {**private, **{name: others[name] for name in self._having_values(others)}}

    def _field(self, name: str, value: Any) -> Any:
        """Return the resolved value of a field; None if it has no reference."""
        found = map_texts(value, name, self.value)
        return found if found != value else None


def _kept(resolved: ResolvedConfig) -> str:
    """Return a sentence with the references that ``unresolved="keep"`` leaves as they are, and one with Spark's own."""
    found = {variable for missing in resolved.unresolved.values() for variable in missing}
    of_spark = {variable for variable in found if variable.provider in SUBSTITUTED_BY_SPARK}
    whys = {"unresolved is 'keep'": found - of_spark, "no provider has their name": of_spark}
    return "".join(f". Left as they are, because {why}: {_listed(kept)}" for why, kept in whys.items() if kept)


def _listed(variables: Iterable[ConfigVariable]) -> str:
    return ", ".join(sorted(printable(str(variable)) for variable in variables))


def _late_problem(label: str) -> str:
    return (
        f"{printable(label.lstrip('_'))}: it has a reference that was added or moved after the task was rendered, when "
        f"references are no longer resolved. Write it in the DAG, or in the constructor of the operator's class."
    )


def _refuse_odd_names(names: Collection[str], prefix: str) -> None:
    """Refuse environment variables whose names would truncate a key of Spark."""
    keys = [f"{prefix}{name}" for name in names]
    found = key_problems(keys, lambda _: "of env_vars")
    refuse(ConfigException, (text for problem in found for text in problem.problems))


def _refuse_option(application: object) -> None:
    """Refuse a path that spark-submit reads as an option, with which a run or a task could set any key unseen."""
    if isinstance(application, str) and application.startswith("-"):
        raise ConfigException(
            "application: it begins with '-', so Spark would read it, and the arguments after it, as options. Write "
            "options as keys of conf, and the path of a file with './' in front."
        )


def _words(read: ReadField, resolved: Mapping[str, Any]) -> dict[str, object]:
    """Return label -> word for the words of the command that come from fields, with resolved values."""
    found: dict[str, object] = {}
    for name in IN_COMMAND:
        value = resolved.get(name, read(name))
        if isinstance(value, str):
            found[name] = value
        elif name == "application_args" and isinstance(value, ITEMS):
            found |= {label_below(name, i): item for i, item in enumerate(in_order(value))}
    return found


def _filed(layered: LayeredConfig) -> set[str]:
    """Return the keys that come from files: a command must not show what it did not show before."""
    return {key for key in layered.settled if layered.source(key) is ConfigSource.STATIC_FILE_CONFIG}


def _let_go(installation: Installation, reverser: ReverseTransformer, end: Once) -> None:
    end()
    installation.uninstall()
    reverser.forget()


def _is_secret_of_airflow(key: str) -> bool:
    """Return whether ``key`` can hold a secret; OpenLineage has an API key under names that redaction does not know."""
    return key.startswith("spark.openlineage.transport.") or is_hidden_by_spark(key)
