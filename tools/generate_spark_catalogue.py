"""
Write the catalogue of the configuration of the installed PySpark.

Each entry comes from Spark's classes, not from its documentation. Its type is determined with its converter, which gets
a string that fits no other type. Run it again whenever the pinned PySpark changes::

    python tools/generate_spark_catalogue.py
"""

from __future__ import annotations

import json
import re
import socket
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import launch_gateway

CATALOGUE: Final = Path(__file__).parents[1] / "airflow_config_providers" / "spark" / "catalogue.json"

BUILDER: Final = b"org/apache/spark/internal/config/ConfigBuilder"
"""The name that is in every class that declares configuration."""

NO_DECLARATIONS: Final = re.compile(r"ConfigBuilder|internal\.config\.Tests\$|[^$]$")
"""The builder itself, what only Spark's own tests read, and companion classes of Scala objects."""

MISMATCH: Final = re.compile(r"TYPE_MISMATCH.* should be a/an '(\w+)", re.DOTALL)
TYPES: Final = {"boolean": "BOOLEAN", "int": "INT", "long": "LONG", "double": "DOUBLE", "bytes": "SIZE", "time": "TIME"}
"""The type in a converter's error -> our name."""

COMPUTED: Final = frozenset({"spark.driver.host", "spark.sql.warehouse.dir"})
"""Keys whose default depends on the machine."""

Row = list[str | None]


def main() -> None:
    """Write the catalogue."""
    gateway = launch_gateway()
    try:
        entries = sorted(_entries(gateway.jvm), key=lambda entry: str(entry.key()))
        public = {entry.key(): _row(entry) for entry in entries if entry.isPublic()}
        internal = {key: row for entry in entries for key, row in _internal(entry).items() if key not in public}
    finally:
        gateway.shutdown()
    _refuse_traces_of_this_machine(public | internal)
    CATALOGUE.write_text(_json(public, internal), encoding="utf-8")
    print(f"{CATALOGUE}: {len(public)} public and {len(internal)} internal keys of Spark {pyspark.__version__}")  # noqa: T201 - a command line tool


def _entries(jvm: Any) -> Iterator[Any]:
    """Yield each ``ConfigEntry`` that Spark's jars declare."""
    loader = jvm.Thread.currentThread().getContextClassLoader()
    for name in _declaring_classes(Path(pyspark.__file__).parent / "jars"):
        jvm.java.lang.Class.forName(name, True, loader)
    registry = jvm.java.lang.Class.forName("org.apache.spark.internal.config.ConfigEntry$", True, loader)
    yield from registry.getField("MODULE$").get(None).knownConfigs().values()


def _declaring_classes(jars: Path) -> Iterator[str]:
    for jar in jars.glob("spark-*.jar"):
        with zipfile.ZipFile(jar) as archive:
            for file in archive.namelist():
                name = file.removesuffix(".class").replace("/", ".")
                if name != file and not NO_DECLARATIONS.search(name) and BUILDER in archive.read(file):
                    yield name


def _row(entry: Any) -> Row:
    """Return type, default (None if there is none, or if it depends on the machine), and version of introduction."""
    return [_type(entry), _default(entry), entry.version() or None]


def _internal(entry: Any) -> dict[str, Row]:
    """Return the rows for an entry that is not public, and for the older names of any entry."""
    older = entry.alternatives().mkString(",").split(",")
    rows = {name: [_type(entry), None, None] for name in older if name}
    return rows if entry.isPublic() else {entry.key(): _row(entry), **rows}


def _type(entry: Any) -> str:
    try:
        entry.valueConverter().apply("x")
    except Py4JJavaError as error:
        wanted = MISMATCH.search(error.java_exception.getMessage())
        if wanted is None:
            return "STRING"
        return "LIST" if _takes(entry, "1,1") else TYPES[wanted[1]]
    return "LIST" if _makes_list(entry) else "STRING"


def _takes(entry: Any, text: str) -> bool:
    try:
        entry.valueConverter().apply(text)
    except Py4JJavaError:
        return False
    return True


def _makes_list(entry: Any) -> bool:
    converted = entry.valueConverter().apply("x")
    return (
        not isinstance(converted, str) and re.fullmatch(r"(?:Some\()?\w*Seq\(x\)\)?", converted.toString()) is not None
    )


def _default(entry: Any) -> str | None:
    text = entry.defaultValueString()
    is_computed = entry.key() in COMPUTED or entry.getClass().getSimpleName() == "ConfigEntryWithDefaultFunction"
    return None if text is None or is_computed or text.startswith(("<undefined>", "<value of ")) else str(text)


def _refuse_traces_of_this_machine(rows: dict[str, Row]) -> None:
    traces = (str(Path.cwd()), str(Path.home()), socket.gethostname(), socket.gethostbyname(socket.gethostname()))
    for key, (_, default, _) in rows.items():
        if any(re.search(rf"(?<!\w){re.escape(trace)}(?!\w)", default or "") for trace in traces):
            raise SystemExit(f"{key} has a default that depends on the machine. Add it to COMPUTED.")


def _json(public: dict[str, Row], internal: dict[str, Row]) -> str:
    """Return JSON with one key a line, so that a new version of Spark shows as a readable difference."""
    return f'{{"spark":"{pyspark.__version__}",\n"public":{_block(public)},\n"internal":{_block(internal)}}}\n'


def _block(rows: dict[str, Row]) -> str:
    lines = (f"{json.dumps(key)}:{json.dumps(_text(row))}" for key, row in sorted(rows.items()))
    return "{\n" + ",\n".join(lines) + "\n}"


def _text(row: Row) -> str:
    """Return type, version and default as one string: Python parses a thousand strings faster than lists."""
    kind, default, since = row
    return f"{kind} {since or '-'}" + ("" if default is None else f" {default}")


if __name__ == "__main__":
    main()
