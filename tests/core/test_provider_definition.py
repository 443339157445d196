from __future__ import annotations

import pytest

from airflow_config_providers.core.provider_definition import ProviderDefinition, read_definitions


def test_a_definition_has_name_class_and_parameters() -> None:
    definitions, problems = read_definitions(
        {
            "config.providers": "file",
            "config.providers.file.class": " file ",
            "config.providers.file.param.allowed.paths": " /etc ",
            "config.providers.file.param.param.class": "x",
            "spark.app.name": "report",
        }
    )
    assert definitions == [ProviderDefinition("file", "file", {"allowed.paths": " /etc ", "param.class": "x"})]
    assert problems == []


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(" b , a ", ["b", "a"], id="blanks are trimmed and the order is kept"),
        pytest.param(",a,,b,", ["a", "b"], id="empty items are ignored"),
    ],
)
def test_the_list_gives_the_names(listed: str, names: list[str]) -> None:
    definitions, problems = read_definitions({"config.providers": listed})
    assert ([definition.name for definition in definitions], problems) == (names, [])


def test_no_list_gives_no_definitions() -> None:
    assert read_definitions({"config.providers.file.class": "file"}) == ([], [])


def test_a_definition_that_is_not_listed_is_ignored() -> None:
    definitions, problems = read_definitions({"config.providers": "a", "config.providers.b.clas": "x"})
    assert ([definition.name for definition in definitions], problems) == (["a"], [])


def test_the_longer_of_two_names_takes_a_key() -> None:
    definitions, problems = read_definitions(
        {"config.providers": "a,a.param.b", "config.providers.a.param.b.class": "x"}
    )
    assert definitions == [ProviderDefinition("a"), ProviderDefinition("a.param.b", "x")]
    assert problems == []


@pytest.mark.parametrize(
    ("props", "problem"),
    [
        pytest.param(
            {"config.providers": "a,b, a"}, "config.providers lists a 2 times. List it once.", id="listed twice"
        ),
        pytest.param(
            {"config.providers": "a:b"},
            "config.providers lists a:b, but no reference can name it. Rename it, without ':' and '}'.",
            id="unspeakable",
        ),
        pytest.param(
            {"config.providers": ["a"]},
            "config.providers is not a string. Write the providers' names, separated by commas.",
            id="not a text",
        ),
        pytest.param(
            {"config.providers": "a", "config.providers.a.allowed.paths": "/hunter2"},
            "config.providers.a.allowed.paths would be ignored. Write config.providers.a.param.allowed.paths for a "
            "parameter; the only other key is config.providers.a.class.",
            id="parameter without param",
        ),
        pytest.param(
            {"config.providers": "a", "config.providers.a.params.x": "1"},
            "config.providers.a.params.x would be ignored. Write config.providers.a.param.params.x for a parameter; "
            "the only other key is config.providers.a.class.",
            id="misspelled param",
        ),
        pytest.param(
            {"config.providers": "a\x1b[2J,a\x1b[2J"},
            "config.providers lists a\\x1b[2J 2 times. List it once.",
            id="control characters are escaped",
        ),
    ],
)
def test_what_is_wrong_is_told(props: dict[str, object], problem: str) -> None:
    assert read_definitions(props)[1] == [problem]


def test_a_definition_does_not_show_its_parameters() -> None:
    assert "hunter2" not in repr(ProviderDefinition("vault", "vault", {"token": "hunter2"}))
