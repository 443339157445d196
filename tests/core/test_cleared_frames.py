"""Local variables in the frames of errors."""

from __future__ import annotations

import sys
import traceback

import pytest

from airflow_config_providers.core.errors import clearing_frames


def fails(secret):
    raise ValueError(len(secret))


def fails_because(secret):
    try:
        fails(secret)
    except ValueError as error:
        raise KeyError("k") from error


def fails_meanwhile(secret):
    try:
        fails(secret)
    except ValueError:
        raise KeyError("k") from None


def fails_together(secret):
    try:
        fails(secret)
    except ValueError as error:
        failed = error
    raise ExceptionGroup("both", [failed])


def variables(error):
    """Return the local variables in the frames of an error, of what it came from and of what it consists of."""
    related = [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]
    own = {name for frame, _ in traceback.walk_tb(error.__traceback__) for name in frame.f_locals}
    return own.union(*(variables(one) for one in related if one is not None))


@pytest.mark.parametrize("function", [fails, fails_because, fails_meanwhile, fails_together])
def test_an_error_brings_no_local_variables_of_the_function(function):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of each kind
        clearing_frames(function)("secret")

    assert "secret" not in variables(caught.value)


def test_it_needs_no_import_that_could_fail(monkeypatch):
    monkeypatch.setitem(sys.modules, "traceback", None)
    with pytest.raises(ValueError, match="6") as caught:
        clearing_frames(fails)("secret")
    monkeypatch.undo()

    assert "secret" not in variables(caught.value)


def test_the_traceback_stays():
    with pytest.raises(ValueError, match="6") as caught:
        clearing_frames(fails)("secret")

    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "fails"


def test_an_error_that_is_its_own_context_ends_the_search():
    error = ValueError()
    error.__context__ = KeyError()
    error.__context__.__cause__ = error

    with pytest.raises(ValueError):  # noqa: PT011 - the same object
        clearing_frames(lambda: (_ for _ in ()).throw(error))()
