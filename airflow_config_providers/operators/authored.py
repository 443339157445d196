"""The job of an operator as its author wrote it, and the Spark and the files that it needs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from airflow_config_providers import settings
from airflow_config_providers.core.cached import cached_property
from airflow_config_providers.core.text import once, printable
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.job.authored_job import STORED, AuthoredJob, stored_text
from airflow_config_providers.job.fields import JobFields
from airflow_config_providers.job.nested_texts import NestedString, refuse_unstorable
from airflow_config_providers.job.operator_specs import OperatorSpec, spec_or_default
from airflow_config_providers.job.options import NO_OPTIONS
from airflow_config_providers.job.unresolved_arguments import unresolved_arguments
from airflow_config_providers.operators.reloading import ReloadingOperator

if TYPE_CHECKING:
    from airflow_config_providers.job.authorship import Authorship
    from airflow_config_providers.job.configuration import JobConfiguration
    from airflow_config_providers.job.resolver import Driver
    from airflow_config_providers.spark.installation import SparkInstallation
    from airflow_config_providers.spark.layer_files import ConfigFile

_NONE: Final = (
    "{}: its template returned None, so the job gets the string 'None'. Give the template a default, or remove the key."
)


class AuthoredOperator(ReloadingOperator):
    """A base of ``ConfiguredOperator``, which reads what the author wrote. Its subclasses say what differs for them."""

    spec: ClassVar[OperatorSpec | None] = None
    """The description of the operator; None to look it up by class."""

    # What most operators have in common is not set on each, because Airflow checks each attribute that is set.
    config_files: Any = None
    _job_options = NO_OPTIONS

    @cached_property
    def _authorship(self) -> Authorship:
        from airflow_config_providers.job.authorship import Authorship

        return Authorship()

    @property
    def config_conn_id(self) -> str:
        """The connection that defines the providers. Settings are slow, so this does not run while a DAG is parsed."""
        return self._job_options.conn_id

    @property
    def unresolved(self) -> str | None:
        """What to do with a reference that no provider answers; None for the default of the deployment."""
        return self._job_options.unresolved

    @unresolved.setter
    def unresolved(self, text: str | None) -> None:
        self._job_options = replace(self._job_options, unresolved=text)

    @property
    def allow_exposed_arguments(self) -> bool:
        """Whether resolved values may be where others can read them. Like ``config_conn_id``, it is read late."""
        return self._job_options.allows_exposed

    @property
    def resolve_in(self) -> str | None:
        """Where to resolve; None for the default of the deployment."""
        return self._job_options.resolve_in

    @resolve_in.setter
    def resolve_in(self, text: str | None) -> None:
        self._job_options = replace(self._job_options, resolve_in=text)

    @classmethod
    def get_serialized_fields(cls) -> frozenset[str]:
        """Return the fields that Airflow stores, including the job, so that ``describe`` needs no run."""
        stored = super().get_serialized_fields()  # type: ignore[no-untyped-call]  # Airflow has no types here
        return frozenset({*stored, STORED})

    @property
    def _authored_job(self) -> str | None:
        fields = self._job_fields()
        # Here, Airflow reports it as an error of the DAG file.
        refuse_unstorable({name: fields.read(name) for name in fields.names})
        return stored_text(self, fields, self._job_options)

    def _operator_spec(self) -> OperatorSpec:
        own = type(self).spec  # an operator can have an attribute of this name
        return own if isinstance(own, OperatorSpec) else spec_or_default(type(self))

    def _job_fields(self) -> JobFields:
        return JobFields.of_operator(self, self._operator_spec())

    def _checked_configuration(self, context: Any, jinja_env: Any) -> JobConfiguration:
        """
        Return the configuration of the job.

        :raises ConfigException: fields are wrong, or what fills in a template brought a reference
        """
        fields = self._job_fields()
        refuse(ConfigException, self._job_problems(fields))
        return self._job_configuration(fields, context, jinja_env)

    def _job_problems(self, fields: JobFields) -> Iterator[str]:
        """Yield what is wrong with the fields before anything is resolved."""
        yield from self._authorship.brought_problems(fields.author_texts(), self)
        yield from self._authorship.inserted_problems(fields.conf_texts())
        keeps = self._job_options.keeps_unresolved
        yield from (problem for _, problem in unresolved_arguments(self, fields.names, keeps_unresolved=keeps))

    def _job_configuration(self, fields: JobFields, context: Any, jinja_env: Any) -> JobConfiguration:
        from airflow_config_providers.core.resource import ConfigResource
        from airflow_config_providers.job.authorship import rendered
        from airflow_config_providers.job.configuration import JobConfiguration
        from airflow_config_providers.job.job_layers import JobLayers

        spark = self._job_spark()
        return JobConfiguration(
            resource=ConfigResource.of_task(self.dag_id, self.task_id),
            job=AuthoredJob.of(fields, self._job_options, is_written=self._authorship.is_written),
            files=self._properties_files(fields, spark),
            driver=self._job_driver(fields),
            run_conf=getattr(context.get("dag_run"), "conf", None),
            collector=JobLayers(
                render=partial(rendered, environment=jinja_env or self.get_template_env(), context=context),
                warn=once(self.log.warning),  # a reload settles it again
                takes_any_key=fields.spec.takes_any_key,
                passes_master=fields.spec.passes_master,
                spark_version=spark.version if spark else None,
            ),
            words=fields.spec.words,
            environment_prefixes=self._environment_prefixes,
        )

    def _environment_prefixes(self) -> Collection[str]:
        """Return the prefixes under which ``env_vars`` are keys of Spark."""
        return ()

    def _properties_files(self, fields: JobFields, spark: SparkInstallation | None) -> list[ConfigFile]:
        """Return the properties files, strongest last."""
        from airflow_config_providers.spark.layer_files import ConfigFile

        bounds = self._authorship.bounds
        of_deployment = [
            ConfigFile(path, path, is_template=True, bounds=bounds("")) for path in settings.config_files()
        ]
        own = [
            ConfigFile(text, text, is_template=label != "properties_file", bounds=bounds(label), label=label)
            for label, text in ((file.label, file.text) for file in fields.files())
        ]
        return [*self._default_files(spark), *of_deployment, *own]

    def _job_paths(self, fields: JobFields) -> list[NestedString]:
        return fields.files()

    def _default_files(self, spark: SparkInstallation | None) -> list[ConfigFile]:
        """Return Spark's defaults file, which the job reads in any case."""
        defaults = spark.defaults if spark else None
        return [defaults] if defaults else []

    def _job_spark(self) -> SparkInstallation | None:
        from airflow_config_providers.spark.installation import SparkInstallation

        program = self._spark_program()
        return SparkInstallation.of(program, os.environ) if program else None

    def _spark_program(self) -> str:
        """Return the program of Spark that the operator starts; empty if it starts none on this machine."""
        return self._operator_spec().binary

    def _job_driver(self, fields: JobFields) -> Driver:
        from airflow_config_providers.job.resolver import Driver

        is_remote = fields.spec.is_remote and bool(fields.conf or fields.cluster_confs)
        not_python, closed = fields.not_python(), tuple(fields.closed_confs())
        return Driver(is_remote, lambda _: is_remote, not_python=not_python, closed=closed)

    def _job_notes(self, fields: JobFields) -> Iterator[str]:
        if fields.cluster_confs:
            yield "Several clusters: each gets these layers around its own spark_conf, which the task's fields show."
            return
        if fields.spec.conf and fields.conf is None:
            yield "No layers: this task has no Spark configuration, or several of them. Its references are resolved."
        for text in fields.texts(*fields.names):
            if not self._authorship.is_written(text):
                yield f"{printable(text.label)}: a reference came from data, so none in this text is resolved."
            if self._authorship.became_none(text):
                yield _NONE.format(printable(text.label))

    def _obstacle_to_reload(self) -> str | None:
        if not self._operator_spec().is_restartable:
            return f"the job of a {self.task_type} cannot be stopped safely. Changes apply from the next run on."
        return super()._obstacle_to_reload()
