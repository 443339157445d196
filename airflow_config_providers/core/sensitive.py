"""Keys and strings that look like secrets."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = (
    r"(?i)secret|passw|passphrase|pwd|token|credential|signature|connection[._-]?string"
    r"|(?:access|account|api|private|sas|shared)[._-]?key|encryption[._-]?key(?!size|gen)"
    r"|(?<!by)(?<!com)(?<!tres)pass(?![a-z])"
    r"|(?<![a-z])(?:sas|pw|creds?)(?![a-z])|(?-i:[a-z](?:Sas|Pw|Creds?)(?![a-z])|(?<![A-Za-z])(?:sas|pw|creds?)[A-Z])"
)
_SETTING: Final = r"(?:passw[a-z]{0,8}|pwd|secret|token|(?:access|account|api|private|secret|shared)[._-]?key)"
_TEXTS: Final = (
    rf"(?i){_SETTING}(?:=|[ \t]{{1,8}}=[ \t]{{0,8}})(?![\"']{{2}})[^&;,\s]"
    rf"|{_SETTING}\\?[\"'][ \t]{{0,8}}:\s{{0,8}}(?:[0-9]|\\?[\"'](?!\\?[\"']))"
    rf"|(?m:^|[{{,;])[ \t]{{0,64}}(?:-[ \t]{{1,8}})?[\w.-]{{0,64}}?{_SETTING}[ \t]{{0,8}}:[ \t]{{1,8}}"
    r"(?:\"[^\"\n]{1,1024}\"|'[^'\n]{1,1024}'|(?![{\[])[^\s\"',;}]{1,1024})[ \t]{0,8}(?m:$|[,;}])"
    r"|(?<![\w.-])sig=[^&;,\s]"
    r"|//[^/\s:@]{0,256}:[^/\s@]{1,1024}@"
)
"""A password in a URL, or among several settings in one string: ``name=``, or as in JSON and YAML."""


def sounds_secret(key: str) -> bool:
    """Return whether ``key`` looks like the name of a secret; wider than what Spark hides."""
    return re.search(_NAMES, key) is not None


def shows_secret(text: str) -> bool:
    """Return whether ``text`` looks as if it contains a plaintext secret."""
    has_sign = "=" in text or ":" in text  # as each of those patterns has, which take long to search for
    return has_sign and re.search(_TEXTS, text) is not None


def reveals(key: str, text: str) -> bool:
    """Return whether ``text`` under ``key`` looks like a plaintext secret; wider than what Spark hides."""
    return sounds_secret(key) or shows_secret(text)
