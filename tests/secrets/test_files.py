"""Files are read when something is asked for, and again when they have changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from airflow_config_providers.airflow_compat import AirflowSecretsBackendAccessDenied
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.secrets.config_providers import ConfigProvidersBackend
from airflow_config_providers.secrets.entry_files import ChangingFiles, paths

CANARY = "c4nary-Zq8"


class Reader:
    """Counts how often a file is really read."""

    def __init__(self):
        self.reads = 0

    def __call__(self, path):
        self.reads += 1
        return Path(path).read_text()


def an_hour_ago(path):
    """A file that was not just written, of which a further change would show."""
    hour_ago = time.time() - 3600
    os.utime(path, (hour_ago, hour_ago))
    return path


def test_a_file_that_stays_as_it_is_is_read_once(shelf):
    files, reader = ChangingFiles(), Reader()
    path = an_hour_ago(shelf.write("a.env", "a=1\n"))

    assert [files.read(path, reader) for _ in range(3)] == ["a=1\n"] * 3
    assert reader.reads == 1


def change_content(path):
    path.write_text("a=22\n")


def replace(path):
    other = path.with_suffix(".new")
    other.write_text("a=2\n")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)


def touch_back(path):
    before = path.stat()
    path.write_text("a=2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [change_content, replace, touch_back], ids=lambda change: change.__name__)
def test_a_file_is_read_again_when_it_has_changed(shelf, change):
    files, reader = ChangingFiles(), Reader()
    path = Path(an_hour_ago(shelf.write("a.env", "a=1\n")))
    files.read(str(path), reader)

    change(path)

    assert files.read(str(path), reader) == path.read_text() != "a=1\n"


def test_a_file_that_kubernetes_swaps_behind_a_link_is_read_again(shelf):
    files, reader = ChangingFiles(), Reader()
    for name, text in (("one", "a=1\n"), ("two", "a=2\n")):
        an_hour_ago(shelf.write(f"{name}/a.env", text))
    link = shelf.folder / "current"
    link.symlink_to(shelf.folder / "one")
    files.read(str(link / "a.env"), reader)
    (shelf.folder / "next").symlink_to(shelf.folder / "two")
    (shelf.folder / "next").replace(link)

    assert files.read(str(link / "a.env"), reader) == "a=2\n"


def test_a_file_that_was_just_written_is_not_kept(shelf):
    """A second change within the resolution of the file system's clock would not show."""
    files, reader = ChangingFiles(clock=time.time), Reader()
    path = shelf.write("a.env", "a=1\n")

    files.read(path, reader)
    files.read(path, reader)

    assert reader.reads == 2


def test_a_changed_file_counts_at_the_next_question(shelf):
    backend = shelf.backend(variables={"v": "one"})
    before = backend.get_variable("v")
    shelf.write("variables.yaml", {"v": "another"})

    assert (before, backend.get_variable("v")) == ("one", "another")


def test_making_a_backend_reads_nothing(shelf):
    backend = shelf.backend(connections_file_path=str(shelf.folder / "not-yet.yaml"), providers_file="/nowhere")

    shelf.write("not-yet.yaml", {"db": "mysql://h"})
    assert backend.get_connection("db").host == "h"


BROKEN = {
    "absent": ("absent.yaml", None, "no such file"),
    "yaml": ("a.yaml", f"a: '{CANARY}\n b: [", "line [0-9]+ is wrong"),
    "json": ("a.json", '{\n"a": "' + CANARY + '"\n"b"}', "line 3 is wrong"),
    "env": ("a.env", f"a=1\n{CANARY}\n", "line 2 is wrong"),
    "empty": ("a.json", "", "The file is empty"),
    "list": ("a.yaml", f"- {CANARY}\n", "should contain the object"),
    "ending": ("a.toml", f"a='{CANARY}'\n", "extensions: .env .json .yaml .yml"),
    "twice": ("a.env", f"a={CANARY}\na={CANARY}\n", "multiple values for keys"),
    "octets": ("a.json", b"\xff\xfe", "UnicodeDecodeError"),
    "control": ("a.yaml", "a: \x01\n", "ReaderError"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("kind", ["connections", "variables"])
def test_a_file_that_cannot_be_read_is_unavailable_and_shows_nothing_of_it(shelf, name, kind):
    file, content, message = BROKEN[name]
    path = shelf.folder / file
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    backend = shelf.backend(**{f"{kind}_file_path": str(path)})

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=f"is unavailable.*{message}") as caught:
        backend.get_connection("a") if kind == "connections" else backend.get_variable("a")
    assert str(path) in str(caught.value)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("ask", ["get_connection", "get_variable", "get_config"])
def test_a_backend_without_files_is_unavailable(ask):
    """Airflow makes one where it cannot read the ``backend_kwargs``: nothing may come from a weaker source then."""
    with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"no files\. Name one in backend_kwargs"):
        getattr(ConfigProvidersBackend(), ask)("db")


def test_several_files_are_one(shelf):
    backend = shelf.backend(
        variables_file_path=[
            shelf.write("a.yaml", {"a": "1"}),
            shelf.write("b.env", "b=2\n"),
            shelf.write("c.json", {"c": "3"}),
        ]
    )

    assert [backend.get_variable(name) for name in "abcd"] == ["1", "2", "3", None]


def test_a_name_in_two_files_is_unavailable_and_the_others_are_not(shelf):
    files = [shelf.write("a.yaml", {"x": "1", "a": "1"}), shelf.write("b.yaml", {"x": "2"})]
    backend = shelf.backend(variables_file_path=files)

    with pytest.raises(AirflowSecretsBackendAccessDenied, match=r"defined in .*a\.yaml and .*b\.yaml"):
        backend.get_variable("x")
    assert backend.get_variable("a") == "1"


@pytest.mark.parametrize("value", [1, {"a": "b"}, [1], [["a"]]], ids=str)
def test_what_is_no_path_is_refused(value):
    with pytest.raises(ConfigException, match="path or a list of paths"):
        paths(value)


@pytest.mark.parametrize(("value", "found"), [(None, ()), ("", ()), ("a", ("a",)), (["a", "b"], ("a", "b"))])
def test_one_path_or_many_are_taken(value, found):
    assert paths(value) == found
