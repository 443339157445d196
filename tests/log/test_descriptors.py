"""What goes past Python's streams, in a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import textwrap

import pytest

from airflow_config_providers.core.reversal.active_reversers import ActiveReversers
from airflow_config_providers.log.descriptors import join_all, pass_on
from airflow_config_providers.testing import FakeClock
from tests.canary import CANARY
from tests.limits import LONGEST

BEGIN = f"""
import os, subprocess, sys, threading
from airflow_config_providers.core import ConfigVariable, ReverseTransformer
from airflow_config_providers.log import descriptors
from airflow_config_providers.log.descriptors import guarded_descriptors

descriptors._PATIENCE = {LONGEST}
value = {CANARY!r}
reverser = ReverseTransformer({{}}, {{ConfigVariable("v", "", "k"): value}})
"""


def run(program, **kwargs):
    words = [sys.executable, "-c", BEGIN + textwrap.dedent(program)]
    return subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=True, **kwargs)


@pytest.mark.parametrize(("descriptor", "name"), [(1, "stdout"), (2, "stderr")])
@pytest.mark.parametrize(
    "write",
    [
        pytest.param("os.write({0}, f'is {{value}}\\n'.encode())", id="the-process"),
        pytest.param("subprocess.run(['sh', '-c', f'echo is \"{{value}}\" >&{0}'])", id="a-child"),
        pytest.param("print('is', value, file=sys.{1})", id="python"),
        pytest.param("os.write({0}, f'is {{value}}'.encode())", id="a-line-without-its-end"),
    ],
)
def test_what_is_written_to_a_descriptor_shows_references(descriptor, name, write):
    done = run(f"with guarded_descriptors(reverser):\n    {write.format(descriptor, name)}")

    assert (done.stdout + done.stderr).strip() == "is ${v:k}"
    assert getattr(done, name).strip() == "is ${v:k}"


def test_what_python_printed_before_and_after_stays_in_order():
    done = run(
        """
        print("before")
        with guarded_descriptors(reverser):
            print("inside", value)
        print("after", value)
        """
    )

    assert done.stdout == f"before\ninside ${{v:k}}\nafter {CANARY}\n"


def test_a_child_that_goes_on_stays_guarded():
    done = run(
        """
        descriptors._PATIENCE = 0
        with guarded_descriptors(reverser):
            child = subprocess.Popen(["sh", "-c", f"read go; echo late {value}"], stdin=subprocess.PIPE)
        child.communicate(b"go\\n")
        for pump in [thread for thread in threading.enumerate() if thread.daemon]:
            pump.join()
        """
    )

    assert done.stdout == "late ${v:k}\n"


def test_much_output_is_passed_on_whole():
    done = run(
        """
        with guarded_descriptors(reverser):
            for _ in range(50_000):
                print("some words and", value)
        """
    )

    assert done.stdout == "some words and ${v:k}\n" * 50_000


def test_without_values_nothing_is_put_between():
    done = run(
        """
        before = os.fstat(1).st_ino
        with guarded_descriptors(ReverseTransformer({}, {})):
            assert os.fstat(1).st_ino == before
        """
    )

    assert done.stdout == ""


def test_a_closed_descriptor_is_left_alone():
    done = run(
        """
        os.close(1)
        with guarded_descriptors(reverser):
            os.write(2, f"is {value}".encode())
        """
    )

    assert done.stderr == "is ${v:k}"


def test_an_error_passes_through():
    done = run(
        """
        try:
            with guarded_descriptors(reverser):
                raise KeyError("own")
        except KeyError as error:
            print(error)
        """
    )

    assert done.stdout == "'own'\n"


OTHER = "0ther/c4nary+value"
SECOND = f"second = ReverseTransformer({{}}, {{ConfigVariable('v', '', 'k2'): {OTHER!r}}})\n"


def test_attack_19_a_second_block_and_a_third_guard_as_the_first():
    done = run(
        """
        for name in ("k1", "k2", "k3"):
            own = f"{value}-{name}"
            with guarded_descriptors(ReverseTransformer({}, {ConfigVariable("v", "", name): own})):
                os.write(1, f"is {own}\\n".encode())
                subprocess.run(["sh", "-c", f"echo child {own} >&2"])
        """
    )

    assert done.stdout == "is ${v:k1}\nis ${v:k2}\nis ${v:k3}\n"
    assert done.stderr == "child ${v:k1}\nchild ${v:k2}\nchild ${v:k3}\n"


def test_attack_19_a_child_of_one_block_is_guarded_for_the_values_of_a_later_one():
    done = run(
        SECOND + "descriptors._PATIENCE = 0\n"
        "with guarded_descriptors(reverser):\n"
        "    child = subprocess.Popen(['sh', '-c', 'read a; echo is $a'], stdin=subprocess.PIPE)\n"
        f"descriptors._PATIENCE = {LONGEST}\n"
        "with guarded_descriptors(second):\n"
        f"    child.communicate(b'{OTHER}\\n')\n"
    )

    assert done.stdout == "is ${v:k2}\n"


def test_a_block_after_one_that_failed_guards_too():
    done = run(
        """
        try:
            with guarded_descriptors(reverser):
                raise KeyError("own")
        except KeyError:
            pass
        with guarded_descriptors(reverser):
            os.write(1, f"is {value}".encode())
        """
    )

    assert done.stdout == "is ${v:k}"


def test_an_inner_block_guards_its_values_and_those_of_the_outer_one():
    done = run(
        SECOND + "with guarded_descriptors(reverser):\n"
        "    with guarded_descriptors(second):\n"
        f"        os.write(1, f'{{value}} {OTHER}\\n'.encode())\n"
        "    os.write(1, f'{value}\\n'.encode())\n"
    )

    assert done.stdout == "${v:k} ${v:k2}\n${v:k}\n"


def test_a_block_that_one_thread_leaves_stays_for_another():
    done = run(
        SECOND + "import threading\n"
        "left = threading.Event()\n"
        "entered = threading.Event()\n"
        "def work():\n"
        "    with guarded_descriptors(reverser):\n"
        "        entered.set()\n"
        "        left.wait()\n"
        "        os.write(1, f'is {value}\\n'.encode())\n"
        "thread = threading.Thread(target=work)\n"
        "with guarded_descriptors(second):\n"
        "    thread.start()\n"
        "    entered.wait()\n"
        "left.set()\n"
        "thread.join()\n"
        "os.write(1, b'free\\n')\n"
    )

    assert done.stdout == "is ${v:k}\nfree\n"


FEW = """
import resource
def leave_free(count):
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for _ in range(count):
            os.close(taken.pop())
    return taken
def enter():
    try:
        with guarded_descriptors(reverser):
            os.write(1, f"is {value}\\n".encode())
    except OSError as error:
        os.write(1, f"{error.strerror}\\n".encode())
"""


@pytest.mark.parametrize("free", range(5))
def test_a_block_does_not_begin_if_there_are_too_few_descriptors_to_guard(free):
    done = run(FEW + f"leave_free({free})\nenter()")

    assert done.stdout == "Too many open files\n"


def test_a_block_begins_with_just_enough_descriptors():
    assert run(FEW + "leave_free(5)\nenter()").stdout == "is ${v:k}\n"


def test_a_block_after_one_that_could_not_begin_guards():
    done = run(FEW + "taken = leave_free(1)\nenter()\nfor each in taken:\n    os.close(each)\nenter()")

    assert done.stdout == "Too many open files\nis ${v:k}\n"


def test_if_no_thread_can_be_started_the_descriptors_stay_as_they_are():
    done = run(
        """
        threading.stack_size(1 << 46)  # more than any machine has
        try:
            with guarded_descriptors(reverser):
                os.write(1, b"in the block\\n")
        except RuntimeError:
            os.write(1, b"not begun\\n")
        threading.stack_size(0)
        with guarded_descriptors(reverser):
            os.write(1, f"is {value}\\n".encode())
        """
    )

    assert done.stdout == "not begun\nis ${v:k}\n"


def test_standard_output_that_was_closed_before_python_started_is_left_alone():
    program = "with guarded_descriptors(reverser):\n    os.write(2, f'is {value}'.encode())"

    assert run(program, preexec_fn=lambda: os.close(1)).stderr == "is ${v:k}"


def test_a_block_in_which_the_output_was_closed_ends_without_an_error():
    done = run("with guarded_descriptors(reverser):\n    os.close(1)\nos.write(2, 'is ended'.encode())")

    assert done.stderr == "is ended"


FORKED = f"""
import signal
def forked(work):
    child = os.fork()
    if child == 0:
        signal.alarm({LONGEST:.0f})
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
def block(text):
    with guarded_descriptors(reverser):
        os.write(1, text.encode())
"""


def test_a_fork_while_another_thread_ends_a_block_can_have_one_of_its_own():
    done = run(
        FORKED
        + """
before = os.fstat(1).st_ino
child = None
def with_a_child_that_goes_on():
    global child
    with guarded_descriptors(reverser):
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
thread = threading.Thread(target=with_a_child_that_goes_on)
thread.start()
while child is None or os.fstat(1).st_ino != before:
    pass
forked(lambda: block(f"is {value}\\n"))
assert thread.is_alive()
child.communicate(b"")
thread.join()
"""
    )

    assert done.stdout == "is ${v:k}\n"


def test_a_fork_within_a_block_guards_the_values_of_its_own_blocks():
    done = run(FORKED + SECOND + "with guarded_descriptors(second):\n    forked(lambda: block(f'is {value}\\n'))\n")

    assert done.stdout == "is ${v:k}\n"


def test_a_fork_within_a_block_stays_guarded_by_its_parent():
    done = run(
        FORKED + "with guarded_descriptors(reverser):\n    forked(lambda: os.write(1, f'is {value}'.encode()))\n"
    )

    assert done.stdout == "is ${v:k}"


class Lines(io.BytesIO):
    """The end of a pipe to which each line was written by itself."""

    def read(self, size=-1):
        return self.readline(size)


class FailingAtFirst(ActiveReversers):
    """Reversers that cannot be asked the first time."""

    has_failed = False

    @property
    def reversers(self):
        if not self.has_failed:
            self.has_failed = True
            raise MemoryError
        return super().reversers


def test_output_that_cannot_be_reversed_is_lost_and_what_follows_is_passed_on(tmp_path):
    outside = (tmp_path / "outside").open("wb")

    pass_on(Lines(b"first\nsecond\n"), outside, FailingAtFirst())

    assert (tmp_path / "outside").read_bytes() == b"second\n"


class Endless:
    """A thread that does not end."""

    def __init__(self, clock):
        self.clock = clock

    def join(self, seconds):
        self.clock.sleep(seconds)


def test_a_block_waits_no_longer_for_many_children_that_go_on_than_for_one():
    clock = FakeClock()

    join_all([Endless(clock)] * 3, 0.5, clock)

    assert clock() == 0.5
