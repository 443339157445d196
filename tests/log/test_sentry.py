"""What Sentry gets while values are in the process, by its real SDK with a transport that keeps what it is given."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log.installation import reversing
from airflow_config_providers.log.sentry import SentryGuard

VALUE = "Zq8-s3cr3t/val+1"
REFERENCE = "${v:a}"

log = logging.getLogger("somebody.else")


def reverser():
    return ReverseTransformer({}, {ConfigVariable("v", "", "a"): VALUE})


@pytest.fixture
def sdk():
    return pytest.importorskip("sentry_sdk", reason="install sentry-sdk")


@pytest.fixture
def sent(sdk):
    """What was sent, as text; the SDK is on for this test."""
    from sentry_sdk import scope
    from sentry_sdk.transport import Transport

    kept = []

    class Keeping(Transport):
        def capture_envelope(self, envelope):
            kept.append(envelope.serialize().decode())

    processors = [*scope.global_event_processors]
    client = sdk.Client(
        "http://key@localhost/1",
        transport=Keeping,
        traces_sample_rate=1.0,
        enable_logs=True,
        auto_enabling_integrations=False,
    )
    with sdk.isolation_scope():
        sdk.get_global_scope().set_client(client)
        from sentry_sdk.integrations.logging import ignore_logger

        ignore_logger("tests")
        yield lambda: (client.flush(), "\n".join(kept))[1]
    client.close()
    sdk.get_global_scope().set_client(None)
    scope.global_event_processors[:] = processors


def logged(sdk):
    log.error("the password is %s", VALUE)


def logged_as_an_extra(sdk):
    log.error("wrong", extra={"given": {"password": VALUE}})


def caught(sdk):
    local = {"password": VALUE}
    try:
        raise ValueError(f"wrong: {VALUE}", local)
    except ValueError:
        log.exception("failed")


def captured(sdk):
    class Client:
        def __repr__(self):
            return f"Client({VALUE!r})"

    client = Client()
    try:
        raise KeyError(repr(client))
    except KeyError as error:
        sdk.capture_exception(error)


def after_a_breadcrumb(sdk):
    log.warning("trying %s", VALUE)
    sdk.capture_message("failed")


def tagged(sdk):
    with sdk.new_scope() as scope:
        scope.set_tag("password", VALUE)
        scope.set_extra("url", f"jdbc:x?password={VALUE}")
        scope.set_context("db", {"password": [VALUE]})
        scope.set_user({"id": VALUE})
        sdk.capture_message("failed")


def traced(sdk):
    with (
        sdk.start_transaction(name=f"login {VALUE}"),
        sdk.start_span(op="db", name=f"select '{VALUE}'") as span,
    ):
        span.set_data("password", VALUE)


def logged_apart(sdk):
    log.info("the password is %s", VALUE)


@pytest.mark.parametrize(
    "send", [logged, logged_as_an_extra, caught, captured, after_a_breadcrumb, tagged, traced, logged_apart]
)
def test_sentry_gets_references(sdk, sent, send):
    log.setLevel(logging.INFO)
    with reversing(reverser()):
        send(sdk)

        text = sent()

    assert REFERENCE in text
    assert VALUE not in text


def test_what_the_deployment_does_with_logs_comes_after(sdk, sent):
    seen = []
    sdk.get_client().options["before_send_log"] = lambda entry, hint: seen.append(entry["body"])
    log.setLevel(logging.INFO)

    with reversing(reverser()):
        log.info("it is %s", VALUE)

    assert seen == [f"it is {REFERENCE}"]


def test_without_values_everything_is_sent_as_it_is(sdk, sent):
    with reversing(reverser()):
        pass
    log.error("the password is %s", VALUE)

    assert VALUE in sent()


def test_there_is_one_guard_however_many_tasks_run(sdk, sent):
    for _ in range(3):
        with reversing(reverser()):
            pass

    from sentry_sdk import scope

    assert len([each for each in scope.global_event_processors if isinstance(each, SentryGuard)]) == 1


def test_what_cannot_be_checked_is_not_sent():
    class Odd:
        def __str__(self):
            raise ValueError

    active = ActiveReversers()
    active.add(reverser())
    guard = SentryGuard(active)

    assert guard({"extra": Odd(), "message": VALUE}, {}) == {"extra": UNCHECKED, "message": REFERENCE}
    assert guard([VALUE], {}) is None


def test_the_sdk_is_not_loaded_for_it():
    script = (
        "import sys; from airflow_config_providers.log import installation; "
        "from airflow_config_providers.core import ConfigVariable, ReverseTransformer; "
        "installation.install(ReverseTransformer({}, {ConfigVariable('v', '', 'a'): 'Zq8-s3cr3t'})); "
        "print('sentry_sdk' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_a_breadcrumb_that_is_sent_after_the_block_shows_the_reference(sdk, sent):
    with reversing(reverser()):
        log.warning("signed in with %s", VALUE)
    sdk.capture_message("later")

    assert VALUE not in sent()
    assert REFERENCE in sent()


@pytest.mark.parametrize("value", ["error", str(datetime.now(UTC).year) + "-"])
def test_a_value_that_is_a_word_of_each_event_leaves_its_level_and_time(sdk, sent, value):
    with reversing(ReverseTransformer({}, {ConfigVariable("v", "", "a"): value})):
        sdk.capture_message(f"it says {value}", level="error")
    events = [json.loads(line) for line in sent().splitlines() if '"message"' in line]

    assert [(one["level"], one["message"]) for one in events] == [("error", f"it says {REFERENCE}")]
    assert datetime.fromisoformat(events[0]["timestamp"])
