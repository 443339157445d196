"""Keys that bring code or files into a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow_config_providers.core.keys import HADOOP_PREFIX
from airflow_config_providers.dynamic.policies.generated_names import CODE_LOADING_HADOOP, CODE_LOADING_SPARK
from airflow_config_providers.dynamic.policies.key_policies import ImmutableKeys
from airflow_config_providers.dynamic.policies.params import Params

FAMILIES: Final = (
    # jars, Python files and archives, and where they are searched
    "spark.jars.*",
    "spark.files",
    "spark.*.extraClassPath",
    "spark.*.defaultExtraClassPath",
    "spark.*.extraLibraryPath",
    "spark.*.userClassPathFirst",
    "spark.yarn.cache.*",
    "spark.yarn.config.*",
    "spark.yarn.dist.*",
    "spark.yarn.populateHadoopClasspath",
    "spark.yarn.user.*",
    "spark.repl.*",
    "spark.home",
    "spark.test.home",
    "spark.delta.logStore.*",
    "spark.databricks.delta.logStore.*",
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
    "spark.r.*command",
    "spark.*.discoveryScript",
    # classes that Spark instantiates
    "spark.plugins.*",
    "spark.sql.extensions.*",
    "spark.sql.catalog.*",
    "spark.sql.hive.metastore.*",
    "spark.sql.*Committer*",
    "spark.sql.*committer.class",
    "spark.sql.*ProtocolClass",
    "spark.connect.extensions.*",
    "spark.closure.serializer",
    "spark.kryo.classesToRegister",
    "spark.shuffle.*plugin*",
    "spark.storage.replication.topology*",
    "spark.streaming.*.writeAheadLog.class",
    "spark.*.rest.filters",
    "spark.metrics.conf",
    "spark.metrics.conf.*",
    "spark.scheduler.allocation.file",
    # Hadoop and Hive: file systems, credential providers, scripts, drivers
    "spark.hadoop.*class",
    "spark.hadoop.*Class",
    "spark.hadoop.*classes",
    "spark.hadoop.*classname",
    "spark.hadoop.*class.name",
    "spark.hadoop.*.impl",
    "spark.hadoop.*provider",
    "spark.hadoop.*providers",
    "spark.hadoop.*provider.path",
    "spark.hadoop.*provider.type",
    "spark.hadoop.*factory",
    "spark.hadoop.*plugin",
    "spark.hadoop.*signer",
    "spark.hadoop.*signers",
    "spark.hadoop.*interceptors",
    "spark.hadoop.*.java.opts",
    "spark.hadoop.*script*",
    "spark.hadoop.*credential*provider*",
    "spark.hadoop.dfs.client.failover.proxy.provider.*",
    "spark.hadoop.dfs.client.failover.resolver.*",
    "spark.hadoop.hadoop.rpc.socket.factory.class.*",
    "spark.hadoop.hadoop.security.*",
    "spark.hadoop.io.compression.codec*",
    "spark.hadoop.mapreduce.outputcommitter.factory.*",
    "spark.hadoop.rpc.engine.*",
    "spark.hadoop.yarn.application.admin.client.class.*",
    "spark.hadoop.datanucleus.*",
    "spark.hadoop.javax.jdo.*",
    "spark.hadoop.hive.*",
    "spark.hive.*",
    # who can run code in the job: its own Spark Connect server
    "spark.api.mode",
    "spark.connect.authenticate.*",
    "spark.connect.grpc.binding.*",
    # where the job runs and is staged: its executors get its values, and their results are code to the driver
    "spark.driver.bindAddress",
    "spark.driver.host",
    "spark.driver.port",
    "spark.master",
    "spark.remote",
    "spark.submit.deployMode",
    "spark.kubernetes.context",
    "spark.kubernetes.driver.master",
    "spark.kubernetes.namespace",
    "spark.yarn.stagingDir",
    "spark.hadoop.fs.defaultFS",
    "spark.hadoop.yarn.resourcemanager.*",
    # where Spark writes its configuration without redaction
    "spark.ui.store.path",
    # whose rights the job has there
    "spark.kubernetes.authenticate.*",
    "spark.kerberos.principal",
    # parts of a pod
    "spark.kubernetes.*container.image",
    "spark.kubernetes.*featureSteps",
    "spark.kubernetes.*pod*Template*",
    "spark.kubernetes.*.volumes.*",
    "spark.kubernetes.*.secrets.*",
    "spark.kubernetes.*.secretKeyRef.*",
    "spark.kubernetes.file.upload.path",
    "spark.kubernetes.hadoop.configMapName",
    "spark.kubernetes.kerberos.krb5.*",
)
"""Keys with variable names, keys of earlier versions, and keys that bring in files, or choose the cluster or rights."""

CODE_LOADING_KEYS: Final = (
    *FAMILIES,
    *CODE_LOADING_SPARK,
    *(f"{HADOOP_PREFIX}{key}" for key in CODE_LOADING_HADOOP),
)
"""Patterns of keys of Spark 3.5 to 4.2 that load code from a location, run it, or name a class."""


class CodeLoadingKeys(ImmutableKeys):
    """
    Denies dynamic and run configuration that sets or changes a key that brings code or files into a job.

    Such a key can always be deleted: then the job gets the value of the DAG or of the static files.

    Parameters: ``also``, a list of additional keys or patterns; ``except``, a list of those that may change.
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the parameters ``also`` and ``except``."""
        params = Params(configs)
        keys, excluded = [*CODE_LOADING_KEYS, *params.texts("also", ())], params.texts("except", ())
        params.finish()
        super().configure({"keys": keys, "except": excluded, "deletable": True})
