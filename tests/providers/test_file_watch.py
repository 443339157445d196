"""Subscriptions to files and directories, with the system's own signs of changes."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import watchfiles

from airflow_config_providers.exceptions import AccessDeniedError
from airflow_config_providers.providers import (
    AirflowVariableConfigProvider,
    DirectoryConfigProvider,
    EnvVarConfigProvider,
    FileConfigProvider,
    file_watch,
)
from tests.limits import LONGEST, eventually

HOURLY = "3600000"
"""So seldom that what is noticed in a test was not found by reading again."""


class Heard(list):
    """A callback that remembers its calls."""

    def __call__(self, path, data):
        self.append((path, dict(data.data)))


@pytest.fixture
def heard():
    return Heard()


def provider_of(make, root):
    provider = make()
    provider.configure({"allowed.paths": str(root), "poll.interval": HOURLY})
    return provider


@pytest.fixture
def files(tmp_path):
    provider = provider_of(FileConfigProvider, tmp_path)
    yield provider
    provider.close()


@pytest.fixture
def directories(tmp_path):
    provider = provider_of(DirectoryConfigProvider, tmp_path)
    yield provider
    provider.close()


def replace(file, text):
    new = file.with_name(f".{file.name}.new")
    new.write_text(text)
    new.rename(file)


def mount(root, generation, **values):
    """Put a secret at ``root`` as Kubernetes does: links to ``..data``, which is a link to the newest generation."""
    new = root / f"..{generation}"
    new.mkdir()
    for name, value in values.items():
        (new / name).write_text(value)
        if not (root / name).is_symlink():
            (root / name).symlink_to(Path("..data") / name)
    (root / "..data_tmp").symlink_to(new.name)
    (root / "..data_tmp").rename(root / "..data")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(Path.write_text, id="written in place"),
        pytest.param(replace, id="replaced by another file"),
        pytest.param(lambda file, text: (file.unlink(), file.write_text(text)), id="removed and written anew"),
    ],
)
def test_a_change_of_a_file_is_told(tmp_path, files, heard, write):
    (file := tmp_path / "db.properties").write_text("password=one\nuser=app\n")
    files.subscribe(str(file), {"password"}, heard)
    write(file, "password=two\nuser=app\n")

    assert eventually(lambda: heard)
    assert heard == [(str(file), {"password": "two"})]


def test_a_change_of_a_file_in_a_directory_is_told(tmp_path, directories, heard):
    (tmp_path / "password").write_text("one")
    directories.subscribe(str(tmp_path), {"password"}, heard)
    (tmp_path / "password").write_text("two")

    assert eventually(lambda: heard)
    assert heard == [(str(tmp_path), {"password": "two"})]


def test_a_switch_of_kubernetes_is_told_once_and_whole(tmp_path, directories, heard):
    mount(tmp_path, 1, user="app-1", password="one")
    directories.subscribe(str(tmp_path), {"user", "password"}, heard)
    mount(tmp_path, 2, user="app-2", password="two")

    assert eventually(lambda: heard)
    assert heard == [(str(tmp_path), {"user": "app-2", "password": "two"})]


def test_a_switch_of_kubernetes_to_equal_values_is_no_change(tmp_path, directories, heard):
    mount(tmp_path, 1, password="one")
    directories.subscribe(str(tmp_path), {"password"}, heard)
    mount(tmp_path, 2, password="one")
    mount(tmp_path, 3, password="two")

    assert eventually(lambda: heard)
    assert heard == [(str(tmp_path), {"password": "two"})]


def test_a_file_behind_a_link_that_leads_elsewhere_is_watched_there(tmp_path, files, heard):
    (tmp_path / "real").mkdir()
    (real := tmp_path / "real" / "db.properties").write_text("password=one\n")
    (link := tmp_path / "db.properties").symlink_to(real)
    files.subscribe(str(link), None, heard)
    replace(real, "password=two\n")

    assert eventually(lambda: heard)


def test_a_file_that_is_no_properties_file_for_a_moment_is_told_when_it_is_one(tmp_path, files, heard):
    (file := tmp_path / "db.properties").write_text("password=one\n")
    files.subscribe(str(file), None, heard)
    file.write_bytes(b"\xff\xfe")
    file.write_text("password=two\n")

    assert eventually(lambda: heard)
    assert heard[-1] == (str(file), {"password": "two"})


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.with_name("spare").rename(path)], ids=["made", "moved"])
def test_a_directory_that_was_replaced_is_watched_again(tmp_path, directories, heard, make):
    for name in ("db", "spare"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "password").write_text(name)
    path = tmp_path / "db"
    directories.subscribe(str(path), {"password"}, heard)
    path.rename(tmp_path / "old")
    make(path)
    (path / "password").write_text("two")
    assert eventually(lambda: heard and heard[-1][1] == {"password": "two"})
    (path / "password").write_text("three")

    assert eventually(lambda: heard[-1][1] == {"password": "three"})


def test_a_directory_that_is_replaced_while_its_watch_begins_is_watched_again(
    tmp_path, directories, heard, monkeypatch
):
    for name in ("db", "spare"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "password").write_text(name)
    path = tmp_path / "db"
    watching = threading.Event()

    def watch(*args, **kwargs):
        """Watch the first time as the system does if the name changes hands between two of its calls."""
        changes = really_watch(*args, **kwargs)
        if not watching.is_set():
            path.rename(tmp_path / "old")
            path.with_name("spare").rename(path)
            watching.set()
            changes = really_watch(tmp_path / "old", **kwargs)
        return changes

    really_watch = watchfiles.watch
    monkeypatch.setattr(watchfiles, "watch", watch)
    directories.subscribe(str(path), {"password"}, heard)
    assert watching.wait(LONGEST)
    assert eventually(lambda: heard == [(str(path), {"password": "spare"})])
    (path / "password").write_text("two")

    assert eventually(lambda: heard[-1][1] == {"password": "two"})


def test_a_link_that_is_switched_further_up_is_told(tmp_path, files, heard):
    for release in ("one", "two"):
        (tmp_path / release / "conf").mkdir(parents=True)
        (tmp_path / release / "conf" / "db.properties").write_text(f"password={release}\n")
    (tmp_path / "current").symlink_to("one")
    file = tmp_path / "current" / "conf" / "db.properties"
    files.subscribe(str(file), {"password"}, heard)
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").rename(tmp_path / "current")

    assert eventually(lambda: heard)
    assert heard == [(str(file), {"password": "two"})]


def test_files_that_could_not_be_watched_are_watched_later(tmp_path, directories, heard, monkeypatch, caplog):
    failures = [OSError("OS file watch limit reached"), SystemExit("a panic")]

    def watch(*args, **kwargs):
        if failures:
            raise failures.pop()
        return really_watch(*args, **kwargs)

    really_watch = watchfiles.watch
    monkeypatch.setattr(watchfiles, "watch", watch)
    monkeypatch.setattr(file_watch, "_NEXT_TRY", 0.01)
    (tmp_path / "password").write_text("one")
    directories.subscribe(str(tmp_path), {"password"}, heard)
    assert eventually(lambda: not failures)
    (tmp_path / "password").write_text("two")

    assert eventually(lambda: heard)
    assert caplog.text.count("Files are not watched") == 1


def watching_threads():
    return [thread for thread in threading.enumerate() if thread.name == "config-files"]


def system_watches(path):
    """Return how many ``inotify`` of this process watch a directory."""
    watched, found = f" ino:{path.stat().st_ino:x} ", 0
    for descriptor in Path("/proc/self/fdinfo").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            found += watched in descriptor.read_text()
    return found


def test_many_paths_are_one_thread_that_ends_with_them(tmp_path, directories, heard):
    assert eventually(lambda: not watching_threads())
    paths = [tmp_path / str(number) for number in range(50)]
    for path in paths:
        path.mkdir()
        (path / "password").write_text("one")
        directories.subscribe(str(path), None, heard)
    watching = watching_threads()
    assert len(watching) == 1

    (paths[-1] / "password").write_text("two")
    assert eventually(lambda: heard)
    directories.close()
    watching[0].join(LONGEST)
    assert not watching[0].is_alive()


def test_many_providers_are_one_thread_and_one_watch_of_the_system(tmp_path, heard):
    assert eventually(lambda: not watching_threads())
    (tmp_path / "password").write_text("one")
    providers = [provider_of(DirectoryConfigProvider, tmp_path) for _ in range(20)]
    for provider in providers:
        provider.subscribe(str(tmp_path), None, heard)
    assert eventually(lambda: system_watches(tmp_path) == 1)
    assert len(watching_threads()) == 1

    (tmp_path / "password").write_text("two")
    assert eventually(lambda: len(heard) == len(providers))
    for provider in providers:
        provider.close()
    assert eventually(lambda: not system_watches(tmp_path) and not watching_threads())


def test_a_watch_tells_each_follower_of_its_own_paths(tmp_path):
    touched = {"a": [], "b": []}
    watch = file_watch.FileWatch()
    for name, paths in touched.items():
        (tmp_path / name).mkdir()
        watch.follow([str(tmp_path / name)], paths.append)
    (tmp_path / "b" / "password").write_text("two")
    assert eventually(lambda: all(touched.values()))
    for paths in touched.values():
        watch.follow((), paths.append)

    assert {name: set(paths) for name, paths in touched.items()} == {n: {str(tmp_path / n)} for n in touched}


def test_a_watch_goes_on_when_one_of_its_followers_ends(tmp_path):
    ended, goes_on = [], []
    watch = file_watch.FileWatch()
    for touched in (ended, goes_on):
        watch.follow([str(tmp_path)], touched.append)
    assert eventually(lambda: ended and goes_on)
    watch.follow((), ended.append)
    before = len(ended), len(goes_on)
    (tmp_path / "password").write_text("two")
    assert eventually(lambda: len(goes_on) > before[1])
    watch.follow((), goes_on.append)

    assert len(ended) == before[0]


def test_who_follows_a_path_that_is_watched_already_is_told_at_once(tmp_path):
    """It can have changed after the values were read, and before the follower was known."""
    first, second = [], []
    watch = file_watch.FileWatch()
    watch.follow([str(tmp_path)], first.append)
    watch.follow([str(tmp_path)], second.append)
    told = list(second)
    for touched in (first, second):
        watch.follow((), touched.append)

    assert str(tmp_path) in told


def test_a_forked_child_has_a_watch_of_its_own():
    of_parent = file_watch.shared_watch()
    child = os.fork()
    if not child:
        os._exit(file_watch.shared_watch() is of_parent)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_may_not_be_read_may_not_be_watched(tmp_path, heard):
    (tmp_path / "allowed").mkdir()
    (tmp_path / "other.properties").write_text("password=one\n")
    files = provider_of(FileConfigProvider, tmp_path / "allowed")
    with pytest.raises(AccessDeniedError):
        files.subscribe(str(tmp_path / "other.properties"), None, heard)


def test_the_environment_never_changes(heard):
    provider = EnvVarConfigProvider({"DB": "one"})
    provider.configure({})
    provider.subscribe("", {"DB"}, heard)
    provider.unsubscribe("", {"DB"}, heard)
    provider.unsubscribe_all()
    provider.close()

    assert not heard


def test_a_variable_of_airflow_is_polled(heard):
    values = {"spark_password": "one"}
    provider = AirflowVariableConfigProvider(values.get, has_teams=lambda: False, max_workers=lambda: 1)
    provider.configure({"poll.interval": "1000"})
    provider.subscribe("", {"spark_password"}, heard)
    values["spark_password"] = "two"

    assert eventually(lambda: heard)
    assert heard == [("", {"spark_password": "two"})]
    provider.close()


def test_changes_in_a_directory_are_not_logged(files, tmp_path, caplog, heard):
    """A task log that is in a directory that is watched would grow for ever."""
    caplog.set_level(logging.INFO)
    (tmp_path / "db.properties").write_text("password=first")
    files.subscribe(str(tmp_path / "db.properties"), None, heard)
    for number in (1, 2):
        (tmp_path / "db.properties").write_text(f"password={number}")
        assert eventually(lambda number=number: len(heard) == number)

    assert [record for record in caplog.records if record.name.startswith("watchfiles")] == []


class Starter:
    """Starts threads, except at first, when the system has none."""

    def __init__(self):
        self.calls = 0

    def __call__(self, run):
        self.calls += 1
        if self.calls == 1:
            raise RuntimeError("can't start new thread")
        threading.Thread(target=run, daemon=True).start()


def test_a_watch_that_got_no_thread_says_so(caplog):
    file_watch.FileWatch(start=Starter()).follow(["/a"], print)

    warning = "Files are not watched (can't start new thread). Changes are found when they are read again."
    assert [record.message for record in caplog.records] == [warning]


def test_a_watch_that_got_no_thread_gets_one_when_it_follows_again(tmp_path):
    (file := tmp_path / "db.properties").write_text("password=one\n")
    touched = []
    watch = file_watch.FileWatch(start=Starter())
    watch.follow([str(file)], touched.append)
    watch.follow([str(file)], touched.append)

    assert eventually(lambda: touched)
    watch.follow((), touched.append)


def test_a_watch_whose_first_thread_runs_although_its_start_was_interrupted_has_one_thread(tmp_path):
    (file := tmp_path / "db.properties").write_text("password=one\n")
    touched, threads = [], []

    def start(run):
        threads.append(run)
        if len(threads) == 1:
            raise KeyboardInterrupt  # as a timeout of the task can be raised
        threading.Thread(target=run, daemon=True).start()

    watch = file_watch.FileWatch(start=start)
    with pytest.raises(KeyboardInterrupt):
        watch.follow([str(file)], touched.append)
    watch.follow([str(file)], touched.append)
    late = threading.Thread(target=threads[0], daemon=True)
    late.start()
    has_ended = eventually(lambda: not late.is_alive())
    watch.follow((), touched.append)

    assert has_ended
