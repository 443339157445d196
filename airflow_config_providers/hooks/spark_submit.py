"""A spark-submit hook that delivers a resolved configuration without showing it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import Any, Final, Self

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from airflow_config_providers.airflow_compat import AirflowException
from airflow_config_providers.core.process_environment import lacking, value_of
from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.reversal.stream import reverse_lines
from airflow_config_providers.core.text import one_line
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigProvidersError, SubmitError
from airflow_config_providers.hooks.take_over import taken_over
from airflow_config_providers.job.exposed_values import Destination
from airflow_config_providers.job.run import JobRun
from airflow_config_providers.spark.delivery import Delivery, Submission, private_properties
from airflow_config_providers.spark.driver_ports import authenticated, doubt_of_ports
from airflow_config_providers.spark.installation import SparkInstallation, doubt_of_defaults, doubt_of_mode
from airflow_config_providers.spark.named_arguments import (
    ENVIRONMENT_ON_KUBERNETES,
    ENVIRONMENT_ON_YARN,
    FROM_CONNECTION,
    SUBMIT,
)
from airflow_config_providers.spark.processes import child_process
from airflow_config_providers.spark.processes.child_process import refusing_too_long
from airflow_config_providers.spark.processes.process_family import LateKill, ProcessFamily
from airflow_config_providers.spark.processes.two_streams import TwoStreams

_API_MODE: Final = "spark.api.mode"
_DEPLOY_MODE: Final = "spark.submit.deployMode"
_DEPLOY_MODE_VARIABLE: Final = "DEPLOY_MODE"

_ASSUMED_MASTER: Final = "yarn"
"""What the stock hook assumes if it does not find its connection."""

_SECONDS_TO_END: Final = 30.0
"""How long Spark can take to end before it is killed."""

_LEFT: Final = (
    "Processes of the stopped job cannot be ended, so they go on beside the next job. End them on this worker. "
    "Their ids: %s"
)

_NO_APPLICATION: Final = (
    "spark-submit has not named the application on YARN, so this task can neither follow nor kill it. It perhaps goes "
    "on: look in YARN before you try again. The name is in a line of level INFO: let the log4j2.properties of this "
    "worker's Spark show those of org.apache.spark.deploy.yarn.Client."
)


def runs_in_cluster(hook: SparkSubmitHook, configs: Mapping[str, str], variables: Mapping[str, Any]) -> bool:
    """
    Return whether spark-submit starts the driver in the cluster, by its own order: option, configuration, environment.

    A mode that ``spark-env.sh`` sets is not known here: ``doubt_of_mode`` warns of it when the job is submitted.

    A mode that is a reference is taken for ``cluster``, because it can become that. The master needs no such search:
    ``hook`` always gives it as an option, which wins.

    :param configs: the settled configuration, with the defaults file
    :param variables: the author's environment variables
    """
    is_inherited = not hook._is_kubernetes  # there, the author's variables are keys of the driver's pod
    variable = (variables.get(_DEPLOY_MODE_VARIABLE) if is_inherited else None) or value_of(
        os.environ, _DEPLOY_MODE_VARIABLE
    )
    mode = str(hook._connection["deploy_mode"] or configs.get(_DEPLOY_MODE) or variable or "")
    return mode.strip() == "cluster" or bool(scan(mode))


def prefix_of(hook: SparkSubmitHook) -> str | None:
    """Return the prefix with which ``hook`` makes keys of the driver's environment; None if it does not."""
    if hook._is_yarn:
        return ENVIRONMENT_ON_YARN
    return ENVIRONMENT_ON_KUBERNETES if hook._is_kubernetes else None


def destination_of(hook: SparkSubmitHook, variables: Mapping[str, Any]) -> Destination:
    """
    Return where ``hook`` runs its job.

    :param variables: the author's environment variables
    """
    return Destination(
        prefixes=tuple(filter(None, [prefix_of(hook)])),
        is_remote=lambda configs: runs_in_cluster(hook, configs, variables),
        absent=lambda: _absent_connection(hook),
    )


def _absent_connection(hook: SparkSubmitHook) -> str:
    """Return the id of the connection of ``hook`` if it was not found; otherwise, an empty string."""
    is_assumed = hook._connection["master"] == _ASSUMED_MASTER
    return str(hook._conn_id) if is_assumed and not has_connection(hook) else ""


def has_connection(hook: SparkSubmitHook) -> bool:
    """Return whether the connection that ``hook`` names exists."""
    try:
        hook.get_connection(hook._conn_id)
    except AirflowException:  # as the stock hook takes it
        return False
    return True


class ConfiguredSparkSubmitHook(SparkSubmitHook):
    """A ``SparkSubmitHook`` that holds references until it submits, and forgets the values afterwards."""

    _submission: Callable[[Mapping[str, Any], str | None, Mapping[str, str]], Submission]
    _job_run: Callable[[], JobRun]
    _resolve_commands: Callable[[Sequence[str]], Sequence[str]]
    _private_environment: Mapping[str, str]
    _streams: TwoStreams | None = None
    _environ_of_child: dict[str, Any] | None = None
    _environ_of_author: dict[str, Any] | None = None
    _late_kill: LateKill
    _family: ProcessFamily
    is_in_cluster = False
    """Whether the driver of the submitted job runs in the cluster, whatever has said so."""
    _is_killed = False
    _is_read = False

    @classmethod
    def of(
        cls,
        hook: SparkSubmitHook,
        *,
        submission: Callable[[Mapping[str, Any], str | None, Mapping[str, str]], Submission],
        run: Callable[[], JobRun],
        resolve_commands: Callable[[Sequence[str]], Sequence[str]] = list,
    ) -> Self:
        """
        Return a hook with all the attributes of ``hook``, whose named arguments have become configuration.

        If ``hook`` has a custom class, the result keeps what that class adds.

        :param submission: returns what to submit, given the configuration with references, the prefix of keys for the
            driver's environment, and further keys with values. It is called only when the job is submitted, so that
            killing a job or following it again needs no secret
        :param run: returns the run, whose values are not shown in what is logged or raised, and whose ``withheld``
            variables spark-submit and the commands after it do not inherit
        :param resolve_commands: returns the commands after the job with values in place of references, given those of
            the hook; it makes nothing for a driver, and is also called after a kill
        :raises UnsupportedVersionError: the installed Spark provider lacks something that this class leans on
        """
        self = taken_over(cls, hook, _submission=submission, _job_run=run)
        self._resolve_commands = resolve_commands
        self._private_environment = {}
        self._late_kill = LateKill()
        self._family = ProcessFamily()
        self._conf = dict(hook._conf)
        self._use_settled_arguments()
        return self

    def _use_settled_arguments(self) -> None:
        """Leave named arguments to the configuration, except those that the stock hook mixes with its connection."""
        for name, key in SUBMIT.keys.items():
            if key in self._conf:
                setattr(self, f"_{name}", None)
        for name, part in FROM_CONNECTION.items():
            text = self._conf.get(SUBMIT.keys[name])
            if text is not None:
                self._connection[part] = None if scan(text) else self._conf.pop(SUBMIT.keys[name])

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """
        Run spark-submit with the resolved configuration.

        :raises SubmitError: there is no spark-submit or no Java on this machine, or the command is too long for it
        """
        spark = self._require_spark()
        submission = self._submitted()
        submission = replace(submission, delivery=authenticated(submission.delivery, self._connection["master"]))
        configs = submission.delivery.configs
        self.is_in_cluster = runs_in_cluster(self, configs, {**(self._env_vars or {}), **submission.environment})
        self._warn_of_copies(submission.delivery, spark)
        self._warn_of_unread_defaults(submission, spark)
        application = submission.arguments.get("application", application)
        with (
            refusing_too_long(),
            TwoStreams() as streams,
            self._holding(submission, streams),
            self._properties(submission) as pass_fds,
        ):
            kwargs["env"] = self._environ_of_child = child_process.without(os.environ, self._job_run().withheld)
            result: str | None = super().submit(application, pass_fds=(*streams.pass_fds, *pass_fds), **kwargs)
            return result

    def _require_spark(self) -> SparkInstallation:
        spark = SparkInstallation.of(self._get_spark_binary_path()[0], os.environ)
        spark.require_command()
        return spark

    def _submitted(self) -> Submission:
        return self._submission(self._conf, self.environment_prefix, {})

    def _warn_of_copies(self, delivery: Delivery, spark: SparkInstallation) -> None:
        """Warn if Spark itself writes private values where others can read them."""
        if not delivery.has_secrets:
            return
        mode = delivery.configs.get(_API_MODE, "")
        if mode.strip().lower() == "connect":
            self.log.warning(
                "With %s = connect, Spark puts its configuration into the environment of the driver's Python process. "
                "Root, the same user, and every process that the driver starts can read it. Use classic to avoid that.",
                _API_MODE,
            )
        if self.is_in_cluster:
            self.log.warning(
                "In cluster mode, Spark copies its configuration to the cluster, where others can read it. "
                "See 'Resolve in the driver' in the documentation."
            )
            return
        copied = delivery.doubt_of_yarn(self._connection["master"]) or self._doubt_of_mode(delivery, spark)
        for doubt in filter(None, (copied, doubt_of_ports(delivery))):
            self.log.warning(doubt)

    def _doubt_of_mode(self, delivery: Delivery, spark: SparkInstallation) -> str:
        """Return why it is not known where the driver runs; empty if an option or a key says it, before variables."""
        is_given = self._connection["deploy_mode"] or delivery.configs.get(_DEPLOY_MODE)
        return "" if is_given else doubt_of_mode(self._as_child(spark))

    def _as_child(self, spark: SparkInstallation) -> SparkInstallation:
        """Return the Spark in the environment that it gets."""
        return replace(spark, environ=child_process.without(os.environ, self._job_run().withheld))

    def _warn_of_unread_defaults(self, submission: Submission, spark: SparkInstallation) -> None:
        if not submission.delivery.private or submission.properties_file:
            return
        if spark.conf_directory is None:
            self.log.warning(
                "The Spark of %s cannot be located, so this job ignores its spark-defaults.conf. "
                "Set SPARK_CONF_DIR or SPARK_HOME on the worker.",
                spark.command,
            )
        if doubt := doubt_of_defaults(self._as_child(spark)):
            self.log.warning(doubt)

    def _run_post_submit_commands(self) -> None:
        # In cluster mode, they run long after spark-submit has ended, and when the task is killed.
        if getattr(self, "_post_submit_commands_done", False):  # with older releases, each call runs them
            return
        before = self._post_submit_commands
        try:
            self._post_submit_commands = [*map(self._lacking, self._commands_with_values())]
            super()._run_post_submit_commands()
        finally:
            self._post_submit_commands = before

    def _commands_with_values(self) -> Sequence[str]:
        """Return the commands after the job; without those that have references if these have no values."""
        commands = [str(command) for command in self._post_submit_commands]
        if not any(map(scan, commands)):
            return commands
        try:
            return self._resolve_commands(commands)
        except Exception as error:  # noqa: BLE001 - like the stock method, this must not replace the result of the job
            reason = str(error) if isinstance(error, ConfigProvidersError) else type(error).__name__
        self.log.warning("Post-submit commands with references do not run: they have no values. %s", reason)
        return [command for command in commands if not scan(command)]

    def _lacking(self, command: str) -> str:
        """Return a command that runs ``command`` without what it must not inherit; this process keeps that."""
        prefix = shlex.join(child_process.command_without([], self._job_run().withheld))
        return f"{prefix} {command}" if prefix and command.strip() else command  # alone, env prints everything

    def _build_track_driver_status_command(self) -> list[str]:
        # The stock hook lets it inherit everything. This process needs its own environment meanwhile, to renew leases.
        return child_process.command_without(super()._build_track_driver_status_command(), self._job_run().withheld)

    def _poll_k8s_driver_via_api(self) -> str | None:
        phase: str | None = super()._poll_k8s_driver_via_api()
        if phase is None and self._is_killed:  # the stock hook ends as if the job had succeeded
            raise SubmitError("The driver's pod was deleted because the job was killed.")
        return phase

    def _kill_yarn_application(self, application_id: str) -> None:
        """Kill an application on YARN, and the spark-submit that otherwise submits it only after that."""
        if self._submit_sp and self._submit_sp.poll() is None:
            self._submit_sp.kill()
        super()._kill_yarn_application(application_id)

    def on_kill(self) -> None:
        """
        Kill the job, with commands that do not inherit the variables that providers read.

        Until spark-submit has reported which driver it started, that driver cannot be killed. So this waits for the
        report, for 3 seconds at most, because Airflow ends the process of a task after 5; the log goes on meanwhile.
        """
        self._is_killed = True
        if self._is_read and self._submit_sp and self._is_driver_unknown():
            self._late_kill.ask(self._submit_sp)
        else:
            self._kill()

    def _kill(self) -> None:
        self._late_kill.forget()
        with lacking(os.environ, self._job_run().withheld), self._killing_driver_here():
            super().on_kill()

    def _killing_driver_here(self) -> AbstractContextManager[None]:
        """Kill what spark-submit has started here, too: the stock hook leaves a Python driver running."""
        return nullcontext() if self.is_in_cluster else self._family.killed(self._submit_sp)

    def end_driver_here(self) -> None:
        """
        Have spark-submit and what it has started end by themselves, and kill what has not ended after a while.

        Only for a driver that runs here; called in another thread, while ``submit`` waits for its end.
        """
        if self._submit_sp and (left := self._family.end(self._submit_sp, _SECONDS_TO_END)):
            self.log.warning(_LEFT, ", ".join(map(str, left)))

    def _is_driver_unknown(self) -> bool:
        """Return whether a driver in the cluster has perhaps begun. YARN's has an id before it is asked for."""
        if self._is_kubernetes:
            return self.is_in_cluster and not self._kubernetes_driver_pod
        return bool(self._should_track_driver_status and not self._driver_id)

    @contextmanager
    def _holding(self, submission: Submission, streams: TwoStreams) -> Iterator[None]:
        """Hold the values only while spark-submit runs, because listeners can access this object afterwards."""
        attributes = {f"_{name}": value for name, value in submission.arguments.items() if name != "application"}
        attributes |= {
            "_conf": dict(submission.delivery.plain),
            "_private_environment": submission.environment,
            "_env_vars": self._open_environment(submission.environment),
            "_streams": streams,
            "_environ_of_child": None,
            "_environ_of_author": None,
        }
        before = {name: getattr(self, name) for name in [*attributes, "_env", "_properties_file"]}
        try:
            vars(self).update(attributes)
            yield
        finally:
            vars(self).update(before)

    @contextmanager
    def _properties(self, submission: Submission) -> Iterator[tuple[int, ...]]:
        private = submission.delivery.private
        if not private and not submission.properties_file:
            yield ()
            return
        with private_properties(private) as file:
            self._properties_file = file.path
            yield file.pass_fds

    @property
    def environment_prefix(self) -> str | None:
        """The prefix with which YARN and Kubernetes take the driver's environment as configuration; None elsewhere."""
        return prefix_of(self)

    def _open_environment(self, private: Mapping[str, str]) -> dict[str, Any]:
        if self.environment_prefix:
            return {name: value for name, value in (self._env_vars or {}).items() if name not in private}
        return {**(self._env_vars or {}), **private}

    def _build_spark_common_args(self) -> list[str]:
        args: list[str] = super()._build_spark_common_args()
        if self._is_yarn and self._private_environment:
            self._env = {**(self._env_vars or {}), **self._private_environment}
        return args

    def _mask_cmd(self, connection_cmd: str | list[str]) -> str:
        """Return the command on one line, with references for values; words without references are masked as usual."""
        words = [connection_cmd] if isinstance(connection_cmd, str) else TwoStreams.words(connection_cmd)
        shown = [self._job_run().reverser.reverse_text(str(word)) for word in words]
        stretches = groupby(shown, key=lambda word: bool(scan(word)))
        mask = super()._mask_cmd
        masked = (" ".join(ws) if has_reference else mask(list(ws)) for has_reference, ws in stretches)
        return one_line(" ".join(masked).expandtabs())  # the stock hook shows lines of output in this way, too

    def _build_spark_submit_command(self, application: str) -> list[str]:
        command: list[str] = super()._build_spark_submit_command(application)
        self._add_authors_environment()
        return self._streams.command(command) if self._streams else command

    def _add_authors_environment(self) -> None:
        """Add the author's variables to the environment of spark-submit, not to a copy of all of this process."""
        if self._environ_of_child is not None:
            self._environ_of_child.update(self._env or {})
            self._environ_of_author, self._env = self._env, None

    def _process_spark_submit_log(self, itr: Iterable[Any]) -> None:
        if self._is_killed and self._submit_sp:  # while the process was started, when on_kill could not know it
            self._submit_sp.kill()
        self._env = self._environ_of_author or self._env  # for commands that kill the job
        self._is_read = True
        try:
            with self._finding_applications():
                super()._process_spark_submit_log(self._until_killed(self._lines(itr)))
        except BaseException:  # such as Airflow's timeout, after which it calls on_kill
            self._learn_driver(itr)
            raise
        finally:
            self._is_read = False
        if self._late_kill.is_due:
            self._kill()
        if self._lacks_application():
            self.log.warning(_NO_APPLICATION)

    def _lacks_application(self) -> bool:
        """Return whether spark-submit has succeeded without naming the application on YARN that should be followed."""
        is_followed = getattr(self, "_yarn_track_via_rm_api", False) and self._is_yarn_cluster_mode
        return bool(is_followed and not self._yarn_application_id and self._submit_sp and not self._submit_sp.wait())

    @contextmanager
    def _finding_applications(self) -> Iterator[None]:
        """Have the stock hook find the id of an application on YARN that runs in the cluster because a key says so."""
        before = self._connection
        if self._is_yarn and self.is_in_cluster:
            self._connection = {**before, "deploy_mode": "cluster"}
        try:
            yield
        finally:
            self._connection = before

    def _lines(self, itr: Iterable[Any]) -> Iterator[str]:
        if self._streams and self._submit_sp:
            return self._streams.lines(self._submit_sp.stdout, self._reversers())
        return reverse_lines(itr, self._reversers())

    def _until_killed(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield ``lines``, and kill the driver when one of them has named it if ``on_kill`` came before."""
        for line in lines:
            yield line
            if self._late_kill.is_due and not self._is_driver_unknown():
                self._kill()

    def _learn_driver(self, itr: Iterable[Any]) -> None:
        """Read what spark-submit says until that names the driver, so that ``on_kill`` can kill it."""
        if self._submit_sp and self._is_driver_unknown():
            self._late_kill.ask(self._submit_sp)
            super()._process_spark_submit_log(self._until_known(self._lines(itr)))
            self._late_kill.forget()

    def _until_known(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            yield line
            if not self._is_driver_unknown():
                return

    def _reversers(self) -> Sequence[ReverseTransformer]:
        return (self._job_run().reverser,)
