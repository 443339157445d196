from __future__ import annotations

import json
import secrets
import threading
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from airflow_config_providers.core.lookup import FetchOptions, Lookup
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.providers import SecretsBackendConfigProvider
from airflow_config_providers.providers.secrets_backend import LOCAL_FILES, installed_backends
from tests.limits import LONGEST
from tests.providers.airflow_process import OldBackend, ScriptedBackend

CANARY = f"c4nary-{secrets.token_hex(8)}"
DOCUMENT = '{"credentials": {"password": "nested"}, "rate": 1e5}'
CONNECTION = json.dumps({"conn_type": "postgres", "login": "u", "password": "pw", "extra": {"role": "r"}})


class Noted(ScriptedBackend):
    """Answers, and notes what it was asked for."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.given = answers
        self.asked: list[str] = []

    def _answer(self, name: str) -> Any:
        self.asked.append(name)
        answer = self.given.get(name)
        if isinstance(answer, BaseException):
            raise answer
        return answer


ANSWERS = {"db": DOCUMENT, "plain": "text", "empty": "", "warehouse": CONNECTION, "fernet_key": "key"}


def configured(backend: Any = None, **params: Any) -> SecretsBackendConfigProvider:
    provider = SecretsBackendConfigProvider(lambda: backend or Noted(ANSWERS), has_teams=lambda: False)
    provider.configure({name.replace("_pattern", ".pattern"): value for name, value in params.items()})
    return provider


@pytest.mark.parametrize(
    ("path", "keys", "expected"),
    [
        pytest.param("", {"plain", "db"}, {"plain": "text", "db": DOCUMENT}, id="variables"),
        pytest.param("variables", {"plain"}, {"plain": "text"}, id="variables, said so"),
        pytest.param("", {"empty", "absent"}, {"empty": ""}, id="empty is a value and absent is missing"),
        pytest.param("", set(), {}, id="none"),
        pytest.param(
            "variables/db",
            {"credentials.password", "rate"},
            {"credentials.password": "nested", "rate": "1e5"},
            id="in a document",
        ),
        pytest.param("variables/db", None, {"credentials": '{"password":"nested"}', "rate": "1e5"}, id="a document"),
        pytest.param("variables/absent", {"x"}, {}, id="in a document that is absent"),
        pytest.param(
            "connections/warehouse", {"password", "extra.role"}, {"password": "pw", "extra.role": "r"}, id="connection"
        ),
        pytest.param("connections/absent", {"password"}, {}, id="connection that is absent"),
        pytest.param("connections/absent", None, {}, id="all of a connection that is absent"),
    ],
)
def test_values_are_given(path: str, keys: set[str] | None, expected: dict[str, str]) -> None:
    assert configured().get(path, keys).data == expected


def test_all_fields_of_a_connection_are_given() -> None:
    data = configured().get("connections/warehouse").data
    assert set(data) == {"conn_type", "login", "password", "extra", "extra.role", "uri"}


def test_an_option_of_the_configuration_is_given() -> None:
    assert configured(allowlist_pattern="x|fernet_key").get("config", {"fernet_key"}).data == {"fernet_key": "key"}


@pytest.mark.parametrize("name", ["team/app/db", "a--b", "a.b"])
def test_a_name_may_hold_what_stores_have_in_names(name: str) -> None:
    backend = Noted({name: '{"k": "v"}'})
    assert configured(backend).get(f"variables/{name}", {"k"}).data == {"k": "v"}
    assert backend.asked == [name]


@pytest.mark.parametrize("path", ["x", "connections", "Variables", "config/x", "variable/x", "/variables/x"])
def test_a_path_that_means_nothing_is_an_error(path: str) -> None:
    with pytest.raises(ConfigException, match=f"'{path}' is not a path of a secrets backend"):
        configured().get(path, {"x"})


@pytest.mark.parametrize("path", ["", "variables", "config"])
def test_secrets_cannot_be_listed(path: str) -> None:
    with pytest.raises(ConfigException, match="cannot be listed"):
        configured().get(path)


@pytest.mark.parametrize("path", ["variables/", "connections/", "variables/..", "connections/../config"])
def test_a_name_that_is_none_is_denied(path: str) -> None:
    backend = Noted({})
    with pytest.raises(AccessDeniedError):
        configured(backend).get(path, {"x"})
    assert backend.asked == []


@pytest.mark.parametrize(
    ("path", "keys"),
    [("", {"plain", "db"}), ("variables/plain", {"x"}), ("connections/plain", None), ("config", {"plain"})],
)
def test_a_name_that_is_not_allowed_is_denied_and_nothing_is_asked_for(path: str, keys: set[str] | None) -> None:
    backend = Noted(ANSWERS)
    with pytest.raises(AccessDeniedError, match="'plain' is not allowed by"):
        configured(backend, allowlist_pattern="db|warehouse").get(path, keys)
    assert backend.asked == []


@pytest.mark.parametrize("path", ["", "variables", "config", "variables/x", "connections/x"])
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(ValueError(CANARY), ProviderUnavailableError, id="any error"),
        pytest.param(AccessDeniedError("no"), AccessDeniedError, id="one of ours"),
    ],
)
def test_an_error_of_the_backend_is_told_by_its_class(path: str, error: Exception, expected: type[Exception]) -> None:
    keys = {"k"} if "/" in path else {"x"}
    with pytest.raises(expected) as caught:
        configured(Noted({"x": error}), allowlist_pattern="x").get(path, keys)
    assert type(caught.value) is expected
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert CANARY not in str(caught.value)


def test_what_airflow_calls_denied_is_denied() -> None:
    from airflow.sdk.exceptions import AirflowSecretsBackendAccessDenied

    with pytest.raises(AccessDeniedError, match="Secrets backend Noted refused to return variable 'x'"):
        configured(Noted({"x": AirflowSecretsBackendAccessDenied(CANARY)})).get("", {"x"})


def test_a_backend_that_knows_no_teams_is_asked_without_one() -> None:
    provider = configured(OldBackend())
    assert provider.get("", {"old"}).data == {"old": "old"}


def test_paths_of_a_backend_that_reads_one_by_one_are_read_side_by_side() -> None:
    backend = Noted(ANSWERS)
    wanted = {("sm", "variables/db"): {"rate"}, ("sm", "connections/warehouse"): {"login"}, ("sm", ""): {"plain"}}
    answers = Lookup({"sm": configured(backend)}).fetch(wanted)
    assert answers.data == {
        ("sm", "variables/db"): {"rate": "1e5"},
        ("sm", "connections/warehouse"): {"login": "u"},
        ("sm", ""): {"plain": "text"},
    }
    assert sorted(backend.asked) == ["db", "plain", "warehouse"]


class Together(ScriptedBackend):
    """Answers the first ``text``, and the others once so many are being asked for; notes how many ever were."""

    def __init__(self, count: int) -> None:
        self._barrier = threading.Barrier(count, timeout=LONGEST)
        self._lock = threading.Lock()
        self._now = 0
        self._asked = 0
        self.most = 0

    def _answer(self, name: str) -> str:
        with self._lock:
            self._asked += 1
            if self._asked == 1:
                return "text"
            self._now += 1
            self.most = max(self.most, self._now)
        self._barrier.wait()
        with self._lock:
            self._now -= 1
        return "text"


SIX = [f"k{n}" for n in range(6)]


@pytest.mark.parametrize("path", ["", "variables", "config"])
def test_the_keys_of_one_path_are_asked_for_side_by_side(path: str) -> None:
    found = configured(Together(5), allowlist_pattern="|".join(SIX)).get(path, set(SIX))

    assert found.data == dict.fromkeys(SIX, "text")


def test_the_keys_of_several_paths_are_asked_for_side_by_side() -> None:
    provider = configured(Together(5), allowlist_pattern="|".join(SIX))
    wanted = {("sm", ""): set(SIX[:3]), ("sm", "config"): set(SIX[3:])}

    assert Lookup({"sm": provider}).fetch(wanted).failures == {}


def test_no_more_is_asked_for_at_once_than_max_workers_allows() -> None:
    backend = Together(2)
    provider = SecretsBackendConfigProvider(lambda: backend, has_teams=lambda: False, max_workers=lambda: 2)
    provider.configure({"allowlist.pattern": "|".join(SIX)})
    Lookup({"sm": provider}).fetch({("sm", ""): set(SIX[:3]), ("sm", "config"): set(SIX[3:5])})

    assert backend.most == 2


def test_the_setting_max_workers_is_the_one_of_the_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CONFIG_PROVIDERS__MAX_WORKERS", "3")
    backend = Together(3)
    configured(backend).get("", {*SIX, "k6"})

    assert backend.most == 3


def places(*names: str) -> dict[tuple[str, str], set[str]]:
    return {("sm", f"variables/{name}"): {"rate"} for name in names}


@pytest.mark.parametrize("error", [ValueError(CANARY), AccessDeniedError("no")], ids=["unavailable", "denied"])
def test_a_backend_that_fails_the_first_is_asked_for_no_other(error: Exception) -> None:
    """It may be that it cannot sign in, and each further question would be a refused login."""
    backend = Noted(dict.fromkeys(SIX, error))
    found = Lookup({"sm": configured(backend)}).fetch(places(*SIX))

    assert backend.asked == SIX[:1]
    assert {type(failure) for failure in found.failures.values()} == {type(fault_of(error))}
    assert len(found.failures) == 6


def fault_of(error: Exception) -> Exception:
    return error if isinstance(error, ConfigProvidersError) else ProviderUnavailableError()


def test_a_backend_that_has_no_such_secret_has_answered() -> None:
    backend = Noted(dict.fromkeys(SIX[1:], DOCUMENT))
    found = Lookup({"sm": configured(backend)}).fetch(places(*SIX))

    assert sorted(backend.asked) == SIX
    assert found.failures == {}


def test_after_a_failure_no_other_secret_is_asked_for_and_answers_are_kept() -> None:
    answers = dict.fromkeys(SIX, DOCUMENT) | {SIX[2]: ValueError(CANARY)}
    backend = Noted(answers)
    provider = SecretsBackendConfigProvider(lambda: backend, has_teams=lambda: False, max_workers=lambda: 1)
    provider.configure({})
    found = Lookup({"sm": provider}).fetch(places(*SIX))

    assert backend.asked == SIX[:3]
    assert set(found.data) == set(places(*SIX[:2]))
    assert {str(failure) for failure in found.failures.values()} == {
        "Secrets backend Noted could not return variable 'k2' (ValueError). Try again later, or check its log."
    }


def test_a_failure_is_told_once_with_the_keys_that_it_affects() -> None:
    texts = {f"key {name}": f"${{sm:variables/{name}:rate}}" for name in SIX}
    resolver = ConfigResolver(
        {"sm": configured(Noted({SIX[0]: AccessDeniedError("It refuses.")}))}, options=FetchOptions(timeout=60)
    )

    with pytest.raises(AccessDeniedError) as caught:
        resolver.resolve([], texts)
    assert caught.value.problems == (
        "${sm:variables/k0:rate}, ${sm:variables/k1:rate}, ${sm:variables/k2:rate} and 3 more: not resolved. "
        "It refuses. (6 keys: key k0, key k1, key k2 and 3 more)",
    )


class SigningIn(Noted):
    """Signs in when it is asked, as Airflow's backends do, if it may; notes how often it tried."""

    def __init__(self, *, may: bool) -> None:
        super().__init__(dict.fromkeys(SIX, "text"))
        self.may = may
        self.logins = 0

    @cached_property
    def client(self) -> object:
        self.logins += 1
        if not self.may:
            raise PermissionError("wrong password")
        return object()

    def _answer(self, name: str) -> Any:
        return self.client and super()._answer(name)


@pytest.mark.parametrize("may", [True, False], ids=["accepted", "refused"])
@pytest.mark.parametrize("path", ["{}", "variables/{}"], ids=["one path", "many paths"])
def test_a_backend_signs_in_once_whatever_is_asked_for(path: str, may: bool) -> None:
    """A company's user is locked out after some refused logins."""
    backend = SigningIn(may=may)
    places = {("sm", "")} if path == "{}" else {("sm", path.format(name)) for name in SIX}
    found = Lookup({"sm": configured(backend)}).fetch(dict.fromkeys(places, frozenset(SIX)))

    assert backend.logins == 1
    assert len(found.failures) == (0 if may and path == "{}" else len(places))


def test_the_backend_is_made_when_it_is_first_needed_and_once() -> None:
    made: list[Noted] = []
    provider = SecretsBackendConfigProvider(lambda: made.append(Noted(ANSWERS)) or made[-1], has_teams=lambda: False)
    provider.configure({})
    assert made == []
    provider.get("", {"plain"})
    provider.get("variables/db", {"rate"})
    assert len(made) == 1


def test_without_a_backend_the_error_says_so() -> None:
    provider = SecretsBackendConfigProvider(lambda: None, has_teams=lambda: False)
    provider.configure({})
    for call in (provider.check, lambda: provider.get("", {"x"})):
        with pytest.raises(ProviderDefinitionError, match=r"No secrets backend is configured for this process. Set \["):
            call()


def test_check_makes_the_backend_and_asks_it_nothing() -> None:
    backend = Noted(ANSWERS)
    configured(backend).check()
    assert backend.asked == []


def test_nothing_is_read_before_configure() -> None:
    provider = SecretsBackendConfigProvider(lambda: Noted(ANSWERS))
    for call in (provider.check, lambda: provider.get("", {"x"})):
        with pytest.raises(ProviderDefinitionError, match="not been configured"):
            call()


def test_the_configured_backend_is_used_with_its_settings(in_task, configure_backend) -> None:
    in_task()
    made = configure_backend({"x": "text"}, section="workers", url="http://vault").kwargs
    provider = SecretsBackendConfigProvider()
    provider.configure({"allowlist.pattern": "x"})
    assert provider.get("", {"x"}).data == {"x": "text"}
    assert made == [{"url": "http://vault"}]


def test_the_environment_and_the_database_are_not_asked(in_task, configure_backend, monkeypatch) -> None:
    supervisor = in_task()
    configure_backend({})
    monkeypatch.setenv("AIRFLOW_VAR_X", "environment")
    provider = SecretsBackendConfigProvider()
    provider.configure({})
    assert provider.get("", {"x"}).data == {}
    assert supervisor.asked == []


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Arguments of Airflow's backend for local files."""
    (tmp_path / "variables.json").write_text(json.dumps({"plain": "text", "db": json.loads(DOCUMENT)}))
    (tmp_path / "connections.json").write_text(json.dumps({"warehouse": json.loads(CONNECTION)}))
    return {f"{kind}_file_path": str(tmp_path / f"{kind}.json") for kind in ("variables", "connections")}


@pytest.mark.parametrize("how", ["JSON", "one by one", "a mapping"])
def test_a_backend_is_named_with_its_arguments(files: dict[str, str], how: str) -> None:
    kwargs: dict[str, Any] = {
        "JSON": {"backend_kwargs": json.dumps(files)},
        "one by one": {f"backend_kwargs.{name}": value for name, value in files.items()},
        "a mapping": {"backend_kwargs": files},
    }[how]
    provider = SecretsBackendConfigProvider()
    provider.configure({"backend": LOCAL_FILES, **kwargs})
    assert provider.get("", {"plain"}).data == {"plain": "text"}
    assert provider.get("variables/db", {"credentials.password"}).data == {"credentials.password": "nested"}
    assert provider.get("connections/warehouse", {"login", "extra.role"}).data == {"login": "u", "extra.role": "r"}


def test_one_argument_beats_the_same_in_the_object(files: dict[str, str]) -> None:
    wrong = json.dumps({**files, "variables_file_path": "/no/such/file.json"})
    provider = SecretsBackendConfigProvider()
    provider.configure(
        {
            "backend": LOCAL_FILES,
            "backend_kwargs": wrong,
            "backend_kwargs.variables_file_path": files["variables_file_path"],
        }
    )
    assert provider.get("", {"plain"}).data == {"plain": "text"}


def test_a_deployment_defines_it_end_to_end(files: dict[str, str]) -> None:
    prefix = "config.providers.sm"
    definitions = {
        "config.providers": "sm",
        f"{prefix}.class": "secrets_backend",
        f"{prefix}.param.backend": LOCAL_FILES,
        f"{prefix}.param.backend_kwargs": json.dumps(files),
        f"{prefix}.param.allowlist.pattern": "plain",
    }
    with ProviderRegistry(deployment=True).open(definitions) as providers:
        assert providers["sm"].get("", {"plain"}).data == {"plain": "text"}
        with pytest.raises(AccessDeniedError):
            providers["sm"].get("variables/db", {"rate"})


def test_a_backend_with_wrong_arguments_is_told_by_name_alone() -> None:
    provider = SecretsBackendConfigProvider()
    provider.configure({"backend": LOCAL_FILES, "backend_kwargs": {"token": CANARY}})
    with pytest.raises(
        ProviderDefinitionError, match=r"LocalFilesystemBackend' cannot be created \(TypeError\)"
    ) as caught:
        provider.check()
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({"backend": "os.system"}, "backend: 'os.system' is not installed", id="any callable"),
        pytest.param(
            {"backend": "tests.providers.airflow_process.ScriptedBackend"}, "is not installed", id="any backend"
        ),
        pytest.param({"backend": LOCAL_FILES.lower()}, f"did you mean '{LOCAL_FILES}'", id="a typo"),
        pytest.param({"backend": "airflow.secrets.metastore.MetastoreBackend"}, "is not installed", id="the database"),
        pytest.param(
            {"backend": "airflow.providers.nowhere.secrets.Backend"}, "Install its package", id="package-not-installed"
        ),
        pytest.param({"backend": LOCAL_FILES, "backend_kwargs": "[1]"}, "is not a JSON object", id="list"),
        pytest.param({"backend": LOCAL_FILES, "backend_kwargs": f"{CANARY}"}, "is not a JSON object", id="no JSON"),
        pytest.param({"backend_kwargs": "{}", "backend_kwargs.x": "1"}, "is given without backend", id="no backend"),
        pytest.param({"allowlist.pattern": "("}, "not a regular expression", id="pattern"),
    ],
)
def test_wrong_parameters_are_told(params: dict[str, str], expected: str) -> None:
    with pytest.raises(ProviderDefinitionError, match=expected) as caught:
        SecretsBackendConfigProvider().configure(params)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"backend": "acme.NotInstalled"}, id="not installed"),
        pytest.param({"backend_kwargs": '{"x": 1}'}, id="arguments of no backend"),
    ],
)
def test_after_wrong_parameters_the_deployments_backend_does_not_answer_instead(params: dict[str, str]) -> None:
    provider = SecretsBackendConfigProvider(lambda: pytest.fail("it was made"))
    with pytest.raises(ProviderDefinitionError):
        provider.configure(params)
    with pytest.raises(ProviderDefinitionError, match="has not been configured"):
        provider.get("variables", {"a"})


def test_installed_backends_are_those_that_airflow_lists() -> None:
    from airflow.providers_manager import ProvidersManager

    assert set(installed_backends()) == {LOCAL_FILES, *ProvidersManager().secrets_backend_class_names}


def test_vaults_backend_reads_vault(vault) -> None:
    vault.put("variables/db", {"value": DOCUMENT})
    vault.put("connections/warehouse", {"conn_uri": "postgres://u:pw@h/s"})
    provider = SecretsBackendConfigProvider()
    kwargs = {"url": vault.address, "token": vault.root_token, "mount_point": vault.kv2}
    provider.configure(
        {"backend": "airflow.providers.hashicorp.secrets.vault.VaultBackend", "backend_kwargs": json.dumps(kwargs)}
    )
    assert provider.get("variables/db", {"credentials.password"}).data == {"credentials.password": "nested"}
    assert provider.get("connections/warehouse", {"password", "schema"}).data == {"password": "pw", "schema": "s"}
    assert provider.get("", {"absent"}).data == {}


@pytest.mark.parametrize(("allows", "expected"), [(False, AccessDeniedError), (True, None)])
def test_what_vault_refuses_is_denied(vault, allows: bool, expected: type[ConfigProvidersError] | None) -> None:
    vault.put("variables/db", {"value": "text"})
    token = vault.token(f"{vault.kv2}/data/variables/*" if allows else f"{vault.kv2}/data/other")
    provider = SecretsBackendConfigProvider()
    kwargs = {"url": vault.address, "token": token, "mount_point": vault.kv2}
    provider.configure(
        {"backend": "airflow.providers.hashicorp.secrets.vault.VaultBackend", "backend_kwargs": json.dumps(kwargs)}
    )
    answers = Lookup({"sm": provider}).fetch({("sm", ""): {"db"}})
    assert [type(error) for error in answers.failures.values()] == ([expected] if expected else [])
    assert answers.value("sm", "", "db") == (None if expected else "text")


def test_a_vault_that_fails_is_unavailable(vault) -> None:
    vault.put("variables/db", {"value": "text"})
    vault.fail(99, 503, body=f'{{"errors": ["{CANARY}"]}}')
    provider = SecretsBackendConfigProvider()
    kwargs = {"url": vault.address, "token": vault.root_token, "mount_point": vault.kv2}
    provider.configure(
        {"backend": "airflow.providers.hashicorp.secrets.vault.VaultBackend", "backend_kwargs": json.dumps(kwargs)}
    )
    with pytest.raises(ProviderUnavailableError) as caught:
        provider.get("", {"db"})
    assert CANARY not in repr(caught.value)
