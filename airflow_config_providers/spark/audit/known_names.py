"""Names of Java that PySpark asks the JVM for again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "PythonUtils": ("toSeq",),
    "functions": ("col", "lit"),
    "org.apache.spark.sql.functions": ("col", "lit", "when"),
    "org.apache.spark.sql.classic.SparkSession": ("getActiveSession",),
}
"""Classes, as PySpark writes them, and those of their members that it needs for each column."""


def remember_names(jvm: Any) -> None:
    """
    Have PySpark ask ``jvm`` for these names once.

    Py4J remembers none. It looks for a class without a package in all packages that PySpark imports, and so in hundreds
    of jars, for each column that is made.

    :param jvm: as ``SparkContext`` has it
    """
    from py4j.java_gateway import JavaClass  # noqa: PLC0415 - it comes with PySpark
    from py4j.protocol import Py4JError  # noqa: PLC0415 - see above

    for name, members in _NAMES.items():
        with suppress(Py4JError):  # another version of Spark has other members
            found = getattr(jvm, name)
            if isinstance(found, JavaClass):  # and other classes
                vars(found).update({member: getattr(found, member) for member in members})
                vars(jvm)[name] = found
