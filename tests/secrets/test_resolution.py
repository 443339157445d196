"""Which strings of an entry are resolved."""

from __future__ import annotations

from airflow_config_providers.secrets.resolution import texts


class Compared(str):
    """A string that counts how often it is compared with another."""

    __slots__ = ()
    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return super().__eq__(other)

    __hash__ = str.__hash__


def test_a_string_is_not_compared_with_all_others() -> None:
    found = texts({f"k{number}": Compared(f"${{vault:a:{number}}}") for number in range(100)}, "variable x")

    assert len(found) == 100
    assert Compared.count < 100


def test_a_string_that_is_there_twice_is_resolved_once() -> None:
    assert texts({"a": "${vault:a:b}", "b": ["${vault:a:b}"]}, "variable x") == {"variable x, a": "${vault:a:b}"}
