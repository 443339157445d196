from __future__ import annotations

import os
import threading

import pytest

from airflow_config_providers.providers.vault.session import Sessions
from tests.providers.vault.opened import counted, opened, parameters
from tests.providers.vault.processes import run_job

LOGIN = "POST auth/approle/login 200"
REVOKE = "POST auth/token/revoke-self 204"


@pytest.fixture
def params(vault) -> dict[str, object]:
    vault.put("a", {"k": "v"})
    return {**parameters(vault), "give_back_after_kill": "true"}


def test_a_child_signs_in_anew_and_leaves_the_parent_s_login_alone(vault, params: dict[str, object]) -> None:
    code, lines, complained = run_job("read in a child", {**params, "cache.ttl": "0"}, f"{vault.kv2}/a")
    assert (code, complained) == (0, "")
    assert lines == ["read k", "read k", "child ended with 0", "read k"]
    assert counted(vault) == {LOGIN: 2, "GET kv2/data/a 200": 3, REVOKE: 2}
    tokens = [request.token for request in vault.requests() if request.method == "GET" or "revoke" in request.path]
    assert tokens == [tokens[0], tokens[1], tokens[1], tokens[0], tokens[0]]
    assert tokens[0] != tokens[1]
    assert vault.live_tokens() == frozenset()


def test_a_child_does_not_use_the_parent_s_lease(vault, params: dict[str, object]) -> None:
    path = vault.creds()
    code, _, complained = run_job("read in a child", params, path)
    assert (code, complained) == (0, "")
    assert counted(vault)["GET database/creds/app 200"] == 2


def test_a_fork_while_others_read_harms_nobody(vault, params: dict[str, object]) -> None:
    vault.delay(10)
    code, lines, complained = run_job("fork in the middle", {**params, "cache.ttl": "0"}, f"{vault.kv2}/a")
    assert (code, complained) == (0, "")
    assert [line for line in lines if line.startswith("child")] == ["child ended with 0"] * 10
    assert counted(vault)[LOGIN] == 11


def test_a_fork_while_another_signs_in_harms_nobody(vault, params: dict[str, object]) -> None:
    vault.delay(300)
    code, lines, complained = run_job("fork before a login", params, f"{vault.kv2}/a")
    assert (code, complained) == (0, "")
    assert sorted(lines) == ["child ended with 0", "read k", "read k"]
    assert counted(vault)[LOGIN] == 2


def test_nothing_is_imported_while_a_fork_may_happen(vault, params: dict[str, object]) -> None:
    """A child that is forked in the middle of an import waits for ever when it imports the same."""
    by_name = {**params, "url": vault.address.replace("127.0.0.1", "localhost")}
    code, lines, complained = run_job("say what it imports", by_name, f"{vault.kv2}/a", vault.creds())
    assert (code, complained) == (0, "")
    assert lines[-1] == "imported"


def test_what_a_child_forgets_is_the_login_the_answers_and_the_locks(vault) -> None:
    vault.put("a", {"k": "v"})
    sessions = Sessions()
    with opened(vault, sessions=sessions) as provider:
        provider.get(f"{vault.kv2}/a")
        with sessions._lock:
            sessions.forget()
        provider.get(f"{vault.kv2}/a")
        assert counted(vault) == {LOGIN: 2, "GET kv2/data/a 200": 2}


def test_a_child_that_is_forked_while_a_job_goes_on_gives_its_own_login_back(vault) -> None:
    path, sessions = vault.creds(), Sessions()
    with opened(vault, sessions=sessions) as provider:
        provider.get(path)
        provider.keep_leases(is_left=True)
        sessions.forget()
        provider.get(path)
    assert counted(vault)[REVOKE] == 1


def test_sessions_that_are_gone_are_not_kept_for_a_fork(vault) -> None:
    import gc
    import weakref

    sessions = Sessions()
    with opened(vault, sessions=sessions):
        pass
    gone = weakref.ref(sessions)
    del sessions
    gc.collect()
    assert gone() is None


def test_a_fork_waits_while_a_helper_is_started() -> None:
    class Anyone:
        def forget(self) -> None: ...

    sessions, order = Sessions(), []
    sessions.join(_settings(), Anyone())
    with sessions._no_fork:
        thread = threading.Thread(target=lambda: order.append(("forked", _fork())))
        thread.start()
        thread.join(0.2)
        order.append("started")
    thread.join()
    assert order == ["started", ("forked", 0)]


def _settings() -> object:
    from airflow_config_providers.providers.vault.parameters import read_settings

    return read_settings({"url": "http://127.0.0.1:1", "token": "t"}, connections=lambda _: None, environ={})


def _fork() -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
