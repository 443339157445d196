"""Every error of the package can be raised again, copied, pickled and retried."""

from __future__ import annotations

import copy
import errno
import importlib
import pickle
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from traceback import walk_tb

import pytest

from airflow_config_providers.core.lookup import FetchOptions, Lookup
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ProviderUnavailableError,
    errno_meaning,
    problems_of,
    refuse,
    translating,
)
from airflow_config_providers.job.nested_texts import refusing_depth
from airflow_config_providers.secrets.answering import step
from airflow_config_providers.secrets.refusal import SecretRefusedError, refusal
from airflow_config_providers.spark.audit.spark_failures import translating_failures
from airflow_config_providers.spark.processes.child_process import refusing_too_long
from airflow_config_providers.testing import FakeClock, InMemoryConfigProvider

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "airflow_config_providers"


def classes() -> Iterator[type[ConfigProvidersError]]:
    """Yield the classes of the errors of this package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if names := re.findall(r"^class (\w+)\([^)]*(?:Error|Exception)\b", path.read_text(), flags=re.MULTILINE):
            module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            found = [getattr(module, name) for name in names]
            yield from (kind for kind in found if issubclass(kind, ConfigProvidersError))


MAKERS: dict[str, Callable[[str], ConfigProvidersError]] = {kind.__name__: kind for kind in classes()} | {
    f"{kind.__name__}-in-the-api-server": lambda text, kind=kind: refusal(kind, text)  # type: ignore[misc]
    for kind in classes()
    if issubclass(kind, SecretRefusedError)
}
COPIES: dict[str, Callable[[ConfigProvidersError], ConfigProvidersError]] = {
    "again": lambda error: error.again(),
    "copy": copy.copy,
    "pickle": lambda error: pickle.loads(pickle.dumps(error)),
}


class NamedOutageError(ProviderUnavailableError):
    """What someone else's provider raises: its constructor is its own."""

    def __init__(self, name: str, code: int) -> None:
        self.args = self.problems = (f"{name} answered {code}.",)


@pytest.fixture(autouse=True)
def with_a_server():
    """The API server has imported this, and a refusal is then another class."""
    pytest.importorskip("starlette.exceptions")


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_equal_error_has_the_same_class_arguments_and_attributes(make, duplicate):
    error = make("It is wrong.")
    other = duplicate(error)

    assert other is not error
    assert type(other) is type(error)
    assert (other.args, other.problems, str(other)) == (error.args, ("It is wrong.",), "It is wrong.")
    assert vars(other) == vars(error)


def test_an_error_that_is_translated_is_in_no_frame_of_the_new_one():
    made = []

    def translated(error: ValueError) -> ConfigException:
        made.append(error)
        return ConfigException("It is wrong.")

    with pytest.raises(ConfigException) as caught, translating(ValueError, translated):
        raise ValueError("an answer")

    frames = [frame for frame, _ in walk_tb(caught.tb) if frame.f_code.co_filename != __file__]
    assert frames
    assert not [name for frame in frames for name, value in frame.f_locals.items() if value is made[0]]


def test_an_error_of_another_kind_is_not_translated():
    with pytest.raises(KeyError), translating(ValueError, lambda _: ConfigException("It is wrong.")):
        raise KeyError("k")


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_an_equal_error_has_notes_of_its_own(duplicate):
    error = ProviderUnavailableError("It is busy.")
    error.add_note("one")
    other = duplicate(error)
    other.add_note("two")

    assert (error.__notes__, other.__notes__) == (["one"], ["one", "two"])


@pytest.mark.parametrize(
    ("count", "end"),
    [
        pytest.param(100, "- problem 99", id="all"),
        pytest.param(60_000, "- ... and 59,900 more. Solve these first.", id="too-many"),
    ],
)
def test_a_message_lists_at_most_100_problems_and_the_error_has_all(count: int, end: str):
    error = ConfigProvidersError(*(f"problem {number}" for number in range(count)))

    first, *lines = str(error).splitlines()
    assert (first, lines[99], lines[-1]) == (f"{count:,} problems:", "- problem 99", end)
    assert (len(error.problems), len(error.args)) == (count, count)


@pytest.mark.parametrize("texts", [(), ("",), ("", "")], ids=["no text", "an empty text", "several empty texts"])
def test_an_error_without_a_reason_is_a_problem(texts):
    """Or whoever collects problems would go on as if there was none."""

    def fail() -> None:
        raise ConfigException(*texts)

    assert problems_of(fail) == ("it does not say why.",)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_error_is_alone_after_it_was_caused(make):
    error = make("It is wrong.")
    error.__cause__ = error.__context__ = ValueError("an answer")

    assert error.alone() is error
    assert error.__cause__ is error.__context__ is None


def fail_in(manager: AbstractContextManager[object], error: Exception) -> None:
    with manager:
        raise error


def fail_in_a_circle() -> None:
    with step("first", identity="a"):
        with suppress(ConfigProvidersError), step("again", identity="a"):
            pass
        raise ValueError("an answer")


@pytest.mark.parametrize(
    "fail",
    [
        pytest.param(
            lambda: fail_in(translating_failures(ConfigException), ValueError("what was read")), id="of-spark"
        ),
        pytest.param(lambda: fail_in(refusing_too_long(), OSError(errno.E2BIG, "a command")), id="of-the-system"),
        pytest.param(
            lambda: fail_in(
                translating(ValueError, lambda _: ConfigException("It is wrong.")), ValueError("an answer")
            ),
            id="translated",
        ),
        pytest.param(fail_in_a_circle, id="of-a-provider"),
        pytest.param(lambda: fail_in(refusing_depth(), RecursionError("a template")), id="of-a-template"),
    ],
)
def test_an_error_that_replaces_the_one_of_a_block_does_not_keep_it(fail: Callable[[], None]):
    with pytest.raises(ConfigProvidersError) as caught:
        fail()

    assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_an_equal_error_asks_for_the_same_wait(duplicate):
    error = duplicate(ProviderUnavailableError("It is busy.", retry_after=7.0))

    assert isinstance(error, ProviderUnavailableError)
    assert error.retry_after == 7.0


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)
def test_a_constructor_with_other_parameters_is_no_obstacle(duplicate):
    assert str(duplicate(NamedOutageError("Acme", 503))) == "Acme answered 503."


OUTAGES = {name: make for name, make in MAKERS.items() if isinstance(make("x"), ProviderUnavailableError)}


@pytest.mark.parametrize(
    "make", [*OUTAGES.values(), lambda text: NamedOutageError(text, 503)], ids=[*OUTAGES, "constructor-of-its-own"]
)
def test_each_error_that_means_unavailable_is_retried(make):
    clock = FakeClock()
    provider = InMemoryConfigProvider(error=make("It is down."))

    answers = Lookup({"p": provider}, FetchOptions(attempts=3), sleep=clock.sleep).fetch({("p", ""): {"k"}})

    assert len(provider.calls) == 3
    assert isinstance(answers.failures["p", ""], ProviderUnavailableError)


def test_all_problems_are_refused_in_one_error():
    refuse(ConfigException, ())

    with pytest.raises(ConfigException) as raised:
        refuse(ConfigException, (text for text in ("This is wrong.", "That, too.")))

    assert raised.value.problems == ("This is wrong.", "That, too.")


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        pytest.param(OSError(errno.ENOSPC, "c4nary"), "No space left on device", id="system"),
        pytest.param(PermissionError(errno.EACCES, "c4nary", "/c4nary"), "Permission denied", id="standard-class"),
        pytest.param(ssl.SSLEOFError(8, "c4nary"), None, id="tls"),
        pytest.param(socket.gaierror(-2, "c4nary"), None, id="name-of-a-host"),
        pytest.param(OSError(-2, "c4nary"), None, id="no-number-of-the-system"),
        pytest.param(OSError("c4nary"), None, id="no-number"),
        pytest.param(ValueError(1, "c4nary"), None, id="another-error"),
    ],
)
def test_only_a_number_of_the_system_has_a_meaning(error: Exception, meaning: str | None):
    assert errno_meaning(error) == meaning
