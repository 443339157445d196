"""What Airflow's masker is told."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from secrets import token_hex
from types import SimpleNamespace

import pytest
from airflow._shared.secrets_masker import reset_secrets_masker as reset_masker_of_servers
from airflow.sdk._shared.secrets_masker import _secrets_masker, reset_secrets_masker
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import MaskSecret

from airflow_config_providers.masker import mask_everywhere, mask_parameters, mask_secrets, masked
from tests.limits import LONGEST

SHORT = 0.5
"""Seconds for which a thread waits in vain for one that must wait for it."""


@pytest.fixture(autouse=True)
def of_a_new_process() -> Iterator[None]:
    """Each secret makes masking slower."""
    yield
    reset_secrets_masker()
    reset_masker_of_servers()


def test_a_secret_is_masked() -> None:
    secret = token_hex(6)

    mask_secrets([secret])

    assert masked(f"at {secret} now") == "at *** now"


def test_a_parameter_whose_name_is_that_of_no_secret_is_not_masked() -> None:
    value = token_hex(6)

    mask_secrets([value], name="auth_type")

    assert masked(value) == value


@pytest.mark.parametrize("name", ["token_path", "secret_id_path", "secret.path", "password.paths"])
def test_the_path_of_a_secret_is_not_masked_because_a_message_names_it(name: str) -> None:
    value = f"/run/{token_hex(6)}"

    mask_parameters({f"config.providers.vault.param.{name}": value})

    assert masked(f"There is no file {value}.") == f"There is no file {value}."


@pytest.mark.parametrize("name", ["token", "secret_id", "path_password", "secret_mypath"])
def test_a_parameter_whose_name_is_that_of_a_secret_is_masked(name: str) -> None:
    value = token_hex(6)

    mask_parameters({f"config.providers.vault.param.{name}": value})

    assert masked(value) == "***"


def test_a_short_secret_is_left_out_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    mask_secrets(["zq7"])

    assert masked("zq7") == "zq7"
    assert caplog.records == []


def test_the_masker_which_is_slow_gets_the_longest_secrets_and_each_once() -> None:
    shorter, longer = [token_hex(6) for _ in range(250)], [token_hex(8) for _ in range(20)]

    mask_secrets([*longer, *shorter, *longer])

    assert [masked(secret) for secret in longer] == ["***"] * 20
    assert sum(masked(secret) == "***" for secret in shorter) == 5


class SlowPatterns(set[str]):
    """Patterns that the first thread reads so slowly that the second can register others, if nothing stops it."""

    def __init__(self, patterns: set[str]) -> None:
        super().__init__(patterns)
        self.are_read, self.have_others = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[str]:
        found = [*super().__iter__()]
        if not self.are_read.is_set():
            self.are_read.set()
            self.have_others.wait(SHORT)
        return iter(found)


def test_secrets_that_two_threads_register_at_once_are_all_masked() -> None:
    first, second = token_hex(6), token_hex(6)
    masker = _secrets_masker()
    masker.patterns = patterns = SlowPatterns(masker.patterns)

    thread = threading.Thread(target=mask_secrets, args=([first],))
    thread.start()
    patterns.are_read.wait(LONGEST)
    mask_secrets([second])
    patterns.have_others.set()
    thread.join(LONGEST)

    assert [masked(secret) for secret in (first, second)] == ["***"] * 2


def test_a_secret_whose_mask_was_overwritten_is_masked_when_it_is_registered_again() -> None:
    """Airflow registers in its own threads, which wait for nobody."""
    secret, masker = token_hex(6), _secrets_masker()
    mask_secrets([secret])
    masker.replacer = re.compile("older")

    mask_secrets([secret])

    assert masked(secret) == "***"


def test_the_end_of_a_secret_is_masked_although_former_ones_are_its_beginning() -> None:
    secret = token_hex(16)
    for length in range(8, len(secret) + 1, 4):
        mask_secrets([secret[:length]])

    assert masked(secret) == "***"


def test_patterns_that_airflow_has_compiled_in_another_order_are_compiled_again() -> None:
    secret, masker = token_hex(6), _secrets_masker()
    mask_secrets([secret])
    masker.add_mask(token_hex(6))

    mask_secrets([secret])

    assert masker.replacer.pattern == "|".join(sorted(masker.patterns, reverse=True))


def test_each_line_of_a_secret_is_masked_because_programs_print_line_by_line() -> None:
    lines = [token_hex(16) for _ in range(20)]

    mask_secrets(["\n".join(["-----BEGIN KEY-----", *lines, "-----END KEY-----"])])

    assert [masked(line) for line in lines] == ["***"] * 20
    assert masked("-----BEGIN KEY-----") == "-----BEGIN KEY-----"


def test_a_word_on_a_line_of_its_own_is_not_masked_because_rendered_fields_have_it_too() -> None:
    mask_secrets([f"production\n{token_hex(16)}"])

    assert masked("spark.app.env = production") == "spark.app.env = production"


def test_the_lines_of_a_long_secret_displace_no_other_secret() -> None:
    key, password = "\n".join(token_hex(16) for _ in range(200)), token_hex(6)

    mask_secrets([key, password])

    assert masked(password) == "***"
    assert sum(masked(line) == "***" for line in key.splitlines()) == 50


def test_of_many_values_that_airflow_shows_all_are_masked_and_only_the_longest_lines() -> None:
    keys = ["\n".join(token_hex(16) for _ in range(40)) for _ in range(3)]

    mask_everywhere(keys)

    assert [masked(key) for key in keys] == ["***"] * 3
    assert sum(masked(line) == "***" for key in keys for line in key.splitlines()) == 50


def test_what_the_masker_knew_before_stays_masked() -> None:
    secrets = [token_hex(6) for _ in range(3)]

    for secret in secrets:
        mask_secrets([secret])

    assert masked(" ".join(secrets)) == "*** *** ***"


def test_the_masker_decides_which_of_several_secrets_is_none() -> None:
    secret = token_hex(6)

    mask_secrets([secret, "airflow"])

    assert masked(f"airflow {secret}") == "airflow ***"


def test_the_supervisor_gets_all_secrets_in_one_message_that_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Supervisor:
        def __init__(self) -> None:
            self.messages: list[str] = []

        def send(self, message: MaskSecret) -> None:
            self.messages.append(message.model_dump_json())

    supervisor, secrets = Supervisor(), sorted(token_hex(6) for _ in range(3))
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)

    mask_secrets([*secrets, "half \ud800 of a pair"])

    assert [json.loads(message)["value"] for message in supervisor.messages] == [secrets]
    assert masked("half \ud800 of a pair") == "***"


def test_a_supervisor_in_this_process_gets_no_secret_which_it_would_log(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[MaskSecret] = []
    supervisor, secret = SimpleNamespace(supervisor=object(), send=messages.append), token_hex(6)
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", supervisor, raising=False)

    mask_secrets([secret])

    assert messages == []
    assert masked(secret) == "***"


def test_a_value_with_more_lines_than_are_registered_is_masked_as_a_whole() -> None:
    values = ["\n".join([token_hex(20), *(token_hex(16) for _ in range(6))]) for _ in range(10)]

    mask_secrets(values)

    assert [masked(value) for value in values] == ["***"] * 10
