"""What the history of the configuration shows, as rows of one form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.lazy import pyspark
from airflow_config_providers.spark.audit import F
from airflow_config_providers.spark.audit.records.runs import (
    INSTANCE,
    TASK,
    compared,
    hidden_or,
    is_same,
    layer,
    minute,
    shown,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FINDING: Final = ("kind", "dag", "task", "key", "detail", "runs", "first", "last", "before_layer", "after_layer")
"""The columns of findings."""

DOCUMENTS: Final = (
    "source string, dag string, task string, key string, value string, origin string, made_by string, made_at string"
)
"""What dynamic configuration sets now, for Spark; a value is null if it is a secret."""

BEFORE_FAILURE: Final = "before-failure"

_DEFAULTS: Final = (ConfigSource.STATIC_FILE_CONFIG.name, ConfigSource.DYNAMIC_DEFAULT_CONFIG.name)
"""The layers that are meant for several tasks."""

_SPARKS_OWN: Final = ConfigSource.DEFAULT_CONFIG.name

_SECOND: Final = len("2026-11-01T12:00:00")
"""The length of a moment in ISO 8601 up to its seconds."""


def between_runs(changes: DataFrame) -> DataFrame:
    """Return the keys that changed from one run of a task to the next, with the last change."""
    text = F.format_string("%s, then %s", shown(F.col("before")), shown(F.col("after")))
    found = changes.select(*TASK, "key", "at", text.alias("text"))
    return _finding("between-runs", found.groupBy(*TASK, "key").agg(*_span(), F.max_by("text", "at").alias("detail")))


def changes_of(values: DataFrame) -> DataFrame:
    """Return a row for each key that changed from one run of a task instance to the next: in run ``n``, at ``at``."""
    by_time = pyspark.sql.Window.partitionBy(*INSTANCE, "key").orderBy("n")
    winners = values.where(F.col("rank") == 0).select(*INSTANCE, "key", "n", "total", "at", "next_at", "given")
    seen = winners.withColumns(
        {
            "before": F.when(F.lag("n").over(by_time) == F.col("n") - 1, F.lag("given").over(by_time)),
            "is_next": F.coalesce(F.lead("n").over(by_time) == F.col("n") + 1, F.lit(False)),
        }
    )
    is_set = (F.col("n") > 1) & (F.col("before").isNull() | ~is_same(F.col("before"), F.col("given")))
    is_gone = (F.col("n") < F.col("total")) & ~F.col("is_next")
    nothing = F.lit(None).cast(seen.schema["given"].dataType)
    became = F.struct("n", "at", "before", F.col("given").alias("after"))
    gone = F.struct(
        (F.col("n") + 1).alias("n"),
        F.col("next_at").alias("at"),
        F.col("given").alias("before"),
        nothing.alias("after"),
    )
    both = F.array_compact(F.array(F.when(is_set, became), F.when(is_gone, gone)))
    return seen.select(*INSTANCE, "key", F.explode(both).alias("one")).select(*INSTANCE, "key", "one.*")


def now(values: DataFrame) -> DataFrame:
    """Return what each task has now, by its last run, and since when there are runs with the key."""
    winners = values.where(F.col("rank") == 0)
    newest = F.max_by(F.struct("given", (F.col("n") == F.col("total")).alias("is_now")), "at").alias("newest")
    found = winners.groupBy(*TASK, "key").agg(*_span(), newest).where("newest.is_now")
    return found.select(*TASK, "key", "runs", "first", "last", "newest.given")


def between_dags(current: DataFrame, overriding: DataFrame) -> DataFrame:
    """
    Return the tasks that have another value of a key than most tasks have.

    :param overriding: as ``overriding_defaults`` returns them. Its tasks are left out where most have the default
    """
    tasks = current.withColumn("value", hidden_or(compared(F.col("given"))))
    of_value = tasks.groupBy("key", "value").agg(F.count("*").alias("tasks"), F.max("given").alias("usual"))
    usual = of_value.groupBy("key").agg(
        F.sum("tasks").alias("all"), F.max_by(F.struct("tasks", "value", "usual"), "tasks").alias("most")
    )
    dags = tasks.groupBy("key").agg(F.count_distinct("dag").alias("dags"))
    shared = usual.join(dags, "key").where((F.col("most.tasks") * 2 > F.col("all")) & (F.col("dags") > 1))
    defaults = overriding.select(*TASK, "key", hidden_or(compared(F.col("default"))).alias("default_value"))
    other = (
        tasks.join(shared, "key").where(F.col("value") != F.col("most.value")).join(defaults, [*TASK, "key"], "left")
    )
    other = other.where(~F.col("default_value").eqNullSafe(F.col("most.value")))
    detail = F.format_string(
        "%s, while %d of %d tasks have %s", shown(F.col("given")), "most.tasks", "all", shown(F.col("most.usual"))
    )
    return _finding("between-dags", other.withColumn("detail", detail))


def overriding_defaults(values: DataFrame) -> DataFrame:
    """
    Return the tasks whose last run had another value than a default that some tasks take, or took.

    The default of a task is the strongest one that it has; the value of a default is the newest that any task had.
    """
    is_default, kind = F.col("source").isin(*_DEFAULTS), ("key", "source", "place")
    defaults = values.where(is_default).groupBy(*kind).agg(_wins(), F.max_by("given", "at").alias("default"))
    lost = values.where(is_default & (F.col("rank") > 0)).groupBy(*TASK, *kind).agg(*_span())
    strongest = F.min(F.when(is_default, F.struct("rank", "source", "place"))).alias("strongest")
    of_instance = values.where(F.col("n") == F.col("total")).groupBy(*INSTANCE, "key", "at")
    last = of_instance.agg(strongest, F.min_by("given", "rank").alias("given")).groupBy(*TASK, "key")
    newest = last.agg(F.max_by(F.struct("strongest", "given"), "at").alias("newest")).select(*TASK, "key", "newest.*")
    overridden = newest.where("strongest.rank > 0").select(*TASK, "key", "given", "strongest.source", "strongest.place")
    taken = overridden.join(F.broadcast(defaults.where("wins > 0")), [*kind]).join(lost, [*TASK, *kind])
    return taken.where(~compared(F.col("given")).eqNullSafe(compared(F.col("default"))))


def overrides_default(overriding: DataFrame) -> DataFrame:
    """Return what ``overriding_defaults`` has, as findings."""
    detail = F.format_string("%s in place of the default %s", shown(F.col("given")), shown(F.col("default")))
    return _finding("overrides-default", overriding.withColumn("detail", detail))


def between_environments(here: DataFrame, there: DataFrame) -> DataFrame:
    """Return the keys of which a task has another value there, and the tasks that are only in one place."""
    other = there.select(*TASK, "key", F.col("given").alias("other"), *(F.col(c).alias(f"other_{c}") for c in _SPAN))
    both = here.join(other, [*TASK, "key"], "full")
    both = both.withColumns({c: F.coalesce(c, f"other_{c}") for c in _SPAN})
    common = here.select(*TASK).distinct().join(there.select(*TASK).distinct(), [*TASK])
    differing = both.join(common, [*TASK], "left_semi").where(~is_same(F.col("given"), F.col("other")))
    text = F.format_string("here %s, there %s", shown(F.col("given")), shown(F.col("other")))
    one_sided = both.join(common, [*TASK], "left_anti").withColumn("is_here", F.col("given").isNotNull())
    alone = one_sided.groupBy(*TASK).agg(
        F.max("runs").alias("runs"), F.min("first").alias("first"), F.max("last").alias("last"),
        F.when(F.bool_or("is_here"), "this task is only here").otherwise("this task is only there").alias("detail"),
    )  # fmt: skip
    kind = "between-environments"
    return _finding(kind, differing.withColumn("detail", text)).union(
        _finding(kind, alone.withColumn("key", F.lit("")))
    )


def unused(runs: DataFrame, values: DataFrame, documents: DataFrame) -> DataFrame:
    """Return the keys of dynamic configuration that no run had, without those whose DAG has not run since."""
    of_task = values.select("source", "dag", "task", F.explode(F.array("key", "name")).alias("key")).distinct()
    is_used = (
        (F.col("d.source") == F.col("v.source"))
        & (F.col("d.key") == F.col("v.key"))
        & F.col("d.dag").isin("", F.col("v.dag"))
        & F.col("d.task").isin("", F.col("v.task"))
    )
    found = _ripe(documents.alias("d").join(of_task.alias("v"), is_used, "left_anti"), runs)
    given = F.struct("value", "source", "origin")
    made = F.format_string(", set by %s at %s", "made_by", minute(F.col("made_at")))
    who = F.when(F.col("made_at") == "", "").otherwise(made)
    why = F.when(F.col("has_run"), "no run had it").otherwise("its DAG has run since, but not this task")
    detail = F.format_string("%s%s; %s", shown(given), who, why)
    return _finding("unused", found.select("*", detail.alias("detail"), *_nothing()))


def _ripe(documents: DataFrame, runs: DataFrame) -> DataFrame:
    """
    Return the settings after which their DAG has run, and those whose time is not known.

    ``has_run`` is whether there was a run that should have had the setting. A run in the same second could have been
    earlier, so it is ignored.
    """
    last = runs.groupBy(*TASK).agg(F.max(F.left("at", F.lit(_SECOND))).alias("at"))
    is_of_dag = F.col("d.dag").isin("", F.col("r.dag")) & (F.col("r.at") > F.left("d.made_at", F.lit(_SECOND)))
    is_known, is_of_task = F.col("made_at") != "", F.col("d.task").isin("", F.col("r.task"))
    pairs = documents.alias("d").join(last.alias("r"), is_of_dag, "left")
    by_setting = pairs.groupBy(*(f"d.{name}" for name in documents.columns))
    ripe = by_setting.agg(F.count("r.at").alias("later"), F.bool_or(is_of_task).alias("is_of_task"))
    has_run = ~is_known | F.coalesce("is_of_task", F.lit(False))
    return ripe.where(~is_known | (F.col("later") > 0)).withColumn("has_run", has_run)


def always_loses(values: DataFrame) -> DataFrame:
    """Return the overrides of a task that lost in each of its runs."""
    overrides = values.where(~F.col("source").isin(*_DEFAULTS, _SPARKS_OWN))
    found = overrides.groupBy(*TASK, "key", "source").agg(*_span(), *_losing()).where(F.col("wins") == 0)
    detail = F.format_string("%s lost each time, the last time to %s", shown(F.col("given")), "to")
    return _finding("always-loses", found.withColumn("detail", detail))


def not_taken(values: DataFrame) -> DataFrame:
    """Return the defaults of files and of the deployment that no task takes."""
    defaults = values.where(F.col("source").isin(*_DEFAULTS))
    tasks = F.count_distinct(*TASK).alias("tasks")
    found = defaults.groupBy("key", "source", "place").agg(*_span(), *_losing(), tasks).where(F.col("wins") == 0)
    none = F.format_string("taken by none of the %d tasks that have it", "tasks")
    untaken = F.when(F.col("tasks") == 1, "not taken by the only task that has it").otherwise(none)
    detail = F.format_string("%s is %s; the last time it lost to %s", shown(F.col("given")), untaken, "to")
    everyone = {"dag": F.lit(""), "task": F.lit(""), "detail": detail}
    return _finding("default-not-taken", found.withColumns(everyone))


def only_in_failed(values: DataFrame) -> DataFrame:
    """Return what all failed runs of a task had, and none of the good ones."""
    winners = values.where((F.col("rank") == 0) & (F.col("failed_total") > 0) & (F.col("good_total") > 0))
    layer_of_hidden = F.when(F.col("value").isNull(), F.col("source")).alias("hidden_in")
    of_value = compared(F.col("given")).alias("compared")
    found = winners.groupBy(*TASK, "key", of_value, layer_of_hidden, "failed_total", "good_total").agg(
        *_span(),
        F.count_if("failed").alias("failed"),
        F.count_if(~F.col("failed")).alias("good"),
        F.max_by("given", "at").alias("given"),
    )
    shared = found.where((F.col("good") == 0) & (F.col("failed") == F.col("failed_total")))
    detail = F.format_string(
        "%s in each failed run (%d), and in no good one (%d)", shown(F.col("given")), "failed_total", "good_total"
    )
    return _finding("only-in-failed", shared.withColumn("detail", detail))


def before_failure(runs: DataFrame, changes: DataFrame) -> DataFrame:
    """Return what changed when a task began to fail the last time; a row without a key if nothing did."""
    begins = runs.where(F.col("failed") & F.col("was_good")).groupBy(*INSTANCE).agg(F.max("n").alias("n"))
    since = runs.where("failed").select(*INSTANCE, "at", F.col("n").alias("later")).join(begins, [*INSTANCE])
    failures = since.where(F.col("later") >= F.col("n")).groupBy(*INSTANCE, "n").agg(*_span())
    changed = failures.join(changes.drop("at"), [*INSTANCE, "n"], "left")
    text = F.format_string("%s, then %s", shown(F.col("before")), shown(F.col("after")))
    detail = F.when(F.col("key").isNull(), "nothing in the configuration changed").otherwise(text)
    columns = {"detail": detail, "before_layer": layer(F.col("before")), "after_layer": layer(F.col("after"))}
    found = changed.withColumns(columns).withColumn("key", F.coalesce("key", F.lit("")))
    return _finding(BEFORE_FAILURE, found.dropDuplicates([*TASK, "key", "detail"]))


_SPAN: Final = ("runs", "first", "last")


def _span() -> tuple[Column, ...]:
    return F.count("*").alias("runs"), F.min("at").alias("first"), F.max("at").alias("last")


def _losing() -> tuple[Column, ...]:
    return _wins(), F.max_by("given", "at").alias("given"), F.max_by("winner", "at").alias("to")


def _wins() -> Column:
    return F.count_if(F.col("rank") == 0).alias("wins")


def _nothing() -> tuple[Column, ...]:
    never = F.lit(None).cast("string")
    return F.lit(0).cast("bigint").alias("runs"), never.alias("first"), never.alias("last")


def _finding(kind: str, rows: DataFrame) -> DataFrame:
    missing = {c: F.lit(None).cast("string") for c in ("before_layer", "after_layer") if c not in rows.columns}
    return rows.withColumns({"kind": F.lit(kind), **missing}).select(*FINDING)
