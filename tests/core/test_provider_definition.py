from __future__ import annotations

import pytest

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.provider_definition import ProviderDefinition, read_definitions, unlisted_names
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.variable import variables
from airflow_config_providers.exceptions import ConfigProvidersError, UnresolvedReferenceError
from airflow_config_providers.providers import EnvVarConfigProvider
from airflow_config_providers.testing import InMemoryConfigProvider


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
            "config.providers.a.params.x would be ignored, did you mean 'config.providers.a.param.x'?",
            id="misspelled param",
        ),
        pytest.param(
            {"config.providers": "a", "config.providers.a.parm.allowed.paths": "/hunter2"},
            "config.providers.a.parm.allowed.paths would be ignored, did you mean "
            "'config.providers.a.param.allowed.paths'?",
            id="misspelled param, of several words",
        ),
        pytest.param(
            {"config.providers": "a", "config.providers.a.clas": "file"},
            "config.providers.a.clas would be ignored, did you mean 'config.providers.a.class'?",
            id="misspelled class",
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


NO_DEFAULTS = "Kafka's grammar of references has no defaults"


def refused(text, providers=None, **others):
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.a": text})
    with pytest.raises(ConfigProvidersError) as caught:
        ConfigResolver(others if providers is None else providers).resolve([layer])
    return caught.value


@pytest.mark.parametrize("text", ["${x:-default}", "${x:=default}", "${x:?required}", "${x:+other}"])
def test_who_writes_a_default_as_in_a_shell_is_told_that_there_is_none(text):
    error = refused(text)

    assert isinstance(error, UnresolvedReferenceError)
    assert "names the unknown provider 'x'" in str(error)
    assert NO_DEFAULTS in str(error)


def test_a_default_of_a_known_provider_is_told_too():
    assert NO_DEFAULTS in str(refused("${vault:-default}", vault=InMemoryConfigProvider({})))


def test_a_default_of_an_environment_variable_is_told_too():
    provider = EnvVarConfigProvider({"HOME": "/root"})
    provider.configure({})

    assert NO_DEFAULTS in str(refused("${env:HOME:-/tmp}", env=provider))


def test_others_are_not_told_of_defaults():
    error = refused("${vualt:apps/db:password}", vault=InMemoryConfigProvider({}))

    assert "did you mean 'vault'?" in str(error)
    assert NO_DEFAULTS not in str(error)


UNLISTED = {"config.providers": "a", "config.providers.a.class": "env", "config.providers.b.c.class": "env"}


@pytest.mark.parametrize("unlisted", [UNLISTED, {"config.providers.b.c.class": "env"}], ids=["others are", "no list"])
@pytest.mark.parametrize("open_", [ProviderRegistry.on_demand, ProviderRegistry.open], ids=["on demand", "open"])
def test_a_provider_that_is_defined_but_not_listed_is_named_as_such(unlisted, open_):
    error = refused("${b.c:HOME}", open_(ProviderRegistry(), unlisted))

    assert error.problems == (
        "spark.app.a (conf): ${b.c:HOME} names provider 'b.c', which is defined but not listed in config.providers. "
        "Add it to that list.",
    )


def test_a_parameter_of_a_listed_provider_is_no_definition():
    props = {"config.providers": "a", "config.providers.a.class": "env", "config.providers.a.param.class": "x"}

    assert unlisted_names(props, ["a"]) == frozenset()
    assert unlisted_names({"config.providers.class": "x", "spark.b.class": "y"}, []) == frozenset()


# what definitions alone tell

DEFINITIONS = {
    "config.providers": "dir,env,broken,vault,variables,connections,backend",
    "config.providers.dir.class": "directory",
    "config.providers.dir.param.allowed.paths": "/tmp",
    "config.providers.env.class": "env",
    "config.providers.env.param.allowlist.pattern": "SPARK_.*",
    "config.providers.broken.class": "file",
    "config.providers.broken.param.allowed.paths": "not-absolute",
    "config.providers.unlisted.class": "file",
    "config.providers.vault.class": "vault",
    "config.providers.variables.class": "airflow_variable",
    "config.providers.variables.param.allowlist.pattern": "spark_.*",
    "config.providers.connections.class": "airflow_connection",
    "config.providers.connections.param.allowlist.pattern": "spark_.*",
    "config.providers.backend.class": "secrets_backend",
    "config.providers.backend.param.allowlist.pattern": "spark_.*",
}


def refusal(text):
    (variable,) = variables(text)
    if variable.provider in {"variables", "connections", "backend"}:
        pytest.importorskip("airflow")
    return ProviderRegistry(deployment=True).refusals(DEFINITIONS, [variable]).get(variable, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("${dri:/tmp:a}", "names the unknown provider 'dri', did you mean 'dir'?"),
        ("${unlisted:a}", "names provider 'unlisted', which is defined but not listed in config.providers"),
        ("${dir:/etc:a}", "/etc is not inside an allowed path"),
        ("${dir:/tmp/../etc:a}", "is not inside an allowed path"),
        ("${env:HOME}", "does not allow the environment variable HOME"),
        ("${env:a/b:SPARK_A}", "Environment variables have no path"),
        ("${vault:sys/policy:a}", "sys/policy"),
        ("${variables:other}", "The variable 'other' is not allowed by allowlist.pattern"),
        ("${variables:other:a}", "The variable 'other' is not allowed by allowlist.pattern"),
        ("${connections:other:password}", "The connection 'other' is not allowed by allowlist.pattern"),
        ("${connections:password}", "needs its id as the path"),
        ("${backend:other}", "The variable 'other' is not allowed by allowlist.pattern"),
        ("${backend:nowhere:a}", "'nowhere' is not a path of a secrets backend"),
    ],
)
def test_a_reference_that_no_provider_will_answer_is_refused_without_asking_one(text, problem):
    assert problem in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "${dir:/tmp/not-there:a}",
        "${dir:a}",
        "${env:SPARK_NOT_SET}",
        "${broken:/etc/x:a}",
        "${vault:apps/db:password}",
        "${variables:spark_token}",
        "${variables:spark_db:password}",
        "${connections:spark_db:password}",
        "${backend:variables/spark_db:password}",
    ],
)
def test_a_reference_that_a_provider_may_answer_is_not_refused(text):
    assert refusal(text) == ""
