"""Names of keys that load code, as a file has them that ``tools/generate_policy_names.py`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data

FILE = "code_loading_keys.json"
"""The file in this package."""


@dataclass(frozen=True, slots=True)
class CodeLoadingNames:
    """
    The names in the file.

    :param made_of: distributions from which the names were generated, with their versions
    :param families: why -> patterns of keys with variable names, of keys of earlier versions, and of keys that bring in
        files, or choose the cluster or rights; written by hand
    :param spark: keys of Spark whose values are classes, code, commands, or options that lead to them, without families
    :param hadoop: the same of Hadoop and its file formats, without ``spark.hadoop.``
    """

    made_of: Sequence[str]
    families: Mapping[str, Sequence[str]]
    spark: Sequence[str]
    hadoop: Sequence[str]

    def patterns(self) -> list[str]:
        """Return the patterns of the families."""
        return [pattern for some in self.families.values() for pattern in some]


@cache
def code_loading_names() -> CodeLoadingNames:
    """Return the names in the file."""
    return CodeLoadingNames(**json.loads(get_data(__package__, FILE) or b""))
