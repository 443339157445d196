"""Properties files are read as ``java.util.Properties`` reads them, and written so that it reads them back."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.properties import dump, parse
from airflow_config_providers.exceptions import ConfigException

CHARACTERS = [
    "=",
    ":",
    "\t",
    "\x0c",
    "\x0b",
    "\r",
    "\n",
    "#",
    "!",
    "a",
    "b",
    "u",
    "é",
    "😀",
    "\\",
    "\x00",
    "\x85",
    "\u2028",
    "\xa0",
    "\ufeff",
]
PIECES = st.sampled_from(
    [
        *CHARACTERS,
        " ",
        "\r\n",
        "\\n",
        "\\\n",
        "\\\r\n",
        "\\\\",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\u12",
        "\\U",
        "${f:k}",
        "k=v\n",
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=20).map("".join),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30),
)
ENTRIES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8) | st.lists(PIECES, max_size=5).map(
    "".join
)


@settings(max_examples=800, derandomize=True, deadline=None)
@given(text=TEXTS)
@example(text="\\\n\na=b")
@example(text="\\\n#a=b")
@example(text="a=b\\")
@example(text="a\\\r\n  b = c  ")
def test_same_entries(kafka: Any, text: str) -> None:
    theirs, error = kafka.run(lambda: _load(kafka, text))

    assert (_ours(text), error is None) == (theirs, theirs is not None)


@settings(max_examples=250, derandomize=True, deadline=None)
@given(configs=st.dictionaries(ENTRIES, ENTRIES, max_size=5))
def test_written_file_is_read_back(kafka: Any, configs: dict[str, str]) -> None:
    assert kafka.python(_load(kafka, dump(configs))) == configs


def _load(kafka: Any, text: str) -> Any:
    properties = kafka.java.util.Properties()
    properties.load(kafka.java.io.StringReader(text))
    return properties


def _ours(text: str) -> dict[str, str] | None:
    try:
        return {_carried(entry.key): _carried(entry.value) for entry in parse(text, name="file")}
    except ConfigException:
        return None


def _carried(text: str) -> str:
    """Return ``text`` as the JVM returns it, which sends a lone surrogate as a question mark."""
    return text.encode("utf-8", "replace").decode()
