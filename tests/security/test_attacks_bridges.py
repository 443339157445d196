"""Attacks through the providers of Airflow's variables, connections and secrets backends."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, AirflowSecretsBackendAccessDenied

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.lookup import FetchOptions
from airflow_config_providers.core.provider import ConfigProvider
from airflow_config_providers.core.registry import ProviderRegistry
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.core.transformer import ConfigTransformer
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderUnavailableError,
    UnresolvedReferenceError,
)
from airflow_config_providers.hooks.config_providers import ConfigProvidersHook
from airflow_config_providers.providers import SecretsBackendConfigProvider
from tests.providers.airflow_process import ScriptedBackend, connection_result, error_response, variable_result

CANARY = f"c4nary-{secrets.token_hex(8)}"


def opened(**definitions: tuple[str, dict[str, Any]]) -> Any:
    """Open providers as a deployment does: name -> class and parameters."""
    props: dict[str, Any] = {"config.providers": ",".join(definitions)}
    for name, (kind, params) in definitions.items():
        prefix = f"config.providers.{name}"
        props |= {f"{prefix}.class": kind} | {f"{prefix}.param.{key}": value for key, value in params.items()}
    return ProviderRegistry(deployment=True).open(props)


ALL = {
    name: (kind, {"allowlist.pattern": "app_.*"})
    for name, kind in {
        "variable": "airflow_variable",
        "connection": "airflow_connection",
        "sm": "secrets_backend",
    }.items()
}
REFERENCES = {
    "variable": "${variable:app_x}",
    "in a variable": "${variable:app_x:key}",
    "connection": "${connection:app_x:password}",
    "backend": "${sm:app_x}",
    "in a variable of the backend": "${sm:variables/app_x:key}",
    "connection of the backend": "${sm:connections/app_x:password}",
}


def resolve(reference: str) -> str | None:
    """Resolve one value as a task does, without waiting between attempts."""
    with opened(**ALL) as providers:
        return resolved(providers, reference)


def resolved(providers: Mapping[str, ConfigProvider], reference: str) -> str | None:
    layer = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", {"spark.app.password": reference})
    return ConfigResolver(providers, options=FetchOptions(timeout=60)).resolve([layer]).configs()["spark.app.password"]


def failure(call: Callable[[], Any]) -> ConfigProvidersError:
    """Return the error of ``call``, after a check that neither it nor what it references shows the canary."""
    with pytest.raises(ConfigProvidersError) as caught:
        call()
    error: BaseException | None = caught.value
    assert error is not None
    text = "".join(traceback.format_exception(error))
    assert CANARY not in text + repr(error.args) + repr(vars(error))
    while error is not None:
        assert CANARY not in repr(error.args)
        error = error.__cause__ or error.__context__
    return caught.value


# Row 16: missing, denied or unavailable, and the literal goes out as the password


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES)
def test_attack_16_what_nobody_has_fails_and_does_not_go_out_as_the_password(in_task, configure_backend, reference):
    in_task()
    configure_backend({})

    assert isinstance(failure(lambda: resolve(reference)), UnresolvedReferenceError)


@pytest.mark.parametrize("reference", REFERENCES.values(), ids=REFERENCES)
@pytest.mark.parametrize(
    "error",
    [AirflowSecretsBackendAccessDenied(CANARY), PermissionError(CANARY), RuntimeError(CANARY)],
    ids=lambda error: type(error).__name__,
)
def test_attack_16_what_the_backend_does_not_tell_is_taken_from_no_other(
    in_task, configure_backend, monkeypatch, reference, error
):
    in_task({"app_x": variable_result("app_x", '{"key": "other"}')})
    configure_backend({"app_x": error})
    monkeypatch.setenv("AIRFLOW_VAR_APP_X", '{"key": "other"}')
    monkeypatch.setenv("AIRFLOW_CONN_APP_X", '{"conn_type": "x", "password": "other"}')

    failure(lambda: resolve(reference))


@pytest.mark.parametrize("reference", [REFERENCES["variable"], REFERENCES["connection"]])
@pytest.mark.parametrize("status", [401, 403, 429, 500, 503, None])
def test_attack_16_an_outage_is_not_taken_for_missing_and_a_denial_not_for_an_outage(in_task, reference, status):
    in_task({"app_x": AirflowRuntimeError(error_response("API_SERVER_ERROR", status_code=status, message=CANARY))})

    with opened(**ALL) as providers:
        error = failure(lambda: resolved(providers, reference))
    assert not isinstance(error, UnresolvedReferenceError)
    assert ("refused to return" in str(error)) is (status in {401, 403})


# Row 17: missing is not empty


@pytest.mark.parametrize("value", [None, ""])
def test_attack_17_a_missing_value_is_not_an_empty_one(in_task, value):
    in_task({"app_x": connection_result("app_x", password=value), "app_v": variable_result("app_v", value)})

    for reference in ("${connection:app_x:password}", "${variable:app_v}"):
        if value is None:
            assert isinstance(failure(lambda reference=reference: resolve(reference)), UnresolvedReferenceError)
        else:
            assert resolve(reference) == ""


@pytest.mark.parametrize(("text", "expected"), [('{"key": null}', None), ("{}", None), ('{"key": ""}', "")])
def test_attack_17_null_in_a_document_is_missing_and_an_empty_text_is_empty(in_task, text, expected):
    in_task({"app_x": variable_result("app_x", text)})

    if expected is None:
        assert isinstance(failure(lambda: resolve("${variable:app_x:key}")), UnresolvedReferenceError)
    else:
        assert resolve("${variable:app_x:key}") == expected


# Rows 19 and 20: secrets and what a server says, in errors


class Leaky(ScriptedBackend):
    """Puts secrets wherever an exception can carry them."""

    def _answer(self, name: str) -> Any:
        token = CANARY
        try:
            raise ValueError(f"token {token}")
        except ValueError as error:
            failed = RuntimeError(f"server said {token}", {"body": token})
            failed.add_note(token)
            raise failed from error


@pytest.mark.parametrize("path", ["", "variables/x", "connections/x"])
def test_attack_19_what_a_backend_raises_is_told_by_its_type(path):
    provider = SecretsBackendConfigProvider(Leaky, has_teams=lambda: False)
    provider.configure({})

    error = failure(lambda: provider.get(path, {"x"}))

    assert isinstance(error, ProviderUnavailableError)
    assert error.__cause__ is error.__context__ is None
    assert "RuntimeError" in str(error)


def test_attack_19_an_error_of_ours_that_a_backend_raised_from_a_secret_is_cut_off():
    def raise_both(key: str) -> None:
        try:
            raise ValueError(CANARY)
        except ValueError as cause:
            raise AccessDeniedError("no") from cause

    backend = ScriptedBackend()
    backend.get_variable = raise_both  # type: ignore[method-assign]
    provider = SecretsBackendConfigProvider(lambda: backend, has_teams=lambda: False)
    provider.configure({})

    assert isinstance(failure(lambda: provider.get("", {"x"})), AccessDeniedError)


@pytest.mark.parametrize(
    "text",
    [f'{{"password": "{CANARY}"', f"[{CANARY!r}]", f'"{CANARY}"', CANARY],
    ids=["cut off", "Python", "a JSON text", "a text"],
)
@pytest.mark.parametrize("reference", ["${variable:app_x:key}", "${connection:app_x:extra.key}"])
def test_attack_19_a_text_that_is_no_json_is_not_shown(in_task, text, reference):
    in_task(
        {"app_x": variable_result("app_x", text) if "variable" in reference else connection_result("app_x", extra=text)}
    )

    failure(lambda: resolve(reference))


def test_attack_19_nothing_shows_what_it_holds(in_task, configure_backend, caplog):
    in_task()
    configure_backend({"app_x": json.dumps({"key": CANARY}), "app_c": f"http://u:{CANARY}@h"}, token=CANARY)

    with caplog.at_level(logging.DEBUG), opened(**ALL) as providers:
        result = ConfigTransformer(providers).transform(
            {"a": "${variable:app_x:key}", "b": "${sm:connections/app_c:password}", "c": "${connection:app_c:uri}"}
        )
        shown = [repr(provider) + repr(vars(provider)) for provider in providers.values()]
    assert CANARY in str(dict(result.data))
    assert CANARY not in " ".join(shown)
    assert CANARY not in caplog.text


@pytest.mark.parametrize(("code", "status"), [("AccessDeniedException", 400), ("x", 500), ("c4nary", 400)])
def test_attack_20_what_aws_says_is_not_repeated(aws, caplog, code, status):
    aws.fail("GetSecretValue", code, status, times=-1)
    aws.fail("BatchGetSecretValue", code, status, times=-1)
    provider = aws_provider(aws)

    with caplog.at_level(logging.INFO):
        for keys in ({"x"}, {"x", "y"}):
            with pytest.raises(ConfigProvidersError) as caught:
                provider.get("", keys)
            assert "c4nary" not in "".join(traceback.format_exception(caught.value))
    assert "c4nary" not in caplog.text


# Row 34: what the platform signs in with


@pytest.mark.parametrize("option", ["fernet_key", "sql_alchemy_conn", "jwt_secret", "smtp_password"])
@pytest.mark.parametrize("pattern", [".*", ".+", "[a-z_]*", "app_.*", ""])
def test_attack_34_a_pattern_does_not_open_an_option_of_airflow(option, pattern):
    provider = SecretsBackendConfigProvider(lambda: pytest.fail("it was asked"), has_teams=lambda: False)
    provider.configure({"allowlist.pattern": pattern})

    assert isinstance(failure(lambda: provider.get("config", {option})), AccessDeniedError)


@pytest.mark.parametrize("kind", ["airflow_variable", "airflow_connection", "secrets_backend"])
def test_attack_34_a_deployment_must_say_which_names_are_open(kind):
    with pytest.raises(ProviderDefinitionError, match=r"config\.providers\.p\.param\.allowlist\.pattern is missing"):
        opened(p=(kind, {}))


@pytest.mark.parametrize(
    "reference",
    [
        "${variable:secret}",
        "${variable:secret:key}",
        "${connection:secret:password}",
        "${sm:secret}",
        "${sm:variables:secret}",
        "${sm:variables/secret:key}",
        "${sm:connections/secret:password}",
        "${sm:config:secret}",
        "${variable:app_x\nsecret}",
        "${variable:secretapp_}",
    ],
)
def test_attack_34_a_name_that_is_not_open_is_denied_whether_it_exists_or_not(in_task, configure_backend, reference):
    supervisor = in_task()
    messages = set()
    for answers in ({}, {"secret": f'{{"key": "{CANARY}"}}'}):
        configure_backend(answers)
        messages.add(str(failure(lambda: resolve(reference))))

    assert len(messages) == 1
    assert supervisor.asked == []


@pytest.mark.parametrize(
    "reference",
    [
        "${sm:backend_kwargs}",
        "${sm:config:secrets__backend_kwargs}",
        "${sm:config:backend_kwargs}",
        "${sm:secrets:backend_kwargs}",
        "${sm:secrets/backend_kwargs:token}",
        "${connection:secrets:backend_kwargs}",
        "${variable:AIRFLOW__SECRETS__BACKEND_KWARGS}",
        "${sm:__class__}",
        "${sm:variables/kwargs:token}",
    ],
)
def test_attack_34_no_reference_reads_what_a_backend_signs_in_with(in_task, configure_backend, reference):
    in_task()
    configure_backend({}, token=CANARY)
    open_all = {name: (kind, {"allowlist.pattern": ".*"}) for name, (kind, _) in ALL.items()}

    with opened(**open_all) as providers:
        failure(lambda: resolved(providers, reference))


def test_attack_34_the_error_of_a_backend_that_cannot_be_made_shows_no_argument(in_task, configure_backend):
    in_task()
    configure_backend(backend="Unmakeable", token=CANARY)

    for reference in REFERENCES.values():
        failure(lambda reference=reference: resolve(reference))


# Row 6: a class by name


def test_attack_06_a_backend_that_no_package_registers_is_not_even_imported(tmp_path, monkeypatch):
    (tmp_path / "evil_backend.py").write_text("import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ProviderDefinitionError, match=r"'evil_backend\.Backend' is not installed"):
        opened(sm=("secrets_backend", {"allowlist.pattern": "x", "backend": "evil_backend.Backend"}))
    assert not (tmp_path / "evil_backend.ran").exists()


# Row 37: text stays text

TEXTS = ["0123", "1e5", "yes", "null", "true", "0x1F", "1.10", " x ", "12345678901234567890", "{}", "[1]", "~", "a: b"]


@pytest.mark.parametrize("text", TEXTS)
def test_attack_37_a_text_that_looks_like_something_else_stays_what_it_is(in_task, configure_backend, text):
    in_task()
    document = json.dumps({"key": text})
    configure_backend({"app_x": text, "app_d": document, "app_c": json.dumps({"conn_type": "x", "password": text})})

    references = [
        "${variable:app_x}",
        "${variable:app_d:key}",
        "${connection:app_c:password}",
        "${sm:app_x}",
        "${sm:variables/app_d:key}",
        "${sm:connections/app_c:password}",
    ]

    assert [resolve(reference) for reference in references] == [text] * len(references)


@pytest.mark.parametrize("number", ["1e5", "1.10", "-0", "12345678901234567890123", "1E+400"])
def test_attack_37_a_number_in_a_document_stays_as_it_is_written(in_task, number):
    in_task(
        {
            "app_x": variable_result("app_x", f'{{"key": {number}}}'),
            "app_c": connection_result("app_c", extra=f'{{"key": {number}}}'),
        }
    )

    assert resolve("${variable:app_x:key}") == resolve("${connection:app_c:extra.key}") == number


# Row 39: what belongs to another team, and names that lead elsewhere


@pytest.mark.parametrize("name", ["_B___app_x", "b--app_x", "b/app_x", "app_b___x"])
@pytest.mark.parametrize("reference", ["${variable:NAME}", "${connection:NAME:password}", "${sm:NAME}"])
def test_attack_39_a_name_of_another_team_is_denied_though_the_pattern_matches(
    in_task, configure_backend, monkeypatch, name, reference
):
    supervisor = in_task()
    configure_backend({name: "http://u:other-team@h"})
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    monkeypatch.setenv(f"AIRFLOW_VAR_{name.upper()}", "other-team")
    monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", "http://u:other-team@h")
    open_all = {key: (kind, {"allowlist.pattern": ".*"}) for key, (kind, _) in ALL.items()}

    with opened(**open_all) as providers:
        error = failure(lambda: resolved(providers, reference.replace("NAME", name)))
    assert "is not allowed by allowlist.pattern" in str(error)
    assert supervisor.asked == []


def test_attack_39_no_reference_says_which_team_asks(in_task, configure_backend):
    in_task()
    configure_backend({"app_x": "text"})  # ScriptedBackend asserts that it is told of no team

    assert resolve("${sm:app_x}") == resolve("${variable:app_x}") == "text"


@pytest.mark.parametrize(
    "name",
    [
        "app_x/../../connections/db",
        "app_x/../secret",
        "../app_x",
        "app_x?limit=1",
        "app_x#fragment",
        "app_x%2F..%2Fsecret",
        "app_x\\..\\secret",
        "app_x/./y",
    ],
)
@pytest.mark.parametrize("reference", ["${variable:NAME}", "${connection:NAME:password}", "${sm:NAME}"])
def test_attack_39_a_name_that_a_url_takes_for_another_is_denied(in_task, configure_backend, name, reference):
    supervisor = in_task()
    configure_backend({name: CANARY})

    error = failure(lambda: resolve(reference.replace("NAME", name)))

    assert "could be mistaken for another" in str(error)
    assert supervisor.asked == []


def test_attack_39_what_a_url_does_to_such_a_name():
    """Airflow's client puts a name into a path as it is, and httpx takes the dots out of it."""
    httpx = pytest.importorskip("httpx")

    url = httpx.Client(base_url="http://127.0.0.1/execution/").build_request(
        "GET", "variables/app_x/../../connections/db"
    )

    assert url.url.path == "/execution/connections/db"


# Row 52: threads and forks


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("moto", reason="install the extra moto")
    pytest.importorskip("airflow.providers.amazon", reason="install the extra aws")
    from tests.servers.aws import serve_aws

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with serve_aws() as server:
        yield server


def aws_provider(aws: Any) -> SecretsBackendConfigProvider:
    provider = SecretsBackendConfigProvider()
    kwargs = {"endpoint_url": aws.address, "region_name": "eu-west-1"}
    provider.configure(
        {
            "backend": "airflow.providers.amazon.aws.secrets.secrets_manager.SecretsManagerBackend",
            "backend_kwargs": kwargs,
        }
    )
    return provider


def in_child(function: Callable[[], str]) -> str:
    """Return the result of ``function`` in a forked child, which is ended after a while."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            signal.alarm(30)
            os.write(writing, function().encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_attack_52_children_of_a_process_with_threads_share_no_client_with_it(aws):
    aws.put_secrets(**{f"airflow__variables__s{n}": f"text {n}" for n in range(8)})
    provider = aws_provider(aws)
    expected = provider.get("", {"s0", "s1"}).data
    mine = id(provider._backend())
    done, wrong = threading.Event(), []

    def read_on() -> None:
        while not done.is_set():
            if provider.get("", {"s0", "s1"}).data != expected:
                wrong.append(1)

    def read_in_child() -> str:
        other = provider._backend()
        found = dict(provider.get("", {"s2", "s3"}).data)
        return json.dumps([found, other is backend, other.client is backend.client], sort_keys=True)

    backend = provider._backend()
    threads = [threading.Thread(target=read_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        told = [in_child(read_in_child) for _ in range(4)]
    finally:
        done.set()
        for thread in threads:
            thread.join()

    assert told == [json.dumps([{"s2": "text 2", "s3": "text 3"}, False, False])] * 4
    assert wrong == []
    assert id(provider._backend()) == mine


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_attack_52_a_child_that_is_forked_while_a_client_is_made_makes_its_own(aws):
    """In Python 3.11 all backends of a class have one lock for it, held in the child by a thread that is not there."""
    from airflow.providers.amazon.aws.secrets.secrets_manager import SecretsManagerBackend

    aws.put_secrets(airflow__variables__s1="text")
    provider = aws_provider(aws)

    lock = getattr(vars(SecretsManagerBackend)["client"], "lock", contextlib.nullcontext())
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        told = in_child(lambda: provider.get("", {"s1"}).data["s1"])
    finally:
        done.set()
        thread.join()

    assert told == "text"


def test_attack_52_many_threads_make_one_backend():
    made: list[ScriptedBackend] = []
    barrier = threading.Barrier(16)

    def make() -> ScriptedBackend:
        made.append(ScriptedBackend())
        return made[-1]

    provider = SecretsBackendConfigProvider(make, has_teams=lambda: False)
    provider.configure({})

    def ask() -> None:
        barrier.wait()
        provider.get("", {"x"})

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


# Row 55: a second package that claims a name


def install(site: Path, distribution: str, entry: str) -> None:
    info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[airflow_config_providers.providers]\n{entry}\n")


@pytest.mark.parametrize("name", ["secrets_backend", "airflow_variable", "airflow_connection", "vault", "file"])
def test_attack_55_a_name_that_two_packages_claim_opens_neither(tmp_path: Path, monkeypatch, name):
    install(tmp_path, "evil-config", f"{name} = evil_config:Provider")
    (tmp_path / "evil_config.py").write_text("import pathlib; pathlib.Path(__file__).with_suffix('.ran').touch()")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ProviderDefinitionError) as caught:
        opened(p=(name, {"allowlist.pattern": "x", "allowed.paths": "/"}))
    assert f"{name} is registered by airflow-config-providers and evil-config. Uninstall all but one" in str(
        caught.value
    )
    assert not (tmp_path / "evil_config.ran").exists()


def test_attack_55_the_test_of_a_connection_names_the_package_of_a_provider_that_is_not_ours(tmp_path, monkeypatch):
    install(tmp_path, "acme-config", "acme = airflow_config_providers.testing:InMemoryConfigProvider")
    monkeypatch.syspath_prepend(tmp_path)
    definitions = {
        "config.providers": "theirs,own",
        "config.providers.theirs.class": "acme",
        "config.providers.own.class": "directory",
        "config.providers.own.param.allowed.paths": str(tmp_path),
    }
    connection = {"conn_type": "config_providers", "extra": definitions}
    monkeypatch.setenv("AIRFLOW_CONN_CONFIG_PROVIDERS_DEFAULT", json.dumps(connection))

    is_good, text = ConfigProvidersHook().test_connection()

    theirs, own = text.splitlines()
    assert is_good
    assert theirs == "theirs: not checked, because the class has no check() (from acme-config)"
    assert own.startswith("own: ")
    assert "(from" not in own
