"""Where a value may be seen."""

from __future__ import annotations

from enum import StrEnum


class Sink(StrEnum):
    """A place, or a kind of places, that people other than the job can look at."""

    TASK_LOG = "task log"
    REST_LOG = "task log over REST"
    SCHEDULER_OUTPUT = "scheduler's output"
    PARTS_OUTPUT = "output and logs of Airflow's other processes"
    RENDERED = "rendered fields over REST"
    TASK_DETAILS = "task and DAG details over REST"
    LINKS = "extra links"
    XCOM = "XCom"
    AUDIT_LOG = "audit log"
    DAG_SOURCE = "DAG source over REST"
    DATABASE = "metadata database"
    TRIGGER = "stored triggers, decrypted"
    RESUMED = "what a deferred task is resumed with"
    LISTENER = "listener's view"
    CALLBACK = "failure callback"
    MEMORY = "memory of the task's process"
    OPENLINEAGE = "OpenLineage events"
    RENDER = "airflow tasks render"
    DAGS_TEST = "airflow dags test"
    OWN_COMMANDS = "airflow config-providers"
    OWN_REST = "our REST interface"
    ARGUMENTS = "process arguments"
    ENVIRONMENTS = "process environments"
    OPEN_FILES = "open files of processes"
    PERFORMANCE_DATA = "hsperfdata"
    FILES_DURING = "files while it runs"
    FILES_KILLED = "files after kill -9"
    FILES_AFTER = "files left behind"
    CRASH = "JVM crash report"
    SPARK_UI = "Spark UI and its REST API"
    EVENT_LOG = "Spark event log"
    HISTORY = "Spark History Server"
    CLUSTER_PAGES = "Master's and Worker's pages"
    CLUSTER_FILES = "Master's and Worker's files"
