"""The configuration of an operator's job, from the fields that its author wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers import settings
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable, reporting_once
from airflow_config_providers.core.variable import scan
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.authorship import rendered
from airflow_config_providers.job.configuration import JobConfiguration
from airflow_config_providers.job.exposed_values import unresolved_arguments
from airflow_config_providers.job.job_layers import JobLayers
from airflow_config_providers.job.nested_texts import field_of
from airflow_config_providers.operators.reversal.author_hooks import defines
from airflow_config_providers.spark.installation import SparkInstallation
from airflow_config_providers.spark.layer_files import ConfigFile

if TYPE_CHECKING:
    from airflow_config_providers.job.fields import JobFields
    from airflow_config_providers.operators.job_operator import JobOperator


_PACKAGE: Final = f"{__name__.partition('.')[0]}."

_TAKEN: Final = (
    "{}: execute of {} has the references there, and the values only inside of super().execute(). Derive the class "
    "from the stock operator, and decorate it with @configured."
)


def own_execute_problems(kind: type, fields: JobFields) -> Iterator[tuple[str, str]]:
    """Yield each field of a class that has a reference, which ``execute`` would take for the value, and a sentence."""
    order = kind.__mro__
    derived = list(takewhile(lambda one: not one.__module__.startswith(_PACKAGE), order))
    if not any(defines(one, "execute") for one in derived):
        return
    inherited = _template_fields(*order[len(derived) :])
    referring = {field_of(text.label) for text in fields.texts() if scan(text.text)}
    for name in sorted((_template_fields(*derived) - inherited) & referring):
        yield name, _TAKEN.format(printable(name), printable(kind.__name__))


def own_execute_notes(operator: JobOperator, fields: JobFields) -> list[str]:
    """Return the sentences of ``own_execute_problems``."""
    return [note for _, note in own_execute_problems(type(operator), fields)]


def _template_fields(*kinds: Any) -> set[str]:
    return {name for kind in kinds for name in vars(kind).get("template_fields", ())}


_NONE: Final = (
    "{}: its template returned None, so the job gets the string 'None'. Give the template a default, or remove the key."
)


def checked_configuration(
    operator: JobOperator, fields: JobFields, *, context: Any, jinja_env: Any
) -> JobConfiguration:
    """
    Return the configuration of the job.

    :raises ConfigException: fields are wrong, or what fills in a template brought a reference
    """
    refuse(ConfigException, job_problems(operator, fields))
    return job_configuration(operator, fields, context=context, jinja_env=jinja_env)


def job_problems(operator: JobOperator, fields: JobFields) -> Iterator[str]:
    """Yield what is wrong with the fields before anything is resolved."""
    yield from operator._authorship.brought_problems(fields.author_texts(), operator)
    yield from operator._authorship.inserted_problems(fields.conf_texts())
    keeps = operator._job_options.keeps_unresolved
    yield from (problem for _, problem in unresolved_arguments(operator, fields.names, keeps_unresolved=keeps))
    yield from operator._own_problems(fields)


def job_configuration(operator: JobOperator, fields: JobFields, *, context: Any, jinja_env: Any) -> JobConfiguration:
    """Return the configuration of the job, whose fields were checked or are only previewed."""
    spark = spark_of(operator)
    job = AuthoredJob.of(fields, operator._job_options, is_written=operator._authorship.is_written)
    return JobConfiguration(
        resource=ConfigResource.of_task(operator.dag_id, operator.task_id),
        job=job,
        files=_properties_files(operator, job, spark),
        driver=operator._job_driver(fields),
        run_conf=getattr(context.get("dag_run"), "conf", None),
        collector=JobLayers(
            render=partial(rendered, environment=jinja_env or operator.get_template_env(), context=context),
            warn=reporting_once(operator.log.warning),  # a reload settles it again
            takes_any_key=fields.spec.takes_any_key,
            passes_master=fields.spec.passes_master,
            spark_version=spark.version if spark else None,
        ),
        words=fields.spec.words,
        destination=operator._destination,
    )


def _properties_files(operator: JobOperator, job: AuthoredJob, spark: SparkInstallation | None) -> Sequence[ConfigFile]:
    """Return the properties files, strongest last."""
    bounds = operator._authorship.bounds
    of_deployment = [ConfigFile(path, path, is_template=True, bounds=bounds("")) for path in settings.config_files()]
    own = [
        ConfigFile(path, path, is_template=label != "properties_file", bounds=bounds(label), label=label)
        for label, path in job.files.items()
    ]
    return [*operator._default_files(spark), *of_deployment, *own]


def spark_of(operator: JobOperator) -> SparkInstallation | None:
    """Return the Spark that the operator starts on this machine; None if it starts none."""
    program = operator._spark_program()
    return SparkInstallation.of(program, os.environ) if program else None


def version_of_spark(operator: JobOperator) -> str | None:
    """Return the version of the Spark that runs the job; None if it is not known."""
    spark = spark_of(operator)
    return spark.version if spark else None


def job_notes(operator: JobOperator, fields: JobFields) -> Iterator[str]:
    """Yield what people should know of the fields."""
    if fields.cluster_confs:
        yield "Several clusters: each gets these layers around its own spark_conf, which the task's fields show."
        return
    if fields.spec.conf and fields.conf is None:
        yield "No layers: this task has no Spark configuration, or several of them. Its references are resolved."
    for text in fields.texts(*fields.names):
        if not operator._authorship.is_written(text):
            yield f"{printable(text.label)}: a reference came from data, so none in this text is resolved."
        if operator._authorship.became_none(text):
            yield _NONE.format(printable(text.label))
