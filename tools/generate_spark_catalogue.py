"""
Write the catalogue of Spark's configuration, and the notes that people read about its keys.

Each entry comes from Spark's classes, not from its documentation; so do the documentation strings, which are part of
Apache Spark (Apache License 2.0). A type is determined with the converter of its entry, which gets a string that fits
no other type. Rows of other versions stay as they are. Run it again whenever the pinned PySpark changes::

    python tools/generate_spark_catalogue.py [HOME ...]

:param HOME: directories with Spark's ``bin`` and ``jars``; by default that of the installed PySpark
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import launch_gateway

from airflow_config_providers.spark import catalogue_file
from airflow_config_providers.spark.catalogue_file import CATALOGUE, NOTES

PACKAGE: Final = Path(__file__).parents[1] / "airflow_config_providers" / "spark"

BUILDER: Final = b"org/apache/spark/internal/config/ConfigBuilder"
"""The name that is in every class that declares configuration."""

NO_DECLARATIONS: Final = re.compile(r"ConfigBuilder|internal\.config\.Tests\$|[^$]$")
"""The builder itself, what only Spark's own tests read, and companion classes of Scala objects."""

MISMATCH: Final = re.compile(
    r"TYPE_MISMATCH.* should be a/an '(?P<new>\w+)"
    r"| should be (?P<old>boolean|int|long|double), but was"
    r"|(?P<size>Size must be specified as bytes)|(?P<time>Time must be specified as seconds)",
    re.DOTALL,
)
"""What a converter says of a string that does not fit its type; Spark 3.5 says it in other words."""

TYPES: Final = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "LONG",
    "double": "DOUBLE",
    "decimal": "DOUBLE",
    "bytes": "SIZE",
    "time": "TIME",
}
"""The type in a converter's error -> our name."""

NO_NUMBER: Final = re.compile(r"For input string: ")
"""What Java says of such a string, where Spark leaves the message to it."""

EXAMPLES: Final = {"true": "BOOLEAN", "1.5": "DOUBLE", "3000000000": "LONG", "1": "INT"}
"""A string -> the type that takes it, and that the types before it do not have."""

CHOICES: Final = re.compile(r"should be one of '?(.+?)'?(?:, but was [xX]|\. SQLSTATE|$)", re.DOTALL)

UNITS: Final = {
    "SIZE": {"1p": 2**50, "1t": 2**40, "1g": 2**30, "1m": 2**20, "1k": 2**10},
    "TIME": {"1d": 86_400_000_000, "1h": 3_600_000_000, "1min": 60_000_000, "1s": 1_000_000, "1ms": 1000},
}
"""A quantity -> how many bytes or microseconds it is."""

NAMES_OF_UNITS: Final = {
    "SIZE": {2**10 * 2**10 * 2**10: "GiB", 2**20: "MiB", 2**10: "KiB", 1: "B"},
    "TIME": {86_400_000_000: "d", 3_600_000_000: "h", 60_000_000: "min", 1_000_000: "s", 1000: "ms", 1: "us"},
}

CONSTANT: Final = re.compile(rb"\x01..(spark\.[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9])(?=[\x01\x03-\x14])", re.DOTALL)
"""A string among the constants of a class: a tag, two bytes of length, the string, and the tag of the next one."""

COMPUTED: Final = frozenset(
    {
        "spark.connect.session.connectML.mlCache.memoryControl.maxInMemorySize",
        "spark.driver.host",
        "spark.sql.warehouse.dir",
    }
)
"""Keys whose default depends on the machine."""

KEY: Final = re.compile(r"spark(?:\.\w+)+")

Row = list[str | None]


@dataclass(slots=True)
class Release:
    """What one version of Spark has: block -> name -> row."""

    version: str
    blocks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def minor(self) -> str:
        """The version without its last number."""
        return self.version.rpartition(".")[0]


def main() -> None:
    """Write both files."""
    releases = {release.minor: release for release in _committed()}
    for home in map(Path, sys.argv[1:] or [Path(pyspark.__file__).parent]):
        release = generated(home)
        releases[release.minor] = release
        print({release.version: {block: len(rows) for block, rows in release.blocks.items()}})  # noqa: T201 - a tool
    ordered = sorted(releases.values(), key=lambda one: catalogue_file.minor_version(one.minor) or (0, 0))
    for name, blocks in ((CATALOGUE, ("public", "internal", "older", "unlisted")), (NOTES, ("notes",))):
        (PACKAGE / name).write_text(_json(ordered, blocks), encoding="utf-8")


def generated(home: Path) -> Release:
    """Return what the Spark in ``home`` has."""
    os.environ["SPARK_HOME"] = str(home)
    gateway = launch_gateway()
    try:
        version = gateway.jvm.org.apache.spark.package.SPARK_VERSION()
        blocks = _blocks(gateway.jvm, home / "jars")
    finally:
        gateway.shutdown()
        gateway.proc.communicate()
    _refuse_traces_of_this_machine({**blocks["public"], **blocks["internal"]})
    return Release(version, blocks)


def committed(minor: str) -> Release:
    """Return what the committed files say of a minor version."""
    rows = catalogue_file.rows(minor)
    blocks = {
        "public": rows.public,
        "internal": rows.internal,
        "older": rows.older,
        "unlisted": dict.fromkeys(rows.unlisted, 1),
        "notes": catalogue_file.notes(minor),
    }
    return Release(rows.version, blocks)


def _committed() -> Iterator[Release]:
    if (PACKAGE / NOTES).exists():
        yield from map(committed, catalogue_file.versions())


def _blocks(jvm: Any, jars: Path) -> dict[str, Mapping[str, Any]]:
    entries = sorted(_entries(jvm, jars), key=lambda entry: str(entry.key()))
    public = {entry.key(): _text(_row(entry)) for entry in entries if entry.isPublic()}
    internal = {entry.key(): _text(_row(entry)) for entry in entries if not entry.isPublic()}
    older = {name: row for name, row in _older(jvm, entries).items() if name not in public and name not in internal}
    listed = {*public, *internal, *older}
    unlisted = dict.fromkeys(_unlisted(jars, listed), 1)
    notes = {entry.key(): _note(entry) for entry in entries}
    for name, note in _deprecations(jvm, {*public, *internal}):
        notes[name] = notes.get(name, {}) | note
    return {"public": public, "internal": internal, "older": older, "unlisted": unlisted, "notes": notes}


def _entries(jvm: Any, jars: Path = Path(pyspark.__file__).parent / "jars") -> Iterator[Any]:
    """Yield each ``ConfigEntry`` that Spark's jars declare."""
    for name in _declaring_classes(jars):
        _class(jvm, name)
    yield from _module(jvm, "org.apache.spark.internal.config.ConfigEntry$").knownConfigs().values()


def _declaring_classes(jars: Path) -> Iterator[str]:
    for jar in jars.glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for file in archive.namelist():
                name = file.removesuffix(".class").replace("/", ".")
                if name != file and not NO_DECLARATIONS.search(name) and BUILDER in archive.read(file):
                    yield name


def _class(jvm: Any, name: str) -> Any:
    return jvm.java.lang.Class.forName(name, True, jvm.Thread.currentThread().getContextClassLoader())


def _module(jvm: Any, name: str) -> Any:
    """Return a Scala object."""
    return _class(jvm, name).getField("MODULE$").get(None)


def _row(entry: Any) -> Row:
    """Return type, default (None if there is none, or if it depends on the machine), and version of introduction."""
    return [_type(entry), _default(entry), entry.version() or None]


def _older(jvm: Any, entries: Iterable[Any]) -> dict[str, str]:
    """Return older name -> type and current name, separated by a space."""
    found = {older.key(): f"STRING {new}" for new, others in _alternatives(jvm) for older in _items(others)}
    for entry in entries:
        for name in entry.alternatives().mkString(",").split(","):
            if name:
                found[name] = f"{_type(entry)} {entry.key()}"
    return found


def _alternatives(jvm: Any) -> Iterator[tuple[str, Any]]:
    """Yield each current name with its older ones, whose values Spark may translate."""
    for pair in _items(
        _private(jvm, "org.apache.spark.SparkConf$", "org$apache$spark$SparkConf$$configsWithAlternatives")
    ):
        yield pair._1(), pair._2()


def _private(jvm: Any, name: str, field_name: str) -> Any:
    declared = _class(jvm, name).getDeclaredField(field_name)
    declared.setAccessible(True)
    return declared.get(_module(jvm, name))


def _items(scala: Any) -> Iterator[Any]:
    items = scala.iterator()
    while items.hasNext():
        yield items.next()


def _unlisted(jars: Path, listed: set[str]) -> list[str]:
    """Return the names among the constants of Spark's classes that the catalogue does not have."""
    names = sorted(set(_constants(jars)) - listed)
    beginnings = {name for name in names if any(other.startswith(f"{name}.") for other in listed)}
    return [name for name in names if name not in beginnings or name.count(".") > 1]


def _constants(jars: Path) -> Iterator[str]:
    for jar in jars.glob("spark*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for member in archive.namelist():
                if member.endswith(".class"):
                    yield from (found.decode() for found in CONSTANT.findall(archive.read(member)))


def _note(entry: Any) -> dict[str, Any]:
    """Return what people read about a key: documentation, unit of a number without one, and allowed values."""
    note = {"doc": " ".join((entry.doc() or "").split()), "unit": _unit(entry), "allowed": _allowed(entry)}
    return {name: value for name, value in note.items() if value}


def _unit(entry: Any) -> str:
    kind = _type(entry)
    for text, size in UNITS.get(kind, {}).items():
        found = re.search(r"\d+", _converted(entry, text))
        if found and int(found[0]):
            return NAMES_OF_UNITS[kind].get(size // int(found[0]), "")
    return ""


def _allowed(entry: Any) -> list[str]:
    found = CHOICES.search(_refusal(entry, "x"))
    return sorted(re.split(r"',? '|, ", found[1])) if found else []


def _deprecations(jvm: Any, keys: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each name that Spark calls deprecated or removed, with the version, the reason and the successor."""
    sql = _module(jvm, "org.apache.spark.sql.internal.SQLConf$")
    for pair in _items(_private(jvm, "org.apache.spark.SparkConf$", "deprecatedConfigs")):
        yield pair._1(), {"deprecated": pair._2().version(), **_reason(pair, _message(pair._2()), keys)}
    for pair in _items(sql.deprecatedSQLConfigs()):
        yield pair._1(), {"deprecated": pair._2().version(), **_reason(pair, pair._2().comment(), keys)}
    for pair in _items(sql.removedSQLConfigs()):
        yield pair._1(), {"removed": pair._2().version(), **_reason(pair, pair._2().comment(), keys)}


def _message(deprecated: Any) -> str:
    declared = deprecated.getClass().getDeclaredField("deprecationMessage")
    declared.setAccessible(True)
    return str(declared.get(deprecated))


def _reason(pair: Any, text: str, keys: set[str]) -> dict[str, str]:
    """Return Spark's reason, and the successor if the reason names one key."""
    named = {key.rstrip(".") for key in KEY.findall(text)} & keys - {pair._1()}
    return {"reason": " ".join(text.split())} | ({"successor": named.pop()} if len(named) == 1 else {})


def _type(entry: Any) -> str:
    refusal = _refusal(entry, "x")
    wanted = MISMATCH.search(refusal)
    if wanted:
        return "LIST" if not _refusal(entry, "1,1") else TYPES[wanted["new"] or wanted["old"] or _quantity(wanted)]
    if NO_NUMBER.match(refusal):
        return next((kind for text, kind in EXAMPLES.items() if not _refusal(entry, text)), "STRING")
    return "LIST" if not refusal and _makes_list(entry) else "STRING"


def _quantity(wanted: re.Match[str]) -> str:
    return "bytes" if wanted["size"] else "time"


def _refusal(entry: Any, text: str) -> str:
    """Return what the converter of an entry says against ``text``; empty if it takes it."""
    try:
        entry.valueConverter().apply(text)
    except Py4JJavaError as error:
        return error.java_exception.getMessage() or "?"
    return ""


def _converted(entry: Any, text: str) -> str:
    return "" if _refusal(entry, text) else str(entry.valueConverter().apply(text))


def _makes_list(entry: Any) -> bool:
    converted = entry.valueConverter().apply("x")
    return (
        not isinstance(converted, str)
        and re.fullmatch(r"(?:Some\()?\w*(?:Seq|Buffer)\(x\)\)?", converted.toString()) is not None
    )


def _default(entry: Any) -> str | None:
    text = entry.defaultValueString()
    is_computed = entry.key() in COMPUTED or entry.getClass().getSimpleName() == "ConfigEntryWithDefaultFunction"
    return None if text is None or is_computed or text.startswith(("<undefined>", "<value of ")) else str(text)


def _refuse_traces_of_this_machine(rows: Mapping[str, str]) -> None:
    traces = (str(Path.cwd()), str(Path.home()), socket.gethostname(), socket.gethostbyname(socket.gethostname()))
    for key, row in rows.items():
        if any(re.search(rf"(?<!\w){re.escape(trace)}(?!\w)", row) for trace in traces):
            raise SystemExit(f"{key} has a default that depends on the machine. Add it to COMPUTED.")


def _text(row: Row) -> str:
    """Return type, version and default as one string: Python parses a thousand strings faster than lists."""
    kind, default, since = row
    return f"{kind} {since or '-'}" + ("" if default is None else f" {default}")


def _json(releases: list[Release], blocks: Iterable[str]) -> str:
    """Return JSON with one key a line, so that a new version of Spark shows as a readable difference."""
    groups: dict[tuple[str, ...], dict[str, dict[str, str]]] = {}
    for block in blocks:
        for name, row, minors in sorted(_shared(releases, block)):
            groups.setdefault(minors, {}).setdefault(block, {})[name] = row
    versions = json.dumps({release.minor: release.version for release in releases})
    texts = ",\n".join(_group(minors, group) for minors, group in sorted(groups.items()))
    return f'{{"versions":{versions},\n"groups":[\n{texts}\n]}}\n'


def _shared(releases: Iterable[Release], block: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each name and row of a block with the minor versions in which it is the same."""
    found: dict[tuple[str, str], list[str]] = {}
    for release in releases:
        for name, row in release.blocks[block].items():
            text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            found.setdefault((name, text), []).append(release.minor)
    return ((name, text, tuple(minors)) for (name, text), minors in found.items())


def _group(minors: tuple[str, ...], blocks: Mapping[str, Mapping[str, str]]) -> str:
    texts = [f'"in":{json.dumps(minors)}', *(f'"{block}":{_block(rows)}' for block, rows in blocks.items())]
    return "{" + ",\n".join(texts) + "}"


def _block(rows: Mapping[str, str]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}:{text}" for name, text in rows.items()) + "\n}"


if __name__ == "__main__":
    main()
