"""Which past runs policies would have stopped, as executors of Spark ask them, and the page of HTML about them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.policy import Enforcement, RequestMetadata, judged
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.text import counted
from airflow_config_providers.core.variable import variables
from airflow_config_providers.dynamic.policies import PolicySet
from airflow_config_providers.dynamic.policies.classes import PolicyClasses
from airflow_config_providers.dynamic.policies.policy_file import PolicyEntry, read_policies
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, refuse
from airflow_config_providers.spark.audit import F
from airflow_config_providers.spark.audit import html_page as html
from airflow_config_providers.spark.audit.html_page import Bar, Plot, percent, ranking, weekly
from airflow_config_providers.spark.audit.records.past_records import persisted
from airflow_config_providers.spark.audit.records.runs import week
from airflow_config_providers.spark.policy_request import policy_request

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Verdict(NamedTuple):
    """
    A policy that would have stopped a run, or warned of it, or a problem.

    :param reason: why the policy denies it
    :param enforcement: ``deny``, or ``warn`` if the policy only warns
    :param problem: why the policies could not be asked: about a record or, without a file, about anything
    """

    policy: str = ""
    dag: str = ""
    task: str = ""
    run: str = ""
    at: str = ""
    file: str = ""
    reason: str = ""
    enforcement: str = Enforcement.DENY.value
    problem: str = ""


_RUN: Final = ("dag", "task", "run")

_VERDICT: Final = ", ".join(f"{name} string" for name in Verdict.__annotations__)


class RunShare(NamedTuple):
    """How many of the runs of a DAG, or of a week by its Monday, would have been stopped."""

    name: str
    stopped: int
    runs: int


@dataclass(frozen=True, slots=True)
class StoppedRuns:
    """
    The result of an audit with policies.

    A run is one of a task, with all of its tries.

    :param rows: for each policy and task, the runs that it would have stopped, or of which it would have warned
    :param runs: how many runs would have been stopped
    :param unjudged: file of a record -> why the policies could not be asked about it
    :param by_week: for each week, how many of all runs
    :param by_dag: for each DAG, how many of all runs
    :param warned: of how many runs policies that only warn would have warned, stopped or not
    """

    rows: list[dict[str, Any]]
    runs: int
    unjudged: Mapping[str, str] = field(default_factory=dict)
    by_week: Sequence[RunShare] = field(default=(), compare=False)
    by_dag: Sequence[RunShare] = field(default=(), compare=False)
    warned: int = 0

    @property
    def all_runs(self) -> int:
        """How many runs there are."""
        return sum(one.runs for one in self.by_week)

    def rows_with(self, owners: Mapping[str, str]) -> list[dict[str, Any]]:
        """
        Return the rows with the owners of their DAGs.

        :param owners: DAG -> owner
        """
        return [
            {"policy": row["policy"], "dag": row["dag"], "owner": owners.get(row["dag"], ""), **row}
            for row in self.rows
        ]


def stopped_runs(
    session: SparkSession, records: DataFrame, judge: Callable[[Iterable[Any]], Iterator[Verdict]]
) -> StoppedRuns:
    """
    Return the runs that policies would have stopped. A try that only followed a job is left out.

    :param judge: returns the verdicts on records; it runs in executors
    :raises ConfigException: the policies cannot be opened there
    """
    asked = records.where(F.col("follows").isNull()).rdd.mapPartitions(judge)
    with persisted(session.createDataFrame(asked, _VERDICT, verifySchema=False)) as (verdicts,):
        return _stopped(verdicts, records)


def _stopped(verdicts: DataFrame, records: DataFrame) -> StoppedRuns:
    problems = verdicts.where(F.col("problem") != "").select("file", "problem").distinct().collect()
    refuse(ConfigException, sorted({row.problem for row in problems if not row.file}))
    answered = verdicts.where(F.col("problem") == "")
    by_policy = answered.groupBy("policy", "dag", "task", "enforcement").agg(
        F.count_distinct("run").alias("runs"), F.min("at").alias("first"), F.max("at").alias("last"),
        F.max_by("reason", "at").alias("reason"),
    )  # fmt: skip
    rows = [row.asDict() for row in by_policy.orderBy("policy", "dag", "task").collect()]
    denied, warned = (answered.where(F.col("enforcement") == one.value) for one in (Enforcement.DENY, Enforcement.WARN))
    with persisted(_runs(records, denied)) as (runs,):
        by_week, by_dag = _shares(runs, "week"), _shares(runs, "dag")
    stopped = sum(one.stopped for one in by_dag)
    unjudged = {row.file: row.problem for row in problems}
    return StoppedRuns(
        rows, stopped, unjudged=unjudged, by_week=by_week, by_dag=by_dag, warned=warned.select(*_RUN).distinct().count()
    )


def _runs(records: DataFrame, denied: DataFrame) -> DataFrame:
    """Return all runs, with the week of their last try and whether they would have been stopped."""
    runs = records.groupBy(*_RUN).agg(week(F.max("at")).alias("week"))
    stopped = denied.select(*_RUN).distinct().withColumn("is_stopped", F.lit(True))
    return runs.join(stopped, [*_RUN], "left")


def _shares(runs: DataFrame, column: str) -> list[RunShare]:
    counts = runs.groupBy(column).agg(F.count("is_stopped").alias("stopped"), F.count("*").alias("runs"))
    return [RunShare(*row) for row in counts.orderBy(column).collect()]


_COLUMNS: Final = ("policy", "enforcement", "dag", "owner", "task", "runs")
_HEADS: Final = (*_COLUMNS, "first (UTC)", "last (UTC)", "reason")


def page(stopped: StoppedRuns, owners: Mapping[str, str], scope: html.AuditScope = html.NOT_KNOWN) -> str:
    """
    Return the page, in which nothing that came from outside is markup.

    :param owners: DAG -> owner; empty if they are not known
    :param scope: what was read
    """
    return html.page_of(
        "What the policies would have stopped",
        html.verdict(_verdict(stopped)),
        html.paragraph(summary(stopped)),
        html.plots(_plots(stopped, owners)),
        scope.section(),
        _rows(stopped.rows_with(owners)),
        html.table_section("Not judged", ("record", "why"), sorted(stopped.unjudged.items())),
    )


def _verdict(stopped: StoppedRuns) -> str:
    if stopped.runs:
        return f"{percent(stopped.runs, stopped.all_runs)} of all runs of tasks would have been stopped."
    return "No run would have been stopped."


def summary(stopped: StoppedRuns) -> str:
    """Return the result in one line."""
    found = f"{stopped.runs} of {counted(stopped.all_runs, 'run of a task', 'runs of tasks')} would have been stopped."
    if not stopped.warned:
        return found
    return f"{found} Policies that only warn would have warned of {counted(stopped.warned, 'run')}."


def _plots(stopped: StoppedRuns, owners: Mapping[str, str]) -> Iterator[str]:
    yield weekly(Plot("Share of all runs, by week", "stopped"), map(_bar, stopped.by_week))
    policies = Counter[str]()
    for row in stopped.rows:
        if row["enforcement"] == Enforcement.DENY.value:
            policies[row["policy"]] += row["runs"]
    yield _ranking("By policy", [Bar(name, runs, stopped.all_runs) for name, runs in policies.items()])
    yield _ranking("By DAG", [_bar(one) for one in stopped.by_dag])
    if owners:
        yield _ranking("By owner", _by_owner(stopped.by_dag, owners))


def _ranking(title: str, bars: Sequence[Bar]) -> str:
    worst_first = sorted((bar for bar in bars if bar.count), key=lambda bar: (-bar.count, bar.label))
    return ranking(Plot(title, "stopped"), worst_first)


def _by_owner(by_dag: Sequence[RunShare], owners: Mapping[str, str]) -> list[Bar]:
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for one in by_dag:
        of = counts[owners.get(one.name) or "(unknown)"]
        of[0] += one.stopped
        of[1] += one.runs
    return [Bar(owner, stopped, runs) for owner, (stopped, runs) in counts.items()]


def _bar(share: RunShare) -> Bar:
    return Bar(share.name, share.stopped, share.runs)


def _rows(rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [
        (*(row[name] for name in _COLUMNS), html.moment(row["first"]), html.moment(row["last"]), row["reason"])
        for row in rows
    ]
    return html.table_section("What would have been stopped, or warned of, and why", _HEADS, cells)


@dataclass(frozen=True, slots=True)
class PastPolicies:
    """
    Policies that can travel to executors.

    :param entries: the policies as written in their file
    :param allowed_classes: the classes that the deployment allows
    """

    entries: Sequence[PolicyEntry] = field(repr=False)
    allowed_classes: Collection[str] = ()

    @classmethod
    def read(cls, path: str, allowed_classes: Collection[str]) -> PastPolicies:
        """
        Return the policies of a file, which are opened once to see that they can be.

        :raises ConfigException: the file is wrong; lists all problems
        """
        entries, problems = read_policies(path)
        with PolicySet.of_entries(entries, PolicyClasses(allowed_classes), problems=problems):
            return cls(entries, allowed_classes)

    def verdicts(self, records: Iterable[Any]) -> Iterator[Verdict]:
        """Yield the denials and warnings of the policies about ``records``, which have the columns of ``RecordRow``."""
        try:
            policies = PolicySet.of_entries(self.entries, PolicyClasses(self.allowed_classes))
        except ConfigProvidersError as error:
            yield Verdict(problem=" ".join(error.problems))
            return
        with policies:
            for record in records:
                yield from _of_record(policies, record)


def _of_record(policies: PolicySet, record: Any) -> Iterator[Verdict]:
    of = {"dag": record.dag, "task": record.task, "run": record.run, "at": record.at, "file": record.file}
    try:
        request = request_of(record)
    except ConfigException as error:
        problem = " ".join(error.problems)
    except Exception as error:  # noqa: BLE001 - others write records, and the error can quote one
        problem = f"It is no configuration ({type(error).__name__})."
    else:
        problem = ""
    if problem:
        yield Verdict(**of, problem=problem)
        return
    for named in policies:
        said = judged([named], request)
        for one in (*said.denials, *said.warnings)[:1]:
            yield Verdict(**of, policy=named.name, reason=one.text, enforcement=named.enforcement.value)


def request_of(record: Any) -> RequestMetadata:
    """
    Return what policies would have seen of a try when it was rendered.

    References outside of its configuration, such as those in arguments, are there as strings of their own. A record
    does not say whether a plaintext secret has changed; it is taken for a change.

    :raises ConfigException: a layer is of a kind that this version does not know
    """
    found = list(_layers(record.configs))
    in_configs = {str(one) for layer in found for text in layer.configs.values() for one in variables(text)}
    others = sorted(record.references.keys() - in_configs)
    texts = {f"reference {number}": reference for number, reference in enumerate(others, 1)}
    resource = ConfigResource.of_task(record.dag, record.task)
    return policy_request(resource, found, texts, spark_version=record.versions.get("spark"))


def _layers(configs: Iterable[Any]) -> Iterator[ConfigLayer]:
    """
    Yield layers that settle as those of the record did.

    A kind of layer can be there several times, such as files: the strongest value of a key goes into the last of them.
    """
    by_source: dict[ConfigSource, list[dict[str, Any]]] = defaultdict(list)
    seen: dict[tuple[str, str], int] = defaultdict(int)
    for one in sorted(configs, key=lambda one: one.rank):
        level = seen[one.source, one.key]
        seen[one.source, one.key] += 1
        of_source = by_source[_source(one.source)]
        of_source += [{}] * (level + 1 - len(of_source))
        of_source[level] = {**of_source[level], one.key: one}
    for source, levels in by_source.items():
        yield from (_layer(source, values) for values in reversed(levels))


def _source(name: str) -> ConfigSource:
    if name not in ConfigSource.__members__:
        raise ConfigException(f"It has a layer {name!a}, which this version of airflow-config-providers does not know.")
    return ConfigSource[name]


def _layer(source: ConfigSource, values: Mapping[str, Any]) -> ConfigLayer:
    configs = {key: HIDDEN if one.value is None else one.value for key, one in values.items()}
    origins = {key: one.origin for key, one in values.items()}
    secrets = {key: _no_secret for key, one in values.items() if one.value is None}
    return ConfigLayer(source, source.name, configs, origins, secrets)


def _no_secret() -> str:
    """Refuse: a record has no secrets, and no policy asks for one."""
    raise ConfigException("A record has no secrets.")
