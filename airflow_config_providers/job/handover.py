"""What Spark gets of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.keys import key_problems
from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.core.nested import ITEMS
from airflow_config_providers.core.reload import without_reload_action
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.job.exposed_values import PlacedText, refuse_added, refuse_broken_words, shows_environment
from airflow_config_providers.job.nested_texts import NestedString, in_order, label_below, map_texts, texts
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.spark.named_arguments import ENVIRONMENT_ON_KUBERNETES, IN_COMMAND
from airflow_config_providers.spark.processes.child_process import refuse_unpassable, room
from airflow_config_providers.spark.redaction import OF_SESSION, REDACTION_KEY, is_hidden_by_spark

if TYPE_CHECKING:
    from airflow_config_providers.spark.delivery import Delivery, Submission

_COMMANDS: Final = "post_submit_commands"

_JAVA_COMMAND: Final = "sun.java.command"
"""The property with the command that started Spark, which Spark shows."""

_LATE: Final = (
    "it has a reference that was added or moved after the task was rendered, when references are no longer resolved. "
    "Write it in the DAG, or in the constructor of the operator's class."
)

ReadField = Callable[[str], Any]
"""Returns the content of a field of an operator, with references; None if it has none."""


@dataclass(frozen=True, slots=True)
class Handover:
    """
    Hands the values of a run over to Spark, with what code has added to the strings of the operator since rendering.

    :param run: the run, which still has its values
    """

    run: JobRun

    def submission(
        self,
        read: ReadField,
        conf: Mapping[str, Any],
        environment_prefix: str | None,
        values: Mapping[str, str] | None = None,
    ) -> Submission:
        """
        Return what spark-submit gets.

        :param read: reads the fields of the operator
        :param conf: the hook's configuration with references, including what Airflow has added since rendering
        :param environment_prefix: the prefix of its keys if the driver's environment is configuration; otherwise None
        :param values: further keys, whose strings are values: what looks like a reference in them is none
        :raises ConfigException: a reference was added since rendering
        """
        return self._submitted(read, conf, environment_prefix, {**(values or {}), **self._carried()})

    def require_deliverable(self, read: ReadField, environment_prefix: str | None) -> None:
        """
        Make sure that ``submission`` would succeed, without making a secret ID for a driver, which needs Vault.

        :raises ConfigProvidersError: a value would not arrive unchanged
        """
        self._submitted(read, self.run.shown, environment_prefix, {})

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
        self._refuse_broken_commands(read(_COMMANDS) or ())
        hidden = {*variables, *([_JAVA_COMMAND] if arguments else [])}
        delivery = self._planned({**configs, **variables}, added, hidden=hidden)
        return Submission(delivery, arguments, environment, properties_file=bool(read("properties_file")))

    def _planned(
        self, configs: Mapping[str, str], added: Set[str], *, hidden: Set[str] = frozenset(), in_process: bool = False
    ) -> Delivery:
        """Return ``configs``, split into what may be in a command and what may not, like the keys in ``hidden``."""
        from airflow_config_providers.spark.delivery import plan  # noqa: PLC0415 - only if Spark starts on this machine

        layered = self.run.resolved.layered
        filed = {key for key in layered.settled if layered.source(key) is ConfigSource.STATIC_FILE_CONFIG}
        return plan(
            configs,
            sensitive=self._sensitive(configs, added) | hidden,
            written=layered.settled,
            filed=filed - added,  # a command must not show what it did not show before
            room=room(os.environ),
            in_process=in_process,
        )

    def commands_afterwards(self, written: Sequence[str]) -> Sequence[str]:
        """
        Return the commands that run after the job with their values, also after a kill; nothing is asked for them.

        :param written: the commands of the operator, with references
        :raises ConfigProvidersError: the values are no longer known, or would change what a command does
        """
        resolved: Sequence[str] | None = self._field(_COMMANDS, written)
        self._refuse_broken_commands(written)
        return written if resolved is None else resolved

    def _refuse_broken_commands(self, written: Sequence[str]) -> None:
        """
        Make sure that no value changes how a command after the job is split into words, or what a shell in it does.

        :raises ExposedValueError: values do; all such commands are reported
        """
        found = texts(written, _COMMANDS)
        values = {one.label: self.value(one) for one in found}
        shown = {one.label: one.text for one in found}
        refuse_broken_words((_COMMANDS,), written=shown, values=values, allow_exposed=True)  # or rendering refuses them

    def _with_added(self, conf: Mapping[str, Any], more: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
        """Return the values of ``conf`` with ``more`` values, and the keys that were added since rendering."""
        values, added = self.run.resolved.configs(), self.added(conf)
        if not self.run.is_left_to_driver:  # a driver resolves all that it gets
            self.refuse_late(NestedString(key, text) for key, text in added.items())
        configs = {key: added[key] if key in added else values[key] for key in without_reload_action(conf)}
        return {**configs, **more}, {*added, *more}

    def added(self, conf: Mapping[str, Any]) -> dict[str, str]:
        """Return the keys of ``conf`` that were added or changed since rendering, with their strings."""
        shown = self.run.shown
        return {key: str(text) for key, text in without_reload_action(conf).items() if shown.get(key) != text}

    def refuse_late(self, added: Iterable[NestedString]) -> None:
        """
        Make sure that no string that was added since rendering has a reference to a provider.

        :raises ConfigException: strings do; all of them are reported
        """
        resolver = self.run.resolver
        late = (one.label for one in added if resolver is not None and resolver.comes_too_late(one.text))
        refuse(ConfigException, (f"{printable(label.lstrip('_'))}: {_LATE}" for label in late))

    def value(self, one: NestedString) -> str:
        """Return the value of a string in a field; the string itself if it is not, or no longer, what was resolved."""
        return self.run.resolved.text(one.label) if self._is_resolved(one) else one.text

    def _is_resolved(self, one: NestedString) -> bool:
        return self.run.resolved.written.get(one.label) == one.text

    def refuse_exposed(self, added: Mapping[str, str]) -> None:
        """
        Make sure that other people cannot read a value that code has put under a key.

        :param added: key -> string that code has added
        :raises ExposedValueError: other people could read one
        """
        if self._refuses_exposed:
            refuse_added(PlacedText(key, key, added[key]) for key in self._having_values(added))

    def refuse_exposed_variables(self, added: Mapping[str, str], prefix: str, *, is_remote: Callable[[], bool]) -> None:
        """
        Make sure that other people cannot read a value that code has put into an environment variable.

        :param added: name -> string that code has added
        :param prefix: what makes a key of the name
        :param is_remote: returns whether the driver runs on another machine; called only if that matters
        :raises ExposedValueError: other people could read one
        """
        names = self._having_values(added) if self._refuses_exposed else []
        if names and shows_environment(prefix, is_remote):
            refuse_added(PlacedText(label_below("env_vars", name), f"{prefix}{name}", added[name]) for name in names)

    @property
    def _refuses_exposed(self) -> bool:
        return self.run.resolver is not None and not self.run.resolver.allow_exposed

    def _sensitive(self, configs: Mapping[str, str], added: Collection[str]) -> set[str]:
        """Return the keys whose strings a command must not have, also of those that were added."""
        having_values = self._having_values({key: configs[key] for key in added})
        return {*(self.run.resolved.sensitive & configs.keys()), *filter(_is_secret_of_airflow, added), *having_values}

    def _having_values(self, texts: Mapping[str, object]) -> list[str]:
        """Return the names of strings into which code has put values, as ``execute`` can if a field has one."""
        values, reverse = self.run.resolved.values(), self.run.reverser.reverse_text
        return [name for name, one in texts.items() if isinstance(one, str) and (one in values or reverse(one) != one)]

    def configs_for(self, conf: Mapping[str, Any]) -> dict[str, str]:
        """
        Return the values of the configuration, or what a driver needs to resolve it, as a new mapping.

        :param conf: the configuration with references, including what was added since rendering
        :raises ConfigException: a reference was added
        """
        return self._with_added(conf, self._carried())[0]

    def _carried(self) -> Mapping[str, str]:
        return self.run.resolver.carried() if self.run.resolver else {}

    def delivery(self, conf: Mapping[str, Any] | None = None, *, in_process: bool = False) -> Delivery:
        """
        Return the configuration, split into what may be in a command and what may not.

        :param conf: the configuration with references, including what was added since rendering; None for no additions
        :param in_process: see ``plan``
        :raises ConfigException: a reference was added
        :raises UndeliverableValueError: a value would not arrive unchanged
        """
        configs, added = self._with_added(self.run.shown if conf is None else conf, {})
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
        sources = {one.source for one in self.run.resolved.layered.describe(key).synonyms}
        return any(not source.is_steered for source in sources - {ConfigSource.DEFAULT_CONFIG})

    def _environment(self, written: Mapping[str, Any]) -> dict[str, str]:
        texts = {name: NestedString(label_below("env_vars", name), text) for name, text in written.items()}
        private = {name: self.value(one) for name, one in texts.items() if self._is_resolved(one)}
        others = {name: text for name, text in written.items() if name not in private}
        return {**private, **{name: others[name] for name in self._having_values(others)}}

    def _field(self, name: str, value: Any) -> Any:
        """Return the resolved value of a field; None if it has no reference."""
        resolved = map_texts(value, name, self.value)
        return resolved if resolved != value else None


def _refuse_odd_names(names: Collection[str], prefix: str) -> None:
    """Refuse environment variables whose names would truncate a key of Spark."""
    keys = [f"{prefix}{name}" for name in names]
    problems = key_problems(keys, lambda _: "of env_vars")
    refuse(ConfigException, (text for problem in problems for text in problem.problems))


def _refuse_option(application: object) -> None:
    """Refuse a path that spark-submit reads as an option, with which a run or a task could set any key unseen."""
    if isinstance(application, str) and application.startswith("-"):
        raise ConfigException(
            "application: it begins with '-', so Spark would read it, and the arguments after it, as options. Write "
            "options as keys of conf, and the path of a file with './' in front."
        )


def _words(read: ReadField, resolved: Mapping[str, Any]) -> dict[str, object]:
    """Return label -> word for the words of the command that come from fields, with resolved values."""
    words: dict[str, object] = {}
    for name in IN_COMMAND:
        value = resolved.get(name, read(name))
        if isinstance(value, str):
            words[name] = value
        elif name == "application_args" and isinstance(value, ITEMS):
            words |= {label_below(name, i): item for i, item in enumerate(in_order(value))}
    return words


def _is_secret_of_airflow(key: str) -> bool:
    """Return whether ``key`` can hold a secret; OpenLineage has an API key under names that redaction does not know."""
    return key.startswith("spark.openlineage.transport.") or is_hidden_by_spark(key)
