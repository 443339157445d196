"""Rows 8, 9, 16 to 20, 27, 29, 34, 37, 42 to 44, 52 and 60 to 62, as far as they are about what is asked of Vault."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_config_providers.core.lookup import FetchOptions

pytest.importorskip("hvac")

from airflow_config_providers.core.layers import ConfigLayer, ConfigSource
from airflow_config_providers.core.lookup import Lookup
from airflow_config_providers.core.resolver import ConfigResolver
from airflow_config_providers.exceptions import (
    AccessDeniedError,
    ConfigException,
    ConfigProvidersError,
    ProviderLookupError,
    ProviderUnavailableError,
    UnresolvedReferenceError,
)
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from airflow_config_providers.providers.vault.session import Session, Sessions, seconds_since_boot
from tests.limits import LONGEST, eventually
from tests.providers.vault.opened import ManualSessions, counted, opened, parameters, provider_of, refused, side_by_side
from tests.providers.vault.processes import helper_of, is_running, open_files, run_job, said, started_job
from tests.servers.recorder import Recorder
from tests.servers.web import Request, Response, WebServer

CANARY = f"c4nary{secrets.token_hex(8)}"
PACKAGE = str(Path(inspect.getfile(ConfigResolver)).parents[1])
LOGIN = "POST auth/approle/login 200"
LOOKUP = "GET auth/token/lookup-self"

BODY = json.dumps(
    {
        "request_id": CANARY,
        "errors": [CANARY],
        "warnings": [CANARY],
        "lease_id": CANARY,
        "data": {"password": CANARY, "data": CANARY, "error": CANARY},
    }
)
"""What a server may say besides its status."""


def resolve(provider, reference, *layers, attempts=3):
    """Return what a job gets for ``spark.app.x``; more references have more keys, and ``layers`` are weaker layers."""
    several = reference if isinstance(reference, list) else []
    texts = {f"spark.app.x{number}": text for number, text in enumerate(several)} or {"spark.app.x": reference}
    conf = ConfigLayer(ConfigSource.DAG_CONFIG, "conf", texts)
    resolved = ConfigResolver({"vault": provider}, options=FetchOptions(attempts=attempts, timeout=60)).resolve(
        [conf, *layers]
    )
    return resolved.configs() if several else resolved.configs()["spark.app.x"]


def told_by(error):
    """Return all text of an error, with its causes and the local variables of this package's functions."""
    told, links = [], [error]
    while links:
        link = links.pop()
        told += [repr(link), str(link), repr(link.args), repr(getattr(link, "__notes__", ""))]
        links += [one for one in (link.__cause__, link.__context__) if one is not None]
        trace = link.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename.startswith(PACKAGE):
                told.append(repr(trace.tb_frame.f_locals))
            trace = trace.tb_next
    return "\n".join(told)


def logged(caplog):
    """Return every line of every logger, with the ``repr`` of its arguments."""
    return "\n".join(f"{record.getMessage()} {record.args!r} {record.exc_text}" for record in caplog.records)


def token_of(provider):
    """Return the token with which a provider reads."""
    return provider._cache.session._held.text


@pytest.fixture
def secret(vault):
    """A path with a password."""
    vault.put("db", {"password": CANARY, "empty": "", "null": None})
    return f"{vault.kv2}/db"


# --- 8: another server ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["auth/approle/login", "", "sys/internal/ui/mounts/", "auth/token/lookup-self", "auth/token/revoke-self"]
)
def test_attack_08_no_request_of_a_session_follows_a_redirect(vault, path):
    other = Recorder()
    with WebServer(other) as elsewhere:
        with opened(vault) as provider:
            vault.fail(99, "redirect", body=elsewhere.address, path=path)
            for ask in (provider.check, lambda: provider.get(f"{vault.kv1}/db", {"password"})):
                with contextlib.suppress(ProviderLookupError):
                    ask()
        assert 307 in {request.status for request in vault.requests()}
    assert other.requests() == []


# --- 9: tricks with paths ---------------------------------------------------------------------------


class Listener:
    """Says of everything that it is not there, and keeps the requests as they were sent."""

    def __init__(self):
        self.requests = []

    def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(404, b'{"errors": []}', {"Content-Type": "application/json"})


@pytest.fixture(scope="module")
def listener():
    return Listener()


@pytest.fixture(scope="module")
def listening(listener):
    """A provider that asks the listener."""
    params = {"token": "t", "cache.ttl": "0", "give_back_after_kill": "false"}
    with WebServer(listener) as server, contextlib.closing(provider_of({**params, "url": server.address})) as provider:
        yield provider


TRICKS = [
    "../sys/raw/core/master",
    "secret/../sys/policies",
    "secret/..",
    "secret/./db",
    "secret/%2e%2e/%2e%2e/sys/raw",
    "secret/%2E%2E%2Fsys",
    "secret/%252e%252e/sys",
    "secret/..%2f..%2fsys/raw",
    "secret/..;/sys",
    "secret/..\\sys",
    "/sys/mounts",
    "//sys/mounts",
    "sys/raw/core/hsm",
    "sys%2fraw",
    "%73ys/mounts",
    "SYS/mounts",
    "auth/token/create",
    "auth/token/lookup-self",
    "secret/db?list=true",
    "secret/db?list",
    "secret?list=true",
    "secret/db?version=1&list=true",
    "secret/db?namespace=other",
    "secret/db#fragment",
    "secret/db\r\nX-Vault-Namespace: other",
    "secret/db\nX-Vault-Token: other",
    "secret/\u2025/sys",
    "secret/\uff0e\uff0e/sys",
    "team/sys/policies/acl/root",
    "team/auth/token/lookup-self",
    "secret/\0",
]


def is_harmless(request):
    """Return whether a request only reads below a mount, or asks for a mount."""
    names = [unquote(name) for name in request.path.removeprefix("/v1/").split("/")]
    decoded = "/".join(names)
    asks_for_a_mount = request.path.startswith("/v1/sys/internal/ui/mounts/")
    return (
        request.method == "GET"
        and request.path.startswith("/v1/")
        and (asks_for_a_mount or names[0] not in {"sys", "auth"})
        and {"", ".", ".."}.isdisjoint(names)
        and (not request.query or request.query.removeprefix("version=").isdecimal())
        and "x-vault-namespace" not in request.headers
        and request.headers["x-vault-token"] == "t"
        and decoded.isprintable()
    )


@pytest.mark.parametrize("path", TRICKS)
def test_attack_09_a_path_leads_nowhere_but_below_its_mount(listener, listening, path):
    listener.requests.clear()
    with contextlib.suppress(ConfigException, AccessDeniedError):
        assert listening.get(path, {"password"}).data == {}

    assert [request.path for request in listener.requests if not is_harmless(request)] == []


@given(st.text("./%2eEfF?=&#;\\sysauthversion1\u2024\uff0e \r\n", min_size=1, max_size=40))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150, deadline=None
)
def test_attack_09_no_path_at_all_leads_elsewhere(listener, listening, path):
    listener.requests.clear()
    with contextlib.suppress(ConfigException, AccessDeniedError):
        listening.get(path, {"password"})

    assert [request.path for request in listener.requests if not is_harmless(request)] == []


@pytest.mark.parametrize("name", ["..%2f..%2fsys", "%2e%2e ", "a#b", "a;b=c", "a&b", "\u2025", "a%00b"])
def test_attack_09_a_name_that_looks_like_a_trick_is_a_name(vault, name):
    from urllib.parse import quote

    vault.admin.write_data(f"{vault.kv2}/data/apps/{quote(name, safe='')}", data={"data": {"password": CANARY}})
    with opened(vault) as provider:
        assert resolve(provider, f"${{vault:{vault.kv2}/apps/{name}:password}}") == CANARY


def test_attack_09_the_namespace_is_that_of_the_definition(vault, secret):
    with opened(vault, token=vault.root_token, namespace="team") as provider:
        for path in (secret, f"other/{secret}", f"{secret}?version=1"):
            with contextlib.suppress(ConfigProvidersError):
                provider.get(path, {"password"})

    assert {request.namespace for request in vault.requests()} == {"team"}


# --- 16, 17, 18: what is not there, and what is not meant -------------------------------------------


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        pytest.param("${vault:{}:passwrd}", UnresolvedReferenceError, id="no-such-key"),
        pytest.param("${vault:{}/nowhere:password}", UnresolvedReferenceError, id="no-such-path"),
        pytest.param("${vault:{}?version=9:password}", UnresolvedReferenceError, id="no-such-version"),
        pytest.param("${vualt:{}:password}", UnresolvedReferenceError, id="no-such-provider"),
        pytest.param("${vault:{}:null}", UnresolvedReferenceError, id="null"),
        pytest.param("${vault:nowhere/db:password}", UnresolvedReferenceError, id="no-such-mount"),
        pytest.param("${vault:sys/mounts:password}", AccessDeniedError, id="where-Vault-keeps-itself"),
        pytest.param("${vault:../db:password}", AccessDeniedError, id="dots"),
        pytest.param("${vault:{}?list:password}", ConfigException, id="an-option"),
    ],
)
def test_attack_16_the_text_of_a_reference_never_goes_out_as_the_password(vault, secret, reference, kind):
    weaker = ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "file", {"spark.app.x": "weaker"})
    with opened(vault) as provider, pytest.raises(kind) as caught:
        resolve(provider, f"jdbc:x?password={reference.replace('{}', secret)}", weaker)

    assert type(caught.value) is kind


def test_attack_16_what_is_denied_comes_from_no_other_place(vault, secret):
    """Neither a weaker layer nor another mount answers for what the policy denies."""
    weaker = ConfigLayer(ConfigSource.STATIC_FILE_CONFIG, "file", {"spark.app.x": "weaker"})
    vault.put_v1("db", {"password": "of the other mount"})
    role = vault.approle(f"{vault.kv1}/*")
    with opened(vault, role=role, mount_point=vault.kv2) as provider, pytest.raises(AccessDeniedError):
        resolve(provider, "${vault:db:password}", weaker)


@pytest.mark.parametrize(
    ("what", "kind"),
    [(403, AccessDeniedError), (404, UnresolvedReferenceError), (503, ProviderUnavailableError)],
    ids=["denied", "missing", "unavailable"],
)
def test_attack_16_denied_missing_and_unavailable_are_not_taken_for_each_other(vault, secret, what, kind):
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(99, what, body='{"errors": []}', path=secret.partition("/")[0])
        with pytest.raises(ConfigProvidersError) as caught:
            resolve(provider, f"${{vault:{secret}:password}}", attempts=1)

    assert type(caught.value) is kind


@pytest.mark.parametrize("mount", ["kv1", "kv2"])
def test_attack_17_empty_is_a_value_and_missing_and_null_are_none(vault, mount):
    put = vault.put if mount == "kv2" else vault.put_v1
    put("db", {"empty": "", "null": None})
    with opened(vault) as provider:
        path = f"{getattr(vault, mount)}/db"
        assert provider.get(path).data == {"empty": ""}
        assert resolve(provider, f"${{vault:{path}:empty}}") == ""
        for key in ("null", "missing"):
            with pytest.raises(UnresolvedReferenceError):
                resolve(provider, f"${{vault:{path}:{key}}}")


@pytest.mark.parametrize(
    "reference",
    [
        pytest.param("${vault:https://vault:8200/v1/secret/db:password}", id="an-address"),
        pytest.param("${vault:arn:aws:secretsmanager:eu-west-1:1:secret:db:password}", id="an-ARN"),
        pytest.param("${vault:C:\\secrets\\db:password}", id="a-drive"),
        pytest.param("${vault:{}#password}", id="a-number-sign-for-the-key"),
        pytest.param("${vault:{}/password}", id="a-slash-for-the-key"),
        pytest.param("${vault:{mount}/data/db:password}", id="the-path-of-the-HTTP-API"),
        pytest.param("${vault:/{}:password}", id="a-slash-before"),
    ],
)
def test_attack_18_what_is_written_for_another_tool_fails_and_is_not_guessed_at(vault, secret, reference):
    text = reference.replace("{}", secret).replace("{mount}", vault.kv2)
    with opened(vault) as provider, pytest.raises(ConfigProvidersError) as caught:
        resolve(provider, text)

    assert CANARY not in told_by(caught.value)


def test_attack_18_a_key_may_hold_colons(vault):
    vault.put("db", {"a:b:c": CANARY})
    with opened(vault) as provider:
        assert resolve(provider, f"${{vault:{vault.kv2}/db:a:b:c}}") == CANARY


# --- 19, 20: what is shown --------------------------------------------------------------------------

AT_A_READ = [400, 403, 404, 405, 412, 418, 429, 472, 473, 500, 501, 502, 503, 504, "cut", "reset", "redirect"]
AT_A_LOGIN = [400, 401, 403, 404, 405, 418, 429, 473, 500, 502, 503, "cut", "reset", "redirect"]


def fail(vault, what, *, path, body=BODY):
    target = f"http://{CANARY}.invalid" if what == "redirect" else body
    vault.fail(99, what, path=path, body=target, headers={"X-Canary": CANARY, "X-Vault-Token": CANARY})


def canaries(provider, params):
    held = provider._cache.session._held
    return [CANARY, str(params.get("secret_id", CANARY)), held.text if held is not None else CANARY]


def assert_nothing_is_told(provider, params, text):
    assert [canary for canary in canaries(provider, params) if canary in text] == []


@pytest.mark.parametrize("what", AT_A_READ)
@pytest.mark.parametrize("where", ["read", "mount"])
def test_attack_20_what_vault_says_to_a_read_is_not_repeated(vault, caplog, secret, where, what):
    caplog.set_level(logging.DEBUG)
    params = parameters(vault)
    provider = provider_of(params)
    path = {"read": vault.kv1, "mount": "sys/internal/"}[where]
    fail(vault, what, path=path)
    with pytest.raises(ConfigProvidersError) as caught:
        resolve(provider, f"${{vault:{vault.kv1}/db:password}}", attempts=1)
    text = told_by(caught.value)
    assert_nothing_is_told(provider, params, text)
    fail(vault, 500, path="auth/token/revoke-self")
    provider.close()

    assert_nothing_is_told(provider_of(params), params, text + logged(caplog))


@pytest.mark.parametrize("what", AT_A_LOGIN)
def test_attack_20_what_vault_says_to_a_login_is_not_repeated(vault, caplog, secret, what):
    caplog.set_level(logging.DEBUG)
    params = parameters(vault)
    with contextlib.closing(provider_of(params)) as provider:
        fail(vault, what, path="auth/")
        with pytest.raises(ConfigProvidersError) as caught:
            resolve(provider, f"${{vault:{secret}:password}}", attempts=1)
        assert_nothing_is_told(provider, params, told_by(caught.value) + logged(caplog))


@pytest.mark.parametrize(
    "body",
    [CANARY, f"<html>{CANARY}", f'["{CANARY}"]', f'{{"data": {{"{CANARY}": '],
    ids=["a text", "a page", "a list", "cut off"],
)
@pytest.mark.parametrize("path", ["", "auth/"], ids=["everything", "login"])
def test_attack_20_what_is_no_json_is_not_repeated(vault, caplog, secret, path, body):
    caplog.set_level(logging.DEBUG)
    params = parameters(vault)
    with contextlib.closing(provider_of(params)) as provider:
        fail(vault, 200, path=path, body=body)
        with pytest.raises(ConfigProvidersError) as caught:
            resolve(provider, f"${{vault:{secret}:password}}", attempts=1)
        assert_nothing_is_told(provider, params, told_by(caught.value) + logged(caplog))


def test_attack_19_reading_renewing_and_giving_back_show_nothing(vault, caplog, secret):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "urllib3")  # Kubernetes' client, if a test before used it, has silenced that
    creds, params = vault.creds(), parameters(vault)
    provider = provider_of(params)
    with pytest.raises(UnresolvedReferenceError) as caught:
        resolve(provider, f"${{vault:{secret}:password}} ${{vault:{creds}:password}} ${{vault:{secret}:missing}}")
    cache = provider._cache
    (lease,), held = cache._leases._held, cache.session._held
    generated = provider.get(creds).data["password"]
    objects = [provider, cache, cache._kept, cache._reader, cache.session, cache.session.settings, held, lease]
    objects += [cache.session.transport, cache.session.revocations, provider.get(creds), provider.get(secret)]
    shown = "\n".join(f"{thing!r} {thing!s} {thing}" for thing in objects) + told_by(caught.value)
    provider.close()

    hidden = [CANARY, generated, held.text, lease.id, str(params["secret_id"])]
    assert [value for value in hidden if value in shown + logged(caplog)] == []
    assert {record.name for record in caplog.records} > {"urllib3.connectionpool"}


def test_attack_19_a_refused_token_is_not_shown(vault, caplog, secret):
    caplog.set_level(logging.DEBUG)
    with opened(vault, token=CANARY) as provider:
        for ask in (lambda: resolve(provider, f"${{vault:{secret}:password}}"), provider.check):
            with pytest.raises(AccessDeniedError) as caught:
                ask()
            assert CANARY not in told_by(caught.value) + logged(caplog)


# --- 27, 29: the process that gives back after a kill -----------------------------------------------

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@ON_LINUX
def test_attack_27_the_helper_gets_nothing_by_its_command_its_environment_or_a_file(vault, secret, monkeypatch):
    monkeypatch.setenv("VAULT_TOKEN", CANARY)
    params = {**parameters(vault), "give_back_after_kill": "true"}
    with contextlib.closing(provider_of(params)) as provider:
        provider.get(secret, {"password"})
        helper = helper_of(os.getpid())
        folder = Path(f"/proc/{helper}")
        shown = b"".join((folder / name).read_bytes() for name in ("cmdline", "environ", "comm"))

        hidden = [CANARY, token_of(provider), str(params["secret_id"]), str(params["role_id"])]
        assert [value for value in hidden if value.encode() in shown] == []
        assert eventually(lambda: _open_kinds(helper) == {"pipe", "/dev/null"})  # at its start it reads Python's own


def _open_kinds(pid):
    return {name.partition(":")[0] for name in open_files(pid).values()}


@ON_LINUX
def test_attack_29_the_helper_leaves_no_core_dump(vault, secret):
    with started_job("wait", {**parameters(vault), "give_back_after_kill": "true"}, secret) as process:
        said(process, "waiting")
        limits = Path(f"/proc/{helper_of(process.pid)}/limits")
        assert eventually(lambda: _core_limit(limits) == ["0", "0"])


def _core_limit(limits):
    (line,) = (line for line in limits.read_text().splitlines() if line.startswith("Max core file size"))
    return line.removeprefix("Max core file size").split()[:2]


# --- 34: the environment ----------------------------------------------------------------------------


def test_attack_34_of_the_environment_counts_only_what_the_documentation_says(vault, secret, monkeypatch):
    other, params = Recorder(), parameters(vault)
    with WebServer(other) as elsewhere:
        for name in ("VAULT_ADDR", "VAULT_AGENT_ADDR", "VAULT_PROXY_ADDR", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, elsewhere.address)
        for name in ("VAULT_NAMESPACE", "VAULT_TOKEN", "VAULT_ROLE_ID", "VAULT_SECRET_ID", "VAULT_SKIP_VERIFY"):
            monkeypatch.setenv(name, CANARY)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        provider = VaultConfigProvider(lambda _: None, sessions=Sessions())
        provider.configure(params)
        with contextlib.closing(provider):
            vault.reset()
            assert provider.get(secret, {"password"}).data == {"password": CANARY}

    assert other.requests() == []
    assert {request.namespace for request in vault.requests()} == {""}


# --- 37: types --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0123", "1e5", "yes", "NO", "null", "true", "0x10", "1_000", " padded ", "\ufeffx"])
@pytest.mark.parametrize("mount", ["kv1", "kv2"])
def test_attack_37_a_text_that_looks_like_something_else_stays_a_text(vault, mount, text):
    put = vault.put if mount == "kv2" else vault.put_v1
    put("db", {"password": text})
    with opened(vault) as provider:
        assert resolve(provider, f"${{vault:{getattr(vault, mount)}/db:password}}") == text


@pytest.mark.parametrize("number", ["1.10", "1e5", "123456789012345678901234567890", "0.1", "-0", "1E400"])
def test_attack_37_a_number_is_given_as_vault_writes_it(number):
    body = f'{{"data": {{"data": {{"n": {number}}}, "metadata": {{"version": 1}}}}}}'.encode()
    params = {"token": "t", "give_back_after_kill": "false"}
    with (
        WebServer(lambda request: Response(200, body)) as server,
        contextlib.closing(provider_of({**params, "url": server.address})) as provider,
    ):
        assert resolve(provider, "${vault:secret/db:n}") == number


@pytest.mark.parametrize("value", ["${vault:kv/other:key}", "${env:HOME}", "{{ conn.x.password }}", "$(id)", "%(x)s"])
def test_attack_37_a_value_is_not_looked_into(vault, value):
    vault.put("db", {"password": value})
    with opened(vault) as provider:
        assert resolve(provider, f"a ${{vault:{vault.kv2}/db:password}} b") == f"a {value} b"
        assert len(vault.requests()) == 2


# --- 42, 43: storms, and a Vault that changes its mind ----------------------------------------------


WHEN = pytest.mark.parametrize("is_signed_in", [False, True], ids=["login", "read"])
OUTAGES = pytest.mark.parametrize(  # a login that is dropped may have been a refusal: logins/test_signing_in.py
    ("what", "is_signed_in"),
    [(what, when) for what in (429, 473, 500, 503) for when in (False, True)] + [("reset", True), ("cut", True)],
)


def asked_for_password(sessions, provider, path):
    """Ask up to three times, with pauses on the clock of ``sessions``, and return what a job gets."""
    clock = sessions.clock
    answers = Lookup({"vault": provider}, FetchOptions(attempts=3, timeout=60), sleep=clock.sleep, clock=clock).fetch(
        {("vault", path): {"password"}}
    )
    for error in answers.failures.values():
        raise error
    return answers.data["vault", path]["password"]


@OUTAGES
def test_attack_42_an_unavailable_vault_is_asked_as_often_as_said_and_no_more(vault, secret, what, is_signed_in):
    sessions = ManualSessions()
    with opened(vault, sessions=sessions) as provider:
        if is_signed_in:
            provider.check()
            vault.reset()
        vault.fail(99, what)
        before = sessions.clock()
        with pytest.raises(ProviderUnavailableError):
            asked_for_password(sessions, provider, secret)
        is_busy = what == 429  # asked again each second or later, until there is no time left
        assert len(vault.requests()) in (range(4, 61) if is_busy else {3})
        assert sessions.clock() - before <= 60


@WHEN
def test_attack_42_a_redirect_is_asked_for_once(vault, secret, is_signed_in):
    """For a login, which all paths share, or for each path: another path may be answered."""
    with opened(vault) as provider:
        if is_signed_in:
            provider.check()
            vault.reset()
        vault.fail(999, "redirect", body="http://127.0.0.1:1")
        with pytest.raises(ProviderLookupError, match="redirect") as caught:
            resolve(provider, [f"${{vault:{secret}/{number}:password}}" for number in range(200)])
        assert type(caught.value) is ProviderLookupError
        assert len(caught.value.problems) == 1
        assert set(counted(vault).values()) == {1}
        assert len(vault.requests()) == (200 if is_signed_in else 1)


@OUTAGES
def test_attack_42_an_outage_that_ends_in_time_is_not_noticed(vault, secret, what, is_signed_in):
    sessions = ManualSessions()
    with opened(vault, sessions=sessions) as provider:
        path = secret.partition("/")[0] if is_signed_in else "auth/"
        vault.fail(2, what, path=path)
        assert asked_for_password(sessions, provider, secret) == CANARY


def test_attack_42_a_vault_that_hangs_is_asked_as_often_as_said_and_no_more(vault, secret):
    with opened(vault, timeout="0.3", token=vault.root_token) as provider:
        vault.fail(99, "hang")
        with pytest.raises(ProviderUnavailableError, match="in time"):
            resolve(provider, f"${{vault:{secret}:password}}")
        vault._front.close()  # lets go of what hangs, so that it is counted
        assert eventually(lambda: len(vault.requests()) == 3)


def test_attack_42_64_threads_that_ask_an_unavailable_vault_share_their_requests(vault, secret):
    with opened(vault, sessions=ManualSessions()) as provider:  # no time passes: its pauses do not end meanwhile
        provider.check()
        vault.reset()
        vault.fail(999, 503)
        found = side_by_side(64, lambda: resolve(provider, f"${{vault:{secret}:password}}", attempts=1))
        assert {type(error) for error in found} == {ProviderUnavailableError}
        assert len({id(error) for error in found}) == 64
        assert len(vault.requests()) < 16


def test_attack_42_a_denial_is_not_tried_again(vault, secret):
    with opened(vault, role=vault.approle("nothing/*")) as provider:
        with pytest.raises(AccessDeniedError):
            resolve(provider, f"${{vault:{secret}:password}}")
        assert counted(vault)["GET kv2/data/db 403"] == 1


def revoke_all(vault):
    for accessor in vault.live_tokens():
        vault.admin.write_data("auth/token/revoke-accessor", data={"accessor": accessor})


def test_attack_43_64_threads_with_a_revoked_token_sign_in_once(vault, secret):
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        provider.get(secret, {"password"})
        revoke_all(vault)
        vault.reset()
        vault.delay(50)
        found = side_by_side(64, lambda: resolve(provider, f"${{vault:{secret}:password}}"))
        assert set(found) == {CANARY}
        assert counted(vault)[LOGIN] == 1


def test_attack_43_a_token_that_is_revoked_again_and_again_costs_one_login_a_read(vault, secret):
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        for _ in range(3):
            provider.get(secret, {"password"})
            revoke_all(vault)
        assert counted(vault)[LOGIN] == 3


def test_attack_43_where_every_token_is_refused_there_is_one_new_login(vault, secret):
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        vault.fail(999, 403, path=secret.partition("/")[0])
        vault.fail(999, 403, path="sys/internal/")
        vault.fail(999, 403, path="auth/token/lookup-self")
        for _ in range(5):
            with pytest.raises(AccessDeniedError):
                resolve(provider, f"${{vault:{secret}:password}}")
        assert counted(vault)[LOGIN] == 2


def test_attack_43_what_a_policy_took_away_is_denied_though_it_was_read_before(vault, secret):
    role = vault.approle(secret.replace("/", "/data/"))
    with opened(vault, role=role, **{"cache.ttl": "0"}) as provider:
        assert resolve(provider, f"${{vault:{secret}:password}}") == CANARY
        vault.admin.sys.create_or_update_acl_policy(vault._policies[-1], '{"path": {}}')
        with pytest.raises(AccessDeniedError):
            resolve(provider, f"${{vault:{secret}:password}}")
        assert counted(vault)[LOGIN] == 1


def test_attack_43_a_vault_that_is_sealed_is_unavailable_until_it_is_not(vault, secret):
    with opened(vault, **{"cache.ttl": "0"}) as provider:
        provider.get(secret, {"password"})
        with vault.sealed(), pytest.raises(ProviderUnavailableError, match="sealed"):
            resolve(provider, f"${{vault:{secret}:password}}")
        assert resolve(provider, f"${{vault:{secret}:password}}") == CANARY


def test_attack_43_the_time_of_day_does_not_matter():
    """
    A login is valid for a number of seconds after its request, on a clock that cannot be set.

    Nor does that clock stand still while the machine is suspended: Vault's does not, either.
    """
    assert inspect.signature(Session).parameters["clock"].default is seconds_since_boot


# --- 44: what is given back -------------------------------------------------------------------------


def end_of(how, process):
    if how == "kill":
        said(process, "waiting")
        process.send_signal(signal.SIGKILL)
    process.wait(LONGEST)


@ON_LINUX
@pytest.mark.parametrize("how", ["close", "fail", "exit at once", "exit without close", "kill"])
def test_attack_44_neither_a_login_nor_a_lease_outlives_the_job(vault, how):
    path = vault.creds()
    params = {**parameters(vault), "give_back_after_kill": "true"}
    with started_job("wait" if how == "kill" else how, params, path) as process:
        said(process, "read")
        helpers = [helper_of(process.pid)] if how == "kill" else []
        end_of(how, process)

        assert eventually(lambda: vault.live_tokens() == frozenset())
        assert eventually(lambda: vault.live_leases() == frozenset())
        assert counted(vault)["POST auth/token/revoke-self 204"] == 1
        assert eventually(lambda: not any(map(is_running, helpers)))


def test_attack_44_a_login_is_given_back_though_the_resolution_fails(vault, secret):
    with opened(vault) as provider, pytest.raises(UnresolvedReferenceError):
        resolve(provider, f"${{vault:{secret}:password}} ${{vault:{secret}:missing}}")

    assert vault.live_tokens() == frozenset()


# --- 52: threads and forks --------------------------------------------------------------------------


@ON_LINUX
def test_attack_52_children_and_their_children_forked_amid_threads_share_nothing(vault, secret):
    """Threads that read fork children, whose threads read and fork: each process has a login of its own."""
    params = {**parameters(vault), "give_back_after_kill": "true", "cache.ttl": "0"}
    vault.reset()
    vault.delay(5)
    code, lines, complained = run_job("fork from threads", params, secret, vault.creds())

    assert (code, complained) == (0, "")
    assert lines.count("ended with 0") == 8  # four children, and one of each
    processes = {line.split()[1] for line in lines if line.startswith("process")}
    tokens = {request.token for request in vault.requests() if request.method == "GET"}
    assert len(processes) == 9
    assert counted(vault)[LOGIN] == len(tokens) == 9
    assert counted(vault)["POST auth/token/revoke-self 204"] == 9
    assert eventually(lambda: vault.live_tokens() == frozenset() == vault.live_leases())


def test_attack_52_a_child_of_asyncio_s_executor_reads_by_itself(vault, secret):
    import asyncio
    import multiprocessing

    with opened(vault) as provider:

        async def read():
            inherited = await asyncio.to_thread(provider.get, secret, {"password"})
            return inherited.data, await asyncio.to_thread(read_in_a_child)

        def read_in_a_child():
            context = multiprocessing.get_context("fork")
            here, there = context.Pipe(duplex=False)
            child = context.Process(target=lambda: there.send(dict(provider.get(secret, {"password"}).data)))
            child.start()
            child.join(LONGEST)
            return here.recv() if here.poll(0) else child.exitcode

        assert asyncio.run(read()) == ({"password": CANARY}, {"password": CANARY})
        assert counted(vault)[LOGIN] == 2


def test_attack_52_threads_that_open_and_close_providers_leave_no_login_and_no_thread(vault, secret):
    sessions, params = Sessions(), parameters(vault)
    before = {thread for thread in threading.enumerate() if thread.name == "vault-renewal"}

    def use():
        for _ in range(5):
            with contextlib.closing(provider_of(params, sessions)) as provider:
                assert provider.get(secret, {"password"}).data == {"password": CANARY}

    assert side_by_side(8, use) == [None] * 8
    assert vault.live_tokens() == frozenset()
    assert sessions._open == {}
    assert eventually(lambda: {t for t in threading.enumerate() if t.name == "vault-renewal"} <= before)


# --- 60: a login that is refused --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["userpass", "approle", "jwt"])
def test_attack_60_a_refused_login_is_one_login_however_many_paths_there_are(vault, method):
    references = [f"${{vault:{vault.kv2}/{number}:password}}" for number in range(200)]
    with contextlib.closing(provider_of(refused(vault, method))) as provider:
        vault.reset()
        for _ in range(3):
            with pytest.raises(AccessDeniedError, match=f"refused the login by {method}") as caught:
                resolve(provider, references)
            (problem,) = caught.value.problems
            assert problem.endswith("(200 keys: spark.app.x0, spark.app.x1, spark.app.x2 and 197 more)")
        assert [request.is_login for request in vault.requests()] == [True]


def test_attack_60_threads_that_wait_for_a_refused_login_do_not_sign_in(vault):
    with contextlib.closing(provider_of(refused(vault, "userpass"))) as provider:
        mount, numbers = vault.kv2, iter(range(64))
        vault.reset()
        vault.delay(50)
        found = side_by_side(64, lambda: provider.get(f"{mount}/{next(numbers)}", {"password"}))
        assert {type(error) for error in found} == {AccessDeniedError}
        assert len({id(error) for error in found}) == 64
        assert len(vault.requests()) == 1


def test_attack_60_two_providers_with_one_login_are_refused_once(vault):
    sessions, params = Sessions(), refused(vault, "userpass")
    vault.reset()
    with (
        contextlib.closing(provider_of(params, sessions)) as first,
        contextlib.closing(provider_of(params, sessions)) as second,
    ):
        for provider in (first, second):
            with pytest.raises(AccessDeniedError):
                provider.get(f"{vault.kv2}/a", {"password"})
        assert len(vault.requests()) == 1


def test_attack_60_a_token_that_vault_does_not_know_is_tried_for_one_of_many_paths(vault):
    references = [f"${{vault:{vault.kv2}/{number}:password}}" for number in range(200)]
    with opened(vault, token="hvs.nonsense") as provider:
        with pytest.raises(AccessDeniedError, match="does not know the token") as caught:
            resolve(provider, references)
        assert len(caught.value.problems) == 1
        assert len({request.path for request in vault.requests() if request.path.startswith(vault.kv2)}) <= 2


# --- 61: a server that takes its time ---------------------------------------------------------------


def test_attack_61_a_vault_that_hangs_costs_many_paths_as_much_as_one(vault):
    references = [f"${{vault:{vault.kv2}/{number}:password}}" for number in range(200)]
    with opened(vault, timeout="0.3", token=vault.root_token, mount_point=vault.kv2, kv_engine_version="2") as provider:
        vault.fail(999, "hang")
        with pytest.raises(ProviderUnavailableError, match="in time") as caught:
            resolve(provider, references)
        assert len(caught.value.problems) == 1
        assert vault.arrived() <= 32 + 8  # fewer where the first is cut off before the last is sent


def test_attack_61_a_vault_that_wants_to_be_left_alone_is_left_alone(vault):
    references = [f"${{vault:{vault.kv2}/{number}:password}}" for number in range(200)]
    with opened(vault, token=vault.root_token) as provider:
        vault.fail(999, 429, headers={"Retry-After": "3600"})
        with pytest.raises(ProviderUnavailableError, match="too many requests"):
            resolve(provider, references)
        assert len(vault.requests()) <= 32


class Dripping:
    """A server that takes a second for each of the few bytes that it sends, and never comes to an end."""

    def __init__(self, beginning: bytes, *, seconds: float = 0.05) -> None:
        self.beginning = beginning
        self.connections = 0
        self._seconds = seconds
        self._over = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        self._over.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                self._threads.append(threading.Thread(target=self._drip, args=(connection,), daemon=True))
                self._threads[-1].start()

    def _drip(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(self.beginning)
            while not self._over.wait(self._seconds):
                connection.sendall(b" ")


@pytest.mark.parametrize(
    "beginning",
    [
        pytest.param(b"HTTP/1.1", id="status"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX:", id="header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", id="body without length"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n270f\r\n", id="chunk"),
    ],
)
@pytest.mark.parametrize("auth_type", ["token", "userpass"])
def test_attack_61_a_server_that_drips_is_cut_off(beginning, auth_type):
    """The time of an answer is over though no byte of it comes late."""
    how = {"token": "t"} if auth_type == "token" else {"username": "u", "password": "p"}
    with contextlib.closing(Dripping(beginning)) as server:
        params = {"url": server.address, "auth_type": auth_type, "timeout": "0.5", "give_back_after_kill": "false"}
        with (
            contextlib.closing(provider_of({**params, **how})) as provider,
            pytest.raises(ProviderUnavailableError, match="in time"),
        ):
            provider.get("secret/a", {"k"})
        assert eventually(lambda: server.connections == 1)
