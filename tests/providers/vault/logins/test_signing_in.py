"""What the logins of a process know of one another."""

from __future__ import annotations

import contextlib
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from airflow_config_providers.core.lookup import Answers, FetchOptions, Lookup
from airflow_config_providers.exceptions import AccessDeniedError, ProviderLookupError, ProviderUnavailableError
from airflow_config_providers.providers.vault.bounded import MOST
from airflow_config_providers.providers.vault.logins.signing_in import LoginAttempts, unanswered_login
from airflow_config_providers.providers.vault.parameters import read_settings
from airflow_config_providers.providers.vault.provider import VaultConfigProvider
from airflow_config_providers.providers.vault.session import Sessions
from airflow_config_providers.providers.vault.settings import VaultSettings
from airflow_config_providers.testing import FakeClock
from tests.limits import LONGEST, eventually
from tests.providers.vault.opened import ManualSessions, Parameters, parameters, provider_of, refused, side_by_side

ENDLESS = 999
VAULT_COUNTS_ANEW_AFTER = 15 * 60

UNREADABLE = pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"body": "{}", "headers": {"Content-Encoding": "gzip"}}, id="not compressed as it says"),
        pytest.param({"body": "[]"}, id="a list"),
        pytest.param({"body": '{"errors": [{}]}'}, id="errors that are objects"),
        pytest.param({"body": " " * (MOST + 1)}, id="too large"),
    ],
)


def error_of(provider: VaultConfigProvider, vault) -> Exception | None:
    try:
        provider.get(f"{vault.kv2}/a", {"k"})
    except ProviderLookupError as error:
        return error
    return None


def error_with(params: Parameters, vault, sessions: Sessions) -> Exception | None:
    """Open a provider, read with it, and give what was raised."""
    with contextlib.closing(provider_of(params, sessions)) as provider:
        return error_of(provider, vault)


def logins(vault) -> int:
    return sum(request.is_login for request in vault.requests())


@pytest.fixture(autouse=True)
def secret(vault) -> None:
    vault.put("a", {"k": "v"})
    vault.reset()


@pytest.mark.parametrize("method", ["userpass", "approle", "jwt"])
def test_a_login_that_was_refused_is_not_sent_again_by_a_provider_that_is_opened_later(vault, method: str) -> None:
    sessions, params = Sessions(), refused(vault, method)
    vault.reset()
    for _ in range(6):
        error = error_with(params, vault, sessions)
        assert type(error) is AccessDeniedError
        assert f"refused the login by {method}" in str(error)
    assert logins(vault) == 1


@pytest.mark.parametrize("status", [400, 401, 403])
@UNREADABLE
def test_a_refusal_whose_text_cannot_be_read_is_a_refusal(vault, answer: dict, status: int) -> None:
    sessions, params = Sessions(), refused(vault)
    vault.reset()
    vault.fail(ENDLESS, status, path="auth/", **answer)
    for _ in range(3):
        error = error_with(params, vault, sessions)
        assert type(error) is AccessDeniedError
        assert f"refused the login by userpass (status {status})" in str(error)
    assert logins(vault) == 1


def test_a_refusal_that_is_cut_off_is_a_refusal(vault) -> None:
    sessions, params = Sessions(), refused(vault)
    vault.reset()
    vault.fail(ENDLESS, "cut", path="auth/")
    assert [type(error_with(params, vault, sessions)) for _ in range(3)] == [AccessDeniedError] * 3
    assert logins(vault) == 1


@pytest.mark.parametrize("method", ["jwt", "userpass"])
def test_a_refusal_whose_text_cannot_be_read_is_not_asked_for_again(vault, method: str) -> None:
    params = refused(vault, method)
    vault.reset()
    vault.fail(ENDLESS, 400, path="auth/", body="{}", headers={"Content-Encoding": "gzip"})
    with contextlib.closing(provider_of(params)) as provider:
        place, clock = ("v", f"{vault.kv2}/a"), FakeClock()
        answers = Lookup({"v": provider}, FetchOptions(attempts=5), sleep=clock.sleep, clock=clock).fetch(
            {place: {"k"}}
        )
    assert type(answers.failures[place]) is AccessDeniedError
    assert logins(vault) == 1


def test_providers_of_the_process_know_the_refusal_without_being_told_to(vault) -> None:
    params = refused(vault)
    vault.reset()
    for _ in range(3):
        provider = VaultConfigProvider(lambda _: None, {})
        provider.configure(params)
        with contextlib.closing(provider), pytest.raises(AccessDeniedError, match="refused the login"):
            provider.get(f"{vault.kv2}/a", {"k"})
    assert logins(vault) == 1


def test_definitions_that_differ_in_something_else_share_the_refusal(vault, tmp_path: Path) -> None:
    sessions, params = Sessions(), refused(vault)
    (tmp_path / "password").write_text("wrong\n")
    in_a_file = {name: value for name, value in params.items() if name != "password"}
    vault.reset()
    others = [
        params,
        {**params, "timeout": "3"},
        {**params, "mount_point": "apps"},
        {**params, "auth_mount_point": "userpass"},
        {**params, "namespace": "team/a", "auth_namespace": "root"},
        {**in_a_file, "password_path": str(tmp_path / "password")},
    ]
    for other in others:
        assert type(error_with(other, vault, sessions)) is AccessDeniedError
    assert logins(vault) == 1


def test_providers_that_sign_in_at_the_same_time_are_refused_once(vault) -> None:
    sessions, params = Sessions(), refused(vault)
    opened = [provider_of({**params, "timeout": str(number + 5)}, sessions) for number in range(8)]
    path, numbers = f"{vault.kv2}/a", iter(range(8))
    vault.reset()
    vault.delay(30)
    found = side_by_side(8, lambda: opened[next(numbers)].get(path, {"k"}))
    for provider in opened:
        provider.close()
    assert {type(error) for error in found} == {AccessDeniedError}
    assert logins(vault) == 1


@pytest.mark.parametrize("other", ["password", "user", "namespace"])
def test_another_login_is_sent_at_once(vault, other: str) -> None:
    sessions, user = Sessions(), vault.userpass("*")
    params = {**refused(vault), "username": user.username}
    vault.reset()
    assert type(error_with(params, vault, sessions)) is AccessDeniedError
    changed = {
        "password": {"password": user.password},
        "user": {"username": vault.userpass("*").username},
        "namespace": {"auth_namespace": "team/b"},
    }[other]
    vault.reset()
    error = error_with({**params, **changed}, vault, sessions)
    assert (error is None) == (other == "password")
    assert logins(vault) == 1


def test_a_file_is_tried_again_when_what_it_holds_has_changed_and_not_when_it_was_only_written(
    vault, tmp_path: Path
) -> None:
    user, file, sessions = vault.userpass("*"), tmp_path / "password", Sessions()
    params = {name: value for name, value in refused(vault).items() if name != "password"}
    params |= {"username": user.username, "password_path": str(file)}
    vault.reset()
    for content, count in [("wrong", 1), ("wrong\n", 1), ("wrong too", 2), ("wrong", 2)]:
        file.write_text(content)
        assert type(error_with(params, vault, sessions)) is AccessDeniedError
        assert logins(vault) == count
    file.write_text(user.password)
    assert error_with(params, vault, sessions) is None


def test_a_refusal_is_forgotten_when_vault_has_forgotten_it(vault) -> None:
    sessions, params = ManualSessions(), refused(vault)
    vault.reset()
    for seconds, count in [(0, 1), (900, 1), (59, 1), (2, 2), (0, 2)]:
        sessions.clock.sleep(seconds)
        assert type(error_with(params, vault, sessions)) is AccessDeniedError
        assert logins(vault) == count


def test_a_forked_child_knows_what_was_refused_to_its_parent(vault) -> None:
    sessions, params = Sessions(), refused(vault)
    vault.reset()
    assert type(error_with(params, vault, sessions)) is AccessDeniedError
    with sessions._lock:
        sessions.forget()
    assert type(error_with(params, vault, sessions)) is AccessDeniedError
    assert logins(vault) == 1


def test_several_checks_in_a_row_send_a_refused_login_once_more(vault) -> None:
    sessions, params = ManualSessions(), refused(vault)
    vault.reset()
    assert type(error_with(params, vault, sessions)) is AccessDeniedError
    for seconds, count in [(0, 2), (0, 2), (59, 2), (2, 3)]:
        sessions.clock.sleep(seconds)
        with (
            contextlib.closing(provider_of({**params, "timeout": f"{LONGEST - count:g}"}, sessions)) as provider,
            pytest.raises(AccessDeniedError, match="refused the login"),
        ):
            provider.check()
        assert logins(vault) == count


@pytest.mark.parametrize("what", [503, 404, 429])
def test_what_is_no_refusal_is_not_held_against_another_session(vault, what: int) -> None:
    sessions, params = Sessions(), parameters(vault)
    vault.fail(1, what, path="auth/")
    assert error_with(params, vault, sessions) is not None
    assert error_with(params, vault, sessions) is None


def settings_of(number: int) -> VaultSettings:
    params = {"url": "http://v", "auth_type": "userpass", "username": "u", "password": f"c4nary-{number}"}
    return read_settings(params, connections=lambda _: None, environ={})


def key_of(attempts: LoginAttempts, number: int) -> bytes:
    settings = settings_of(number)
    return attempts.key(settings, settings.login.read())


def test_what_is_kept_of_a_login_is_a_digest_that_another_process_cannot_make() -> None:
    attempts = LoginAttempts()
    key = key_of(attempts, 1)
    assert key == key_of(attempts, 1)
    assert key not in {key_of(LoginAttempts(), 1), key_of(attempts, 2)}
    attempts.refused(key, AccessDeniedError("no"), now=0.0)
    assert "c4nary" not in repr(vars(attempts))


def test_a_process_keeps_a_bounded_number_of_refusals_and_the_newest() -> None:
    attempts, clock = LoginAttempts(), FakeClock(0.0)
    keys = [key_of(attempts, number) for number in range(1100)]
    for key in keys:
        attempts.refused(key, AccessDeniedError("no"), now=clock())
    is_kept = []
    for key in keys:
        try:
            attempts.check(key, now=clock())
            is_kept.append(False)
        except AccessDeniedError:
            is_kept.append(True)
    assert is_kept == [False] * 76 + [True] * 1024


def test_a_check_of_a_held_token_needs_no_file(vault, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(vault.token("*"))
    params = {"url": vault.address, "token_path": str(file), "give_back_after_kill": "false"}
    with contextlib.closing(provider_of(params)) as provider:
        assert error_of(provider, vault) is None
        file.unlink()
        provider.check()


@pytest.mark.parametrize("method", ["userpass", "approle"])
@pytest.mark.parametrize(
    ("what", "answer"),
    [("reset", {}), (504, {}), (200, {"body": "{}", "headers": {"Content-Encoding": "gzip"}})],
    ids=["reset", "timeout of a proxy", "cannot be decoded"],
)
def test_a_login_whose_answer_is_lost_is_sent_again_later_and_later(
    vault, method: str, what: str | int, answer: dict
) -> None:
    sessions, params = ManualSessions(), refused(vault, method)
    vault.reset()
    vault.fail(ENDLESS, what, path="auth/", **answer)
    steps = [(0, 1, None), (0, 1, 8), (7, 1, 1), (1, 2, None), (0, 2, 120), (120, 3, None), (0, 3, 960), (960, 4, None)]
    for pause, count, retry_after in steps:
        sessions.clock.sleep(pause)
        error = error_with(params, vault, sessions)
        assert type(error) is ProviderUnavailableError
        assert (logins(vault), error.retry_after) == (count, retry_after)
        assert (f"did not answer the login by {method}" in str(error)) == (retry_after is not None)


@pytest.mark.parametrize(("lost", "shown"), [(1, "8 seconds"), (2, "2 minutes"), (3, "16 minutes"), (4, "16 minutes")])
def test_a_login_that_is_not_sent_says_for_how_long(lost: int, shown: str) -> None:
    attempts, settings = LoginAttempts(), settings_of(1)
    key = attempts.key(settings, settings.login.read())
    for _ in range(lost):
        attempts.lost(key, partial(unanswered_login, settings.login, "Vault"), now=0.0)
    with pytest.raises(ProviderUnavailableError, match=f"waits for up to {shown} before it sends it again"):
        attempts.check(key, now=1.0)


def test_a_process_that_never_gets_an_answer_locks_nobody_out() -> None:
    attempts, settings, sent = LoginAttempts(), settings_of(1), []
    key = attempts.key(settings, settings.login.read())
    for now in range(4 * 3600):
        with contextlib.suppress(ProviderUnavailableError):
            attempts.check(key, now=now)
            sent.append(now)
            attempts.lost(key, partial(unanswered_login, settings.login, "Vault"), now=now)
    assert sent[:4] == [0, 8, 128, 1088]
    assert most_failures_that_vault_counts(sent) == 3


def most_failures_that_vault_counts(times: list[int]) -> int:
    """Return how far Vault counts: it begins anew after 15 minutes without a failure."""
    counts = [1]
    for earlier, later in pairwise(times):
        counts.append(1 if later - earlier > VAULT_COUNTS_ANEW_AFTER else counts[-1] + 1)
    return max(counts)


def test_a_test_of_the_connection_uses_up_one_of_the_logins_whose_answers_may_be_lost(vault) -> None:
    sessions, params = ManualSessions(), refused(vault)
    vault.reset()
    vault.fail(ENDLESS, "reset", path="auth/")
    for pause in (0, 8):
        sessions.clock.sleep(pause)
        assert type(error_with(params, vault, sessions)) is ProviderUnavailableError
    with contextlib.closing(provider_of(params, sessions)) as provider, pytest.raises(ProviderUnavailableError):
        provider.check()
    assert logins(vault) == 3
    error = error_with(params, vault, sessions)
    assert (logins(vault), error.retry_after) == (3, 960)


@pytest.mark.parametrize("method", ["userpass", "approle"])
@pytest.mark.parametrize("what", ["reset", "cut"])
def test_a_resolve_outlasts_a_login_whose_answer_is_lost(vault, method: str, what: str) -> None:
    sessions, user = ManualSessions(), vault.userpass("*")
    by_password = {"auth_type": "userpass", "username": user.username, "password": user.password}
    params = parameters(vault) if method == "approle" else {**refused(vault), **by_password}
    vault.reset()
    vault.fail(1, what, path="auth/")
    answers, seconds = resolved(params, vault, sessions)
    assert (answers.failures, len(answers.data)) == ({}, 3)
    assert logins(vault) == 2
    assert 8 <= seconds < 16


def test_a_resolve_sends_a_login_twice_whose_answers_are_lost_and_one_some_minutes_later_serves(vault) -> None:
    sessions, params = ManualSessions(), parameters(vault)
    vault.reset()
    vault.fail(2, "reset", path="auth/")
    answers, _ = resolved(params, vault, sessions)
    assert {type(error) for error in answers.failures.values()} == {ProviderUnavailableError}
    assert logins(vault) == 2
    sessions.clock.sleep(120)
    assert error_with(params, vault, sessions) is None


def resolved(params: Parameters, vault, sessions: ManualSessions) -> tuple[Answers, float]:
    """Read three places as a resolve does; give what came of it, and how long it took."""
    clock = sessions.clock
    for name in "abc":
        vault.put(name, {"k": "v"})
    places = [("v", f"{vault.kv2}/{name}") for name in "abc"]
    began = clock()
    with contextlib.closing(provider_of(params, sessions)) as provider:
        lookup = Lookup(
            {"v": provider},
            FetchOptions(attempts=5, timeout=60, in_callers_thread=True),
            sleep=clock.sleep,
            clock=clock,
        )
        return lookup.fetch({place: {"k"} for place in places}), clock() - began


def test_a_login_that_gets_no_answer_in_time_is_sent_again_later(vault) -> None:
    sessions, params = ManualSessions(), refused(vault, timeout="0.2")
    vault.reset()
    vault.fail(ENDLESS, "hang", path="auth/")
    errors = []
    with contextlib.closing(provider_of(params, sessions)) as provider:
        for pause in (0, 0, 8, 0):
            sessions.clock.sleep(pause)
            errors.append(str(error_of(provider, vault)))
    vault._front.close()  # lets go of what hangs, so that it is counted
    assert ["in time. Try" in error for error in errors] == [True, False, True, False]
    assert all("or raise config.providers.NAME.param.timeout." in error for error in errors)
    assert ["did not answer the login by" in error for error in errors] == [False, True, False, True]
    assert eventually(lambda: logins(vault) == 2)


def test_a_login_without_a_password_is_sent_again_although_its_answer_is_lost(vault) -> None:
    sessions, params = Sessions(), refused(vault, "jwt")
    vault.reset()
    vault.fail(99, "reset", path="auth/")
    for count in (1, 2, 3):
        assert type(error_with(params, vault, sessions)) is ProviderUnavailableError
        assert logins(vault) == count


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}], ids=["readable", "not compressed as it says"])
@pytest.mark.parametrize("what", [429, 500, 502, 503])
def test_a_login_that_vault_answers_is_not_lost(vault, what: int, headers: dict[str, str]) -> None:
    sessions, params = Sessions(), parameters(vault)
    vault.fail(3, what, path="auth/", body="{}", headers=headers)
    for _ in range(3):
        assert type(error_with(params, vault, sessions)) is ProviderUnavailableError
    assert error_with(params, vault, sessions) is None


def test_an_answer_that_comes_after_a_lost_one_serves(vault) -> None:
    sessions, params = ManualSessions(), parameters(vault)
    for _ in range(2):
        vault.fail(1, "reset", path="auth/")
        assert type(error_with(params, vault, sessions)) is ProviderUnavailableError
        sessions.clock.sleep(8)
        assert error_with(params, vault, sessions) is None


def test_a_login_that_worked_before_and_whose_answers_are_lost_is_sent_again_after_a_minute(vault) -> None:
    sessions, params = ManualSessions(), parameters(vault)
    assert error_with(params, vault, sessions) is None
    vault.reset()
    vault.fail(4, "reset", path="auth/")
    for pause, count in [(0, 1), (7, 1), (1, 2), (59, 2), (1, 3), (7, 3), (1, 4), (59, 4)]:
        sessions.clock.sleep(pause)
        assert type(error_with(params, vault, sessions)) is ProviderUnavailableError
        assert logins(vault) == count
    sessions.clock.sleep(1)
    assert error_with(params, vault, sessions) is None


def test_a_session_does_not_wait_for_ever_while_another_one_signs_in() -> None:
    attempts = LoginAttempts()
    key = key_of(attempts, 1)
    with (
        attempts.turn(key, seconds=0),
        pytest.raises(ProviderUnavailableError, match="Another provider is signing in"),
        attempts.turn(key, seconds=0),
    ):
        pytest.fail("there are two at once")
    with attempts.turn(key, seconds=0):
        pass
