"""The version of the search: after an upgrade that finds more, files that were searched before are searched again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from airflow_config_providers.core.reversal.encodings import ENCODINGS, Encoding
from airflow_config_providers.core.reversal.reverse import COMMON_WORDS, SHORTEST, telling_forms
from airflow_config_providers.spark.audit.leaks.file_format import known_formats

FINDER: Final = 2
"""
Increase it if a file can have other leaks than before although values have the same forms.

Examples are more escapes that are undone, shorter parts of a value that are found, or more that is decompressed.
"""

_PROBES: Final = (
    "plain-Value.of_0nly-simple-characters",
    " all the m@rks: !\"#$%&'()*+,-./0;<=>?A[\\]^_`{|}~ and blanks\t",
    "of several\r\nl\u00efnes, with \u20ac, \U0001f600 and \x7f\x01 in th\u00e9m\n-----or not\nlocalhost",
)
"""Strings of which each encoding changes something."""


def search_version(encodings: Mapping[str, Encoding] = ENCODINGS) -> str:
    """
    Return a name for all that decides what is found in a file, apart from what is searched for.

    :param encodings: those in which values are searched for
    """
    forms = {name: [list(encoded(probe)) for probe in _PROBES] for name, encoded in encodings.items()}
    searched = [[form.hex() for form in telling_forms(probe)] for probe in _PROBES]
    parts = [FINDER, SHORTEST, sorted(COMMON_WORDS), forms, searched, known_formats()]
    return blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()
