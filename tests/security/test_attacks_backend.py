"""Rows of the list of attacks that concern the secrets backend."""

from __future__ import annotations

import json
import os
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from secrets import token_hex

import pytest
from airflow.sdk import Connection
from hypothesis import given
from hypothesis import strategies as st

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.core.concurrency.shared_calls import SingleFlight
from airflow_config_providers.exceptions import AccessDeniedError, ProviderUnavailableError
from airflow_config_providers.secrets.entry_shapes import connection_shape, variable_shape
from airflow_config_providers.secrets.resolution import replaced
from tests.limits import LONGEST
from tests.secrets.conftest import configure, run_python, shelf  # noqa: F401 - fixtures

TEXT = "${book:db:password}"
CANARY = f"c4nary-{token_hex(8)}"


@pytest.fixture
def secret(shelf):  # noqa: F811 - the fixture
    shelf.book.data = {"db": {"password": CANARY, "empty": ""}}
    return shelf


def fail(deployment, error):
    def raise_it(path):
        raise error

    deployment.book.on_get = raise_it


# --- 16 and 17: no literal, and no empty text, goes out in place of a value -------------------------


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("${vualt:db:password}", True),
        ("${book:db:pasword}", False),
        ("${book:nowhere:password}", False),
        ("${book:}", False),
    ],
)
def test_attack_16_the_text_of_a_reference_is_never_given_as_a_password(secret, text, unknown):
    backend = secret.backend({"it": f"mysql://u:{text}@h"}, {"it": text})

    for ask in (backend.get_connection, backend.get_variable):
        with pytest.raises(AirflowSecretsBackendAccessDenied, match="unknown provider") if unknown else nullcontext():
            assert ask("it") is None


def test_attack_16_what_is_denied_is_not_given_by_a_weaker_source(secret, configure, monkeypatch):  # noqa: F811
    configure(secret.settings({"db": f"mysql://u:{TEXT}@h"}))
    monkeypatch.setenv("AIRFLOW_CONN_DB", "mysql://u:weak@h")
    fail(secret, AccessDeniedError("Not for you."))

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="Not for you"):
        Connection.get("db")


def test_attack_16_one_missing_reference_takes_the_whole_entry_with_it(secret):
    """Otherwise, the connection would contain the text of a reference."""
    definition = {"conn_type": "x", "login": "${book:db:no}", "password": TEXT}

    assert secret.backend({"db": definition}).get_connection("db") is None


def test_attack_17_empty_is_a_value_and_missing_is_none(secret):
    backend = secret.backend(variables={"empty": "${book:db:empty}", "missing": "${book:db:missing}"})

    assert (backend.get_variable("empty"), backend.get_variable("missing")) == ("", None)


# --- 19: exceptions ---------------------------------------------------------------------------------

TROUBLE = {
    "denied": AccessDeniedError("Not for you."),
    "unavailable": ProviderUnavailableError("Not today."),
    "foreign": RuntimeError(f"the server said {CANARY}"),
    "foreign-group": ExceptionGroup("all of it", [ValueError(CANARY)]),
}


@pytest.mark.parametrize("error", TROUBLE.values(), ids=TROUBLE)
def test_attack_19_no_exception_holds_a_value(secret, error, caplog):
    error.__cause__ = KeyError(CANARY)
    fail(secret, error)
    backend = secret.backend({"db": f"mysql://u:{TEXT}@h"})

    with pytest.raises(AirflowSecretsBackendAccessDenied) as caught:
        backend.get_connection("db")

    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "not shown" in shown or "Not " in shown
    assert CANARY not in without_this_test(shown) + repr(caught.value) + caplog.text
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def without_this_test(shown):
    """The traceback without the frame of the test, whose local variables hold the value."""
    first, *frames = shown.split('  File "')
    return "".join([first, *(frame for frame in frames if not frame.startswith(__file__))])


def test_attack_19_a_value_that_does_not_fit_is_not_in_the_exception(secret, caplog):
    backend = secret.backend({"db": {"conn_type": "x", "port": TEXT}})

    with pytest.raises(AirflowSecretsBackendAccessDenied, match="port is not a number") as caught:
        backend.get_connection("db")

    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert CANARY not in shown + caplog.text


def test_attack_19_nothing_shows_a_value_by_itself(secret):
    backend = secret.backend({"db": f"mysql://u:{TEXT}@h"})
    backend.get_connection("db")
    shapes = [variable_shape(CANARY), connection_shape("db", f"mysql://u:{CANARY}@h")]

    assert CANARY not in repr([vars(backend), shapes])


# --- 38: a value changes nothing around it ----------------------------------------------------------


@given(
    value=st.text(max_size=30),
    place=st.sampled_from(["mysql://u:{}@h/s", "mysql://{}@h/s", "mysql://h/{}", "x://h?a={}"]),
)
def test_attack_38_no_value_changes_another_part_of_a_uri(value, place):
    """Whatever a value is made of, it arrives as it is, and everything around it stays."""
    reference = "${book:apps/db@x:a%20b?#&}"
    shape = connection_shape("db", place.format(reference))
    before = json.loads(shape.written(replaced(shape.content, {reference: "inert"})))
    after = json.loads(shape.written(replaced(shape.content, {reference: value})))

    for found in (before, after):
        found["extra"] = json.loads(found.get("extra", "{}"))
    changed = {name for name in before if before[name] != after[name]}
    assert before.keys() == after.keys()
    assert len(changed) <= 1
    assert value in after.values() or value in after["extra"].values()


@given(
    value=st.text(), text=st.sampled_from(['{"k": "${b:k}", "n": 1}', '["${b:k}", {"x": "a ${b:k} b"}]', '"${b:k}"'])
)
def test_attack_38_no_value_changes_the_json_around_it(value, text):
    """A quote in a value ends no string, and no value adds a key."""
    shape = variable_shape(text)
    places = {"${b:k}": value, "a ${b:k} b": f"a {value} b"}

    assert json.loads(shape.written(replaced(shape.content, places))) == replaced(json.loads(text), places)


@pytest.mark.parametrize("value", ['{"conn_type": "evil", "host": "evil"}', "evil://evil:evil@evil/evil", "@evil/?a=b"])
def test_attack_38_a_value_that_looks_like_a_connection_is_a_password(secret, value):
    secret.book.data["db"]["password"] = value
    connection = secret.backend({"db": f"mysql://u:{TEXT}@h"}).get_connection("db")

    assert (connection.conn_type, connection.host, connection.password) == ("mysql", "h", value)
    assert connection.extra_dejson == {}


def test_attack_38_a_value_is_not_searched_for_references(secret):
    secret.book.data["db"] = {"password": "${book:db:other}", "other": "unseen"}

    assert secret.backend(variables={"v": TEXT}).get_variable("v") == "${book:db:other}"


@pytest.mark.parametrize(
    "definition", ["${book:db:uri}", {"conn_type": "x", "extra": "${book:db:extra}"}], ids=["uri", "extra"]
)
def test_attack_38_a_value_becomes_neither_a_connection_nor_an_extra(secret, definition):
    secret.book.data["db"] = {"uri": "evil://evil", "extra": '{"evil": 1}'}

    with pytest.raises(AirflowSecretsBackendAccessDenied):
        secret.backend({"db": definition}).get_connection("db")


# --- 39: teams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("team", ["team_b", None, "", "TEAM_A", "team_a ", "../team_a"])
def test_attack_39_a_teams_connection_is_not_given_to_another(secret, team):
    definitions = {"db": {"conn_type": "x", "password": TEXT, "team_name": "team_a"}}
    secret.write("team_a/connections.yaml", {"own": f"x://u:{TEXT}@h"})
    files = [secret.write("c.yaml", definitions), str(secret.folder / "{team_name}" / "connections.yaml")]
    backend = secret.backend(connections_file_path=files)

    names = ["db", "own", "team_a/own", "team_a--own", "_TEAM_A___db", "team_a___db", "../team_a/own"]
    assert [backend.get_connection(name, team_name=team) for name in names] == [None] * len(names)
    assert secret.book.calls == []
    assert backend.get_connection("own", team_name="team_a").password == CANARY


# --- 42: no herd ------------------------------------------------------------------------------------


def at_once(threads, ask):
    """Make ``threads`` call ``ask`` at the same moment, each with its number."""
    start = threading.Barrier(threads)

    def run(number):
        start.wait(LONGEST)
        return ask(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


@pytest.fixture
def slow(secret, monkeypatch):
    """The provider is opened when 63 threads wait for what another one does."""
    waiting, landed = threading.Semaphore(0), SingleFlight._landed

    def land(flights, flight):
        waiting.release()
        return landed(flights, flight)

    monkeypatch.setattr(SingleFlight, "_landed", land)
    secret.book.data["api"] = {"key": "k3y"}
    secret.book.on_open = lambda: [waiting.acquire(timeout=LONGEST) for _ in range(63)]
    return secret


def test_attack_42_64_threads_open_once_and_read_each_path_once(slow):
    backend = slow.backend({"db": "mysql://${book:api:key}:${book:db:password}@h"})

    assert {c.password for c in at_once(64, lambda number: backend.get_connection("db"))} == {CANARY}
    assert len(slow.book.opened) == 1
    assert sorted(path for path, _ in slow.book.calls) == ["api", "db"]


def test_attack_42_64_threads_with_questions_of_their_own_open_once(secret):
    secret.book.on_open = lambda: time.sleep(0.2)  # most of them come meanwhile
    backend = secret.backend(variables={f"v{number}": f"{number} {TEXT}" for number in range(64)})

    assert at_once(64, lambda number: backend.get_variable(f"v{number}")) == [f"{n} {CANARY}" for n in range(64)]
    assert len(secret.book.opened) == 1


def test_attack_42_64_threads_that_ask_in_vain_try_no_more_often_than_one(slow):
    def burn(path):
        raise ProviderUnavailableError("The library burns.")

    slow.book.on_get = burn
    backend = slow.backend(variables={"v": TEXT})

    def ask(number):
        with pytest.raises(AirflowSecretsBackendAccessDenied, match="library burns"):
            backend.get_variable("v")

    at_once(64, ask)
    assert len(slow.book.calls) == 3


# --- 52: fork ---------------------------------------------------------------------------------------

FORKS = """
import json, os, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from tests.secrets.books import BOOKS, Book
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend
from airflow_config_providers.secrets.process_state import state

def answer(path):
    time.sleep(0.01)
    book.data[path] = {"password": str(os.getpid())}

BOOKS["b"] = book = Book(on_get=answer, on_open=lambda: time.sleep(0.2))
definition = {
    "config.providers": "book",
    "config.providers.book.class": "tests.secrets.books.BookProvider",
    "config.providers.book.param.book": "b",
}
backend = ConfigProvidersBackend(variables_file_path=sys.argv[1], providers=definition)

def ask(number):
    return backend.get_variable(f"v{number % 8}")

def told_by_child():
    end, start = os.pipe()
    child = os.fork()
    if child:
        os.close(start)
        with os.fdopen(end) as pipe:
            told = json.load(pipe)
        os.waitpid(child, 0)
        return child, told
    book.opened.clear()
    with ThreadPoolExecutor(8) as pool:
        answers = sorted(set(pool.map(ask, range(16))))
    state().close()
    with os.fdopen(start, "w") as pipe:
        json.dump([answers, book.opened, book.closed], pipe)
    os._exit(0)

def keep_asking(number):
    while not ended.is_set():
        ask(number)

ended = threading.Event()
threads = [threading.Thread(target=keep_asking, args=(number,), daemon=True) for number in range(8)]
for thread in threads:
    thread.start()
if sys.argv[2] == "after":
    ask(0)
children = [told_by_child() for _ in range(6)]
ended.set()
for thread in threads:
    thread.join()
print(json.dumps([os.getpid(), book.opened, book.closed, children]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["while-opening", "after"])
def test_attack_52_a_child_that_is_forked_amid_threads_opens_its_own(secret, run_python, when):  # noqa: F811
    """The parent's threads are in the middle of everything when its main thread forks, with locks held."""
    file = secret.write("variables.yaml", {f"v{number}": f"${{book:p{number}:password}}" for number in range(8)})
    parent, opened, closed, children = json.loads(run_python(FORKS, file, when).splitlines()[-1])

    assert (opened, closed) == ([parent], 0)  # the children have closed nothing of the parent's
    assert len(children) == 6
    for child, (answers, opened_there, closed_there) in children:
        assert answers == [str(child)]
        assert opened_there == [child]
        assert closed_there == 1


LATE = """
import sys
from tests.secrets.books import BOOKS, Book
from airflow_config_providers.secrets.answering import import_what_an_answer_needs
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend

BOOKS["b"] = Book(data={"p0": {"password": "x"}})
definition = {
    "config.providers": "book",
    "config.providers.book.class": "tests.secrets.books.BookProvider",
    "config.providers.book.param.book": "b",
}
backend = ConfigProvidersBackend(variables_file_path=sys.argv[1], providers=definition)
import_what_an_answer_needs()
before = set(sys.modules)
assert backend.get_variable("v0") == "x"
print("late:", *sorted(name for name in set(sys.modules) - before if name.startswith("airflow_config_providers.")))
"""


def test_attack_52_an_answer_imports_nothing_of_ours_where_another_thread_can_fork(secret, run_python):  # noqa: F811
    """A child that is forked while another thread imports a module waits for it for ever."""
    file = secret.write("variables.yaml", {"v0": "${book:p0:password}"})

    assert run_python(LATE, file).splitlines()[-1] == "late:"


def test_attack_52_what_the_parent_has_open_is_not_used_in_the_child(secret):
    backend = secret.backend(variables={"v": TEXT})
    backend.get_variable("v")
    end, start = os.pipe()
    child = os.fork()
    if not child:
        secret.book.opened.clear()
        answer = backend.get_variable("v")
        os.write(start, json.dumps([answer, secret.book.opened, secret.book.closed]).encode())
        os._exit(0)
    os.close(start)
    with os.fdopen(end) as pipe:
        told = json.load(pipe)
    os.waitpid(child, 0)

    assert told == [CANARY, [child], 0]


# --- 63: Airflow's own start through a reference ---------------------------------------------------

START = """
import sys, airflow
from airflow.configuration import conf
from tests.secrets import noting
assert conf.get("database", "sql_alchemy_conn") == sys.argv[1]
print(noting.WITHIN, sorted(noting.BROUGHT_IN.intersection(sys.argv[2:])))
"""
DATABASE = "sqlite:////tmp/never-opened.db"
ASKING = ("airflow.sdk.definitions.asset", "airflow.sdk.execution_time.task_runner", "airflow.settings")


def brought_about(shelf, run_python, *, kind, reference, **params):  # noqa: F811
    """Start Airflow with its database's address in a provider, and return what the answers caused."""
    params = {f"config.providers.p.param.{key.replace('__', '.')}": value for key, value in params.items()}
    kwargs = {
        "configs_file_path": shelf.write("settings.yaml", {"db": f"${{p:{reference}}}"}),
        "providers": {"config.providers": "p", "config.providers.p.class": kind, **params},
    }
    environ = {
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_SECRET": "db",
        "AIRFLOW__SECRETS__BACKEND": "tests.secrets.noting.NotingBackend",
        "AIRFLOW__SECRETS__BACKEND_KWARGS": json.dumps(kwargs),
        "OF_AIRFLOW": DATABASE,
    }
    return run_python(START, DATABASE, *ASKING, **environ).splitlines()[-1]


@pytest.mark.parametrize("kind", ["env", "file", "directory"])
def test_attack_63_a_provider_that_opens_asks_nothing_of_the_backend(shelf, run_python, kind):  # noqa: F811
    """Airflow asks while it is imported: an answer must not import the modules that ask the same again."""
    folder = str(shelf.folder)
    file, _ = shelf.write("f.properties", f"address={DATABASE}"), shelf.write("address", DATABASE)
    references = {"env": "OF_AIRFLOW", "file": f"{file}:address", "directory": f"{folder}:address"}
    params = {"allowlist__pattern": "OF_AIRFLOW"} if kind == "env" else {"allowed__paths": folder}

    assert brought_about(shelf, run_python, kind=kind, reference=references[kind], **params) == "[] []"


def test_attack_63_vault_asks_nothing_of_the_backend_when_it_opens(shelf, run_python, vault):  # noqa: F811
    vault.put("db", {"address": DATABASE})
    login = {"url": vault.address, "token": vault.root_token}

    assert brought_about(shelf, run_python, kind="vault", reference=f"{vault.kv2}/db:address", **login) == "[] []"
