"""The rules for values that have no effect, because another value overrides them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from airflow_config_providers.core.keys import current_name
from airflow_config_providers.core.text import printable
from airflow_config_providers.lint.entry import LayerFile, WrittenEntry, WrittenJob
from airflow_config_providers.lint.finding import DEAD_OVERRIDE, REPEATED_KEY, Finding
from airflow_config_providers.spark.catalogue import spark_definition


def repeated_findings(file: LayerFile) -> Iterator[Finding]:
    """Yield a finding for each key that a file sets more than once, at the last of its lines."""
    by_key: dict[str, list[WrittenEntry]] = {}
    for entry in file.entries:
        by_key.setdefault(entry.key, []).append(entry)
    for key, entries in by_key.items():
        if len(entries) > 1:
            lines = ", ".join(str(entry.place.line) for entry in entries)
            yield Finding(REPEATED_KEY, entries[-1].place, f"'{printable(key)}' is set in lines {lines}. Keep one.")


def dead_findings(
    jobs: Iterable[WrittenJob],
    files: Sequence[LayerFile],
    of_deployment: Iterable[str],
    *,
    spark_version: str | None = None,
) -> Iterator[Finding]:
    """Yield the entries that lose in every job that reads them; every job reads the files ``of_deployment``."""
    winners: dict[WrittenEntry, WrittenEntry] = {}
    alive: set[WrittenEntry] = set()
    older = spark_definition(spark_version).older_names
    for layers in _all_layers(jobs, files, of_deployment):
        named = [(current_name(entry.key, older), entry) for layer in layers for entry in _current_last(layer, older)]
        strongest = dict(named)
        alive.update(strongest.values())
        winners.update({entry: strongest[name] for name, entry in named})
    yield from (_finding(loser, winner) for loser, winner in winners.items() if loser not in alive)


def _current_last(layer: Iterable[WrittenEntry], older: Mapping[str, str]) -> list[WrittenEntry]:
    """Return the entries of a layer, those under the current name of a configuration last: they win over older ones."""
    return sorted(layer, key=lambda entry: entry.key not in older)


def _all_layers(
    jobs: Iterable[WrittenJob], files: Sequence[LayerFile], of_deployment: Iterable[str]
) -> Iterator[list[tuple[WrittenEntry, ...]]]:
    """Yield the layers of each job, weakest first, of which only those files are known that were given."""
    last = {os.path.realpath(file.path): {entry.key: entry for entry in file.entries} for file in files}
    by_path = {path: tuple(entries.values()) for path, entries in last.items()}
    base = _found(by_path, of_deployment)
    for job in jobs:
        if job.is_configured:
            yield [*base, *_found(by_path, job.files), *job.layers]


def _found(files: Mapping[str, tuple[WrittenEntry, ...]], paths: Iterable[str]) -> list[tuple[WrittenEntry, ...]]:
    return [files[real] for path in paths if (real := os.path.realpath(path)) in files]


def _finding(loser: WrittenEntry, winner: WrittenEntry) -> Finding:
    scope = "" if loser.origin else " in the tasks that were checked"
    other = "" if winner.key == loser.key else f"'{printable(winner.key)}' in "
    problem = f"{loser.name} has no effect{scope}: {other}{_where(winner)} overrides it. Remove one of them."
    return Finding(DEAD_OVERRIDE, loser.place, problem)


def _where(winner: WrittenEntry) -> str:
    if winner.origin:
        return printable(f"{winner.origin} of {winner.place.task}")
    return printable(f"{winner.place.path}:{winner.place.line}")
