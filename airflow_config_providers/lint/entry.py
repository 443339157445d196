"""What the files say: entries of configuration, other strings with references, and the jobs that have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Self

from airflow_config_providers.core.text import printable
from airflow_config_providers.lint.finding import Finding, SourcePlace


@dataclass(frozen=True, slots=True)
class WrittenEntry:
    """
    A key and its value as written, or another string with references.

    :param key: the key; of another string, its place as a Python expression
    :param origin: the argument of the task that has it; empty in a layer file
    """

    key: str
    text: str = field(repr=False)
    place: SourcePlace
    origin: str = ""

    @property
    def name(self) -> str:
        """The key, and the argument that has it."""
        return f"'{printable(self.key)}'" + (f" ({self.origin})" if self.origin and self.origin != self.key else "")


@dataclass(frozen=True, slots=True)
class WrittenJob:
    """
    A Spark job as its DAG file describes it.

    :param layers: the layers of the DAG, weakest first
    :param clusters: the own layers of each of several clusters, which do not override each other
    :param texts: the strings with references outside the layers
    :param files: the paths of its layer files, weakest first
    :param conn_id: the connection that defines its providers
    :param is_configured: whether its operator resolves references
    :param takes_any_key: whether it can get keys that do not begin with ``spark.``
    :param keeps_unresolved: whether references without a provider are left as they are
    :param is_remote: whether another Spark runs it than that of this machine
    :param allows_exposed: whether values may be where other people can read them
    :param refused: the keys with values that no layer can have, such as lists; the text of each is the reason
    :param unresolved: the arguments with references that nothing resolves; the text of each is the reason
    :param taken_for_values: the arguments whose references the class of the task would use as values; the text of each
        is the reason
    :param unstorable: the arguments that Airflow's database cannot store; the text of each is the reason
    :param literals: the strings without references in the environment and the arguments of its program
    """

    place: SourcePlace
    layers: tuple[tuple[WrittenEntry, ...], ...]
    clusters: tuple[tuple[WrittenEntry, ...], ...]
    texts: tuple[WrittenEntry, ...]
    files: tuple[str, ...]
    conn_id: str
    is_configured: bool
    takes_any_key: bool
    keeps_unresolved: bool
    is_remote: bool = False
    allows_exposed: bool = False
    refused: tuple[WrittenEntry, ...] = ()
    unresolved: tuple[WrittenEntry, ...] = ()
    taken_for_values: tuple[WrittenEntry, ...] = ()
    unstorable: tuple[WrittenEntry, ...] = ()
    literals: tuple[WrittenEntry, ...] = ()

    def entries(self) -> Iterator[WrittenEntry]:
        """Yield the entries of all layers."""
        yield from chain.from_iterable((*self.layers, *self.clusters))


@dataclass(frozen=True, slots=True)
class StoredJob:
    """
    The job of a configured task as Airflow stores it, so that it is what ``describe`` shows of the deployed DAG.

    :param text: the text of its ``AuthoredJob``, without plaintext secrets
    :param notes: what it does not show
    :param family: the family of its operator if ``apply_to`` configures that; empty for one that is configured anyway
    """

    dag_id: str
    task_id: str
    text: str = field(repr=False)
    notes: tuple[str, ...] = ()
    family: str = ""


@dataclass(frozen=True, slots=True)
class StoredTexts:
    """
    The strings with templates or references that Airflow stores of a task, configured or not, or of the DAG itself.

    :param task_id: the task; empty for the DAG
    :param keys: for each of the texts, the nearest key or field that has it
    """

    dag_id: str
    task_id: str
    texts: tuple[str, ...] = field(repr=False)
    keys: tuple[str, ...]

    def moved(self, before: str, after: str) -> Self:
        """Return the same with ``after`` in place of each ``before``."""
        return replace(self, texts=tuple(text.replace(before, after) for text in self.texts))


@dataclass(frozen=True, slots=True)
class LayerFile:
    """
    A layer file with every entry that can be read, also repeated ones.

    :param findings: what cannot be read: the file, or some of its keys
    """

    path: str
    entries: tuple[WrittenEntry, ...]
    findings: tuple[Finding, ...] = ()
