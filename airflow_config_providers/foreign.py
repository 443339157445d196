"""
The private names of other packages that this package leans on: one table, checked at first use.

A release can rename a private method that a class here overrides. The override would then never be called, and its
protection of logs and commands would silently be gone. ``require`` raises an error instead; whoever leans on an owner
calls it before. Nothing checks the stock script of JDBC jobs, which a driver runs that need not have this package.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from operator import attrgetter
from typing import Any, Final
from weakref import WeakSet

from airflow_config_providers.exceptions import UnsupportedVersionError, refuse

_OURS: Final = "airflow-config-providers"

_DISTRIBUTIONS: Final = {
    "airflow.providers.apache.livy": "apache-airflow-providers-apache-livy",
    "airflow.providers.apache.spark": "apache-airflow-providers-apache-spark",
    "airflow.providers.cncf.kubernetes": "apache-airflow-providers-cncf-kubernetes",
    "airflow.providers.databricks": "apache-airflow-providers-databricks",
    "airflow": "apache-airflow",
    "fsspec": "fsspec",
    "pyspark": "pyspark",
    "sentry_sdk": "sentry-sdk",
}
"""The beginning of a module's name -> the distribution that has it; the first match wins."""

TASK_RUNNER: Final = "airflow.sdk.execution_time.task_runner"
RUNNING_TASK: Final = "airflow.sdk.execution_time.task_runner:RuntimeTaskInstance"
SECRETS_MASKER: Final = "airflow.sdk._shared.secrets_masker:SecretsMasker"
SERVER_SECRETS_MASKER: Final = "airflow._shared.secrets_masker:SecretsMasker"

_OPERATOR: Final = "airflow.sdk.bases.operator:BaseOperator"
MAPPED: Final = "airflow.sdk.definitions.mappedoperator:MappedOperator"
MAPPED_GROUP: Final = "airflow.sdk.definitions.taskgroup:MappedTaskGroup"
STORED_MAPPED: Final = "airflow.serialization.definitions.mappedoperator:SerializedMappedOperator"
TASK_MASKER: Final = "airflow.sdk._shared.secrets_masker"
SERVER_MASKER: Final = "airflow._shared.secrets_masker"
DAG_PARAM: Final = "airflow.sdk.definitions.param:DagParam"
CONTEXT: Final = "airflow.sdk.execution_time.context"
OUTLET_EVENTS: Final = "airflow.sdk.execution_time.context:OutletEventAccessors"
LINEAGE: Final = "airflow.sdk.lineage:HookLineageCollector"
XCOM: Final = "airflow.sdk.bases.xcom:BaseXCom"
BACKEND: Final = "airflow.sdk.bases.secrets_backend:BaseSecretsBackend"
BACKENDS_OF_PROCESS: Final = "airflow.sdk.execution_time.supervisor:ensure_secrets_backend_loaded"

_SUBMIT: Final = "airflow.providers.apache.spark.hooks.spark_submit:SparkSubmitHook"
_JDBC: Final = "airflow.providers.apache.spark.hooks.spark_jdbc:SparkJDBCHook"
_SQL: Final = "airflow.providers.apache.spark.hooks.spark_sql:SparkSqlHook"
_PIPELINES: Final = "airflow.providers.apache.spark.hooks.spark_pipelines:SparkPipelinesHook"
_SUBMIT_OPERATOR: Final = "airflow.providers.apache.spark.operators.spark_submit:SparkSubmitOperator"
_JDBC_OPERATOR: Final = "airflow.providers.apache.spark.operators.spark_jdbc:SparkJDBCOperator"
_SQL_OPERATOR: Final = "airflow.providers.apache.spark.operators.spark_sql:SparkSqlOperator"
_JDBC_SCRIPT: Final = "airflow.providers.apache.spark.hooks.spark_jdbc_script"
_PYSPARK_DECORATOR: Final = "airflow.providers.apache.spark.decorators.pyspark"
_LIVY_OPERATOR: Final = "airflow.providers.apache.livy.operators.livy:LivyOperator"
_LIVY_TRIGGER: Final = "airflow.providers.apache.livy.triggers.livy:LivyTrigger"
_KUBERNETES_OPERATOR: Final = "airflow.providers.cncf.kubernetes.operators.spark_kubernetes:SparkKubernetesOperator"
_DATABRICKS_OPERATOR: Final = "airflow.providers.databricks.operators.databricks:DatabricksSubmitRunOperator"

SPARK_CONTEXT: Final = "pyspark:SparkContext"
GATEWAY: Final = "pyspark.java_gateway"
CONNECT_SESSION: Final = "pyspark.sql.connect.session"
CONNECT_CONF: Final = "pyspark.sql.connect.conf:RuntimeConf"
SESSION_BUILDER: Final = "pyspark.sql.session:SparkSession.Builder"
FIND_SPARK: Final = "pyspark.find_spark_home"

SENTRY: Final = "sentry_sdk.scope"
SENTRY_API: Final = "sentry_sdk.api"

FILE_SYSTEM: Final = "fsspec.asyn:AsyncFileSystem"

_ARGUMENTS: Final = (
    *("application_args", "archives", "driver_class_path", "driver_memory", "exclude_packages", "executor_cores"),
    *("executor_memory", "files", "jars", "keytab", "name", "num_executors", "packages", "post_submit_commands"),
    *("principal", "proxy_user", "py_files", "repositories", "total_executor_cores", "yarn_queue"),
)
"""The arguments of ``SparkSubmitOperator`` that its hook keeps in attributes of their names, with an underscore."""
_SQL_ARGUMENTS: Final = (
    *("executor_cores", "executor_memory", "keytab", "name", "num_executors", "principal"),
    *("total_executor_cores", "yarn_queue"),
)
"""Those of ``SparkSqlOperator``."""


@dataclass(frozen=True, slots=True)
class ForeignName:
    """
    A private name of another package.

    :param owner: ``module:Class``, ``module:function``, or ``module``
    :param name: of an attribute, a method or a function; of an environment variable, if the owner is a function
    :param purpose: what it is for, in the words of a message
    :param parameters: of a method that a class here overrides or calls; None if only its name matters
    :param since: the first version that has it; empty if every supported one does
    """

    owner: str
    name: str
    purpose: str
    parameters: tuple[str, ...] | None = None
    since: str = ""

    @property
    def distribution(self) -> str:
        """The distribution that the owner is installed with."""
        return next(name for prefix, name in _DISTRIBUTIONS.items() if self.owner.startswith(prefix))

    def problem(self, owner: Any) -> str:
        """Return what is wrong with this name in ``owner``, the object; empty if nothing is."""
        where = f"{getattr(owner, '__name__', self.owner)}.{self.name} ({self.purpose})"
        if not _has(owner, self.name):
            return "" if self.since and _is_older(self.distribution, self.since) else f"{where} is missing"
        found = None if self.parameters is None else _parameters(getattr(owner, self.name))
        if found is None or found == self.parameters:
            return ""
        return f"{where} takes ({', '.join(found)}) instead of ({', '.join(self.parameters or ())})"


_FOLLOWS: Final = "whether a retry follows the driver"

TABLE: Final = (
    # Airflow
    ForeignName(
        _OPERATOR,
        "_do_render_template_fields",
        "rendering, which mapped tasks call too",
        ("self", "parent", "template_fields", "context", "jinja_env", "seen_oids"),
    ),
    ForeignName(_OPERATOR, "_render", "rendering of one template", ("self", "template", "context", "dag")),
    ForeignName(_OPERATOR, "_lock_for_execution", "distinguishes a run from a preview"),
    ForeignName(_OPERATOR, "_pre_execute_hook", "the author's function before execute"),
    ForeignName(_OPERATOR, "_post_execute_hook", "the author's function after execute"),
    ForeignName(MAPPED, "_get_specified_expand_input", "what a task is mapped over", ("self",)),
    ForeignName(MAPPED_GROUP, "_expand_input", "what a task group is mapped over"),
    ForeignName(STORED_MAPPED, "_expand_input_attr", "what a stored task is mapped over"),
    ForeignName(STORED_MAPPED, "_task_module", "the module of a stored task's operator"),
    ForeignName(DAG_PARAM, "_name", "the parameter that a field takes"),
    ForeignName(OUTLET_EVENTS, "_dict", "what a task records of its assets"),
    ForeignName(LINEAGE, "_inputs", "what hooks report"),
    ForeignName(LINEAGE, "_input_counts", "what hooks report"),
    ForeignName(LINEAGE, "_outputs", "what hooks report"),
    ForeignName(LINEAGE, "_output_counts", "what hooks report"),
    ForeignName(LINEAGE, "_extra", "what hooks report"),
    ForeignName(LINEAGE, "_extra_counts", "what hooks report"),
    ForeignName(LINEAGE, "_generate_asset_entry_id", "what hooks report", ("self", "asset", "context")),
    ForeignName(LINEAGE, "_generate_extra_entry_id", "what hooks report", ("self", "key", "value", "context")),
    ForeignName(XCOM, "_push", "what a task pushes", since="3.4"),
    ForeignName(XCOM, "_apush", "what a task pushes", since="3.4"),
    ForeignName(CONTEXT, "_EXTERNAL_STATE_REF_KEY", "where a backend keeps a state", since="3.3"),
    ForeignName(CONTEXT, "_get_worker_state_store_backend", "the backend of state", (), since="3.3"),
    ForeignName(CONTEXT, "_process_connection_result_conn", "connections of the server", ("conn_result",)),
    ForeignName(TASK_RUNNER, "SUPERVISOR_COMMS", "what a task sends to its supervisor"),
    ForeignName(RUNNING_TASK, "_ti_context_from_server", "whether a task goes on, or is in a loop"),
    ForeignName(TASK_MASKER, "redact", "the masker of tasks"),
    ForeignName(TASK_MASKER, "_secrets_masker", "the masker of tasks", ()),
    ForeignName(SECRETS_MASKER, "add_mask", "the masker of tasks", ("self", "secret", "name")),
    ForeignName(SECRETS_MASKER, "should_hide_value_for_key", "the masker of tasks", ("self", "name")),
    ForeignName(SECRETS_MASKER, "patterns", "the secrets that it masks"),
    ForeignName(SECRETS_MASKER, "replacer", "the secrets that it masks, compiled"),
    ForeignName(SERVER_MASKER, "_secrets_masker", "the masker of servers", ()),
    ForeignName(SERVER_SECRETS_MASKER, "add_mask", "the masker of servers", ("self", "secret", "name")),
    ForeignName(SERVER_SECRETS_MASKER, "should_hide_value_for_key", "the masker of servers", ("self", "name")),
    ForeignName(SERVER_SECRETS_MASKER, "patterns", "the secrets that it masks"),
    ForeignName(SERVER_SECRETS_MASKER, "replacer", "the secrets that it masks, compiled"),
    ForeignName(BACKEND, "_set_connection_class", "connections of a backend", ("self", "conn_class")),
    ForeignName(BACKENDS_OF_PROCESS, "_AIRFLOW_PROCESS_CONTEXT", "whether a process may read Airflow's database"),
    # Its Spark provider
    ForeignName(_SUBMIT, "_build_spark_common_args", "the command", ("self",)),
    ForeignName(_SUBMIT, "_build_spark_submit_command", "the command", ("self", "application")),
    ForeignName(_SUBMIT, "_build_track_driver_status_command", "the command that asks for the driver", ("self",)),
    ForeignName(_SUBMIT, "_get_spark_binary_path", "the program that runs", ("self",)),
    ForeignName(_SUBMIT, "_mask_cmd", "the command in the log", ("self", "connection_cmd")),
    ForeignName(_SUBMIT, "_process_spark_submit_log", "what spark-submit prints", ("self", "itr")),
    ForeignName(_SUBMIT, "_run_post_submit_commands", "the commands after the job", ("self",)),
    ForeignName(_SUBMIT, "_post_submit_commands_done", "whether the commands after the job have run", since="6.1"),
    ForeignName(_SUBMIT, "_should_track_driver_status", _FOLLOWS),
    ForeignName(_SUBMIT, "_should_track_driver_via_k8s_api", _FOLLOWS, ("self",), since="6.2"),
    ForeignName(_SUBMIT, "_is_yarn_cluster_mode", _FOLLOWS, since="6.2"),
    ForeignName(_SUBMIT, "_yarn_track_via_rm_api", _FOLLOWS, since="6.2"),
    ForeignName(_SUBMIT, "_poll_k8s_driver_via_api", _FOLLOWS, ("self",), since="6.2"),
    ForeignName(_SUBMIT, "_kill_yarn_application", _FOLLOWS, ("self", "application_id"), since="6.2"),
    ForeignName(_SUBMIT, "_driver_id", _FOLLOWS),
    ForeignName(_SUBMIT, "_yarn_application_id", _FOLLOWS),
    ForeignName(_SUBMIT, "_kubernetes_driver_pod", _FOLLOWS),
    ForeignName(_SUBMIT, "_conf", "the configuration that is submitted"),
    ForeignName(_SUBMIT, "_conn_id", "the connection"),
    ForeignName(_SUBMIT, "_connection", "the connection"),
    ForeignName(_SUBMIT, "_deploy_mode", "where the driver runs"),
    ForeignName(_SUBMIT, "_env", "the environment of spark-submit"),
    ForeignName(_SUBMIT, "_env_vars", "the environment of the driver"),
    ForeignName(_SUBMIT, "_is_kubernetes", "where the driver runs"),
    ForeignName(_SUBMIT, "_is_yarn", "where the driver runs"),
    ForeignName(_SUBMIT, "_properties_file", "the file that no other user can read"),
    ForeignName(_SUBMIT, "_submit_sp", "the process of spark-submit"),
    *(ForeignName(_SUBMIT, f"_{name}", "an argument of the operator") for name in _ARGUMENTS),
    ForeignName(_SUBMIT_OPERATOR, "_get_hook", "the hook that submits", ("self",)),
    ForeignName(_SUBMIT_OPERATOR, "_hook", "the hook that submits"),
    ForeignName(_SUBMIT_OPERATOR, "_java_class", "the class of a JVM job"),
    ForeignName(_SUBMIT_OPERATOR, "_spark_binary", "the program that runs"),
    ForeignName(_JDBC, "_build_jdbc_application_arguments", "the command", ("self", "jdbc_conn")),
    ForeignName(_JDBC, "_resolve_jdbc_connection", "the connection to the database", ("self",)),
    ForeignName(_JDBC, "_jdbc_conn_id", "the connection to the database"),
    ForeignName(_JDBC, "_jdbc_connection", "the connection to the database"),
    ForeignName(_JDBC_OPERATOR, "_get_hook", "the hook that submits", ("self",)),
    ForeignName(_JDBC_OPERATOR, "_spark_conf", "the configuration that is submitted"),
    ForeignName(_JDBC_SCRIPT, "_create_spark_session", "the job of the operator", ("arguments",)),
    ForeignName(_JDBC_SCRIPT, "_parse_arguments", "the job of the operator", ("args",)),
    ForeignName(_JDBC_SCRIPT, "_run_spark", "the job of the operator", ("arguments",)),
    ForeignName(_SQL, "_conf", "the configuration that is submitted"),
    ForeignName(_SQL, "_prepare_command", "the command", ("self", "cmd")),
    ForeignName(_SQL, "_master", "where the query runs"),
    ForeignName(_SQL, "_sp", "the process of spark-sql"),
    *(ForeignName(_SQL, f"_{name}", "an argument of the operator") for name in _SQL_ARGUMENTS),
    ForeignName(_SQL_OPERATOR, "_conf", "the configuration that is submitted"),
    ForeignName(_SQL_OPERATOR, "_get_hook", "the hook that runs the query", ("self",)),
    ForeignName(_PIPELINES, "_build_spark_pipelines_command", "the command", ("self",)),
    ForeignName(_PIPELINES, "_get_spark_binary_path", "the program that runs", ("self",)),
    ForeignName(_PYSPARK_DECORATOR, "_PySparkDecoratedOperator", "the operator of @task.pyspark"),
    # Its Livy provider
    ForeignName(_LIVY_OPERATOR, "_polling_interval", "whether a task waits for its batch"),
    ForeignName(_LIVY_TRIGGER, "_get_async_hook", "what a deferred task asks", ("self",)),
    # Its Databricks provider
    ForeignName(_DATABRICKS_OPERATOR, "_hook", "what a task asks for the errors of its run"),
    # Its Kubernetes provider
    ForeignName(
        _KUBERNETES_OPERATOR,
        "_get_ti_pod_labels",
        "the labels by which a later try finds its job",
        ("context", "include_try_number"),
    ),
    # PySpark
    ForeignName(SPARK_CONTEXT, "_active_spark_context", "whether a driver has begun"),
    ForeignName(SPARK_CONTEXT, "_ensure_initialized", "starts the JVM"),
    ForeignName(SPARK_CONTEXT, "_gateway", "whether there is a JVM"),
    ForeignName(SPARK_CONTEXT, "_jvm", "the JVM, which forgets what was resolved"),
    ForeignName(GATEWAY, "launch_gateway", "starts the JVM", ("conf", "popen_kwargs")),
    ForeignName(SESSION_BUILDER, "_options", "the configuration of a session"),
    ForeignName(FIND_SPARK, "_find_spark_home", "where spark-defaults.conf is", ()),
    ForeignName(CONNECT_SESSION, "RuntimeConf", "the configuration of a session of Spark Connect"),
    ForeignName(CONNECT_CONF, "_client", "the session of Spark Connect"),
    ForeignName(CONNECT_CONF, "_set_all", "the configuration of a session of Spark Connect", since="4.0"),
    # Sentry's SDK
    ForeignName(SENTRY, "global_event_processors", "what Sentry gets"),
    ForeignName(SENTRY, "add_global_event_processor", "what Sentry gets", ("processor",)),
    ForeignName(SENTRY_API, "get_client", "what Sentry gets", ()),
    # fsspec
    ForeignName(
        FILE_SYSTEM,
        "_find",
        "whether a store lists all objects at once",
        ("self", "path", "maxdepth", "withdirs", "kwargs"),
    ),
)


_BY_OWNER: Final[dict[str, list[ForeignName]]] = {}
for _row in TABLE:
    _BY_OWNER.setdefault(_row.owner, []).append(_row)

_CHECKED: Final = WeakSet[type]()
"""The classes whose bases were checked; reading a DAG file again makes new ones, and the old ones must go."""


@cache
def require(owner: str) -> None:
    """
    Check the rows of one owner, once in a process.

    :param owner: as in the table; it is imported if it was not
    :raises KeyError: the table has no such owner
    :raises UnsupportedVersionError: the installed version lacks one of the names, or it takes other parameters
    """
    require_rows(_BY_OWNER[owner], imported_owner(owner))


def require_bases(kind: type) -> None:
    """
    Check the rows of each class that ``kind`` is derived from, once in a process.

    :raises UnsupportedVersionError: as in ``require``
    """
    if kind in _CHECKED:
        return
    for base in kind.__mro__:
        if (owner := f"{base.__module__}:{base.__qualname__}") in _BY_OWNER:
            require(owner)
    _CHECKED.add(kind)


def require_rows(rows: Iterable[ForeignName], owner: Any) -> None:
    """
    Check ``rows`` against ``owner``, the class or module itself.

    :raises UnsupportedVersionError: as in ``require``
    """
    problems = [f"{problem}. {_way_out(row.distribution)}" for row in rows if (problem := row.problem(owner))]
    refuse(UnsupportedVersionError, problems)


def imported_owner(owner: str) -> Any:
    """Return the class, function or module that a row names."""
    module, _, path = owner.partition(":")
    return attrgetter(path)(import_module(module)) if path else import_module(module)


def has_supervisor() -> bool:
    """
    Return whether a supervisor listens: in a task, in a trigger and while a DAG is parsed, but not in a preview.

    Imports nothing of Airflow, so that it can be asked while Airflow starts.
    """
    return _supervisor() is not None


def has_supervisor_here() -> bool:
    """Return whether the supervisor runs in this process, as under ``airflow dags test``."""
    return getattr(_supervisor(), "supervisor", None) is not None


def _supervisor() -> Any:
    return getattr(sys.modules.get(TASK_RUNNER), "SUPERVISOR_COMMS", None)


def _has(owner: Any, name: str) -> bool:
    declared = getattr(owner, "__annotations__", ())
    return hasattr(owner, name) or name in declared or name in _set_by_init(owner) or name in _strings_of(owner)


@cache
def _set_by_init(owner: Any) -> frozenset[str]:
    """Return the names in the code of ``__init__``, which has those of the attributes that it sets."""
    makers = [unwrap(base.__init__) for base in getattr(owner, "__mro__", ())]
    return frozenset(name for make in makers if hasattr(make, "__code__") for name in make.__code__.co_names)


def _strings_of(owner: Any) -> Collection[Any]:
    """Return the constants in the code of a function, which has the names of the variables that it reads."""
    found: Collection[Any] = getattr(getattr(owner, "__code__", None), "co_consts", ())
    return found


def _parameters(function: Any) -> tuple[str, ...] | None:
    """
    Return the names of the parameters; ``inspect.signature`` takes 50 times as long.

    :return: None for a wrapper, as a deployment can put around a method: it passes on whatever it is given
    """
    code = getattr(unwrap(function), "__code__", None)
    if code is None:
        return None
    named = code.co_argcount + code.co_kwonlyargcount
    further = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    found: tuple[str, ...] = code.co_varnames[: named + further]
    return None if further == 2 and named < 2 else found


def _way_out(distribution: str) -> str:
    version = _version(distribution) or "of an unknown version"
    return (
        f"{distribution} {version} is installed, which this version of {_OURS} does not know. "
        f"Install one that it knows ({_known(distribution)}), or a newer {_OURS}."
    )


def _version(distribution: str) -> str:
    """
    Return the version that is installed; Spark's own download brings a PySpark that is no distribution.

    A module that is loaded says it at once. Finding it in the metadata takes milliseconds, in each task.
    """
    module = next((module for module, name in _DISTRIBUTIONS.items() if name == distribution), distribution)
    if version := getattr(sys.modules.get(module), "__version__", ""):
        return str(version)
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(distribution)
    return ""


def _is_older(distribution: str, version: str) -> bool:
    found, wanted = ([int(part) for part in re.findall(r"\d+", text)] for text in (_version(distribution), version))
    return bool(found) and found < wanted  # of a version that is not known, each name is required


def _known(distribution: str) -> str:
    """Return the versions that this package works with, as it requires them."""
    pattern = re.compile(rf"{re.escape(distribution)}(?![\w.-])\s*([^;]*)")
    try:
        lines = metadata.requires(_OURS) or []
    except metadata.PackageNotFoundError:  # a driver can have it as a zip file
        lines = []
    return next((match[1].strip() for line in lines if (match := pattern.match(line))), "see its documentation")
