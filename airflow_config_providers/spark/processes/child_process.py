"""The command and the environment of a child process: the limits of both, and the environment without secrets."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.process_environment import all_variables
from airflow_config_providers.core.text import octets, printable
from airflow_config_providers.exceptions import ConfigException, SubmitError, raise_alone, refuse

_USUAL: Final = 2 * 1024 * 1024
"""The limit of Linux, unless stacks are smaller; if they are unlimited, ``SC_ARG_MAX`` is too high."""

_SMALLEST: Final = 128 * 1024
"""The limit in bytes if the system does not say one: Linux allows as many at least."""

_POINTER: Final = 8
"""The bytes of a pointer to an argument or a variable, which the kernel counts too."""


def room(environ: Mapping[str, str], *, sysconf: Callable[[str], int] = os.sysconf) -> int:
    """
    Return how many bytes of a Spark command the configuration can take.

    That is half of the limit for a command and its environment: the rest is for the other arguments, and for what
    Spark's scripts add to the command and to the environment.

    :param environ: the environment of the command
    :param sysconf: ``os.sysconf``, or a replacement
    """
    limit = sysconf("SC_ARG_MAX")
    taken = sum(_size(name) + _size(value) + _POINTER for name, value in all_variables(environ).items())
    return max(0, min(_USUAL, limit if limit > 0 else _SMALLEST) - taken) // 2


@contextmanager
def refusing_too_long() -> Iterator[None]:
    """
    Explain what to do if a command cannot be started because it is too long.

    :raises SubmitError: instead of the error of the operating system
    """
    try:
        yield
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
    else:
        return
    raise_alone(
        SubmitError(
            "The command is too long for this machine: an argument or an environment variable is longer than 128 KiB, "
            "or all of them together are too long. Shorten the arguments and env_vars of the job, for example by "
            "letting it read a file. The configuration is not the reason, since a large configuration goes through a "
            "file."
        )
    )


def size(configs: Mapping[str, str]) -> int:
    """Return how many bytes the arguments ``--conf key=value`` for ``configs`` take together."""
    return sum(_size("--conf") + _size(key) + _size(value) + 2 * _POINTER for key, value in configs.items())


def refuse_unpassable(variables: Mapping[object, object], texts: Mapping[str, object]) -> None:
    """
    Refuse what the operating system cannot pass to a program; its own error would name nothing.

    :param variables: the environment variables
    :param texts: label -> argument
    :raises ConfigException: lists all of them, without values
    """
    problems = [*_problems_of_names(variables)]
    values = {f"env_vars[{name!r}]": value for name, value in variables.items()}
    for label, value in {**values, **texts}.items():
        if problem := _problem(value):
            problems.append(f"{printable(label)}: its value {problem}")
    refuse(ConfigException, problems)


def _problems_of_names(variables: Mapping[object, object]) -> Iterator[str]:
    for name in variables:
        problem = _problem(name)
        if problem is None and "=" in str(name):
            problem = "contains an equals sign. Rename it."
        if problem:
            yield f"{printable(f'env_vars[{name!r}]')}: its name {problem}"


def _problem(value: object) -> str | None:
    if not isinstance(value, str | bytes | os.PathLike):
        return "is not a string. Put it in quotes."
    try:
        encoded = os.fsencode(value)
    except UnicodeEncodeError:
        return "contains half of a surrogate pair, which is not a character. Correct it."
    return "contains a NUL character. Remove it." if 0 in encoded else None


def _size(text: str) -> int:
    return len(octets(text)) + 1


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
"""Prefixes of more such names. With the first, Airflow names the task to which a job belongs."""


def withheld(names: Collection[str]) -> frozenset[str]:
    """Return those of ``names`` to keep from a child: not all, since a provider's pattern can also match ``PATH``."""
    return frozenset(name for name in {*names} - _READ_BY_CHILDREN if not name.startswith(_READ_BY_CHILDREN_TOO))


def without(environ: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return a copy of ``environ`` without ``names``."""
    return {name: value for name, value in all_variables(environ).items() if name not in names}


def command_without(command: Sequence[str], names: Collection[str]) -> list[str]:
    """Return a command that runs ``command``, in the same process, without the variables ``names``."""
    return ["env", *(word for name in sorted(names) for word in ("-u", name)), *command] if names else [*command]
