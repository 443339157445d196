from __future__ import annotations

import itertools
import os
import stat
import threading
from collections import Counter
from pathlib import Path

import pytest

from airflow_config_providers.providers.real_path import (
    LinksReadOnce,
    Steps,
    is_inside,
    link_target,
    open_directory,
    open_in,
    open_real,
    real_path,
    steps,
)
from tests.descriptors import open_descriptors


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = Path(os.path.realpath(tmp_path)) / "root"
    (directory / "sub").mkdir(parents=True)
    (directory / "sub" / "file").write_text("inside")
    (directory.parent / "outside").write_text("outside")
    return directory


def real(path: Path, *roots: Path) -> str | None:
    found = real_path(steps(path), [steps(root) for root in roots])
    return None if found is None else "/" + "/".join(found)


def content(path: Steps) -> bytes | None:
    with open_real(path, is_kind=stat.S_ISREG) as descriptor:
        return None if descriptor is None else os.read(descriptor, 100)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ()),
        ("/a/b", ("a", "b")),
        ("//a///b/./c/", ("a", "b", "c")),
        ("/a/../b", ("a", "..", "b")),
        ("a/b", ("a", "b")),
    ],
)
def test_steps_are_the_names_in_a_path(path: str, expected: Steps) -> None:
    assert steps(path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("/data", True, id="the root itself"),
        pytest.param("/data/x/y", True, id="below"),
        pytest.param("/data2", False, id="name that begins alike"),
        pytest.param("/", False, id="above"),
        pytest.param("/other/data", False, id="elsewhere"),
    ],
)
def test_inside_is_decided_name_by_name(path: str, expected: bool) -> None:
    assert is_inside(steps(path), [steps("/data")]) is expected


@pytest.mark.parametrize(
    ("link", "target"),
    [
        pytest.param("link", "sub/file", id="relative"),
        pytest.param("link", "./sub//../sub/file", id="relative with detours"),
        pytest.param("sub/link", "../sub/file", id="up and down again"),
        pytest.param("link", "{root}/sub/file", id="absolute"),
        pytest.param("link", "../root/sub/file", id="out and in again, by name"),
    ],
)
def test_a_link_inside_is_followed(root: Path, link: str, target: str) -> None:
    (root / link).symlink_to(target.format(root=root))
    assert real(root / link, root) == f"{root}/sub/file"


def test_a_link_that_was_read_once_leads_where_it_led(root: Path) -> None:
    (root / "link").symlink_to("sub")
    links = LinksReadOnce()
    assert links(steps(root / "link")) == "sub"
    assert links(steps(root / "no")) is None
    assert links.are_current()

    (root / "new").symlink_to("elsewhere")
    (root / "new").replace(root / "link")
    assert links(steps(root / "link")) == "sub"
    assert not links.are_current()


def test_a_place_that_became_a_link_is_no_longer_what_it_was(root: Path) -> None:
    links = LinksReadOnce()
    assert links(steps(root / "link")) is None

    (root / "link").symlink_to("sub")
    assert not links.are_current()


def test_a_file_is_opened_below_a_directory_that_is_open(root: Path) -> None:
    (root / "link").symlink_to("sub/file")
    with open_directory(steps(root / "sub")) as directory:
        (root / "sub").rename(root / "moved")
        with open_in(directory, "file", is_kind=stat.S_ISREG) as descriptor:
            assert descriptor is not None
            assert os.read(descriptor, 100) == b"inside"
        with open_in(directory, ".", is_kind=stat.S_ISREG) as descriptor:
            assert descriptor is None
    with (
        open_directory(steps(root)) as directory,
        pytest.raises(OSError, match="symbolic"),
        open_in(directory, "link", is_kind=stat.S_ISREG),
    ):
        pass


@pytest.mark.parametrize("target", ["../outside", "../missing", "{root}/../outside", "/etc/passwd", "..", "/"])
def test_a_link_that_leads_out_leads_nowhere(root: Path, target: str) -> None:
    (root / "link").symlink_to(target.format(root=root))
    assert real(root / "link", root) is None


def test_a_link_may_lead_to_another_root(root: Path) -> None:
    other = root.parent / "other"
    other.mkdir()
    (root / "link").symlink_to("../other/file")
    assert real(root / "link", root, other) == f"{other}/file"


def test_a_linked_directory_is_entered(root: Path) -> None:
    (root / "link").symlink_to("sub")
    assert real(root / "link" / "file", root) == f"{root}/sub/file"


def test_going_up_from_a_linked_directory_starts_where_it_really_is(root: Path) -> None:
    (root / "sub" / "deep").mkdir()
    (root / "link").symlink_to("sub/deep")
    assert real(root / "link" / ".." / "file", root) == f"{root}/sub/file"


def test_a_circle_of_links_leads_nowhere(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert real(root / "a", root) is None


def test_forty_links_in_a_row_are_followed_but_not_more(root: Path) -> None:
    (root / "0").symlink_to("sub/file")
    for number in range(1, 41):
        (root / str(number)).symlink_to(str(number - 1))
    assert (real(root / "39", root), real(root / "40", root)) == (f"{root}/sub/file", None)


def test_links_that_make_a_path_of_very_many_names_lead_nowhere(root: Path) -> None:
    (root / "more").symlink_to("/".join(["..", root.name] + ["x"] * 200 + ["..", "more"]))
    (root / "deep").symlink_to("/".join("x" * 300))
    assert real(root / "deep", root) is None


def test_a_path_that_does_not_exist_is_its_own_real_path(root: Path) -> None:
    assert real(root / "no" / "such", root) == f"{root}/no/such"


def test_everything_is_inside_the_root_of_the_file_system(root: Path) -> None:
    (root / "link").symlink_to("../outside")
    assert real(root / "link", Path("/")) == f"{root.parent}/outside"


def test_a_real_file_is_opened(root: Path) -> None:
    assert content(steps(root / "sub" / "file")) == b"inside"


@pytest.mark.parametrize("link", ["file", "sub"])
def test_a_link_swapped_in_after_the_check_is_not_followed(root: Path, link: str) -> None:
    checked = real_path(steps(root / "sub" / "file"), [steps(root)])
    assert checked is not None
    swapped = root / "sub" / "file" if link == "file" else root / "sub"
    swapped.rename(root / "moved")
    swapped.symlink_to(root.parent / "outside" if link == "file" else root / "moved")
    with pytest.raises(OSError, match=r"Too many levels of symbolic links|Not a directory"):
        content(checked)


def test_a_link_swapped_in_and_out_all_the_time_never_leads_out(root: Path) -> None:
    stop = threading.Event()

    def swap() -> None:
        for target in itertools.cycle(("../outside", "sub/file")):
            (root / "next").symlink_to(target)
            (root / "next").replace(root / "link")
            if stop.wait(0.0001):
                return

    (root / "link").symlink_to("sub/file")
    thread = threading.Thread(target=swap)
    thread.start()
    seen: Counter[str | None] = Counter()
    while min(seen["inside"], seen[None]) < 100 and not seen["outside"]:
        seen[text_behind(root / "link", root)] += 1
    stop.set()
    thread.join()
    assert seen["outside"] == 0


def text_behind(path: Path, root: Path) -> str | None:
    found = real_path(steps(path), [steps(root)])
    read = None if found is None else content(found)
    return None if read is None else read.decode()


def test_what_is_not_of_the_kind_asked_for_is_not_opened(root: Path) -> None:
    os.mkfifo(root / "fifo")
    assert [content(steps(path)) for path in (root / "fifo", root / "sub", "/dev/zero", "/")] == [None] * 4


def test_a_fifo_is_not_opened_for_a_moment(root: Path) -> None:
    fifo = root / "fifo"
    os.mkfifo(fifo)
    met_a_reader = threading.Event()
    writer = threading.Thread(target=lambda: (fifo.write_text(""), met_a_reader.set()), daemon=True)
    writer.start()
    content(steps(fifo))
    assert not met_a_reader.wait(0.2)
    fifo.read_text()
    writer.join()


def test_a_directory_is_opened_where_one_is_asked_for(root: Path) -> None:
    with open_real(steps(root), is_kind=stat.S_ISDIR) as descriptor:
        assert descriptor is not None
        assert os.listdir(descriptor) == ["sub"]  # noqa: PTH208 - of a descriptor


def test_nothing_stays_open(root: Path) -> None:
    before = open_descriptors()
    content(steps(root / "sub" / "file"))
    content(steps(root / "sub"))
    for missing in ("no", "sub/file/no"):
        with pytest.raises(OSError, match=r"No such file|Not a directory"):
            content(steps(root / missing))
    assert open_descriptors() == before


@pytest.mark.parametrize("name", ["sub/file", "link", "sub/up", "missing", "out", "sub/out"])
def test_below_a_real_path_it_leads_where_the_whole_path_leads(root: Path, name: str) -> None:
    """The steps that are known to be real are not looked at again, and a link may still go up from them."""
    for link, target in {"link": "sub/file", "sub/up": "../sub/file", "out": "../outside", "sub/out": "../.."}.items():
        (root / link).symlink_to(target)
    looked_at: list[Steps] = []

    def link_at(path: Steps) -> str | None:
        looked_at.append(path)
        return link_target(path)

    roots = [steps(root)]
    assert real_path(steps(name), roots, below=steps(root), link=link_at) == real_path(steps(root / name), roots)
    assert steps(root) not in looked_at
