"""From layers to the configuration that a job gets."""

from __future__ import annotations

import copy
import json
import pickle
import threading
import time
import traceback

import pytest

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType
from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.lookup import FetchOptions
from airflow_config_providers.core.provider import ConfigData
from airflow_config_providers.core.resolver import ConfigResolver, Unresolved
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ProviderLookupError,
    ProviderUnavailableError,
    ReservedKeyError,
    UnresolvedReferenceError,
)
from airflow_config_providers.providers.directory import DirectoryConfigProvider
from airflow_config_providers.providers.env import EnvVarConfigProvider
from airflow_config_providers.testing import InMemoryConfigProvider

CANARY = "c4nary-s3cret"


@pytest.fixture
def vault():
    return InMemoryConfigProvider({"db": {"password": CANARY, "port": "12a4"}}, ttl=1000)


def dag(configs):
    return ConfigLayer(ConfigSource.DAG_CONFIG, "conf", configs)


def run(configs):
    return ConfigLayer(ConfigSource.RUN_CONFIG, "run", configs)


def resolver(vault, **kwargs):
    return ConfigResolver({"vault": vault}, **kwargs)


def everything_said(error):
    """The error as every reader could meet it: message, arguments, representation, chain."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(error.args) + repr(vars(error))


def test_winners_are_resolved(vault):
    resolved = resolver(vault).resolve([dag({"a": "x-${vault:db:password}", "b": "plain"}), run({"b": "over"})])

    assert resolved.configs() == {"a": f"x-{CANARY}", "b": "over"}


def test_a_shadowed_secret_is_never_read(vault):
    resolver(vault).resolve([dag({"a": "${vault:db:password}"}), run({"a": "plain"})])

    assert vault.calls == []


def test_further_texts_are_resolved_in_the_same_requests(vault):
    resolved = resolver(vault).resolve([dag({"a": "${vault:db:password}"})], {"env_vars['B']": "${vault:db:port}"})

    assert resolved.text("env_vars['B']") == "12a4"
    assert vault.calls == [("db", frozenset({"password", "port"}))]
    assert resolved.configs().keys() == {"a"}


def test_further_texts_of_another_configuration_are_beside_its_own(vault):
    kept = ConfigResolver({}, unresolved=Unresolved.KEEP).resolve([], {"mine": "${vault:db:password}"})
    together = kept.with_texts(resolver(vault).resolve([], {"other": "${vault:db:password}"}))

    assert together.texts == {"mine", "other"}
    assert (together.text("mine"), together.text("other")) == ("${vault:db:password}", CANARY)
    assert {name: [*map(str, found)] for name, found in together.unresolved.items()} == {
        "mine": ["${vault:db:password}"]
    }
    assert together.values() == {CANARY}


def test_a_further_text_that_is_not_there_is_no_text(vault):
    with pytest.raises(KeyError):
        resolver(vault).resolve([], {"x": "1"}).text("y")


def test_a_further_text_may_have_the_name_of_a_key(vault):
    resolved = resolver(vault).resolve([dag({"a": "${vault:db:password}"})], {"a": "${vault:db:port}"})

    assert (resolved.configs(), resolved.text("a")) == ({"a": CANARY}, "12a4")


def test_layers_that_are_settled_are_not_settled_again(vault):
    layered = resolver(vault).settle([dag({"a": "${vault:db:password}"})])
    resolved = resolver(vault).resolve(layered)

    assert resolved.layered is layered
    assert resolved.configs() == {"a": CANARY}


def test_sensitive_keys_are_those_that_held_a_reference_or_are_passwords(vault):
    definition = ConfigDef().define("p", ConfigType.PASSWORD, None)
    resolved = resolver(vault, definition=definition).resolve([dag({"a": "${vault:db:password}", "p": "x", "c": "1"})])

    assert resolved.sensitive == {"a", "p"}


def test_ttls_come_with_the_values(vault):
    assert resolver(vault).resolve([dag({"a": "${vault:db:password}"})]).ttls == {("vault", "db"): 1000}


def test_entries_keep_the_references(vault):
    assert resolver(vault).resolve([dag({"a": "${vault:db:password}"})]).entries["a"].value == "${vault:db:password}"


def test_settling_asks_nobody(vault):
    assert resolver(vault).settle([dag({"a": "${vault:db:password}"})]).settled == {"a": "${vault:db:password}"}
    assert vault.calls == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("${vualt:db:password}", "unknown provider 'vualt', did you mean 'vault'?", id="provider"),
        pytest.param("${vault:db:pasword}${vault:db:password}", "did you mean 'password'?", id="key"),
        pytest.param("${vault:elsewhere:password}", "has no value", id="path"),
        pytest.param("${other:x}", "Known providers: vault", id="lists-what-there-is"),
    ],
)
def test_attack_16_an_unresolved_reference_fails_and_names_the_nearest(vault, text, message):
    with pytest.raises(UnresolvedReferenceError) as caught:
        resolver(vault).resolve([dag({"spark.x": text})])

    assert message in str(caught.value)
    assert "spark.x (conf)" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "${vault:kv/db}", "If 'kv/db' is a path, the key is missing: write ${vault:kv/db:KEY}.", id="no key"
        ),
        pytest.param("${vault:db:${env:X}}", "References cannot be nested", id="nested"),
        pytest.param("${vault:db:-none}", "has no defaults", id="a default"),
        pytest.param("${vault:db:password:-none}", "has no defaults", id="a default after the key"),
        pytest.param("${vault:db: password}", "A blank beside a colon", id="a blank"),
    ],
)
def test_an_unresolved_reference_says_what_is_wrong_with_its_form(vault, text, message):
    with pytest.raises(UnresolvedReferenceError) as caught:
        resolver(vault).resolve([dag({"spark.x": text})])

    assert message in str(caught.value)


def test_a_reference_that_its_provider_never_answers_says_what_the_provider_says_of_its_form(tmp_path):
    files = DirectoryConfigProvider()
    files.configure({"allowed.paths": str(tmp_path)})

    with pytest.raises(UnresolvedReferenceError) as caught:
        ConfigResolver({"mounted": files}).resolve([dag({"spark.x": "${mounted:password}"})])

    assert caught.value.problems == (
        "spark.x (conf): ${mounted:password} has no value: it lacks the path before the key. "
        "Write it as ${provider:/path:key}.",
    )


@pytest.mark.parametrize("error", [RuntimeError(CANARY), SystemExit(CANARY)], ids=lambda error: type(error).__name__)
def test_a_provider_that_fails_to_judge_a_form_hides_no_reference_without_a_value(error):
    class Failing(InMemoryConfigProvider):
        def form_problem(self, path, key):
            raise error

    with pytest.raises(UnresolvedReferenceError, match="has no key 'password' there") as caught:
        resolver(Failing()).resolve([dag({"spark.x": "${vault:db:password}"})])

    assert CANARY not in everything_said(caught.value)


@pytest.mark.parametrize(
    ("found", "said"), [("bad\x1b[31m\nline", r"bad\x1b[31m\nline"), (("a", "b"), "has no key 'password' there")]
)
def test_what_a_provider_finds_wrong_with_a_form_is_one_printable_line(found, said):
    class Odd(InMemoryConfigProvider):
        def form_problem(self, path, key):
            return found

    with pytest.raises(UnresolvedReferenceError) as caught:
        resolver(Odd()).resolve([dag({"spark.x": "${vault:db:password}"})])

    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("below", "message"),
    [
        pytest.param("${env:X}:password}", "References cannot be nested", id="nested"),
        pytest.param("none:password:-x}", "has no defaults", id="a default"),
    ],
)
def test_a_reference_to_an_absent_path_says_what_is_wrong_with_its_form_and_what_is_absent(tmp_path, below, message):
    files = DirectoryConfigProvider()
    files.configure({"allowed.paths": str(tmp_path)})

    with pytest.raises(UnresolvedReferenceError) as caught:
        ConfigResolver({"mounted": files}).resolve([dag({"spark.x": f"${{mounted:{tmp_path}/{below}"})])

    assert message in str(caught.value)
    assert "There is no directory" in str(caught.value)


def test_a_denied_reference_says_that_it_has_a_blank(tmp_path):
    files = DirectoryConfigProvider()
    files.configure({"allowed.paths": str(tmp_path)})

    with pytest.raises(AccessDeniedError, match="A blank beside a colon"):
        ConfigResolver({"mounted": files}).resolve([dag({"spark.x": f"${{mounted: {tmp_path}:password}}"})])


def test_a_denied_reference_says_that_it_is_nested(tmp_path):
    files = DirectoryConfigProvider()
    files.configure({"allowed.paths": str(tmp_path)})

    with pytest.raises(AccessDeniedError, match="References cannot be nested"):
        ConfigResolver({"mounted": files}).resolve([dag({"spark.x": "${mounted:/etc/${env:X}:password}"})])


def problems(vault, configs):
    with pytest.raises(UnresolvedReferenceError) as caught:
        resolver(vault).resolve([dag(configs)])
    return caught.value.problems


def test_a_reference_that_a_value_repeats_is_reported_once(vault):
    assert len(problems(vault, {"spark.x": "${nope:x}" * 1000})) == 1


def test_of_many_references_without_a_value_most_are_only_counted(vault):
    *explained, last = problems(vault, {f"spark.x{number}": "${nope:x}" for number in range(1102)})

    assert len(explained) == 100
    assert last == "... and 1,002 more references. Correct the ones above first."


def test_as_many_references_as_are_explained_are_all_explained(vault):
    assert len(problems(vault, {f"spark.x{number}": "${nope:x}" for number in range(100)})) == 100


def test_of_many_references_without_a_value_those_to_denied_keys_are_explained_first(vault):
    configs = {**{f"spark.x{number}": "${nope:x}" for number in range(200)}, "spark.y": "${env:HIDDEN}"}
    env = EnvVarConfigProvider()
    env.configure({"allowlist.pattern": "SHOWN"})

    with pytest.raises(AccessDeniedError) as caught:
        ConfigResolver({"env": env}).resolve([dag(configs)])
    assert caught.value.problems[0].startswith("spark.y (conf): ${env:HIDDEN} is denied. ")


def test_of_many_references_without_a_value_those_that_are_denied_are_explained(vault, tmp_path):
    files = DirectoryConfigProvider()
    files.configure({"allowed.paths": str(tmp_path)})
    configs = {**{f"spark.x{number}": "${nope:x}" for number in range(200)}, "spark.y": "${mounted:/etc:password}"}

    with pytest.raises(AccessDeniedError, match="/etc:password"):
        ConfigResolver({"mounted": files}).resolve([dag(configs)])


def test_attack_17_missing_and_empty_are_two_things():
    provider = InMemoryConfigProvider({"": {"empty": ""}})

    assert resolver(provider).resolve([dag({"a": "${vault:empty}"})]).configs() == {"a": ""}
    with pytest.raises(UnresolvedReferenceError):
        resolver(provider).resolve([dag({"a": "${vault:missing}"})])


def test_keep_leaves_an_unresolved_reference_as_kip_297_has_it(vault):
    resolved = resolver(vault, unresolved=Unresolved.KEEP).resolve([dag({"a": "${other:x}"})])

    assert resolved.configs() == {"a": "${other:x}"}
    assert list(resolved.unresolved) == ["a"]


def test_foreign_references_stay_as_they_are(vault):
    resolved = resolver(vault, foreign={"env"}).resolve([dag({"a": "${env:HOME}"})])

    assert resolved.configs() == {"a": "${env:HOME}"}


def test_a_provider_takes_a_foreign_name_over():
    env = InMemoryConfigProvider({"": {"HOME": "/h"}})

    assert ConfigResolver({"env": env}, foreign={"env"}).resolve([dag({"a": "${env:HOME}"})]).configs() == {"a": "/h"}


def test_a_reference_without_an_answer_to_a_provider_with_a_foreign_name_fails():
    env = InMemoryConfigProvider({"": {"HOME": "/h"}})

    with pytest.raises(UnresolvedReferenceError):
        ConfigResolver({"env": env}, foreign={"env"}).resolve([dag({"a": "${env:HOMES}"})])


def test_a_reference_without_an_answer_is_not_also_a_value_of_the_wrong_type(vault):
    definition = ConfigDef().define("n", ConfigType.INT, 1)

    with pytest.raises(UnresolvedReferenceError) as caught:
        resolver(vault, definition=definition).resolve([dag({"n": "${vault:db:nope}"})])
    assert len(caught.value.problems) == 1


def test_values_without_references_must_fit_before_any_is_read(vault):
    definition = ConfigDef().define("n", ConfigType.INT, 1).define("m", ConfigType.INT, 1)
    resolving = resolver(vault, definition=definition)

    with pytest.raises(ConfigException) as caught:
        resolving.require_fitting(resolving.settle([dag({"n": "two", "m": "${vault:db:password}"})]))
    assert ([problem[:9] for problem in caught.value.problems], vault.calls) == (["n (conf):"], [])


@pytest.mark.parametrize(
    ("place", "password", "expected"),
    [
        pytest.param(("vault", "db"), CANARY, False, id="same value"),
        pytest.param(("vault", "db"), "new", True, id="other value"),
        pytest.param(("vault", "db"), None, True, id="no value"),
        pytest.param(("vault", "other"), "new", False, id="other place"),
    ],
)
def test_a_later_answer_differs_if_a_value_at_its_place_does(vault, place, password, expected):
    resolved = resolver(vault).resolve([dag({"a": "${vault:db:password}"})])
    later = ConfigData({} if password is None else {"password": password})

    assert resolved.differs(place, later) is expected


def test_all_problems_are_reported_together(vault):
    definition = ConfigDef().define("n", ConfigType.INT, 1).define("m", ConfigType.BOOLEAN, None)

    with pytest.raises(UnresolvedReferenceError) as caught:
        resolver(vault, definition=definition).resolve(
            [dag({"a": "${nope:x}", "b": "${vault:db:nope}", "n": "two", "m": "maybe"})]
        )
    assert len(caught.value.problems) == 4


def test_attack_21_a_value_of_the_wrong_type_is_not_quoted(vault):
    definition = ConfigDef().define("n", ConfigType.INT, 1)

    with pytest.raises(ConfigException, match=r"n \(conf\)") as caught:
        resolver(vault, definition=definition).resolve([dag({"n": "${vault:db:password}"})])
    assert CANARY not in everything_said(caught.value)


@pytest.mark.parametrize("key", ["config.providers", "config.providers.vault.class", "config.providers.x.param.y"])
def test_attack_07_a_layer_cannot_define_a_provider(vault, key):
    with pytest.raises(ReservedKeyError, match="belong to the deployment"):
        resolver(vault).resolve([dag({key: "x"})])


def test_attack_35_nor_can_the_environment(vault):
    layer = ConfigLayer(ConfigSource.ENVIRONMENT_CONFIG, "environment", {"config.providers": "x"})

    with pytest.raises(ReservedKeyError):
        resolver(vault).settle([layer])


def test_attack_49_a_key_cannot_hold_a_reference(vault):
    with pytest.raises(ConfigException, match="a key cannot contain a reference"):
        resolver(vault).resolve([dag({"spark.${vault:db:password}": "x"})])


@pytest.mark.parametrize(
    "key",
    [pytest.param("a\x00b", id="nul"), pytest.param("a\nb", id="newline"), pytest.param("\ud800", id="surrogate")],
)
def test_attack_05_a_key_with_control_characters_is_refused_and_not_echoed(vault, key):
    with pytest.raises(ConfigException) as caught:
        resolver(vault).resolve([dag({key: "x"})])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "caret"),
    [
        pytest.param("${vault:db:pass\x00word}", 15, id="nul"),
        pytest.param("${vault:d\nb:password}", 9, id="newline"),
        pytest.param("${vault:db:p\udc80}", 12, id="surrogate"),
        pytest.param("${vault:db:p\u0430ssword}", 12, id="a-cyrillic-letter-among-latin-ones"),
        pytest.param("${v\u0430ult:db:password}", 3, id="in-the-provider"),
    ],
)
def test_attack_05_an_odd_character_in_a_reference_is_refused_with_its_place(vault, text, caret):
    with pytest.raises(ConfigException) as caught:
        resolver(vault).resolve([dag({"spark.x": text})])

    assert f"character {caret + 1}" in str(caught.value)
    assert str(caught.value).isascii()
    assert vault.calls == []


def test_attack_05_so_is_one_in_a_further_text(vault):
    with pytest.raises(ConfigException, match=r"^env_vars\['B'\]: ") as caught:
        resolver(vault).resolve([], {"env_vars['B']": "${vault:d\u200bb:password}"})
    assert (type(caught.value), vault.calls) == (ConfigException, [])


def test_denied_is_told_apart_from_unavailable_and_missing():
    errors = {"denied": AccessDeniedError("no"), "down": ProviderUnavailableError("later"), "odd": RuntimeError(CANARY)}
    providers = {name: InMemoryConfigProvider(error=error) for name, error in errors.items()}
    expected = {"denied": AccessDeniedError, "down": ProviderUnavailableError, "odd": ProviderLookupError}

    for name, kind in expected.items():
        with pytest.raises(kind) as caught:
            ConfigResolver(providers, options=FetchOptions(timeout=60)).resolve([dag({"a": f"${{{name}:k}}"})])
        assert type(caught.value) is kind


def test_a_failure_names_only_the_references_that_it_affects(vault):
    providers = {"vault": vault, "down": InMemoryConfigProvider(error=ProviderUnavailableError("later."))}

    with pytest.raises(ProviderUnavailableError) as caught:
        ConfigResolver(providers, options=FetchOptions(timeout=60)).resolve(
            [dag({"a": "${vault:db:port} ${down:x:y} ${down:x:y}"})]
        )
    assert caught.value.problems == ("a (conf): ${down:x:y} is not resolved. later.",)


def test_references_are_listed_as_they_were_written(vault):
    resolved = resolver(vault).resolve([dag({"a": "${vault:db:port}"})], {"b": "${vault:db:password}"})

    assert resolved.references == ("${vault:db:password}", "${vault:db:port}")


def test_a_failure_that_many_paths_share_is_told_once_with_the_keys_that_it_affects():
    refused = InMemoryConfigProvider(error=AccessDeniedError("the login was refused."))
    configs = {f"spark.k{number:03}": f"${{p:path{number}:k}}" for number in range(200)}

    with pytest.raises(AccessDeniedError) as caught:
        ConfigResolver({"p": refused}).resolve([dag(configs)])
    references = "${p:path0:k}, ${p:path1:k}, ${p:path2:k} and 197 more"
    keys = "200 keys: spark.k000, spark.k001, spark.k002 and 197 more"
    assert caught.value.problems == (f"{references}: not resolved. the login was refused. ({keys})",)


def test_ten_thousand_paths_that_fail_in_ten_thousand_ways_are_told_within_seconds():
    class Missing(InMemoryConfigProvider):
        def get(self, path, keys=None):
            raise ProviderLookupError(f"There is no {path}.")

    configs = {f"spark.k{number}": f"${{p:path{number}:k}}" for number in range(10_000)}
    asked = ConfigResolver({"p": Missing()}, options=FetchOptions(timeout=60, in_callers_thread=True))
    layered = asked.settle([dag(configs)])

    started = time.process_time()
    with pytest.raises(ProviderLookupError) as caught:
        asked.resolve(layered)
    assert len(caught.value.problems) == 10_000
    assert time.process_time() - started < 5


def test_failures_that_few_paths_share_name_every_key_and_further_texts():
    refused = InMemoryConfigProvider(error=AccessDeniedError("no."))
    layers = [dag({"a": "${p:1:k}${p:1:k}", "b": "${p:3:k}", "c": "plain"})]

    with pytest.raises(AccessDeniedError) as caught:
        ConfigResolver({"p": refused}).resolve(layers, {"application": "${p:4:k}"})
    assert caught.value.problems == ("${p:1:k}, ${p:3:k}, ${p:4:k}: not resolved. no. (3 keys: a, b, application)",)


def test_failures_that_differ_are_told_one_by_one_in_their_order():
    class Naming(InMemoryConfigProvider):
        def get(self, path, keys=None):
            raise AccessDeniedError(f"no {path}." if path != "1" else "no.")

    configs = {"a": "${p:2:k}", "b": "${p:1:k}", "c": "${q:1:k}", "d": "${p:3:k}"}
    with pytest.raises(AccessDeniedError) as caught:
        ConfigResolver({"p": Naming(), "q": Naming()}).resolve([dag(configs)])
    assert caught.value.problems == (
        "a (conf): ${p:2:k} is not resolved. no 2.",
        "b (conf): ${p:1:k} is not resolved. no.",
        "c (conf): ${q:1:k} is not resolved. no.",
        "d (conf): ${p:3:k} is not resolved. no 3.",
    )


def test_attack_61_a_provider_that_hangs_is_unavailable_at_the_deadline():
    let_go = threading.Event()

    class Hanging(InMemoryConfigProvider):
        def get(self, path, keys=None):
            let_go.wait()
            return super().get(path, keys)

    configs = {f"k{number}": f"${{p:{number}:k}}" for number in range(50)}
    with pytest.raises(
        ProviderUnavailableError, match=r"within 0\.3 seconds.*\(50 keys: k0, k1, k2 and 47 more\)"
    ) as caught:
        ConfigResolver({"p": Hanging()}, options=FetchOptions(attempts=5, timeout=0.3)).resolve([dag(configs)])
    let_go.set()
    assert len(caught.value.problems) == 1


def test_denied_outweighs_what_else_is_wrong():
    denied = InMemoryConfigProvider(error=AccessDeniedError("no"))

    with pytest.raises(AccessDeniedError) as caught:
        ConfigResolver({"p": denied}).resolve([dag({"a": "${p:k}", "b": "${q:k}"})])
    assert len(caught.value.problems) == 2


def test_attack_19_what_a_provider_raises_is_not_chained_or_quoted():
    provider = InMemoryConfigProvider(error=RuntimeError(f"could not parse {CANARY}"))

    with pytest.raises(ProviderLookupError, match="RuntimeError") as caught:
        resolver(provider).resolve([dag({"a": "${vault:k}"})])
    assert CANARY not in everything_said(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "escape",
    [
        pytest.param(repr, id="repr"),
        pytest.param(str, id="str"),
        pytest.param(lambda r: f"{r.layered!r}{r.reverser!r}", id="parts"),
    ],
)
def test_attack_30_a_resolved_configuration_does_not_show_itself(vault, escape):
    assert CANARY not in escape(resolver(vault).resolve([dag({"a": "${vault:db:password}"})]))


@pytest.mark.parametrize(
    "escape",
    [
        pytest.param(pickle.dumps, id="pickle"),
        pytest.param(copy.copy, id="copy"),
        pytest.param(copy.deepcopy, id="deepcopy"),
        pytest.param(json.dumps, id="json"),
        pytest.param(dict, id="dict"),
        pytest.param(vars, id="vars"),
    ],
)
def test_attack_30_a_resolved_configuration_refuses_to_leave(vault, escape):
    resolved = resolver(vault).resolve([dag({"a": "${vault:db:password}"})])

    with pytest.raises(TypeError) as caught:
        escape(resolved)
    assert CANARY not in str(caught.value)


def test_a_cleared_configuration_has_no_values(vault):
    resolved = resolver(vault).resolve([dag({"a": "${vault:db:password}"})])
    resolved.clear()

    assert resolved.is_cleared
    with pytest.raises(ConfigException, match="cleared"):
        resolved.configs()


def test_the_reverser_turns_values_back(vault):
    resolved = resolver(vault).resolve([dag({"a": "${vault:db:password}"})])

    assert resolved.reverser.reverse_text(f"got {CANARY}") == "got ${vault:db:password}"


# --- secrets that only the job gets ---------------------------------------------------------------------


def sealed(open_, source=ConfigSource.DYNAMIC_TASK_CONFIG, key="a"):
    return ConfigLayer(source, "dynamic", {key: "[hidden]"}, secrets={key: open_})


def never():
    raise AssertionError("opened")


def test_a_secret_of_a_layer_is_opened_for_the_job_alone(vault):
    resolved = resolver(vault).resolve([dag({"a": "plain", "b": "plain"}), sealed(lambda: CANARY)])

    assert resolved.configs() == {"a": CANARY, "b": "plain"}
    assert dict(resolved.layered.settled) == {"a": "[hidden]", "b": "plain"}
    assert resolved.entries["a"].value is None
    assert resolved.sensitive == {"a"}
    assert resolved.values() == {CANARY}
    assert resolved.reverser.reverse_text(f"login with {CANARY}") == "login with [hidden]"


def test_looking_at_a_secret_of_a_layer_does_not_open_it(vault):
    layered = resolver(vault).settle([sealed(never)])

    assert layered.describe("a").value is None
    assert layered.describe("a").synonyms[0].value is None


def test_a_secret_of_a_layer_that_is_beaten_is_not_opened(vault):
    resolved = resolver(vault).resolve([run({"a": "plain"}), sealed(never)])

    assert resolved.configs() == {"a": "plain"}
    assert resolved.entries["a"].value == "plain"
    assert [synonym.value for synonym in resolved.entries["a"].synonyms] == ["plain", None]


def test_an_opened_secret_is_never_looked_into(vault):
    resolved = resolver(vault).resolve([sealed(lambda: "${vault:db:password}")])

    assert resolved.configs() == {"a": "${vault:db:password}"}
    assert vault.calls == []


def test_secrets_that_cannot_be_opened_are_all_told_before_a_provider_is_asked(vault):
    def wrong():
        raise ConfigException("another secret.")

    layers = [dag({"x": "${vault:db:password}"}), sealed(wrong), sealed(wrong, ConfigSource.RUN_CONFIG, key="b")]
    with pytest.raises(ConfigException) as caught:
        resolver(vault).resolve(layers)

    assert sorted(caught.value.problems) == ["a (dynamic): another secret.", "b (dynamic): another secret."]
    assert vault.calls == []


def test_a_cleared_configuration_has_no_opened_secret(vault):
    resolved = resolver(vault).resolve([sealed(lambda: CANARY)])
    resolved.clear()

    with pytest.raises(ConfigException):
        resolved.configs()
    assert resolved._opened == {}


def test_a_secret_of_a_layer_has_the_type_that_was_checked_when_it_was_sealed(vault):
    definition = ConfigDef().define("a", ConfigType.INT, 1)

    assert resolver(vault, definition=definition).resolve([sealed(lambda: "7")]).configs() == {"a": "7"}
