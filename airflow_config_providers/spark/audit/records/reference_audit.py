"""Who used which reference, how many values each had, which try used which, and the pages of HTML about that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import how_many
from airflow_config_providers.core.variable import is_like
from airflow_config_providers.spark.audit import F
from airflow_config_providers.spark.audit import html_page as html
from airflow_config_providers.spark.audit.html_page import Bar, Plot, ranking
from airflow_config_providers.spark.audit.records.past_records import persisted
from airflow_config_providers.spark.audit.records.runs import unversioned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

OWNERS: Final = "dag string, owner string"


def reference_uses(
    session: SparkSession, records: DataFrame, owners: Sequence[tuple[str, str]] = ()
) -> list[dict[str, Any]]:
    """
    Return a row for each reference in records: its tasks, DAGs and owners, and the generations of its value.

    A reference to a file in a DAG bundle is the same in each version of the bundle, and shown as it was written last. A
    generation is a value, distinguished by its keyed hash. Hashes of different keys cannot be compared, so a new key
    does not start a new generation. ``older`` has the tasks whose last try did not have the value of the last of all
    tries. ``keyless`` is whether a run that was not refused had no key for its hashes.

    :param owners: (DAG, owner)
    """
    of_try = ("dag", "task", "run", "at", "key_id", "refusals")
    used = records.select(*of_try, "versions", "bundle_folder", F.explode("references").alias("written", "hash"))
    used = used.withColumn("reference", unversioned(F.col("written"))).drop("versions", "bundle_folder")
    with persisted(used.join(F.broadcast(session.createDataFrame(owners, OWNERS)), "dag", "left")) as (uses,):
        return [row.asDict() for row in _by_reference(uses).orderBy("reference").collect()]


def reference_rows(uses: Sequence[Mapping[str, Any]], known: Sequence[str] = ()) -> list[dict[str, Any]]:
    """
    Return a row for each reference, with what is odd about it in ``finding``.

    :param uses: as ``reference_uses`` returns them
    :param known: references that are listed even if no record has them
    """
    used = {use["reference"] for use in uses}
    unread = [{"reference": one, "tasks": 0, "runs": 0} for one in known if one not in used]
    return [_row(use) for use in (*uses, *unread)]


def _row(use: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "reference": use["reference"],
        "finding": list(_findings(use)),
        "generations": use.get("generations"),
        "tasks": use["tasks"],
        "runs": use["runs"],
        "dags": use.get("dags", []),
        "owners": use.get("owners", []),
        "older": use.get("older") or [],
        "first": use.get("first"),
        "last": use.get("last"),
    }


def _findings(use: Mapping[str, Any]) -> Iterator[str]:
    if not use["runs"]:
        yield "unread"
    if len(use.get("dags", [])) > 1:
        yield "shared"
    if use.get("older"):
        yield "older values"


def _by_reference(uses: DataFrame) -> DataFrame:
    hashed = uses.where(F.col("hash").isNotNull()).withColumn("value", F.struct("key_id", "hash"))
    newest = hashed.groupBy("reference").agg(
        F.max_by("value", "at").alias("newest"),
        (F.count_distinct("key_id", "hash") - F.count_distinct("key_id") + 1).alias("generations"),
    )
    last = (
        hashed.groupBy("reference", "dag", "task").agg(F.max_by("value", "at").alias("had")).join(newest, "reference")
    )
    is_older = (F.col("had.key_id") == F.col("newest.key_id")) & (F.col("had.hash") != F.col("newest.hash"))
    older = last.where(is_older).groupBy("reference").agg(_set(F.concat_ws(".", "dag", "task"), "older"))
    found = uses.groupBy("reference").agg(
        F.count_distinct("dag", "task").alias("tasks"), _set("dag", "dags"), _set("owner", "owners"),
        F.count_distinct("dag", "task", "run").alias("runs"), F.min("at").alias("first"), F.max("at").alias("last"),
        F.max((F.col("key_id") == "") & (F.size("refusals") == 0)).alias("keyless"),
        F.max_by("written", "at").alias("written"),
    )  # fmt: skip
    rows = found.join(newest.drop("newest"), "reference", "left").join(older, "reference", "left")
    return rows.drop("reference").withColumnRenamed("written", "reference")


def _set(column: Any, name: str) -> Any:
    return F.sort_array(F.collect_set(column)).alias(name)


_COLUMNS: Final = ("reference", "finding", "generations", "tasks", "runs", "dags", "owners", "older")
_HEADS: Final = (*_COLUMNS, "first (UTC)", "last (UTC)")

_ROOM: Final = 16
"""With so many zeros for each long word, the ten columns fit into a window of 1,200 pixels."""


def page(rows: Sequence[Mapping[str, Any]], scope: html.AuditScope = html.NOT_KNOWN) -> str:
    """
    Return the page, in which nothing that came from outside is markup.

    :param scope: what was read
    """
    return html.page_of(
        "Who uses which reference",
        html.verdict(_verdict(rows)),
        html.paragraph(_counts(rows)),
        html.plots(_plots(rows)),
        scope.section(),
        html.table_section("References", _HEADS, list(map(_cells, rows)), most_room=_ROOM),
    )


def _cells(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (*(row[name] for name in _COLUMNS), html.moment(row["first"]), html.moment(row["last"]))


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    older = sum(bool(row["older"]) for row in rows)
    if older:
        return f"{how_many(older, 'reference')} with a task that last had an older value."
    return "No task is known to have an older value."


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    shared = sum(len(row["dags"]) > 1 for row in rows)
    unread = sum(not row["runs"] for row in rows)
    return f"{how_many(len(rows), 'reference')}: {shared:,} shared by several DAGs, {unread:,} read by no run."


def _plots(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield _ranking("Tasks that had an older value", "tasks", rows, "older", is_bad=True)
    yield _ranking("Tasks that use it", "tasks", rows, "tasks")
    yield _ranking("DAGs that share it", "DAGs", rows, "dags", least=2)
    yield _ranking("Owners that share it", "owners", rows, "owners", least=2)
    yield _ranking("Generations of its value", "generations", rows, "generations", least=2)


def _ranking(  # noqa: PLR0913 - the column, and how it is shown
    title: str, of: str, rows: Sequence[Mapping[str, Any]], column: str, *, least: int = 1, is_bad: bool = False
) -> str:
    counts = [(_size(row[column]), str(row["reference"])) for row in rows]
    most_first = sorted((one for one in counts if one[0] >= least), key=lambda one: (-one[0], one[1]))
    return ranking(Plot(title, of, is_bad), [Bar(reference, count) for count, reference in most_first])


def _size(cell: object) -> int:
    return len(cell) if isinstance(cell, Sequence) else int(str(cell or 0))


_TRY: Final = ("dag", "task", "map_index", "run", "try")


def reference_runs(records: DataFrame, pattern: str = "*") -> list[dict[str, Any]]:
    """
    Return a row for each reference of each try in records, ordered by reference and time.

    ``refused`` is whether the try was refused, so that it submitted no job; ``hash`` is the keyed hash of the value.

    :param pattern: a reference, in which ``*`` matches any text
    """
    named = records.withColumnRenamed("try_number", "try").withColumn("refused", F.size("refusals") > 0)
    used = named.select(F.explode("references").alias("reference", "hash"), *_TRY, "at", "refused")
    with persisted(used.select("reference", *_TRY, "at", "hash", "refused")) as (uses,):
        names = [row.reference for row in uses.select("reference").distinct().collect()]
        chosen = uses.where(F.col("reference").isin([name for name in names if is_like(name, pattern)]))
        return [row.asDict() for row in chosen.orderBy("reference", "at", *_TRY).collect()]


def runs_page(rows: Sequence[Mapping[str, Any]], scope: html.AuditScope = html.NOT_KNOWN) -> str:
    """Return the page, in which nothing that came from outside is markup."""
    references = len({row["reference"] for row in rows})
    counts = f"{how_many(references, 'reference')}, {how_many(len(rows), 'use')}."
    heads = ("reference", *_TRY, "at (UTC)", "refused")
    table = html.table_section("Uses", heads, list(map(_run_cells, rows)))
    return html.page_of("Which run used which reference", html.paragraph(counts), scope.section(), table)


def _run_cells(row: Mapping[str, Any]) -> tuple[object, ...]:
    refused = "refused" if row["refused"] else ""
    return (row["reference"], *(row[name] for name in _TRY), html.moment(row["at"]), refused)
