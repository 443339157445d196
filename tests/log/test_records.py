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
