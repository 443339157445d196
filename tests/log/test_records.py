from __future__ import annotations

import io
import logging
import logging.handlers
import os
import pickle
import queue
import socket

import pytest
import structlog

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log.installation import reversing

pytestmark = pytest.mark.usefixtures("nothing_reversed")

VALUE = "Zq8-s3cr3t/val+1"
REFERENCE = "${v:a}"


def reverser(value=VALUE):
    return ReverseTransformer({}, {ConfigVariable("v", "", "a"): value})


@pytest.fixture
def out():
    """What the handler behind a ``MemoryHandler`` writes to."""
    return io.StringIO()


@pytest.fixture
def memory(out):
    return logging.handlers.MemoryHandler(100, logging.CRITICAL, logging.StreamHandler(out))


@pytest.fixture
def logger():
    logger = logging.getLogger("tests.records")
    logger.propagate = False
    yield logger
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()


def log_in_every_way(logger):
    logger.error("an argument: %s", VALUE)
    logger.error("an entry", extra={"password": VALUE, VALUE: 1})
    try:
        raise ValueError(VALUE)
    except ValueError:
        logger.exception("an exception")


def test_what_a_handler_keeps_shows_references_when_it_is_written_after_the_job(logger, memory, out):
    logger.addHandler(memory)

    with reversing(reverser()):
        log_in_every_way(logger)
    memory.flush()

    assert VALUE not in out.getvalue()
    assert f"an argument: {REFERENCE}\n" in out.getvalue()
    assert f"ValueError: {REFERENCE}\n" in out.getvalue()


def test_what_a_handler_puts_into_a_queue_shows_references_in_each_entry(logger):
    records = queue.SimpleQueue()
    logger.addHandler(logging.handlers.QueueHandler(records))

    with reversing(reverser()):
        log_in_every_way(logger)

    assert VALUE not in repr([vars(records.get()) for _ in range(3)])


def test_what_a_handler_sends_over_the_network_shows_references(logger):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        logger.addHandler(logging.handlers.DatagramHandler(*receiver.getsockname()))

        with reversing(reverser()):
            log_in_every_way(logger)
        sent = [pickle.loads(receiver.recv(65536)[4:]) for _ in range(3)]

    assert VALUE not in repr(sent)


def test_an_event_of_structlog_that_a_handler_keeps_shows_references(logger, memory, out):
    processors = [structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.KeyValueRenderer()]
    memory.target.setFormatter(structlog.stdlib.ProcessorFormatter(processors=processors))
    logger.addHandler(memory)
    bound = structlog.wrap_logger(logger, processors=[structlog.stdlib.ProcessorFormatter.wrap_for_formatter])

    with reversing(reverser()):
        try:
            raise ValueError(VALUE)
        except ValueError:
            bound.error("failed", exc_info=True, password=VALUE)
    memory.flush()

    assert VALUE not in out.getvalue()
    assert f"password='{REFERENCE}'" in out.getvalue()
    assert f"ValueError: {REFERENCE}" in out.getvalue()


def test_of_an_event_of_structlog_with_an_exception_only_its_text_is_kept(logger, memory):
    """A renderer can show local variables, which can be values although the text has none."""
    logger.addHandler(memory)
    bound = structlog.wrap_logger(logger, processors=[structlog.stdlib.ProcessorFormatter.wrap_for_formatter])

    with reversing(reverser()):
        try:
            raise ValueError("no value")
        except ValueError:
            bound.error("failed", exc_info=True)

    (record,) = memory.buffer
    assert "exc_info" not in record.msg
    assert record.msg["exception"].endswith("ValueError: no value")


@pytest.mark.parametrize("entry", [{"password": VALUE}, {VALUE: 1}], ids=["value", "key"])
def test_a_value_that_is_only_in_an_entry_is_not_kept(logger, memory, entry):
    logger.addHandler(memory)

    with reversing(reverser()):
        logger.error("began", extra=entry)

    assert VALUE not in repr([vars(record) for record in memory.buffer])


def test_a_value_in_an_argument_that_the_message_does_not_show_is_not_kept(logger, memory):
    logger.addHandler(memory)

    with reversing(reverser()):
        logger.error("began %.2s", VALUE)

    (record,) = memory.buffer
    assert (record.getMessage(), record.args) == (f"began {VALUE[:2]}", None)


def test_the_name_of_a_level_stays_although_it_is_a_value(logger, memory, out):
    memory.target.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(memory)

    with reversing(reverser("CRITICAL")):
        logger.critical("began with CRITICAL")
    memory.flush()

    assert out.getvalue() == f"CRITICAL began with {REFERENCE}\n"


def test_a_number_that_is_a_value_stays_a_number_for_the_format(logger, memory, out):
    memory.target.setFormatter(logging.Formatter("%(process)d %(message)s"))
    logger.addHandler(memory)

    with reversing(reverser(str(os.getpid()).rjust(5, "1"))):
        logger.error("began")
    memory.flush()

    assert out.getvalue() == f"{os.getpid()} began\n"


def test_arguments_that_do_not_fit_the_message_do_not_end_the_job(logger, memory, out, capsys):
    logger.addHandler(memory)

    with reversing(reverser()):
        memory.handle(logging.makeLogRecord({"msg": "%d", "args": (VALUE,)}))
    memory.flush()

    assert out.getvalue() == ""
    assert VALUE not in capsys.readouterr().err


def test_a_record_is_kept_as_it_is_without_values(logger, memory):
    logger.addHandler(memory)
    with reversing(reverser()):
        pass

    logger.error("an argument: %s", VALUE)

    (record,) = memory.buffer
    assert record.args == (VALUE,)
    assert "emit" not in vars(memory)


@pytest.mark.parametrize(
    "given", [{"msg": "line %d of %s", "args": (1, "a file")}, {"msg": {"event": "began"}}], ids=["template", "event"]
)
def test_a_record_without_a_value_in_it_is_kept_itself(logger, memory, given):
    record = logging.makeLogRecord({"levelno": logging.ERROR, **given})
    logger.addHandler(memory)

    with reversing(reverser()):
        memory.handle(record)

    assert memory.buffer[0] is record


def test_a_handler_is_guarded_once_for_jobs_that_run_side_by_side(logger, memory):
    logger.addHandler(memory)

    with reversing(reverser()):
        guard = memory.emit
        with reversing(reverser("another-value")):
            assert memory.emit is guard


def test_of_an_exception_without_a_value_in_it_the_text_is_kept_with_the_template_of_the_message(logger, memory):
    logger.addHandler(memory)

    with reversing(reverser()):
        try:
            raise ValueError("no value")
        except ValueError:
            logger.exception("failed %s", "here")

    (record,) = memory.buffer
    assert (record.msg, record.args, record.exc_info) == ("failed %s", ("here",), None)
    assert record.exc_text.endswith("ValueError: no value")


def test_a_handler_that_gives_its_emit_more_than_a_record_gets_that_and_its_result(logger):
    class Marking(logging.handlers.BufferingHandler):
        def emit(self, record, mark=None):
            self.buffer.append(record)
            return mark

        def handle(self, record):
            self.seen = self.emit(record, mark=7)
            return True

    handler = Marking(10)
    logger.addHandler(handler)

    with reversing(reverser()):
        logger.error("an argument: %s", VALUE)

    assert handler.seen == 7
    assert handler.buffer[0].getMessage() == f"an argument: {REFERENCE}"


class Marked(logging.LogRecord):
    def getMessage(self):  # noqa: N802 - a name of the standard library
        return f"mark {super().getMessage()}"


@pytest.mark.parametrize(
    ("argument", "shown"), [(VALUE, REFERENCE), ("none", "none")], ids=["with a value", "without one"]
)
@pytest.mark.parametrize("exc_info", [None, (ValueError, ValueError("a cause"), None)], ids=["message", "exception"])
def test_what_the_class_of_a_record_adds_to_the_message_is_shown_once(logger, memory, out, argument, shown, exc_info):
    logger.addHandler(memory)
    with reversing(reverser()):
        memory.handle(Marked("tests.records", logging.ERROR, "", 0, "an argument: %s", (argument,), exc_info))
    memory.flush()

    assert out.getvalue().splitlines() == [f"mark an argument: {shown}", *(["ValueError: a cause"] if exc_info else [])]
