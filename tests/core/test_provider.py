from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.provider import ContentHash

CONFIGS = st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=4)


@given(CONFIGS)
def test_equal_contents_have_equal_hashes_in_any_order(configs):
    hashes = ContentHash()
    assert hashes.of(configs) == hashes.of(dict(reversed(configs.items())))


@given(CONFIGS, CONFIGS)
def test_other_contents_have_other_hashes(one, other):
    hashes = ContentHash()
    assert (hashes.of(one) == hashes.of(other)) is (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({}, {"k": ""}, id="a key with an empty value is a key"),
        pytest.param({"ab": "c"}, {"a": "bc"}, id="a key does not run into its value"),
        pytest.param({"k": "\ud800"}, {"k": "?"}, id="a lone surrogate is not a question mark"),
    ],
)
def test_similar_contents_have_other_hashes(one, other):
    hashes = ContentHash()
    assert hashes.of(one) != hashes.of(other)


def test_hashes_can_be_compared_only_with_the_same_key():
    assert ContentHash().of({"k": "v"}) != ContentHash().of({"k": "v"})
