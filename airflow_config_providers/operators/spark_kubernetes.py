"""``SparkKubernetesOperator`` with layers and references."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import yaml
from kubernetes.client import V1ObjectMeta, V1Pod
from kubernetes.client.exceptions import ApiException

from airflow_config_providers.airflow_compat import AirflowException
from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException, SubmitError
from airflow_config_providers.job.nested_texts import NestedString, texts
from airflow_config_providers.lazy import cached_property
from airflow_config_providers.operators.configured import ConfiguredOperator
from airflow_config_providers.operators.spark_application import API_GROUP, KIND, SparkApplication, wait_until_gone

if TYPE_CHECKING:
    from airflow_config_providers.core.reversal.reverse import ReverseTransformer
    from airflow_config_providers.job.fields import JobFields

_VALUES_KEY: Final = "config_providers_values"
"""The key in the task's state store that holds the values of earlier tries, sealed."""

_CONTAINER_KEY: Final = "spark.kubernetes.driver.podTemplateContainerName"
_ELSEWHERE: Final = {
    "deferrable": "the task follows this application itself. Set deferrable=False.",
    "image": "this application has none. Set spark.kubernetes.container.image in its sparkConf.",
    "code_path": "this application has none. Set pyFiles or jars in its spec.",
}
"""Arguments of the stock operator that only Kubeflow's application has -> what to do instead."""


class SparkKubernetesMixin(ConfiguredOperator):
    """
    A mixin for ``SparkKubernetesOperator``.

    The application's file is read before references are resolved, and becomes ``template_spec``, so that a value is
    never parsed as YAML. An application of the Apache Spark Kubernetes Operator, which the stock operator cannot run,
    is run here.
    """

    application_file: str | None
    template_spec: Any
    manage_template_specs: Callable[[], Any]
    create_job_name: Callable[[], str]
    _get_ti_pod_labels: Callable[..., dict[str, str]]
    BASE_CONTAINER_NAME: str
    name: str | None
    namespace: str
    get_logs: bool
    delete_on_termination: bool
    reattach_on_restart: bool
    startup_timeout_seconds: float
    hook: Any
    client: Any
    pod_manager: Any
    pod: Any

    def _complete_fields(self) -> None:
        """Read the application from its file, which becomes ``template_spec``."""
        from airflow_config_providers.job.template_references import FilledIn
        from airflow_config_providers.spark.layer_files import read_layer_file

        text = self.application_file
        if not text:
            return
        if is_file := _is_path(text):
            bounds = self._authorship.bounds("application_file")
            content = read_layer_file(text.strip(), name=text.strip(), bounds=bounds)
            application = FilledIn(self._parse(content))
        else:
            application = self._authorship.parsed(text, self._parse)
        self.template_spec, self.application_file = application.value, None
        written = {id(string) for string in application.written}
        specs = texts(self.template_spec, "template_spec")
        self._authorship.add_written(spec for spec in specs if is_file or id(spec.text) in written)

    def _job_paths(self, fields: JobFields) -> Sequence[NestedString]:
        file, paths = self.application_file, super()._job_paths(fields)
        return [*paths, NestedString("application_file", file)] if file and _is_path(file) else paths

    def _parse(self, content: str | bytes) -> Any:
        """Return an application as the operator parses it, without opening a file, which could have been replaced."""
        self.application_file, self.template_spec = None, _mapping(content)
        return self.manage_template_specs()

    def _has_begun(self) -> bool:
        return self.pod is not None

    def _stop_job(self) -> None:
        """Delete the application, and wait for the end of its driver, which the next run would otherwise follow."""
        name, namespace = self.pod.metadata.name, self.pod.metadata.namespace
        is_gone = self.launcher.is_gone if self._is_apaches else lambda: not _exists(self.client, name, namespace)
        super()._stop_job()
        wait_until_gone(is_gone, what=f"driver {printable(name)}")

    @property
    def _is_apaches(self) -> bool:
        """Whether the application is one of the Apache Spark Kubernetes Operator."""
        return str(self._application.get("apiVersion", "")).partition("/")[0] == API_GROUP

    @property
    def _application(self) -> Mapping[str, Any]:
        spec = self.template_spec
        application = spec.get("spark", spec) if isinstance(spec, Mapping) else None
        return application if isinstance(application, Mapping) else {}

    def _own_problems(self, fields: JobFields) -> Iterator[str]:
        if not self._is_apaches:
            return
        for argument, problem in _ELSEWHERE.items():
            if getattr(self, argument, None):
                yield f"{argument}: {problem}"
        if (kind := self._application.get("kind")) != KIND:
            yield f"template_spec['kind']: {printable(str(kind))} is not run to its end. Write {KIND}."
        for name in sorted(map(str, self.template_spec.keys() - {"spark", *self._application})):
            yield f"template_spec['{printable(name)}']: it completes only Kubeflow's application. Use driverSpec."

    def _own_notes(self, fields: JobFields) -> Iterator[str]:
        wanted = (self._application.get("metadata") or {}).get("namespace")
        if wanted and wanted != self.namespace:
            yield (
                f"The application is created in namespace '{printable(self.namespace)}', the argument of the operator, "
                f"not in '{printable(str(wanted))}' of its metadata. To have it there, set namespace."
            )

    def _job_of(self, context: Any, run: Callable[[], Any]) -> Callable[[], Any]:
        if self._is_apaches:
            return partial(self._run_application, context)
        if self.reattach_on_restart and (store := context.get("task_state_store")) is not None:
            self._know_earlier_tries(store, context)
        return run

    def _know_earlier_tries(self, store: Any, context: Any) -> None:
        """Show references also in place of the values of an earlier try, whose application this one can follow."""
        from airflow_config_providers.job.sealed_values import ValueSeal

        seal = ValueSeal.of_task(context.get("ti"), "tries", log=self.log)
        try:
            before = store.get(_VALUES_KEY)
            if before is not None and (earlier := seal.open(before)) is not None:
                self._try_state.run.know(earlier)
            if sealed := seal.seal(self._try_state.run.reverser):
                store.set(_VALUES_KEY, sealed)
        except Exception as error:  # noqa: BLE001 - the job is more important
            self.log.warning("The values of this try are not kept for a later one: %s", type(error).__name__)

    @cached_property
    def launcher(self) -> Any:
        """Return what deletes the application when the task is killed."""
        return self._spark_application({}) if self._is_apaches else super().launcher  # type: ignore[misc]  # of the operator

    def _spark_application(self, labels: Mapping[str, str]) -> SparkApplication:
        """Return the application, which keeps the pod of its driver for the log if the task deletes it afterwards."""
        application = self._application
        metadata, spec = application.get("metadata") or {}, application.get("spec") or {}
        own = {"name": self.name, "namespace": self.namespace, "labels": {**(metadata.get("labels") or {}), **labels}}
        if self.delete_on_termination:
            kept = {"resourceRetainPolicy": "Always", **(spec.get("applicationTolerations") or {})}
            spec = {**spec, "applicationTolerations": kept}
        resource = {**application, "metadata": {**metadata, **own}, "spec": spec}
        return SparkApplication(self.hook.custom_object_client, self.client, resource)

    def _run_application(self, context: Any) -> None:
        """Create the application, or take up the one of an earlier try, and follow it to its end."""
        self.name = self.create_job_name()
        labels = self._get_ti_pod_labels(context, include_try_number=False)
        self.launcher = application = self._spark_application(labels)
        if self.reattach_on_restart:
            self.launcher = application.taken_up(labels, with_ended=self.delete_on_termination) or application
        if self.launcher is application:
            self._create(application)
        else:
            self.log.info("%s of an earlier try has the same configuration. It is followed.", self.launcher)
        self._try_state.keep_job(self.launcher.name)
        self._follow_application(self.launcher)

    def _create(self, application: SparkApplication) -> None:
        """
        Create ``application``, unless the task is killed, also while this is done.

        :raises SubmitError: it is killed
        """
        self._try_state.refuse_after_kill()
        self.log.info("Creating %s.", application)
        application.create()
        try:
            self._try_state.refuse_after_kill()
        except SubmitError:
            application.delete_spark_job()  # on_kill has perhaps not found it yet
            raise

    def _follow_application(self, application: SparkApplication) -> None:
        try:
            application.follow(self._follow_driver, startup_timeout=self.startup_timeout_seconds)
        finally:
            if self.delete_on_termination:
                application.delete_spark_job()

    def _follow_driver(self, pod: Any) -> None:
        """Show the log of a driver until it ends. Only the name of its pod is kept, because its command has values."""
        self.pod = _name_only(pod)
        if not self.get_logs:
            return
        try:
            self.pod_manager.fetch_container_logs(pod=self.pod, container_name=self._container(pod), follow=True)
        except (ApiException, AirflowException) as error:  # the application goes on without its log
            name, reason = pod.metadata.name, getattr(error, "reason", None) or type(error).__name__
            self.log.warning("The log of driver %s has ended early: %s", printable(name), printable(str(reason)))

    def _container(self, pod: Any) -> str:
        """Return the name of the container with Spark; the author of the application can give it another one."""
        names: list[str] = [container.name for container in pod.spec.containers]
        conf = self._application.get("spec", {}).get("sparkConf") or {}
        wanted = conf.get(_CONTAINER_KEY, self.BASE_CONTAINER_NAME)
        return str(wanted) if wanted in names else names[0]

    def _forget_objects(self, before: Mapping[str, Any], reverser: ReverseTransformer) -> None:
        for name in ("launcher", "pod_request_obj", "remote_pod"):  # their values were already sent
            if vars(self).get(name) is not before.get(name):
                vars(self).pop(name, None)
        if self.pod is not None:
            self.pod = _name_only(self.pod)


def _name_only(pod: Any) -> V1Pod:
    """Return ``pod`` without its command, which can have values."""
    return V1Pod(metadata=V1ObjectMeta(name=pod.metadata.name, namespace=pod.metadata.namespace))


def _exists(client: Any, name: str, namespace: str) -> bool:
    selector = f"metadata.name={name}"
    return bool(client.list_namespaced_pod(namespace, field_selector=selector).items)


def _is_path(text: str) -> bool:
    return os.path.exists(text.strip())  # noqa: PTH110 - Path.exists() raises for a whole application


def _mapping(content: str | bytes) -> dict[Any, Any]:
    try:
        application = yaml.safe_load(content)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = f"line {mark.line + 1} is not YAML" if mark else "it is not YAML"
    else:
        if isinstance(application, dict):
            return application
        problem = f"it is of type {type(application).__name__}"
    raise ConfigException(
        f"application_file is not a YAML mapping: {problem}. Write an application, or the path of a file with one."
    )
