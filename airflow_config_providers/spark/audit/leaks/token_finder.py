"""Finds tokens of well-known formats: each has a fixed prefix, so there is nothing to guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from airflow_config_providers.core.reversal.windows import BytesAhoCorasick, Find
from airflow_config_providers.spark.audit.leaks.leak_finder import UNKNOWN, Occurrence

_BREAK: Final = r"(?>(?:\s|\\[nrt]){1,80})"
_LINE_END: Final = r"(?:\r?\n|(?:\\r)?\\n)[ \t]{0,40}+"
_KEY_BODY: Final = (
    rf"(?>(?:{_LINE_END}[A-Za-z-]{{4,20}}: [^\r\n\\]{{1,200}}+){{0,5}})"  # such as the cipher
    rf"(?>(?:{_BREAK}[A-Za-z0-9+/=]{{16,}}+)+)"
    rf"(?:{_BREAK}[A-Za-z0-9+/=]{{1,15}}+(?={_BREAK}[-=]))?"
    rf"(?:{_BREAK}=[A-Za-z0-9+/]{{4}})?"  # the checksum of PGP
    rf"(?:{_BREAK}-----END [A-Z ]{{0,12}}PRIVATE KEY(?: BLOCK)?-----)?"
)
"""The lines below the first of a private key, which a copy must not have either."""

FORMATS: Final[Mapping[str, Mapping[str, str]]] = {
    "AWS access key id": dict.fromkeys(("AKIA", "ASIA"), r"(?![A-Z2-7]{9}EXAMPLE)[A-Z2-7]{16}"),
    "Databricks access token": {"dapi": r"[0-9a-f]{32}(?:-[0-9]{1,2})?"},
    "Docker access token": dict.fromkeys(("dckr_pat_", "dckr_oat_"), r"[A-Za-z0-9_-]{27,64}"),
    "GitHub token": {
        **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghr_"), r"[A-Za-z0-9]{36,255}"),
        "ghs_": r"(?:[A-Za-z0-9]{36,255}|(?:[0-9]{1,20}_)?eyJ[A-Za-z0-9_-]{10,400}(?:\.[A-Za-z0-9_-]{16,1500}){2})",
        "github_pat_": r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    },
    "GitLab token": {
        **dict.fromkeys(
            ("glpat-", "glrt-", "glrtr-", "gldt-", "glptt-", "gloas-", "glft-", "glimt-", "glagent-", "glsoat-"),
            r"[A-Za-z0-9_-]{20,320}(?:(?:\.[0-9a-z]{2})?\.[0-9a-z]{9})?",
        ),
        "glcbt-": r"[A-Za-z0-9_-]{20,1000}",
    },
    "Google API key": {"AIza": r"[A-Za-z0-9_-]{35}"},
    "Hugging Face token": {"hf_": r"[A-Za-z0-9]{34}"},
    "npm token": {"npm_": r"[A-Za-z0-9]{36}"},
    "private key": {
        f"-----BEGIN {kind}PRIVATE KEY": rf"(?: BLOCK)?-----(?:{_KEY_BODY})?"
        for kind in ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "PGP ")
    },
    "PyPI token": dict.fromkeys(("pypi-AgEIcHlwaS5vcmc", "pypi-AgENdGVzdC5weXBpLm9yZw"), r"[A-Za-z0-9_-]{50,1000}"),
    "SendGrid API key": {"SG.": r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"},
    "Slack token": {
        **dict.fromkeys(("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"), r"[0-9]{1,20}-[A-Za-z0-9-]{10,250}"),
        "xapp-": r"[0-9]{1,2}-[A-Z0-9]{6,20}-[0-9]{6,20}-[A-Za-z0-9]{32,128}",
    },
    "Stripe secret key": dict.fromkeys(("sk_live_", "rk_live_"), r"[A-Za-z0-9]{24,247}"),
    "Vault token": dict.fromkeys(("hvs.", "hvb.", "hvr."), r"[A-Za-z0-9_-]{24,1000}"),
}
"""Name of a format -> prefix -> pattern of what follows."""

LONGEST_TOKEN: Final = 20 * 1024
"""The most bytes of a token, with what is looked at before and after it; only private keys are long."""

_BEFORE: Final = (
    rb"(?:(?<![A-Za-z0-9])"
    rb"|(?<=\\[nrtbf])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\[0-7]{3})"  # escapes end like words, ...
    rb"|(?<=%[0-9A-Fa-f]{2})"
    rb"|(?<=\x1b\[m)|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m)|(?<=;[0-9]{3}m))"  # ... and so do colours
)
_AFTER: Final = rb"(?![A-Za-z0-9])"
_AROUND: Final = 32
"""More bytes than are looked at before and after a token."""

_MARK: Final = b"-----"


class TokenFinder:
    """Finds tokens of the ``FORMATS``. Safe to use from several threads."""

    margin = LONGEST_TOKEN

    def __init__(self) -> None:
        found = [(prefix, name, rest) for name, formats in FORMATS.items() for prefix, rest in formats.items()]
        self._find: Find = BytesAhoCorasick([prefix.encode() for prefix, _, _ in found]).find_matches_as_indexes
        self._formats = [(f"[token: {name}]", _pattern(prefix.encode(), rest.encode())) for prefix, name, rest in found]

    def clues(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yield the ranges in ``data`` of which each token has one, its prefix; see ``OccurrenceFinder``."""
        return ((start, end) for _, start, end in self._find(data, True))

    def find(self, data: bytes) -> Iterator[Occurrence]:
        """Yield the tokens in ``data``, in order."""
        end = 0
        for index, start, _ in self._find(data, False):
            name, pattern = self._formats[index]
            if start >= end and (match := pattern.match(data, start, start + LONGEST_TOKEN - _AROUND)):
                end = match.end()
                yield Occurrence(start, end, name, "plain", UNKNOWN)


def _pattern(prefix: bytes, rest: bytes) -> re.Pattern[bytes]:
    if prefix.startswith(_MARK):
        return re.compile(re.escape(prefix) + rest)
    return re.compile(_BEFORE + re.escape(prefix) + rest + _AFTER)
