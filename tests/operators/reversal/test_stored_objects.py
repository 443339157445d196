"""What a task hands to Airflow to store, in objects whose string shows less than what is stored."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import pytest
from airflow.sdk import Asset
from airflow.sdk.execution_time.task_runner import _serialize_outlet_events

from airflow_config_providers.core import ConfigVariable, ReverseTransformer
from airflow_config_providers.core.reversal.reverse import UNCHECKED
from airflow_config_providers.exceptions import ExposedValueError
from airflow_config_providers.operators.reversal.stored_objects import reverse_stored
from tests.canary import CANARY
from tests.operators.stock import OurOperator, everything_shown
from tests.operators.test_configured import Trigger

pytestmark = pytest.mark.usefixtures("connections")


@dataclass
class Login:
    """Hides a field from its string, as people do with secrets."""

    user: str
    password: str = field(repr=False)


class Table:
    """Shows its first and last rows only, as a data frame does."""

    __version__ = 1

    def __init__(self, value):
        self.rows = [*map(str, range(50)), value, *map(str, range(50))]

    def __repr__(self):
        return f"{self.rows[0]} ... {self.rows[-1]}"

    def serialize(self):
        return {"rows": self.rows}


class Held(Login):
    """Holds what cannot be pickled."""

    def __init__(self, value):
        super().__init__("ann", value)
        self.lock = threading.Lock()


class Unpickled(Login):
    """Leaves the password out of its pickle, but not out of what Airflow stores."""

    def __getstate__(self):
        return {"user": self.user}


def local(value):
    """Return an object of a class that cannot be pickled, with the value deep inside a field that it hides."""

    @dataclass
    class Local:
        user: str
        options: dict = field(repr=False)

    return Local("ann", {"a": {"b": [{"c": {"d": {"e": value}}}]}})


class Slotted:
    """Has no dictionary."""

    __slots__ = ("inside", "lock")

    def __init__(self, value):
        self.inside, self.lock = {"logins": [Login("ann", value)]}, threading.Lock()

    def serialize(self):
        return {"inside": self.inside}


class Private(Slotted):
    """Has a slot with a private name."""

    __slots__ = ("__value",)

    def __init__(self, value):
        super().__init__("nothing")
        self.__value = value

    def serialize(self):
        return {"value": self.__value}


def frame(value):
    return pytest.importorskip("pandas").DataFrame({"x": [*map(str, range(50)), value, *map(str, range(50))]})


def buffered(value):
    """Return an object that has its content in no attribute."""
    return io.BytesIO(value.encode())


class Closed(Login):
    """Refuses to show its attributes."""

    def __getattribute__(self, name):
        if name == "__dict__":
            raise PermissionError(name)
        return super().__getattribute__(name)


class Sent(Closed):
    """Is pickled without its attributes being asked for."""

    def __reduce__(self):
        return Login, (self.user, self.password)


HIDING = [
    pytest.param(lambda value: Login("ann", value), id="dataclass"),
    pytest.param(Table, id="table"),
    pytest.param(Held, id="dataclass that cannot be pickled"),
    pytest.param(lambda value: Unpickled("ann", value), id="dataclass with another pickle"),
    pytest.param(local, id="value deep inside a local dataclass"),
    pytest.param(Slotted, id="slots that cannot be pickled"),
    pytest.param(Private, id="private slots that cannot be pickled"),
    pytest.param(frame, id="data frame"),
    pytest.param(lambda value: {"logins": [Login("ann", value)]}, id="inside collections"),
]


@pytest.mark.parametrize("made", HIDING)
def test_attack_30_an_object_that_hides_a_value_is_returned_as_its_string(dag, run_task, password, capfd, made):
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, _: made(self.payload)))

    assert run.state == "success", run.error
    assert len(run.supervisor.sent("SetXCom")) == 1
    assert CANARY not in everything_shown(run, capfd)
    assert CANARY.encode().hex() not in repr(run.supervisor.sent("SetXCom")).lower()


@pytest.mark.parametrize("made", HIDING)
def test_attack_30_so_it_is_pushed(dag, run_task, password, made):
    def do(self, context):
        context["ti"].xcom_push("mine", made(self.payload))

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    (pushed,) = run.supervisor.sent("SetXCom")
    assert type(pushed.value) in (str, dict)
    assert "__classname__" not in json.dumps(pushed.value)


@pytest.mark.parametrize("made", HIDING)
def test_attack_69_so_it_is_said_of_an_asset(dag, run_task, password, made):
    events = []

    def do(self, context):
        context["outlet_events"][Asset("table")].extra = {"x": made(self.payload)}
        events.append(context["outlet_events"])

    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    (event,) = _serialize_outlet_events(events[0])
    assert CANARY not in json.dumps(event)


@pytest.mark.parametrize("is_failing", [False, True], ids=["succeeds", "fails"])
def test_attack_30_a_template_that_names_a_mapped_task_by_a_hidden_field_gives_the_reference(
    dag, run_task, password, capfd, is_failing
):
    def do(self, context):
        context["login"] = Login("ann", self.payload)
        if is_failing:
            raise ValueError("no")

    template = "{{ login.user }} {{ login.password }}"
    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do, map_index_template=template))

    (label,) = run.supervisor.sent("SetRenderedMapIndex")
    (end,) = run.supervisor.sent("TaskState" if is_failing else "SucceedTask")
    assert label.rendered_map_index == end.rendered_map_index == f"ann {password}"
    assert CANARY not in everything_shown(run, capfd)


def test_attack_30_a_trigger_that_would_get_such_an_object_is_refused(dag, run_task, password, capfd):
    def do(self, context):
        self.defer(trigger=Trigger(login=Login("ann", self.payload)), method_name="go_on")

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do))

    assert isinstance(run.error, ExposedValueError)
    assert CANARY not in everything_shown(run, capfd)


def test_a_task_that_resumes_gets_the_string_of_such_an_object(dag, run_task, password):
    def do(self, context):
        self.defer(trigger=Trigger(), method_name="go_on", kwargs={"login": Login("ann", self.payload)})

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do), finalize=False)

    assert run.message.next_kwargs["login"] == "Login(user='ann')"


def test_the_log_names_the_type_of_an_object_that_became_a_string(dag, run_task, password, caplog):
    run_task(OurOperator(task_id="job", dag=dag, payload=password, do=lambda self, _: Login("ann", self.payload)))

    assert "An object of type Login contains a value. Airflow gets the object's string instead." in caplog.text


@pytest.mark.parametrize("made", HIDING)
def test_an_object_without_a_value_stays_as_it_is(made):
    reverser = ReverseTransformer({}, {ConfigVariable("v", "p", "k"): CANARY})
    returned = made("no secret")

    assert reverse_stored(returned, reverser) is returned


def test_an_object_that_shows_a_value_becomes_its_string_with_the_reference():
    reverser = ReverseTransformer({}, {ConfigVariable("v", "p", "k"): CANARY})

    assert reverse_stored(Login(CANARY, CANARY), reverser) == "Login(user='${v:p:k}')"


@pytest.mark.parametrize("made", HIDING)
def test_attack_30_a_task_that_is_deferred_keeps_its_string_as_an_argument(dag, run_task, password, capfd, made):
    def do(self, context):
        self.defer(trigger=Trigger(x=1), method_name="go_on", kwargs={"login": made(self.payload)})

    run = run_task(OurOperator(task_id="job", dag=dag, payload=password, do=do), finalize=False)

    assert run.message.next_kwargs["login"]
    assert CANARY not in everything_shown(run, capfd)
    assert CANARY.encode().hex() not in repr(run.message).lower()


def test_an_object_that_many_lists_hold_is_searched_once():
    many = ["no value"]
    for _ in range(20):
        many = [many] * 10
    reverser = ReverseTransformer({}, {ConfigVariable("dir", "/d", "password"): CANARY})

    assert reverse_stored(Login("ann", [many, threading.Lock(), CANARY]), reverser) == "Login(user='ann')"


class Store(Mapping):
    """Downloads its items, and is pickled without them."""

    def __init__(self):
        self.asked = 0

    def __getitem__(self, key):
        self.asked += 1
        raise OSError("no network")

    def __iter__(self):
        return iter(["a"])

    def __len__(self):
        return 1

    def __reduce__(self):
        return Store, ()


def test_what_a_picklable_object_would_download_is_not_asked_for():
    reverser, store = ReverseTransformer({}, {ConfigVariable("dir", "/d", "password"): CANARY}), Store()
    kept = {"rows": 5, "model": Login("ann", store)}

    assert reverse_stored(kept, reverser) is kept
    assert store.asked == 0


def test_attack_30_a_value_in_a_read_only_mapping_is_hidden():
    reverser = ReverseTransformer({}, {ConfigVariable("dir", "/d", "password"): CANARY})

    assert reverse_stored(Login("ann", MappingProxyType({"x": CANARY})), reverser) == "Login(user='ann')"


def test_short_numbers_of_two_tasks_are_hidden_side_by_side():
    reversers = [
        ReverseTransformer({}, {ConfigVariable("v", "", key): value}) for key, value in (("a", "12345"), ("b", "67890"))
    ]

    assert reverse_stored({"both": "1234567890"}, *reversers) == {"both": "${v:a}${v:b}"}


@pytest.mark.parametrize("made", [buffered, lambda value: Sent("ann", value)], ids=["content", "closed"])
def test_attack_30_a_value_that_only_the_pickle_shows_is_hidden(made):
    reverser = ReverseTransformer({}, {ConfigVariable("dir", "/d", "password"): CANARY})
    kept = made(CANARY)

    assert reverse_stored(kept, reverser) == str(kept)


def test_an_object_whose_pickle_has_no_value_need_not_show_its_attributes():
    reverser, kept = ReverseTransformer({}, {ConfigVariable("dir", "/d", "password"): CANARY}), Sent("ann", "x")

    assert reverse_stored(kept, reverser) is kept


def test_attack_30_an_object_that_cannot_be_searched_is_not_stored():
    reverser = ReverseTransformer({}, {ConfigVariable("dir", "/d", "password"): CANARY})

    assert reverse_stored(Closed("ann", threading.Lock()), reverser) == UNCHECKED


def test_an_object_with_an_empty_slot_stays_as_it_is():
    reverser, kept = ReverseTransformer({}, {ConfigVariable("dir", "/d", "password"): CANARY}), Slotted("x")
    del kept.inside

    assert reverse_stored(kept, reverser) is kept
