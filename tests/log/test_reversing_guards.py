from __future__ import annotations

import dataclasses
import json
import logging

import pytest
from structlog.processors import JSONRenderer

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.core.reversal.reverse import UNCHECKED, ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log.reversing_guards import FormatterGuard, MessageGuard, RenderGuard

VALUE = "Zq8-s3cr3t/val+1"


@dataclasses.dataclass
class Connection:
    password: str = dataclasses.field(repr=False)


class Broken:
    def __repr__(self):
        raise ValueError(VALUE)


@pytest.fixture
def active():
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", 'a"b'): VALUE}))
    return active


def _same(_, __, event):
    return event


def _call(guard, event):
    return guard(None, "info", event)


@pytest.mark.parametrize("kind", [MessageGuard, RenderGuard])
@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param({"event": VALUE}, {"event": '${v:a"b}'}, id="message"),
        pytest.param({"event": "x", "k": {"n": [VALUE]}}, {"event": "x", "k": {"n": ['${v:a"b}']}}, id="nested"),
        pytest.param({"event": "x", VALUE: 1}, {"event": "x", '${v:a"b}': 1}, id="key"),
        pytest.param({"event": "x", "k": Broken()}, {"event": "x", "k": UNCHECKED}, id="broken-entry-alone"),
        pytest.param(f"is {VALUE}", 'is ${v:a"b}', id="text"),
    ],
)
def test_the_processor_gets_references(kind, event, expected, active):
    assert _call(kind(_same, active), event) == expected


@pytest.mark.parametrize("kind", [MessageGuard, RenderGuard])
@pytest.mark.parametrize("is_active", [True, False])
def test_the_processor_gets_the_logger_and_the_name_of_the_method(kind, is_active, active):
    guard = kind(lambda *given: given, active if is_active else ActiveReversers())

    assert guard("logger", "info", {"event": "x"})[:2] == ("logger", "info")


@pytest.mark.parametrize("kind", [MessageGuard, RenderGuard])
def test_without_reversers_the_event_passes_untouched(kind):
    event = {"event": VALUE, "exc_info": ValueError(VALUE)}

    assert _call(kind(_same, ActiveReversers()), event) is event


def test_a_record_stays_a_record_for_later_processors(active):
    record = logging.makeLogRecord({"msg": VALUE})

    assert _call(MessageGuard(_same, active), {"_record": record})["_record"] is record


def test_a_pending_exception_waits_for_the_renderer(active):
    error = ValueError(VALUE)

    assert _call(MessageGuard(_same, active), {"exc_info": error})["exc_info"] is error


@pytest.mark.parametrize(
    "exc_info",
    [
        pytest.param(lambda error: error, id="exception"),
        pytest.param(lambda error: (type(error), error, error.__traceback__), id="tuple"),
        pytest.param(lambda _: True, id="the-one-being-handled"),
    ],
)
def test_the_renderer_gets_an_exception_as_text(exc_info, active):
    try:
        raise ValueError(f"bad {VALUE}")
    except ValueError as error:
        event = _call(RenderGuard(_same, active), {"event": "x", "exc_info": exc_info(error)})

    assert "exc_info" not in event
    assert event["exception"].endswith('ValueError: bad ${v:a"b}')


def test_the_renderer_gets_an_exception_of_a_tuple_as_text_also_if_none_is_handled(active):
    error = ValueError(VALUE)

    event = _call(RenderGuard(_same, active), {"event": "x", "exc_info": (ValueError, error, None)})

    assert event["exception"] == 'ValueError: ${v:a"b}'


def test_no_pending_exception_gives_no_text(active):
    assert _call(RenderGuard(_same, active), {"event": "x", "exc_info": True}) == {"event": "x"}


def test_what_only_the_renderer_reveals_is_reversed_and_stays_json(active):
    renderer = JSONRenderer(serializer=lambda event, **_: json.dumps(event, default=dataclasses.asdict))

    rendered = _call(RenderGuard(renderer, active), {"event": "x", "connection": Connection(VALUE)})

    assert json.loads(rendered) == {"event": "x", "connection": {"password": '${v:a"b}'}}


@pytest.mark.parametrize("indent", [None, 1], ids=["one-line", "unusual"])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_a_value_that_is_json_is_hidden_where_it_was_logged_parsed(indent, separators, is_ascii):
    credentials = {"user": "app\u00fc", "password": "hunter22"}
    render = json.JSONEncoder(ensure_ascii=is_ascii, separators=separators, indent=indent).encode
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): render(credentials)}))

    rendered = _call(RenderGuard(lambda *event: render(event[2]), active), credentials)

    assert rendered == "${v:a}"


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
def test_an_entry_that_is_a_value_as_json_becomes_its_reference(separators):
    credentials = {"user": "app", "password": "hunter22"}
    render = json.JSONEncoder(separators=separators).encode
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): render(credentials)}))

    rendered = _call(
        RenderGuard(lambda *event: render(event[2]).encode(), active), {"event": "x", "is": {"it": credentials}}
    )

    assert json.loads(rendered) == {"event": "x", "is": f"{render({'it': 0})[:-2]}${{v:a}}}}"}


@pytest.mark.parametrize("is_bytes", [True, False], ids=["bytes", "text"])
def test_an_event_in_an_unknown_layout_stays_an_event_with_its_time_and_level(is_bytes):
    credentials = {"user": "app", "password": "hunter22"}
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): json.dumps(credentials)}))
    event = {"event": "x", "level": "info", "timestamp": "2026-01-01T00:00:00Z", "share": 0.5, "is": credentials}

    def render(_, __, shown):
        text = json.dumps(shown).replace("0.5", "5e-1")  # as another library writes it
        return text.encode() if is_bytes else text

    rendered = _call(RenderGuard(render, active), event)

    assert json.loads(rendered) == {
        "timestamp": "2026-01-01T00:00:00Z",
        "level": "info",
        "event": json.dumps({**event, "is": 0}).replace("0.5", "5e-1").replace('"is": 0', '"is": ${v:a}'),
    }


@pytest.mark.parametrize(
    "value", ["error", "2026-11-29", "event", "level", "timestamp", "logger", "lineno", "11-29T10:00"]
)
def test_a_value_that_is_a_word_of_each_event_breaks_none(value):
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): value}))
    frame = {"level": "error", "timestamp": "2026-11-29T10:00:00.123456Z", "lineno": 7}

    rendered = _call(RenderGuard(JSONRenderer(), active), {"event": f"got {value}", "logger": "x", **frame})

    assert json.loads(rendered) == {"event": "got ${v:a}", "logger": "x", **frame}


@pytest.mark.parametrize(
    "credentials",
    [
        pytest.param({"user": "bob", "event": "login", "filename": "k.pem", "pin": "abcd"}, id="names of entries"),
        pytest.param({"level": "info", "event": "ab"}, id="level"),
        pytest.param({"0": "x", "event": "ab", "1": "y"}, id="numbers"),
    ],
)
def test_a_value_that_is_json_is_hidden_also_if_its_keys_are_those_of_an_event(credentials):
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): json.dumps(credentials)}))

    for event in (credentials, {"event": credentials, "level": "info"}, {"event": "x", "0": credentials}):
        assert json.dumps(credentials) not in _call(RenderGuard(JSONRenderer(), active), event)


def test_an_event_keeps_a_level_that_is_a_value_where_an_entry_is_replaced_as_a_whole():
    credentials = {"user": "app", "password": "hunter22"}
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): json.dumps(credentials)}))
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "b"): "warning"}))

    rendered = _call(RenderGuard(JSONRenderer(), active), {"event": "x", "level": "warning", "is": credentials})

    assert json.loads(rendered) == {"event": "x", "level": "warning", "is": "${v:a}"}


def test_an_event_with_a_time_and_a_level_that_are_no_texts_is_shown(active):
    frame = {"timestamp": 1764374400, "level": ["info"]}

    rendered = _call(RenderGuard(lambda *_: json.dumps({"event": VALUE, **frame}), active), {"event": "x"})

    assert json.loads(rendered) == {"event": '${v:a"b}', **frame}


@pytest.mark.parametrize("is_bytes", [True, False], ids=["bytes", "text"])
@pytest.mark.parametrize(
    ("rendered", "expected"),
    [
        pytest.param('["event", "Zq8-s3cr3t/val+1"]', '["event", "${v:a}"]', id="a-value"),
        pytest.param('["event",  "Zq8-s3cr3t/val+1"]', '["event",  "${v:a}"]', id="a-value-in-an-unknown-layout"),
        pytest.param('[1, ["a", "hunter22"]]', '"[1, ${v:b}]"', id="a-value-that-is-json"),
    ],
)
def test_a_value_is_hidden_in_json_that_is_no_event(rendered, expected, is_bytes):
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): VALUE}))
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "b"): '["a", "hunter22"]'}))
    rendered, expected = (rendered.encode(), expected.encode()) if is_bytes else (rendered, expected)

    assert _call(RenderGuard(lambda *_: rendered, active), {"event": "x"}) == expected


def test_json_that_cannot_be_checked_is_not_shown():
    class Failing(ReverseTransformer):
        @property
        def finder(self):
            raise RuntimeError("broken")

    active = ActiveReversers()
    active.add(Failing({}, {ConfigVariable("v", "", "k"): VALUE}))

    assert _call(RenderGuard(JSONRenderer(), active), {"event": VALUE, "level": "info"}) == UNCHECKED


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param({"level": "hunter22"}, id="level"),
        pytest.param({"timestamp": "hunter22"}, id="time"),
        pytest.param({"timestamp": "2026-11-29T10:00:00Z hunter22"}, id="longer time"),
        pytest.param({"logger": "hunter22"}, id="logger"),
        pytest.param({"k": {"level": "hunter22"}}, id="nested"),
    ],
)
def test_a_value_is_hidden_where_the_time_and_level_of_an_event_stand(entry):
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): "hunter22"}))

    assert "hunter22" not in _call(RenderGuard(JSONRenderer(), active), {"event": "x", **entry})
    assert "hunter22" not in _call(RenderGuard(lambda *_: json.dumps({"event": "x", **entry}), active), {"event": "x"})


def test_digits_after_a_time_that_are_more_than_a_fraction_are_searched():
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): "270171234567890123"}))
    event = {"event": "x", "timestamp": "2026-01-01T00:00:00.270171234567890123Z"}

    assert "270171234567890123" not in _call(RenderGuard(JSONRenderer(), active), event)


class Unhashable(str):
    """A level that cannot be looked up."""

    __slots__ = ()
    __hash__ = None


def test_a_level_that_cannot_be_looked_up_does_not_end_the_log():
    active = ActiveReversers()
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "a"): "hunter22"}))

    rendered = _call(RenderGuard(JSONRenderer(), active), {"event": "hunter22", "level": Unhashable("info")})

    assert json.loads(rendered) == {"event": "${v:a}", "level": "info"}


def test_a_number_that_is_a_value_becomes_its_reference_as_a_string(active):
    active.add(ReverseTransformer({}, {ConfigVariable("v", "", "number"): "4711081500"}))

    rendered = _call(RenderGuard(lambda *_: '{"event":4711081500}', active), {"event": "x"})

    assert rendered == '{"event":"${v:number}"}'


def test_rendered_octets_stay_octets(active):
    assert _call(RenderGuard(lambda *_: VALUE.encode(), active), {"event": "x"}) == b'${v:a"b}'


def test_what_a_renderer_hands_on_unrendered_passes(active):
    assert _call(RenderGuard(lambda *_: ((), {"k": 1}), active), {"event": "x"}) == ((), {"k": 1})


@pytest.mark.parametrize("inner", [None, logging.Formatter("%(message)s")], ids=["default", "given"])
def test_a_formatter_shows_references_in_messages_and_exceptions(inner, active):
    error = ValueError(VALUE)
    record = logging.makeLogRecord({"msg": "is %s", "args": (VALUE,), "exc_info": (ValueError, error, None)})

    assert FormatterGuard(inner, active).format(record) == 'is ${v:a"b}\nValueError: ${v:a"b}'


def test_a_method_that_a_formatter_has_as_an_attribute_is_not_called_in_place_of_the_guards(active):
    inner = logging.Formatter()
    inner.format = lambda record: f"own: {record.msg}"
    inner.formatMessage = lambda record: f"own: {record.msg}"
    guard = FormatterGuard(inner, active)
    record = logging.makeLogRecord({"msg": VALUE})

    assert guard.format(record) == 'own: ${v:a"b}'
    assert guard.formatMessage(record) == 'own: ${v:a"b}'


def test_each_method_of_a_formatter_shows_references_in_the_way_of_the_wrapped_one(active):
    class Own(logging.Formatter):
        def formatException(self, ei):  # noqa: N802 - a name of the standard library
            return f"own: {super().formatException(ei)}"

    inner = Own("%(asctime)s %(message)s", datefmt="%Y")
    guard = FormatterGuard(inner, active)
    record = logging.makeLogRecord({"message": VALUE, "asctime": "2026", "created": 0})
    error = ValueError(VALUE)

    assert guard.formatMessage(record) == '2026 ${v:a"b}'
    assert guard.formatException((ValueError, error, None)) == 'own: ValueError: ${v:a"b}'
    assert guard.formatStack(f"in {VALUE}") == 'in ${v:a"b}'
    assert guard.formatTime(record, guard.datefmt) == inner.formatTime(record, "%Y")
    assert guard.formatTime(record, VALUE) == '${v:a"b}'
    assert guard.usesTime()
