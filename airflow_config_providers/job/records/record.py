"""The record of one try of a task: what its job was configured with, and where each value came from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, Self

from airflow_config_providers.core.document import loaded
from airflow_config_providers.core.layers import ConfigEntry, LayeredConfig
from airflow_config_providers.core.text import octets
from airflow_config_providers.core.variable import variables
from airflow_config_providers.exceptions import LimitExceededError

FORMAT: Final = 1
"""The version of the document. A later one only adds to it, or has another key of the entry."""

LONGEST_VALUE: Final = 2000
"""The most characters of a value. References are short; what is longer is a literal of the DAG or of a file."""

_LONGEST_SHOWN: Final = LONGEST_VALUE + 200
"""The most characters of ``shown_value``, and more: a longer value in a record is not from this package."""

_MARK: Final = "\0"

Clean = Callable[[str], str]
"""Returns a string without values."""


@dataclass(frozen=True, slots=True)
class RecordedValue:
    """
    What one layer had for a key.

    :param source: the name of a ``ConfigSource``, perhaps of a later version
    :param origin: where it was written
    :param value: the string with its references; None for a plaintext secret
    :param name: the name that the layer has for the key, if it is another one; otherwise empty
    """

    source: str
    origin: str
    value: str | None = field(repr=False)
    name: str = ""


@dataclass(frozen=True, slots=True)
class TaskTry:
    """
    One try of a task instance.

    :param map_index: which instance of a mapped task it is, or which iteration of a loop
    :param region: the id of what Airflow 3.4 created the instance in, as 32 hexadecimal digits; empty outside of loops
    """

    dag_id: str
    task_id: str
    run_id: str
    map_index: int = -1
    try_number: int = 1
    region: str = ""

    @classmethod
    def of(cls, ti: Any) -> Self:
        """Return the try that a task of Airflow runs in."""
        from airflow_config_providers.airflow_compat import iteration_of  # noqa: PLC0415 - executors have no Airflow

        dag_id, task_id, run_id = (str(getattr(ti, name, "")) for name in ("dag_id", "task_id", "run_id"))
        region, index = iteration_of(ti) or ("", getattr(ti, "map_index", None))
        return cls(dag_id, task_id, run_id, -1 if index is None else index, getattr(ti, "try_number", 1), region)


@dataclass(frozen=True, slots=True)
class TryRecord:
    """
    What one try was configured with. It holds references and never a value.

    :param task: the try
    :param at: when the configuration was settled, in ISO 8601
    :param configs: key -> its values, the winner first
    :param references: reference -> keyed hash of its value; None without one
    :param key_id: the name of the key of the hashes; empty without hashes
    :param versions: what was installed, by name
    :param policies: the names of the policies that allowed it
    :param problems: why the try was refused, such as the denials of policies
    :param notes: sentences for the reader
    :param job: the external id of the submitted job; None if it is unknown
    :param follows: the try that submitted the job, if this one only follows it
    :param restarts: how often the job was submitted again in this try, because its secrets changed
    :param dag_file: the path of the DAG file, if its bundle has versions; otherwise empty
    """

    task: TaskTry
    at: str
    configs: Mapping[str, Sequence[RecordedValue]] = field(default_factory=dict, repr=False)
    references: Mapping[str, str | None] = field(default_factory=dict)
    key_id: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    policies: Sequence[str] = ()
    problems: Sequence[str] = ()
    notes: Sequence[str] = ()
    job: str | None = None
    follows: int | None = None
    restarts: int = 0
    format: int = FORMAT
    dag_file: str = ""

    @property
    def bundle_folder(self) -> str:
        """The folder of the version of the bundle in which the try ran; empty if it is not known, or there is none."""
        return version_folder(self.dag_file, self.versions.get("bundle_version", ""))

    def bundle_folder_of(self, dag_file: str) -> str:
        """Return the folder of the bundle in which its DAG file is ``dag_file`` now; empty if it is not known."""
        return other_folder(dag_file, self.dag_file, self.bundle_folder)

    def unversioned(self, text: str) -> str:
        """Return ``text`` as it is in each version of the bundle, for comparisons with other records."""
        return unversioned(text, self.bundle_folder, self.versions.get("bundle", ""))

    def document(self) -> dict[str, Any]:
        """Return the record as plain values for JSON."""
        task = self.task
        return {
            "format": self.format,
            "dag_id": task.dag_id,
            "task_id": task.task_id,
            "run_id": task.run_id,
            "map_index": task.map_index,
            **({"region": task.region} if task.region else {}),
            "try_number": task.try_number,
            "at": self.at,
            "job": self.job,
            "follows": self.follows,
            "restarts": self.restarts,
            "versions": dict(self.versions),
            "dag_file": self.dag_file,
            "policies": list(self.policies),
            "problems": list(self.problems),
            "notes": list(self.notes),
            "key_id": self.key_id,
            "references": dict(self.references),
            "configs": {key: [_plain(one) for one in of] for key, of in self.configs.items()},
        }

    @classmethod
    def read(cls, document: Any, task: TaskTry) -> Self | None:
        """
        Return the record in ``document``, which others could have written; None if it is none.

        What has another form, or is unknown, is left out; a record of a later version has a note about that.

        :param task: the try to which it belongs, whatever it says itself
        """
        if not isinstance(document, dict) or not isinstance(document.get("configs"), dict):
            return None
        known = _Known(document)
        notes = known.texts("notes")
        if known.number("format", FORMAT) > FORMAT:
            notes = (*notes, _LATER)
        return cls(
            task,
            known.text("at"),
            configs={key: found for key, of in document["configs"].items() if (found := _values(of))},
            references=known.hashes("references"),
            key_id=known.text("key_id"),
            versions=known.names("versions"),
            policies=known.texts("policies"),
            problems=known.texts("problems"),
            notes=notes,
            job=known.text("job") or None,
            follows=known.number("follows", 0) or None,
            restarts=known.number("restarts", 0),
            format=known.number("format", FORMAT),
            dag_file=known.text("dag_file"),
        )

    def clean(self, of_names: Clean, of_texts: Clean) -> Self:
        """
        Return the record without values in its strings, with those cut that are too long.

        :param of_names: cleans keys and references
        :param of_texts: cleans all other strings
        """
        keys = _cleaned([*self.configs], of_names)
        references = _cleaned([*self.references], of_names)
        found = [one for of in self.configs.values() for one in of]
        values = iter(_cleaned([one.value or "" for one in found], of_texts))
        origins = iter(_cleaned([one.origin for one in found], of_texts))
        return replace(
            self,
            configs={
                key: [_with(one, shown_value(next(values)), next(origins)) for one in of]
                for key, of in zip(keys, self.configs.values(), strict=True)
            },
            references=dict(zip(references, self.references.values(), strict=True)),
            problems=_cleaned(self.problems, of_texts),
            notes=_cleaned(self.notes, of_texts),
            job=None if self.job is None else of_texts(self.job),
            dag_file=of_texts(self.dag_file) if self.dag_file else "",
        )


def recorded(layered: LayeredConfig) -> dict[str, list[RecordedValue]]:
    """Return key -> its values, the winner first, for each key that a layer sets."""
    return {key: _synonyms(layered.describe(key)) for key in sorted(layered.settled)}


def shown_value(text: str) -> str:
    """Return a string as a record has it: if it is too long, cut, with a note and a hash of the whole."""
    if len(text) <= LONGEST_VALUE:
        return text
    return f"{text[:LONGEST_VALUE]}... ({len(text)} characters, SHA-256 {sha256(octets(text)).hexdigest()})"


def references_of(layered: LayeredConfig) -> dict[str, str | None]:
    """Return the references of the settled configuration, as they are written."""
    found = (str(variable) for text in layered.settled.values() for variable in variables(text))
    return dict.fromkeys(sorted(set(found)))


_LATER: Final = (
    "A later version of airflow-config-providers wrote this record. What this version does not know is not shown."
)


def _synonyms(entry: ConfigEntry) -> list[RecordedValue]:
    return [
        RecordedValue(one.source.name, one.origin, one.value, "" if one.name == entry.name else one.name)
        for one in entry.synonyms
    ]


def _plain(one: RecordedValue) -> list[str | None]:
    return [one.source, one.origin, one.value, *([one.name] if one.name else [])]


def _cleaned(texts: Sequence[str], clean: Clean) -> list[str]:
    """Return ``texts``, cleaned all at once and each once, which is much faster than one by one."""
    different = list(dict.fromkeys(texts))
    if not different:
        return []
    found = clean(_MARK.join(different)).split(_MARK)
    if len(found) != len(different):
        found = [clean(text) for text in different]
    by_text = dict(zip(different, found, strict=True))
    return [by_text[text] for text in texts]


def _with(one: RecordedValue, value: str, origin: str) -> RecordedValue:
    return replace(one, origin=origin, value=None if one.value is None else value)


def _cut(value: str | None) -> str | None:
    return value if value is None or len(value) <= _LONGEST_SHOWN else shown_value(value)


def _values(of: Any) -> list[RecordedValue]:
    found = [one for one in of if isinstance(one, list) and len(one) >= 3] if isinstance(of, list) else []
    return [
        RecordedValue(source, origin, _cut(value), rest[0] if rest and isinstance(rest[0], str) else "")
        for source, origin, value, *rest in found
        if isinstance(source, str) and isinstance(origin, str) and isinstance(value, str | None)
    ]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Known:
    """Reads the fields of a document; a field of another type is as if it was missing."""

    document: Mapping[str, Any]

    def text(self, name: str) -> str:
        found = self.document.get(name)
        return found if isinstance(found, str) else ""

    def number(self, name: str, default: int) -> int:
        found = self.document.get(name)
        return found if type(found) is int else default

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.document.get(name)
        return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()

    def names(self, name: str) -> dict[str, str]:
        found = self.document.get(name)
        return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}

    def hashes(self, name: str) -> dict[str, str | None]:
        found = self.document.get(name)
        return {k: v for k, v in found.items() if isinstance(v, str | None)} if isinstance(found, dict) else {}


def version_folder(dag_file: str, version: str) -> str:
    """Return the folder of a version of a bundle; empty if the path of a DAG file in it does not name the version."""
    parts = dag_file.split("/")
    return "/".join(parts[: parts.index(version) + 1]) if version and version in parts else ""


def other_folder(other: str, dag_file: str, folder: str) -> str:
    """
    Return the folder of another version of a bundle, such as the one from which the DAG processor reads.

    :param other: the path of a DAG file in it
    :param dag_file: the path of the same file below ``folder``
    :return: empty if ``other`` is not the same file, or ``folder`` is empty
    """
    below = dag_file.removeprefix(folder)
    return other.removesuffix(below) if folder and other.endswith(below) else ""


def unversioned(text: str, folder: str, bundle: str = "") -> str:
    """
    Return ``text`` as it is in each version of a bundle. It is for comparisons, and no path.

    :param folder: of a version; empty to change nothing
    :param bundle: its name, without which texts of different bundles cannot be compared
    """
    return text.replace(folder, f"{{bundle {bundle}}}") if folder else text


LARGEST: Final = 32 * 1024 * 1024
"""The most bytes of a record."""

_MOST_VALUES: Final = 500_000
"""The most values in a record, whose objects take much more memory than their text. 10,000 keys in five layers fit."""


def written(record: TryRecord) -> bytes:
    """
    Return ``record`` as one line of JSON.

    :raises LimitExceededError: the record is too large to be read again
    """
    text = json.dumps(record.document(), separators=(",", ":")).encode()
    if not _fits(text):
        raise LimitExceededError(f"The record has more than {LARGEST} bytes or {_MOST_VALUES} values.")
    return text


def parsed(text: bytes) -> Any:
    """Return the document in ``text``, which others could have written; None if it is not JSON, or too large."""
    return loaded(text) if _fits(text) else None


def _fits(text: bytes) -> bool:
    """Return whether ``text`` is within the limits. Commas and brackets in strings are counted, too: it is faster."""
    return len(text) <= LARGEST and sum(map(text.count, (b",", b"[", b"{"))) < _MOST_VALUES
