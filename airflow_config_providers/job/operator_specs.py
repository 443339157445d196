"""The stock operators that this package knows, and where each has its configuration. It imports none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from airflow_config_providers.spark import named_arguments
from airflow_config_providers.spark.named_arguments import NamedArguments

_Entry = TypeVar("_Entry")

_REMOTE: Final = frozenset({"databricks", "dataproc", "emr", "kubernetes", "livy"})

_RESTARTABLE: Final = frozenset({"kubernetes", "livy", "spark_jdbc", "spark_pipelines", "spark_sql", "spark_submit"})
"""Families whose ``on_kill``, called in another thread, makes ``execute`` raise an error."""

_TAKING_ANY_KEY: Final = frozenset({"", "databricks", "dataproc", "pyspark"})
"""Families whose jobs can get keys that do not begin with ``spark.``; an unlisted operator could be such a one."""

_PASSING_MASTER: Final = frozenset({"spark_jdbc", "spark_sql", "spark_submit"})
"""Families that pass the master of their connection to Spark, which is stronger than any key."""

PART: Final = "*"
"""In a path: every item of a list."""


@dataclass(frozen=True, slots=True)
class ConfLocation:
    """
    A place where an operator has Spark configuration.

    :param field: the attribute
    :param path: the keys from there down to the mapping; ``PART`` for each item of a list
    :param item: a key and its value that an item of that list must have; None for any item
    """

    field: str
    path: tuple[str, ...] = ()
    item: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class JvmSign:
    """
    Something in an operator's fields that exists only if its job is not a Python program.

    :param field: the attribute
    :param path: the keys from there down; ``PART`` for each item of a list
    :param shows: returns whether the string there, or the items of a list as lines, is such a sign; None if any value
        is
    """

    field: str
    path: tuple[str, ...] = ()
    shows: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True)
class OperatorSpec:
    """
    The description of an operator.

    :param family: its name in ``[config_providers] apply_to``; empty for an unlisted operator
    :param mixin: ``module:Class`` of the mixin for it
    :param conf: the places where it can have Spark configuration
    :param named: its named arguments that set Spark keys
    :param texts: the only fields of the stock operator whose references are resolved outside the layers, for one that
        refuses references from data everywhere; empty for all template fields
    :param held: fields that keep their references, because a hook or a session gets the values
    :param words: labels of strings, or of lists of strings, that are later split into words, or read as a program
    :param arguments: argument -> the attribute that has it, and the keys from there, if the names differ
    :param takes_pairs: whether its configuration can be a string ``key=value,key=value``
    :param binary: the program of Spark that it starts, which reads Spark's defaults file; empty for none
    :param takes_properties_file: whether it has an argument ``properties_file``
    :param has_clusters: whether several places with Spark configuration are several clusters
    :param jvm: the signs that a job is not a Python program, so that its driver cannot resolve references
    :param carried: arguments that its trigger only passes on, for which references are sufficient
    """

    family: str = ""
    mixin: str = "airflow_config_providers.operators.configured:ConfiguredOperator"
    conf: tuple[ConfLocation, ...] = ()
    named: NamedArguments = named_arguments.NONE
    texts: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    jvm: tuple[JvmSign, ...] = ()
    carried: tuple[str, ...] = ()
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    takes_pairs: bool = False
    binary: str = ""
    takes_properties_file: bool = False
    has_clusters: bool = False

    def makes_layer(self, argument: str) -> bool:
        """Return whether a layer of its Spark configuration comes from an argument of this name."""
        field, *way = self.arguments.get(argument, (argument,))
        is_conf = any(place.field == field and place.path[: len(way)] == tuple(way) for place in self.conf)
        return is_conf or argument in self.paths or argument in self.named.keys

    def place_problem(self, kind: str) -> str:
        """
        Return why no layer reaches the job of an operator; empty if one does.

        A class of one's own that is not in the table can read the settled keys itself.

        :param kind: the name of the operator's class
        """
        return _NO_PLACE.format(kind) if self.family and not self.conf else ""

    def argument_names(self, template_fields: Iterable[str]) -> set[str]:
        """Return the names of its known arguments."""
        kept_elsewhere = {field for field, *_ in self.arguments.values()}
        places = (place.field for place in self.conf)
        fields = {*template_fields, *places, *self.texts, *self.named.keys, *self.paths}
        return (fields - kept_elsewhere) | self.arguments.keys()

    @property
    def paths(self) -> tuple[str, ...]:
        """The arguments that name properties files, strongest last."""
        return ("config_files", "properties_file") if self.takes_properties_file else ("config_files",)

    @property
    def takes_any_key(self) -> bool:
        """Whether the job can get keys that do not begin with ``spark.``, which spark-submit ignores."""
        return self.family in _TAKING_ANY_KEY

    @property
    def passes_master(self) -> bool:
        """Whether the master of its connection is stronger than ``spark.master``."""
        return self.family in _PASSING_MASTER

    @property
    def is_restartable(self) -> bool:
        """Whether the running job can be stopped and submitted again when its secrets change."""
        return self.family in _RESTARTABLE

    @property
    def is_remote(self) -> bool:
        """Whether the driver runs elsewhere, to which the configuration is sent."""
        return self.family in _REMOTE


_NO_PLACE: Final = (
    "{} has no field for Spark configuration, so no layer reaches its job, and the keys that are shown have no effect "
    "there."
)

_DATAPROC: Final = "airflow_config_providers.operators.dataproc:DataprocMixin"

_LIVY_ARGUMENTS: Final = (
    *("file", "class_name", "args", "jars", "py_files", "files", "driver_memory", "driver_cores", "executor_memory"),
    *("executor_cores", "num_executors", "archives", "queue", "name", "conf", "proxy_user"),
)

_TASKS: Final = tuple(
    (*place, *way)
    for place in ((), ("json",))
    for way in ((), ("tasks", PART), ("tasks", PART, "for_each_task", "task"))
)
"""The places where the operator of Databricks can have a task."""

_OTHER_LANGUAGES: Final = ("java", "scala", "r")
_SUBMIT_TEXTS: Final = ("env_vars", *named_arguments.IN_COMMAND)
SUBMIT_FIELDS: Final = frozenset(
    {*("conf", "conn_id", "deploy_mode", "java_class", "properties_file", "spark_binary"), *named_arguments.SUBMIT.keys}
).union(_SUBMIT_TEXTS)
"""The fields of the stock ``SparkSubmitOperator``, which ``SparkJDBCOperator`` has too, but does not use."""

_DATAPROC_JOBS: Final = ("spark_job", "pyspark_job", "spark_sql_job", "spark_r_job")


def _is_other_file(path: str) -> bool:
    """Return whether spark-submit does not treat a file as Python. The value of a reference could be either."""
    return path != "" and "${" not in path and not path.endswith(".py")


def _is_other_command(lines: str) -> bool:
    """Return whether a command runs no Python file; each argument is a line."""
    return lines != "" and "${" not in lines and ".py\n" not in f"{lines}\n"


def _has_class(words: str) -> bool:
    return any(word.partition("=")[0] == "--class" for word in words.split())


def _of_databricks() -> Iterator[JvmSign]:
    for way in _TASKS:
        jar, submit = (*way, "spark_jar_task"), (*way, "spark_submit_task", "parameters")
        yield JvmSign(jar[0], jar[1:])
        yield JvmSign(submit[0], (*submit[1:], PART), _has_class)
        yield JvmSign(submit[0], submit[1:], _is_other_command)


def _of_kubernetes() -> Iterator[JvmSign]:
    for way in (("spark", "spec"), ("spec",)):
        yield JvmSign("template_spec", (*way, "type"), lambda name: name.lower() in _OTHER_LANGUAGES)  # of Kubeflow's
        for name in ("jars", "mainClass", "sparkRFiles"):  # of Apache's, whose jars are stronger than its pyFiles
            yield JvmSign("template_spec", (*way, name))


SUPPORTED: Final[Mapping[str, OperatorSpec]] = {
    "airflow.providers.apache.spark.operators.spark_submit.SparkSubmitOperator": OperatorSpec(
        "spark_submit",
        "airflow_config_providers.operators.spark_submit:ConfiguredSparkSubmitOperator",
        conf=(ConfLocation("conf"),),
        named=named_arguments.SUBMIT,
        texts=_SUBMIT_TEXTS,
        held=("conf", *_SUBMIT_TEXTS),
        jvm=(JvmSign("_java_class"), JvmSign("application", shows=_is_other_file)),
        takes_properties_file=True,
    ),
    "airflow.providers.apache.spark.operators.spark_jdbc.SparkJDBCOperator": OperatorSpec(
        "spark_jdbc",
        "airflow_config_providers.operators.spark_jdbc:ConfiguredSparkJDBCOperator",
        conf=(ConfLocation("_spark_conf"),),
        named=named_arguments.JDBC,
        texts=_SUBMIT_TEXTS,
        held=("_spark_conf", *_SUBMIT_TEXTS),
        arguments={"spark_conf": ("_spark_conf",)},
        takes_properties_file=True,
    ),
    "airflow.providers.apache.spark.operators.spark_sql.SparkSqlOperator": OperatorSpec(
        "spark_sql",
        "airflow_config_providers.operators.spark_sql:SparkSqlMixin",
        conf=(ConfLocation("_conf"),),
        named=named_arguments.SQL,
        held=("_conf",),
        words=("sql",),
        takes_pairs=True,
        binary="spark-sql",
        arguments={"conf": ("_conf",)},
        jvm=(JvmSign("sql"),),
    ),
    "airflow.providers.apache.spark.operators.spark_pyspark.PySparkOperator": OperatorSpec(
        "pyspark",
        "airflow_config_providers.operators.pyspark:PySparkMixin",
        conf=(ConfLocation("config_kwargs"),),
        held=("config_kwargs",),
        binary="spark-submit",
    ),
    "airflow.providers.apache.spark.operators.spark_pipelines.SparkPipelinesOperator": OperatorSpec(
        "spark_pipelines",
        "airflow_config_providers.operators.spark_pipelines:SparkPipelinesMixin",
        conf=(ConfLocation("conf"),),
        named=named_arguments.PIPELINES,
        held=("conf", "env_vars"),
        words=("pipeline_spec", "keytab", "principal"),
        binary="spark-pipelines",
        jvm=(JvmSign("pipeline_command"),),
    ),
    "airflow.providers.apache.livy.operators.livy.LivyOperator": OperatorSpec(
        "livy",
        "airflow_config_providers.operators.livy:LivyMixin",
        conf=(ConfLocation("spark_params", ("conf",)),),
        named=named_arguments.LIVY,
        jvm=(JvmSign("spark_params", ("class_name",)), JvmSign("spark_params", ("file",), _is_other_file)),
        carried=("spark_params",),
        arguments={name: ("spark_params", name) for name in _LIVY_ARGUMENTS},
    ),
    "airflow.providers.cncf.kubernetes.operators.spark_kubernetes.SparkKubernetesOperator": OperatorSpec(
        "kubernetes",
        "airflow_config_providers.operators.spark_kubernetes:SparkKubernetesMixin",
        conf=(
            ConfLocation("template_spec", ("spark", "spec", "sparkConf")),
            ConfLocation("template_spec", ("spec", "sparkConf")),
        ),
        jvm=tuple(_of_kubernetes()),
    ),
    "airflow.providers.amazon.aws.operators.emr.EmrAddStepsOperator": OperatorSpec(
        "emr", "airflow_config_providers.operators.emr:EmrStepsMixin", words=("steps",)
    ),
    "airflow.providers.amazon.aws.operators.emr.EmrServerlessStartJobOperator": OperatorSpec(
        "emr",
        "airflow_config_providers.operators.emr:EmrServerlessMixin",
        conf=(
            ConfLocation(
                "configuration_overrides",
                ("applicationConfiguration", PART, "properties"),
                item=("classification", "spark-defaults"),
            ),
        ),
        words=("job_driver['sparkSubmit']['sparkSubmitParameters']",),
        jvm=(
            JvmSign("job_driver", ("sparkSubmit", "sparkSubmitParameters"), _has_class),
            JvmSign("job_driver", ("sparkSubmit", "entryPoint"), _is_other_file),
        ),
    ),
    "airflow.providers.google.cloud.operators.dataproc.DataprocSubmitJobOperator": OperatorSpec(
        "dataproc",
        _DATAPROC,
        conf=tuple(ConfLocation("job", (kind, "properties")) for kind in _DATAPROC_JOBS),
        jvm=tuple(JvmSign("job", (kind,)) for kind in _DATAPROC_JOBS if kind != "pyspark_job"),
    ),
    "airflow.providers.google.cloud.operators.dataproc.DataprocCreateBatchOperator": OperatorSpec(
        "dataproc",
        _DATAPROC,
        conf=(ConfLocation("batch", ("runtime_config", "properties")),),
        jvm=tuple(JvmSign("batch", (kind,)) for kind in ("spark_batch", "spark_sql_batch", "spark_r_batch")),
    ),
    "airflow.providers.databricks.operators.databricks.DatabricksSubmitRunOperator": OperatorSpec(
        "databricks",
        "airflow_config_providers.operators.databricks:DatabricksMixin",
        conf=(
            ConfLocation("json", ("new_cluster", "spark_conf")),
            ConfLocation("json", ("tasks", PART, "new_cluster", "spark_conf")),
            ConfLocation("json", ("tasks", PART, "for_each_task", "task", "new_cluster", "spark_conf")),
            ConfLocation("json", ("job_clusters", PART, "new_cluster", "spark_conf")),
            ConfLocation("new_cluster", ("spark_conf",)),
            ConfLocation("tasks", (PART, "new_cluster", "spark_conf")),
            ConfLocation("tasks", (PART, "for_each_task", "task", "new_cluster", "spark_conf")),
        ),
        jvm=tuple(_of_databricks()),
        has_clusters=True,
    ),
}
"""Class -> its description. Subclasses have the description of their nearest base in this table."""

FAMILIES: Final = tuple(dict.fromkeys(spec.family for spec in SUPPORTED.values()))


_SPARK: Final = "airflow.providers.apache.spark"
_OURS: Final = "airflow_config_providers.operators"
_SAME_AS: Final = {
    f"{_SPARK}.decorators.pyspark._PySparkDecoratedOperator": f"{_SPARK}.operators.spark_pyspark.PySparkOperator",
    **{
        f"airflow.{module}.task.{name}": f"{_SPARK}.operators.spark_pyspark.PySparkOperator"
        for module in ("sdk", "decorators")
        for name in ("pyspark", "configured_pyspark")
    },
    f"{_OURS}.spark_submit.ConfiguredSparkSubmitOperator": f"{_SPARK}.operators.spark_submit.SparkSubmitOperator",
    f"{_OURS}.spark_jdbc.ConfiguredSparkJDBCOperator": f"{_SPARK}.operators.spark_jdbc.SparkJDBCOperator",
}
"""Class or decorator -> the stock operator whose arguments it takes."""


PROGRAMS: Final = {
    "airflow.providers.common.sql.operators.sql.SQLExecuteQueryOperator": "sql",
    "airflow.providers.docker.operators.docker.DockerOperator": "command",
    "airflow.providers.ssh.operators.ssh.SSHOperator": "command",
    "airflow.providers.standard.operators.bash.BashOperator": "bash_command",
}
"""Class that is not for Spark -> its string that is split into words, or read as a program."""


def spec_of_path(path: str) -> OperatorSpec | None:
    """Return the description of the operator's class at ``path``; None for a custom class."""
    return SUPPORTED.get(_SAME_AS.get(path, path))


def class_of(task: Any) -> type:
    """Return the class of the operator of a task, also of one that is mapped."""
    kind: type = task.operator_class if task.is_mapped else type(task)
    return kind


def spec_of(kind: type) -> OperatorSpec | None:
    """Return the description of an operator's class; None if neither it nor a base of it is in the table."""
    return next(_of_bases(kind, SUPPORTED), None)


def spec_or_default(kind: type) -> OperatorSpec:
    """Return the description of an operator's class, also of one that is not for Spark."""
    return spec_of(kind) or OperatorSpec(words=tuple(dict.fromkeys(_of_bases(kind, PROGRAMS))))


def _of_bases(kind: type, table: Mapping[str, _Entry]) -> Iterator[_Entry]:
    """Yield what ``table`` has for ``kind`` and its bases, beginning with the nearest."""
    paths = (f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__)
    return (table[path] for path in paths if path in table)


ALL: Final = "spark"
"""The word for all families in ``apply_to``."""


def require_known(names: Sequence[str]) -> None:
    """
    Require that ``names`` are families.

    :raises ConfigException: one is not; names each
    """
    from airflow_config_providers.core.text import not_one_of  # noqa: PLC0415 - few DAGs need it
    from airflow_config_providers.exceptions import ConfigException, refuse  # noqa: PLC0415 - as above

    known = (ALL, *FAMILIES)
    unknown = (not_one_of(name, known) for name in names if name not in known)
    refuse(ConfigException, (f"[config_providers] apply_to: {one} Correct it in airflow.cfg." for one in unknown))
