from __future__ import annotations

from ahocorasick_rs import BytesAhoCorasick, Implementation
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.core.reversal.automaton import PlainAhoCorasick, PlainImplementation

texts = st.binary(max_size=40).map(lambda data: bytes(byte % 3 for byte in data))


@given(st.lists(texts.filter(bool), unique=True, max_size=6), texts)
def test_it_finds_what_the_library_finds(patterns: list[bytes], text: bytes) -> None:
    plain = PlainAhoCorasick(patterns, implementation=PlainImplementation.DFA)
    library = BytesAhoCorasick(patterns, implementation=Implementation.DFA)

    found = plain.find_matches_as_indexes(text, overlapping=True)

    assert sorted(found) == sorted(library.find_matches_as_indexes(text, overlapping=True))


@given(st.lists(texts.filter(bool), unique=True, max_size=6), texts, st.integers(0, 40))
def test_both_find_in_a_view_what_they_find_in_a_copy(patterns: list[bytes], text: bytes, first: int) -> None:
    for automaton in (PlainAhoCorasick(patterns), BytesAhoCorasick(patterns)):
        copied = automaton.find_matches_as_indexes(text[first:], overlapping=True)

        assert copied == automaton.find_matches_as_indexes(memoryview(text)[first:], overlapping=True)
