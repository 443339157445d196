from __future__ import annotations

import sys
import traceback
from collections import deque
from types import MappingProxyType

import pytest

from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log.exceptions import reverse_exception

VALUE = "Zq8-s3cr3t/val+1"
REVERSER = ReverseTransformer({}, {ConfigVariable("v", "", "a"): VALUE})


class HoldingError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.request = {"headers": [text]}


class FrozenError(Exception):
    def __init__(self, text):
        vars(self)["text"] = text

    def __setattr__(self, name, value):
        raise TypeError("frozen")


class SlotError(Exception):
    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return f"slot {self.text}"


class OwnTextError(ValueError):
    def __str__(self):
        return f"made up {VALUE}"


class OwnReprError(ValueError):
    def __str__(self):
        return f"made up {VALUE}"

    def __repr__(self):
        return f"<made up {VALUE}>"


class FailingTextError(ValueError):
    def __str__(self):
        raise RuntimeError(VALUE)


def _refused(*_):
    raise OSError(VALUE)


class LazyObject:
    __class__ = property(_refused)


class ProxyWithoutObject:
    __dict__ = property(_refused)

    def __repr__(self):
        return "proxy"


class ReadOnlyObject:
    __dict__ = property(lambda _: MappingProxyType({"password": VALUE}))

    def __repr__(self):
        return "read-only"


class PropertyError(Exception):
    request = property(_refused)

    def __init__(self, text):
        super().__init__(text)
        vars(self)["request"] = text

    def __dir__(self):
        return []  # reading the property fails, as it did before


class OwnArgumentsError(Exception):
    args = property(lambda _: ("x",))


class LastError(OwnTextError):
    def __init_subclass__(cls):
        raise ValueError("no subclasses")


class Response:
    def __init__(self, raw):
        self.body = VALUE
        self.raw = raw


def _holding(value):
    exception = HoldingError(VALUE)
    exception.response = Response(value)
    exception.client = value
    return exception


class SlottedResponse(Response):
    __slots__ = ("_url",)

    def __init__(self, url):
        super().__init__(None)
        self._url = url


class OnlySlots:
    __slots__ = ("_text",)

    def __init__(self, text):
        self._text = text


class FailingGroup(ExceptionGroup):
    exceptions = property(_refused)


class OddCauseError(Exception):
    __cause__ = property(_refused)
    __traceback__ = property(_refused)


class OwnFormatError(Exception):
    def __format__(self, form):
        return f"formatted {VALUE}"


class FinalType(type):
    def __new__(cls, name, bases, names):
        if any(isinstance(base, cls) for base in bases):
            raise TypeError("final")
        return super().__new__(cls, name, bases, names)


class FinalError(OwnTextError, metaclass=FinalType):
    pass


class OwnClassError(OwnTextError):
    __class__ = property(lambda _: OwnClassError)


class NoText:
    def __repr__(self):
        raise ValueError(VALUE)


def _circle(*items):
    made = list(items)
    made.append(made)
    return made


def _with(**attributes):
    exception = ValueError("x")
    vars(exception).update(attributes)
    return exception


EXCEPTIONS = [
    pytest.param(_holding(LazyObject()), id="lazy-object"),
    pytest.param(_holding(ProxyWithoutObject()), id="proxy-without-object"),
    pytest.param(_holding(ReadOnlyObject()), id="read-only-object"),
    pytest.param(ValueError(VALUE, LazyObject()), id="lazy-object-as-argument"),
    pytest.param(PropertyError(VALUE), id="property-that-fails"),
    pytest.param(OwnArgumentsError(VALUE), id="arguments-of-its-own"),
    pytest.param(LastError(VALUE), id="class-that-refuses-subclasses"),
    pytest.param(FinalError("x"), id="class-whose-type-refuses-subclasses"),
    pytest.param(OwnClassError("x"), id="class-of-its-own"),
    pytest.param(ValueError(f"bad {VALUE}", {"k": [VALUE]}), id="arguments"),
    pytest.param(HoldingError(VALUE), id="attribute"),
    pytest.param(FrozenError(VALUE), id="frozen"),
    pytest.param(SlotError(VALUE), id="slot"),
    pytest.param(OSError(2, VALUE, f"/tmp/{VALUE}"), id="os-error"),
    pytest.param(KeyError(VALUE), id="key-error"),
    pytest.param(UnicodeDecodeError("utf-8", VALUE.encode(), 0, 1, VALUE), id="unicode-error"),
    pytest.param(SystemExit(VALUE), id="system-exit"),
    pytest.param(ImportError(VALUE, name=VALUE, path=VALUE), id="import-error"),
    pytest.param(ValueError(ValueError(VALUE)), id="exception-as-argument"),
    pytest.param(OwnTextError("x"), id="text-of-its-own"),
    pytest.param(FailingTextError(VALUE), id="text-that-fails"),
    pytest.param(ExceptionGroup("several", [ValueError(VALUE), OSError(VALUE)]), id="group"),
    pytest.param(ExceptionGroup(VALUE, [ValueError(VALUE)]), id="group-with-a-value-in-its-message"),
]


def _everything(exception):
    """Return everything that a callback could read from ``exception``."""
    held = [getattr(exception, name, None) for name in dir(exception) if not name.startswith("__")]
    held += map(vars, (each for each in held if isinstance(each, Response)))
    return "".join(traceback.format_exception(exception)) + repr(exception) + repr(held) + repr(vars(exception))


@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_an_exception_shows_no_value(exception):
    reverse_exception(exception, REVERSER)

    assert VALUE not in _everything(exception)


@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_it_stays_an_instance_of_its_class(exception):
    kind = type(exception)

    reverse_exception(exception, REVERSER)

    assert isinstance(exception, kind)
    assert type(exception).__name__ == kind.__name__


def test_an_exception_whose_cause_cannot_be_read_is_reversed():
    exception = OddCauseError(VALUE)

    reverse_exception(exception, REVERSER)

    assert exception.args == ("${v:a}",)


def test_members_of_a_group_are_reversed_though_its_class_does_not_show_them():
    member = ValueError(VALUE)

    reverse_exception(FailingGroup("x", [member]), REVERSER)

    assert member.args == ("${v:a}",)


@pytest.mark.parametrize(
    ("exception", "read"),
    [
        pytest.param(ValueError(OnlySlots(VALUE)), lambda error: error.args[0]._text, id="slot-of-an-argument"),
        pytest.param(ValueError(Response(VALUE)), lambda error: error.args[0].raw, id="attribute-of-an-argument"),
        pytest.param(_with(a=OnlySlots(VALUE)), lambda error: error.a._text, id="slot-of-an-attribute"),
        pytest.param(_with(a=SlottedResponse(VALUE)), lambda error: error.a._url, id="slot-beside-attributes"),
        pytest.param(_with(a=HoldingError(VALUE)), lambda error: error.a.args, id="error-as-attribute"),
        pytest.param(_with(a=_holding(VALUE)), lambda error: error.a.response.raw, id="what-that-error-holds"),
        pytest.param(_with(a=[OnlySlots(VALUE)]), lambda error: error.a[0]._text, id="object-in-a-list"),
        pytest.param(_with(a={1: OnlySlots(VALUE)}), lambda error: error.a[1]._text, id="object-in-a-dict"),
        pytest.param(_with(a=(VALUE, OnlySlots(VALUE))), lambda error: error.a[1]._text, id="object-beside-a-value"),
        pytest.param(_with(a=[_holding(7)]), lambda error: error.a[0].response.body, id="held-by-an-error-in-a-list"),
        pytest.param(
            _with(a=OnlySlots(_holding(7))), lambda error: error.a._text.response.body, id="what-a-near-error-holds"
        ),
        pytest.param(_with(a=OnlySlots([VALUE, NoText()])), lambda error: error.a._text[0], id="beside-no-text"),
        pytest.param(_with(a=OnlySlots({1: VALUE, 2: LazyObject()})), lambda error: error.a._text[1], id="beside-lazy"),
        pytest.param(_with(a=OnlySlots(_circle(VALUE))), lambda error: error.a._text[0], id="in-a-circle"),
        pytest.param(OwnTextError("x"), lambda error: f"{error}", id="formatted"),
        pytest.param(OwnFormatError("x"), lambda error: f"{error}", id="format-of-its-own"),
    ],
)
def test_objects_near_an_exception_show_no_value(exception, read):
    assert VALUE in str(read(exception))

    reverse_exception(exception, REVERSER)

    assert "${v:a}" in str(read(exception))
    assert VALUE not in str(read(exception))


def test_an_exception_with_a_repr_of_its_own_shows_no_value_there():
    exception = OwnReprError("x")

    reverse_exception(exception, REVERSER)

    assert repr(exception) == "OwnReprError('made up ${v:a}')"


def test_an_exception_whose_message_cannot_be_checked_says_so():
    exception = FailingTextError("x")

    reverse_exception(exception, REVERSER)

    assert str(exception) == UNCHECKED


def test_an_exception_whose_slots_take_references_keeps_its_class():
    exception = SlotError(VALUE)

    reverse_exception(exception, REVERSER)

    assert type(exception) is SlotError
    assert str(exception) == "slot ${v:a}"


def test_objects_are_searched_three_levels_of_attributes_from_an_exception():
    exception = _with(a=OnlySlots(OnlySlots(OnlySlots(VALUE))))

    reverse_exception(exception, REVERSER)

    assert exception.a._text._text._text == "${v:a}"


def test_references_stand_where_values_stood():
    exception = ValueError(f"bad {VALUE}", 7)

    reverse_exception(exception, REVERSER)

    assert exception.args == ("bad ${v:a}", 7)


def test_an_exception_without_values_is_left_as_it_is():
    argument = {"k": [1]}
    exception = HoldingError(argument)

    reverse_exception(exception, REVERSER)

    assert exception.args[0] is argument


def test_notes_are_reversed():
    exception = ValueError("x")
    exception.add_note(f"with {VALUE}")

    reverse_exception(exception, REVERSER)

    assert exception.__notes__ == ["with ${v:a}"]


def test_causes_and_contexts_are_reversed():
    try:
        try:
            raise KeyError(VALUE)
        except KeyError as error:
            raise OSError(VALUE) from error
    except OSError:
        try:
            raise ValueError("outer")
        except ValueError as caught:
            exception = caught

    reverse_exception(exception, REVERSER)

    assert VALUE not in "".join(traceback.format_exception(exception))
    assert str(exception.__context__.__cause__) == "'${v:a}'"


def _long_chain(links):
    errors = [ValueError(VALUE)]
    for _ in range(links):
        errors.append(ValueError(VALUE, errors[-1]))
        errors[-1].__cause__ = errors[-2]
    return errors


def _reverse_below(frames, exception):
    """Reverse an exception with more frames on the stack: how many decides which call meets Python's limit."""
    if frames:
        _reverse_below(frames - 1, exception)
    else:
        reverse_exception(exception, REVERSER)


@pytest.mark.parametrize("frames", [0, 1, 2, *(pytest.param(more, marks=pytest.mark.slow) for more in range(3, 10))])
def test_each_error_of_a_long_chain_is_reversed(frames):
    errors = _long_chain(300)

    _reverse_below(frames, errors[-1])

    assert not [error for error in errors if VALUE in error.args]


def test_a_circle_of_causes_is_walked_once():
    one, two = ValueError(VALUE), OSError(VALUE)
    one.__cause__, two.__cause__ = two, one

    reverse_exception(one, REVERSER)

    assert (str(one), str(two)) == ("${v:a}", "${v:a}")


def test_local_variables_of_finished_frames_are_dropped():
    def fails():
        local = [VALUE]
        raise ValueError(str(len(local)))

    try:
        fails()
    except ValueError as caught:
        exception = caught

    reverse_exception(exception, REVERSER)

    frames = [frame for frame, _ in traceback.walk_tb(exception.__traceback__)]
    assert frames[-1].f_code.co_name == "fails"
    assert frames[-1].f_locals == {}


def test_the_traceback_stays():
    try:
        raise ValueError(VALUE)
    except ValueError:
        exception = sys.exception()

    reverse_exception(exception, REVERSER)

    assert "test_the_traceback_stays" in "".join(traceback.format_exception(exception))


@pytest.mark.parametrize("kind", [LazyObject, ProxyWithoutObject, ReadOnlyObject])
def test_only_what_cannot_be_searched_is_left_out(kind):
    exception = _holding(kind())

    reverse_exception(exception, REVERSER)

    assert exception.client == UNCHECKED
    assert exception.response.body == "${v:a}"


@pytest.mark.parametrize("kind", [LazyObject, ProxyWithoutObject, ReadOnlyObject])
def test_an_object_that_is_still_used_keeps_what_cannot_be_searched(kind):
    exception = _holding(kind())
    used = vars(exception.response)["raw"]

    reverse_exception(exception, REVERSER)

    assert vars(exception.response)["raw"] is used


@pytest.mark.parametrize("kind", [NoText, LazyObject])
def test_a_collection_that_is_still_used_keeps_the_items_that_cannot_be_searched(kind):
    used = kind()
    exception = _with(a=OnlySlots([VALUE, used]))

    reverse_exception(exception, REVERSER)

    assert exception.a._text[1] is used


def test_an_object_in_a_deque_is_searched():
    exception = _with(a=deque([OnlySlots(VALUE)]))

    reverse_exception(exception, REVERSER)

    assert exception.a[0]._text == "${v:a}"


def test_only_the_items_of_its_own_that_cannot_be_searched_are_left_out():
    exception = _with(a=[VALUE, NoText()])

    reverse_exception(exception, REVERSER)

    assert exception.a == ["${v:a}", UNCHECKED]


def test_a_circle_without_values_that_is_still_used_stays():
    used = _circle("x")
    exception = _with(a=OnlySlots(used))

    reverse_exception(exception, REVERSER)

    assert exception.a._text is used


def test_the_copy_of_a_circle_does_not_lead_to_the_values():
    exception = _with(a=OnlySlots(_circle(VALUE)))

    reverse_exception(exception, REVERSER)

    assert exception.a._text == ["${v:a}", UNCHECKED]


def test_a_circle_through_an_object_does_not_lead_to_the_values():
    items = [OnlySlots(None), VALUE]
    items[0]._text = items
    exception = _with(a=items)

    reverse_exception(exception, REVERSER)

    assert exception.a[0]._text[1] == "${v:a}"


def test_errors_that_hold_the_list_they_are_in_stay_in_it():
    errors = [_with(), _with(text=VALUE)]
    errors[0].siblings = errors
    exception = _with(errors=errors)

    reverse_exception(exception, REVERSER)

    assert exception.errors[0].siblings[1].text == "${v:a}"


@pytest.mark.parametrize("kind", [ReadOnlyObject, NoText])
def test_what_cannot_be_searched_is_left_out_in_each_place(kind):
    shared = kind()
    exception = ValueError(shared)
    exception.a = [shared]

    reverse_exception(exception, REVERSER)

    assert (exception.args, exception.a) == ((UNCHECKED,), [UNCHECKED])


def test_a_reverser_near_an_exception_still_knows_its_values():
    exception = _with(a=OnlySlots([REVERSER]))

    reverse_exception(exception, REVERSER)

    assert REVERSER.pairs[0][1] == VALUE


def test_what_leads_to_more_objects_than_are_searched_is_left_out():
    crowd = OnlySlots([OnlySlots("x") for _ in range(20_001)])
    exception = ValueError("plain", crowd)
    exception.a = [crowd]

    reverse_exception(exception, REVERSER)

    assert (exception.args, exception.a) == (("plain", UNCHECKED), [UNCHECKED])


def test_collections_that_share_their_items_are_searched_once():
    shared = [VALUE]
    for _ in range(18):
        shared = [shared, shared]
    exception = _with(a=shared)

    reverse_exception(exception, REVERSER)

    found = exception.a
    while isinstance(found, list):
        found = found[-1]
    assert found == "${v:a}"


def test_a_class_that_cannot_be_replaced_is_named_in_the_log(caplog):
    exception = BaseExceptionGroup(VALUE, [KeyboardInterrupt()])

    reverse_exception(exception, REVERSER)

    assert "A builtins.BaseExceptionGroup shows the value of a reference" in caplog.text
    assert VALUE not in caplog.text
