"""Dynamic configuration in Airflow's variables, on a real database, and signals of changes while it is away or slow."""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("airflow")

from airflow.models.log import Log
from airflow.models.variable import Variable
from sqlalchemy import create_engine, event, select, update
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.orm import Session, sessionmaker

from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource, ResourceType
from airflow_config_providers.dynamic import airflow_store
from airflow_config_providers.dynamic.admin import ConfigAdmin
from airflow_config_providers.dynamic.airflow_store import ChangeSignals, VariableStore
from airflow_config_providers.dynamic.database import is_read_only
from airflow_config_providers.dynamic.document import name_of
from airflow_config_providers.dynamic.store import AuditEntry, Kept
from airflow_config_providers.exceptions import ConfigException, ProviderUnavailableError
from tests.dynamic import following
from tests.dynamic.changing import DEFAULT, children_of, expected, jars, started
from tests.dynamic.written import task_layers
from tests.limits import LONGEST, eventually

DAG = ConfigResource(ResourceType.DAG, "flights")
ENTRY = AuditEntry("alter", "flights", "report", {"keys": {"k": []}})

FILES = 1100
"""More than ``select`` can wait for."""


def test_what_is_not_there_has_no_text(store):
    assert store.read(["a", "b"]) == {"a": Kept(), "b": Kept()}


def test_what_was_written_is_read(store):
    assert store.swap(store.read(["a"]), {"a": "text"}, [])

    assert store.read(["a"])["a"].text == "text"


def test_all_is_written_or_nothing(store, sessions):
    store.swap(store.read(["a"]), {"a": "1"}, [])
    stale = store.read(["a", "b"])
    store.swap(store.read(["a"]), {"a": "2"}, [])

    assert not store.swap(stale, {"a": "3", "b": "3"}, [ENTRY])

    assert {name: kept.text for name, kept in store.read(["a", "b"]).items()} == {"a": "2", "b": None}
    with sessions() as session:
        assert session.scalars(select(Log)).all() == []


def test_of_two_that_write_what_was_not_there_one_writes(store):
    stale = store.read(["a"])

    assert store.swap(stale, {"a": "1"}, [])
    assert not store.swap(stale, {"a": "2"}, [])
    assert store.read(["a"])["a"].text == "1"


def test_a_change_is_in_airflow_s_audit_log(store, sessions):
    store.swap(store.read(["a"]), {"a": "1"}, [ENTRY])

    with sessions() as session:
        (log,) = session.scalars(select(Log)).all()
    assert (log.event, log.owner, log.dag_id, log.task_id) == ("config_providers.alter", "ann", "flights", "report")
    assert json.loads(log.extra) == {"keys": {"k": []}}


@pytest.fixture
def of_team(sessions):
    """A variable of a team, as its members can create it: ``of_team("a", "text")``."""

    def create(name, text):
        with sessions() as session:
            session.add(Variable(key=name, val=text, team_name="finance"))
            session.commit()

    return create


def test_a_variable_of_a_team_is_no_dynamic_configuration(store, of_team, caplog):
    of_team("a", "a team's")
    store.swap(store.read(["ab"]), {"ab": "ours"}, [])

    assert store.read(["a"]) == {"a": Kept()}
    assert store.names("a") == ["ab"]
    assert "The variable 'a' belongs to team 'finance'." in caplog.text
    assert "airflow variables delete 'a'" in caplog.text


def test_a_variable_of_a_team_is_not_overwritten(store, of_team, sessions):
    of_team("a", "a team's")

    with pytest.raises(ConfigException, match="The variable 'a' belongs to team 'finance'"):
        store.swap(store.read(["a"]), {"a": "ours"}, [ENTRY])
    with sessions() as session:
        (found,) = session.scalars(select(Variable)).all()
        assert (found.val, found.team_name) == ("a team's", "finance")
        assert session.scalars(select(Log)).all() == []


def test_a_variable_that_was_given_to_a_team_meanwhile_is_not_overwritten(store, of_team, sessions):
    store.swap(store.read(["a"]), {"a": "1"}, [])
    read = store.read(["a"])
    with sessions() as session:
        session.execute(update(Variable).values(team_name="finance"))
        session.commit()

    assert not store.swap(read, {"a": "2"}, [])


def test_a_change_of_what_a_team_has_is_refused_at_once(store, of_team):
    of_team(name_of(DAG), "{}")

    with pytest.raises(ConfigException, match="belongs to team 'finance'"):
        ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("spark.app.x", "1")]})


def test_a_database_that_cannot_be_asked_is_unavailable(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/empty.db")

    with pytest.raises(ProviderUnavailableError, match="OperationalError") as told:
        VariableStore("ann", sessionmaker(engine)).read(["a"])
    assert told.value.__context__ is None


def test_a_read_that_fails_is_not_said_to_be_a_change(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/empty.db")

    with pytest.raises(ProviderUnavailableError) as told:
        VariableStore("ann", sessionmaker(engine)).read(["a"])
    assert "change" not in str(told.value)


def test_a_change_that_fails_is_said_to_be_made_completely_or_not_at_all(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/empty.db")

    with pytest.raises(ProviderUnavailableError, match=r"The change was made completely or not at all\."):
        VariableStore("ann", sessionmaker(engine)).swap({"a": Kept()}, {"a": "1"}, [])


def test_a_full_disk_is_said_to_be_full(sessions):
    full = create_engine(url_of(sessions))
    event.listen(full, "connect", lambda connection, _: connection.execute("PRAGMA max_page_count = 1"))

    with pytest.raises(ProviderUnavailableError, match=r"\(OperationalError: its disk is full\. Free some space\)"):
        VariableStore("ann", sessionmaker(full)).swap({"a": Kept()}, {"a": "1" * 100_000}, [])
    full.dispose()


@pytest.fixture
def read_only(sessions) -> Iterator[VariableStore]:
    engine = create_engine(url_of(sessions))
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA query_only = 1"))
    yield VariableStore("ann", sessionmaker(engine))
    engine.dispose()


def test_a_database_that_can_only_be_read_is_told_from_one_that_does_not_answer(read_only):
    with pytest.raises(ProviderUnavailableError, match=r"can be read, but not written.* Nothing was changed\.") as told:
        ConfigAdmin(read_only).incremental_alter_configs({DAG: [AlterConfigOp("k", "1")]})

    assert "completely or not at all" not in str(told.value)


def test_a_trial_finds_that_a_database_can_only_be_read(read_only):
    with pytest.raises(ProviderUnavailableError, match="trying to write failed"):
        read_only.require_writable()


def test_a_trial_leaves_nothing_in_a_database_that_can_be_written(store, sessions):
    store.require_writable()

    assert stored(sessions) == {}


class DriverError(Exception):
    """An error with the number of a driver."""

    def __init__(self, *args: object, **named: str) -> None:
        super().__init__(*args)
        self.__dict__.update(named)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(DriverError(sqlite_errorname="SQLITE_READONLY_DIRECTORY"), True, id="the folder of SQLite"),
        pytest.param(DriverError("x", pgcode="25006"), True, id="a standby of PostgreSQL"),
        pytest.param(DriverError("x", sqlstate="42501"), True, id="a user of PostgreSQL who may only read"),
        pytest.param(DriverError(1290, "x"), True, id="MySQL in read-only mode"),
        pytest.param(DriverError(1205, "x"), False, id="MySQL while others write"),
        pytest.param(DriverError("x", pgcode="40001"), False, id="PostgreSQL while others write"),
        pytest.param(None, False, id="no error of a driver"),
    ],
)
def test_the_codes_of_drivers_say_that_a_database_can_only_be_read(error, expected):
    assert is_read_only(error) is expected


def test_names_that_begin_with_a_prefix_are_given_in_order(sessions):
    with sessions() as session:
        session.add_all([Variable(key=key, val="x") for key in ("a_b.2", "a_b.1", "axb.1", "other.a_b")])
        session.commit()

    assert VariableStore(begin=sessions).names("a_b") == ["a_b.1", "a_b.2"]


def test_names_in_a_database_that_cannot_be_asked_are_unavailable(tmp_path):
    engine = create_engine(f"sqlite:///{tmp_path}/empty.db")

    with pytest.raises(ProviderUnavailableError, match="OperationalError") as told:
        VariableStore(begin=sessionmaker(engine)).names("a")
    assert told.value.__context__ is None


@pytest.fixture
def fernet(monkeypatch) -> Iterator[None]:
    from airflow.models import crypto
    from cryptography.fernet import Fernet

    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", Fernet.generate_key().decode())
    crypto.get_fernet.cache_clear()
    yield
    crypto.get_fernet.cache_clear()


@pytest.mark.usefixtures("fernet")
def test_a_variable_that_cannot_be_decrypted_is_not_taken_for_missing(store, sessions):
    store.swap(store.read(["a"]), {"a": "1"}, [])
    with sessions() as session:
        session.execute(Variable.__table__.update().values(val="odd"))
        session.commit()

    with pytest.raises(ProviderUnavailableError, match="'a' cannot be decrypted"):
        store.read(["a"])


@pytest.mark.usefixtures("fernet")
def test_what_is_stored_is_encrypted(store, sessions):
    ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("k", "c4n4ry")]})

    with sessions() as session:
        stored = session.execute(select(Variable.__table__.c.val)).scalars().all()
    assert len(stored) == 3
    assert all("c4n4ry" not in text for text in stored)
    assert "c4n4ry" in (store.read([name_of(DAG)])[name_of(DAG)].text or "")


def url_of(sessions: sessionmaker[Session]) -> str:
    return str(sessions.kw["bind"].url)


# What cannot be read, or not now


def put(sessions: sessionmaker[Session], name: str, **columns: object) -> None:
    """Write a variable as somebody else would."""
    with sessions() as session:
        session.execute(Variable.__table__.update().where(Variable.__table__.c.key == name).values(**columns))
        session.commit()


def stored(sessions: sessionmaker[Session]) -> dict[str, str]:
    with sessions() as session:
        return dict(session.execute(select(Variable.__table__.c.key, Variable.__table__.c.val)).all())


UNREADABLE = [
    pytest.param("", id="empty"),
    pytest.param("spark.jars=a.jar", id="not-json"),
    pytest.param("[]", id="list"),
    pytest.param('{"format": 2, "version": 1}', id="later-format"),
    pytest.param('{"format": 1, "version": 1, "own": {"version": 1, "values": {"k": 1}}, "tasks": {}}', id="number"),
    pytest.param("[" * 100_000, id="nested"),
]


@pytest.mark.parametrize("text", UNREADABLE)
@pytest.mark.parametrize("kind", ["", ".history"])
def test_what_cannot_be_read_is_named_and_never_written_over(store, sessions, kind, text):
    admin, name = ConfigAdmin(store), name_of(DAG, kind=kind)
    admin.incremental_alter_configs({DAG: [AlterConfigOp("k", "1")]})
    put(sessions, name, val=text, is_encrypted=False)
    before = stored(sessions)

    for change in (
        lambda: admin.incremental_alter_configs({DAG: [AlterConfigOp("k", "2")]}),
        lambda: admin.alter_configs({DAG: {}}),
        lambda: admin.rollback(DAG),
    ):
        with pytest.raises(ConfigException, match=f"'{name}' cannot be read"):
            change()
    assert stored(sessions) == before


def test_what_cannot_be_read_keeps_no_other_resource_from_a_change(store, sessions):
    admin = ConfigAdmin(store)
    admin.incremental_alter_configs({DAG: [AlterConfigOp("k", "1")]})
    put(sessions, name_of(DAG), val="odd", is_encrypted=False)

    with pytest.raises(ConfigException, match="cannot be read") as told:
        admin.incremental_alter_configs({DAG: [AlterConfigOp("k", "2")], DEFAULT: [AlterConfigOp("k", "2")]})
    assert "The other resources were changed: the deployment default" in str(told.value)
    assert admin.describe_configs([DEFAULT])[DEFAULT]["k"].value == "2"


@pytest.mark.usefixtures("fernet")
@pytest.mark.parametrize("kind", ["", ".history"])
def test_a_change_on_top_of_what_cannot_be_decrypted_is_refused(store, sessions, kind):
    admin, name = ConfigAdmin(store), name_of(DAG, kind=kind)
    admin.incremental_alter_configs({DAG: [AlterConfigOp("k", "1")]})
    put(sessions, name, val="gAAAAA")
    before = stored(sessions)

    with pytest.raises(ProviderUnavailableError, match=f"'{name}' cannot be decrypted"):
        admin.incremental_alter_configs({DAG: [AlterConfigOp("k", "2")]})
    assert stored(sessions) == before


@pytest.fixture
def without_key(fernet, store, monkeypatch) -> None:
    """Store a configuration, and then lose the key."""
    from airflow.models import crypto

    ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("k", "1")]})
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "")
    crypto.get_fernet.cache_clear()


@pytest.mark.usefixtures("without_key")
def test_without_a_fernet_key_nobody_is_told_to_delete_what_is_encrypted(store, sessions):
    before = stored(sessions)

    with pytest.raises(ProviderUnavailableError, match="Set fernet_key in") as told:
        ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("k", "2")]})
    assert "delete" not in str(told.value).lower()
    assert stored(sessions) == before


@pytest.mark.usefixtures("without_key")
def test_a_task_of_a_deployment_without_its_fernet_key_is_told_so(sessions):
    """Airflow's API server then gives a task the ciphertext."""
    with pytest.raises(ConfigException, match="Set fernet_key in") as told:
        task_layers("flights", "report", stored(sessions).get)
    assert "delete" not in str(told.value).lower()


def test_a_fernet_key_that_is_none_is_told(store, monkeypatch):
    from airflow.models import crypto

    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "c4n4ry")
    crypto.get_fernet.cache_clear()
    with pytest.raises(ProviderUnavailableError, match="fernet_key") as told:
        store.swap({"a": Kept()}, {"a": "1"}, [])
    crypto.get_fernet.cache_clear()
    assert "c4n4ry" not in str(told.value)
    assert told.value.__context__ is None


def test_a_change_while_the_database_is_away_says_so(tmp_path):
    store = VariableStore("ann", sessionmaker(create_engine(f"sqlite:///{tmp_path}/none/airflow.db")))

    with pytest.raises(
        ProviderUnavailableError, match=r"reading dynamic configuration failed \(OperationalError\)"
    ) as told:
        ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("k", "1")]})
    assert told.value.__context__ is None


def test_a_database_that_others_lock_is_named_with_what_it_kept_from_being_done(sessions):
    locked = create_engine(url_of(sessions), connect_args={"timeout": 0})
    with sessions() as session:
        session.connection().connection.driver_connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        session.execute(Variable.__table__.insert().values(key="b", val="", is_encrypted=False))
        with pytest.raises(ProviderUnavailableError, match="lock Airflow's database: reading dynamic configuration"):
            VariableStore("ann", sessionmaker(locked)).read(["a"])


def test_a_database_that_others_lock_is_no_lost_change(store, sessions, tmp_path):
    """A writer that waits longer than it may gives up, and the caller tries again."""
    impatient = create_engine(url_of(sessions), connect_args={"timeout": 0})
    seen = store.read(["a"])
    with sessions() as session:
        session.execute(Variable.__table__.insert().values(key="b", val="", is_encrypted=False))

        assert not VariableStore("bob", sessionmaker(impatient)).swap(seen, {"a": "1"}, [])
    assert VariableStore("bob", sessionmaker(impatient)).swap(seen, {"a": "1"}, [])
    impatient.dispose()


@pytest.mark.parametrize(
    ("attributes", "is_contention"),
    [
        pytest.param({"pgcode": "40001"}, True, id="serialization"),
        pytest.param({"pgcode": "40P01"}, True, id="deadlock"),
        pytest.param({"sqlstate": "55P03"}, True, id="lock-timeout"),
        pytest.param({"args": (1213, "Deadlock found")}, True, id="mysql-deadlock"),
        pytest.param({"args": (1205, "Lock wait timeout")}, True, id="mysql-wait"),
        pytest.param({"pgcode": "57P01"}, False, id="shut-down"),
        pytest.param({"args": (2006, "gone away")}, False, id="mysql-gone"),
        pytest.param({"args": ()}, False, id="nothing-told"),
    ],
)
def test_what_others_cause_is_told_from_what_is_broken(sessions, attributes, is_contention):
    class DriverError(Exception):
        pass

    origin = DriverError()
    for name, value in attributes.items():
        setattr(origin, name, value)

    def begin() -> Session:
        raise OperationalError("UPDATE", {}, origin)

    store = VariableStore("ann", begin)
    if is_contention:
        assert not store.swap({"a": Kept()}, {"a": "1"}, [])
    else:
        with pytest.raises(ProviderUnavailableError):
            store.swap({"a": Kept()}, {"a": "1"}, [])


def test_what_a_column_cannot_keep_is_not_said_to_be_a_database_that_is_away():
    def begin() -> Session:
        raise DataError("INSERT", {"extra": "c4n4ry"}, ValueError("c4n4ry"))

    with pytest.raises(ConfigException, match=r"cannot keep what it was given: .* \(DataError\)") as told:
        VariableStore("ann", begin).swap({"a": Kept()}, {"a": "1"}, [])
    assert "c4n4ry" not in str(told.value)
    assert told.value.__context__ is None


def test_what_is_read_is_not_added_to_what_airflow_masks(store):
    """A DAG with 'secret' in its name would have all of its configuration masked, as one text, for ever."""
    from airflow.sdk.log import redact

    store.swap({"my_secret_dag": Kept()}, {"my_secret_dag": "harmless text"}, [])

    assert store.read(["my_secret_dag"])["my_secret_dag"].text == "harmless text"
    assert redact("harmless text") == "harmless text"


# Several processes


@pytest.mark.slow
def test_no_change_of_several_processes_is_lost(store, sessions):
    with started(url_of(sessions), 3, 15, "flights", "") as parent:
        parent.communicate(timeout=LONGEST)

    assert parent.returncode == 0
    assert jars(store, DAG) == jars(store, DEFAULT) == expected(3, 15)
    assert len(ConfigAdmin(store).history(DAG)) == 45


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_the_old_or_the_new(store, sessions):
    with started(url_of(sessions), 1, 5_000, "flights", "") as parent:
        (child,) = children_of(parent)
        while not jars(store, DAG):
            time.sleep(0.01)
        os.kill(int(child), signal.SIGKILL)
        parent.communicate(timeout=LONGEST)

    found = jars(store, DAG)
    assert found == jars(store, DEFAULT)
    assert len(found) == len(ConfigAdmin(store).history(DAG)) > 0
    ConfigAdmin(store).incremental_alter_configs({DAG: [AlterConfigOp("k", "v")]})


@pytest.mark.slow
def test_processes_that_follow_are_told_what_another_one_changes_and_refreshes(store, sessions, tmp_path):
    """Two of them, and this one, which changes."""
    secret = tmp_path / "secret"
    secret.write_text("old")
    admin = ConfigAdmin(store)
    with (
        following.started(url_of(sessions), "flights", secret) as one,
        following.started(url_of(sessions), "flights", secret) as other,
    ):
        assert next(one) == next(other) == "nothing yet"

        admin.incremental_alter_configs({DEFAULT: [AlterConfigOp("a", "${vault:a:b}")]})
        assert next(one) == next(other) == "${vault:a:b} old"

        admin.refresh([DAG])
        secret.write_text("new")
        admin.refresh([DAG])
        assert next(one) == next(other) == "${vault:a:b} new"


class Lent:
    """A connection, its cursor, and what the pool lends: nothing is ever read from it."""

    def __init__(self) -> None:
        self._ends = socket.socketpair()
        self.dbapi_connection = self
        self.notifies: list[str] = []

    def cursor(self) -> Lent:
        return self

    def close(self) -> None:
        for end in self._ends:
            end.close()

    def fileno(self) -> int:
        return self._ends[0].fileno()

    def detach(self, *args: object, **kwargs: object) -> None:
        pass

    rollback = set_session = execute = detach


class Engine:
    """A database that answers when ``answer`` returns."""

    def __init__(self, answer: Callable[[], object]) -> None:
        self._answer = answer
        self.asked = 0

    def raw_connection(self) -> Lent:
        self.asked += 1
        self._answer()
        return Lent()


@pytest.fixture
def many_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2 * FILES:
        pytest.skip("a process can open too few files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2 * FILES), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(FILES)]
    yield
    for descriptor in opened:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def away() -> None:
    raise OSError


def test_in_a_process_with_many_open_files_a_lost_connection_is_made_again(
    many_files: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(airflow_store, "_NEXT_TRY", 0.01)
    engine = Engine(away)
    with ChangeSignals(engine, lambda: None):  # type: ignore[arg-type]  # a stand-in
        assert eventually(lambda: engine.asked > 1)


def test_in_a_process_with_many_open_files_signals_are_waited_for(many_files: None) -> None:
    called = threading.Event()
    engine = Engine(lambda: None)
    with ChangeSignals(engine, called.set):  # type: ignore[arg-type]  # a stand-in
        assert called.wait(LONGEST)

    assert engine.asked == 1


@pytest.fixture
def no_thread() -> Iterator[None]:
    usual = threading.stack_size(1 << 46)  # more than any machine has
    yield
    threading.stack_size(usual)


def test_without_a_thread_no_socket_stays_open(no_thread: None) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(RuntimeError):
            ChangeSignals(Engine(away), away)  # type: ignore[arg-type]  # a stand-in
        gc.collect()

    assert [str(warning.message) for warning in caught] == []


def test_the_end_does_not_wait_for_a_database_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airflow_store, "_PATIENCE", 0.01)
    answers, called = threading.Event(), threading.Event()
    signals = ChangeSignals(Engine(answers.wait), called.set)  # type: ignore[arg-type]  # a stand-in
    ending = threading.Thread(target=signals.close)
    ending.start()
    ending.join(LONGEST)
    has_ended = not ending.is_alive()
    answers.set()

    assert has_ended
    assert eventually(lambda: "config-signals" not in {thread.name for thread in threading.enumerate()})
    assert not called.is_set()
