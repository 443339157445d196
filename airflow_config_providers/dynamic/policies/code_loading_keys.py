"""Keys that bring code or files into a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow_config_providers.core.policy import AlterConfigPolicy, RequestMetadata
from airflow_config_providers.dynamic.policies.immutable_keys import ImmutableKeys
from airflow_config_providers.dynamic.policies.params import Params

CODE_LOADING_KEYS: Final = (
    # jars, Python files and archives, and where they are looked for
    "spark.jars",
    "spark.jars.*",
    "spark.files",
    "spark.archives",
    "spark.submit.pyFiles",
    "spark.*.extraClassPath",
    "spark.*.defaultExtraClassPath",
    "spark.*.extraLibraryPath",
    "spark.*.userClassPathFirst",
    "spark.yarn.archive",
    "spark.yarn.cache.*",
    "spark.yarn.config.*",
    "spark.yarn.dist.*",
    "spark.yarn.jars",
    "spark.yarn.populateHadoopClasspath",
    "spark.yarn.secondary.jars",
    "spark.yarn.user.*",
    "spark.repl.*",
    "spark.home",
    "spark.submit.proxyUser.allowCustomClasspathInClusterMode",
    "spark.*.resourcesFile",
    "spark.kerberos.keytab",
    "spark.mesos.uris",
    "spark.mesos.executor.*",
    # options of virtual machines, environments, interpreters and scripts
    "spark.*.extraJavaOptions",
    "spark.*.defaultJavaOptions",
    "spark.executorEnv.*",
    "spark.yarn.appMasterEnv.*",
    "spark.kubernetes.driverEnv.*",
    "spark.mesos.driverEnv.*",
    "spark.pyspark.*python",
    "spark.sql.execution.pyspark.python",
    "spark.python.daemon.module",
    "spark.python.worker.module",
    "spark.r.*command",
    "spark.sparkr.r.command",
    "spark.*.discoveryScript",
    "spark.kubernetes.decommission.script",
    # classes that Spark makes objects of
    "spark.plugins",
    "spark.plugins.*",
    "spark.executor.plugins",
    "spark.resources.discoveryPlugin",
    "spark.extraListeners",
    "spark.streaming.extraListeners",
    "spark.sql.queryExecutionListeners",
    "spark.sql.streaming.streamingQueryListeners",
    "spark.sql.extensions",
    "spark.sql.extensions.*",
    "spark.sql.extendedExplainProviders",
    "spark.sql.catalog.*",
    "spark.sql.hive.metastore.*",
    "spark.sql.maven.additionalRemoteRepositories",
    "spark.sql.cache.serializer",
    "spark.sql.adaptive.customCostEvaluatorClass",
    "spark.sql.*Committer*",
    "spark.sql.*committer.class",
    "spark.sql.*ProtocolClass",
    "spark.sql.streaming.checkpointFileManagerClass",
    "spark.sql.streaming.stateStore.providerClass",
    "spark.sql.udt.allowedDynamicUDTClasses",
    "spark.connect.extensions.*",
    "spark.connect.grpc.interceptor.classes",
    "spark.connect.ml.backend.classes",
    "spark.serializer",
    "spark.closure.serializer",
    "spark.kryo.registrator",
    "spark.kryo.classesToRegister",
    "spark.io.compression.codec",
    "spark.eventLog.compression.codec",
    "spark.shuffle.mapStatus.compression.codec",
    "spark.shuffle.manager",
    "spark.shuffle.*plugin*",
    "spark.storage.replication.policy",
    "spark.storage.replication.topology*",
    "spark.streaming.*.writeAheadLog.class",
    "spark.deploy.recoveryMode.factory",
    "spark.ui.filters",
    "spark.*.rest.filters",
    "spark.metrics.conf",
    "spark.metrics.conf.*",
    "spark.scheduler.allocation.file",
    # Hadoop and Hive: file systems, providers of credentials, scripts, drivers
    "spark.hadoop.*.class",
    "spark.hadoop.*.classes",
    "spark.hadoop.*.impl",
    "spark.hadoop.*.provider",
    "spark.hadoop.*.provider.path",
    "spark.hadoop.*script*",
    "spark.hadoop.*credential*provider*",
    "spark.hadoop.hadoop.security.*",
    "spark.hadoop.io.compression.codec*",
    "spark.hadoop.io.serializations",
    "spark.hadoop.javax.jdo.*",
    "spark.hadoop.hive.*",
    "spark.hive.*",
    # what a pod is made of
    "spark.kubernetes.*container.image",
    "spark.kubernetes.*featureSteps",
    "spark.kubernetes.*podTemplate*",
    "spark.kubernetes.*.volumes.*",
    "spark.kubernetes.*.secrets.*",
    "spark.kubernetes.*.secretKeyRef.*",
    "spark.kubernetes.file.upload.path",
    "spark.kubernetes.hadoop.configMapName",
    "spark.kubernetes.kerberos.krb5.*",
)
"""Of Spark 3.5 to 4.2: what is loaded from a place, run, or made an object of by its name; files included."""


class CodeLoadingKeys(AlterConfigPolicy):
    """
    Denies that dynamic configuration or a run sets or changes a key that brings code or files into a job.

    Such a key can always be deleted: then the job has what the DAG and the static files give it.

    Parameters: ``also``, a list of more keys or patterns; ``except``, a list of those that may change.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take ``also`` and ``except``."""
        params = Params(configs)
        keys, excluded = [*CODE_LOADING_KEYS, *params.texts("also", ())], params.texts("except", ())
        params.finish()
        self._frozen = ImmutableKeys()
        self._frozen.configure({"keys": keys, "except": excluded, "deletable": True})

    def validate(self, request: RequestMetadata) -> None:
        """Refuse each such key that is set or changed."""
        self._frozen.validate(request)
