"""What goes past Python's streams, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

CANARY = "c4nary/s3cret+value"
BEGIN = f"""
import os, subprocess, sys, time
from airflow_config_providers.core import ConfigVariable, ReverseTransformer
from airflow_config_providers.log.descriptors import guarded_descriptors

value = {CANARY!r}
reverser = ReverseTransformer({{}}, {{ConfigVariable("v", "", "k"): value}})
"""


def run(program, **kwargs):
    words = [sys.executable, "-c", BEGIN + textwrap.dedent(program)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True, **kwargs)


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
        with guarded_descriptors(reverser):
            child = subprocess.Popen(["sh", "-c", f"read go; echo late {value}"], stdin=subprocess.PIPE)
        child.communicate(b"go\\n")
        time.sleep(0.5)
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
