"""Describe and alter dynamic configuration, and settle a job's with policies."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from unittest import mock

import cel_expr_python  # noqa: F401 - without it there is nothing to measure
import yaml
from airflow.models import crypto
from airflow.models.log import Log
from airflow.models.variable import Variable
from cryptography.fernet import Fernet
from sqlalchemy import Engine, bindparam, create_engine, insert, select, text, update
from sqlalchemy.orm import sessionmaker

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource, LayeredConfig
from airflow_config_providers.core.policy import Moment, RequestMetadata, validate_all
from airflow_config_providers.dynamic import document
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import Document, StoredConfig, history_name, name_of
from airflow_config_providers.dynamic.policies import PolicySet
from airflow_config_providers.dynamic.store import Kept
from airflow_config_providers.spark.catalogue import spark_definition
from benchmarks.measure import Aim, Effort, Report, Work, compared
from benchmarks.ratios import Watched, cpu

DAGS, TASKS, KEYS = 500, 20, 5
THREADS, CHANGES = 8, 4
HISTORY = 200  # changes fill it
DEFAULT = ConfigResource(ResourceType.DEFAULT)
DAG = ConfigResource(ResourceType.DAG, "dag7")
TASK = ConfigResource.of_task("dag7", "task7")
TABLE = Variable.__table__

POLICIES = """
policies:
  - {name: sizes, class: bounds, params: {spark.executor.memory: {max: 32g}, spark.driver.memory: {max: 16g}}}
  - {name: counts, class: bounds, params: {spark.executor.cores: {max: 8}, spark.executor.instances: {max: 50}}}
  - {name: code, class: code_loading_keys}
  - {name: secrets, class: references_only}
  - {name: providers, class: allowed_references, params: {allow: [{providers: vault, paths: apps/*}]}}
  - {name: allocation, class: dynamic_allocation}
  - {name: owner, class: required_keys, params: {keys: [spark.app.key1]}}
  - {name: queue, class: immutable_keys, params: {keys: [spark.yarn.queue]}}
  - name: total
    expression: >
      bytes_of(after[?'spark.executor.memory'].orValue('1g'), 'm')
      * int(after[?'spark.executor.instances'].orValue('2')) <= bytes_of('1t')
  - name: all keys
    expression: after.all(key, !key.startsWith('spark.secret.'))
"""


@contextmanager
def database() -> Iterator[Engine]:
    """Yield a database with the tables that a change writes, on SQLite as Airflow configures it, with a Fernet key."""
    key = {"AIRFLOW__CORE__FERNET_KEY": Fernet.generate_key().decode()}
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, key):
        crypto.get_fernet.cache_clear()
        engine = create_engine(f"sqlite:///{folder}/airflow.db")
        with engine.connect() as connection:
            connection.execute(text("PRAGMA journal_mode=WAL"))
        tables = [Variable.metadata.tables[name] for name in (Log.__tablename__, "team", Variable.__tablename__)]
        Variable.metadata.create_all(engine, tables)
        yield engine
        engine.dispose()
    crypto.get_fernet.cache_clear()


def configs(tag: str, keys: int = KEYS) -> dict[str, str]:
    return {f"spark.app.key{k}": f"{tag}, value {k}" for k in range(keys)}


def documents(dags: int) -> dict[str, str]:
    """Return name -> document: every task, every DAG and the deployment have five keys of their own."""
    made = {name_of(DEFAULT): document.write(Document(1, StoredConfig(configs("default"), 1)))}
    for d in range(dags):
        tasks = {f"task{t}": StoredConfig(configs(f"dag {d}, task {t}"), 1) for t in range(TASKS)}
        of_dag = ConfigResource(ResourceType.DAG, f"dag{d}")
        made[name_of(of_dag)] = document.write(Document(1, StoredConfig(configs(f"dag {d}"), 1), tasks))
    return made


def static_layers(resource: ConfigResource) -> Sequence[ConfigLayer]:
    return [ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs("conf", 50))]


def describing(effort: Effort) -> Report:
    ours, small = "ours: one task of 10,000, every key with its synonyms", "ours: one task of 20, the same"
    with deployment(small_deployment()) as (one, _):
        times = {small: effort.milliseconds(lambda: describe_whole(one))}
    with deployment(documents(DAGS)) as (one, engine):
        times |= effort.each(
            {
                ours: lambda: describe_whole(one),
                "ours: five keys of it, without": lambda: describe_few(one),
                "a bare read of the same two rows": lambda: bare_read(engine),
            }
        )
    return Report(
        "Describe one task of a deployment with 10,000",
        f"{DAGS} DAGs with {TASKS} tasks each; every task, every DAG and the deployment has {KEYS} keys of its own, "
        "and the DAG's code 50. The description has all keys, with Spark's defaults: more than a thousand, each with "
        "the values that it overrides. A bare read returns two encrypted strings, and does nothing with them. The size "
        "of the deployment should make no difference.",
        ("", "ms", "times ours"),
        compared(times, ours),
        [
            Aim("describe one task of 10,000, against one of 20", 1.5, times[ours] / times[small], "x"),
            Aim("describe one task of 10,000, every key with its synonyms", 50, times[ours]),
        ],
    )


@contextmanager
def deployment(texts: Mapping[str, str]) -> Iterator[tuple[ConfigAdmin, Engine]]:
    """Yield an admin and the engine of a database with ``texts``."""
    with database() as engine:
        store = VariableStore("bench", sessionmaker(engine))
        store.swap(dict.fromkeys(texts, Kept()), texts, [])
        yield ConfigAdmin(store, spark_definition(), layers=static_layers), engine


def small_deployment() -> dict[str, str]:
    """Return the document of the deployment, and that of one DAG."""
    texts = documents(8)
    return {name: texts[name] for name in (name_of(DEFAULT), name_of(DAG))}


def describe_whole(one: ConfigAdmin) -> int:
    entries = one.describe_configs([TASK], include_synonyms=True)[TASK]
    return sum(len(entry.synonyms) for entry in entries.values())


def describe_few(one: ConfigAdmin) -> list[str | None]:
    entries = one.describe_configs([TASK])[TASK]
    return [entries[key].value for key in configs("")]


def bare_read(engine: Engine) -> list[str]:
    query = select(TABLE.c.val).where(TABLE.c.key.in_([name_of(DEFAULT), name_of(DAG)]))
    with engine.connect() as connection:
        return list(connection.scalars(query))


def altering(effort: Effort) -> Report:
    ours, bare = "ours, alone", "a bare transaction with the same bytes, alone"
    ours_at_once, bare_at_once = f"ours, {THREADS} at once", f"a bare transaction, {THREADS} at once"
    with deployment(small_deployment()) as (one, engine):
        change = changing(one, count())
        for _ in range(HISTORY):
            change()
        transaction = bare_transaction(engine)
        times = effort.each({ours: change, bare: transaction})
        for name, work in ((ours_at_once, change), (bare_at_once, transaction)):
            times[name] = effort.milliseconds(partial(at_once, work)) / (THREADS * CHANGES)
        longest = longest_wait(change, 50 if effort.seconds else CHANGES)
        made = len(one.history(DAG))
    assert made == HISTORY
    return Report(
        "Alter a key",
        "Milliseconds for each change, on SQLite. A change of one key of a DAG with 20 tasks reads and writes two "
        "rows, the document and its history, and adds one row to the audit log. The bare transaction writes the same "
        "encrypted bytes to the same rows, and adds the same row; it reads, checks and encrypts nothing, and of two at "
        f"the same time the last one wins. Ours takes {times[ours] / times[bare]:.3g} times as long, much of it for "
        f"the {HISTORY} changes of a full history, which it decrypts, reads, writes and encrypts. In the rows with "
        f"{THREADS} at once, that many threads change the same document. If changes collide, one wins and the others "
        "start again, so a change can take as many attempts as there are threads. A thread that keeps making changes "
        f"waits at most {longest:.3g} times the median time of a change.",
        ("", "ms", "times ours"),
        compared(times, ours),
        [
            Aim("alter a key, checked, with its history", 10, times[ours]),
            Aim(f"alter a key, {THREADS} at once, against alone", THREADS, times[ours_at_once] / times[ours], "x"),
            Aim(f"the longest wait of {THREADS} that go on altering, against the median", 20, longest, "x"),
        ],
    )


def changing(one: ConfigAdmin, numbers: Iterator[int]) -> Work:
    def change() -> None:
        one.incremental_alter_configs({DAG: [AlterConfigOp("spark.app.key1", f"value {next(numbers)}")]})

    return change


def bare_transaction(engine: Engine) -> Work:
    names = [name_of(DAG), history_name(DAG)]
    with engine.connect() as connection:
        found = connection.execute(select(TABLE.c.key, TABLE.c.val).where(TABLE.c.key.in_(names))).all()
    rows = [{"name": name, "bytes": stored} for name, stored in found]
    write = update(TABLE).where(TABLE.c.key == bindparam("name")).values(val=bindparam("bytes"))
    entry = {"event": "config_providers.alter", "owner": "bench", "dag_id": "dag7", "extra": '{"keys": {"k": []}}'}

    def transaction() -> None:
        with engine.begin() as connection:
            for row in rows:
                connection.execute(write, row)
            connection.execute(insert(Log.__table__).values(entry))

    return transaction


def at_once(work: Callable[[], object]) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        for done in [threads.submit(work) for _ in range(THREADS * CHANGES)]:
            done.result()


def longest_wait(work: Callable[[], object], changes: int) -> float:
    """Return the time of the slowest change divided by the median, if several threads keep making changes."""

    def timed() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    with ThreadPoolExecutor(THREADS) as threads:
        turns = [threads.submit(lambda: [timed() for _ in range(changes)]) for _ in range(THREADS)]
        times = [each for turn in turns for each in turn.result()]
    return max(times) / statistics.median(times)


def layers() -> list[ConfigLayer]:
    """Return eight layers of a hundred keys; half of the keys are in all of them."""
    return [
        ConfigLayer(
            source, source.name, {f"spark.app.{'key' if k % 2 else source.name}{k}": f"value {k}" for k in range(100)}
        )
        for source in ConfigSource
    ]


def settling(effort: Effort) -> Report:
    ours, without, opening = "ours: settle, ten policies asked", "settle, no policies", "open the file of policies"
    maps = layers()
    deployed = [layer for layer in maps if layer.source < ConfigSource.DYNAMIC_DEFAULT_CONFIG]
    with policies_file() as file, PolicySet.open(str(file)) as policies:
        times = effort.each(
            {
                ours: lambda: asked(policies, maps, deployed),
                without: lambda: LayeredConfig(maps).settled,
                opening: lambda: PolicySet.open(str(file)).close(),
            }
        )
    added = times[ours] - times[without] + times[opening]
    return Report(
        "Settle a job's configuration with policies",
        "8 layers of 100 keys, which settle to 450 keys; eight ready policies and two expressions, one of which reads "
        "every key. Each task opens the file of policies, as in the last row: it reads and checks the YAML, and "
        f"compiles the expressions. Together, policies cost a task {added:.3g} ms. Settling without policies only "
        "merges mappings, so it is much faster.",
        ("", "ms", "times ours"),
        compared(times, ours),
        [
            Aim("ask ten policies about 450 keys", 10, times[ours] - times[without]),
            Aim("all that policies cost a task", 50, added),
        ],
    )


@contextmanager
def policies_file() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policies.yaml"
        file.write_text(POLICIES)
        yield file


def asked(policies: PolicySet, maps: list[ConfigLayer], deployed: list[ConfigLayer]) -> None:
    before, after = LayeredConfig(deployed).settled, LayeredConfig(maps).settled
    validate_all(policies, RequestMetadata(TASK, before, after, at=Moment.RENDER))


def watched() -> Iterator[Watched]:
    with policies_file() as file:
        ours, peer = cpu(lambda: PolicySet.open(str(file)).close()), cpu(lambda: yaml.safe_load(file.read_text()))
        yield Watched("open a file of ten policies, against reading its YAML", ours, peer)


def run(effort: Effort) -> list[Report]:
    return [describing(effort), altering(effort), settling(effort)]
