"""What several workers would rewrite for ``assert``: each file of a new checkout once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, assertstate_key

from tests.rewriting import asked_for, rewrite, rewrite_share


@pytest.fixture(autouse=True)
def writing_bytecode(monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", False)


@pytest.fixture
def files(tmp_path):
    """Four test files, two of them in a folder."""
    (tmp_path / "folder").mkdir()
    names = ["folder/test_a.py", "folder/test_b.py", "test_c.py", "test_d.py"]
    for name in names:
        (tmp_path / name).write_text("def test_it(): assert 1 == 2\n")
    return [tmp_path / name for name in names]


def run(tmp_path, pytestconfig, *arguments, worker=None):
    """Return the configuration of a run in the folder."""
    more = {"workerinput": {"workerid": f"gw{worker}", "workercount": 2}} if worker is not None else {}
    where = SimpleNamespace(dir=tmp_path)
    return SimpleNamespace(
        args=arguments, invocation_params=where, stash=pytestconfig.stash, getini=pytestconfig.getini, **more
    )


def rewritten(files):
    return [file.name for file in files if (file.parent / "__pycache__" / f"{file.stem}{PYC_TAIL}").exists()]


def test_pytest_takes_what_was_rewritten(files, pytestconfig):
    rewrite(files[:1], pytestconfig)
    written = files[0].parent / "__pycache__" / f"{files[0].stem}{PYC_TAIL}"

    assert _read_pyc(files[0], written, pytestconfig.stash[assertstate_key].trace) is not None


def test_what_is_rewritten_is_left(files, pytestconfig):
    rewrite(files[:1], pytestconfig)
    written = files[0].parent / "__pycache__" / f"{files[0].stem}{PYC_TAIL}"
    written.write_bytes(b"as it was")
    rewrite(files[:1], pytestconfig)

    assert written.read_bytes() == b"as it was"


def test_nothing_is_written_where_python_is_told_so(files, pytestconfig, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    rewrite(files, pytestconfig)

    assert rewritten(files) == []


@pytest.mark.parametrize(("worker", "share"), [(0, ["test_a.py", "test_c.py"]), (1, ["test_b.py", "test_d.py"])])
def test_each_worker_has_its_share(files, tmp_path, pytestconfig, worker, share):
    rewrite_share(run(tmp_path, pytestconfig, ".", worker=worker), lambda *_: None)

    assert rewritten(files) == share


def test_a_file_that_is_left_out_is_not_rewritten(files, tmp_path, pytestconfig):
    rewrite_share(run(tmp_path, pytestconfig, ".", worker=0), lambda file, _: file.name == "test_a.py")

    assert rewritten(files) == ["test_b.py", "test_d.py"]


def test_without_workers_nothing_is_rewritten_before(files, tmp_path, pytestconfig):
    rewrite_share(run(tmp_path, pytestconfig, "."), lambda *_: None)

    assert rewritten(files) == []


def test_only_what_was_asked_for_is_rewritten(files, tmp_path, pytestconfig):
    assert asked_for(run(tmp_path, pytestconfig, "folder", "test_d.py::test_it")) == [*files[:2], files[3]]
