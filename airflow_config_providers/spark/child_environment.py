"""The environment of child processes, without the secrets that providers read from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from typing import Final

_NAMES = """
AIRFLOW_CONFIG AIRFLOW_HOME AWS_CA_BUNDLE AWS_CONFIG_FILE AWS_DEFAULT_REGION AWS_PROFILE AWS_REGION AWS_ROLE_ARN
AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE CLASSPATH CURL_CA_BUNDLE GOOGLE_APPLICATION_CREDENTIALS
HADOOP_CLASSPATH HADOOP_CONF_DIR HADOOP_HOME HADOOP_OPTS HADOOP_USER_NAME HIVE_CONF_DIR HIVE_HOME HOME HOSTNAME
JAVA_HOME JAVA_OPTS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS KRB5CCNAME KRB5_CONFIG KRB5_KTNAME KUBECONFIG
KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT LANG LANGUAGE LD_LIBRARY_PATH LD_PRELOAD LOGNAME MALLOC_ARENA_MAX
OMP_NUM_THREADS PATH PWD PYSPARK_DRIVER_PYTHON PYSPARK_DRIVER_PYTHON_OPTS PYSPARK_PIN_THREAD PYSPARK_PYTHON
PYSPARK_SUBMIT_ARGS PYTHONHASHSEED PYTHONHOME PYTHONIOENCODING PYTHONPATH PYTHONUNBUFFERED PYTHONUTF8
REQUESTS_CA_BUNDLE SHELL SHLVL SPARK_CLASSPATH SPARK_CONF_DIR SPARK_DAEMON_JAVA_OPTS SPARK_DIST_CLASSPATH
SPARK_DRIVER_MEMORY SPARK_ENV_LOADED SPARK_EXECUTOR_CORES SPARK_EXECUTOR_DIRS SPARK_EXECUTOR_MEMORY SPARK_HOME
SPARK_JARS_DIR SPARK_JAVA_OPTS SPARK_LAUNCHER_OPTS SPARK_LIBRARY_PATH SPARK_LOCAL_DIRS SPARK_LOCAL_HOSTNAME
SPARK_LOCAL_IP SPARK_LOG_DIR SPARK_MEM SPARK_PREPEND_CLASSES SPARK_PUBLIC_DNS SPARK_SCALA_VERSION
SPARK_SUBMIT_LIBRARY_PATH SPARK_SUBMIT_OPTS SPARK_TESTING SPARK_USER SSL_CERT_DIR SSL_CERT_FILE TEMP TERM TMP
TMPDIR TZ USER VIRTUAL_ENV YARN_CONF_DIR _JAVA_OPTIONS
ALL_PROXY FTP_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY all_proxy ftp_proxy https_proxy http_proxy no_proxy
"""
_READ_BY_CHILDREN: Final = frozenset(_NAMES.split())
"""Names that the shell, Java, Python, Spark, Hadoop and the cloud clients read themselves."""

_READ_BY_CHILDREN_TOO: Final = ("AIRFLOW_CTX_", "CONDA_", "LC_")
"""Prefixes of more such names. With the first, Airflow tells a job to which task it belongs."""


def withheld(names: Collection[str]) -> frozenset[str]:
    """Return those of ``names`` to keep from a child: not all, since a provider's pattern can also match ``PATH``."""
    return frozenset(name for name in names if not _is_kept(name))


def without(environ: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return a copy of ``environ`` without ``names``."""
    return {name: value for name, value in environ.items() if name not in names}


def command_without(command: Sequence[str], names: Collection[str]) -> list[str]:
    """Return a command that runs ``command``, in the same process, without the variables ``names``."""
    return ["env", *(word for name in sorted(names) for word in ("-u", name)), *command] if names else [*command]


@contextmanager
def lacking(environ: MutableMapping[str, str], names: Collection[str]) -> Iterator[None]:
    """Remove ``names`` from ``environ`` during the block, for a child that inherits all of it."""
    taken = {name: environ.pop(name) for name in names if name in environ}
    try:
        yield
    finally:
        environ.update({name: value for name, value in taken.items() if name not in environ})


def _is_kept(name: str) -> bool:
    return name in _READ_BY_CHILDREN or name.startswith(_READ_BY_CHILDREN_TOO)
