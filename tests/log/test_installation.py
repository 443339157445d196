from __future__ import annotations

import contextlib
import gc
import io
import logging
import subprocess
import sys
import threading
import weakref

import pytest
import structlog

from airflow_config_providers.core.reversal.reverse import ReverseTransformer
from airflow_config_providers.core.variable import ConfigVariable
from airflow_config_providers.log.installation import install, reversing
from tests.limits import LONGEST

pytestmark = pytest.mark.usefixtures("nothing_reversed")

VALUE = "Zq8-s3cr3t/val+1"
OTHER = "0ther-s3cr3t-val"


def _reverser(value=VALUE, key="a"):
    return ReverseTransformer({}, {ConfigVariable("v", "", key): value})


def _cut_tokens(_, __, event):
    return {**event, "event": event["event"].replace("Zq8", "***")}


_cut_tokens.__name__ = "redact_jwt"


@pytest.fixture
def out():
    return io.StringIO()


@pytest.fixture
def logger(out):
    """A logger of structlog that writes to ``out``."""
    before = structlog.get_config()  # Airflow's: structlog's own has rich draw each traceback, which takes seconds
    structlog.configure(
        processors=[structlog.stdlib.add_log_level, _cut_tokens, structlog.processors.KeyValueRenderer()],
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    logger = structlog.get_logger()
    logger.info("first use: processors are held from here on")
    yield logger
    structlog.configure(**before)


@contextlib.contextmanager
def _in_use(handler):
    """Attach a handler to a logger that does not propagate."""
    logger = logging.getLogger("tests.reversal")
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


@pytest.fixture
def handler(out):
    """A handler of the standard library."""
    with _in_use(logging.StreamHandler(out)) as handler:
        yield handler


def _chains():
    """Return everything that an installation changes."""
    handlers = [handler for name in (None, "tests.reversal") for handler in logging.getLogger(name).handlers]
    processors = structlog.get_config()["processors"]
    return (
        [id(processors), *map(id, processors)],
        [(id(handler), id(handler.formatter)) for handler in handlers],
        [
            [id(processor) for processor in getattr(handler.formatter, name, None) or ()]
            for handler in handlers
            for name in ("processors", "foreign_pre_chain")
        ],
        [id(sys.stdout), id(sys.stderr)],
    )


def _structlog_formatter(kind):
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=kind([structlog.stdlib.add_log_level, _cut_tokens]),
        processors=kind(
            [structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.KeyValueRenderer()]
        ),
    )


def test_importing_it_imports_neither_airflow_nor_structlog():
    script = "import sys, airflow_config_providers.log.installation; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()

    assert not {"airflow", "structlog"} & set(loaded)


# --- what is logged ---------------------------------------------------------------------------------


def test_a_logger_in_use_shows_references(logger, out):
    with reversing(_reverser()):
        logger.info(f"is {VALUE}", nested={"k": [VALUE]})

    assert "nested={'k': ['${v:a}']} event='is ${v:a}'" in out.getvalue()


def test_a_new_logger_shows_references(logger, out):
    with reversing(_reverser()):
        structlog.get_logger().bind(bound=VALUE).info("x")

    assert "bound='${v:a}'" in out.getvalue()


def test_an_exception_shows_references(logger, out):
    with reversing(_reverser()):
        try:
            raise ValueError(VALUE)
        except ValueError:
            logger.exception("failed")

    assert "ValueError: ${v:a}" in out.getvalue()


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_formatter_of_structlog_shows_references(kind, handler, out):
    handler.setFormatter(_structlog_formatter(kind))

    with reversing(_reverser()):
        try:
            raise ValueError(f"bad {VALUE}")
        except ValueError:
            logging.getLogger("tests.reversal").exception("is %s", VALUE)

    assert "event='is ${v:a}'" in out.getvalue()
    assert "ValueError: bad ${v:a}" in out.getvalue()


@pytest.mark.parametrize("kind", [list, tuple])
def test_processors_that_a_task_configures_show_references(kind, logger, out):
    with reversing(_reverser()):
        structlog.configure(processors=kind([structlog.processors.KeyValueRenderer()]))
        structlog.get_logger().info(f"is {VALUE}")

    assert "event='is ${v:a}'" in out.getvalue()


def test_processors_that_are_a_tuple_show_references(logger, out):
    structlog.configure(processors=(structlog.processors.KeyValueRenderer(),))

    with reversing(_reverser()):
        structlog.get_logger().info(f"is {VALUE}")

    assert "event='is ${v:a}'" in out.getvalue()


@pytest.mark.parametrize("kind", [list, tuple])
def test_processors_that_a_task_configures_are_as_before_at_the_end(kind, logger):
    processors = kind([structlog.processors.KeyValueRenderer()])
    expected = [*processors]

    with reversing(_reverser()):
        structlog.configure(processors=processors)
        structlog.get_logger().info("x")

    assert structlog.get_config()["processors"] is processors
    assert [*processors] == expected


def test_the_factory_of_loggers_is_as_before_at_the_end(logger):
    factory = structlog.get_config()["logger_factory"]

    with reversing(_reverser()):
        assert structlog.get_config()["logger_factory"] is not factory

    assert structlog.get_config()["logger_factory"] is factory


def test_a_factory_that_a_task_configures_stays(logger):
    factory = structlog.PrintLoggerFactory()

    with reversing(_reverser()):
        structlog.configure(logger_factory=factory)

    assert structlog.get_config()["logger_factory"] is factory


def test_a_logger_of_the_standard_library_is_named_after_the_module_that_asks_for_it(logger):
    structlog.configure(logger_factory=structlog.stdlib.LoggerFactory(), wrapper_class=structlog.stdlib.BoundLogger)

    with reversing(_reverser()):
        assert structlog.get_logger().bind().name == __name__


@pytest.mark.parametrize(
    "formatter",
    [
        pytest.param(logging.Formatter("%(message)s"), id="plain"),
        pytest.param(None, id="none"),
    ],
)
def test_a_formatter_that_a_task_sets_shows_references(formatter, handler, out):
    with reversing(_reverser()):
        handler.setFormatter(formatter)
        logging.getLogger("tests.reversal").warning("is %s", VALUE)

    assert out.getvalue() == "is ${v:a}\n"


def test_a_formatter_of_structlog_that_a_task_sets_shows_references(handler, out):
    with reversing(_reverser()):
        handler.setFormatter(_structlog_formatter(list))
        logging.getLogger("tests.reversal").warning("is %s", VALUE)

    assert "event='is ${v:a}'" in out.getvalue()


class Announcing(logging.StreamHandler):
    """Writes a line as soon as it has a new formatter, as another thread can."""

    def setFormatter(self, fmt):  # noqa: N802 - a name of the standard library
        super().setFormatter(fmt)
        self.handle(logging.makeLogRecord({"msg": f"now {VALUE}"}))


@pytest.mark.parametrize(
    "formatter",
    [
        pytest.param(logging.Formatter("%(message)s"), id="plain"),
        pytest.param(_structlog_formatter(list), id="structlog"),
    ],
)
def test_no_line_is_written_before_a_new_formatter_is_guarded(formatter, out):
    with _in_use(Announcing(out)) as handler, reversing(_reverser()):
        handler.setFormatter(formatter)

    assert "now ${v:a}" in out.getvalue()


class FormattingItsWay(logging.StreamHandler):
    """Makes a formatter of its own from the one that it is given."""

    def setFormatter(self, fmt):  # noqa: N802 - a name of the standard library
        super().setFormatter(logging.Formatter(f"own {fmt._fmt}"))


def test_a_formatter_that_a_handler_makes_of_a_new_one_shows_references(out):
    with _in_use(FormattingItsWay(out)) as handler, reversing(_reverser()):
        handler.setFormatter(logging.Formatter("%(message)s"))
        logging.getLogger("tests.reversal").warning("is %s", VALUE)

    assert out.getvalue() == "own is ${v:a}\n"


class Fixed(logging.StreamHandler):
    """Has a method that cannot be replaced, and counts how often its formatter is set."""

    changes = 0

    @property
    def setFormatter(self):  # noqa: N802 - a name of the standard library
        return super().setFormatter

    @property
    def formatter(self):
        return self._formatter

    @formatter.setter
    def formatter(self, fmt):
        self._formatter = fmt
        self.changes += 1


@pytest.fixture
def fixed(out):
    with _in_use(Fixed(out)) as handler:
        yield handler


def test_a_handler_whose_methods_cannot_be_replaced_shows_references(fixed, out):
    with reversing(_reverser()):
        logging.getLogger("tests.reversal").warning("is %s", VALUE)

    assert out.getvalue() == "is ${v:a}\n"


def test_a_formatter_that_is_a_property_is_as_before_at_the_end(fixed):
    formatter = logging.Formatter("%(message)s")
    fixed.setFormatter(formatter)

    with reversing(_reverser()):
        assert fixed.formatter is not formatter

    assert fixed.formatter is formatter


def test_a_formatter_that_is_guarded_is_not_set_again(fixed):
    with reversing(_reverser()):
        before = fixed.changes
        with reversing(_reverser(OTHER)):
            assert fixed.changes == before


def test_a_formatter_that_a_task_sets_stays(handler):
    formatter = logging.Formatter("%(message)s")

    with reversing(_reverser()):
        handler.setFormatter(formatter)

    assert handler.formatter is formatter
    assert "setFormatter" not in vars(handler)


def test_the_guards_of_replaced_formatters_are_not_kept(handler):
    with reversing(_reverser()):
        handler.setFormatter(logging.Formatter("first %(message)s"))
        replaced = weakref.ref(handler.formatter)
        handler.setFormatter(logging.Formatter("second %(message)s"))
        gc.collect()

        assert replaced() is None


def test_a_plain_handler_shows_references(handler, out):
    with reversing(_reverser()):
        logging.getLogger("tests.reversal").warning("is %s", VALUE)

    assert out.getvalue() == "is ${v:a}\n"


def test_structlog_that_hands_on_to_a_plain_handler_shows_references_and_the_traceback(handler, out):
    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.stdlib.render_to_log_kwargs], logger_factory=structlog.stdlib.LoggerFactory()
    )
    try:
        with reversing(_reverser()):
            try:
                raise ValueError(VALUE)
            except ValueError:
                structlog.get_logger("tests.reversal").error("failed", exc_info=True)
    finally:
        structlog.configure(**before)

    assert out.getvalue().startswith("failed\nTraceback")
    assert out.getvalue().endswith("ValueError: ${v:a}\n")


def test_what_is_printed_shows_references(capsys):
    with reversing(_reverser()):
        print(VALUE)
        print(VALUE, file=sys.stderr)

    assert capsys.readouterr() == ("${v:a}\n", "${v:a}\n")


def test_other_threads_show_references(logger, out):
    with reversing(_reverser()):
        thread = threading.Thread(target=lambda: logger.info(VALUE))
        thread.start()
        thread.join()

    assert "event='${v:a}'" in out.getvalue()


# --- install and uninstall --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple])
def test_everything_is_as_before_afterwards(kind, logger, handler):
    handler.setFormatter(_structlog_formatter(kind))
    before = _chains()

    with reversing(_reverser()):
        assert _chains() != before

    assert _chains() == before


def test_everything_is_as_before_after_a_failure(logger, handler):
    before = _chains()

    with pytest.raises(ValueError, match="x"), reversing(_reverser()):
        raise ValueError("x")

    assert _chains() == before


def test_a_second_installation_adds_no_second_guard(logger, handler):
    with reversing(_reverser()):
        once = _chains()
        with reversing(_reverser(OTHER)):
            assert _chains() == once


def test_all_installed_reversers_work_until_each_one_goes(logger, out):
    with reversing(_reverser()):
        with reversing(_reverser(OTHER, "b")):
            logger.info(f"1 {VALUE} {OTHER}")
        logger.info(f"2 {VALUE} {OTHER}")

    assert "event='1 ${v:a} ${v:b}'" in out.getvalue()
    assert f"event='2 ${{v:a}} {OTHER}'" in out.getvalue()


def test_installations_may_end_in_any_order(logger, out):
    before = _chains()
    first, second = install(_reverser()), install(_reverser(OTHER, "b"))

    first.uninstall()
    logger.info(OTHER)
    second.uninstall()

    assert "event='${v:b}'" in out.getvalue()
    assert _chains() == before


def test_one_reverser_may_be_installed_twice(logger, out):
    reverser = _reverser()

    with reversing(reverser):
        with reversing(reverser):
            pass
        logger.info(VALUE)

    assert "event='${v:a}'" in out.getvalue()


def test_uninstalling_again_does_nothing(logger, out):
    installation = install(_reverser())

    with reversing(_reverser(OTHER, "b")):
        installation.uninstall()
        installation.uninstall()
        logger.info(OTHER)

    assert "event='${v:b}'" in out.getvalue()


def test_a_reverser_with_nothing_to_hide_changes_nothing(logger, handler):
    before = _chains()

    with reversing(ReverseTransformer({}, {})):
        assert _chains() == before


def test_what_others_added_meanwhile_stays(logger, handler):
    def other(_, __, event):
        return event

    processors = structlog.get_config()["processors"]
    before = list(processors)
    installation = install(_reverser())
    processors.insert(1, other)
    mine = io.StringIO()
    replaced, sys.stderr = sys.stderr, mine

    installation.uninstall()

    after, sys.stderr = sys.stderr, replaced.inner
    assert processors == [before[0], other, *before[1:]]
    assert after is mine


def test_a_configuration_made_meanwhile_is_guarded_at_the_next_installation(logger, out):
    with reversing(_reverser()):
        structlog.configure(processors=[structlog.processors.KeyValueRenderer()])
        with reversing(_reverser(OTHER)):
            structlog.get_logger().info(VALUE)
        after = structlog.get_config()["processors"]

    assert "event='${v:a}'" in out.getvalue()
    assert [type(processor) for processor in after] == [structlog.processors.KeyValueRenderer]


def test_a_line_that_is_not_complete_is_written_with_references_at_the_end(capsys):
    with reversing(_reverser()):
        print("is", VALUE, end="")

    assert capsys.readouterr().out == "is ${v:a}"


def test_what_a_task_prints_to_a_stream_of_its_own_above_a_guarded_one_shows_references():
    below = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(below)):
        with reversing(_reverser()):
            own = sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8")
            print(VALUE)
        own.flush()

        assert below.getvalue() == b"${v:a}\n"


@pytest.fixture
def screen():
    """A stream as Airflow makes one for a task."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", line_buffering=True)


@contextlib.contextmanager
def _reversing_on(screen):
    """Reverse while a stream is standard error."""
    with contextlib.redirect_stderr(screen), reversing(_reverser()):
        yield


def test_what_code_writes_to_a_stream_that_it_kept_before_shows_references(screen):
    with _reversing_on(screen):
        screen.write(f"{VALUE} is\n")
        print("is", VALUE, file=screen, flush=True)
        screen.writelines([VALUE])
    screen.flush()

    assert screen.buffer.getvalue() == b"${v:a} is\nis ${v:a}\n${v:a}"


def test_a_stream_that_code_kept_and_the_current_one_are_written_in_order(screen):
    with _reversing_on(screen):
        for stream in (screen, sys.stderr, screen):
            print("is", end=" ", file=stream)
        screen.flush()
        assert screen.buffer.getvalue() == b"is is is "


def test_a_stream_that_code_kept_is_as_before_at_the_end(screen):
    before = dict(vars(screen))

    with _reversing_on(screen), reversing(_reverser(OTHER)):
        assert "write" in vars(screen)

    assert vars(screen) == before
    screen.write(VALUE)
    screen.flush()
    assert screen.buffer.getvalue() == VALUE.encode()


def test_a_stream_whose_method_another_package_replaced_keeps_that_one(screen):
    written = []
    screen.write = written.append

    with _reversing_on(screen):
        print(VALUE, file=sys.stderr, flush=True)

    assert written == ["${v:a}\n"]
    assert screen.write == written.append


@pytest.mark.parametrize("members", [{}, {"flush": lambda self, now: None}], ids=["none", "with another signature"])
def test_a_stream_of_a_task_that_cannot_be_flushed_does_no_harm(members):
    written = []
    with contextlib.redirect_stdout(io.StringIO()), reversing(_reverser()):
        sys.stdout = type("Writer", (), {"write": staticmethod(written.append), **members})()
        print("x")

    assert written == ["x", "\n"]


def test_a_stream_that_was_closed_meanwhile_does_no_harm():
    screen, kept = io.StringIO(), sys.stdout
    sys.stdout = screen
    try:
        with reversing(_reverser()):
            print("held back", end="")
            screen.close()
        assert sys.stdout is screen
    finally:
        sys.stdout = kept


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        pytest.param(RuntimeError("reentrant call"), contextlib.nullcontext(), id="in-the-middle-of-a-write"),
        pytest.param(TimeoutError("of the task"), contextlib.nullcontext(), id="error-of-the-system"),
        pytest.param(KeyboardInterrupt(), pytest.raises(KeyboardInterrupt), id="interrupted"),
    ],
)
def test_a_stream_that_cannot_be_written_leaves_no_guard(error, raised):
    class Failing(io.StringIO):
        def write(self, _):
            raise error

    screen, kept = Failing(), sys.stdout
    sys.stdout = screen
    try:
        with raised, reversing(_reverser()):
            print("held back", end="")
        assert sys.stdout is screen
    finally:
        sys.stdout = kept


class Slow(io.StringIO):
    """Writes when it may."""

    def __init__(self):
        super().__init__()
        self.is_writing, self.may_write = threading.Event(), threading.Event()

    def write(self, text):
        self.is_writing.set()
        assert self.may_write.wait(2 * LONGEST)
        return super().write(text)


def test_a_stream_that_is_slow_delays_no_other_task():
    slow = Slow()
    with contextlib.redirect_stdout(slow):
        installation = install(_reverser())
        threads = [threading.Thread(target=call) for call in (lambda: print("x"), installation.uninstall)]
        threads[0].start()
        assert slow.is_writing.wait(LONGEST)
        threads[1].start()
        threads[1].join(0.1)  # it waits for the stream
        others = []
        threads.append(threading.Thread(target=lambda: others.append(install(_reverser(OTHER)))))
        threads[2].start()
        threads[2].join(LONGEST)
        found = [*others]
        slow.may_write.set()
        for thread in threads:
            thread.join()
        others[0].uninstall()

    assert found == others


def test_a_process_without_standard_output_is_served(logger, out):
    kept, sys.stdout = sys.stdout, None
    try:
        with reversing(_reverser()):
            logger.info(VALUE)
    finally:
        sys.stdout = kept

    assert "event='${v:a}'" in out.getvalue()


def test_a_line_that_is_not_complete_is_written_with_references_while_output_is_redirected(capsys):
    installation = install(_reverser())
    print("is", VALUE, end="")
    with contextlib.redirect_stdout(io.StringIO()):
        installation.uninstall()
    print(".")

    assert capsys.readouterr().out == "is ${v:a}.\n"


def test_a_guard_that_a_redirection_has_kept_is_released_by_later_installations(capsys):
    first = install(_reverser())
    with contextlib.redirect_stdout(io.StringIO()):
        first.uninstall()
        second = install(_reverser())
    print("is", VALUE, end="")
    with contextlib.redirect_stdout(io.StringIO()):
        second.uninstall()
    print(".")

    assert capsys.readouterr().out == "is ${v:a}.\n"


class FailingFormatter(logging.Formatter):
    @property
    def foreign_pre_chain(self):
        raise OSError("of the formatter")


def test_an_installation_that_fails_leaves_everything_as_before(logger, handler):
    handler.setFormatter(FailingFormatter())
    before = [id(each) for each in structlog.get_config()["processors"]]

    with pytest.raises(OSError, match="of the formatter"):
        install(_reverser())

    assert [id(each) for each in structlog.get_config()["processors"]] == before


def test_an_installation_that_fails_replaces_nothing(handler, out):
    handler.setFormatter(FailingFormatter())
    with pytest.raises(OSError, match="of the formatter"):
        install(_reverser())

    handler.setFormatter(None)
    with reversing(_reverser(OTHER, "b")):
        logging.getLogger("tests.reversal").warning("is %s", VALUE)

    assert out.getvalue() == f"is {VALUE}\n"
