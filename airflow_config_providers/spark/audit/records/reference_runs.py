"""Which try used which reference when, and the page of HTML about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.text import how_many
from airflow_config_providers.core.variable import is_like
from airflow_config_providers.spark.audit import functions as F  # noqa: N812 - its usual name
from airflow_config_providers.spark.audit.html_page import moment, page_of, paragraph, table_section
from airflow_config_providers.spark.audit.records.past_records import persisted
from airflow_config_providers.spark.audit.scope import NOT_KNOWN, AuditScope

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


def page(rows: Sequence[Mapping[str, Any]], scope: AuditScope = NOT_KNOWN) -> str:
    """
    Return the page, in which nothing that came from outside is markup.

    :param scope: what was read
    """
    references = len({row["reference"] for row in rows})
    counts = f"{how_many(references, 'reference')}, {how_many(len(rows), 'use')}."
    heads = ("reference", *_TRY, "at (UTC)", "refused")
    table = table_section("Uses", heads, list(map(_cells, rows)))
    return page_of("Which run used which reference", (paragraph(counts), scope.section(), table))


def _cells(row: Mapping[str, Any]) -> tuple[object, ...]:
    refused = "refused" if row["refused"] else ""
    return (row["reference"], *(row[name] for name in _TRY), moment(row["at"]), refused)
