"""
Write ``airflow_config_providers/spark/unlisted_names.py``: keys that are in Spark's jars but not in its catalogue.

Run it with the version of pyspark from which the catalogue was generated.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyspark

from airflow_config_providers.spark.catalogue import spark_definition

_TARGET: Final = Path(__file__).parents[1] / "airflow_config_providers" / "spark" / "unlisted_names.py"

_CONSTANT: Final = re.compile(rb"\x01..(spark\.[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9])(?=[\x01\x03-\x14])", re.DOTALL)
"""A string among the constants of a class: a tag, two bytes of length, the string, and the tag of the next one."""

_HEAD: Final = '''"""
Keys that are in the jars of pyspark=={version} but not in its catalogue.

Written by ``tools/generate_spark_names.py``.
"""

from __future__ import annotations

from typing import Final

UNLISTED_NAMES: Final = (
'''


_END: Final = ''')
"""Older names, and names for which Spark has no entry."""
'''


def main() -> None:
    """Write the module."""
    names = sorted(set(_constants()) - spark_definition().names())
    beginnings = {name for name in names if any(other.startswith(f"{name}.") for other in spark_definition().names())}
    rows = "".join(f'    "{name}",\n' for name in names if name not in beginnings or name.count(".") > 1)
    _TARGET.write_text(f"{_HEAD.format(version=pyspark.__version__)}{rows}{_END}")


def _constants() -> Iterator[str]:
    for jar in sorted(Path(pyspark.__file__).parent.glob("jars/spark*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for member in archive.namelist():
                if member.endswith(".class"):
                    yield from (found.decode() for found in _CONSTANT.findall(archive.read(member)))


if __name__ == "__main__":
    main()
