from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from airflow_config_providers.core.closing import close_all
from airflow_config_providers.providers.vault import give_back
from airflow_config_providers.providers.vault.logins.credentials import NOTHING
from airflow_config_providers.providers.vault.revocation import Helper, Revocations, RevokeRequest, Server
from airflow_config_providers.providers.vault.settings import VaultSettings
from tests.limits import LONGEST, eventually
from tests.providers.vault.opened import ManualSessions, counted, parameters, provider_of, seen
from tests.providers.vault.processes import children, command, helper_of, is_running, open_files, said, started_job
from tests.servers.certificates import self_signed
from tests.servers.recorder import Recorder
from tests.servers.web import Request, Response, WebServer

TOKEN = "hvs.canary-of-a-token"
REVOKE = "POST auth/token/revoke-self 204"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@pytest.fixture
def params(vault) -> dict[str, object]:
    vault.put("a", {"k": "v"})
    return {**parameters(vault), "give_back_after_kill": "true"}


def finish(closing: Helper | Revocations) -> None:
    """Close it, and wait for the end of its process, for which ``close`` waits two seconds only."""
    closing.close()
    for thread in threading.enumerate():
        if thread.name == "vault-helper":
            thread.join()


def is_given_back(vault) -> bool:
    return vault.live_tokens() == frozenset()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name)
def test_a_login_is_given_back_after_a_signal(vault, params: dict[str, object], number: int) -> None:
    with started_job("wait", params, f"{vault.kv2}/a") as process:
        said(process, "waiting")
        helper = helper_of(process.pid)
        process.send_signal(number)
        assert eventually(lambda: is_given_back(vault))
        assert eventually(lambda: not is_running(helper))
        assert counted(vault)[REVOKE] == 1


@pytest.mark.parametrize("how", ["exit at once", "exit without close"])
def test_a_login_is_given_back_after_an_exit(vault, params: dict[str, object], how: str) -> None:
    with started_job(how, params, f"{vault.kv2}/a") as process:
        process.wait(LONGEST)
        assert eventually(lambda: is_given_back(vault))
        assert eventually(lambda: counted(vault)[REVOKE] == 1)


def test_a_signal_to_both_does_not_keep_the_login(vault, params: dict[str, object]) -> None:
    with started_job("wait", params, f"{vault.kv2}/a") as process:
        said(process, "waiting")
        helper = helper_of(process.pid)
        assert is_deaf_to(helper, signal.SIGTERM)
        os.kill(helper, signal.SIGTERM)
        process.terminate()
        assert eventually(lambda: is_given_back(vault))


def is_deaf_to(pid: int, number: int) -> bool:
    """Return whether a signal never reaches a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (mask,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigBlk"))
    return bool(mask >> (number - 1) & 1)


def test_a_forked_child_that_lives_on_does_not_keep_the_login(vault, params: dict[str, object]) -> None:
    with started_job("wait with a forked child", params, f"{vault.kv2}/a") as process:
        child = int(said(process, "child"))
        process.kill()
        try:
            assert eventually(lambda: is_given_back(vault))
            assert is_running(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_leases_of_a_given_token_are_given_back_after_a_kill(vault) -> None:
    path, token = vault.creds(), vault.token("*", {"sys/leases/*": ["update"]})
    params = {"url": vault.address, "token": token}
    with started_job("wait", params, path) as process:
        said(process, "waiting")
        assert len(vault.live_leases()) == 1
        process.kill()
        assert eventually(lambda: vault.live_leases() == frozenset())
        assert len(vault.live_tokens()) == 1


def test_after_a_kill_a_job_that_goes_on_keeps_its_lease_and_the_login_that_it_ends_with(vault) -> None:
    with started_job("wait for a job that goes on", lending(vault), vault.creds()) as process:
        said(process, "waiting")
        helper = helper_of(process.pid)
        process.kill()
        assert eventually(lambda: not is_running(helper))
        assert len(vault.live_leases()) == 1
        assert len(vault.live_tokens()) == 1


def test_after_a_job_that_has_ended_a_kill_gives_back_what_it_had(vault) -> None:
    with started_job("wait after such a job", lending(vault), vault.creds()) as process:
        said(process, "waiting")
        process.kill()
        assert eventually(lambda: vault.live_leases() == frozenset())
        assert is_given_back(vault)


def test_a_job_that_goes_on_without_a_lease_needs_no_login(vault, params: dict[str, object]) -> None:
    with started_job("wait for a job that goes on", params, f"{vault.kv2}/a") as process:
        said(process, "waiting")
        process.kill()
        assert eventually(lambda: is_given_back(vault))


def lending(vault) -> dict[str, object]:
    return {**parameters(vault), "give_back_after_kill": "true"}


def test_a_helper_that_starts_late_knows_that_a_job_goes_on(vault) -> None:
    """The first helper has ended; the second gets all messages of the first."""
    server = Server(vault.address, None, True, None, "")
    helper = Helper(lambda: server)
    helper.leave(is_left=True)
    helper.hold("auth/token/revoke-self", token=vault.token("default"), body={})
    pid = helper.pid
    helper.close()

    assert eventually(lambda: not is_running(pid))
    assert len(vault.live_tokens()) == 1


def test_a_token_that_is_given_needs_no_helper(vault) -> None:
    vault.put("a", {"k": "v"})
    with started_job("wait", {"url": vault.address, "token": vault.root_token}, f"{vault.kv2}/a") as process:
        said(process, "waiting")
        assert children(process.pid) == []


def test_where_it_is_not_wanted_there_is_no_helper(vault, params: dict[str, object]) -> None:
    with started_job("wait", {**params, "give_back_after_kill": "false"}, f"{vault.kv2}/a") as process:
        said(process, "waiting")
        assert children(process.pid) == []


def test_the_helper_is_small_and_holds_nothing_of_the_process(vault, params: dict[str, object]) -> None:
    with started_job("wait", params, f"{vault.kv2}/a") as process:
        said(process, "waiting")
        helper = helper_of(process.pid)
        folder = Path(f"/proc/{helper}")
        assert all(is_deaf_to(helper, number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        assert eventually(lambda: sorted(open_files(helper)) == [0, 1, 2])  # at its start it reads Python's own
        opened = open_files(helper)
        assert opened[0].startswith("pipe:")
        assert opened[1] == opened[2] == "/dev/null"
        assert str((folder / "cwd").readlink()) == "/"
        assert set(folder.joinpath("environ").read_bytes().split(b"\0")) <= {b"", *library_path()}
        assert str(params["secret_id"]) not in command(helper)
        assert os.getsid(helper) == helper
        assert kibibytes(helper, "Rss") < 5 * 1024


def library_path() -> list[bytes]:
    name = "LD_LIBRARY_PATH"
    return [f"{name}={os.environ[name]}".encode()] if name in os.environ else []


def kibibytes(pid: int, kind: str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))


def test_the_helper_dumps_no_core(vault, params: dict[str, object]) -> None:
    """Its memory holds the token."""
    with started_job("wait", params, f"{vault.kv2}/a") as process:
        said(process, "waiting")
        limits = Path(f"/proc/{helper_of(process.pid)}/limits")
        assert eventually(lambda: core_limits(limits.read_text()) == ["0", "0"])


def core_limits(limits: str) -> list[str]:
    (line,) = (line for line in limits.splitlines() if line.startswith("Max core file size"))
    return line.split()[4:6]


@pytest.mark.parametrize("is_left", [False, True], ids=["nothing is held", "a job goes on"])
def test_the_end_does_not_wait_for_a_helper_that_has_nothing_to_do(is_left: bool) -> None:
    helper = Helper(lambda: Server("http://127.0.0.1:1", None, True, None, ""))
    key = helper.hold("auth/token/revoke-self", token=TOKEN, body={})
    if is_left:
        helper.leave(is_left=True)
    else:
        helper.drop(key)
    process = helper._process
    helper.close()
    assert process.returncode == -signal.SIGKILL


def test_starting_the_helper_leaves_our_own_signals_as_they_are() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    helper = Helper(lambda: Server("http://127.0.0.1:1", None, True, None, ""))
    helper.drop(helper.hold("auth/token/revoke-self", token=TOKEN, body={}))
    helper.close()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_at_a_proper_end_the_helper_ends_and_nothing_is_given_back_twice(vault, params: dict[str, object]) -> None:
    with started_job("close", params, f"{vault.kv2}/a") as process:
        _, complained = process.communicate(timeout=LONGEST)
        assert complained == ""
        assert is_given_back(vault)
        assert counted(vault)[REVOKE] == 1


def test_after_close_there_is_no_child_left() -> None:
    helper = Helper(lambda: Server("http://127.0.0.1:1", None, True, None, ""))
    helper.drop(helper.hold("auth/token/revoke-self", token=TOKEN, body={}))
    pid = helper.pid
    helper.close()
    assert helper.pid is None
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def test_a_helper_that_was_closed_is_not_started_again() -> None:
    helper = Helper(lambda: Server("http://127.0.0.1:1", None, True, None, ""))
    helper.close()
    assert helper.hold("auth/token/revoke-self", token=TOKEN, body={}) is None
    assert helper.pid is None


def test_a_child_that_was_forked_while_a_job_goes_on_has_its_own_login_given_back_after_a_kill() -> None:
    recorder = Recorder()
    with WebServer(recorder) as server:
        helper = Helper(lambda: Server(server.address, None, True, None, ""))
        helper.leave(is_left=True)
        helper.forget()
        helper.hold("a", token=TOKEN, body={})
        finish(helper)
    assert [request.path for request in recorder.requests()] == ["/v1/a"]


def test_what_vault_could_not_take_back_is_left_to_the_helper(vault, params: dict[str, object]) -> None:
    with contextlib.closing(provider_of(params)) as provider:
        provider.get(f"{vault.kv2}/a", {"k"})
        vault.fail(1, 503, path="auth/token/revoke-self")
    assert eventually(lambda: is_given_back(vault))
    assert counted(vault)[REVOKE] == 1


def test_what_vault_refuses_to_take_back_is_owed_no_more(vault, params: dict[str, object]) -> None:
    with contextlib.closing(provider_of(params)) as provider:
        provider.get(f"{vault.kv2}/a", {"k"})
        vault.reset()
        vault.fail(1, 403, path="auth/token/revoke-self")
    assert seen(vault) == ["POST auth/token/revoke-self 403"]


@pytest.mark.parametrize("header", [{}, {"Retry-After": "0"}, {"Retry-After": "2"}], ids=str)
def test_a_login_is_given_back_again_after_a_vault_that_had_too_many_requests(vault, header: dict[str, str]) -> None:
    sessions = ManualSessions()
    with contextlib.closing(provider_of(parameters(vault), sessions)) as provider:
        provider.get(vault.creds(), {"username"})
        vault.fail(2, 429, path="auth/token/revoke-self", headers=header)
    assert is_given_back(vault)
    assert counted(vault)["POST auth/token/revoke-self 429"] == 2


def test_leases_are_given_back_again_after_a_vault_that_had_too_many_requests(vault) -> None:
    params = parameters(vault, token=vault.token("*", {"sys/leases/*": ["update"]}))
    with contextlib.closing(provider_of(params, ManualSessions())) as provider:
        provider.get(vault.creds(), {"username"})
        vault.fail(1, 429, path="sys/leases/revoke")
    assert vault.live_leases() == frozenset()


def test_all_leases_of_a_provider_wait_five_seconds_for_a_vault_that_has_too_many_requests(vault) -> None:
    sessions, path = ManualSessions(), vault.creds()
    params = parameters(vault, token=vault.token("*", {"sys/leases/*": ["update"]}))
    with contextlib.closing(provider_of(params, sessions)) as provider:
        for _ in range(3):
            provider.get(path, {"username"})
            provider._cache._kept.clear()
        vault.fail(99, 429, path="sys/leases/revoke")
        before = sessions.clock()
    assert sessions.clock() - before == 5


def test_the_providers_of_a_job_wait_five_seconds_together_for_a_vault_that_has_too_many_requests(vault) -> None:
    sessions = ManualSessions()
    providers = [provider_of(parameters(vault), sessions), provider_of(parameters(vault), sessions)]
    for provider in providers:
        provider.get(vault.creds(), {"username"})
    vault.fail(99, 429, path="auth/token/revoke-self")
    before = sessions.clock()
    close_all(("Provider vault", provider) for provider in providers)
    assert sessions.clock() - before == 5
    assert counted(vault)["POST auth/token/revoke-self 429"] == 7


def test_a_job_waits_five_seconds_for_leases_and_the_login_that_its_providers_share(vault) -> None:
    sessions, params = ManualSessions(), parameters(vault)
    providers = [provider_of(params, sessions), provider_of(params, sessions)]
    providers[0].get(vault.creds(), {"username"})
    vault.fail(99, 429)
    before = sessions.clock()
    close_all(("Provider vault", provider) for provider in providers)
    assert sessions.clock() - before == 5
    assert counted(vault)["POST sys/leases/revoke 429"] == 3
    assert counted(vault)["POST auth/token/revoke-self 429"] == 4


def test_a_provider_that_waits_in_vain_leaves_another_the_time_to_give_the_login_back(vault) -> None:
    sessions, params = ManualSessions(), parameters(vault)
    providers = [provider_of(params, sessions), provider_of(params, sessions)]
    providers[0].get(vault.creds(), {"username"})
    vault.fail(99, 429, path="sys/leases/revoke")
    vault.fail(1, 429, path="auth/token/revoke-self")
    close_all(("Provider vault", provider) for provider in providers)
    assert is_given_back(vault)


def test_a_close_does_not_wait_for_a_vault_that_asks_for_a_longer_time(vault) -> None:
    sessions = ManualSessions()
    with contextlib.closing(provider_of(parameters(vault), sessions)) as provider:
        provider.get(vault.creds(), {"username"})
        vault.fail(9, 429, path="auth/token/revoke-self", headers={"Retry-After": "6"})
        before = sessions.clock()
    assert sessions.clock() == before
    assert counted(vault)["POST auth/token/revoke-self 429"] == 1


def test_a_vault_that_hangs_is_asked_to_take_back_one_thing(vault) -> None:
    """However many leases and providers there are, their end waits once."""
    sessions, path = ManualSessions(), vault.creds()
    params = parameters(vault, token=vault.token("*", {"sys/leases/*": ["update"]}), timeout="3")
    providers = [provider_of(params, sessions) for _ in range(5)]
    for provider in providers:
        provider.get(path, {"username"})
    vault.reset()
    vault.fail(99, "hang")
    for provider in providers:
        provider.close()
    vault._front.close()  # lets go of what hangs, so that it is counted
    assert eventually(lambda: len(vault.requests()) == 1)


def test_a_lease_that_vault_could_not_take_back_does_not_keep_the_login(vault) -> None:
    sessions, params, path = ManualSessions(), parameters(vault), vault.creds()
    first, last = provider_of(params, sessions), provider_of(params, sessions)
    first.get(path, {"username"})
    vault.fail(1, 503, path="sys/leases/revoke")
    first.close()
    last.close()
    assert counted(vault)["POST sys/leases/revoke 503"] == 1
    assert is_given_back(vault)


def test_a_helper_that_has_something_to_give_back_is_not_killed() -> None:
    come = threading.Event()

    def slow(request: Request) -> Response:
        come.wait(LONGEST)
        return Response(204)

    with WebServer(slow) as server:
        helper = Helper(lambda: Server(server.address, None, True, None, ""))
        helper.hold("a", token=TOKEN, body={})
        pid = helper.pid
        helper.close()
        assert is_running(pid)
        come.set()
        assert eventually(lambda: not is_running(pid))


def test_a_helper_that_was_killed_is_started_again_with_all_that_is_held(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    with WebServer(recorder) as server:
        helper = Helper(lambda: Server(server.address, None, True, None, ""))
        helper.hold("a", token=TOKEN, body={})
        os.kill(helper.pid, signal.SIGKILL)
        assert eventually(lambda: not is_running(helper.pid))
        helper.hold("b", token=TOKEN, body={})
        helper.hold("c", token=TOKEN, body={})
        finish(helper)
        assert sorted(request.path for request in recorder.requests()) == ["/v1/a", "/v1/b", "/v1/c"]
    assert "the helper has ended" in caplog.text
    assert TOKEN not in caplog.text


def give(server: Mapping[str, object], *lines: object, end: str = "\n") -> None:
    """Run the program on ``lines``."""
    told = {"namespace": None, "login_namespace": None, "verify": True, "cert": None, "proxy": "", **server}
    text = "\n".join(json.dumps(line) for line in ({"server": told}, *lines)) + end
    program = [sys.executable, "-I", "-S", give_back.__file__]
    subprocess.run(program, input=text.encode(), check=True, timeout=LONGEST, env={})


def hold(key: int, path: str, **body: str) -> dict[str, object]:
    return {"hold": key, "path": path, "token": TOKEN, "body": body}


def paths_after(*lines: object, end: str = "\n") -> list[str]:
    recorder = Recorder()
    with WebServer(recorder) as server:
        give({"url": server.address}, *lines, end=end)
    return [request.path for request in recorder.requests()]


def test_what_is_held_is_posted_once() -> None:
    recorder = Recorder()
    with WebServer(recorder) as server:
        give({"url": server.address, "namespace": "team"}, hold(1, "sys/leases/revoke", lease_id="a/b"))
    (request,) = recorder.requests()
    assert (request.method, request.path, request.body) == ("POST", "/v1/sys/leases/revoke", {"lease_id": "a/b"})
    assert request.headers["x-vault-token"] == TOKEN
    assert request.headers["x-vault-namespace"] == "team"
    assert request.headers["x-vault-request"] == "true"
    assert request.headers["content-type"] == "application/json"


def test_a_login_is_given_back_in_its_own_namespace() -> None:
    recorder = Recorder()
    with WebServer(recorder) as server:
        told = {"url": server.address, "namespace": "team/a", "login_namespace": "team"}
        give(told, hold(1, "sys/leases/revoke"), hold(2, "auth/token/revoke-self"))
    found = {request.path: request.headers["x-vault-namespace"] for request in recorder.requests()}
    assert found == {"/v1/sys/leases/revoke": "team/a", "/v1/auth/token/revoke-self": "team"}


def test_what_was_dropped_is_not_posted() -> None:
    assert paths_after(hold(1, "a"), hold(2, "b"), {"drop": 1}, {"drop": 9}) == ["/v1/b"]


def test_a_line_that_is_cut_off_is_left_out() -> None:
    assert paths_after(hold(1, "a"), hold(2, "b"), end="") == ["/v1/a"]


def test_nothing_held_is_nothing_done() -> None:
    assert paths_after() == []


def test_a_value_of_the_shells_signs_reaches_vault_as_it_is() -> None:
    """The messages go through a shell."""
    odd, recorder = r"""$(id) `id` %s %n \n "q" 'q' ü  two""", Recorder()
    with WebServer(recorder) as server:
        helper = Helper(lambda: Server(server.address, None, True, None, ""))
        helper.hold("a", token=TOKEN, body={"lease_id": odd})
        finish(helper)
    assert [request.body for request in recorder.requests()] == [{"lease_id": odd}]


@pytest.mark.parametrize("count", [1, 99, 100, 101, 350])
def test_any_number_of_messages_reaches_the_helper(count: int) -> None:
    recorder = Recorder()
    with WebServer(recorder) as server:
        helper = Helper(lambda: Server(server.address, None, True, None, ""))
        keys = [helper.hold(str(number), token=TOKEN, body={}) for number in range(count)]
        for key in keys[1:]:
            helper.drop(key)
        finish(helper)
    assert [request.path for request in recorder.requests()] == ["/v1/0"]


def test_a_failure_does_not_keep_the_next_from_being_posted() -> None:
    recorder = Recorder(status=500)
    with WebServer(recorder) as server:
        give({"url": server.address}, hold(1, "a"), hold(2, "b"))
    assert [request.path for request in recorder.requests()] == ["/v1/a", "/v1/b"]


def test_a_token_does_not_follow_a_redirect() -> None:
    elsewhere = Recorder()
    with WebServer(elsewhere) as other:
        recorder = Recorder(status=307, headers={"Location": other.address})
        with WebServer(recorder) as server:
            give({"url": server.address}, hold(1, "a"))
    assert len(recorder.requests()) == 1
    assert elsewhere.requests() == []


@pytest.mark.parametrize(("verify", "count"), [("ca", 1), (False, 1), ("other ca", 0), (True, 0)], ids=str)
def test_tls_is_verified_as_in_the_process(tmp_path: Path, verify: object, count: int) -> None:
    for name in ("ca", "other ca"):
        (tmp_path / name).mkdir()
    certificates = {name: self_signed(tmp_path / name) for name in ("ca", "other ca")}
    found = str(certificates[verify].certificate) if verify in certificates else verify
    recorder = Recorder()
    with WebServer(recorder, tls=certificates["ca"].server_context()) as server:
        give({"url": server.address, "verify": found}, hold(1, "a"))
    assert len(recorder.requests()) == count


@pytest.mark.parametrize("relative", ["verify", "certificate", "key"])
def test_a_relative_path_is_found_from_another_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relative: str
) -> None:
    made, recorder = self_signed(tmp_path), Recorder()
    context = made.server_context()
    context.load_verify_locations(made.certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    paths = {"verify": made.certificate, "certificate": made.certificate, "key": made.key}
    named = {**{name: str(path) for name, path in paths.items()}, relative: paths[relative].name}
    monkeypatch.chdir(tmp_path)
    with WebServer(recorder, tls=context) as server:
        settings = VaultSettings(
            server.address, NOTHING, verify=named["verify"], cert=(named["certificate"], named["key"])
        )
        revocations = Revocations(settings)
        revocations.hold(RevokeRequest.of_login(TOKEN))
        finish(revocations)
    assert [request.path for request in recorder.requests()] == ["/v1/auth/token/revoke-self"]


def test_a_proxy_is_used_where_there_is_one() -> None:
    recorder = Recorder()
    with WebServer(recorder) as proxy:
        give({"url": "http://vault.invalid:8200", "proxy": proxy.address}, hold(1, "a"))
    assert [request.path for request in recorder.requests()] == ["http://vault.invalid:8200/v1/a"]
