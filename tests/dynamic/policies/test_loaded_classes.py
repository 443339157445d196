"""
Spark and Hadoop load a class that a key names, and the policy denies that key.

One JVM has a class for each key on its class path. Each class says that it was loaded; what Spark makes of it then,
mostly an error, does not matter.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.policy import PolicyViolation, RequestMetadata
from airflow_config_providers.dynamic.policies import CodeLoadingKeys
from tests.servers.quick_java import QUICK_JAVA

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("errors_of_py4j_itself")]

Trigger = Callable[["Jvm"], object]
"""Has Spark do something for which it reads the key."""

SESSION: dict[str, Trigger] = {
    "spark.sql.sources.default": lambda jvm: jvm.session.read().load("/nowhere"),
    "spark.sql.sources.commitProtocolClass": lambda jvm: jvm.write("parquet"),
    "spark.sql.parquet.output.committer.class": lambda jvm: jvm.write("parquet"),
    "spark.sql.sources.outputCommitterClass": lambda jvm: jvm.write("csv"),
    "spark.sql.catalog.evil": lambda jvm: jvm.session.sql("select * from evil.a.b"),
    "spark.sql.adaptive.customCostEvaluatorClass": lambda jvm: jvm.session.sql(
        "select id, count(*) from range(9) group by id"
    ).count(),
    "spark.sql.streaming.checkpointFileManagerClass": lambda jvm: (
        jvm.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.create(
            jvm.path("/nowhere"), jvm.session.sessionState().newHadoopConf()
        )
    ),
    "mapreduce.outputcommitter.factory.class": lambda jvm: jvm.write("csv"),
    "fs.bare.impl": lambda jvm: jvm.session.read().text("bare://x/y"),
}
"""Keys that a session takes while it runs, as any key of a driver that PySpark starts."""

HADOOP: dict[str, Trigger] = {
    "spark.hadoop.fs.evil.impl": lambda jvm: jvm.path("evil://x/y").getFileSystem(jvm.hadoop()),
    "spark.hadoop.fs.AbstractFileSystem.evil.impl": lambda jvm: jvm.apache.hadoop.fs.FileContext.getFileContext(
        jvm.java.net.URI("evil://x/y"), jvm.hadoop()
    ),
    "spark.hadoop.mapreduce.outputcommitter.factory.class": lambda jvm: jvm.committer("file:/x"),
    "spark.hadoop.mapreduce.outputcommitter.factory.scheme.evil": lambda jvm: jvm.committer("evil://x/y"),
    "spark.hadoop.mapreduce.outputcommitter.named.classname": lambda jvm: jvm.named_committer(),
    "spark.hadoop.mapred.output.committer.class": lambda jvm: jvm.apache.hadoop.mapred.JobConf(
        jvm.hadoop()
    ).getOutputCommitter(),
    "spark.hadoop.mapreduce.output.fileoutputformat.compress.codec": lambda jvm: (
        jvm.apache.hadoop.mapred.FileOutputFormat.getOutputCompressorClass(
            jvm.apache.hadoop.mapred.JobConf(jvm.hadoop()), None
        )
    ),
    "spark.hadoop.io.compression.codecs": lambda jvm: jvm.apache.hadoop.io.compress.CompressionCodecFactory(
        jvm.hadoop()
    ),
    "spark.hadoop.io.serializations": lambda jvm: jvm.apache.hadoop.io.serializer.SerializationFactory(jvm.hadoop()),
    "spark.hadoop.hadoop.security.group.mapping": lambda jvm: jvm.apache.hadoop.security.Groups(jvm.hadoop()),
    "spark.hadoop.net.topology.node.switch.mapping.impl": lambda jvm: jvm.apache.hadoop.yarn.util.RackResolver.init(
        jvm.hadoop()
    ),
    "spark.hadoop.topology.node.switch.mapping.impl": lambda jvm: jvm.hadoop().getClass(
        "net.topology.node.switch.mapping.impl", None
    ),
    "spark.hadoop.hadoop.ssl.keystores.factory.class": lambda jvm: jvm.ssl_factory(),
    "spark.hadoop.hadoop.rpc.socket.factory.class.default": lambda jvm: (
        jvm.apache.hadoop.net.NetUtils.getDefaultSocketFactory(jvm.hadoop())
    ),
    "spark.hadoop.dfs.client.failover.proxy.provider.cluster": lambda jvm: jvm.path("hdfs://cluster/x").getFileSystem(
        jvm.hadoop(**{"dfs.nameservices": "cluster", "dfs.ha.namenodes.cluster": "a,b"})
    ),
}
"""Keys of Hadoop, from a Spark configuration."""

CONTEXT = [
    "spark.plugins",
    "spark.extraListeners",
    "spark.serializer",
    "spark.shuffle.manager",
    "spark.io.compression.codec",
    "spark.resources.discoveryPlugin",
    "spark.kryo.registrator",
    "spark.metrics.conf.*.sink.evil.class",
]
"""Keys that Spark reads when it starts."""

QUICK = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.sql.codegen.wholeStage": "false"}

PODS = "spark.kubernetes.allocation.pods.allocator"


class Jvm:
    """A JVM with a class of ours for each key."""

    def __init__(self, gateway: Any, folder: Path) -> None:
        self.java = gateway.jvm.java
        self.scala = gateway.jvm.scala
        self.apache = gateway.jvm.org.apache
        self.spark = self.apache.spark
        self.configs: dict[str, str] = {}
        self._folder = folder

    @property
    def session(self) -> Any:
        session = self.spark.sql.classic.SparkSession.builder().config(self._conf({})).getOrCreate().newSession()
        for key, value in self.configs.items():
            session.conf().set(key, value)
        return session

    def _conf(self, configs: dict[str, str]) -> Any:
        conf = self.spark.SparkConf(False).setMaster("local[1]").setAppName("a")
        for key, value in {**QUICK, **configs}.items():
            conf.set(key, value)
        return conf

    def hadoop(self, **more: str) -> Any:
        """Return Hadoop's configuration as Spark makes it."""
        found = self.spark.deploy.SparkHadoopUtil.get().newConfiguration(self._conf(self.configs))
        for key, value in more.items():
            found.set(key, value)
        return found

    def path(self, text: str) -> Any:
        return self.apache.hadoop.fs.Path(text)

    def write(self, form: str) -> None:
        self.session.range(1).write().mode("overwrite").format(form).save(str(self._folder / form))

    def committer(self, path: str) -> Any:
        factory = self.apache.hadoop.mapreduce.lib.output.PathOutputCommitterFactory
        return factory.getCommitterFactory(self.path(path), self.hadoop())

    def named_committer(self) -> Any:
        output = self.apache.hadoop.mapreduce.lib.output
        task = self.apache.hadoop.mapreduce.task.TaskAttemptContextImpl(
            self.hadoop(), self.apache.hadoop.mapreduce.TaskAttemptID()
        )
        return output.NamedCommitterFactory().createOutputCommitter(self.path("/nowhere"), task)

    def ssl_factory(self) -> Any:
        factory = self.apache.hadoop.security.ssl.SSLFactory
        mode = self.java.lang.Class.forName("org.apache.hadoop.security.ssl.SSLFactory$Mode").getEnumConstants()[0]
        return factory(mode, self.hadoop())

    def start(self) -> None:
        self._end()
        more = {"spark.driver.resource.gpu.amount": "1"} if "spark.resources.discoveryPlugin" in self.configs else {}
        context = self.spark.SparkContext(self._conf(self.configs | more))
        try:
            self.spark.serializer.KryoSerializer(context.conf()).newKryo()
            self.spark.io.CompressionCodec.createCodec(context.conf())
        finally:
            context.stop()

    def _end(self) -> None:
        self.spark.SparkContext.getOrCreate(self._conf({})).stop()

    def allocate_pods(self) -> None:
        manager = self.spark.scheduler.cluster.k8s.KubernetesClusterManager()
        context = self.session.sparkContext()
        context.conf().set(PODS, self.configs[PODS])
        manager.makeExecutorPodsAllocator(context, None, None, self.scala.Option.empty())


KEYS = {**SESSION, **HADOOP, **dict.fromkeys(CONTEXT, Jvm.start), PODS: Jvm.allocate_pods}
NUMBERS = {key: number for number, key in enumerate(KEYS)}
COMMITTER = (
    "extends org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter",
    "public %s(org.apache.hadoop.fs.Path path, org.apache.hadoop.mapreduce.TaskAttemptContext context) "
    "throws java.io.IOException { super(path, context); }",
)
PARENTS = {
    "spark.sql.sources.commitProtocolClass": (
        "extends org.apache.spark.internal.io.HadoopMapReduceCommitProtocol",
        "public %s(String job, String path) { super(job, path, false); }",
    ),
    "spark.sql.parquet.output.committer.class": COMMITTER,
    "spark.sql.sources.outputCommitterClass": COMMITTER,
    "spark.sql.catalog.evil": (
        "implements org.apache.spark.sql.connector.catalog.CatalogPlugin",
        "public void initialize(String name, org.apache.spark.sql.util.CaseInsensitiveStringMap options) {}"
        'public String name() { return "evil"; }',
    ),
}
"""What a class must extend before Spark makes anything of it."""


def marker(key: str) -> str:
    name = f"M{NUMBERS[key]}"
    parent, body = PARENTS.get(key, ("", ""))
    loaded = f'static {{ System.setProperty("loaded.{name}", "yes"); }}'
    return f"public static class {name} {parent} {{ {loaded} {body.replace('%s', name)} }}"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pyspark = pytest.importorskip("pyspark", reason="pip install pyspark")
    from pyspark.java_gateway import launch_gateway

    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("needs javac: apt install openjdk-17-jdk-headless")
    folder = tmp_path_factory.mktemp("classes")
    source = folder / "Markers.java"
    source.write_text("public class Markers {\n" + "\n".join(map(marker, KEYS)) + "\n}")
    jars = Path(pyspark.__file__).parent / "jars"
    quick = [f"-J{option}" for option in QUICK_JAVA.split()]
    subprocess.run([javac, *quick, "-proc:none", "-nowarn", "-cp", f"{jars}/*", "-d", folder, source], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_DIST_CLASSPATH", str(folder))  # behind Spark's jars: before them it slows the start
        found = launch_gateway()
    yield found
    found.shutdown()
    found.proc.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_what_a_key_names_is_loaded_and_the_policy_denies_the_key(key: str, gateway: Any, tmp_path: Path) -> None:
    from py4j.protocol import Py4JError

    jvm, loaded = Jvm(gateway, tmp_path), f"loaded.M{NUMBERS[key]}"
    assert jvm.java.lang.System.getProperty(loaded) is None
    jvm.configs = {key: f"Markers$M{NUMBERS[key]}"}
    with contextlib.suppress(Py4JError):
        KEYS[key](jvm)

    assert jvm.java.lang.System.getProperty(loaded) == "yes"
    policy = CodeLoadingKeys()
    policy.configure({})
    with pytest.raises(PolicyViolation):
        policy.validate(RequestMetadata(ConfigResource.of_task("a", "b"), {}, jvm.configs))
