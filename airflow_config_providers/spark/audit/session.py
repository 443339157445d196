"""The Spark session of the audit: a local one by default, with everything that leaves a process encrypted."""

from __future__ import annotations

import logging
import os
import pwd
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.entry_points import installed
from airflow_config_providers.core.process_environment import having
from airflow_config_providers.exceptions import ConfigException, SubmitError, translating
from airflow_config_providers.foreign import SPARK_CONTEXT, require
from airflow_config_providers.lazy import pyspark
from airflow_config_providers.spark.audit.spark_failures import translating_failures
from airflow_config_providers.spark.catalogue import SECRET_KEY
from airflow_config_providers.spark.installation import SparkInstallation, matching
from airflow_config_providers.spark.jvm import has_started, launch, launching_without, spark_home, unwritable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tick = Callable[[int, int], None]
"""Is called with how much was read so far, and how much there is to read in all."""

_ENCRYPTED: Final = {
    "spark.authenticate": "true",
    "spark.io.encryption.enabled": "true",
    "spark.network.crypto.enabled": "true",
}
"""What keeps broadcast values from being read on a disk or on the wire."""

_DEFAULTS: Final = {
    "spark.app.name": "airflow-config-providers audit",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.shuffle.partitions": "8",
    # With it, Spark returns a result before all stages have ended; those then print errors into a session that stops.
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    "spark.sql.session.timeZone": "UTC",
}

_OF_THIS_PROCESS: Final = (
    "AIRFLOW__",
    "AIRFLOW_CLI_TOKEN",
    "AIRFLOW_CONN_",
    "AIRFLOW_VAR_",
    "VAULT_",
    "_AIRFLOW_",
)
"""
Prefixes of the variables in which this process has credentials and settings. The JVM and its Python processes get all
others, because Spark's scripts and the clients of clouds can read any.
"""

_NO_SPARK: Final = (
    "The audit runs on Spark, and pyspark is not installed. Install the extra 'audit', as the page 'Install' of the "
    "documentation says, and Java 17 or newer."
)

_LACKS_SECRET: Final = (
    f"This cluster needs {SECRET_KEY}, and spark-defaults.conf does not have it. Write it there, as on all machines "
    f"of the cluster, and let only this user read that file."
)
_NOT_STARTED: Final = (
    f"Spark did not start ({{}}). Its own messages are above. Java 17 or newer must be installed, and the master, if "
    f"there is one, must be reachable, and have the same {SECRET_KEY}."
)
_COMMAND: Final = "spark-submit"
"""The program that PySpark starts."""

_LOGIN: Final = "UserGroupInformation.createLoginUser"
"""Where Hadoop asks the system for the name of the user, in the stack of its error."""

_NO_USER: Final = (
    "Spark does not start for user {}, who has no entry in /etc/passwd: Java takes name and home directory from there. "
    "Add an entry, or run this as another user."
)


@contextmanager
def audit_session(master: str | None = None, configs: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """
    Yield a session, and stop it at the end. In a Spark that was there before, it is a new one beside that of others.

    :param master: None for the one of Spark's own defaults, or else ``local[*]``
    :param configs: configuration that overrides the defaults of the audit
    :raises ConfigException: Spark is not installed or does not start, what leaves a process is not encrypted, or
        executors do not have this package
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    _require_unseen(configs or {})
    with _quiet_py4j():
        session, is_new = _started(master, configs or {})
        try:
            _require_encryption(session)
            _require_package(session)
            yield session
        finally:
            if is_new:
                session.stop()


@contextmanager
def _quiet_py4j() -> Iterator[None]:
    """
    Keep the messages of Py4J out of the log.

    It reports each connection that it closes and, at Ctrl-C, the call in which that fell, with stack traces, partly as
    the root logger. An error that matters is raised, too. It closes the last connections when the process ends, so a
    level that nobody has set stays above such reports.
    """
    root, own = logging.getLogger(), logging.getLogger("py4j")
    level = own.level
    own.setLevel(logging.CRITICAL)
    root.addFilter(_is_not_of_py4j)
    try:
        yield
    finally:
        root.removeFilter(_is_not_of_py4j)
        own.setLevel(level or logging.WARNING)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


def _require_unseen(configs: Mapping[str, str]) -> None:
    if SECRET_KEY in configs:
        raise ConfigException(
            f"{SECRET_KEY} must not be given here: other users of this machine would see it in the arguments of Spark. "
            f"Write it to spark-defaults.conf, and let only this user read that file."
        )


def _started(master: str | None, configs: Mapping[str, str]) -> tuple[Any, bool]:
    """Return the session, and whether it was not there before."""
    installed("pyspark.sql", _NO_SPARK)
    require(SPARK_CONTEXT)
    is_new = pyspark.SparkContext._active_spark_context is None  # an active session is one of this thread
    # Py4J's errors are of many kinds, and hold a whole stack of Java.
    with translating(Exception, lambda error: ConfigException(_not_started(error))):
        session = _session(master, configs) if is_new else _session_beside({**_DEFAULTS, **configs})
    return session, is_new


def _not_started(error: Exception) -> str:
    if SECRET_KEY in str(error):
        return _LACKS_SECRET
    if not has_started() and (problem := _java_problem()):
        return problem
    if (not has_started() or _LOGIN in str(error)) and not _is_known(os.getuid()):
        return _NO_USER.format(os.getuid())
    if found := [*unwritable(os.environ)]:
        return " ".join(f"{problem} {way_out}" for problem, way_out in found)
    return _NOT_STARTED.format(type(error).__name__)


def _java_problem() -> str:
    """Return why PySpark finds no Java; empty if it finds one."""
    try:
        SparkInstallation(_COMMAND, Path(spark_home(), "bin", _COMMAND), os.environ).require_command()
    except SubmitError as error:
        return " ".join(error.problems)
    return ""


def _is_known(user: int) -> bool:
    with suppress(KeyError):
        return bool(pwd.getpwuid(user))
    return False


def _session(master: str | None, configs: Mapping[str, str]) -> Any:
    conf = pyspark.SparkConf().setAll(list({**_DEFAULTS, **_ENCRYPTED, **configs}.items()))
    if master:
        conf.setMaster(master)  # without one, Spark takes that of spark-defaults.conf, or else local[*]
    with quiet_start(os.environ), launching_without([name for name in os.environ if name.startswith(_OF_THIS_PROCESS)]):
        launch(conf)
    context = pyspark.SparkContext(conf=conf)
    try:
        context.setLogLevel("ERROR")
        return pyspark.sql.SparkSession.builder.config(conf=conf).getOrCreate()
    except BaseException:  # also Ctrl-C: the next audit would take the context for one of others
        context.stop()
        raise


def _session_beside(configs: Mapping[str, str]) -> Any:
    """Return a session with settings of its own, in the Spark that runs in this process."""
    session = pyspark.sql.SparkSession.builder.getOrCreate().newSession()
    for key, text in configs.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, text)
    return session


_SUBMIT_OPTIONS: Final = "SPARK_SUBMIT_OPTS"
_LOGGING: Final = Path(__file__).with_name("log4j2.properties")


@contextmanager
def quiet_start(environ: MutableMapping[str, str]) -> Iterator[None]:
    """
    Let the JVM that PySpark starts in this block log only what matters, with a log configuration of this package.

    The deployment's own log configuration is left alone, wherever it is: in Spark's folder of configuration, in the
    environment or in Java options. This concerns only this process: executors on a cluster have their own.

    :param environ: the environment of this process, which is restored when the block ends
    """
    is_in_zip = not _LOGGING.is_file()
    if is_in_zip or _has_log_configuration(environ):
        yield
        return
    ours = f"'-Dlog4j2.configurationFile={_LOGGING.as_uri()}'"
    options = f"{ours} {environ.get(_SUBMIT_OPTIONS, '')}".rstrip()  # of two of one name, Java takes the last
    with having(environ, _SUBMIT_OPTIONS, options):
        yield


def _has_log_configuration(environ: MutableMapping[str, str]) -> bool:
    folder = Path(environ.get("SPARK_CONF_DIR") or Path(spark_home(), "conf"))
    names = ("log4j2*.properties", "log4j2*.xml", "log4j2*.y*ml", "log4j2*.js*n", "log4j.properties", "log4j.xml")
    is_in_folder = any(matching(name, folder) for name in names)
    return is_in_folder or any(name.startswith("LOG4J_") for name in environ)


def _require_encryption(session: SparkSession) -> None:
    conf = session.sparkContext.getConf()
    lacking = [f"{key}={value}" for key, value in _ENCRYPTED.items() if conf.get(key, "false") != value]
    if lacking:
        raise ConfigException(
            f"Values would reach executors without encryption: set {', '.join(lacking)}. A standalone cluster also "
            f"needs the same spark.authenticate.secret as this session."
        )


def _require_package(session: SparkSession) -> None:
    """Raise an error if executors do not have this package, before they get a value."""
    context = session.sparkContext
    if not str(context.master).startswith("local"):
        with translating_failures(job_failed):
            context.parallelize([0], 1).map(_imported).collect()


def _imported(number: int) -> int:
    """Return ``number``, where this package can be imported."""
    return number


def job_failed(problem: str) -> ConfigException:
    """Return the error that says that a job of Spark failed because of ``problem``, and what to do."""
    return ConfigException(
        f"Spark could not finish the job ({problem}). Its own messages are above: an executor perhaps needs more "
        f"memory, or the master is not reachable, or does not have the same {SECRET_KEY}. With --state, the next "
        f"audit goes on where this one ended."
    )
