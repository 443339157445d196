"""``SparkSubmitOperator`` with layers and references."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from airflow.providers.apache.spark.hooks.spark_submit import DEFAULT_SPARK_BINARY
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.job.fields import OURS, JobFields
from airflow_config_providers.operators.durable import DurableMixin
from airflow_config_providers.spark.named_arguments import IN_COMMAND

if TYPE_CHECKING:
    import subprocess

    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook
    from airflow_config_providers.job.exposed_values import Destination
    from airflow_config_providers.job.handover import Handover
    from airflow_config_providers.job.resolver import Driver
    from airflow_config_providers.spark.delivery import Submission
    from airflow_config_providers.spark.installation import SparkInstallation
    from airflow_config_providers.spark.layer_files import ConfigFile

_OF_KILL: Final = frozenset(
    {
        "_connection",
        "_driver_id",
        "_env",
        "_kubernetes_application_id",
        "_kubernetes_driver_pod",
        "_yarn_application_id",
    }
)
"""The attributes of a hook that are needed to kill the job, also afterwards."""

_DATA: Final = (str, dict, list, tuple, set, frozenset)
"""What ``execute`` can have put a value into; other objects, such as the process, are needed as they are."""

_OTHER_HOOK: Final = (
    "This task has references for Spark, but its execute() has submitted no job with the hook of the operator. If it "
    "has submitted one with another hook, that got the references themselves: call super().execute(), or take the "
    "hook from self._get_hook()."
)


class ConfiguredSparkSubmitOperator(DurableMixin, SparkSubmitOperator):
    """
    Submits a Spark job whose configuration comes in layers and can hold references.

    When the task is rendered, the layers are settled and the references of the winners resolved. The operator keeps the
    references, so these are what Airflow stores and shows; only spark-submit gets the values.

    :param config_conn_id: the connection that defines the providers; None for the default of the deployment
    :param config_files: a list of properties files, in which a later one overrides an earlier one, or a single path
        (templated)
    :param unresolved: what to do with a reference that no provider answers: ``fail`` or ``keep``
    :param allow_exposed_arguments: allow resolved values where users of the machine and of Spark's UI can read them: in
        ``application``, ``application_args``, ``proxy_user`` and ``post_submit_commands``, and under keys that Spark
        writes into a command; None for the default of the deployment
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, *OURS)

    @property
    def _hook_class(self) -> type[ConfiguredSparkSubmitHook]:
        from airflow_config_providers.hooks.spark_submit import ConfiguredSparkSubmitHook

        return ConfiguredSparkSubmitHook

    def _default_files(self, spark: SparkInstallation | None) -> Sequence[ConfigFile]:
        """Return Spark's defaults file, which applies if the author named no properties file."""
        return [] if self.properties_file else super()._default_files(spark)

    def _spark_program(self) -> str:
        return self._spark_binary or DEFAULT_SPARK_BINARY

    def _job_driver(self, fields: JobFields) -> Driver:
        return replace(super()._job_driver(fields), may_be_remote=True)

    def _destination(self) -> Destination:
        from airflow_config_providers.hooks.spark_submit import destination_of

        return destination_of(self._stock_hook(), self._job_fields().environment())

    def _stock_hook(self) -> SparkSubmitHook:
        """Return the hook of the stock operator, which knows where the job runs."""
        return super()._get_hook()

    def _may_follow(self) -> bool:
        hook = self._stock_hook()
        return bool(
            hook._should_track_driver_status
            or hook._should_track_driver_via_k8s_api()
            or (hook._is_yarn_cluster_mode and hook._yarn_track_via_rm_api)
        )

    def _texts_afterwards(self) -> Mapping[str, str]:
        texts = list(self._job_fields().texts("post_submit_commands"))
        refuse(ConfigException, self._authorship.brought_problems(texts, self))
        return {text.label: text.text for text in texts if scan(text.text)}

    def _can_follow(self, job: Any, context: Any) -> bool:
        self._hook = self._get_hook()
        try:
            return super()._can_follow(job, context)
        finally:
            self._hook = None  # it was created before the layers were settled

    @property
    def _driver_process(self) -> subprocess.Popen[str] | None:
        """The process of spark-submit if the driver runs in it; otherwise, and before it has begun, None."""
        hook: Any = self._hook
        return hook._submit_sp if hook is not None and not getattr(hook, "is_in_cluster", False) else None

    def poll_until_complete(self, external_id: Any, context: Any) -> Any:
        """Wait for the end of a job. The stock operator does not kill an application on YARN that it only follows."""
        hook: Any = self._hook
        if hook is not None and hook._is_yarn_cluster_mode:
            hook._yarn_application_id = external_id
        return super().poll_until_complete(external_id, context)

    def _has_begun(self) -> bool:
        """Return whether the driver runs here, or the cluster has the job under an id by which it can be killed."""
        hook: Any = self._hook
        if hook is None or self._driver_process is not None:
            return hook is not None
        return bool(hook._driver_id or hook._yarn_application_id or hook._kubernetes_driver_pod)

    def _stop_job(self) -> None:
        """Have Spark end by itself in client mode, so that it can finish what it writes, and kill it otherwise."""
        hook: Any = self._hook
        if self._driver_process is None:
            super()._stop_job()
        else:
            hook.end_driver_here()

    def _get_hook(self) -> ConfiguredSparkSubmitHook:
        return self._hook_class.of(
            self._stock_hook(),
            submission=self._submission,
            run=lambda: self._try_state.run,
            resolve_commands=self._commands_afterwards,
        )

    def _require_deliverable(self, handover: Handover) -> None:
        hook: Any = self._hook
        prefix = None if hook is None else hook.environment_prefix
        handover.require_deliverable(self._job_fields().read, prefix)

    def _run_with_record(self, context: Any, run: Callable[[], Any]) -> Any:
        fields = self._job_fields()
        is_used = self._try_state.run.places and not self._try_state.followed
        refers = is_used and any(scan(one.text) for one in fields.texts(*fields.spec.held))
        result = super()._run_with_record(context, run)
        if refers and not self._try_state.has_submitted:
            self.log.warning("%s", _OTHER_HOOK)
        return result

    def _forget_objects(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        from airflow_config_providers.core.reversal.reverse import reverse_object

        held = {} if self._hook is None else vars(self._hook)
        given = {name: value for name, value in held.items() if isinstance(value, _DATA) and name not in _OF_KILL}
        held |= {name: reverse_object(value, (reverser,)) for name, value in given.items()}

    def _submission(
        self, conf: Mapping[str, Any], environment_prefix: str | None, values: Mapping[str, str]
    ) -> Submission:
        from airflow_config_providers.operators.execution import check_added, check_environment

        self._try_state.begin_submission()
        self._try_state.has_submitted = True
        check_added(self, {**self._job_fields().configs, **conf}, "env_vars", *IN_COMMAND)
        check_environment(self, environment_prefix)
        return self._try_state.handover.submission(self._job_fields().read, conf, environment_prefix, values)

    def _commands_afterwards(self, commands: Sequence[str]) -> Sequence[str]:
        is_set = isinstance(self.post_submit_commands, set | frozenset)  # the labels of its texts are in order
        return self._try_state.handover.commands_afterwards(sorted(commands) if is_set else commands)
