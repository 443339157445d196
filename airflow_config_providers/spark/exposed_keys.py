"""The keys whose values other people can read, and those that Spark reads before a driver can resolve references."""

from __future__ import annotations

import re
from typing import Final

from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.spark.catalogue import spark_definition

_NUMBERS: Final = frozenset({ConfigType.BOOLEAN, ConfigType.INT, ConfigType.LONG, ConfigType.DOUBLE})

_WRITTEN_OUT: Final = frozenset(
    {
        "spark.admin.acls",
        "spark.admin.acls.groups",
        "spark.app.id",
        "spark.app.name",
        "spark.archives",
        "spark.driver.defaultExtraClassPath",
        "spark.driver.defaultJavaOptions",
        "spark.driver.extraClassPath",
        "spark.driver.extraJavaOptions",
        "spark.driver.extraLibraryPath",
        "spark.driver.host",
        "spark.driver.log.layout",
        "spark.driver.log.localDir",
        "spark.driver.memory",
        "spark.executor.defaultExtraClassPath",
        "spark.executor.defaultJavaOptions",
        "spark.executor.extraClassPath",
        "spark.executor.extraJavaOptions",
        "spark.executor.extraLibraryPath",
        "spark.files",
        "spark.hadoop.hive.metastore.warehouse.dir",
        "spark.hive.metastore.warehouse.dir",
        "spark.jars",
        "spark.jars.ivy",
        "spark.jars.packages",
        "spark.kubernetes.file.upload.path",
        "spark.local.dir",
        "spark.log.callerContext",
        "spark.metrics.namespace",
        "spark.modify.acls",
        "spark.modify.acls.groups",
        "spark.pyspark.driver.python",
        "spark.pyspark.python",
        "spark.python.daemon.module",
        "spark.python.unix.domain.socket.dir",
        "spark.python.worker.module",
        "spark.repl.class.uri",
        "spark.repl.local.jars",
        "spark.sql.execution.pyspark.python",
        "spark.sql.warehouse.dir",
        "spark.submit.pyFiles",
        "spark.test.appId",
        "spark.ui.allowFramingFrom",
        "spark.ui.custom.executor.log.url",
        "spark.ui.proxyBase",
        "spark.ui.proxyRedirectUri",
        "spark.ui.reverseProxyUrl",
        "spark.ui.store.path",
        "spark.ui.strictTransportSecurity",
        "spark.ui.view.acls",
        "spark.ui.view.acls.groups",
        "spark.ui.xXssProtection",
        "spark.yarn.am.defaultJavaOptions",
        "spark.yarn.am.extraJavaOptions",
        "spark.yarn.applicationType",
        "spark.yarn.archive",
        "spark.yarn.dist.archives",
        "spark.yarn.dist.files",
        "spark.yarn.dist.jars",
        "spark.yarn.dist.pyFiles",
        "spark.yarn.jar",
        "spark.yarn.jars",
        "spark.yarn.queue",
        "spark.yarn.tags",
    }
)
"""
Keys whose values are in Spark's UI or event log, in the command or the log of an executor, or in the driver's command.

From files, jars and packages, Spark derives other keys, the URLs of its file server, and the class path. Redaction does
not hide the class path: Spark hides the source next to a path, not the path. The local directory is an argument of the
``chmod`` that Hadoop runs for each file, and the directories of the UI's store and of the driver's log are arguments of
the ``rm`` that Spark runs at its end. The warehouse is in the plans of queries and in the logs of executors. The path
for uploads to Kubernetes becomes part of ``spark.jars`` and of ``spark.files``. The options of YARN's application
master are in its command; the queue, the tags and the type are in YARN's lists of applications, and each node logs
where it has its jars and its archive from. The layout is in each line of the driver's log, which Spark copies to a
folder and shows in its UI. HDFS and YARN write the caller's context into their logs. The id of an application, which a
local master and Kubernetes take from the configuration, is in the name of the event log and in the labels of pods.
Addresses of proxies and headers are in all that the UI answers. The system lists the paths of sockets for every user.
"""

_OF_RESOURCES: Final = re.compile(
    r"spark\.(?:driver\.resource\..+\.discoveryScript|executor\.resource\..+\.(?:discoveryScript|vendor))"
)
"""Keys of GPUs and the like: the script is a command, and the event log has both in the profile of the executors."""

_OF_OBJECTS: Final = re.compile(
    r"spark\.kubernetes\.(?:(?:driver|executor|driver\.service)\.(?:label|annotation)\."
    r"|(?:driver|executor)\.(?:volumes|secrets|secretKeyRef)\.|driverEnv\."
    r"|(?:(?:driver|executor)\.)?(?:node\.selector\.|container\.image(?:\Z|\.)|scheduler\.name\Z)"
    r"|authenticate\.(?:.+\.)?serviceAccountName\Z|kerberos\.tokenSecret\.|(?:hadoop|kerberos\.krb5)\.configMapName\Z"
    r"|driver\.(?:pod\.name|resourceNamePrefix)\Z|executor\.(?:podNamePrefix\Z|decommissionLabel)|namespace\Z)"
)
"""Keys that are written into pods and services, which more people can read than Kubernetes' secrets."""

_FOLDERS: Final = frozenset(
    {
        "spark.checkpoint.dir",
        "spark.driver.log.dfsDir",
        "spark.eventLog.dir",
        "spark.sql.streaming.checkpointLocation",
        "spark.storage.decommission.fallbackStorage.path",
        "spark.yarn.stagingDir",
    }
)
"""Keys that name a folder. On this machine, Hadoop runs a ``chmod`` for each file in it, with the whole path."""

_REMOTE: Final = re.compile(
    "(?:abfss?|adl|cosn|gs|hdfs|o3fs|obs|ofs|oss|s3[an]?|swebhdfs|wasbs?|webhdfs)://", re.ASCII | re.IGNORECASE
)
"""The schemes of file systems that are not on this machine: Hadoop runs no command for their files."""

_ENVIRONMENTS: Final = ("spark.executorEnv.", "spark.yarn.appMasterEnv.")
"""
Prefixes of keys that become the environment of a process in the cluster.

The JSON page of a standalone Worker shows that of executors. YARN copies the script that sets both into its logs.
"""

_NEEDED_BEFORE_EXECUTORS_CONNECT: Final = ("spark.auth", "spark.network", "spark.port.", "spark.rpc", "spark.ssl")
"""Prefixes of keys that Spark passes to executors as ``-D`` options."""

_READ_EARLY: Final = frozenset({"spark.driver.cores", "spark.driver.log.dfsDir", "spark.master", "spark.plugins"})
"""Keys that are read before Python runs, besides those of ``_WRITTEN_OUT``, which ``is_early`` includes as well."""

_READ_EARLY_BELOW: Final = (
    "spark.driver.defaultJavaOptions",
    "spark.driver.extra",
    "spark.driver.memory",
    "spark.driver.resource.",
    "spark.driver.supervise",
    "spark.jars.",
    "spark.kerberos.",
    "spark.kubernetes.",
    "spark.submit.",
    "spark.yarn.",
)
"""Prefixes of more keys that spark-submit or the driver's JVM reads before Python runs."""


def is_exposed(key: str, text: str = "") -> bool:
    """
    Return whether Spark itself shows the value of ``key`` in a command or a page. Numbers are not secret.

    :param text: the value as it is written, with its references; empty if it is not known
    """
    if key in _FOLDERS:
        return not _REMOTE.match(text)
    if not _is_written_out(key):
        return False
    known = spark_definition().config_keys.get(key)
    return known is None or known.type not in _NUMBERS


def _is_written_out(key: str) -> bool:
    if key == "spark.authenticate.secret" or (key.startswith("spark.ssl.") and "Password" in key):
        return False
    below = (*_ENVIRONMENTS, *_NEEDED_BEFORE_EXECUTORS_CONNECT)
    is_below = key.startswith(below) or any(one.match(key) for one in (_OF_OBJECTS, _OF_RESOURCES))
    return key in _WRITTEN_OUT or is_below or key.endswith(".port")


def is_early(key: str, text: str = "") -> bool:
    """
    Return whether spark-submit or the driver's JVM reads ``key`` before Python runs, or Spark shows it.

    :param text: the value as it is written, with its references; empty if it is not known
    """
    return key in _READ_EARLY or key.startswith(_READ_EARLY_BELOW) or is_exposed(key, text)
