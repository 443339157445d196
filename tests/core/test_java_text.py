from __future__ import annotations

import pytest

from airflow_config_providers.core.java_text import SIZES, TIMES, read_quantity, written


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0b", 0),
        ("1k", 1024),
        ("1KB", 1024),
        ("2mib", 2 * 1024**2),
        ("16g", 16 * 1024**3),
        (" 16G\n", 16 * 1024**3),
        ("1t", 1024**4),
        ("1pb", 1024**5),
        ("-1m", -(1024**2)),
        ("16\u212a", 16 * 1024),  # the sign of the kelvin is a k in lower case, for Java too
    ],
)
def test_a_size_in_bytes(text, expected):
    assert read_quantity(text, SIZES) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5us", 5), ("5ms", 5_000), ("5s", 5_000_000), ("1m", 60_000_000), ("1min", 60_000_000), ("1h", 3_600_000_000)],
)
def test_a_time_in_microseconds(text, expected):
    assert read_quantity(text, TIMES) == expected


@pytest.mark.parametrize("text", ["", "g", "1.5g", "1 g", "+1g", "1e3", "\u0661g", "10s", "1" * 20, "${env:A}", "--1g"])
def test_what_is_no_size(text):
    assert read_quantity(text, SIZES, default_unit="m") is None


def test_a_number_without_a_unit_is_none_unless_there_is_a_unit_for_it():
    assert read_quantity("512", SIZES) is None
    assert read_quantity("512", SIZES, default_unit="m") == 512 * 1024**2
    assert read_quantity("512k", SIZES, default_unit="m") == 512 * 1024


@pytest.mark.parametrize(
    ("value", "expected"), [(True, "true"), (False, "false"), (8200, "8200"), (1e7, "1.0E7"), ("True", "True")]
)
def test_a_value_is_written_as_in_a_properties_file(value, expected):
    assert written(value) == expected
