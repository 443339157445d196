"""References and texts that hold them."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.variable import ConfigVariable, is_like, parse, scan, unclosed, variables
from airflow_config_providers.exceptions import ConfigException

KAFKA_PATTERN = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")

V = ConfigVariable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", (), id="empty"),
        pytest.param("plain", ("plain",), id="literal"),
        pytest.param("${p:k}", (V("p", "", "k"),), id="no-path"),
        pytest.param("${p::k}", (V("p", "", "k"),), id="empty-path"),
        pytest.param("${p:a:k}", (V("p", "a", "k"),), id="path"),
        pytest.param("${p:a:b:c}", (V("p", "a", "b:c"),), id="colon-in-key"),
        pytest.param("x ${p:k} y", ("x ", V("p", "", "k"), " y"), id="inside-text"),
        pytest.param("${a:b}${c:d}", (V("a", "", "b"), V("c", "", "d")), id="neighbours"),
        pytest.param("${:}", (V("", "", ""),), id="empty-names"),
        pytest.param("${x}", ("${x}",), id="no-colon"),
        pytest.param("${}", ("${}",), id="nothing"),
        pytest.param("${p:k", ("${p:k",), id="unclosed"),
        pytest.param("$${a:b}", ("$", V("a", "", "b")), id="dollar-is-no-escape"),
        pytest.param("\\${a:b}", ("\\", V("a", "", "b")), id="backslash-is-no-escape"),
        pytest.param("${${a:b}:c}", (V("${a", "", "b"), ":c}"), id="no-nesting"),
        pytest.param("${x}${p:k}", ("${x}", V("p", "", "k")), id="after-a-text-without-colon"),
        pytest.param("${p:a\nb}", (V("p", "", "a\nb"),), id="newline-inside"),
        pytest.param("${ p : a : k }", (V(" p ", " a ", " k "),), id="blanks-count"),
    ],
)
def test_parse_gives_literals_and_references_in_order(text, expected):
    assert parse(text) == expected


@given(st.text(alphabet="${}:ab\n", max_size=40))
def test_scan_finds_what_kafkas_pattern_finds(text):
    expected = [(m.start(), m.end(), m[1], m[3] or "", m[4]) for m in KAFKA_PATTERN.finditer(text)]

    assert scan(text) == expected


@given(st.text(alphabet="${}:abc ", max_size=60))
def test_segments_put_together_are_the_text(text):
    assert "".join(map(str, parse(text))) == text


part = st.text(alphabet=st.characters(blacklist_characters=":}"), max_size=8)


@given(provider=part, path=part, key=st.text(alphabet=st.characters(blacklist_characters="}"), max_size=8))
def test_a_variable_is_read_back_from_its_text(provider, path, key):
    variable = ConfigVariable(provider, path, key)

    assert parse(str(variable)) == (variable,)


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(("a:b", "", "k"), id="colon-in-provider"),
        pytest.param(("p", "C:", "k"), id="colon-in-path"),
        pytest.param(("p", "", "k}"), id="brace-in-key"),
    ],
)
def test_a_variable_that_no_text_can_mean_is_refused(parts):
    with pytest.raises(ConfigException, match="which a reference cannot express"):
        ConfigVariable(*parts)


@pytest.mark.parametrize(
    ("text", "provider"),
    [
        pytest.param("${vault:a/b:c", "vault", id="with a path"),
        pytest.param("${vault:c", "vault", id="without a path"),
        pytest.param("x ${env:A} y ${vault:", "vault", id="after another reference"),
        pytest.param("${vault:a/b:c}", "", id="closed"),
        pytest.param("${vault:a/b:c ${env:A}", "", id="closed later"),
        pytest.param("${spark", "", id="no colon"),
        pytest.param("a}:b", "", id="none"),
        pytest.param("", "", id="empty"),
    ],
)
def test_a_reference_without_its_closing_brace_is_noticed(text, provider):
    assert unclosed(text) == provider


def test_the_text_as_written_is_kept_and_not_compared():
    short, long = variables("${p:k}${p::k}")

    assert (str(short), str(long)) == ("${p:k}", "${p::k}")
    assert short == long


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("${a:" * 250_000, id="opened-with-colon"),
        pytest.param("${" * 500_000, id="opened"),
        pytest.param("${" + "a:" * 500_000, id="colons"),
        pytest.param("${x" * 300_000 + "}", id="closed-once"),
        pytest.param("${x}" * 250_000, id="no-colon"),
        pytest.param("${" + ":" * 1_000_000 + "}", id="one-long-key"),
    ],
)
def test_attack_14_a_megabyte_of_hostile_text_is_scanned_in_linear_time(text):
    """The bound is a thousand times the expected time, and a millionth of the pattern's."""
    began = time.process_time()

    scan(text)

    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("${vault:apps/db[0]:what?}", True),
        ("${vault:apps/db[0]:*", True),
        ("*", True),
        ("${vault:apps/db0:what?}", False),
        ("${vault:apps/db[0]:wha??}", False),
        ("${VAULT:*", False),
    ],
)
def test_in_a_pattern_of_references_only_a_star_has_a_meaning(pattern, expected):
    assert is_like("${vault:apps/db[0]:what?}", pattern) is expected
